import { isUtf8 } from "node:buffer";
import { Byte, classOf, EMPTY_BYTES, isDigit, sliceText } from "../../../core/bytes.ts";
import type { StepBudget } from "../match/step-budget.ts";
import { JsonNames, unitAt } from "./json-names.ts";
import { JsonNumber } from "./json-numbers.ts";

/** What readers of JSON take in different ways, as bits. docs/waf.md#json-that-readers-take-in-different-ways */
const enum JsonOddity {
  DuplicateKeys = 1,
  InvalidUtf8 = 2,
  LoneSurrogates = 4,
  Numbers = 8,
  TrailingData = 16,
  Depth = 32,
}

/** Texts that are nested deeper are taken by some readers and refused by others. */
export const MAX_GUARDED_DEPTH = 64;

/** What may come next outside of strings. */
const enum Expects {
  /** The value of the text. */
  Text,
  /** Of a member. */
  Value,
  Element,
  ElementOrEnd,
  NameOrEnd,
  Name,
  Colon,
  NextMember,
  NextElement,
  /** The text is complete. */
  Nothing,
}

/** Of what may not be where it is. */
export const NO_VALUE = 255;
/** What comes behind a value, by what was expected. */
const BEHIND_VALUE: Uint8Array = new Uint8Array(Expects.Nothing + 1).fill(NO_VALUE);
BEHIND_VALUE[Expects.Text] = Expects.Nothing;
BEHIND_VALUE[Expects.Value] = Expects.NextMember;
BEHIND_VALUE[Expects.Element] = Expects.NextElement;
BEHIND_VALUE[Expects.ElementOrEnd] = Expects.NextElement;
/** The same behind a string; a string that is the whole text goes another way. */
const BEHIND_STRING: Uint8Array = BEHIND_VALUE.slice();
BEHIND_STRING[Expects.Text] = NO_VALUE;
BEHIND_STRING[Expects.Name] = Expects.Colon;
BEHIND_STRING[Expects.NameOrEnd] = Expects.Colon;

/** Signs outside of strings; smaller numbers are the reader's. */
export const enum Sign {
  Comma = 3,
  Colon,
  Other,
}
export const SIGN_BITS = 3;
/** What comes behind a comma or a colon, by what was expected and the sign. */
export const BEHIND_SIGN: Uint8Array = new Uint8Array((Expects.Nothing + 1) << SIGN_BITS).fill(NO_VALUE);
BEHIND_SIGN[(Expects.NextMember << SIGN_BITS) | Sign.Comma] = Expects.Name;
BEHIND_SIGN[(Expects.NextElement << SIGN_BITS) | Sign.Comma] = Expects.Element;
BEHIND_SIGN[(Expects.Colon << SIGN_BITS) | Sign.Colon] = Expects.Value;

/**
 * Follows the grammar of JSON (RFC 8259) while the firewall reads a text, and notes where readers part. It gets each token from the
 * reader; other text it notes and passes, as lenient readers do, so that nothing behind stays unseen.
 */
export class JsonGuard {
  /** JsonOddity bits of the text. */
  found = 0;
  /**
   * Those of its first value, if that is a whole object or array: most readers of streams take it and look no further. 0 if the text begins
   * with something else.
   */
  foundInFirst = 0;
  /** The reader keeps it in a variable of its own between calls. */
  expects: Expects = Expects.Text;
  private bytes: Uint8Array = EMPTY_BYTES;
  private from = 0;
  private to = 0;
  private hasLines = false;
  private isBroken = false;
  private hasHigh = false;
  /** Offset behind the first value, if that is a whole object or array. */
  private firstEnd = 0;
  private depth = 0;
  /** Where the last value of the outermost level ended. */
  private valueEnd = 0;
  /** By depth: 1 for an object. */
  private isObject: Uint8Array = new Uint8Array(KEPT_DEPTH);
  /** By depth: how many names were kept outside. */
  private outerNames: Int32Array = new Int32Array(KEPT_DEPTH);
  private readonly names: JsonNames;
  private readonly number: JsonNumber = new JsonNumber();
  /** Offsets of what was found first, by the number of its bit. */
  private readonly places: Int32Array = new Int32Array(ODDITIES);

  constructor(steps: StepBudget) {
    this.names = new JsonNames(steps);
  }

  /** @param hasLines whether values may follow one another, a line each */
  begin(bytes: Uint8Array, from: number, to: number, hasLines: boolean): void {
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.hasLines = hasLines;
    this.found = 0;
    this.foundInFirst = 0;
    this.firstEnd = 0;
    this.isBroken = false;
    this.hasHigh = false;
    this.expects = Expects.Text;
    this.depth = 0;
    this.names.begin(bytes);
  }

  /** The text is over: it may be cut off anywhere. */
  end(): void {
    if (this.hasHigh) this.judgeCharacters();
    this.names.release();
    if (this.isObject.length > KEPT_DEPTH) {
      this.isObject = new Uint8Array(KEPT_DEPTH);
      this.outerNames = new Int32Array(KEPT_DEPTH);
    }
    this.bytes = EMPTY_BYTES;
  }

  /** Whether all of the text was JSON. */
  get isWhole(): boolean {
    return this.expects === Expects.Nothing && !this.isBroken;
  }

  /** Offset of what was found first. @param number of the bit */
  placeOf(number: number): number {
    return this.places[number]!;
  }

  /** A byte outside of strings that is no white space. @returns the offset of the last byte of its token */
  pass(byte: number, at: number): number {
    switch (byte) {
      case Byte.Comma:
        if (this.expects !== Expects.NextMember && this.expects !== Expects.NextElement) this.breakAt(at);
        if (this.depth > 0) this.expects = this.inObject() ? Expects.Name : Expects.Element;
        return at;
      case Byte.Colon:
        if (this.expects !== Expects.Colon) this.breakAt(at);
        else this.expects = Expects.Value;
        return at;
      case Byte.OpenBrace:
      case Byte.LeftBracket:
        this.open(byte === Byte.OpenBrace ? 1 : 0, at);
        return at;
      case Byte.CloseBrace:
      case Byte.RightBracket:
        this.close(byte === Byte.CloseBrace ? 1 : 0, at);
        return at;
      default:
        return NUMBER[byte] === 1 ? this.passNumber(byte, at) : this.passWord(at);
    }
  }

  /**
   * A string that has ended.
   * @param isPlain whether it is free of escapes, and of all bytes but those of printable ASCII
   * @returns the next expectation
   */
  behindString(expects: Expects, isPlain: boolean, from: number, to: number): Expects {
    const next = isPlain ? BEHIND_STRING[expects]! : NO_VALUE;
    if (next === NO_VALUE) {
      this.expects = expects;
      this.string(from, to);
      return this.expects;
    }
    if (next === Expects.Colon) this.name(from, to, false);
    return next;
  }

  /** The same, of a string that may have escapes and other bytes than those of ASCII. */
  private string(from: number, to: number): void {
    const { bytes } = this;
    let isEscaped = false;
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      if (byte >= 0x80) this.hasHigh = true;
      else if (byte < Byte.Space) this.breakAt(at);
      else if (byte === Byte.Backslash) {
        isEscaped = true;
        at = this.escape(at, to);
      }
    }
    this.endText(from, to, isEscaped);
  }

  /** At `from` is what JSON has not: goes on as lenient readers do, which know comments, apostrophes and words without quotes. */
  passLeniently(from: number, expects: Expects): void {
    const { bytes, to } = this;
    this.expects = expects;
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      if (isBlank(byte) || (byte === RECORD && this.hasLines)) continue;
      if (byte === Byte.Quote || byte === Byte.Apostrophe) at = this.passQuoted(byte, at + 1);
      else if (byte === Byte.Slash || byte === Byte.Hash) at = this.passComment(byte, at);
      else if (WORD[byte] === 1 || PUNCTUATION[byte] === 1 || NUMBER[byte] === 1) at = this.pass(byte, at);
      else this.breakAt(at);
    }
  }

  private passQuoted(quote: number, from: number): number {
    const { bytes, to } = this;
    let at = from;
    while (at < to && bytes[at] !== quote) at += bytes[at] === Byte.Backslash ? 2 : 1;
    if (quote === Byte.Apostrophe) this.breakAt(from - 1);
    if (at < to) this.string(from, at);
    return at;
  }

  private passComment(byte: number, from: number): number {
    const { bytes, to } = this;
    this.breakAt(from);
    let at = from + 1;
    if (byte === Byte.Slash && bytes[at] === Byte.Star) {
      for (at += 2; at < to; at++) if (bytes[at] === Byte.Slash && bytes[at - 1] === Byte.Star) return at;
      return to;
    }
    if (byte === Byte.Slash && bytes[at] !== Byte.Slash) return from;
    while (at < to && bytes[at] !== Byte.Lf && bytes[at] !== Byte.Cr) at++;
    return at;
  }

  private open(isObject: number, at: number): void {
    this.beginValue(at);
    if (this.depth === this.isObject.length) this.deepen();
    this.isObject[this.depth] = isObject;
    this.outerNames[this.depth] = this.names.size;
    this.depth++;
    if (this.depth > MAX_GUARDED_DEPTH) this.note(JsonOddity.Depth, at);
    this.expects = isObject === 1 ? Expects.NameOrEnd : Expects.ElementOrEnd;
  }

  private close(isObject: number, at: number): void {
    const { depth, expects } = this;
    const next = isObject === 1 ? Expects.NextMember : Expects.NextElement;
    const first = isObject === 1 ? Expects.NameOrEnd : Expects.ElementOrEnd;
    if (expects !== next && expects !== first) this.breakAt(at);
    if (depth === 0) return;
    this.depth--;
    this.names.cutTo(this.outerNames[this.depth]!);
    this.endValue(at);
    if (this.depth > 0 || this.isBroken || this.firstEnd > 0) return;
    this.firstEnd = at + 1;
    this.foundInFirst = this.found;
  }

  private deepen(): void {
    const kinds = this.isObject;
    const names = this.outerNames;
    this.isObject = new Uint8Array(kinds.length * 2);
    this.isObject.set(kinds);
    this.outerNames = new Int32Array(names.length * 2);
    this.outerNames.set(names);
  }

  private passNumber(byte: number, from: number): number {
    const { bytes, to, number } = this;
    const after = BEHIND_VALUE[this.expects]!;
    if (after !== NO_VALUE && after !== Expects.Nothing) {
      // Most are whole numbers of few digits.
      let at = from;
      while (at < to && isDigit(bytes[at]!)) at++;
      const digits = at - from;
      const isPlain = digits > 0 && digits < PLAIN_DIGITS && (byte !== Byte.Zero || digits === 1);
      if (isPlain && at < to && IN_NUMBER[bytes[at]!] === 0) {
        this.expects = after;
        return at - 1;
      }
    }
    const next = bytes[from + 1]!;
    this.beginValue(from);
    // -Infinity
    if (byte === Byte.Dash && WORD[next] === 1 && NUMBER[next] === 0) this.breakNumber(from);
    else {
      number.read(bytes, from, to);
      // A number at the end of the text may be cut off.
      const isCut = number.end === to && this.depth > 0;
      if (!isCut && number.isMalformed) this.breakNumber(from);
      else if (!isCut && number.isInexact) this.note(JsonOddity.Numbers, from);
    }
    const last = Math.max(number.end - 1, from);
    this.endValue(last);
    return last;
  }

  /** true, false and null; names and values that are written without quotes; NaN and Infinity; a byte order mark. */
  private passWord(from: number): number {
    const { bytes, to } = this;
    if (from === this.from && bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf) {
      this.note(JsonOddity.InvalidUtf8, from);
      return from + 2;
    }
    let at = from;
    for (; at < to && WORD[bytes[at]!] === 1; at++) if (bytes[at]! >= 0x80) this.hasHigh = true;
    const isCut = at === to && this.depth > 0;
    const word = at - from > MAX_WORD ? "" : sliceText(bytes, from, at);
    if (!isCut && !KNOWN_WORDS.has(word)) {
      if (NUMBER_WORD.test(word)) this.breakNumber(from);
      else this.breakAt(from);
    }
    const last = Math.max(at - 1, from);
    if (at > from) this.endText(from, at, false);
    return last;
  }

  /** A string or word is a name, or a value. */
  private endText(from: number, to: number, isEscaped: boolean): void {
    const { expects } = this;
    if (expects !== Expects.Name && expects !== Expects.NameOrEnd) {
      this.beginValue(from);
      this.endValue(to);
      return;
    }
    this.name(from, to, isEscaped);
    this.expects = Expects.Colon;
  }

  /** The name of a member, without its quotes. */
  private name(from: number, to: number, isEscaped: boolean): void {
    const outside = this.outerNames[this.depth - 1]!;
    if (this.names.isRepeated(from, to, isEscaped, outside)) this.note(JsonOddity.DuplicateKeys, from);
  }

  private beginValue(at: number): void {
    const { expects } = this;
    if (BEHIND_VALUE[expects] !== NO_VALUE) return;
    if (expects === Expects.Nothing && this.hasLines && this.isNextLine(at)) return;
    this.breakAt(at);
  }

  private isNextLine(at: number): boolean {
    const { bytes } = this;
    let i = this.valueEnd + 1;
    while (i < at && bytes[i] !== Byte.Lf && bytes[i] !== RECORD) i++;
    return i < at;
  }

  private endValue(last: number): void {
    if (this.depth === 0) this.valueEnd = last;
    if (this.depth === 0) this.expects = Expects.Nothing;
    else this.expects = this.inObject() ? Expects.NextMember : Expects.NextElement;
  }

  private inObject(): boolean {
    return this.isObject[this.depth - 1] === 1;
  }

  /** An escape, or a pair of them: unknown to JSON, or half of a pair. RFC 8259 §7 @returns the offset of its last byte */
  private escape(at: number, to: number): number {
    const { bytes } = this;
    const unit = unitAt(bytes, at, to);
    if (unit < 0) {
      if (ESCAPED[bytes[at + 1]!] !== 1) this.breakAt(at);
      return at + 1;
    }
    if (unit < 0xd800 || unit > 0xdfff) return at + 5;
    const low = unit < 0xdc00 ? unitAt(bytes, at + 6, to) : -1;
    if (low >= 0xdc00 && low <= 0xdfff) return at + 11;
    this.note(JsonOddity.LoneSurrogates, at);
    return at + 5;
  }

  private judgeCharacters(): void {
    const { bytes, from, firstEnd } = this;
    if (isUtf8(bytes.subarray(from, this.endOfCharacters()))) return;
    this.note(JsonOddity.InvalidUtf8, from);
    if (firstEnd > 0 && !isUtf8(bytes.subarray(from, firstEnd))) this.foundInFirst |= JsonOddity.InvalidUtf8;
  }

  /** The end of the text without a character that it cuts off. */
  private endOfCharacters(): number {
    const { bytes, from, to } = this;
    if (this.isWhole) return to;
    for (let at = to - 1; at >= from && at > to - 4; at--) {
      const byte = bytes[at]!;
      // Bytes that begin no character, and are no part of one.
      if (byte < 0x80 || byte === 0xc0 || byte === 0xc1 || byte > 0xf4) return to;
      if (byte >= 0xc0) return at + (byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4) > to ? at : to;
    }
    return to;
  }

  private breakAt(at: number): void {
    this.isBroken = true;
    // Characters of two or four bytes have a NUL among the first two.
    const isWide = this.bytes[at] === Byte.Nul && at < this.from + 2;
    this.note(isWide ? JsonOddity.InvalidUtf8 : JsonOddity.TrailingData, at);
  }

  private breakNumber(at: number): void {
    this.isBroken = true;
    this.note(JsonOddity.Numbers, at);
  }

  private note(oddity: JsonOddity, at: number): void {
    if ((this.found & oddity) !== 0) return;
    this.found |= oddity;
    this.places[31 - Math.clz32(oddity)] = at;
  }
}

/** White space of JSON. */
function isBlank(byte: number): boolean {
  return byte === Byte.Space || byte === Byte.Tab || byte === Byte.Lf || byte === Byte.Cr;
}

const ODDITIES = 6;
/** Room for depths that is kept from text to text. */
const KEPT_DEPTH = 1024;
/** Begins a text of RFC 7464. */
const RECORD = 0x1e;
const PUNCTUATION: Uint8Array = classOf("{}[]:,");
/** What a number may begin with, to some readers. */
const NUMBER: Uint8Array = classOf("0-9+.-");
const IN_NUMBER: Uint8Array = classOf("0-9+.eE-");
const PLAIN_DIGITS = 16;
const WORD: Uint8Array = classOf("a-zA-Z0-9_$", (byte) => byte >= 0x80);
const ESCAPED: Uint8Array = classOf('"\\\\/bfnrt');
const MAX_WORD = 16;
const KNOWN_WORDS: ReadonlySet<string> = new Set(["true", "false", "null"]);
const NUMBER_WORD = /^(?:nan|inf|infinity)$/i;
