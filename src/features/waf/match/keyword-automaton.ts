import { Byte, byteTable, isDigit, isLowerLetter, LOWER } from "../../../core/bytes.ts";
import { isQuote } from "./scan.ts";

/** Keywords that are searched for together, and the bit that stands for them. */
export interface KeywordGroup {
  readonly bit: number;
  /**
   * `^` in front is the start of a value, a space is any white space, a digit any digit, a quote either quote; all else is itself.
   */
  readonly keywords: readonly string[];
}

/**
 * Finds all keywords of all groups in one pass, whatever the bytes are: the automaton of Aho and Corasick, with a row of
 * 64 next states a state. Texts without keywords stay near its root, in a few rows that the processor keeps: some
 * 1.3 ns a byte, no more than filters in front of it would cost.
 *
 *     state = next[(state << CLASS_BITS) | class];  found |= bits[state];
 */
export class KeywordAutomaton {
  readonly next: Uint16Array;
  /** Bits of the groups whose keywords end in a state. */
  readonly bits: Int32Array;
  /** The state where a value begins. */
  readonly start: number;

  private constructor(next: Uint16Array, bits: Int32Array) {
    this.next = next;
    this.bits = bits;
    this.start = next[ByteClass.Boundary]!;
  }

  static of(groups: readonly KeywordGroup[]): KeywordAutomaton {
    return KeywordAutomaton.from(keywordMemory(groups));
  }

  /** @param memory what `keywordMemory` made, on any thread; it is only read */
  static from(memory: SharedArrayBuffer): KeywordAutomaton {
    const count = memory.byteLength / STATE_BYTES;
    const bits = new Int32Array(memory, 0, count);
    return new KeywordAutomaton(new Uint16Array(memory, bits.byteLength), bits);
  }

  /** @returns the bits of all groups that have a keyword in `bytes[from, to)`, which counts as a whole value */
  find(bytes: Uint8Array, from: number, to: number): number {
    const { next, bits } = this;
    let state = this.start;
    let found = 0;
    for (let at = from; at < to; at++) {
      state = next[(state << CLASS_BITS) | CLASS_OF[bytes[at]!]!]!;
      found |= bits[state]!;
    }
    return found;
  }
}

/** The tables of an automaton, to be shared by all threads: building them takes as long as all the rest of a worker's start. */
export function keywordMemory(groups: readonly KeywordGroup[]): SharedArrayBuffer {
  const trie = new Trie();
  for (const { bit, keywords } of groups) {
    for (const keyword of keywords) trie.add(keyword, bit);
  }
  trie.link();
  const memory = new SharedArrayBuffer(trie.count * STATE_BYTES);
  new Int32Array(memory, 0, trie.count).set(trie.bits.subarray(0, trie.count));
  new Uint16Array(memory, trie.count * 4).set(trie.next.subarray(0, trie.count << CLASS_BITS));
  trie.release();
  return memory;
}

class Trie {
  /** 0 is the root, and in a row that is not linked yet it is "none". */
  next: Uint16Array = new Uint16Array(INITIAL_STATES << CLASS_BITS);
  bits: Int32Array = new Int32Array(INITIAL_STATES);
  count = 1;
  /** What leads from its parent to a state; the states of one parent are a chain, which 0 ends. */
  private classes: Uint8Array = new Uint8Array(INITIAL_STATES);
  private firstChild: Uint16Array = new Uint16Array(INITIAL_STATES);
  private sibling: Uint16Array = new Uint16Array(INITIAL_STATES);

  /**
   * Adds all spellings of a keyword, from a character and a state on. It makes no lists of them, since thousands of keywords are added
   * in each start, before anything is compiled.
   */
  add(keyword: string, bit: number, from = 0, begin = 0): void {
    let state = begin;
    const isAnchored = keyword.length > 1 && keyword.charCodeAt(0) === ANCHOR;
    for (let i = from; i < keyword.length; i++) {
      const one = CLASS_OF[keyword.charCodeAt(i)]!;
      if (one === ByteClass.Space) this.add(keyword, bit, i + 1, this.childOf(state, ByteClass.NewLine));
      state = this.childOf(state, i === 0 && isAnchored ? ByteClass.Boundary : one);
    }
    this.bits[state]! |= bit;
  }

  /**
   * Fills in, breadth first, where each state goes when no keyword goes on: to the longest suffix that is a state. Its row is
   * that of the suffix, but for its own children; rows are copied whole, since this is part of every start.
   */
  link(): void {
    const { next, bits, classes, firstChild, sibling } = this;
    const suffix = new Uint16Array(this.count);
    const queue = new Uint16Array(this.count);
    let queued = 0;
    for (let child = firstChild[0]!; child !== 0; child = sibling[child]!) queue[queued++] = child;
    for (let i = 0; i < queued; i++) {
      const state = queue[i]!;
      const row = state << CLASS_BITS;
      const other = suffix[state]! << CLASS_BITS;
      bits[state]! |= bits[suffix[state]!]!;
      next.copyWithin(row, other, other + CLASS_COUNT);
      for (let child = firstChild[state]!; child !== 0; child = sibling[child]!) {
        suffix[child] = next[other | classes[child]!]!;
        next[row | classes[child]!] = child;
        queue[queued++] = child;
      }
    }
  }

  /** Gives the largest part of the memory back at once: each start has built this, and the collector has no haste. */
  release(): void {
    (this.next.buffer as ArrayBuffer).transfer(0);
  }

  private childOf(parent: number, one: number): number {
    const at = (parent << CLASS_BITS) | one;
    const known = this.next[at]!;
    if (known !== 0) return known;
    if (this.count === this.bits.length) this.grow();
    const child = this.count++;
    this.next[at] = child;
    this.classes[child] = one;
    this.sibling[child] = this.firstChild[parent]!;
    this.firstChild[parent] = child;
    return child;
  }

  private grow(): void {
    if (this.bits.length * 2 > MAX_STATES) throw new Error("too many keywords for states of 16 bits");
    this.next = doubled(this.next);
    this.bits = doubled(this.bits);
    this.classes = doubled(this.classes);
    this.firstChild = doubled(this.firstChild);
    this.sibling = doubled(this.sibling);
  }
}

function doubled<T extends Uint8Array | Uint16Array | Int32Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2);
  larger.set(array);
  return larger;
}

/**
 * Bytes as keywords see them: letters without case, all digits alike, both quotes alike, white space alike. 64 classes,
 * so that two of them make an index of twelve bits.
 */
export const enum ByteClass {
  /**
   * Where a value begins. The bytes 80 and 81 have it, too: behind a Lead they go on with a character of ASCII, and a keyword of a value's
   * beginning that is found behind one elsewhere is one look more.
   */
  Boundary = 0,
  /** Control bytes, and nearly all beyond ASCII. */
  Other,
  Space,
  NewLine,
  Digit,
  Quote,
  Nul,
  /** The first byte of what some readers take for a character of ASCII: an overlong sequence, a full-width character. */
  Fold,
  /** The 26 letters and then 29 punctuation marks; the tilde counts as the first of them. */
  LetterA,
  /** Begins a long sequence of UTF-8: one with 80 or 81 behind it is overlong, or goes on with 80. */
  Lead = 63,
}

export const CLASS_BITS = 6;
export const CLASS_COUNT = 64;

const PUNCTUATION = "!#$%&()*+,-./:;<=>?@[\\]^_`{|}";

/** The class of each byte. */
export const CLASS_OF: Uint8Array = byteTable((byte) => {
  const lower = LOWER[byte]!;
  if (isLowerLetter(lower)) return ByteClass.LetterA + lower - Byte.LowerA;
  const char = String.fromCharCode(byte);
  if (isDigit(byte)) return ByteClass.Digit;
  if (isQuote(byte)) return ByteClass.Quote;
  if (char === "\n" || char === "\r") return ByteClass.NewLine;
  // The no-break space of Latin-1 is a blank to databases.
  if (char === " " || char === "\t" || char === "\v" || char === "\f" || byte === 0xa0) return ByteClass.Space;
  if (byte === 0) return ByteClass.Nul;
  if (byte === 0xc0 || byte === 0xc1 || byte === 0xef) return ByteClass.Fold;
  if (byte === 0x80 || byte === 0x81) return ByteClass.Boundary;
  if (byte === 0xe0 || byte === 0xf0 || byte === 0xf8 || byte === 0xfc) return ByteClass.Lead;
  const mark = PUNCTUATION.indexOf(char === "~" ? "!" : char);
  return mark < 0 ? ByteClass.Other : ByteClass.LetterA + 26 + mark;
});

/** `^` */
const ANCHOR = 0x5e;
/** Enough for the rules as they are. */
const INITIAL_STATES = 24576;
const MAX_STATES = 65536;
/** Bits and a row of next states. */
const STATE_BYTES: number = 4 + 2 * CLASS_COUNT;
