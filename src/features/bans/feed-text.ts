import { isMappedV4, parseAddress } from "../../core/ip-address.ts";
import type { Intervals } from "./network-table.ts";

/** Networks of all feeds together; one more costs 16 bytes at most. */
export const MAX_NETWORKS = 1_048_576;
/** Lines between two turns for other work. */
const LINES_A_TURN = 20_000;
/** Characters that count of a line: a comment may be longer. */
const MAX_LINE_CHARS = 256;
/** Of an unusable feed, this share of its lines is none of a list. */
const MAX_NONSENSE = 0.5;

/** Content of a feed. */
export interface FeedContent {
  readonly intervals: Intervals;
  /** Lines or decisions that are left out. */
  readonly skipped: number;
}

/** Decisions of a feed, each with its end in milliseconds since the epoch. */
export type Decisions = Map<string, number>;

/**
 * Reads a list with an address, a network or a range `from-to` a line; `#` and `;` begin comments, and what follows the first word is not read.
 * Between two parts other work may be done.
 * @throws Error why it is no list
 */
export function* readNetworks(bytes: Uint8Array): Generator<undefined, FeedContent, undefined> {
  const collected = new Collected();
  let lines = 0;
  for (let at = 0; at < bytes.length; lines++) {
    let end = bytes.indexOf(LINE_FEED, at);
    if (end < 0) end = bytes.length;
    const line = latin1(bytes, at, Math.min(end, at + MAX_LINE_CHARS));
    at = end + 1;
    const word = firstWord(line);
    if (word !== "" && !collected.add(word)) collected.skipped++;
    if (lines % LINES_A_TURN === LINES_A_TURN - 1) yield;
  }
  return collected.content();
}

/**
 * Reads decisions of CrowdSec: a list, which is all of them, or `{new, deleted}`, which are changes of those before.
 * @param before of the last time
 * @throws Error why it is neither
 */
export function* readDecisions(
  bytes: Uint8Array,
  before: Decisions,
  nowMs: number,
): Generator<undefined, FeedContent & { readonly decisions: Decisions }, undefined> {
  let read: unknown;
  try {
    read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Error("it is no JSON");
  }
  const isList = read === null || Array.isArray(read);
  if (!isList && (typeof read !== "object" || (!("new" in read!) && !("deleted" in read!))))
    throw new Error("expected a list of decisions, or new and deleted");
  const changes = isList
    ? { new: read, deleted: null }
    : (read as { readonly new?: unknown; readonly deleted?: unknown });
  const decisions: Decisions = isList ? new Map() : new Map(before);
  const [added, removed] = [listOf(changes.new), listOf(changes.deleted)];
  for (const one of removed) decisions.delete(addressIn(one) ?? "");
  let skipped = 0;
  for (const [i, one] of added.entries()) {
    const value = addressIn(one);
    if (value === null) skipped++;
    else if (isBan(one)) decisions.set(value, endOf(one as Decision, nowMs));
    if (i % LINES_A_TURN === LINES_A_TURN - 1) yield;
  }
  if (skipped > added.length * MAX_NONSENSE) throw new Error("most of it is no decision");
  const collected = new Collected();
  for (const [value, until] of decisions) {
    if (until <= nowMs) decisions.delete(value);
    else if (!collected.add(value)) collected.skipped++;
  }
  const { intervals, skipped: unread } = collected.content();
  return { intervals, skipped: skipped + unread, decisions };
}

/** One decision, as far as it matters. */
interface Decision {
  readonly duration?: unknown;
  readonly type?: unknown;
  readonly simulated?: unknown;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function addressIn(one: unknown): string | null {
  const value = (one as { readonly value?: unknown } | null)?.value;
  return typeof value === "string" ? value : null;
}

/** Whether it bans: other decisions ask for a captcha, or only pretend. */
function isBan(one: unknown): boolean {
  const { type = "ban", simulated } = one as Decision;
  return type === "ban" && simulated !== true;
}

/** @returns when it ends; never without a duration */
function endOf({ duration }: Decision, nowMs: number): number {
  if (typeof duration !== "string") return Number.POSITIVE_INFINITY;
  let rest = duration.startsWith("-") ? duration.slice(1) : duration;
  let ms = 0;
  while (rest !== "") {
    const part = /^(\d{1,9}(?:\.\d{1,9})?)(ms|us|µs|ns|h|m|s)/.exec(rest);
    if (part === null) return Number.POSITIVE_INFINITY;
    ms += Number(part[1]) * UNIT_MS[part[2]!]!;
    rest = rest.slice(part[0].length);
  }
  return duration.startsWith("-") ? nowMs : nowMs + ms;
}

const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0,
};

/** Intervals in the making. */
class Collected {
  skipped = 0;
  private from4: Uint32Array = new Uint32Array(1024);
  private to4: Uint32Array = new Uint32Array(1024);
  private size4 = 0;
  private readonly from6: bigint[] = [];
  private readonly to6: bigint[] = [];

  /** @returns false for another text @throws Error if there are too many */
  add(word: string): boolean {
    if (this.size4 + this.from6.length >= MAX_NETWORKS) throw new Error(`it has more than ${MAX_NETWORKS} networks`);
    const dash = word.indexOf("-");
    const slash = dash < 0 ? word.indexOf("/") : -1;
    const first = dash >= 0 ? word.slice(0, dash) : slash >= 0 ? word.slice(0, slash) : word;
    if (!parseAddress(first, octets)) return false;
    const isLong = first.includes(":");
    const written = slash < 0 ? "" : word.slice(slash + 1);
    // `::ffff:192.0.2.0/120` is 192.0.2.0/24; with fewer than 96 bits it is a network of IPv6.
    const isV4 = isMappedV4(octets) && (!isLong || slash < 0 || bitsIn(written, 128) >= MAPPED_BITS);
    const begin = isV4 ? low32() : high64();
    const width = isV4 ? 32 : 64;
    if (dash >= 0) {
      if (!parseAddress(word.slice(dash + 1), octets) || isMappedV4(octets) !== isV4) return false;
      const end = isV4 ? low32() : high64();
      if (end < begin) return false;
      this.put(begin, end);
      return true;
    }
    const all = slash < 0 ? width : bitsIn(written, isLong ? 128 : 32);
    if (all < 0) return false;
    const bits = isV4 && isLong && slash >= 0 ? all - MAPPED_BITS : all;
    const free = Math.max(0, width - bits);
    if (typeof begin === "number") {
      const size = 2 ** free;
      const base = begin - (begin % size);
      this.put(base, base + size - 1);
    } else {
      const size = 1n << BigInt(free);
      const base = begin - (begin % size);
      this.put(base, base + size - 1n);
    }
    return true;
  }

  /** @throws Error if most lines were nothing that belongs there */
  content(): FeedContent {
    const { size4, skipped } = this;
    const size = size4 + this.from6.length;
    if (skipped > (size + skipped) * MAX_NONSENSE) throw new Error("most of its lines are no addresses");
    return {
      intervals: {
        v4: { from: this.from4.slice(0, size4), to: this.to4.slice(0, size4) },
        v6: { from: BigUint64Array.from(this.from6), to: BigUint64Array.from(this.to6) },
      },
      skipped,
    };
  }

  private put(begin: number | bigint, end: number | bigint): void {
    if (typeof begin === "bigint") {
      this.from6.push(begin);
      this.to6.push(end as bigint);
      return;
    }
    if (this.size4 === this.from4.length) {
      this.from4 = grown(this.from4);
      this.to4 = grown(this.to4);
    }
    this.from4[this.size4] = begin;
    this.to4[this.size4++] = end as number;
  }
}

/** One network as intervals. @returns null for another text */
export function intervalsOf(network: string): Intervals | null {
  const collected = new Collected();
  return collected.add(network) ? collected.content().intervals : null;
}

function grown(list: Uint32Array): Uint32Array {
  const larger = new Uint32Array(list.length * 2);
  larger.set(list);
  return larger;
}

function low32(): number {
  return view.getUint32(12);
}

function high64(): bigint {
  return view.getBigUint64(0);
}

/** @returns -1 for another text */
function bitsIn(text: string, most: number): number {
  const bits = /^\d{1,3}$/.test(text) ? Number(text) : -1;
  return bits <= most ? bits : -1;
}

/** The text before a comment, up to its first blank or comma; "" for none. */
function firstWord(line: string): string {
  let from = 0;
  while (from < line.length && isBlank(line.charCodeAt(from))) from++;
  let to = from;
  for (; to < line.length; to++) {
    const code = line.charCodeAt(to);
    if (isBlank(code) || code === 0x23 || code === 0x3b || code === 0x2c) break;
  }
  return line.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d;
}

function latin1(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).latin1Slice();
}

const LINE_FEED = 0x0a;
/** Of an IPv6 address before the IPv4 address that it may hold. */
const MAPPED_BITS = 96;
/** One for all, since nothing waits in between. */
const octets = new Uint8Array(16);
const view = new DataView(octets.buffer);
