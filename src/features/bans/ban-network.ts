import { BanKey, KeyKind } from "./ban-key.ts";
import { intervalsOf } from "./feed-text.ts";
import { type Intervals, sizeOf, withoutLoopback } from "./network-table.ts";

/** Who is banned by one text: a client, or a network of clients. */
interface BanNetwork {
  /** The one text for it: `192.0.2.7`, `2001:db8::/64`, `198.51.100.0/24`, `192.0.2.1-192.0.2.9`. */
  readonly name: string;
  /** Whether it is one client: an IPv4 address, or a /64 of IPv6. */
  readonly isSingle: boolean;
  /** Of a network without loopback, which only its own addresses ban: none if that was all. */
  readonly intervals: Intervals;
}

/** @returns null for another text than an address, a network or a range */
export function banNetwork(text: string): BanNetwork | null {
  const intervals = intervalsOf(text);
  if (intervals === null) return null;
  const isV4 = sizeOf(intervals) === intervals.v4.from.length;
  const [from, to] = isV4
    ? [BigInt(intervals.v4.from[0]!), BigInt(intervals.v4.to[0]!)]
    : [intervals.v6.from[0]!, intervals.v6.to[0]!];
  const isSingle = from === to;
  const name = nameOf(isV4 ? KeyKind.V4 : KeyKind.V6, from, to);
  return { name, isSingle, intervals: isSingle ? intervals : withoutLoopback(intervals) };
}

function nameOf(kind: KeyKind, from: bigint, to: bigint): string {
  if (from === to) return textOf(kind, from);
  const [begin = ""] = textOf(kind, from).split("/");
  const size = to - from + 1n;
  if ((size & (size - 1n)) === 0n && from % size === 0n)
    return `${begin}/${(kind === KeyKind.V4 ? 33 : 65) - size.toString(2).length}`;
  return `${begin}-${textOf(kind, to).split("/")[0]}`;
}

/** @param place an IPv4 address, or the number of a /64 */
function textOf(kind: KeyKind, place: bigint): string {
  if (kind === KeyKind.V4) key.set(kind, Number(place), 0);
  else key.set(kind, Number(place >> 32n), Number(place & 0xffff_ffffn));
  return key.text;
}

/** One for all, since nothing waits in between. */
const key = new BanKey();
