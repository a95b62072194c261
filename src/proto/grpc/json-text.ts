import type { JsonValue } from "@bufbuild/protobuf";
import { classOf } from "../../core/bytes.ts";
import { MAX_JSON_DEPTH } from "../../core/limits.ts";
import { MAX_DIGITS, wholeDigits } from "./number-text.ts";

/** A JSON object as it is put together from path, query and body: no name of it reaches Object.prototype. */
export type JsonTree = { [name: string]: JsonValue };

/** An object without names. */
export function emptyTree(): JsonTree {
  return Object.create(null) as JsonTree;
}

/**
 * The object of a value that names are put into: a tree is itself, any other is copied, once; what is no object is an empty one. Thousands
 * of names may go into one object.
 */
export function treeOf(value: JsonValue | undefined): JsonTree {
  if (!isJsonObject(value)) return emptyTree();
  return Object.getPrototypeOf(value) === null ? value : Object.assign(emptyTree(), value);
}

/** Whether a value is an object, neither list nor null. */
export function isJsonObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof LongNumber);
}

/**
 * A number that a double does not hold exactly, as it is written. What it is depends on its field: all its digits where that is a whole
 * number, else the nearest double. If no schema says, it goes as a text of its digits.
 */
export class LongNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  toJSON(): JsonValue {
    return WHOLE.test(this.source) ? this.source : Number(this.source);
  }

  /** Its digits if it is whole, whatever its spelling: `9.5e1` is `95`. Otherwise the double. */
  exact(): JsonValue {
    return wholeDigits(this.source) ?? Number(this.source);
  }
}

/** A JSON text that was read. */
export interface ReadJson {
  readonly value: JsonValue;
  /** Whether it has numbers that must be read with their fields: a LongNumber, or a text such as "1e3" or "0x10"; also days such as 02-30. */
  readonly hasOddNumbers: boolean;
}

/**
 * Reads a JSON text strictly: no name twice in one object, no nesting beyond MAX_JSON_DEPTH. Numbers that a double cannot hold are
 * each a LongNumber.
 * @returns an Error that names the fault, without repeating the text
 */
export function readJson(text: string): ReadJson | Error {
  const shape = shapeOf(text);
  if (typeof shape === "string") return new Error(shape);
  try {
    let hasOddNumbers = shape.hasOddTexts || LATE_DAY.test(text);
    if (!LONG_NUMBER.test(text)) return { value: parse(text), hasOddNumbers };
    const value = parse(text, (_key, value, { source }) => {
      if (typeof value !== "number" || source === undefined || !isLong(value, source)) return value;
      hasOddNumbers = true;
      return new LongNumber(source);
    });
    return { value, hasOddNumbers };
  } catch {
    return new Error("the body is not JSON");
  }
}

/** Reads the bytes of a body, as `readJson` does. */
export function readBody(bytes: Uint8Array): ReadJson | Error {
  try {
    return readJson(UTF8.decode(bytes));
  } catch {
    return new Error("the body is not UTF-8");
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
/** ECMAScript's own signature; the type of the library does not know the third parameter yet. */
const parse = JSON.parse as (text: string, reviver?: Reviver) => JsonValue;

function isLong(value: number, source: string): boolean {
  return !Number.isSafeInteger(value) && Math.abs(value) > Number.MAX_SAFE_INTEGER && LONG_NUMBER.test(source);
}

interface Shape {
  /** Whether a text in it may be meant as a number, and is more than its digits. */
  readonly hasOddTexts: boolean;
}

/** The fault in a text that JSON.parse would let pass, or its shape. Whether it is JSON at all, JSON.parse decides. */
function shapeOf(text: string): Shape | string {
  let hasOddTexts = false;
  /** The names of each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      hasOddTexts ||= isOddText(text, at + 1, end);
      const names = open.at(-1);
      if (isName && names) {
        const name = nameOf(text.slice(at, end + 1));
        if (names.has(name)) return "a name occurs twice in one object";
        names.add(name);
        isName = false;
      }
      at = end;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open.length === MAX_JSON_DEPTH) return `the body is nested deeper than ${MAX_JSON_DEPTH} levels`;
      isName = code === OPEN_BRACE;
      open.push(isName ? new Set() : null);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      open.pop();
      isName = false;
    } else if (code === COMMA) isName = open.at(-1) instanceof Set;
  }
  return { hasOddTexts };
}

/**
 * Whether a text may be meant as a number and is more than digits. It is read once, from left to right: one that begins with an
 * escape counts where all of it may belong to a number.
 * @param text the text is `text[from, to)`, escapes in it as they are written
 */
function isOddText(text: string, from: number, to: number): boolean {
  const first = behindBlanks(text, from, to);
  const isEscaped = first < to && text.charCodeAt(first) === BACKSLASH;
  if (!isEscaped && !NUMBER_BEGINS.test(text.slice(first, first + 3))) return false;
  let end = first;
  while (end < to && (NUMBER_SIGNS[text.charCodeAt(end)] || (isEscaped && isBlank(text.charCodeAt(end))))) end++;
  if (behindBlanks(text, end, to) < to) return false;
  if (isEscaped) return DIGIT.test(text.slice(first, end));
  return first > from || end < to || end - first > MAX_DIGITS || !PLAIN_WHOLE.test(text.slice(first, end));
}

function behindBlanks(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && isBlank(text.charCodeAt(at))) at++;
  return at;
}

/** As `\s` has them. */
function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 9 && code <= 13) || (code >= 0xa0 && BLANK.test(String.fromCharCode(code)));
}

/** Offset of the quote that ends the string that begins at `from`; the end of the text if there is none. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/** Names that are spelled with escapes are the same names. */
function nameOf(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}

/** Digits enough to be more than a double has. */
const LONG_NUMBER = /\d(?:\.?\d){15}/;
const WHOLE = /^-?\d+$/;
/** In a date: a day that not each month, or year, has. */
const LATE_DAY = /-(?:02-(?:29|3)|(?:0[469]|11)-31)/;
const NUMBER_BEGINS = /^[+-]?\.?\d/;
const NUMBER_SIGNS: Uint8Array = classOf("a-zA-Z0-9_.+-\\");
const DIGIT = /\d/;
const BLANK = /\s/;
const PLAIN_WHOLE = /^-?(?:0|[1-9]\d*)$/;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
