import { BucketKey } from "../../memory/token-bucket-key.ts";
import type { BucketCall, BucketReplies, BucketReply } from "../../message/bucket-call.ts";

/** How a worker reaches the store: by way of the control thread. */
interface FleetBucketPorts {
  /** @param response called once, later; with null if the store is away */
  ask(calls: readonly BucketCall[], response: (responses: BucketReplies) => void): void;
  /** A clock that never goes back, as `take` is given it. */
  nowMs(): number;
  /** Runs `work` as a turn of its own, after so many milliseconds. */
  later(work: () => void, afterMs: number): void;
  /** Counts a request that waits for the store, or that the gateway's own buckets decide. */
  count(what: "wait" | "alone"): void;
}

/** The rate of a limit of the fleet. */
export class FleetRate {
  readonly perMs: number;
  readonly unitUs: number;
  readonly capacityUs: number;
  readonly burst: number;

  /** @param requests tokens that come each window @param burst that a full bucket holds */
  constructor(requests: number, windowMs: number, burst: number) {
    this.perMs = requests / windowMs;
    this.unitUs = (windowMs * 1000) / requests;
    this.capacityUs = this.unitUs * burst;
    this.burst = burst;
  }
}

/** What tells the buckets of a fleet apart: the same text in every gateway of it. */
export class FleetKey extends BucketKey {
  text = "";
  private readonly purpose: string;

  constructor(purpose: string) {
    super(0, 0);
    this.purpose = digest(Buffer.from(purpose, "utf8"));
  }

  override derive(purpose: string): FleetKey {
    return new FleetKey(`${this.purpose} ${purpose}`);
  }

  override hash(bytes: Uint8Array, from: number, to: number): void {
    const value = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
    this.text = `${this.purpose}${value.length > MAX_PLAIN_BYTES ? digest(value) : value.latin1Slice()}`;
  }
}

/** Says that the store must be asked before it is known. */
export const ASK = -1;

/**
 * One worker's part of the buckets of a fleet. Far from its limit a key is admitted at once, and the store is told some milliseconds
 * later; near it tokens are fetched ahead, as many as the worker is asked for until it may ask again. A request waits for the store
 * only where more come than the last ones have led to expect. docs/fleet.md#rate-limits
 */
export class FleetBuckets {
  /** Whether the store can be reached. */
  isUp = false;
  /** Gateways that share the limits, as they were last seen. */
  nodes = 1;
  private readonly port: FleetBucketPorts;
  private readonly buckets: Map<string, Bucket> = new Map();
  /** What has something to tell, the longest waiting first. */
  private readonly due: Set<Bucket> = new Set();
  /** What cannot go on for long without the store. */
  private readonly urgent: Set<Bucket> = new Set();
  private readonly pace: StorePace = new StorePace();
  private timeoutMs = 0;
  private isScheduled = false;
  private isUrgent = false;
  private waiting = 0;

  constructor(port: FleetBucketPorts) {
    this.port = port;
  }

  /** @param workers of each gateway @param timeoutMs how long requests wait for the store */
  use(isUp: boolean, nodes: number, workers: number, timeoutMs: number): void {
    this.isUp = isUp;
    this.nodes = nodes;
    this.pace.spenders = Math.max(1, nodes * workers);
    this.timeoutMs = timeoutMs;
    if (isUp) return;
    // What is known may be long past when the store is back.
    this.buckets.clear();
    this.due.clear();
    this.urgent.clear();
  }

  /** A key for one purpose. */
  keyFor(purpose: string): FleetKey {
    return new FleetKey(purpose);
  }

  /**
   * Takes a token of the key that was hashed last.
   * @returns 0 if there was one, ASK, or the milliseconds until there may be one
   */
  take(key: FleetKey, rate: FleetRate, nowMs: number): number {
    const found = this.buckets.get(key.text) ?? this.begin(key.text, rate, nowMs);
    found.offered++;
    if (found.useLease(nowMs)) {
      if (nowMs >= found.closedUntilMs && found.isRunningOut(found.leased)) this.press(found);
      return 0;
    }
    if (nowMs < found.closedUntilMs) return found.closedUntilMs - nowMs;
    const spare = found.allowance(nowMs) - found.untold;
    if (spare > 0) {
      found.spent++;
      if (found.isRunningOut(spare - 1)) this.press(found);
      else this.tellLater(found);
      return 0;
    }
    this.press(found);
    // A flood is refused at once, and finds tokens the next time.
    if (nowMs < found.floodUntilMs) return Math.max(1, 1 / rate.perMs);
    if (!this.pace.isOverdrawn(nowMs) || found.credit(nowMs) < 1) return ASK;
    found.spent++;
    return 0;
  }

  /** Tokens that are left of the key that was asked last, about. */
  leftOf(key: FleetKey, nowMs: number): number {
    const found = this.buckets.get(key.text);
    return found === undefined ? 0 : Math.max(0, Math.floor(found.left(nowMs)) + found.leased);
  }

  /** Counts a request that the gateway's own buckets decide. */
  countAlone(): void {
    this.port.count("alone");
  }

  /** Notes that the gateway's own buckets have let a request in, since the store has not answered in time: it learns of it. */
  letIn(key: FleetKey): void {
    const found = this.buckets.get(key.text);
    if (found === undefined) return;
    found.spent++;
    this.tellLater(found);
  }

  /**
   * Waits for the store, after `take` gave ASK.
   * @param decided called once, later: with 0 if there was a token, the milliseconds until there may be one, or ASK where the store
   *   has not answered in time
   * @returns false where too many wait
   */
  wait(key: FleetKey, decided: (waitMs: number) => void): boolean {
    const found = this.buckets.get(key.text);
    if (found === undefined || this.waiting >= MAX_WAITING) return false;
    this.waiting++;
    this.port.count("wait");
    const waiter: Waiter = { decided, isOver: false };
    found.waiters.push(waiter);
    this.port.later(() => this.decide(waiter, ASK), this.timeoutMs);
    return true;
  }

  private begin(text: string, rate: FleetRate, nowMs: number): Bucket {
    if (this.buckets.size >= MAX_KEYS) this.buckets.delete(this.buckets.keys().next().value!);
    const bucket = new Bucket(digest(Buffer.from(text, "latin1")), rate, this.pace, nowMs);
    this.buckets.set(text, bucket);
    return bucket;
  }

  private tellLater(bucket: Bucket): void {
    if (bucket.isAsking || this.due.size >= MAX_KEYS) return;
    this.due.add(bucket);
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.port.later(() => {
      this.isScheduled = false;
      this.flush();
    }, FLUSH_MS);
  }

  private press(bucket: Bucket): void {
    bucket.wants = true;
    if (bucket.isAsking) return;
    this.urgent.add(bucket);
    if (this.isUrgent) return;
    this.isUrgent = true;
    this.port.later(() => {
      this.isUrgent = false;
      this.flush();
    }, 0);
  }

  /** Asks for what is urgent, and tells of as much else as the pace of the store allows. */
  private flush(): void {
    const nowMs = this.port.nowMs();
    const asked: Bucket[] = [];
    let urgentRoom = this.pace.room(nowMs, OVERDRAFT_MS);
    for (const bucket of this.urgent) {
      if (urgentRoom-- < 1) break;
      this.urgent.delete(bucket);
      this.due.delete(bucket);
      asked.push(bucket);
    }
    // What is urgent does not keep the others from being told at all.
    let room = Math.max(asked.length > 0 ? 1 : 0, this.pace.room(nowMs, FLUSH_MS) - asked.length);
    for (const bucket of this.due) {
      if (room-- < 1) break;
      this.due.delete(bucket);
      asked.push(bucket);
    }
    if (this.due.size + this.urgent.size > 0) this.schedule();
    if (asked.length === 0) return;
    this.pace.onAsked(asked.length, nowMs);
    const calls = asked.map((bucket) => bucket.ask(nowMs));
    this.port.ask(calls, (responses) => {
      const thenMs = this.port.nowMs();
      if (responses !== null) this.pace.onAnswered(thenMs - nowMs);
      for (const [i, bucket] of asked.entries()) this.settle(bucket, responses?.[i] ?? null, thenMs);
    });
  }

  /** The store has answered for a bucket, or not: all who have waited for that are decided. */
  private settle(bucket: Bucket, reply: BucketReply | null, nowMs: number): void {
    if (reply === null) bucket.fail();
    else bucket.take(reply, nowMs);
    for (const waiter of bucket.asking.splice(0)) {
      if (waiter.isOver) continue;
      if (reply === null) this.decide(waiter, ASK);
      else if (bucket.leased > 0) {
        bucket.leased--;
        this.decide(waiter, 0);
      } else this.decide(waiter, Math.max(1, bucket.closedUntilMs - nowMs));
    }
    if (bucket.waiters.length > 0) this.press(bucket);
    else if (bucket.spent > 0 && reply !== null) this.tellLater(bucket);
  }

  private decide(waiter: Waiter, waitMs: number): void {
    if (waiter.isOver) return;
    waiter.isOver = true;
    this.waiting--;
    waiter.decided(waitMs);
  }
}

interface Waiter {
  readonly decided: (waitMs: number) => void;
  isOver: boolean;
}

/**
 * How often a worker turns to the store: all of a fleet together do not ask more of it than one server bears, however many they are.
 * What must wait for its turn is told later, and fetched in larger amounts. docs/scale.md#the-store
 */
class StorePace {
  /** Of all gateways, workers counted one by one. */
  spenders = 1;
  /** Until when this worker's part of the store's time is used up. */
  private busyUntilMs = 0;
  private answerMs = 1;

  /** Milliseconds until this worker's next turn. */
  busyMs(nowMs: number): number {
    return Math.max(0, this.busyUntilMs - nowMs);
  }

  /** Milliseconds for which tokens are fetched: until the next turn, and until the store has answered then. */
  aheadMs(nowMs: number): number {
    return Math.max(LEASED_MS, this.busyMs(nowMs)) + this.noticeMs;
  }

  /** Milliseconds before the end of what was fetched in which more must be asked for. */
  get noticeMs(): number {
    return 2 * this.answerMs + 1;
  }

  /** Calls that may be made now where this worker's part of the store's time may be used up to so many milliseconds ahead. */
  room(nowMs: number, aheadMs: number): number {
    return Math.ceil(((aheadMs - this.busyMs(nowMs)) * STORE_CALLS_PER_MS) / this.spenders);
  }

  /** Whether not even what is urgent has a turn soon. */
  isOverdrawn(nowMs: number): boolean {
    return this.busyMs(nowMs) >= OVERDRAFT_MS;
  }

  onAsked(calls: number, nowMs: number): void {
    const busyMs = this.busyMs(nowMs) + (calls * this.spenders) / STORE_CALLS_PER_MS;
    this.busyUntilMs = nowMs + Math.min(busyMs, LONGEST_AHEAD_MS);
  }

  onAnswered(afterMs: number): void {
    this.answerMs += (Math.min(afterMs, LONGEST_AHEAD_MS) - this.answerMs) / 8;
  }
}

/** What a worker knows of one bucket. */
class Bucket {
  readonly rate: FleetRate;
  /** Requests that came since the store was last asked. */
  offered = 0;
  /** Given out, and not told yet. */
  spent = 0;
  /** Fetched, and not given out yet. */
  leased = 0;
  /** Until when the store has nothing to give, or need not be asked. */
  closedUntilMs = 0;
  floodUntilMs = 0;
  wants = false;
  isAsking = false;
  readonly waiters: Waiter[] = [];
  /** Those for whom the store has been asked. */
  asking: Waiter[] = [];
  private readonly key: string;
  private readonly pace: StorePace;
  private leasedUntilMs = 0;
  private told = 0;
  private wanted = 0;
  /** Requests a millisecond, those among them that are refused. */
  private demand = 0;
  /** What this worker takes of all that is taken, 0 to 1. */
  private share: number;
  /** Tokens that the store had when it last answered, and when that was. */
  private known: number;
  private knownMs: number;
  private isKnown = false;
  private askedMs: number;

  constructor(key: string, rate: FleetRate, pace: StorePace, nowMs: number) {
    this.key = key;
    this.rate = rate;
    this.pace = pace;
    this.share = 1 / pace.spenders;
    this.known = rate.burst;
    this.knownMs = nowMs;
    this.askedMs = nowMs;
  }

  /** Given out, and not confirmed by the store yet. */
  get untold(): number {
    return this.spent + this.told;
  }

  /** Tokens that are left, if no other worker takes any. */
  left(nowMs: number): number {
    return this.expected(nowMs) - this.untold;
  }

  /**
   * Tokens that may be given out before the store has confirmed them: a fourth of this worker's part of what is left, since the others may
   * have taken some that the store has not told of. One of a bucket that was not asked for lately, so that a client that comes now and
   * then never waits: where that is a part of what is left, or nothing is known.
   */
  allowance(nowMs: number): number {
    const part = this.expected(nowMs) * (this.pace.spenders === 1 ? PARTS : this.share);
    const isFresh = nowMs - this.knownMs < FRESH_MS;
    return Math.max(Math.floor(part / PARTS), !this.isKnown || (part >= 1 && !isFresh) ? 1 : 0);
  }

  /** Tokens that may be given out where the store cannot be asked soon. */
  credit(nowMs: number): number {
    return Math.min(this.left(nowMs), this.rate.burst / CREDIT_PARTS - this.untold);
  }

  /** Whether so many tokens may be gone before the store has answered. */
  isRunningOut(tokens: number): boolean {
    return tokens < this.demand * this.pace.noticeMs;
  }

  /** Gives out a fetched token. */
  useLease(nowMs: number): boolean {
    if (this.leased === 0) return false;
    if (nowMs < this.leasedUntilMs) {
      this.leased--;
      return true;
    }
    this.leased = 0;
    return false;
  }

  ask(nowMs: number): BucketCall {
    const { unitUs, capacityUs } = this.rate;
    this.noteDemand(nowMs);
    this.wanted = this.wants || this.waiters.length > 0 ? this.leaseSize(nowMs) : 0;
    const call = { key: this.key, unitUs, capacityUs, spent: this.spent, want: this.wanted };
    this.asking = this.waiters.splice(0);
    this.isAsking = true;
    this.wants = false;
    this.told = this.spent;
    this.spent = 0;
    return call;
  }

  take({ granted, left, waitMs }: BucketReply, nowMs: number): void {
    const { pace, rate } = this;
    this.noteShare(this.told + granted, left, nowMs);
    this.isAsking = false;
    this.isKnown = true;
    this.told = 0;
    this.known = left;
    this.knownMs = nowMs;
    if (granted > 0) {
      this.leased += granted;
      this.leasedUntilMs = nowMs + Math.max(LEASE_MS, 2 * pace.aheadMs(nowMs));
    }
    if (waitMs <= 0 || granted >= Math.max(1, this.wanted)) return;
    // A fast limit is asked for what comes in a while, and not for each token.
    const isFast = rate.perMs >= FAST_PER_MS;
    this.closedUntilMs = nowMs + Math.max(waitMs, pace.busyMs(nowMs), isFast ? LEASED_MS : 0);
    if (isFast) this.floodUntilMs = this.closedUntilMs + FLOOD_MS;
  }

  fail(): void {
    this.isAsking = false;
    this.spent += this.told;
    this.told = 0;
  }

  /** Tokens that the store has by now, if no worker takes any. */
  private expected(nowMs: number): number {
    return Math.min(this.rate.burst, this.known + (nowMs - this.knownMs) * this.rate.perMs);
  }

  /** Tokens to fetch: what comes until more can be fetched. None where as many may be given out without. */
  private leaseSize(nowMs: number): number {
    const waiting = this.waiters.length;
    const ahead = Math.ceil(this.demand * this.pace.aheadMs(nowMs));
    const part = (this.left(nowMs) * this.share) / PARTS;
    if (waiting === 0 && this.isKnown && part >= ahead) return 0;
    return Math.max(1, waiting, Math.min(ahead, Math.floor(this.rate.burst / PARTS)) - this.leased);
  }

  private noteDemand(nowMs: number): void {
    const elapsedMs = nowMs - this.askedMs;
    if (elapsedMs < FLUSH_MS / 4) return;
    this.demand += (this.offered / elapsedMs - this.demand) * Math.min(1, elapsedMs / DEMAND_MS);
    this.offered = 0;
    this.askedMs = nowMs;
  }

  /** @param own tokens that this worker took since the store last answered @param left what the store has now */
  private noteShare(own: number, left: number, nowMs: number): void {
    const taken = Math.max(own, this.expected(nowMs) - left);
    if (taken < 1) return;
    const found = Math.max(1 / this.pace.spenders, own / taken);
    // Within a moment the others may not have told yet what they have taken.
    const trust = found < this.share ? 0.5 : Math.min(0.5, (nowMs - this.knownMs) / SHARE_MS);
    this.share += (found - this.share) * trust;
  }
}

function digest(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22);
}

/** How long what was given out waits to be told. */
const FLUSH_MS = 20;
const PARTS = 4;
/** What the store said so long ago may have changed. */
const FRESH_MS = 50;
/** What a worker fetches at least where it is in demand: the tokens of so many milliseconds. */
const LEASED_MS = 20;
/** Fetched tokens that are not used for so long are gone. */
const LEASE_MS = 1000;
/** What is in demand is reckoned over so long. */
const DEMAND_MS = 100;
/** What others have taken is told after so long, even if the store is busy. */
const SHARE_MS = 1000;
/** Calls of the whole fleet, as long as none must be made: a server of Redis bears several times as many. */
const STORE_CALLS_PER_MS = 14;
/** What is urgent goes before its turn by so much at most. */
const OVERDRAFT_MS = 300;
const CREDIT_PARTS = 4;
const LONGEST_AHEAD_MS = 10_000;
/** From fifty a second on a limit is fast. */
const FAST_PER_MS = 0.05;
const FLOOD_MS = 1000;
const MAX_PLAIN_BYTES = 64;
/** Keys that a worker knows something of; beyond that the oldest is forgotten, and begins as one that is not known. */
const MAX_KEYS = 65_536;
/** Requests of a worker that wait for the store; those beyond it go by the gateway's own buckets. */
const MAX_WAITING = 1024;
