import { FOLDED } from "../../../proto/expression/expression-literals.ts";

/**
 * Says in one pass which operators of many can fit a text at all: those of whose literals one is in it, letter case aside. The automaton of Aho and
 * Corasick, with a row for each state of as many columns as there are different bytes in the literals. docs/waf.md#rules-of-your-own
 */
export class LiteralFilter {
  /** Words of a set of operators. */
  readonly words: number;
  /** By byte: its column; 0 for a byte that no literal has. */
  private readonly columns: Uint8Array;
  private readonly width: number;
  private readonly next: Uint16Array;
  /** By state: the operators that are called there; null for most. */
  private readonly calls: readonly (readonly number[] | null)[];
  /** By state: the pass that has been there. */
  private readonly passes: Uint32Array;
  private pass: number;
  /** Operators that are tried on every text, for want of room. */
  private readonly always: readonly number[];

  /** @param literals by operator, folded, none empty @param passes that were made before, for tests */
  constructor(literals: readonly (readonly string[])[], passes = 0) {
    this.pass = passes;
    this.words = (literals.length + 31) >> 5;
    const used = [...new Set(literals.flat().join(""))].sort();
    this.columns = new Uint8Array(256);
    for (let byte = 0; byte < 256; byte++) this.columns[byte] = used.indexOf(String.fromCharCode(FOLDED[byte]!)) + 1;
    this.width = used.length + 1;
    const trie = new LiteralTrie(this.columns, this.width);
    this.always = literals.flatMap((texts, operator) => (trie.add(texts, operator) ? [] : [operator]));
    this.next = trie.linked();
    this.calls = trie.calls;
    this.passes = new Uint32Array(trie.calls.length);
  }

  /** Adds the operators that may fit a text to a set of `words` words. @param text one character a byte */
  find(text: string, into: Int32Array): void {
    const { columns, width, next, calls, passes } = this;
    const pass = this.nextPass();
    let state = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      // What is no byte, a transformation has made: nothing is known of it.
      if (code > 255) return void into.fill(-1);
      state = next[state * width + columns[code]!]!;
      const called = calls[state]!;
      if (called === null || passes[state] === pass) continue;
      passes[state] = pass;
      for (const operator of called) into[operator >> 5]! |= 1 << (operator & 31);
    }
    for (const operator of this.always) into[operator >> 5]! |= 1 << (operator & 31);
  }

  /** A number that no state has: after all of them have been used, half a day under load, they begin anew. */
  private nextPass(): number {
    if (this.pass === MAX_PASS) {
      this.passes.fill(0);
      this.pass = 0;
    }
    return ++this.pass;
  }
}

class LiteralTrie {
  readonly calls: (number[] | null)[] = [null];
  private readonly columns: Uint8Array;
  private readonly width: number;
  /** By state: where each column leads. */
  private readonly rows: Map<number, number>[] = [new Map()];

  constructor(columns: Uint8Array, width: number) {
    this.columns = columns;
    this.width = width;
  }

  /** @returns false if there is no room for them */
  add(texts: readonly string[], operator: number): boolean {
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    if (this.calls.length + length > MAX_STATES) return false;
    for (const text of texts) this.addOne(text, operator);
    return true;
  }

  /** Where each state goes with each column, when no literal goes on to the longest end of it that one begins with. */
  linked(): Uint16Array {
    const { rows, width, calls } = this;
    const next = new Uint16Array(rows.length * width);
    const suffixes = new Uint16Array(rows.length);
    const queue = [0];
    for (const state of queue) {
      const suffix = suffixes[state]!;
      if (state !== 0) {
        next.copyWithin(state * width, suffix * width, (suffix + 1) * width);
        const more = calls[suffix] ?? null;
        if (more !== null) calls[state] = [...new Set([...(calls[state] ?? []), ...more])];
      }
      for (const [column, child] of rows[state]!) {
        // The row still has where the suffix goes.
        suffixes[child] = state === 0 ? 0 : next[state * width + column]!;
        next[state * width + column] = child;
        queue.push(child);
      }
    }
    return next;
  }

  private addOne(text: string, operator: number): void {
    let state = 0;
    for (let at = 0; at < text.length; at++) {
      const column = this.columns[text.charCodeAt(at)]!;
      let child = this.rows[state]!.get(column);
      if (child === undefined) {
        child = this.rows.length;
        this.rows[state]!.set(column, child);
        this.rows.push(new Map());
        this.calls.push(null);
      }
      state = child;
    }
    const called = this.calls[state] ?? [];
    if (!called.includes(operator)) called.push(operator);
    this.calls[state] = called;
  }
}

/** What a Uint32Array holds. */
const MAX_PASS = 0xffff_ffff;
/** Two megabytes where literals have 64 different bytes. */
const MAX_STATES = 16_384;
