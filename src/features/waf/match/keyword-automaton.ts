import { ByteClass, CLASS_BITS, CLASS_COUNT, CLASS_OF, spellingsOf } from "./byte-class.ts";

/** Keywords that are looked for together, and the bit that stands for them. */
export interface KeywordGroup {
  readonly bit: number;
  /** See `spellingsOf` for how they are written. */
  readonly keywords: readonly string[];
}

/** Finds all keywords of all groups in one pass, whatever the bytes are: the automaton of Aho and Corasick. */
export class KeywordAutomaton {
  /** The next state times 64, by state times 64 plus class. */
  private readonly next: Int32Array;
  /** Bits of the groups whose keywords end in a state. */
  private readonly bits: Int32Array;
  private readonly start: number;

  constructor(groups: readonly KeywordGroup[]) {
    const trie = new Trie();
    for (const { bit, keywords } of groups) {
      for (const keyword of keywords) for (const spelling of spellingsOf(keyword)) trie.add(spelling, bit);
    }
    trie.link();
    this.next = Int32Array.from(trie.next.flat(), (state) => state << CLASS_BITS);
    this.bits = Int32Array.from(trie.bits);
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

class Trie {
  /** Rows of 64 states; 0 is the root, and in a row that is not linked yet it is "none". */
  readonly next: number[][] = [new Array<number>(CLASS_COUNT).fill(0)];
  readonly bits: number[] = [0];

  add(classes: readonly number[], bit: number): void {
    let state = 0;
    for (const one of classes) {
      if (this.next[state]![one] === 0) {
        this.next[state]![one] = this.next.length;
        this.next.push(new Array<number>(CLASS_COUNT).fill(0));
        this.bits.push(0);
      }
      state = this.next[state]![one]!;
    }
    this.bits[state]! |= bit;
  }

  /** Fills in, breadth first, where each state goes when no keyword goes on: to the longest suffix that is a state. */
  link(): void {
    const suffix = new Array<number>(this.next.length).fill(0);
    const queue = this.next[0]!.filter((state) => state !== 0);
    for (const state of queue) {
      const row = this.next[state]!;
      const other = suffix[state]!;
      this.bits[state]! |= this.bits[other]!;
      for (let one = 0; one < CLASS_COUNT; one++) {
        const child = row[one]!;
        if (child === 0) row[one] = this.next[other]![one]!;
        else {
          suffix[child] = this.next[other]![one]!;
          queue.push(child);
        }
      }
    }
  }
}
