import { type BanKey, KeyKind } from "./ban-key.ts";

/**
 * Networks that are banned, in memory that all workers share: intervals that do not touch, in order, of IPv4 addresses and of /64s.
 *
 *     count of IPv4, count of IPv6 (Uint32) | index: first interval of each 65536th of IPv4 (65537 Uint32)
 *       | from (v4) | to (v4) | from high (v6) | from low | to high | to low
 *
 * 8 bytes a network of IPv4, 16 of IPv6, and 256 KiB. A lookup is a search among the intervals of one 65536th.
 */
export class NetworkTable {
  private readonly words: Uint32Array;
  private readonly count4: number;
  private readonly count6: number;

  /** @param buffer from `buildNetworkTable` */
  constructor(buffer: SharedArrayBuffer) {
    this.words = new Uint32Array(buffer);
    this.count4 = this.words[0]!;
    this.count6 = this.words[1]!;
  }

  has({ kind, high, low }: BanKey): boolean {
    return kind === KeyKind.V4 ? this.has4(high) : kind === KeyKind.V6 && this.has6(high, low);
  }

  private has4(address: number): boolean {
    const { words, count4 } = this;
    if (count4 === 0) return false;
    const bucket = HEADER_WORDS + (address >>> 16);
    // The last interval that begins at or before the address: it may begin in an earlier 65536th.
    let from = words[bucket]!;
    let to = words[bucket + 1]!;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (words[LIST + middle]! <= address) from = middle + 1;
      else to = middle;
    }
    return from > 0 && words[LIST + count4 + from - 1]! >= address;
  }

  private has6(high: number, low: number): boolean {
    const { words, count6 } = this;
    const first = LIST + this.count4 * 2;
    let from = 0;
    let to = count6;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const there = words[first + middle]!;
      if (there < high || (there === high && words[first + count6 + middle]! <= low)) from = middle + 1;
      else to = middle;
    }
    if (from === 0) return false;
    const end = words[first + count6 * 2 + from - 1]!;
    return end > high || (end === high && words[first + count6 * 3 + from - 1]! >= low);
  }
}

/** Intervals as a feed gives them: in any order, overlapping or not. `v6` counts /64s. */
export interface Intervals {
  readonly v4: { readonly from: Uint32Array; readonly to: Uint32Array };
  readonly v6: { readonly from: BigUint64Array; readonly to: BigUint64Array };
}

/** No network at all. */
export const NO_INTERVALS: Intervals = {
  v4: { from: new Uint32Array(0), to: new Uint32Array(0) },
  v6: { from: new BigUint64Array(0), to: new BigUint64Array(0) },
};

/** How many intervals there are. */
export function sizeOf({ v4, v6 }: Intervals): number {
  return v4.from.length + v6.from.length;
}

/** All of several lists, in order; intervals that touch or overlap become one. */
export function merged(lists: readonly Intervals[]): Intervals {
  const v4 = merge4(
    sorted(Uint32Array, lists, ({ v4: { from } }) => from),
    sorted(Uint32Array, lists, ({ v4: { to } }) => to),
  );
  const v6 = merge6(
    sorted(BigUint64Array, lists, ({ v6: { from } }) => from),
    sorted(BigUint64Array, lists, ({ v6: { to } }) => to),
  );
  return { v4, v6 };
}

/** One end of all intervals, in order. */
function sorted<T extends Uint32Array | BigUint64Array>(
  make: new (length: number) => T,
  lists: readonly Intervals[],
  endOf: (list: Intervals) => T,
): T {
  const all = new make(lists.reduce((sum, list) => sum + endOf(list).length, 0));
  let at = 0;
  for (const list of lists) {
    const ends = endOf(list);
    all.set(ends as never, at);
    at += ends.length;
  }
  return all.sort() as T;
}

/**
 * The union of intervals of which begins and ends are in order, each by themselves. Between the i-th begin and the one before is a gap if the i-th
 * end lies before it: then all intervals that have begun have ended. Both lists are written anew.
 */
function merge4(from: Uint32Array, to: Uint32Array): Intervals["v4"] {
  let last = 0;
  for (let i = 1; i < from.length; i++) {
    if (from[i]! <= to[i - 1]! + 1) continue;
    to[last++] = to[i - 1]!;
    from[last] = from[i]!;
  }
  if (from.length === 0) return NO_INTERVALS.v4;
  to[last] = to.at(-1)!;
  return { from: from.slice(0, last + 1), to: to.slice(0, last + 1) };
}

function merge6(from: BigUint64Array, to: BigUint64Array): Intervals["v6"] {
  let last = 0;
  for (let i = 1; i < from.length; i++) {
    if (from[i]! <= to[i - 1]! + 1n) continue;
    to[last++] = to[i - 1]!;
    from[last] = from[i]!;
  }
  if (from.length === 0) return NO_INTERVALS.v6;
  to[last] = to.at(-1)!;
  return { from: from.slice(0, last + 1), to: to.slice(0, last + 1) };
}

/** The share of the address space that merged intervals cover: the larger of IPv4's and IPv6's. */
function coveredShare({ v4, v6 }: Intervals): number {
  let covered4 = 0;
  for (let i = 0; i < v4.from.length; i++) covered4 += v4.to[i]! - v4.from[i]! + 1;
  let covered6 = 0;
  for (let i = 0; i < v6.from.length; i++) covered6 += Number(v6.to[i]! - v6.from[i]!) + 1;
  return Math.max(covered4 / 2 ** 32, covered6 / 2 ** 64);
}

/** Why merged intervals are more than may be banned; "" if they are not. @param most a share of the address space */
export function shareFault(list: Intervals, most: number): string {
  const share = coveredShare(list);
  if (share <= most) return "";
  const percent = (part: number): string => `${Number((part * 100).toPrecision(3))}%`;
  return `it has ${percent(share)} of all addresses, more than max_share (${percent(most)})`;
}

/** The same intervals without loopback: 127.0.0.0/8, and the /64 of ::1. @param list merged */
export function withoutLoopback(list: Intervals): Intervals {
  const { v4, v6 } = list;
  const from: number[] = [];
  const to: number[] = [];
  const put = (begin: number, end: number): void => {
    if (begin > end) return;
    from.push(begin);
    to.push(end);
  };
  for (let i = 0; i < v4.from.length; i++) {
    const [begin, end] = [v4.from[i]!, v4.to[i]!];
    if (begin > LOOPBACK_END || end < LOOPBACK) put(begin, end);
    else {
      put(begin, LOOPBACK - 1);
      put(LOOPBACK_END + 1, end);
    }
  }
  const has6 = v6.from[0] === 0n;
  const first = has6 && v6.to[0] === 0n ? 1 : 0;
  const rest = { from: v6.from.slice(first), to: v6.to.slice(first) };
  if (has6 && first === 0) rest.from[0] = 1n;
  return { v4: { from: Uint32Array.from(from), to: Uint32Array.from(to) }, v6: rest };
}

/** Puts merged intervals into shared memory. */
export function buildNetworkTable({ v4, v6 }: Intervals): SharedArrayBuffer {
  const [count4, count6] = [v4.from.length, v6.from.length];
  const buffer = new SharedArrayBuffer((LIST + count4 * 2 + count6 * 4) * 4);
  const words = new Uint32Array(buffer);
  words[0] = count4;
  words[1] = count6;
  words.set(v4.from, LIST);
  words.set(v4.to, LIST + count4);
  for (let bucket = 0, i = 0; bucket <= BUCKETS; bucket++) {
    while (i < count4 && v4.from[i]! < bucket * 65_536) i++;
    words[HEADER_WORDS + bucket] = i;
  }
  const first = LIST + count4 * 2;
  const halves = [v6.from, v6.to].map(({ buffer: all, byteOffset }) => new Uint32Array(all, byteOffset, count6 * 2));
  for (const [list, half] of halves.entries()) {
    const at = first + count6 * 2 * list;
    for (let i = 0; i < count6; i++) {
      words[at + i] = half[i * 2 + 1]!;
      words[at + count6 + i] = half[i * 2]!;
    }
  }
  return buffer;
}

const HEADER_WORDS = 2;
const BUCKETS = 65_536;
const LIST = HEADER_WORDS + BUCKETS + 1;
const LOOPBACK = 0x7f00_0000;
const LOOPBACK_END = 0x7fff_ffff;
