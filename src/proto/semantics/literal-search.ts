import { byteTable, LOWER } from "../../core/bytes.ts";

/** Bytes of all literals together: the table has a row for each of them. */
export const MAX_LITERAL_BYTES = 4096;

/**
 * Finds any of several literals in one pass (the automaton of Aho and Corasick): if several overlap, the first to begin, and of these
 * the longest. The cost does not depend on their number.
 */
export class LiteralSearch {
  readonly literals: readonly Uint8Array[];
  private readonly classOf: Uint8Array;
  private readonly classes: number;
  private readonly next: Uint16Array;
  /** How many bytes lead to a state. */
  private readonly depth: Uint16Array;
  /** The longest literal that ends in a state, or -1. */
  private readonly ends: Int16Array;
  /** The state of the longest literal that a state ends with and is shorter than all of it; 0 for none. */
  private readonly shorter: Uint16Array;
  /** Whether a byte leads nowhere from the root. */
  private readonly isIdle: Uint8Array;

  /** @param literals none of them empty @param ignoresCase of letters of ASCII */
  constructor(literals: readonly Uint8Array[], ignoresCase: boolean) {
    this.literals = literals;
    const fold = (byte: number): number => (ignoresCase ? LOWER[byte]! : byte);
    const used = new Map<number, number>();
    for (const literal of literals)
      for (const byte of literal) if (!used.has(fold(byte))) used.set(fold(byte), used.size + 1);
    this.classOf = byteTable((byte) => used.get(fold(byte)) ?? 0);
    this.classes = used.size + 1;
    const states = literals.reduce((sum, { length }) => sum + length, 1);
    this.next = new Uint16Array(states * this.classes);
    this.depth = new Uint16Array(states);
    this.ends = new Int16Array(states).fill(-1);
    this.shorter = new Uint16Array(states);
    this.link(this.add());
    this.isIdle = byteTable((byte) => (this.next[this.classOf[byte]!] === 0 ? 1 : 0));
  }

  /** @returns the states from the root on, each after those with fewer bytes */
  private add(): number[] {
    const { next, classes, depth } = this;
    let count = 1;
    for (const [i, literal] of this.literals.entries()) {
      let state = 0;
      for (const byte of literal) {
        const at = state * classes + this.classOf[byte]!;
        if (next[at] === 0) {
          depth[count] = depth[state]! + 1;
          next[at] = count++;
        }
        state = next[at]!;
      }
      // Of two that are the same, the first counts.
      if (this.ends[state]! < 0) this.ends[state] = i;
    }
    return Array.from({ length: count }, (_, state) => state).sort((a, b) => depth[a]! - depth[b]!);
  }

  private link(states: readonly number[]): void {
    const { next, classes, ends, shorter } = this;
    const fail = new Uint16Array(next.length / classes);
    for (const state of states) {
      const back = fail[state]!;
      if (state !== 0) shorter[state] = ends[back]! >= 0 ? back : shorter[back]!;
      for (let of = 1; of < classes; of++) {
        const to = next[state * classes + of]!;
        const otherwise = state === 0 ? 0 : next[back * classes + of]!;
        if (to === 0) next[state * classes + of] = otherwise;
        else fail[to] = otherwise;
      }
    }
  }

  /**
   * Looks for the next literal in `bytes[from, to)`.
   * @param found gets it; `literal` is -1 if there is none, and then a literal may begin at `from` whose rest has not come
   * @param isOff 1 for each literal that does not count
   * @param hasEnded whether no more bytes come
   */
  find(bytes: Uint8Array, from: number, to: number, hasEnded: boolean, isOff: Uint8Array, found: FoundLiteral): void {
    const { next, classes, classOf, depth, isIdle } = this;
    let state = 0;
    found.literal = -1;
    for (let at = from; at < to; at++) {
      if (state === 0) {
        while (at < to && isIdle[bytes[at]!] === 1) at++;
        if (at === to) break;
      }
      state = next[state * classes + classOf[bytes[at]!]!]!;
      const begin = at + 1 - depth[state]!;
      // All others begin later.
      if (found.literal >= 0 && begin > found.from) return;
      const literal = this.endOf(state, isOff);
      if (literal < 0) continue;
      const length = this.literals[literal]!.length;
      if (found.literal >= 0 && at + 1 - length > found.from) continue;
      found.literal = literal;
      found.from = at + 1 - length;
      found.to = at + 1;
    }
    if (hasEnded) {
      if (found.literal < 0) found.from = to;
      return;
    }
    // A longer literal, or an earlier one, may come.
    const begin = to - depth[state]!;
    if (found.literal >= 0 && begin > found.from) return;
    found.literal = -1;
    found.from = begin;
  }

  /** The longest literal that ends in a state and counts, or -1. */
  private endOf(state: number, isOff: Uint8Array): number {
    for (let at = state; at !== 0; at = this.shorter[at]!) {
      const literal = this.ends[at]!;
      if (literal >= 0 && isOff[literal] === 0) return literal;
    }
    return -1;
  }
}

/** A literal in a text. */
export interface FoundLiteral {
  /** Its number, or -1. */
  literal: number;
  from: number;
  to: number;
}
