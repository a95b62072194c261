import { BucketKey } from "../../shared/token-bucket-key.ts";

/** What a worker asks the store of one key. */
export interface FleetCall {
  /** The name of the bucket in the store, without the fleet's prefix. */
  readonly key: string;
  /** Microseconds in which one token comes, and that an empty bucket takes to be full. */
  readonly unitUs: number;
  readonly capacityUs: number;
  /** Tokens that were given out already. */
  readonly spent: number;
  /** Tokens that are wanted, as far as there are any. */
  readonly want: number;
}

/** What the store says of it. */
export interface FleetReply {
  /** How many of the wanted tokens it gave. */
  readonly granted: number;
  /** Tokens that are left; negative where more were given out than there were. */
  readonly left: number;
  /** Until there is one, 0 where there is. */
  readonly waitMs: number;
}

/** How a worker reaches the store: by way of the control thread. */
export interface FleetPort {
  /** @param answer called once, later; with null where the store is away */
  ask(calls: readonly FleetCall[], answer: (replies: readonly FleetReply[] | null) => void): void;
  /** Runs `work` as a turn of its own, after so many milliseconds. */
  later(work: () => void, afterMs: number): void;
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
 * One worker's part of the buckets of a fleet. Far from its limit a key is let in at once, and the store is told some milliseconds
 * later; near it tokens are fetched, a few at a time. Nothing waits for the store but a request near its limit that comes after a
 * pause. docs/fleet.md#rate-limits
 */
export class FleetBuckets {
  /** Whether the store can be reached. */
  isUp = false;
  /** Gateways that share the limits, as they were last seen. */
  nodes = 1;
  private readonly port: FleetPort;
  private readonly buckets: Map<string, Bucket> = new Map();
  private readonly due: Set<Bucket> = new Set();
  /** Of all gateways, workers counted one by one. */
  private spenders = 1;
  private timeoutMs = 0;
  private isScheduled = false;
  private isUrgent = false;
  private waiting = 0;

  constructor(port: FleetPort) {
    this.port = port;
  }

  /** @param workers of each gateway @param timeoutMs how long requests wait for the store */
  use(isUp: boolean, nodes: number, workers: number, timeoutMs: number): void {
    this.isUp = isUp;
    this.nodes = nodes;
    this.spenders = Math.max(1, nodes * workers);
    this.timeoutMs = timeoutMs;
    // What is known may be long past when the store is back.
    if (!isUp) this.buckets.clear();
  }

  /** A key for one purpose. */
  keyFor(purpose: string): FleetKey {
    return new FleetKey(purpose);
  }

  /**
   * Takes a token of the key that was hashed last.
   * @returns 0 where there was one, ASK, or the milliseconds until there may be one
   */
  take(key: FleetKey, rate: FleetRate, nowMs: number): number {
    const found = this.buckets.get(key.text);
    if (found === undefined) return this.begin(key.text, rate, nowMs);
    if (nowMs < found.deniedUntilMs) return found.deniedUntilMs - nowMs;
    if (found.leased > 0 && nowMs - found.leasedMs < LEASE_MS) {
      if (--found.leased === 0) this.schedule(found, false);
      return 0;
    }
    found.leased = 0;
    if (found.untold < this.allowanceOf(found, nowMs)) {
      found.spent++;
      this.schedule(found, false);
      return 0;
    }
    found.wants = true;
    this.schedule(found, true);
    // A flood is refused at once, and finds tokens the next time.
    const isFlood = rate.perMs >= FAST_PER_MS && nowMs - found.deniedMs < FLOOD_MS;
    return isFlood ? Math.max(1, 1 / rate.perMs) : ASK;
  }

  /** Tokens that are left of the key that was asked last, about. */
  leftOf(key: FleetKey, nowMs: number): number {
    const found = this.buckets.get(key.text);
    return found === undefined ? 0 : Math.max(0, Math.floor(found.left(nowMs)) + found.leased);
  }

  /**
   * Waits for the store, after `take` gave ASK.
   * @param decided called once, later: with 0 where there was a token, the milliseconds until there may be one, or ASK where the store
   *   has not answered in time
   * @returns false where too many wait
   */
  wait(key: FleetKey, decided: (waitMs: number) => void): boolean {
    const found = this.buckets.get(key.text);
    if (found === undefined || this.waiting >= MAX_WAITING) return false;
    this.waiting++;
    const waiter: Waiter = { decided, isOver: false };
    found.waiters.push(waiter);
    this.port.later(() => this.decide(waiter, ASK), this.timeoutMs);
    return true;
  }

  private begin(text: string, rate: FleetRate, nowMs: number): number {
    if (this.buckets.size >= MAX_KEYS) this.buckets.delete(this.buckets.keys().next().value!);
    const bucket = new Bucket(digest(Buffer.from(text, "latin1")), rate, nowMs);
    this.buckets.set(text, bucket);
    bucket.spent = 1;
    this.schedule(bucket, false);
    return 0;
  }

  /**
   * Tokens that may be given out before the store is told: a fourth of this worker's part of what is left, since the others may have
   * taken some that the store has not told of. One where that was long ago, so that a client that comes now and then never waits.
   */
  private allowanceOf(bucket: Bucket, nowMs: number): number {
    const { spenders } = this;
    const left = Math.floor(bucket.left(nowMs) + bucket.untold);
    if (left < 1) return 0;
    if (spenders === 1) return left;
    const part = Math.floor(left / (PARTS * spenders));
    return nowMs - bucket.knownMs < FRESH_MS ? part : Math.max(1, part);
  }

  private schedule(bucket: Bucket, isUrgent: boolean): void {
    if (!bucket.isAsking) this.due.add(bucket);
    if (isUrgent && !this.isUrgent) {
      this.isUrgent = true;
      this.port.later(() => this.flush(), 0);
    } else if (!this.isScheduled) {
      this.isScheduled = true;
      this.port.later(() => this.flush(), FLUSH_MS);
    }
  }

  private flush(): void {
    this.isScheduled = false;
    this.isUrgent = false;
    const asked = [...this.due];
    this.due.clear();
    if (asked.length === 0) return;
    const calls = asked.map((bucket) => bucket.ask(this.spenders));
    this.port.ask(calls, (replies) => {
      const nowMs = performance.now();
      for (const [i, bucket] of asked.entries()) this.settle(bucket, replies?.[i] ?? null, nowMs);
    });
  }

  /** The store has answered for a bucket, or not: those who have waited for that are decided. */
  private settle(bucket: Bucket, reply: FleetReply | null, nowMs: number): void {
    if (reply === null) bucket.fail();
    else bucket.take(reply, nowMs);
    for (const waiter of bucket.asking.splice(0)) {
      if (waiter.isOver) continue;
      if (reply === null) this.decide(waiter, ASK);
      else if (bucket.leased > 0) {
        bucket.leased--;
        this.decide(waiter, 0);
      } else this.decide(waiter, Math.max(1, bucket.deniedUntilMs - nowMs));
    }
    const isWaitedFor = bucket.waiters.length > 0;
    if (isWaitedFor || (bucket.spent > 0 && reply !== null)) this.schedule(bucket, isWaitedFor);
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

/** What a worker knows of one bucket. */
class Bucket {
  readonly rate: FleetRate;
  /** Given out, and not told yet. */
  spent = 0;
  /** Fetched, and not given out yet. */
  leased = 0;
  leasedMs = 0;
  deniedUntilMs = 0;
  deniedMs = Number.NEGATIVE_INFINITY;
  wants = false;
  isAsking = false;
  readonly waiters: Waiter[] = [];
  /** Those for whom the store has been asked. */
  asking: Waiter[] = [];
  private readonly key: string;
  private told = 0;
  private known: number;
  /** When the store last said what is left. */
  knownMs: number;

  constructor(key: string, rate: FleetRate, nowMs: number) {
    this.key = key;
    this.rate = rate;
    this.known = 1;
    this.knownMs = nowMs;
  }

  /** Given out, and not confirmed by the store yet. */
  get untold(): number {
    return this.spent + this.told;
  }

  /** Tokens in the store by what it last said. */
  left(nowMs: number): number {
    const { burst, perMs } = this.rate;
    return Math.min(burst, this.known + (nowMs - this.knownMs) * perMs) - this.spent - this.told;
  }

  ask(spenders: number): FleetCall {
    const { unitUs, capacityUs, perMs, burst } = this.rate;
    const lease = Math.min(Math.ceil(perMs * LEASED_MS), Math.floor(burst / (4 * spenders)));
    const call = {
      key: this.key,
      unitUs,
      capacityUs,
      spent: this.spent,
      want: this.wants || this.waiters.length > 0 ? Math.max(1, lease, this.waiters.length) : 0,
    };
    this.asking = this.waiters.splice(0);
    this.isAsking = true;
    this.wants = false;
    this.told = this.spent;
    this.spent = 0;
    return call;
  }

  take({ granted, left, waitMs }: FleetReply, nowMs: number): void {
    this.isAsking = false;
    this.told = 0;
    this.known = left;
    this.knownMs = nowMs;
    if (granted > 0) {
      this.leased += granted;
      this.leasedMs = nowMs;
    }
    if (waitMs <= 0 || this.leased > 0) return;
    // A fast limit is asked for what comes in a while, and not for each token.
    this.deniedUntilMs = nowMs + Math.max(waitMs, this.rate.perMs >= FAST_PER_MS ? LEASED_MS : 0);
    this.deniedMs = nowMs;
  }

  fail(): void {
    this.isAsking = false;
    this.spent += this.told;
    this.told = 0;
  }
}

function digest(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22);
}

/** How long what was given out waits to be told. */
const FLUSH_MS = 5;
const PARTS = 4;
/** What the store said so long ago may have changed. */
const FRESH_MS = 50;
/** What a worker fetches of a fast limit: the tokens of so many milliseconds. */
const LEASED_MS = 20;
/** Fetched tokens that are not used for so long are gone. */
const LEASE_MS = 1000;
/** From fifty a second on a limit is fast. */
const FAST_PER_MS = 0.05;
const FLOOD_MS = 1000;
const MAX_PLAIN_BYTES = 64;
/** Keys that a worker knows something of; beyond that the oldest is forgotten, and begins as one that is not known. */
const MAX_KEYS = 65_536;
/** Requests of a worker that wait for the store; those beyond it go by the gateway's own buckets. */
const MAX_WAITING = 1024;
