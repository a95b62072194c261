import { Byte } from "../../core/bytes.ts";

/**
 * Where the elements of a JSON array are, which has been found well-formed: offsets of the first byte and behind the last of each, in pairs,
 * white space around them included. Of a text that is no array, the place of the whole.
 */
export function elementSpans(text: Uint8Array): Uint32Array {
  let at = 0;
  while (isBlank(text[at])) at++;
  if (text[at] !== OPEN_BRACKET) return Uint32Array.of(0, text.length);
  const places: number[] = [];
  let depth = 0;
  let from = ++at;
  let isEmpty = true;
  for (; at < text.length; at++) {
    const byte = text[at]!;
    if (byte === QUOTE) at = endOfString(text, at);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (depth > 0) depth -= byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? 1 : 0;
    else if (byte === Byte.Comma) {
      places.push(from, at);
      from = at + 1;
    } else if (byte === CLOSE_BRACKET) break;
    if (isEmpty && !isBlank(byte)) isEmpty = false;
  }
  if (!isEmpty) places.push(from, at);
  return Uint32Array.from(places);
}

/** Offset of the quote that ends the string that begins at `from`. */
function endOfString(text: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === Byte.Space || byte === Byte.Tab || byte === Byte.Cr || byte === Byte.Lf;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
