import { latin1 } from "../../../core/bytes.ts";

/** A fixed set of short lower-case words, each with a small number; callers look up bytes. */
export class WordSet {
  private readonly words: readonly Uint8Array[];
  private readonly values: readonly number[];
  /** Index of a word plus 1, by hash; a word that finds its place occupied takes the next free one. */
  private readonly places: Uint16Array;
  /** By first byte, a bit for each length of words: most look-ups fail here. */
  private readonly lengths: Int32Array = new Int32Array(256);
  /** Length of the longest word: the reader stops at longer ones. */
  private readonly longest: number;

  /** @param groups words separated by blanks, by the number that stands for them; not 0 */
  constructor(groups: readonly (readonly [value: number, words: string])[]) {
    const all = groups.flatMap(([value, words]) => words.split(" ").map((word) => [value, latin1(word)] as const));
    this.values = all.map(([value]) => value);
    this.words = all.map(([, word]) => word);
    this.longest = Math.max(...this.words.map((word) => word.length));
    this.places = new Uint16Array(2 ** Math.ceil(Math.log2(this.words.length * 2 + 1)));
    this.words.forEach((word, index) => {
      this.lengths[word[0]!]! |= lengthBit(word.length);
      let place = hashOf(word, 0, word.length) & (this.places.length - 1);
      while (this.places[place] !== 0) place = (place + 1) & (this.places.length - 1);
      this.places[place] = index + 1;
    });
  }

  /** @returns the number of the word in `bytes[from, to)`, 0 if it is none */
  valueOf(bytes: Uint8Array, from: number, to: number): number {
    // Apart, so that this much of it is part of the caller.
    const length = to - from;
    if (length <= 0 || length > this.longest) return 0;
    const bit = length < MAX_OWN_BIT ? 1 << length : 1 << MAX_OWN_BIT;
    return (this.lengths[bytes[from]!]! & bit) === 0 ? 0 : this.find(bytes, from, to);
  }

  private find(bytes: Uint8Array, from: number, to: number): number {
    const mask = this.places.length - 1;
    let place = hashOf(bytes, from, to) & mask;
    for (let index = this.places[place]!; index !== 0; index = this.places[place]!) {
      if (equals(this.words[index - 1]!, bytes, from, to)) return this.values[index - 1]!;
      place = (place + 1) & mask;
    }
    return 0;
  }
}

/** Lengths from this one on share a bit. */
const MAX_OWN_BIT = 31;

function lengthBit(length: number): number {
  return 1 << Math.min(length, MAX_OWN_BIT);
}

function equals(word: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (word.length !== to - from) return false;
  for (let i = 0; i < word.length; i++) {
    if (word[i] !== bytes[from + i]) return false;
  }
  return true;
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0;
  for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
  return hash ^ (hash >>> 15);
}
