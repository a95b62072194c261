import { Byte, EMPTY_BYTES, HEX_VALUE } from "../../../core/bytes.ts";
import type { StepBudget } from "../match/step-budget.ts";

/** Names of open objects that are kept: with more, a name counts as repeated. A body of 64 KiB has no room for so many. */
export const MAX_JSON_NAMES = 16_384;

/**
 * The names of all objects of a text that are open: a stack, since an object's names go when it ends, with a table over it. Escapes are
 * undone before names are compared.
 */
export class JsonNames {
  /** How many there are. */
  size = 0;
  private bytes: Uint8Array = EMPTY_BYTES;
  /** Names that were written with escapes, without them. */
  private plain: Uint8Array = EMPTY_BYTES;
  private plainLength = 0;
  /** By name: offset, in `plain` where it is negative (~offset); offset behind it; hash; place in the table. */
  private entries: Int32Array = new Int32Array(FIELDS * FIRST_NAMES);
  /** Number of a name plus one, by hash; linear probing. */
  private slots: Int32Array = new Int32Array(2 * FIRST_NAMES);
  private readonly steps: StepBudget;

  constructor(steps: StepBudget) {
    this.steps = steps;
  }

  /** Another text comes; the names of the last one are gone. */
  begin(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.plainLength = 0;
  }

  /** Forgets all names but the first. */
  cutTo(size: number): void {
    const { entries, slots } = this;
    for (let i = size; i < this.size; i++) slots[entries[i * FIELDS + SLOT]!] = 0;
    this.size = size;
  }

  /** The text is over: lets go of it, and of more room than the next one is likely to need. */
  release(): void {
    this.cutTo(0);
    this.bytes = EMPTY_BYTES;
    if (this.plain.length > MAX_KEPT_PLAIN) this.plain = EMPTY_BYTES;
  }

  /**
   * Takes a name.
   * @param outside how many names are those of objects around
   * @returns whether its object has it already, or has too many to tell
   */
  isRepeated(from: number, to: number, isEscaped: boolean, outside: number): boolean {
    if (this.size === MAX_JSON_NAMES) return true;
    if (this.size * FIELDS === this.entries.length) this.grow();
    let start = from;
    let end = to;
    let source = this.bytes;
    if (isEscaped) {
      start = this.plainLength;
      end = this.unescape(from, to);
      source = this.plain;
    }
    let hash = Math.imul(SEED ^ outside, PRIME);
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ source[i]!, PRIME);
    const { entries, slots } = this;
    const mask = slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const entry = (slots[slot]! - 1) * FIELDS;
      if (!this.steps.take(1)) return true;
      const isOwn = slots[slot]! > outside;
      if (isOwn && entries[entry + HASH] === hash && this.isSame(entry, source, start, end)) return true;
    }
    const entry = this.size * FIELDS;
    entries[entry] = isEscaped ? ~start : start;
    entries[entry + END] = end;
    entries[entry + HASH] = hash;
    entries[entry + SLOT] = slot;
    slots[slot] = ++this.size;
    return false;
  }

  private isSame(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.entries[entry]!;
    const end = this.entries[entry + END]!;
    const other = start < 0 ? this.plain : this.bytes;
    const first = start < 0 ? ~start : start;
    if (end - first !== to - from) return false;
    this.steps.take(to - from);
    for (let i = 0; i < to - from; i++) if (other[first + i] !== bytes[from + i]) return false;
    return true;
  }

  /** Names keep their order, so that the last one is never in the way of another. */
  private grow(): void {
    const entries = new Int32Array(this.entries.length * 2);
    entries.set(this.entries);
    const slots = new Int32Array(this.slots.length * 2);
    const mask = slots.length - 1;
    for (let i = 0; i < this.size; i++) {
      const hash = entries[i * FIELDS + HASH]!;
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      entries[i * FIELDS + SLOT] = slot;
      slots[slot] = i + 1;
    }
    this.entries = entries;
    this.slots = slots;
  }

  /** Writes a name without its escapes behind the others. @returns the offset behind it */
  private unescape(from: number, to: number): number {
    this.reserve(to - from);
    const { bytes, plain } = this;
    let out = this.plainLength;
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      if (byte !== Byte.Backslash) {
        plain[out++] = byte;
        continue;
      }
      const unit = unitAt(bytes, at, to);
      if (unit < 0) {
        const letter = bytes[++at]!;
        plain[out++] = SHORT.get(letter) ?? letter;
        continue;
      }
      at += 5;
      let point = unit;
      if (unit >= 0xd800 && unit <= 0xdfff) {
        const low = unit < 0xdc00 ? unitAt(bytes, at + 1, to) : -1;
        const isPair = low >= 0xdc00 && low <= 0xdfff;
        // Some readers put this in place of a half.
        point = isPair ? 0x10000 + ((unit - 0xd800) << 10) + low - 0xdc00 : 0xfffd;
        if (isPair) at += 6;
      }
      out = writeUtf8(plain, out, point);
    }
    this.plainLength = out;
    return out;
  }

  private reserve(length: number): void {
    if (this.plainLength + length <= this.plain.length) return;
    const larger = new Uint8Array(Math.max(this.plain.length * 2, this.plainLength + length, MIN_PLAIN));
    larger.set(this.plain.subarray(0, this.plainLength));
    this.plain = larger;
  }
}

/** The code unit of an escape `\uXXXX` at `at`; -1 if there is none. */
export function unitAt(bytes: Uint8Array, at: number, to: number): number {
  if (at + 6 > to || bytes[at] !== Byte.Backslash || bytes[at + 1] !== LOWER_U) return -1;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = HEX_VALUE[bytes[i]!]!;
    if (digit > 15) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

function writeUtf8(out: Uint8Array, from: number, point: number): number {
  let at = from;
  if (point < 0x80) out[at++] = point;
  else {
    const rest = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    out[at++] = LEADS[rest]! | (point >> (6 * rest));
    for (let shift = 6 * (rest - 1); shift >= 0; shift -= 6) out[at++] = 0x80 | ((point >> shift) & 0x3f);
  }
  return at;
}

const LOWER_U = 0x75;
const FIELDS = 4;
const END = 1;
const HASH = 2;
const SLOT = 3;
const FIRST_NAMES = 512;
const MIN_PLAIN = 1024;
const MAX_KEPT_PLAIN = 65_536;
/** No client knows which names meet in the table. */
const SEED: number = crypto.getRandomValues(new Int32Array(1))[0]!;
/** Of FNV-1a. */
const PRIME = 0x01000193;
const LEADS: readonly number[] = [0, 0xc0, 0xe0, 0xf0];
const SHORT: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: 0x08, f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09 }).map(([letter, byte]) => [letter.charCodeAt(0), byte]),
);
