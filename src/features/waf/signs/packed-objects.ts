import { Byte } from "../../../core/ascii.ts";
import { Place, type ValueReading } from "../match/value-reading.ts";
import { Sign } from "../rules/sign.ts";
import { CODE_WORDS, CodeWord, GADGETS, TYPE_NAMES } from "./code-words.ts";
import type { SignListener } from "./sign-listener.ts";

/** Finds what a value begins with when it is () { of a shell, or an object of Java, .NET or Node, and objects of PHP. */
export function findPackedObjects(value: ValueReading, listener: SignListener): void {
  const { bytes } = value;
  if (isShellFunction(bytes)) listener.found(Sign.Shellshock, 0);
  let to = 0;
  while (to < MAX_MAGIC && (isWordByte(bytes[to]!) || bytes[to] === Byte.Slash || bytes[to] === Byte.Dollar)) to++;
  for (let length = MIN_MAGIC; length <= to; length++) {
    if (CODE_WORDS.valueOf(bytes, 0, length) === CodeWord.Magic) listener.found(Sign.SerializedObject, 0);
  }
  findPhpObjects(value, listener);
}

/** "@type": "com.sun.…": whether a class that unpacks into an attack is named at `from`, where a class is due. */
export function namesGadget(value: ValueReading, from: number): boolean {
  const { bytes } = value;
  if (!isTyped(value, from)) return false;
  for (let to = from; to < from + MAX_GADGET && (isWordByte(bytes[to]!) || bytes[to] === Byte.Dot); to++) {
    const isEnd = !isWordByte(bytes[to + 1]!);
    if (isEnd && GADGETS.valueOf(bytes, from, to + 1) !== 0) return true;
  }
  return false;
}

/** Whether the place says that a class is named there: !!javax.…, "@type":"com.…, a member called @type. */
function isTyped(value: ValueReading, from: number): boolean {
  const { bytes } = value;
  // A list that begins with a class is how some write an object of it.
  if (from === 0 && value.nameLength === 0) return value.place === Place.Body;
  if (from === 0)
    return value.place === Place.Body && TYPE_NAMES.valueOf(value.name, value.lastNameFrom, value.nameLength) !== 0;
  if (bytes[from - 1] === Byte.Bang) return true;
  let at = from - 1;
  while (
    at > 0 &&
    at > from - MAX_BLANKS &&
    (bytes[at] === Byte.Quote || bytes[at] === Byte.Apostrophe || bytes[at] === Byte.Colon || bytes[at] === Byte.Space)
  )
    at--;
  return at >= 4 && TYPE_NAMES.valueOf(bytes, at - 4, at + 1) !== 0;
}

function isShellFunction(bytes: Uint8Array): boolean {
  if (bytes[0] !== Byte.OpenParen || bytes[1] !== Byte.CloseParen) return false;
  let at = 2;
  while (at < MAX_BLANKS && bytes[at] === Byte.Space) at++;
  return bytes[at] === Byte.OpenBrace;
}

/** O:8:"Name":1:{ */
function findPhpObjects({ bytes, length }: ValueReading, listener: SignListener): void {
  for (let at = 0; at < length; at++) {
    if (bytes[at] !== LOWER_O || bytes[at + 1] !== Byte.Colon || (at > 0 && isWordByte(bytes[at - 1]!))) continue;
    let end = at + 2;
    if (bytes[end] === Byte.Plus) end++;
    const first = end;
    while (isDigit(bytes[end]!)) end++;
    if (end > first && bytes[end] === Byte.Colon && bytes[end + 1] === Byte.Quote) {
      listener.found(Sign.SerializedObject, at);
    }
    at = end - 1;
  }
}

function isDigit(byte: number): boolean {
  return byte >= Byte.Zero && byte <= Byte.Nine;
}

function isWordByte(byte: number): boolean {
  return (byte >= Byte.LowerA && byte <= Byte.LowerZ) || isDigit(byte) || byte === Byte.Underscore;
}

const MAX_BLANKS = 10;
const MIN_MAGIC = 5;
const MAX_MAGIC = 16;
const MAX_GADGET = 64;
const LOWER_O = 0x6f;
