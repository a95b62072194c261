import { copyBytes, sliceText } from "../../../core/bytes.ts";
import { CLASS_BITS, CLASS_OF, KeywordAutomaton } from "../match/keyword-automaton.ts";
import { LEAK_LEAD_CHARS, LEAK_REST_CHARS, LEAK_RULES, type LeakRule, type LeakSign } from "./leak-rules.ts";

/** What was found, and what is around it. */
export interface Leak {
  readonly rule: LeakRule;
  /** One character a byte. */
  readonly text: string;
  /** Where in the text the words of the sign are. */
  readonly at: number;
  readonly words: string;
}

/**
 * Looks for leaks in the pieces of one text, as they come: one pass over each by an automaton, and a closer look where the words of a
 * sign are. Beside the piece it keeps MAX_TAIL_BYTES of those before.
 */
export class LeakScan {
  private readonly rules: readonly LeakRule[];
  private readonly automaton: KeywordAutomaton = automatonOfAll();
  private state: number = this.automaton.start;
  /** Rules whose words were in the pieces before, and for how many bytes what is around them may still come. */
  private open = 0;
  private openBytes = 0;
  private tail: Buffer | null = null;
  private tailBytes = 0;

  /** @param rules those that count */
  constructor(rules: readonly LeakRule[]) {
    this.rules = rules;
  }

  /** @returns the first leak in the piece, by the order of the rules; null for none */
  feed(bytes: Uint8Array, from: number, to: number): Leak | null {
    const { tailBytes } = this;
    const found = this.pass(bytes, from, to);
    const leak =
      (found | this.open) === 0
        ? null
        : this.look(
            found | this.open,
            (tailBytes === 0 ? "" : sliceText(this.tail!, 0, tailBytes)) + sliceText(bytes, from, to),
          );
    if (found !== 0) {
      this.open |= found;
      this.openBytes = LEAK_REST_CHARS;
    } else if (this.open !== 0) {
      this.openBytes -= to - from;
      if (this.openBytes <= 0) this.open = 0;
    }
    if (leak === null) this.keepTail(bytes, from, to);
    return leak;
  }

  /** The same of a text that is none of the pieces, such as a field's value. */
  inOne(bytes: Uint8Array, from: number, to: number): Leak | null {
    const { state } = this;
    this.state = this.automaton.start;
    const found = this.pass(bytes, from, to);
    this.state = state;
    return found === 0 ? null : this.look(found, sliceText(bytes, from, to));
  }

  /** @returns the bits of the rules whose words end in the piece */
  private pass(bytes: Uint8Array, from: number, to: number): number {
    const { next, bits } = this.automaton;
    let { state } = this;
    let found = 0;
    for (let at = from; at < to; at++) {
      state = next[(state << CLASS_BITS) | CLASS_OF[bytes[at]!]!]!;
      found |= bits[state]!;
    }
    this.state = state;
    return found;
  }

  private look(found: number, text: string): Leak | null {
    for (const rule of this.rules) {
      if ((found & (1 << LEAK_RULES.indexOf(rule))) === 0) continue;
      for (const sign of rule.signs) {
        const at = placeOf(sign, text);
        if (at >= 0) return { rule, text, at, words: sign.words };
      }
    }
    return null;
  }

  private keepTail(bytes: Uint8Array, from: number, to: number): void {
    this.tail ??= Buffer.allocUnsafe(MAX_TAIL_BYTES);
    const { tail } = this;
    const taken = Math.min(to - from, MAX_TAIL_BYTES);
    const kept = Math.min(this.tailBytes, MAX_TAIL_BYTES - taken);
    tail.copyWithin(0, this.tailBytes - kept, this.tailBytes);
    this.tailBytes = copyBytes(tail, kept, bytes, to - taken, to);
  }
}

/** Where the words of a sign are with what must be around them; -1 if they are not. */
function placeOf({ words, around }: LeakSign, text: string): number {
  let at = text.indexOf(words);
  if (around === undefined) return at;
  for (let tries = 0; at >= 0 && tries < MAX_TRIES; tries++) {
    if (around.test(text.slice(Math.max(0, at - LEAK_LEAD_CHARS), at + LEAK_REST_CHARS))) return at;
    at = text.indexOf(words, at + words.length);
  }
  return -1;
}

/** As much as a sign may have in front of its words, and in all. */
const MAX_TAIL_BYTES: number = LEAK_LEAD_CHARS + LEAK_REST_CHARS;
/** Places of the same words that are examined in a piece. */
const MAX_TRIES = 16;
/** One for all, made when it is first asked for. */
function automatonOfAll(): KeywordAutomaton {
  made ??= KeywordAutomaton.of(
    LEAK_RULES.map(({ signs }, i) => ({ bit: 1 << i, keywords: signs.map(({ words }) => words) })),
  );
  return made;
}

let made: KeywordAutomaton | null = null;
