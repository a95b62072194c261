import { ByteClass, CLASS_BITS, CLASS_COUNT, CLASS_OF } from "./byte-class.ts";

/** Keywords that are looked for together, and the bit that stands for them. */
export interface KeywordGroup {
  readonly bit: number;
  /** See `spellingsOf` for how they are written. */
  readonly keywords: readonly string[];
}

/** The spellings of a group's keywords, as classes. */
export interface SpelledGroup {
  readonly bit: number;
  readonly spellings: readonly (readonly number[])[];
}

/** Finds all keywords of all groups in one pass, whatever the bytes are: the automaton of Aho and Corasick. */
export class KeywordAutomaton {
  /** The next state times 64, by state times 64 plus class. */
  private readonly next: Int32Array;
  /** Bits of the groups whose keywords end in a state. */
  private readonly bits: Int32Array;
  private readonly start: number;

  constructor(groups: readonly SpelledGroup[]) {
    const trie = new Trie(groups.reduce((sum, { spellings }) => sum + bytesOf(spellings), 1));
    for (const { bit, spellings } of groups) for (const spelling of spellings) trie.add(spelling, bit);
    trie.link();
    this.next = trie.next.slice(0, trie.count << CLASS_BITS);
    this.bits = trie.bits.slice(0, trie.count);
    this.start = this.next[ByteClass.Boundary]!;
  }

  /** @returns the bits of all groups that have a keyword in `bytes[from, to)`, which is taken for a whole value */
  find(bytes: Uint8Array, from: number, to: number): number {
    const { next, bits } = this;
    let state = this.start;
    let found = 0;
    for (let at = from; at < to; at++) {
      state = next[state + CLASS_OF[bytes[at]!]!]!;
      found |= bits[state >>> CLASS_BITS]!;
    }
    return found;
  }
}

/** States are numbered by 64, so that adding a class gives the place of the next one. */
class Trie {
  /** 0 is the root, and in a row that is not linked yet it is "none". */
  readonly next: Int32Array;
  readonly bits: Int32Array;
  count = 1;

  /** @param limit states at most */
  constructor(limit: number) {
    this.next = new Int32Array(limit << CLASS_BITS);
    this.bits = new Int32Array(limit);
  }

  add(classes: readonly number[], bit: number): void {
    let state = 0;
    for (const one of classes) {
      if (this.next[state + one] === 0) this.next[state + one] = this.count++ << CLASS_BITS;
      state = this.next[state + one]!;
    }
    this.bits[state >>> CLASS_BITS]! |= bit;
  }

  /** Fills in, breadth first, where each state goes when no keyword goes on: to the longest suffix that is a state. */
  link(): void {
    const { next, bits } = this;
    const suffix = new Int32Array(this.count);
    const queue = new Int32Array(this.count);
    let queued = 0;
    for (let one = 0; one < CLASS_COUNT; one++) if (next[one] !== 0) queue[queued++] = next[one]!;
    for (let i = 0; i < queued; i++) {
      const state = queue[i]!;
      const other = suffix[state >>> CLASS_BITS]!;
      bits[state >>> CLASS_BITS]! |= bits[other >>> CLASS_BITS]!;
      for (let one = 0; one < CLASS_COUNT; one++) {
        const child = next[state + one]!;
        if (child === 0) next[state + one] = next[other + one]!;
        else {
          suffix[child >>> CLASS_BITS] = next[other + one]!;
          queue[queued++] = child;
        }
      }
    }
  }
}

function bytesOf(spellings: readonly (readonly number[])[]): number {
  return spellings.reduce((sum, { length }) => sum + length, 0);
}
