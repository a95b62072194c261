import { Byte, byteTable, classOf, EMPTY_BYTES, HEX_VALUE, hexPair, indexOfByte, LOWER } from "../../../core/bytes.ts";
import { MAX_DECODING_ROUNDS } from "../../../proto/target/percent-decoding.ts";
import { MIN_PACKED_CHARS, unpack } from "./packed-text.ts";
import { BEYOND_ASCII } from "./scan.ts";
import { StepBudget } from "./step-budget.ts";
import { readXmlText } from "./xml-text.ts";

/** Where in a request a value comes from. */
export const enum InputLocation {
  Query = 0,
  /** A header that names a program: User-Agent. */
  Agent,
  /** Referer, and the values of cookies. */
  Header,
  /** A header that clients make up: X-*. */
  Extension,
  /** A field of a form, a multipart field, a JSON string, a text or an attribute of XML. */
  Body,
  /** The path of the target, as one value. */
  Path,
  /** One segment of the path, or a parameter of it. */
  Segment,
  /** The path from one segment on. */
  PathRest,
}

/** How the reader decoded a value. */
const enum SourceKind {
  Plain = 0,
  Escaped,
  Json,
  Xml,
}

/**
 * One value as the rules read it: decoded as its location demands, in lower case, ended by a byte 0 that is not part of it.
 * One object an inspector, used again for every value.
 */
export class ValueReading {
  location: InputLocation = InputLocation.Query;
  bytes: Uint8Array = new Uint8Array(INITIAL_BYTES);
  length = 0;
  /** Whether the value is itself the name of a parameter, a cookie or a JSON member. */
  isName = false;
  /** Whether the value is a text about something, or a file: of what such texts may say, only rules count that count in texts. */
  isQuoted = false;
  /** Name of the parameter, header or cookie in lower case, cut to MAX_NAME_BYTES; of a JSON member its whole path. */
  readonly name: Uint8Array = new Uint8Array(MAX_FIELD_NAME_BYTES);
  nameLength = 0;
  /** Offset of the last part of the name: after the last dot in the path of a JSON member. */
  lastNameFrom = 0;
  /** The remaining budget of the inspection of the request. */
  readonly steps: StepBudget;
  /** The last value and its decoding, so that a caller can read it again in its own case. */
  private source: Uint8Array = EMPTY_BYTES;
  private sourceFrom = 0;
  private sourceTo = 0;
  private sourceKind: SourceKind = SourceKind.Plain;
  /** Offset of the end of the first line; -1 before `isQueryLine` has looked. */
  private lineEnd = -1;
  /** What becomes of each byte: lower case, but in `unpack`. */
  private fold: Uint8Array = LOWER;

  constructor(steps: StepBudget = new StepBudget()) {
    this.steps = steps;
  }

  /** Takes the bytes as they are. */
  load(bytes: Uint8Array, from: number, to: number): void {
    const out = this.begin(SourceKind.Plain, bytes, from, to);
    const { fold } = this;
    let length = 0;
    for (let at = from; at < to; at++) out[length++] = fold[bytes[at]!]!;
    this.endAt(length);
  }

  /** Undoes escapes once. @param plusIsSpace as in queries and forms */
  loadEscaped(bytes: Uint8Array, from: number, to: number, plusIsSpace: boolean): void {
    const out = this.begin(SourceKind.Escaped, bytes, from, to);
    const { fold } = this;
    let length = 0;
    for (let at = from; at < to; at++) {
      let byte = bytes[at]!;
      if (byte === Byte.Plus && plusIsSpace) byte = Byte.Space;
      else if (byte === Byte.Percent && at + 2 < to) {
        const decoded = hexPair(bytes, at + 1);
        if (decoded >= 0) {
          byte = decoded;
          at += 2;
        }
      }
      out[length++] = fold[byte]!;
    }
    this.endAt(length);
  }

  /** Takes the inside of a JSON string. RFC 8259 §7, and JSON5's strings of several lines; characters beyond ASCII become a byte that means nothing. */
  loadJson(bytes: Uint8Array, from: number, to: number): void {
    const out = this.begin(SourceKind.Json, bytes, from, to);
    const { fold } = this;
    let length = 0;
    for (let at = from; at < to; at++) {
      let byte = bytes[at]!;
      if (byte === Byte.Backslash && at + 1 < to) {
        byte = bytes[++at]!;
        if (byte === LOWER_U && at + 4 < to) {
          byte = hexQuad(bytes, at + 1);
          if (byte < 0) byte = LOWER_U;
          else at += 4;
          if (byte > 0x7f) byte = folded(byte);
        } else if (byte === Byte.Lf || byte === Byte.Cr) {
          if (byte === Byte.Cr && bytes[at + 1] === Byte.Lf) at++;
          continue;
        } else byte = JSON_ESCAPES[byte] ?? byte;
      }
      out[length++] = fold[byte]!;
    }
    this.endAt(length);
  }

  /** Takes a text or an attribute of XML; see `readXmlText`. */
  loadXml(bytes: Uint8Array, from: number, to: number): void {
    this.endAt(readXmlText(this.begin(SourceKind.Xml, bytes, from, to), bytes, from, to));
  }

  /** Whether the value is one line of a query, if no program is due. It looks for the end of the line once. */
  isQueryLine(): boolean {
    if (this.location !== InputLocation.Query) return false;
    if (this.lineEnd < 0) this.lineEnd = indexOfByte(this.bytes, Byte.Lf, 0, this.length);
    return this.lineEnd >= this.length;
  }

  /** Whether the value begins as a text in base64 may. */
  isPackedChars(): boolean {
    if (this.length < MIN_PACKED_CHARS || this.isName) return false;
    for (let at = 0; at < MIN_PACKED_CHARS; at++) if (PACKED[this.bytes[at]!] === 0) return false;
    return true;
  }

  /**
   * Reads the last value once more, with base64 undone. docs/waf.md#what-is-looked-at
   * @returns whether it is a text in base64; the reading is spoilt if it is not
   */
  unpack(): boolean {
    const { source, sourceFrom, sourceTo } = this;
    if (sourceTo - sourceFrom < MIN_PACKED_CHARS) return false;
    this.fold = CASED;
    if (this.sourceKind === SourceKind.Json) this.loadJson(source, sourceFrom, sourceTo);
    // A plus is one of the alphabet.
    else if (this.sourceKind === SourceKind.Escaped) this.loadEscaped(source, sourceFrom, sourceTo, false);
    else this.load(source, sourceFrom, sourceTo);
    this.fold = LOWER;
    const { bytes } = this;
    const length = unpack(bytes, bytes, 0, this.length);
    for (let at = 0; at < length; at++) bytes[at] = LOWER[bytes[at]!]!;
    this.endAt(length);
    return length * 4 >= (MIN_PACKED_CHARS - 2) * 3;
  }

  /** Drops the bytes of the last value. */
  release(): void {
    this.source = EMPTY_BYTES;
    this.sourceFrom = 0;
    this.sourceTo = 0;
  }

  /** Undoes references such as &lt; and &#60; in the last value. */
  dereference(): void {
    this.endAt(readXmlText(this.bytes, this.bytes, 0, this.length));
  }

  /** Undoes the escapes of a cookie between quotes: \047 and \'. RFC 2109 §4.1, and the readers of several languages. */
  unquote(): void {
    const { bytes, length } = this;
    let write = 0;
    for (let read = 0; read < length; ) {
      let byte = bytes[read++]!;
      if (byte === Byte.Backslash && read < length) {
        const value = octal(bytes, read);
        byte = value < 0 ? bytes[read]! : LOWER[value]!;
        read += value < 0 ? 1 : 3;
      }
      bytes[write++] = byte;
    }
    this.endAt(write);
  }

  /**
   * Undoes the rest of escapes until there is none: %41, %u0041, \u0041, \u{41}, \x41; and what some readers take for characters of
   * ASCII: overlong sequences of UTF-8, full-width forms.
   * @returns the number of rounds that changed something; more than MAX_DECODING_ROUNDS when some are left
   */
  unescape(): number {
    let rounds = 0;
    while (rounds <= MAX_DECODING_ROUNDS && this.unescapeOnce()) rounds++;
    return rounds;
  }

  private unescapeOnce(): boolean {
    const bytes = this.bytes;
    const length = this.length;
    let write = 0;
    for (let read = 0; read < length; ) {
      const byte = bytes[read]!;
      let value = -1;
      let width = 1;
      if (byte === Byte.Percent || byte === Byte.Backslash) {
        const next = bytes[read + 1]!;
        if (next === LOWER_U && bytes[read + 2] === Byte.OpenBrace) {
          width = bracedWidth(bytes, read + 3);
          value = width === 0 ? -1 : bracedValue;
        } else if (next === LOWER_U) {
          value = hexQuad(bytes, read + 2);
          width = 6;
        } else {
          const isPercent = byte === Byte.Percent;
          width = isPercent ? 3 : 4;
          value = isPercent || next === Byte.LowerX ? hexPair(bytes, read + width - 2) : -1;
        }
        if (read + width > length) value = -1;
      } else if (byte >= 0xc0) {
        width = widthOf(byte);
        value = read + width > length ? -1 : foldedAt(bytes, read, width);
      }
      if (value >= 0) {
        read += width;
        // The text \x00 is part of many a program.
        if (value === 0 && byte === Byte.Backslash) value = BEYOND_ASCII;
      } else {
        value = byte;
        read++;
      }
      bytes[write++] = LOWER[value > 0xff ? folded(value) : value]!;
    }
    this.endAt(write);
    return write !== length;
  }

  /** Notes the value. @returns the array, with room for it */
  private begin(kind: SourceKind, bytes: Uint8Array, from: number, to: number): Uint8Array {
    this.source = bytes;
    this.sourceFrom = from;
    this.sourceTo = to;
    this.sourceKind = kind;
    return this.room(to - from);
  }

  /** The array, with room for `length` bytes and some zeros after them. */
  private room(length: number): Uint8Array {
    if (length + PADDING > this.bytes.length) this.bytes = new Uint8Array(2 * length + PADDING);
    return this.bytes;
  }

  /** What looks ahead of the end sees zeros, not the value before. */
  private endAt(length: number): void {
    this.length = length;
    this.lineEnd = -1;
    this.bytes.fill(0, length, length + PADDING);
  }
}

/** The value of three octal digits, or -1. */
function octal(bytes: Uint8Array, at: number): number {
  const high = bytes[at]! ^ Byte.Zero;
  const middle = bytes[at + 1]! ^ Byte.Zero;
  const low = bytes[at + 2]! ^ Byte.Zero;
  return high > 3 || middle > 7 || low > 7 ? -1 : high * 64 + middle * 8 + low;
}

/** What stands for a character: that of ASCII of which it is the full-width form, or a byte that means nothing. */
function folded(character: number): number {
  return character > 0xff00 && character <= 0xff5e ? character - 0xfee0 : BEYOND_ASCII;
}

/** The length of a sequence of UTF-8 by its first byte, RFC 2279 §2: five and six bytes are those of lenient readers. */
function widthOf(lead: number): number {
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf8 ? 4 : lead < 0xfc ? 5 : 6;
}

/** The character of ASCII that the sequence of UTF-8 at `at` stands for, -1 if it is another. RFC 3629 §3. */
function foldedAt(bytes: Uint8Array, at: number, width: number): number {
  const second = bytes[at + 1]! ^ 0x80;
  if (second > 0x3f) return -1;
  const lead = bytes[at]!;
  if (lead <= 0xc1) return ((lead & 1) << 6) | second;
  if (lead === 0xe0 || lead === 0xf0 || lead === 0xf8 || lead === 0xfc) return overlongAt(bytes, at, width);
  if (lead !== 0xef) return -1;
  const third = bytes[at + 2]! ^ 0x80;
  const value = third > 0x3f ? BEYOND_ASCII : folded(0xf000 | (second << 6) | third);
  return value === BEYOND_ASCII ? -1 : value;
}

/** The character of ASCII for which an overlong sequence has three bytes or more: E0 80 A7, F0 80 80 A7. */
function overlongAt(bytes: Uint8Array, at: number, width: number): number {
  const last = at + width - 1;
  for (let i = at + 1; i < last - 1; i++) if (bytes[i] !== 0x80) return -1;
  const high = bytes[last - 1]! ^ 0x80;
  const low = bytes[last]! ^ 0x80;
  return high > 1 || low > 0x3f ? -1 : (high << 6) | low;
}

/** How long \u{27} is whose digits begin at `from`, 0 if that is none; its character is in `bracedValue` then. */
function bracedWidth(bytes: Uint8Array, from: number): number {
  let value = 0;
  let at = from;
  while (at < from + MAX_BRACED_DIGITS && HEX_VALUE[bytes[at]!]! <= 15) value = value * 16 + HEX_VALUE[bytes[at++]!]!;
  if (at === from || bytes[at] !== Byte.CloseBrace) return 0;
  bracedValue = value;
  return at + 1 - from + 3;
}

function hexQuad(bytes: Uint8Array, at: number): number {
  const high = hexPair(bytes, at);
  const low = hexPair(bytes, at + 2);
  return high < 0 || low < 0 ? -1 : high * 256 + low;
}

let bracedValue = 0;
export const MAX_FIELD_NAME_BYTES = 128;
const MAX_BRACED_DIGITS = 8;
/** Zeros after a value, as far as any rule looks ahead without asking for the end. */
const PADDING = 8;
const INITIAL_BYTES = 4096;
const CASED: Uint8Array = byteTable((byte) => byte);
/** The alphabets of base64 in lower case; a blank was a plus. */
const PACKED: Uint8Array = classOf("a-z0-9+/_ -");
const LOWER_U = 0x75;
const JSON_ESCAPES: Readonly<Record<number, number>> = { 98: 0x08, 102: 0x0c, 110: 0x0a, 114: 0x0d, 116: 0x09 };
