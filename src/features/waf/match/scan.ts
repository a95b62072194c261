// Classes of bytes as detectors see them, in values that have been lower-cased, and the scans over them. A class has one name
// wherever it is used; those of white space and digits that protocols share are in core/bytes.ts.
import { Byte, classOf, isLowerLetter } from "../../../core/bytes.ts";

/** A word of SQL, of a shell or of most programming languages: letters, digits, the low line. */
export const WORD: Uint8Array = classOf("a-z0-9_");
/** A name of JavaScript: a word, and the dollar sign. */
export const SCRIPT_NAME: Uint8Array = classOf("a-z0-9_$");
/** The name of a program or of a host: a word, and the dot. */
export const PROGRAM_NAME: Uint8Array = classOf("a-z0-9_.");
/** The name of a file, without its extension: a word, and the dash. */
export const FILE_NAME: Uint8Array = classOf("a-z0-9_-");
/** A path without its separators, with dots, parameters and the tilde; all beyond ASCII. */
export const PATH: Uint8Array = classOf("a-z0-9_-.;~", (byte) => byte >= 0x80);
/** The scheme of a URL, RFC 3986 §3.1, and the part of a host. */
export const SCHEME: Uint8Array = classOf("a-z0-9.+-");
/** The name of a header field, as far as the fields that are searched for have it. */
export const FIELD_NAME: Uint8Array = classOf("a-z0-9-");
/** The name of a property of CSS, or of a keyword of XML: letters and the dash. */
export const DASHED_WORD: Uint8Array = classOf("a-z-");
/** The name of an element of HTML, with a prefix. */
export const TAG_NAME: Uint8Array = classOf("a-z0-9:");
/** The name of an attribute of HTML: all but what ends one. */
export const ATTRIBUTE_NAME: Uint8Array = classOf(
  "",
  (byte) => byte > 0x20 && !"/=><\"'".includes(String.fromCharCode(byte)),
);
/** Bytes between attributes of HTML: white space, slashes, stray quotes and equals signs, control bytes. */
export const ATTRIBUTE_GAP: Uint8Array = classOf("/\"'=", (byte) => byte <= 0x20);
/** A name of SQL begins with a letter, the low line, the dollar sign, or with a byte beyond ASCII. */
export const SQL_NAME_START: Uint8Array = classOf("a-z_$", (byte) => byte >= 0x80);
/** And it goes on with those, with digits and with dots. */
export const SQL_NAME: Uint8Array = classOf("a-z0-9_$.", (byte) => byte >= 0x80);
/** Stands for a character that has no byte of its own: no ASCII, and none that calls for another reading. */
export const BEYOND_ASCII = 0xbf;
/** The no-break space of Latin-1: white space to databases, unless it belongs to a sequence of UTF-8. */
export const NO_BREAK_SPACE = 0xa0;
/** White space of MySQL: that of ASCII, and the no-break space of Latin-1. */
export const SQL_SPACE: Uint8Array = classOf("\t\n\v\f\r \u00a0");
/** A word of XML: letters, digits, `_ - .`, and all beyond ASCII. XML 1.0 §2.3. */
export const XML_WORD: Uint8Array = classOf("a-z0-9_-.", (byte) => byte >= 0x80);

/** Whether a byte belongs to a word. See WORD. */
export function isWordByte(byte: number): boolean {
  return WORD[byte] === 1;
}

/** Whether a byte belongs to a name of JavaScript. See SCRIPT_NAME. */
export function isScriptNameByte(byte: number): boolean {
  return SCRIPT_NAME[byte] === 1;
}

/** Whether a byte belongs to the name of a program. See PROGRAM_NAME. */
export function isProgramByte(byte: number): boolean {
  return PROGRAM_NAME[byte] === 1;
}

/** Whether a byte is white space between the words of a command line: SP, HTAB, CR or LF. */
export function isShellSpace(byte: number): boolean {
  return byte === Byte.Space || byte === Byte.Tab || byte === Byte.Cr || byte === Byte.Lf;
}

/** Whether a byte is a quote of either kind. */
export function isQuote(byte: number): boolean {
  return byte === Byte.Quote || byte === Byte.Apostrophe;
}

/** Whether a byte separates the segments of a path, on some system: a slash or a backslash. */
export function isSeparator(byte: number): boolean {
  return byte === Byte.Slash || byte === Byte.Backslash;
}

/** Offset after the bytes of a class that go on at `from`. A value ends with a byte 0, which no class has. */
export function classEnd(bytes: Uint8Array, from: number, byteClass: Uint8Array): number {
  let at = from;
  while (byteClass[bytes[at]!] === 1) at++;
  return at;
}

/** Offset after the word that goes on at `from`; `from` if none does. */
export function wordEnd(bytes: Uint8Array, from: number): number {
  return classEnd(bytes, from, WORD);
}

/** Whether a text goes on at `at`. A value ends in zeros, so that bytes behind its end may be examined. */
export function hasTextAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  if (at < 0) return false;
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

/** Whether a drive of Windows and a separator are at `at`: c:\, d:/. */
export function isDrive(bytes: Uint8Array, at: number): boolean {
  return isLowerLetter(bytes[at]!) && bytes[at + 1] === Byte.Colon && isSeparator(bytes[at + 2]!);
}

/** Whether a value is the address of a page, by its beginning. */
export function isWebAddress(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0x68 || bytes[1] !== 0x74 || bytes[2] !== 0x74 || bytes[3] !== 0x70) return false;
  const colon = bytes[4] === 0x73 ? 5 : 4;
  return bytes[colon] === Byte.Colon && bytes[colon + 1] === Byte.Slash && bytes[colon + 2] === Byte.Slash;
}

/** Whether a semicolon at `end` ends a character reference: &quot; &#39; */
export function endsReference(bytes: Uint8Array, end: number): boolean {
  let at = end - 1;
  while (at > end - MAX_REFERENCE_BYTES && (PROGRAM_NAME[bytes[at]!] === 1 || bytes[at] === Byte.Hash)) at--;
  return at < end - 1 && bytes[at] === Byte.Ampersand;
}

const MAX_REFERENCE_BYTES = 10;

/** Offset of the part after the last colon: `svg:script`, `xlink:href`. */
export function lastPart(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] !== Byte.Colon) at--;
  return at;
}
