import { BucketKey } from "./token-bucket-key.ts";

/**
 * Token buckets that all workers share, in a fixed number of places, without locks.
 *
 * A bucket is kept as its debt: how long it will take until it is full again (GCRA, the virtual scheduling form of a token
 * bucket). So its whole state is one point in time, a request is one compare-and-exchange, and nothing needs refilling.
 * A full bucket has no state at all: its place may be taken by any other.
 *
 *     secret (32 Int32) | sets of eight places:  tags (8 Int32) | fullAt (8) | tickAt (8) | unused (8)
 *
 *   tag      half of the key's hash; the other half chooses the set
 *   fullAt   when the bucket is full, in units of the rate, modulo 2^32
 *   tickAt   the same in ticks of 64 ms and never earlier, so that an old `fullAt` is not taken for a new one
 *
 * A key that finds its set full of buckets in debt takes the place of the one that is full soonest: so the buckets that
 * matter, those of clients that are being refused, are the last to be forgotten, whatever number of keys a flood brings.
 *
 * How far from exact: threads that ask for one key at the same instant are counted one by one. A key whose place is taken
 * from it while it is in debt starts full again, and a thread that was just about to charge it charges the new key, one
 * request at most. Clocks that disagree cost nothing up to MAX_SKEW_MS, and beyond that what refills in that time. A new
 * key shares the bucket of another with a chance of 2^-29 at most.
 */
export class TokenBuckets {
  private readonly words: Int32Array;
  private readonly setMask: number;
  /** The debt of the bucket that was asked last, in units of its rate: after the token that it gave, or as it refuses. */
  debt = 0;
  /** What `leastMissed` has found beside the place. */
  private victimTag = 0;
  private victimIsFull = false;

  /** @param buffer from `createTokenBuckets` */
  constructor(buffer: SharedArrayBuffer) {
    this.words = new Int32Array(buffer);
    this.setMask = (this.words.length - HEADER_WORDS) / SET_WORDS - 1;
  }

  /** A hash of its own for each purpose, the same one in every thread. */
  keyFor(purpose: string): BucketKey {
    return new BucketKey(this.words[0]!, this.words[1]!).derive(purpose);
  }

  /**
   * Takes one token from the bucket of the key that was hashed last.
   * @param nowMs milliseconds on one clock for all threads. The furthest one decides: a thread that is behind sees less of
   *   refill, so that it may refuse too much, never admit too much
   * @returns 0 when there was one, else the milliseconds until there will be
   */
  take(key: BucketKey, rate: BucketRate, nowMs: number): number {
    const tick = Math.floor(nowMs / TICK_MS) | 0;
    // 0 is the tag of an empty place.
    const place = this.placeOf(
      HEADER_WORDS + (key.low & this.setMask) * SET_WORDS,
      key.high === 0 ? 1 : key.high,
      tick,
    );
    const now = Math.floor(nowMs * rate.unitsPerMs) | 0;
    for (;;) {
      const was = Atomics.load(this.words, place + FULL_AT);
      const debt = this.isFull(place, tick) ? 0 : rate.debt((was - now) | 0);
      const next = debt + rate.unitsPerToken;
      if (next > rate.capacity) {
        this.debt = debt;
        return (next - rate.capacity) / rate.unitsPerMs;
      }
      // Before the exchange: no reader may take the new time for an old one.
      this.raiseTick(place, tick, tick + rate.ticksOf(next));
      if (Atomics.compareExchange(this.words, place + FULL_AT, was, (now + next) | 0) === was) {
        this.debt = next;
        return 0;
      }
    }
  }

  /** Gives the token back that the key which was hashed last has taken, where its bucket is still there. */
  giveBack(key: BucketKey, rate: BucketRate, nowMs: number): void {
    const set = HEADER_WORDS + (key.low & this.setMask) * SET_WORDS;
    const tag = key.high === 0 ? 1 : key.high;
    const tick = Math.floor(nowMs / TICK_MS) | 0;
    const now = Math.floor(nowMs * rate.unitsPerMs) | 0;
    for (let place = set; place < set + PLACES; place++) {
      if (Atomics.load(this.words, place) !== tag) continue;
      for (;;) {
        const was = Atomics.load(this.words, place + FULL_AT);
        const debt = this.isFull(place, tick) ? 0 : rate.debt((was - now) | 0);
        if (debt === 0) return;
        const next = Math.max(0, debt - rate.unitsPerToken);
        if (Atomics.compareExchange(this.words, place + FULL_AT, was, (now + next) | 0) === was) return;
      }
    }
  }

  /** The debt of the bucket of the key that was hashed last, in units of its rate. */
  debtOf(key: BucketKey, rate: BucketRate, nowMs: number): number {
    const set = HEADER_WORDS + (key.low & this.setMask) * SET_WORDS;
    const tag = key.high === 0 ? 1 : key.high;
    const tick = Math.floor(nowMs / TICK_MS) | 0;
    const now = Math.floor(nowMs * rate.unitsPerMs) | 0;
    for (let place = set; place < set + PLACES; place++) {
      if (Atomics.load(this.words, place) !== tag) continue;
      return this.isFull(place, tick) ? 0 : rate.debt((Atomics.load(this.words, place + FULL_AT) - now) | 0);
    }
    return 0;
  }

  /**
   * Takes tokens that have been used already, however few there are: the bucket is empty at least. Less than none are given back.
   * @param nowMs see `take`
   */
  charge(key: BucketKey, rate: BucketRate, nowMs: number, tokens: number): void {
    const tick = Math.floor(nowMs / TICK_MS) | 0;
    const set = HEADER_WORDS + (key.low & this.setMask) * SET_WORDS;
    const place = this.placeOf(set, key.high === 0 ? 1 : key.high, tick);
    const now = Math.floor(nowMs * rate.unitsPerMs) | 0;
    for (;;) {
      const was = Atomics.load(this.words, place + FULL_AT);
      const debt = this.isFull(place, tick) ? 0 : rate.debt((was - now) | 0);
      const next = Math.floor(Math.max(0, Math.min(rate.capacity, debt + tokens * rate.unitsPerToken)));
      this.raiseTick(place, tick, tick + rate.ticksOf(next));
      if (Atomics.compareExchange(this.words, place + FULL_AT, was, (now + next) | 0) === was) return;
    }
  }

  /** The place of a key's bucket, taken now if it has none. */
  private placeOf(set: number, tag: number, tick: number): number {
    for (;;) {
      for (let place = set; place < set + PLACES; place++) {
        if (Atomics.load(this.words, place) === tag) return place;
      }
      const victim = this.leastMissed(set, tag, tick);
      const { victimTag, victimIsFull } = this;
      // Another thread was faster, perhaps with the same key.
      if (victimTag === tag) return victim;
      if (Atomics.compareExchange(this.words, victim, victimTag, tag) !== victimTag) continue;
      // A bucket that was full is left alone: another thread may have found the new tag and charged it by now.
      if (!victimIsFull) Atomics.store(this.words, victim + TICK_AT, (tick - 1) | 0);
      return victim;
    }
  }

  /**
   * The first place whose bucket is empty or full, else the one that is full soonest; its tag is in `victimTag`. All
   * threads look in the same order, so that two of them do not take two places for one key.
   */
  private leastMissed(set: number, wanted: number, tick: number): number {
    let best = set;
    let soonest = Number.MAX_SAFE_INTEGER;
    for (let place = set; place < set + PLACES && soonest >= 0; place++) {
      const tag = Atomics.load(this.words, place);
      const endsHere = tag === 0 || tag === wanted;
      const ticks = endsHere ? -1 : (Atomics.load(this.words, place + TICK_AT) - tick) | 0;
      if (ticks >= soonest) continue;
      soonest = ticks;
      best = place;
      this.victimTag = tag;
    }
    this.victimIsFull = this.isFull(best, tick);
    return best;
  }

  private isFull(place: number, tick: number): boolean {
    return ((Atomics.load(this.words, place + TICK_AT) - tick) | 0) < 0;
  }

  private raiseTick(place: number, tick: number, to: number): void {
    for (;;) {
      const was = Atomics.load(this.words, place + TICK_AT);
      const isLater = ((was - tick) | 0) >= 0 && ((was - to) | 0) >= 0;
      if (isLater || Atomics.compareExchange(this.words, place + TICK_AT, was, to | 0) === was) return;
    }
  }
}

/** How fast the buckets of one limit refill and what they hold, in units of time of its own. */
export class BucketRate {
  /** Time in which one token comes. */
  readonly unitsPerToken: number;
  readonly unitsPerMs: number;
  /** The debt of an empty bucket: the burst, and less than one token more for clocks that disagree. */
  readonly capacity: number;
  private readonly tolerance: number;

  /**
   * @param requests tokens that come each window, 1 and up
   * @param windowMs 1 and up
   * @param burst tokens that a full bucket holds, 1 and up
   */
  constructor(requests: number, windowMs: number, burst: number) {
    const tokens = Math.min(burst, MAX_UNITS);
    const msPerToken = Math.max(windowMs / requests, 1000 / MAX_UNITS);
    // As fine as 32 bits allow, with room for the clocks' second: a token is a whole number of units, so no rate drifts.
    this.unitsPerToken = Math.max(1, Math.floor(Math.min(MAX_UNITS / tokens, (MAX_UNITS * msPerToken) / 1000)));
    this.unitsPerMs = this.unitsPerToken / msPerToken;
    const slack = Math.min(this.unitsPerToken - 1, Math.floor(this.unitsPerMs * MAX_SKEW_MS));
    this.capacity = this.unitsPerToken * tokens + slack;
    this.tolerance = this.unitsPerMs * 1000;
  }

  /** The debt of a bucket that will be full `ahead` units from now; what no clock explains is none. */
  debt(ahead: number): number {
    return ahead < 0 || ahead > this.capacity + this.tolerance ? 0 : ahead;
  }

  /** Tokens that a bucket with this debt has. */
  tokensLeft(debt: number): number {
    return Math.max(0, Math.floor((this.capacity - debt) / this.unitsPerToken));
  }

  /** Milliseconds until a bucket with this debt has one token more. */
  msToNext(debt: number): number {
    return Math.max(0, debt - this.capacity + (this.tokensLeft(debt) + 1) * this.unitsPerToken) / this.unitsPerMs;
  }

  /** Whole ticks that are no shorter than these units. */
  ticksOf(units: number): number {
    return Math.min(MAX_TICKS, Math.ceil(units / this.unitsPerMs / TICK_MS) + 1);
  }
}

/**
 * Makes the buckets: 4 MiB, of which only what is used becomes resident.
 * @param secret two unpredictable numbers
 * @param sets a power of two; each holds eight buckets
 */
export function createTokenBuckets(secret: ArrayLike<number>, sets = SETS): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer((HEADER_WORDS + sets * SET_WORDS) * 4);
  const words = new Int32Array(buffer);
  words[0] = secret[0]!;
  words[1] = secret[1]!;
  return buffer;
}

/** Buckets for 262144 keys in debt at a time. */
const SETS = 32768;
const PLACES = 8;
const HEADER_WORDS = 32;
const SET_WORDS = PLACES * 4;
const FULL_AT = PLACES;
const TICK_AT = PLACES * 2;
/**
 * What one thread's clock may be behind another's before the last token of a bucket is refused by mistake. Each thread
 * reads its clock once a turn of its event loop, so that the length of a turn counts.
 */
const MAX_SKEW_MS = 20;
/** Ticks wrap after eight years; a bucket that is in debt for longer than two counts as full then. */
const TICK_MS = 64;
const MAX_TICKS = 0x40000000;
const MAX_UNITS = 0x20000000;
