import { Fault, faultRow } from "../../core/fault.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { UpstreamFailure } from "../../message/upstream.ts";
import type { WorkerCounters } from "../../shared/counter-table.ts";
import type { NodeTable } from "../../shared/node-table.ts";

/** What a breaker did, as the control thread is told: it keeps the time and writes the log. */
export type BreakerChange = "opened" | "trial" | "reopened" | "closed";

/** What all nodes of one worker share. */
export interface NodeSurroundings {
  readonly turn: NowMs;
  readonly worker: number;
  readonly counters: WorkerCounters;
  /** Hears of a breaker that this worker has moved. */
  onBreaker(key: string, change: BreakerChange): void;
}

/**
 * An origin as one worker sees it: its breaker and health, which all workers share, and the exchanges that are under way
 * to it from this worker. It outlives reloads, so that exchanges in flight end where they began.
 */
export class UpstreamNode {
  readonly key: string;
  readonly label: string;
  /** Exchanges under way from this worker. */
  inFlight = 0;
  private readonly failureThreshold: number;
  private readonly surroundings: NodeSurroundings;
  private table: NodeTable;
  private slot: number;
  private upstreamId: number;
  private lastStatus = 0;
  private lastStatusSlot = 0;

  /**
   * @param key names the node for the control thread; see `nodeKey`
   * @param label of its metrics
   * @param failureThreshold failures in a row that open the breaker; 0 has none
   */
  constructor(
    key: string,
    label: string,
    failureThreshold: number,
    surroundings: NodeSurroundings,
    table: NodeTable,
    slot: number,
  ) {
    this.key = key;
    this.label = label;
    this.failureThreshold = failureThreshold;
    this.surroundings = surroundings;
    this.table = table;
    this.slot = slot;
    this.upstreamId = surroundings.counters.upstreamId(label);
  }

  /** Moves the node to its place in the table of a new configuration. */
  moveTo(table: NodeTable, slot: number): void {
    this.table = table;
    this.slot = slot;
    this.upstreamId = this.surroundings.counters.upstreamId(this.label);
    this.lastStatus = 0;
  }

  /** Whether a request may go there now. */
  isUsable(): boolean {
    return this.table.isUsable(this.slot);
  }

  /** Begins an attempt. @returns false when it would have been a trial that somebody else has taken */
  enter(ex: Exchange): boolean {
    if (!this.table.isClosed(this.slot)) {
      if (!this.table.takeTrial(this.slot, this.surroundings.worker)) return false;
      ex.isTrial = true;
      this.tell("trial");
    }
    this.inFlight++;
    ex.attemptedMs = this.surroundings.turn.nowMs;
    return true;
  }

  /** The answer's head has come. */
  onAnswer(ex: Exchange, status: number): void {
    this.count(status, ex.upstreamMs < 0 ? this.elapsed(ex) : ex.upstreamMs);
    ex.attemptedMs = -1;
    this.judge(ex, status === 502 || status === 503 || status === 504);
  }

  /** The attempt has failed without an answer. */
  onFailure(ex: Exchange, failure: UpstreamFailure): void {
    this.inFlight--;
    if (ex.attemptedMs >= 0) this.count(faultRow(failure.fault).status, this.elapsed(ex));
    ex.attemptedMs = -1;
    // A kept connection that the origin has closed meanwhile says nothing of the origin.
    const isStale = failure.reused && !failure.answered && failure.fault === Fault.UpstreamUnavailable;
    if (isStale || isOurs(failure.fault)) this.returnTrial(ex);
    else this.judge(ex, true);
  }

  /** The exchange is over; where no answer had come, it was the client who gave up. */
  leave(ex: Exchange): void {
    this.inFlight--;
    if (ex.attemptedMs >= 0) this.count(CLIENT_CLOSED_STATUS, this.elapsed(ex));
    ex.attemptedMs = -1;
    this.returnTrial(ex);
  }

  private judge(ex: Exchange, failed: boolean): void {
    const { table, slot, failureThreshold } = this;
    if (failureThreshold === 0) return;
    if (ex.isTrial) {
      ex.isTrial = false;
      if (table.endTrial(slot, !failed)) this.tell(failed ? "reopened" : "closed");
    } else if (!failed) table.succeeded(slot);
    else if (table.failed(slot, failureThreshold)) {
      this.surroundings.counters.breakerTripped(this.upstreamId);
      this.tell("opened");
    }
  }

  private returnTrial(ex: Exchange): void {
    if (!ex.isTrial) return;
    ex.isTrial = false;
    this.table.returnTrial(this.slot);
  }

  private tell(change: BreakerChange): void {
    this.surroundings.onBreaker(this.key, change);
  }

  private count(status: number, durationMs: number): void {
    const { counters } = this.surroundings;
    const counted = Math.min(status, 599);
    // Most answers of a node have the status of the one before.
    if (counted !== this.lastStatus) {
      this.lastStatus = counted;
      this.lastStatusSlot = counters.upstreamSlot(this.upstreamId, counted);
    }
    counters.upstreamEnded(this.upstreamId, this.lastStatusSlot, durationMs);
  }

  private elapsed(ex: Exchange): number {
    return this.surroundings.turn.nowMs - ex.attemptedMs;
  }
}

/** What says nothing of the origin: it was the gateway that had no room or made the mistake. */
function isOurs(fault: Fault): boolean {
  return fault === Fault.NoHealthyTarget || fault === Fault.InternalError || fault === Fault.OutOfDescriptors;
}
