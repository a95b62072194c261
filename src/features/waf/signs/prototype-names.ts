import { Byte, latin1 } from "../../../core/ascii.ts";
import type { ValueReading } from "../match/value-reading.ts";

/** Whether the word in `[from, to)`, __proto__ or prototype, is a name that reaches the prototype of all objects. */
export function isPollution(value: ValueReading, from: number, to: number): boolean {
  const { bytes } = value;
  const isProto = bytes[from] === Byte.Underscore;
  if (value.isName && from === 0 && !isProto) return isConstructor(value);
  if (value.isName) return isProto || bytes[from - 1] === Byte.LeftBracket || bytes[from - 1] === Byte.Dot;
  let next = to + 1;
  while (bytes[next] === Byte.Space) next++;
  return isProto && isQuote(bytes[from - 1]!) && isQuote(bytes[to]!) && bytes[next] === Byte.Colon;
}

/** Whether a member stands in one that is called constructor. */
function isConstructor({ name, nameLength }: ValueReading): boolean {
  const from = nameLength - CONSTRUCTOR.length;
  return from >= 0 && CONSTRUCTOR.every((byte, i) => name[from + i] === byte);
}

function isQuote(byte: number): boolean {
  return byte === Byte.Quote || byte === Byte.Apostrophe;
}

const CONSTRUCTOR: Uint8Array = latin1("constructor");
