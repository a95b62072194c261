import { latin1 } from "../../../core/bytes.ts";
import { parseAddress } from "../../../core/ip-address.ts";
import { type Network, NetworkSet } from "../../../core/network-set.ts";
import {
  compileRuleExpression,
  isExpressionFault,
  type MeasuredExpression,
  type RuleExpressionLimits,
} from "../../../proto/expression/expression.ts";
import { FOLDED } from "../../../proto/expression/expression-literals.ts";
import type { RuleOperator } from "../../../proto/seclang/rule-set.ts";
import { CALL_GROUP } from "../detectors/script-calls.ts";
import { SCRIPT_GROUP } from "../detectors/script-context.ts";
import { SQL_GROUP } from "../detectors/sql-group.ts";
import { ValueReading } from "../match/value-reading.ts";
import type { Detector, DetectorGroup } from "../rule.ts";
import { type MacroText, macroText } from "./macro-text.ts";
import { PhraseSet } from "./phrase-set.ts";
import type { RuleTransaction } from "./rule-transaction.ts";

/** Whether a value fits, before `!`. @param captures takes what fits, if the rule asks for it */
export type OperatorTest = (value: string, transaction: RuleTransaction, captures: boolean) => boolean;

/** Thrown where the steps of a request are spent. */
export const STEPS_SPENT: Error = new Error("rules have taken all steps of a request");

/** Makes an operator. Expressions are compiled when they are first asked. */
export function operatorOf({ name, argument, lines }: RuleOperator, limits: RuleExpressionLimits): OperatorTest {
  switch (name) {
    case "rx":
      return expression(argument, limits);
    case "pm":
      return phrases(lines);
    case "ipMatch":
      return networks(lines);
    case "validateByteRange":
      return bytesOutside(argument);
    case "detectSQLi":
      return detected([SQL_GROUP]);
    case "detectXSS":
      return detected([SCRIPT_GROUP, CALL_GROUP]);
    case "unconditionalMatch":
      return () => true;
    case "noMatch":
      return () => false;
    case "validateUrlEncoding":
      return (value) => /%(?![0-9a-f]{2})/i.test(value);
    case "validateUtf8Encoding":
      return (value) => !isUtf8(value);
    default:
      return compared(name, macroText(argument));
  }
}

/**
 * Texts of which one is in each value that fits, letter case aside.
 * @returns folded texts; null where values may fit without any
 */
export function literalsOf({ name, argument, lines, literals }: RuleOperator): readonly string[] | null {
  if (name === "rx") return literals;
  const texts = name === "pm" ? lines : HAVE_ARGUMENT.has(name) && !argument.includes("%{") ? [argument] : [];
  if (texts.length === 0 || texts.length > MAX_LITERALS || texts.includes("")) return null;
  return texts
    .map((text) => Buffer.from(text.slice(0, MAX_LITERAL_CHARS), "latin1").map((byte) => FOLDED[byte]!))
    .map((bytes) => Buffer.from(bytes).toString("latin1"));
}

/** Operators whose argument is a part of what fits. */
const HAVE_ARGUMENT: ReadonlySet<string> = new Set(["beginsWith", "endsWith", "contains", "containsWord", "streq"]);
const MAX_LITERALS = 256;
const MAX_LITERAL_CHARS = 8;

function compared(name: string, argument: MacroText): OperatorTest {
  const number = NUMBERS[name];
  if (number !== undefined) return (value, transaction) => number(whole(value), whole(argument(transaction)));
  const text = TEXTS[name]!;
  return (value, transaction) => text(value, argument(transaction));
}

/** A whole number, 0 for what is none. */
function whole(text: string): number {
  return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : 0;
}

const NUMBERS: Readonly<Record<string, (value: number, wanted: number) => boolean>> = {
  eq: (value, wanted) => value === wanted,
  ge: (value, wanted) => value >= wanted,
  gt: (value, wanted) => value > wanted,
  le: (value, wanted) => value <= wanted,
  lt: (value, wanted) => value < wanted,
};

const TEXTS: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  beginsWith: (value, wanted) => value.startsWith(wanted),
  endsWith: (value, wanted) => value.endsWith(wanted),
  contains: (value, wanted) => value.includes(wanted),
  containsWord: hasWord,
  streq: (value, wanted) => value === wanted,
  within: (value, wanted) => wanted.includes(value),
};

/** Both texts may be a client's, so that one search for each place where the word begins would take the product of their lengths. */
function hasWord(value: string, word: string): boolean {
  if (word === "" || !value.includes(word)) return word === "";
  const borders = bordersOf(word);
  let length = 0;
  for (let at = 0; at < value.length; at++) {
    while (length > 0 && value[at] !== word[length]) length = borders[length - 1]!;
    if (value[at] === word[length]) length++;
    if (length < word.length) continue;
    if (!isLetter(value.charCodeAt(at - length)) && !isLetter(value.charCodeAt(at + 1))) return true;
    length = borders[length - 1]!;
  }
  return false;
}

/** How many characters a text begins and ends with alike, for each of its beginnings (Knuth, Morris and Pratt). */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let at = 1, length = 0; at < text.length; at++) {
    while (length > 0 && text[at] !== text[length]) length = borders[length - 1]!;
    if (text[at] === text[length]) length++;
    borders[at] = length;
  }
  return borders;
}

/** Of letters, digits and `_`; not of NaN, which is what is behind an end. */
function isLetter(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);
}

function isUtf8(value: string): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
    return true;
  } catch {
    return false;
  }
}

function expression(source: string, limits: RuleExpressionLimits): OperatorTest {
  let made: MeasuredExpression | null = null;
  return (value, transaction, captures) => {
    made ??= checked(source, limits);
    const found = made.measure(value, transaction.steps);
    if (found === null || !transaction.take(made.spent)) throw STEPS_SPENT;
    if (!found || !captures) return found;
    // Where groups are is found by a slower way.
    if (!transaction.take(made.program * value.length)) throw STEPS_SPENT;
    const groups = made.match(value) ?? [];
    for (let i = 0; i < Math.min(groups.length, CAPTURES); i++) transaction.set(String(i), groups[i]!);
    return true;
  };
}

function checked(source: string, limits: RuleExpressionLimits): MeasuredExpression {
  const made = compileRuleExpression(source, limits);
  if (isExpressionFault(made)) throw new Error(`an expression that was never checked: ${made.fault}`);
  return made;
}

function phrases(lines: readonly string[]): OperatorTest {
  let made: PhraseSet | null = null;
  return (value, transaction, captures) => {
    made ??= new PhraseSet(lines);
    const found = made.find(value, transaction.steps);
    if (found === undefined || !transaction.take(made.steps)) throw STEPS_SPENT;
    if (found !== null && captures) transaction.set("0", found);
    return found !== null;
  };
}

function networks(lines: readonly string[]): OperatorTest {
  const set = new NetworkSet(lines.map(networkOf));
  return (value) => set.has(value);
}

/** A network whose form was checked; address bits beyond the prefix do not count. */
function networkOf(text: string): Network {
  const [address = "", prefix] = text.split("/");
  const octets = new Uint8Array(16);
  parseAddress(address, octets);
  const width = address.includes(":") ? 128 : 32;
  const bits = Math.min(width, prefix === undefined ? width : Number(prefix)) + 128 - width;
  return { bytes: Array.from(octets), bits };
}

function bytesOutside(argument: string): OperatorTest {
  const inside = new Uint8Array(256);
  for (const [, from, to] of argument.matchAll(/(\d+)\s*(?:-\s*(\d+))?/g))
    inside.fill(1, Number(from), Number(to ?? from) + 1);
  return (value) => {
    for (let at = 0; at < value.length; at++) if (inside[value.charCodeAt(at)] === 0) return true;
    return false;
  };
}

/** The firewall's own detectors. Its rules of one point or two are hints, and count for nothing here. */
function detected(groups: readonly DetectorGroup[]): OperatorTest {
  let detectors: readonly Detector[] | null = null;
  return (value) => {
    detectors ??= groups.flatMap((group) => group.detectors());
    const bytes = latin1(value);
    let isFound = false;
    const listener = {
      found(rule: { readonly score: number }): void {
        if (rule.score >= LEAST_SCORE) isFound = true;
      },
    };
    for (const unescapes of [false, true]) {
      reading.load(bytes, 0, bytes.length);
      if (unescapes && reading.unescape() === 0) break;
      reading.steps.begin(bytes.length);
      for (const detector of detectors) detector.analyse(reading, listener);
      if (isFound) break;
    }
    reading.release();
    return isFound;
  };
}

/** One for all, since nothing waits in between. */
const reading: ValueReading = new ValueReading();
const LEAST_SCORE = 4;
const CAPTURES = 10;
