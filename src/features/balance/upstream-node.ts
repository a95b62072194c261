import { Fault, faultRow } from "../../core/fault.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { UpstreamFailure } from "../../message/upstream.ts";
import type { WorkerCounters } from "../../shared/counter-table.ts";
import { MAX_HELD_BACK, type NodeTable } from "../../shared/node-table.ts";

/** What a breaker did, as the control thread is told: it keeps the time and writes the log. */
export type BreakerChange = "opened" | "trial" | "reopened" | "closed";

/** When a node's breaker opens, and how the node comes back. docs/operations.md#failing-targets */
export interface BreakerRules {
  /** Failures in a row that open the breaker; 0 has none. */
  readonly failureThreshold: number;
  /** Statuses of answers that are failures. */
  readonly failureStatuses: readonly number[];
  /** Milliseconds over which a recovered node gets its share back; 0 gives it at once. */
  readonly slowStartMs: number;
}

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
  /** Whether its share grows slowly after it has recovered. */
  readonly startsSlowly: boolean;
  private readonly failureThreshold: number;
  /** Null where no answer is a failure. */
  private readonly failureStatuses: ReadonlySet<number> | null;
  private readonly surroundings: NodeSurroundings;
  private table: NodeTable;
  private slot: number;
  private upstreamId: number;
  private lastStatus = 0;
  private lastStatusSlot = 0;

  /**
   * @param key names the node for the control thread; see `nodeKey`
   * @param label of its metrics
   */
  constructor(
    key: string,
    label: string,
    rules: BreakerRules,
    surroundings: NodeSurroundings,
    table: NodeTable,
    slot: number,
  ) {
    this.key = key;
    this.label = label;
    this.failureThreshold = rules.failureThreshold;
    this.failureStatuses = rules.failureStatuses.length === 0 ? null : new Set(rules.failureStatuses);
    this.startsSlowly = rules.slowStartMs > 0;
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

  /** The part of its share that it gets now: 1, less for some time after it has recovered. */
  share(): number {
    return this.startsSlowly ? 1 - this.table.heldBack(this.slot) / 1000 : 1;
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

  /** Begins an attempt although the node is out, since all of its route are. */
  enterAnyway(ex: Exchange): void {
    if (this.enter(ex)) return;
    ex.isForced = true;
    this.inFlight++;
    ex.attemptedMs = this.surroundings.turn.nowMs;
  }

  /**
   * The answer's head has come.
   * @param isBlamed whether the exchange has counted as a failure here before
   * @returns whether it is a failure
   */
  onAnswer(ex: Exchange, status: number, isBlamed = false): boolean {
    this.count(status, ex.upstreamMs < 0 ? this.elapsed(ex) : ex.upstreamMs);
    ex.attemptedMs = -1;
    const hasFailed = this.failureStatuses?.has(status) === true;
    this.judge(ex, hasFailed, isBlamed);
    if (hasFailed) ex.isForced = false;
    return hasFailed;
  }

  /**
   * The attempt has failed without an answer.
   * @param isBlamed whether the exchange has counted as a failure here before
   * @returns whether the failure says something of the origin
   */
  onFailure(ex: Exchange, failure: UpstreamFailure, isBlamed = false): boolean {
    this.inFlight--;
    if (ex.attemptedMs >= 0) this.count(faultRow(failure.fault).status, this.elapsed(ex));
    ex.attemptedMs = -1;
    // A kept connection that the origin has closed meanwhile says nothing of the origin.
    const isStale = failure.reused && !failure.answered && failure.fault === Fault.UpstreamUnavailable;
    const hasFailed = !isStale && !isOurs(failure.fault);
    if (hasFailed) this.judge(ex, true, isBlamed);
    else this.returnTrial(ex);
    ex.isForced = false;
    return hasFailed;
  }

  /** The exchange is over; where no answer had come, it was the client who gave up. */
  leave(ex: Exchange): void {
    this.inFlight--;
    if (ex.attemptedMs >= 0) this.count(CLIENT_CLOSED_STATUS, this.elapsed(ex));
    ex.attemptedMs = -1;
    this.returnTrial(ex);
  }

  private judge(ex: Exchange, failed: boolean, isBlamed: boolean): void {
    const { table, slot, failureThreshold } = this;
    if (failureThreshold === 0) return;
    if (ex.isTrial) {
      ex.isTrial = false;
      if (!failed) this.holdBack();
      if (table.endTrial(slot, !failed)) this.tell(failed ? "reopened" : "closed");
    } else if (!failed) {
      if (!ex.isForced) table.succeeded(slot);
      else if (table.close(slot)) {
        this.holdBack();
        this.tell("closed");
      }
    } else if (!isBlamed && table.failed(slot, failureThreshold)) {
      this.surroundings.counters.breakerTripped(this.upstreamId);
      this.tell("opened");
    }
  }

  private returnTrial(ex: Exchange): void {
    if (!ex.isTrial) return;
    ex.isTrial = false;
    this.table.returnTrial(this.slot);
  }

  /** Until the control thread, which lets the share grow, knows. */
  private holdBack(): void {
    if (this.startsSlowly) this.table.holdBack(this.slot, MAX_HELD_BACK);
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

/** What says nothing of the origin: it was the gateway that had no room or made the mistake, or the client that was late. */
function isOurs(fault: Fault): boolean {
  switch (fault) {
    case Fault.OriginQueueFull:
    case Fault.InternalError:
    case Fault.OutOfDescriptors:
    case Fault.OutOfSockets:
    case Fault.BodyTimeout:
      return true;
    default:
      return false;
  }
}
