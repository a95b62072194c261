import type { JsonValue } from "@bufbuild/protobuf";
import { MAX_JSON_DEPTH } from "../../core/limits.ts";

/** A JSON object as it is put together from path, query and body: no name of it reaches Object.prototype. */
export type JsonTree = { [name: string]: JsonValue };

/** An object without names. */
export function emptyTree(): JsonTree {
  return Object.create(null) as JsonTree;
}

/** Whether a value is an object, neither list nor null. */
export function isJsonObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads a JSON text strictly: no name twice in one object, no nesting beyond MAX_JSON_DEPTH, and whole numbers that a
 * double cannot hold become texts, which is how proto3 JSON writes 64-bit integers.
 * @returns the value, or an Error that says what is wrong, without repeating the text
 */
export function readJson(text: string): JsonValue | Error {
  const fault = shapeFault(text);
  if (fault !== "") return new Error(fault);
  try {
    return parse(text, LONG_NUMBER.test(text) ? keepLongIntegers : undefined);
  } catch {
    return new Error("the body is not JSON");
  }
}

/** ECMAScript's own signature; the type of the library does not know the third parameter yet. */
const parse = JSON.parse as (text: string, reviver?: typeof keepLongIntegers) => JsonValue;

function keepLongIntegers(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const { source } = context;
  return source !== undefined && /^-?\d+$/.test(source) ? source : value;
}

/** What JSON.parse would let pass, or "". Whether it is JSON at all, that decides. */
function shapeFault(text: string): string {
  /** The names of each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
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
  return "";
}

/** Offset of the quote that ends the string that begins at `from`; the end of the text where there is none. */
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

/** Digits enough to be beyond 2^53. */
const LONG_NUMBER = /\d{16}/;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
