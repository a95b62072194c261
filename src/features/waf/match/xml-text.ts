import { Byte, HEX_VALUE, LOWER, latin1 } from "../../../core/bytes.ts";
import { BEYOND_ASCII } from "./scan.ts";

/**
 * Writes what an XML parser makes of a run of text or of an attribute's value, in lower case: references undone, CDATA
 * sections as they are, comments and instructions left out. XML 1.0 §2.4, §4.1; what is not closed ends with the run.
 * @param out has room for `to - from` bytes
 * @returns the number of bytes written
 */
export function readXmlText(out: Uint8Array, bytes: Uint8Array, from: number, to: number): number {
  let length = 0;
  for (let at = from; at < to; ) {
    const byte = bytes[at]!;
    if (byte === Byte.Ampersand) {
      out[length++] = LOWER[reference(bytes, at, to)]!;
      at = referenceEnd;
    } else if (byte !== Byte.Less || !isAside(bytes, at, to)) {
      out[length++] = LOWER[byte]!;
      at++;
    } else {
      const end = asideEnd(bytes, at, to);
      if (startsWith(bytes, at, to, CDATA)) {
        const last = Math.max(at + CDATA.length, end - CDATA_END.length);
        for (let i = at + CDATA.length; i < last; i++) out[length++] = LOWER[bytes[i]!]!;
      }
      at = end;
    }
  }
  return length;
}

/** Whether a CDATA section, a comment or an instruction begins at `at`: none of them ends a run of text. */
export function isAside(bytes: Uint8Array, at: number, to: number): boolean {
  const next = at + 1 < to ? bytes[at + 1]! : Byte.Nul;
  if (next === Byte.Question) return true;
  return next === Byte.Bang && (startsWith(bytes, at, to, CDATA) || startsWith(bytes, at, to, COMMENT));
}

/** Offset after the CDATA section, the comment or the instruction at `at`. */
export function asideEnd(bytes: Uint8Array, at: number, to: number): number {
  if (bytes[at + 1] === Byte.Question) return endOf(bytes, at + 2, to, INSTRUCTION_END);
  if (startsWith(bytes, at, to, CDATA)) return endOf(bytes, at + CDATA.length, to, CDATA_END);
  return endOf(bytes, at + COMMENT.length, to, COMMENT_END);
}

function endOf(bytes: Uint8Array, from: number, to: number, end: Uint8Array): number {
  for (let at = from; at < to; at++) if (bytes[at] === end[0] && startsWith(bytes, at, to, end)) return at + end.length;
  return to;
}

function startsWith(bytes: Uint8Array, at: number, to: number, text: Uint8Array): boolean {
  if (at + text.length > to) return false;
  for (let i = 0; i < text.length; i++) if (LOWER[bytes[at + i]!] !== text[i]) return false;
  return true;
}

/** The character that the reference at `at` stands for, or the ampersand; `referenceEnd` is after it. */
function reference(bytes: Uint8Array, at: number, to: number): number {
  const value = bytes[at + 1] === Byte.Hash ? numbered(bytes, at + 2, to) : named(bytes, at, to);
  if (value >= 0) return value;
  referenceEnd = at + 1;
  return Byte.Ampersand;
}

function named(bytes: Uint8Array, at: number, to: number): number {
  for (const { text, value } of NAMED) {
    if (!startsWith(bytes, at, to, text)) continue;
    referenceEnd = at + text.length;
    return value;
  }
  return -1;
}

/** &#60; and &#x3c; with any number of zeros in front. */
function numbered(bytes: Uint8Array, first: number, to: number): number {
  const base = LOWER[bytes[first]!] === Byte.LowerX ? 16 : 10;
  let at = base === 16 ? first + 1 : first;
  const from = at;
  let value = 0;
  while (at < to && HEX_VALUE[bytes[at]!]! < base) value = Math.min(value * base + HEX_VALUE[bytes[at++]!]!, BEYOND);
  if (at === from || at >= to || bytes[at] !== Byte.Semicolon) return -1;
  referenceEnd = at + 1;
  return value > 0x7f ? BEYOND_ASCII : value;
}

let referenceEnd = 0;
const CDATA: Uint8Array = latin1("<![cdata[");
const CDATA_END: Uint8Array = latin1("]]>");
const COMMENT: Uint8Array = latin1("<!--");
const COMMENT_END: Uint8Array = latin1("-->");
const INSTRUCTION_END: Uint8Array = latin1("?>");
const NAMED: readonly { readonly text: Uint8Array; readonly value: number }[] = [
  { text: latin1("&lt;"), value: Byte.Less },
  { text: latin1("&gt;"), value: Byte.Greater },
  { text: latin1("&amp;"), value: Byte.Ampersand },
  { text: latin1("&quot;"), value: Byte.Quote },
  { text: latin1("&apos;"), value: Byte.Apostrophe },
];
/** No character has so high a number. */
const BEYOND = 0x110000;
