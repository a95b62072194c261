import type { RE2JS } from "re2js";
import { type Program, requiredLiterals } from "./expression-literals.ts";

/** Instructions of an expression of a rule. */
export const MAX_RULE_PROGRAM = 8192;
/** Least memory of one expression of a rule for its states. */
export const MIN_RULE_STATES_BYTES = 65_536;

/** Bytes of a text that an expression is tried on; a longer one fits none. No line of a head is longer. */
export const MAX_EXPRESSION_INPUT_BYTES = 8192;
/** Instructions of an expression: steps for each byte of a text at most, some 20 ns each. */
export const MAX_EXPRESSION_PROGRAM = 256;
/** Bytes that an expression may look at to replace matches in a text: each match may look at all that follows it. */
const MAX_REPLACED_STEPS = 1_048_576;
/** Memory in bytes for the states of an expression, in each worker; beyond it, it begins anew. */
export const MAX_EXPRESSION_STATES_BYTES = 65_536;

// The one place that knows which library runs the expressions of routes.yaml: re2js, RE2's algorithms in JavaScript. Measured
// on the runtime's version (nanoseconds a match of paths of 20 to 30 bytes; two shared cores):
//
//                        test     with captures     `(a|a)*b`, 64 KiB
//   re2js 2.10.0      90..680         170..1500     linear, below 1 ms
//   re2-wasm 1.0.2                         5500     linear
//   JavaScriptCore             20..70               backtracks: it does not end
//
// The engine of the runtime is faster, but what a client writes can stop it for good, and it has no linear mode. re2-wasm needs
// 0.9 MB of WebAssembly beside the binary and crosses into it for every match; it was last changed in 2021. re2js adds 1.2 MB of
// bytecode to the binary, of which nothing is read before the first expression: 5 ms and 10 MB a thread then, 140 µs and 15 KB for
// each expression that is used.

/** An expression's match and its groups, "" for a group that took no part. */
type Captures = readonly string[];

/** An expression that takes time in proportion to the text, whatever the text. docs/routing.md#expressions */
export interface Expression {
  /** How many groups it has. */
  readonly groups: number;
  /** Whether a part of the text fits; `^` and `$` tie it to the ends. @param text one character a byte */
  test(text: string): boolean;
  /** What fits first; null if nothing does. @param text one character a byte, UTF-8 if it is not ASCII */
  match(text: string): Captures | null;
}

/** An expression that also replaces. */
interface ReplacingExpression extends Expression {
  /**
   * A text with something else in the place of every match.
   * @param text as for `match`
   * @param next gives that for the match and its groups
   * @returns null if that takes more than MAX_REPLACED_STEPS bytes to look at
   */
  replaceAll(text: string, next: (groups: Captures) => string): string | null;
}

/** Why a text is no expression, with the cure. */
interface ExpressionFault {
  readonly fault: string;
}

/**
 * Reads an expression in RE2's syntax. Texts beyond MAX_EXPRESSION_INPUT_BYTES fit none.
 * @returns a fault for what takes more than linear time, or more than MAX_EXPRESSION_PROGRAM steps a byte
 */
export function compileExpression(source: string): ReplacingExpression | ExpressionFault {
  // Read with the first expression: a configuration without one pays for none of it.
  const { RE2JS: Engine } = require("re2js") as typeof import("re2js");
  try {
    // A line break that a client encodes gets past no dot.
    const program = Engine.compile(source, Engine.DOTALL);
    if (program.programSize() > MAX_EXPRESSION_PROGRAM) return { fault: TOO_LARGE };
    return new LinearExpression(program);
  } catch (error) {
    return { fault: cureOf(source, saidBy(error)) };
  }
}

/** The budget of an expression of a rule. */
export interface RuleExpressionLimits {
  /** Most instructions. */
  readonly program: number;
  /** Memory in bytes for its states. */
  readonly statesBytes: number;
}

/** An expression with a known and bounded cost. */
export interface MeasuredExpression extends Expression {
  /** Instructions: steps for each byte of a text if its automaton has no room for its states. */
  readonly program: number;
  /** Steps of the last `measure`, beside one for each byte. */
  readonly spent: number;
  /** Texts of which every match has one, in lower case; null if there are none to go by. */
  literals(): readonly string[] | null;
  /** Whether a part of the text fits. @param limit of `spent` @returns null if that is more: nothing is known then */
  measure(text: string, limit: number): boolean | null;
}

/** Facts about an expression of a rule when it has been read. */
export interface JudgedExpression {
  /** Why it cannot be one; "" if it can. */
  readonly fault: string;
  /** Texts of which every match has one; null if there are none to go by. */
  readonly literals: readonly string[] | null;
}

/** Judges an expression of a rule. @param source one character a byte */
export function judgeRuleExpression(source: string): JudgedExpression {
  const made = compileRuleExpression(source, { program: MAX_RULE_PROGRAM, statesBytes: MIN_RULE_STATES_BYTES });
  return "fault" in made ? { fault: made.fault, literals: null } : { fault: "", literals: made.literals() };
}

/**
 * Reads an expression of a rule: its characters are bytes, and so are those of texts. Texts of any length are tried.
 * @param source one character a byte
 * @returns a fault as of compileExpression
 */
export function compileRuleExpression(
  source: string,
  limits: RuleExpressionLimits,
): MeasuredExpression | ExpressionFault {
  const { RE2JS: Engine } = require("re2js") as typeof import("re2js");
  try {
    const program = Engine.compile(source, Engine.DOTALL);
    if (program.programSize() > limits.program) return { fault: TOO_LARGE };
    return new BytesExpression(program, limits.statesBytes);
  } catch (error) {
    return { fault: cureOf(source, saidBy(error)) };
  }
}

/** The expression of a value that is written between slashes, `i` after them for any letter case; null for a plain value. */
export function expressionIn(value: string): string | null {
  const found = /^\/(.*)\/(i?)$/s.exec(value);
  if (found === null || value.length < 2) return null;
  return found[2] === "i" ? `(?i)${found[1]}` : found[1]!;
}

/** Whether it is none. */
export function isExpressionFault(result: Expression | ExpressionFault): result is ExpressionFault {
  return "fault" in result;
}

/** An expression that was checked when its configuration was read, and is made when it is first asked. */
export class LateExpression implements ReplacingExpression {
  private readonly source: string;
  private made: ReplacingExpression | null = null;

  constructor(source: string) {
    this.source = source;
  }

  get groups(): number {
    return this.expression().groups;
  }

  test(text: string): boolean {
    return this.expression().test(text);
  }

  match(text: string): Captures | null {
    return this.expression().match(text);
  }

  replaceAll(text: string, next: (groups: Captures) => string): string | null {
    return this.expression().replaceAll(text, next);
  }

  private expression(): ReplacingExpression {
    if (this.made !== null) return this.made;
    const made = compileExpression(this.source);
    if (isExpressionFault(made)) throw new Error(`an expression that was never checked: ${made.fault}`);
    this.made = made;
    return made;
  }
}

function saidBy(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^error parsing regexp: |(?<=`)\(\?s\)/g, "") : "";
}

/** What to write in the place of an expression that the library refuses. @param said why it does */
function cureOf(source: string, said: string): string {
  if (said === "expression too large" || said.startsWith("invalid repeat count")) return TOO_LARGE;
  const cure = CURES.find(([what]) => what.test(source.replaceAll("\\\\", "")));
  return cure === undefined ? said : cure[1];
}

class LinearExpression implements ReplacingExpression {
  private readonly program: RE2JS;

  constructor(program: RE2JS) {
    this.program = program;
    // The states that it remembers grow with what clients send: eight megabytes an expression are the library's own bound.
    const { dfa } = program.re2();
    dfa.maxMem = MAX_EXPRESSION_STATES_BYTES;
    dfa.stateBudget = MAX_EXPRESSION_STATES_BYTES;
    dfa.memBudget = MAX_EXPRESSION_STATES_BYTES;
  }

  get groups(): number {
    return this.program.groupCount();
  }

  test(text: string): boolean {
    return text.length <= MAX_EXPRESSION_INPUT_BYTES && this.program.test(inputOf(text));
  }

  match(text: string): Captures | null {
    if (text.length > MAX_EXPRESSION_INPUT_BYTES) return null;
    const matcher = this.program.matcher(inputOf(text));
    return matcher.find() ? groupsOf(matcher, text) : null;
  }

  replaceAll(text: string, next: (groups: Captures) => string): string | null {
    if (text.length > MAX_EXPRESSION_INPUT_BYTES) return text;
    const matcher = this.program.matcher(inputOf(text));
    let made = "";
    let at = 0;
    for (let steps = text.length; matcher.find(); steps += text.length - at) {
      if (steps > MAX_REPLACED_STEPS) return null;
      made += text.slice(at, matcher.start()) + next(groupsOf(matcher, text));
      at = matcher.end();
    }
    return made + text.slice(at);
  }
}

function groupsOf(matcher: ReturnType<RE2JS["matcher"]>, text: string): string[] {
  const groups: string[] = [];
  for (let i = 0; i <= matcher.groupCount(); i++) {
    const from = matcher.start(i);
    groups.push(from < 0 ? "" : text.slice(from, matcher.end(i)));
  }
  return groups;
}

class BytesExpression implements MeasuredExpression {
  readonly program: number;
  spent = 0;
  private limit = Number.POSITIVE_INFINITY;
  private length = 0;
  private readonly compiled: RE2JS;

  constructor(compiled: RE2JS, statesBytes: number) {
    this.compiled = compiled;
    this.program = compiled.programSize();
    const { dfa } = compiled.re2();
    dfa.maxMem = statesBytes;
    dfa.stateBudget = statesBytes;
    dfa.memBudget = statesBytes;
    // A new state looks at all instructions; if the automaton gives up, with null, each byte does.
    const make = dfa.makeState.bind(dfa);
    dfa.makeState = (...inputs: Parameters<typeof make>) => {
      this.take(this.program);
      return make(...inputs);
    };
    const match = dfa.match.bind(dfa);
    dfa.match = (...inputs: Parameters<typeof match>) => {
      const result = match(...inputs);
      if (result === null) this.take(this.program * this.length);
      return result;
    };
  }

  get groups(): number {
    return this.compiled.groupCount();
  }

  literals(): readonly string[] | null {
    return requiredLiterals(this.compiled.re2().prog as Program);
  }

  measure(text: string, limit: number): boolean | null {
    this.spent = 0;
    this.limit = limit;
    this.length = text.length;
    try {
      return this.compiled.test(text);
    } catch (error) {
      if (error === TOO_SLOW) return null;
      throw error;
    } finally {
      this.limit = Number.POSITIVE_INFINITY;
    }
  }

  test(text: string): boolean {
    return this.compiled.test(text);
  }

  match(text: string): Captures | null {
    const matcher = this.compiled.matcher(text);
    if (!matcher.find()) return null;
    const groups: string[] = [];
    for (let i = 0; i <= matcher.groupCount(); i++) groups.push(matcher.group(i) ?? "");
    return groups;
  }

  private take(steps: number): void {
    this.spent += steps;
    if (this.spent > this.limit) throw TOO_SLOW;
  }
}

const TOO_SLOW = new Error("an expression has taken all steps that it may");

/** ASCII as it is; else the bytes, which the library reads as UTF-8, and whose offsets it gives. */
function inputOf(text: string): string | Uint8Array {
  return NOT_ASCII.test(text) ? Buffer.from(text, "latin1") : text;
}

const NOT_ASCII = /[\x80-\xff]/;
const TOO_LARGE = "it is too large: write smaller counts, such as {1,20}, or * and + in their place";
/** What other engines have and linear ones have not, with what to write in its place. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [
    /\(\?<?[=!]/,
    "it looks around itself, which takes more than linear time: match the whole text, or use a second key of match",
  ],
  [/\\[1-9]|\(\?P=|\\k</, "it refers back to a group, which takes more than linear time: write the alternatives out"],
  [
    /\(\?>|[*+?}]\+/,
    "atomic groups and possessive repetitions do nothing here: write the plain form, which is linear anyway",
  ],
];
