import { blamesOrigin, Fault } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import type { WorkerCounters } from "../../memory/counter-table.ts";
import { MAX_HELD_BACK, type NodeTable } from "../../memory/node-table.ts";
import type { ArmTally } from "../../message/arm-tally.ts";
import type { Attempt, Exchange, Target, Upstream } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { SlotGate } from "../../message/slot-gate.ts";
import type { AnswerMark, TargetChoice } from "../../message/target.ts";
import type { UpstreamFailure } from "../../message/upstream.ts";
import { hashText } from "./hash.ts";

/**
 * The choice if there is none: 34 ns a request with breaker, health and the counting of its response. A target without
 * which there is none is never taken out, except by an operator.
 */
export class SingleTarget implements TargetChoice {
  readonly answers?: AnswerMark;
  private readonly target: BalancedTarget;

  constructor(target: BalancedTarget, responses: AnswerMark | null) {
    this.target = target;
    if (responses !== null) this.answers = responses;
  }

  choose(ex: Exchange): BalancedTarget | null {
    const { target } = this;
    if (target.node.isDrained()) return null;
    return target.enter(ex) ? target : target.enterAnyway(ex);
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): BalancedTarget | null {
    return onlyAnother ? null : this.choose(ex);
  }
}

/** The choice among several targets: backups only if no other may be used, and all in turn if none may be. */
export class Balancer implements TargetChoice {
  readonly answers?: AnswerMark;
  private readonly all: AllInTurn;
  private readonly primary: Policy;
  private readonly backup: Policy;

  constructor(targets: readonly BalancedTarget[], primary: Policy, backup: Policy, responses: AnswerMark | null) {
    if (responses !== null) this.answers = responses;
    this.all = new AllInTurn(targets);
    this.primary = primary;
    this.backup = backup;
  }

  choose(ex: Exchange): BalancedTarget | null {
    return this.chooseBut(ex, 0) ?? this.chooseOut(ex, 0);
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): BalancedTarget | null {
    const tried = ex.attempt.triedTargets;
    const another = this.chooseBut(ex, tried);
    if (another !== null) return another;
    if (!onlyAnother) return this.chooseBut(ex, 0) ?? this.chooseOut(ex, tried) ?? this.chooseOut(ex, 0);
    return this.all.hasUsable() ? null : this.chooseOut(ex, tried);
  }

  /** One of all that are out. */
  private chooseOut(ex: Exchange, tried: number): BalancedTarget | null {
    return this.all.next(tried)?.enterAnyway(ex) ?? null;
  }

  private chooseBut(ex: Exchange, tried: number): BalancedTarget | null {
    let excluded = tried;
    for (;;) {
      const target = this.primary.pick(ex, excluded) ?? this.backup.pick(ex, excluded);
      if (target === null || target.enter(ex)) return target;
      // Another worker has just taken the trial there.
      excluded |= target.bit;
    }
  }
}

/** Takes every target in turn, whatever its health, except drained ones. */
export class AllInTurn<T extends WeighedNode = BalancedTarget> {
  private readonly targets: readonly T[];
  private turn = 0;

  constructor(targets: readonly T[]) {
    this.targets = targets;
  }

  hasUsable(): boolean {
    return this.targets.some(({ node }) => node.isUsable());
  }

  next(tried: number): T | null {
    const { targets } = this;
    for (let i = 0; i < targets.length; i++) {
      this.turn = (this.turn + 1) % targets.length;
      const target = targets[this.turn]!;
      if ((tried & target.bit) === 0 && !target.node.isDrained()) return target;
    }
    return null;
  }
}

/** The parts of a target. */
export interface TargetInit {
  readonly upstream: Upstream;
  readonly node: UpstreamNode;
  /** 1 and up: a target of weight 0 is left out. */
  readonly weight: number;
  readonly backup: boolean;
  /** `/api`, or "". */
  readonly basePath: string;
  /** Tells it from the other targets of its route; hashing goes by it, so that their order does not matter. */
  readonly name: string;
  /** Counts its responses; left out without a canary. */
  readonly tally?: ArmTally;
  /** How many exchanges it takes at once; left out if no target of the route says that. */
  readonly slots?: { readonly gate: SlotGate; readonly lane: number };
}

/** A node of a route or a stream with its weight there: what policies choose by. */
export class WeighedNode {
  readonly node: UpstreamNode;
  readonly weight: number;
  /** Hash of its name. */
  readonly seed: number;
  /** Its bit among all that were tried; from 32 targets on some share one. */
  readonly bit: number;

  /** @param index among all targets of the route or stream */
  constructor({ node, weight, name }: Pick<TargetInit, "node" | "weight" | "name">, index: number) {
    this.node = node;
    this.weight = weight;
    this.seed = hashText(name);
    this.bit = 1 << (index & 31);
  }

  /** Its current weight: less for a while after it has recovered, if its route has slow_start. */
  get share(): number {
    return this.node.startsSlowly ? this.weight * this.node.share() : this.weight;
  }

  /** How busy it is for its weight: exchanges under way from this worker a unit of weight. */
  get load(): number {
    const { node, weight } = this;
    const load = node.inFlight / weight;
    if (!node.startsSlowly) return load;
    // A target that is idle since it has just come back would otherwise get everything.
    const share = node.share();
    return share === 1 ? load : (node.inFlight + 1) / (weight * share) - 1 / weight;
  }

  /** Whether it may be chosen. @param tried bits of the targets that may not */
  isEligible(tried: number): boolean {
    return (tried & this.bit) === 0 && this.node.isUsable();
  }
}

/** A target with what balancing knows of it. */
export class BalancedTarget extends WeighedNode implements Target {
  readonly upstream: Upstream;
  readonly basePath: Buffer;
  /** The bit in `ex.attempt.blamedNodes` of its node, which several targets may share. */
  private readonly nodeBit: number;

  /**
   * @param index among all targets of the route
   * @param nodeIndex the first target's with the same node
   */
  constructor(init: TargetInit, index: number, nodeIndex: number) {
    super(init, index);
    this.upstream = init.upstream;
    // Most targets have none, and there may be a hundred thousand of them.
    this.basePath = init.basePath === "" ? NO_PATH : Buffer.from(init.basePath, "latin1");
    this.nodeBit = 1 << (nodeIndex & 31);
  }

  /** Puts the exchange on its way. @returns false when another exchange took the only place */
  enter(ex: Exchange): boolean {
    if (!this.node.enter(ex.attempt)) return false;
    ex.attempt.target = this;
    return true;
  }

  /** Puts the exchange on its way although the target is out. @returns null if the target has no room */
  enterAnyway(ex: Exchange): this | null {
    this.node.enterAnyway(ex.attempt);
    ex.attempt.target = this;
    return this;
  }

  onAnswer(ex: Exchange, status: number): void {
    const hasFailed = this.node.onAnswer(ex.attempt, status, (ex.attempt.blamedNodes & this.nodeBit) !== 0);
    ex.attempt.triedTargets |= this.bit;
    if (hasFailed) ex.attempt.blamedNodes |= this.nodeBit;
  }

  onReplaced(_ex: Exchange): void {
    this.node.inFlight--;
  }

  onFailure(ex: Exchange, failure: UpstreamFailure): void {
    ex.attempt.target = null;
    ex.attempt.triedTargets |= this.bit;
    if (this.node.onFailure(ex.attempt, failure, (ex.attempt.blamedNodes & this.nodeBit) !== 0))
      ex.attempt.blamedNodes |= this.nodeBit;
  }

  onOver(ex: Exchange): void {
    ex.attempt.target = null;
    this.node.leave(ex.attempt);
  }
}

const NO_PATH: Buffer = Buffer.alloc(0);

/** Chooses among equally willing targets: the backups have a policy of their own. @typeParam E the request or connection for them */
export interface Policy<E = Exchange, T extends WeighedNode = BalancedTarget> {
  /**
   * @param tried bits of the targets that may not be chosen
   * @returns null when none of the others may be used now
   */
  pick(ex: E, tried: number): T | null;
}

/** A node's record of an attempt: an exchange has it, and so has a forwarded connection. */
export type NodeAttempt = Pick<Attempt, "isTrial" | "isForced" | "attemptedMs" | "upstreamMs">;

/** A number from 0 up to 1, never 1. */
export type RandomNumber = () => number;

/** A breaker's news for the control thread, which keeps the time and writes the log. */
export type BreakerChange = "opened" | "trial" | "reopened" | "closed";

/** From a worker: it has moved a breaker. */
export interface BreakerMessage {
  readonly kind: "breaker";
  readonly key: string;
  readonly change: BreakerChange;
}

/** When a node's breaker opens, and how the node comes back. docs/operations.md#failing-targets */
export interface BreakerRules {
  /** Failures in a row that open the breaker; 0 has none. */
  readonly failureThreshold: number;
  /** Statuses of responses that are failures. */
  readonly failureStatuses: readonly number[];
  /** Milliseconds over which a recovered node gets its share back; 0 gives it at once. */
  readonly slowStartMs: number;
  /** Of so many requests, one after the other, no more than `rateFailures` may fail; 0 does not count them. */
  readonly rateRequests: number;
  readonly rateFailures: number;
}

/** What all nodes of one worker share. */
export interface NodePorts {
  readonly turn: NowMs;
  readonly worker: number;
  readonly counters: WorkerCounters;
  /** Notified of a breaker that this worker has moved. */
  onBreaker(key: string, change: BreakerChange): void;
}

/**
 * An origin as one worker sees it: its breaker and health, which all workers share, and the exchanges that are under way
 * to it from this worker. It outlives reloads, so that exchanges in flight end at their own node.
 */
export class UpstreamNode {
  readonly key: string;
  readonly label: string;
  /** Exchanges under way from this worker. */
  inFlight = 0;
  /** Whether its share grows slowly after it has recovered. */
  readonly startsSlowly: boolean;
  private readonly rules: BreakerRules;
  /** Null if no response is a failure. */
  private readonly failureStatuses: ReadonlySet<number> | null;
  private readonly surroundings: NodePorts;
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
    surroundings: NodePorts,
    table: NodeTable,
    slot: number,
  ) {
    this.key = key;
    this.label = label;
    this.rules = rules;
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

  /** Whether an operator has taken it out. */
  isDrained(): boolean {
    return this.table.isDrained(this.slot);
  }

  /** The part of its share that it gets now: 1, less for some time after it has recovered. */
  share(): number {
    return this.startsSlowly ? 1 - this.table.heldBack(this.slot) / 1000 : 1;
  }

  /** Begins an attempt. @returns false when it would have been a trial that another exchange has taken */
  enter(attempt: NodeAttempt): boolean {
    if (!this.table.isClosed(this.slot)) {
      if (!this.table.takeTrial(this.slot, this.surroundings.worker)) return false;
      attempt.isTrial = true;
      this.tell("trial");
    }
    this.inFlight++;
    attempt.attemptedMs = this.surroundings.turn.nowMs;
    return true;
  }

  /** Begins an attempt although the node is out, since all of its route are. */
  enterAnyway(attempt: NodeAttempt): void {
    if (this.enter(attempt)) return;
    attempt.isForced = true;
    this.inFlight++;
    attempt.attemptedMs = this.surroundings.turn.nowMs;
  }

  /**
   * The response's head has come.
   * @param isBlamed whether the exchange has counted as a failure here before
   * @returns whether it is a failure
   */
  onAnswer(attempt: NodeAttempt, status: number, isBlamed = false): boolean {
    this.count(status, attempt.upstreamMs < 0 ? this.elapsed(attempt) : attempt.upstreamMs);
    attempt.attemptedMs = -1;
    const hasFailed = this.failureStatuses?.has(status) === true;
    this.judge(attempt, hasFailed, isBlamed);
    if (hasFailed) attempt.isForced = false;
    return hasFailed;
  }

  /**
   * The attempt has failed without a response.
   * @param isBlamed whether the exchange has counted as a failure here before
   * @returns whether the failure says something of the origin
   */
  onFailure(attempt: NodeAttempt, failure: UpstreamFailure, isBlamed = false): boolean {
    this.inFlight--;
    if (attempt.attemptedMs >= 0) this.count(faultRow(failure.fault).status, this.elapsed(attempt));
    attempt.attemptedMs = -1;
    // A kept connection that the origin has closed meanwhile says nothing of the origin.
    const isStale = failure.reused && !failure.answered && failure.fault === Fault.UpstreamUnavailable;
    const hasFailed = !isStale && blamesOrigin(failure.fault);
    if (hasFailed) this.judge(attempt, true, isBlamed);
    else this.returnTrial(attempt);
    attempt.isForced = false;
    return hasFailed;
  }

  /** A connection to a stream's target has come about. It is under way until `disconnected`. */
  onConnected(attempt: NodeAttempt): void {
    attempt.attemptedMs = -1;
    this.judge(attempt, false, false);
    attempt.isForced = false;
  }

  /** No such connection has come about. @param isOurs whether that says nothing of the target */
  onNotConnected(attempt: NodeAttempt, isOurs: boolean): void {
    this.inFlight--;
    attempt.attemptedMs = -1;
    this.surroundings.counters.notConnected(this.upstreamId);
    if (isOurs) this.returnTrial(attempt);
    else this.judge(attempt, true, false);
    attempt.isForced = false;
  }

  /** Such a connection is over. */
  disconnected(): void {
    this.inFlight--;
  }

  /** The exchange is over; if no response had come, it was the client who gave up. */
  leave(attempt: NodeAttempt): void {
    this.inFlight--;
    if (attempt.attemptedMs >= 0) this.count(CLIENT_CLOSED_STATUS, this.elapsed(attempt));
    attempt.attemptedMs = -1;
    this.returnTrial(attempt);
  }

  private judge(attempt: NodeAttempt, failed: boolean, isBlamed: boolean): void {
    const { table, slot } = this;
    const { failureThreshold, rateRequests, rateFailures } = this.rules;
    if (failureThreshold === 0) return;
    if (attempt.isTrial) {
      attempt.isTrial = false;
      if (!failed) this.holdBack();
      if (table.endTrial(slot, !failed)) this.tell(failed ? "reopened" : "closed");
    } else if (!failed) {
      if (!attempt.isForced) {
        table.succeeded(slot);
        if (rateRequests > 0) table.counted(slot, false, rateRequests, rateFailures);
      } else if (table.close(slot)) {
        this.holdBack();
        this.tell("closed");
      }
    } else if (!isBlamed && this.opens(failureThreshold, rateRequests, rateFailures)) {
      this.surroundings.counters.breakerTripped(this.upstreamId);
      this.tell("opened");
    }
  }

  /** Notes a failure. @returns whether it has opened the breaker */
  private opens(inRow: number, rateRequests: number, rateFailures: number): boolean {
    const { table, slot } = this;
    const isTooMany = rateRequests > 0 && table.counted(slot, true, rateRequests, rateFailures);
    return table.failed(slot, isTooMany ? 1 : inRow);
  }

  private returnTrial(attempt: NodeAttempt): void {
    if (!attempt.isTrial) return;
    attempt.isTrial = false;
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
    // Most responses of a node have the status of the one before.
    if (counted !== this.lastStatus) {
      this.lastStatus = counted;
      this.lastStatusSlot = counters.upstreamSlot(this.upstreamId, counted);
    }
    counters.upstreamEnded(this.upstreamId, this.lastStatusSlot, durationMs);
  }

  private elapsed(attempt: NodeAttempt): number {
    return this.surroundings.turn.nowMs - attempt.attemptedMs;
  }
}
