import { BanKey, KeyKind } from "./ban-key.ts";

/** Where a ban comes from. */
export const BAN_SOURCES = ["blocks", "operator", "fleet"] as const;
export type BanSource = (typeof BAN_SOURCES)[number];

/** How blocks become bans. */
export interface BanRules {
  /** So many blocks within the window are a ban. */
  readonly blocks: number;
  readonly windowMs: number;
  /** The first ban of an address; each further one is twice as long. */
  readonly forMs: number;
  readonly maxMs: number;
}

/** A ban of one address. Times in milliseconds since the epoch. */
export interface Ban {
  /** An IPv4 address, or a /64. */
  readonly address: string;
  readonly source: BanSource;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Bans of this address in a row. */
  readonly count: number;
}

/**
 * Who is banned, and whose requests were refused lately: memory that all workers share, of a fixed size. A ban counts in every worker as
 * soon as it is written.
 *
 *     secret (16 Int32) | sets of four places of 64 bytes:
 *       0 lock (of the set, in its first place) | 1 kind | 2 high | 3 low | 4 until (Float64) | 6 since (Float64)
 *       8 source and count | 9 part of the window | 10 counts of eight parts of the window (Uint16)
 *
 * Readers take no lock. Writers of one set wait for each other; after LOCK_TRIES a lock counts as left by a thread that has ended. An address that
 * finds its set full takes the place that is missed least: one without a ban, else the ban that ends first.
 */
export class BanTable {
  private readonly words: Int32Array;
  private readonly times: Float64Array;
  private readonly parts: Uint16Array;
  private readonly setMask: number;

  /** @param buffer from `createBanTable` */
  constructor(buffer: SharedArrayBuffer) {
    this.words = new Int32Array(buffer);
    this.times = new Float64Array(buffer);
    this.parts = new Uint16Array(buffer);
    this.setMask = (this.words.length - HEADER_WORDS) / SET_WORDS - 1;
  }

  /** Until when the key is banned; 0 for none. */
  untilMs(key: BanKey, nowMs: number): number {
    const place = this.find(key);
    return place < 0 ? 0 : this.endOf(place, nowMs);
  }

  /** When the ban at a place ends; 0 if none is in force. */
  private endOf(place: number, nowMs: number): number {
    const until = this.times[(place + UNTIL) >> 1]!;
    return isInForce(this.times[(place + SINCE) >> 1]!, until, nowMs) ? until : 0;
  }

  /**
   * Counts a refusal of a request.
   * @returns the ban that came of it; null for none
   */
  blocked(key: BanKey, nowMs: number, rules: BanRules): Ban | null {
    const set = this.setOf(key);
    this.lock(set);
    try {
      const place = this.placeFor(key, set, nowMs);
      if (this.endOf(place, nowMs) > 0) return null;
      // A ban from before the clock was set back ends now.
      this.times[(place + UNTIL) >> 1] = Math.min(nowMs, this.times[(place + UNTIL) >> 1]!);
      if (this.countBlock(place, nowMs, rules.windowMs) < rules.blocks) return null;
      const lastMs = this.times[(place + UNTIL) >> 1]!;
      // Long after the last ban, the client begins anew.
      const before = lastMs > 0 && nowMs - lastMs < rules.maxMs ? this.countAt(place) : 0;
      const forMs = Math.min(rules.maxMs, rules.forMs * 2 ** Math.min(before, MAX_DOUBLINGS));
      this.clearParts(place);
      return this.write(place, { source: "blocks", sinceMs: nowMs, untilMs: nowMs + forMs, count: before + 1 });
    } finally {
      this.unlock(set);
    }
  }

  /** Bans a key. A ban that ends later stays. @returns the ban in force */
  ban(key: BanKey, nowMs: number, ban: Omit<Ban, "address">): Ban {
    const set = this.setOf(key);
    this.lock(set);
    try {
      const place = this.placeFor(key, set, nowMs);
      if (this.endOf(place, nowMs) >= ban.untilMs) return this.read(place);
      return this.write(place, ban);
    } finally {
      this.unlock(set);
    }
  }

  /** Forgets a key. @returns whether it was banned */
  lift(key: BanKey, nowMs: number): boolean {
    const set = this.setOf(key);
    this.lock(set);
    try {
      const place = this.find(key);
      if (place < 0) return false;
      const wasBanned = this.endOf(place, nowMs) > 0;
      Atomics.store(this.words, place + KIND, KeyKind.None);
      return wasBanned;
    } finally {
      this.unlock(set);
    }
  }

  /** The bans in force. */
  bans(nowMs: number): Ban[] {
    const found: Ban[] = [];
    for (let place = HEADER_WORDS; place < this.words.length; place += PLACE_WORDS) {
      if (this.words[place + KIND] !== KeyKind.None && this.endOf(place, nowMs) > 0) found.push(this.read(place));
    }
    return found;
  }

  private setOf({ kind, high, low }: BanKey): number {
    let hash = Math.imul(high ^ this.words[0]!, 0x9e3779b1);
    hash = Math.imul((hash ^ (hash >>> 15)) + low, 0x85ebca6b) ^ this.words[1]!;
    hash = Math.imul(hash ^ (hash >>> 13) ^ kind, 0xc2b2ae35);
    return HEADER_WORDS + ((hash ^ (hash >>> 16)) & this.setMask) * SET_WORDS;
  }

  private find(key: BanKey): number {
    const set = this.setOf(key);
    for (let place = set; place < set + SET_WORDS; place += PLACE_WORDS) {
      if (Atomics.load(this.words, place + KIND) !== key.kind) continue;
      if (this.words[place + HIGH]! >>> 0 === key.high && this.words[place + LOW]! >>> 0 === key.low) return place;
    }
    return -1;
  }

  /** The place of a key, taken now for a new key. The set is locked. */
  private placeFor(key: BanKey, set: number, nowMs: number): number {
    const known = this.find(key);
    if (known >= 0) return known;
    let best = set;
    let least = Number.POSITIVE_INFINITY;
    for (let place = set; place < set + SET_WORDS; place += PLACE_WORDS) {
      const until = this.endOf(place, nowMs);
      // Empty places go first, then clients without a ban.
      const worth =
        this.words[place + KIND] === KeyKind.None ? -1 : until > 0 ? until : this.times[(place + SINCE) >> 1]! / 2;
      if (worth >= least) continue;
      least = worth;
      best = place;
    }
    // A reader must not find the new key with the old times.
    Atomics.store(this.words, best + KIND, KeyKind.None);
    this.times[(best + UNTIL) >> 1] = 0;
    this.times[(best + SINCE) >> 1] = nowMs;
    this.words[best + ABOUT] = 0;
    this.clearParts(best);
    this.words[best + HIGH] = key.high;
    this.words[best + LOW] = key.low;
    Atomics.store(this.words, best + KIND, key.kind);
    return best;
  }

  /** Counts one more in the part of the window that is now. @returns those of the last window, without a part that began before it */
  private countBlock(place: number, nowMs: number, windowMs: number): number {
    const part = Math.floor((nowMs * PARTS) / windowMs);
    const first = (place + COUNTS) * 2;
    const passed = (part - this.words[place + PART]!) | 0;
    if (passed < 0 || passed >= PARTS) this.clearParts(place);
    else for (let i = 1; i <= passed; i++) this.parts[first + ((part - passed + i) % PARTS)] = 0;
    this.words[place + PART] = part | 0;
    this.times[(place + SINCE) >> 1] = nowMs;
    const at = first + (part % PARTS);
    this.parts[at] = Math.min(this.parts[at]! + 1, 0xffff);
    let sum = 0;
    for (let i = 0; i < PARTS; i++) sum += this.parts[first + i]!;
    return sum;
  }

  private clearParts(place: number): void {
    const first = (place + COUNTS) * 2;
    this.parts.fill(0, first, first + PARTS);
  }

  private countAt(place: number): number {
    return this.words[place + ABOUT]! & 0xffff;
  }

  private write(place: number, { source, sinceMs, untilMs, count }: Omit<Ban, "address">): Ban {
    this.words[place + ABOUT] = (BAN_SOURCES.indexOf(source) << 16) | Math.min(count, 0xffff);
    this.times[(place + SINCE) >> 1] = sinceMs;
    this.times[(place + UNTIL) >> 1] = untilMs;
    return this.read(place);
  }

  private read(place: number): Ban {
    listed.set(this.words[place + KIND]! as KeyKind, this.words[place + HIGH]! >>> 0, this.words[place + LOW]! >>> 0);
    return {
      address: listed.text,
      source: BAN_SOURCES[this.words[place + ABOUT]! >> 16]!,
      sinceMs: this.times[(place + SINCE) >> 1]!,
      untilMs: this.times[(place + UNTIL) >> 1]!,
      count: this.countAt(place),
    };
  }

  private lock(set: number): void {
    for (let i = 0; i < LOCK_TRIES; i++) if (Atomics.compareExchange(this.words, set, 0, 1) === 0) return;
  }

  private unlock(set: number): void {
    Atomics.store(this.words, set, 0);
  }
}

/**
 * Whether a ban holds now. One that begins in the future was made before the clock was set back: it would last for as long as that.
 * Times in milliseconds since the epoch. docs/bans.md#what-counts
 */
export function isInForce(sinceMs: number, untilMs: number, nowMs: number): boolean {
  return untilMs > nowMs && sinceMs <= nowMs + CLOCK_SLACK_MS;
}

/**
 * Makes the table: 2 MiB, of which only used parts become resident.
 * @param secret two unpredictable numbers, so that no client can choose addresses that share a set
 */
export function createBanTable(secret: ArrayLike<number>, sets = SETS): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer((HEADER_WORDS + sets * SET_WORDS) * 4);
  new Int32Array(buffer).set([secret[0]!, secret[1]!]);
  return buffer;
}

/** Addresses that are remembered: four a set. */
const SETS = 8192;
const HEADER_WORDS = 16;
const PLACE_WORDS = 16;
const SET_WORDS = 4 * PLACE_WORDS;
const KIND = 1;
const HIGH = 2;
const LOW = 3;
const UNTIL = 4;
const SINCE = 6;
const ABOUT = 8;
const PART = 9;
const COUNTS = 10;
const PARTS = 8;
/** A thread holds a lock for less than a microsecond. */
const LOCK_TRIES = 100_000;
const MAX_DOUBLINGS = 40;
/** So far a clock may go back, as clocks do that are kept in step, without an end of bans. */
const CLOCK_SLACK_MS = 60_000;
const listed = new BanKey();
