import { isUtf8 } from "node:buffer";
import { Byte, classOf, EMPTY_BYTES, sliceText } from "../../../core/bytes.ts";
import type { StepBudget } from "../match/step-budget.ts";
import { JsonNames, unitAt } from "./json-names.ts";
import { JsonNumber } from "./json-numbers.ts";

/** What readers of JSON take in different ways, as bits. docs/waf.md#json-that-readers-take-in-different-ways */
export const enum JsonOddity {
  DuplicateKeys = 1,
  InvalidUtf8 = 2,
  LoneSurrogates = 4,
  Numbers = 8,
  TrailingData = 16,
  Depth = 32,
}

/** Texts that are nested deeper are taken by some readers and refused by others. */
export const MAX_JSON_DEPTH = 64;

/** What may come next outside of strings. */
const enum Expects {
  Value,
  ValueOrEnd,
  NameOrEnd,
  Name,
  Colon,
  CommaOrEnd,
  /** The text is complete. */
  Nothing,
}

/**
 * Follows the grammar of JSON (RFC 8259) while the firewall reads a text, and notes where readers part. It gets each token from the
 * reader; what is no JSON it notes and passes, as lenient readers do, so that nothing behind stays unseen.
 */
export class JsonGuard {
  /** JsonOddity bits of the text. */
  found = 0;
  private bytes: Uint8Array = EMPTY_BYTES;
  private from = 0;
  private to = 0;
  private hasLines = false;
  private isBroken = false;
  private hasHigh = false;
  private expects: Expects = Expects.Value;
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
    this.isBroken = false;
    this.hasHigh = false;
    this.expects = Expects.Value;
    this.depth = 0;
    this.names.begin(bytes);
  }

  /** The text is over: it may be cut off anywhere. */
  end(): void {
    if (this.hasHigh && !isUtf8(this.bytes.subarray(this.from, this.endOfCharacters())))
      this.note(JsonOddity.InvalidUtf8, this.from);
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

  /** Offset of what was found first of a kind. */
  placeOf(oddity: JsonOddity): number {
    return this.places[31 - Math.clz32(oddity)]!;
  }

  /** A byte outside of strings that is no white space. @returns the offset of the last byte of its token */
  pass(byte: number, at: number): number {
    switch (byte) {
      case Byte.Comma:
        if (this.expects !== Expects.CommaOrEnd) this.breakAt(at);
        if (this.depth > 0) this.expects = this.isObject[this.depth - 1] === 1 ? Expects.Name : Expects.Value;
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
   * @param isEscaped whether a backslash is in it
   * @param signs bit 7 is set where a byte in it is beyond ASCII or a control character; negative for the latter
   */
  string(from: number, to: number, isEscaped: boolean, signs: number): void {
    if (signs < 0) this.breakAt(from);
    if ((signs & 0x80) !== 0) this.hasHigh = true;
    if (isEscaped) this.checkEscapes(from, to);
    this.endText(from, to, isEscaped);
  }

  /** At `from` is what JSON has not: goes on as lenient readers do, which know comments, apostrophes and words without quotes. */
  passLeniently(from: number): void {
    const { bytes, to } = this;
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
    let isEscaped = false;
    let signs = 0;
    let at = from;
    for (; at < to && bytes[at] !== quote; at++) {
      signs |= bytes[at]! | (bytes[at]! - Byte.Space);
      if (bytes[at] !== Byte.Backslash) continue;
      isEscaped = true;
      at++;
    }
    if (quote === Byte.Apostrophe) this.breakAt(from - 1);
    if (at < to) this.string(from, at, isEscaped, signs);
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
    if (this.depth > MAX_JSON_DEPTH) this.note(JsonOddity.Depth, at);
    this.expects = isObject === 1 ? Expects.NameOrEnd : Expects.ValueOrEnd;
  }

  private close(isObject: number, at: number): void {
    const { depth, expects } = this;
    const mayEnd = expects === Expects.CommaOrEnd || expects === Expects.ValueOrEnd || expects === Expects.NameOrEnd;
    if (depth === 0 || !mayEnd || this.isObject[depth - 1] !== isObject) this.breakAt(at);
    if (depth === 0) return;
    this.depth--;
    this.names.cutTo(this.outerNames[this.depth]!);
    this.endValue(at);
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
    const next = bytes[from + 1]!;
    this.beginValue(from);
    // -Infinity
    if (byte === Byte.Dash && WORD[next] === 1 && NUMBER[next] === 0) this.breakNumber(from);
    else {
      number.read(bytes, from, to);
      // One that ends with the text may be cut off.
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
    while (at < to && WORD[bytes[at]!] === 1) at++;
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
    const outside = this.outerNames[this.depth - 1]!;
    if (this.names.isRepeated(from, to, isEscaped, outside)) this.note(JsonOddity.DuplicateKeys, from);
    this.expects = Expects.Colon;
  }

  private beginValue(at: number): void {
    const { expects } = this;
    if (expects === Expects.Value || expects === Expects.ValueOrEnd) return;
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
    this.expects = this.depth === 0 ? Expects.Nothing : Expects.CommaOrEnd;
  }

  /** Looks for escapes that JSON has not, and for halves of surrogate pairs. RFC 8259 §7 */
  private checkEscapes(from: number, to: number): void {
    const { bytes } = this;
    for (let at = from; at < to; at++) {
      if (bytes[at] !== Byte.Backslash) continue;
      const letter = bytes[++at]!;
      if (letter !== LOWER_U) {
        if (ESCAPED[letter] !== 1) this.breakAt(at - 1);
        continue;
      }
      const unit = unitAt(bytes, at - 1, to);
      if (unit < 0) {
        this.breakAt(at - 1);
        continue;
      }
      at += 4;
      if (unit < 0xd800 || unit > 0xdfff) continue;
      const low = unit < 0xdc00 ? unitAt(bytes, at + 1, to) : -1;
      if (low >= 0xdc00 && low <= 0xdfff) at += 6;
      else this.note(JsonOddity.LoneSurrogates, at - 5);
    }
  }

  /** The end of the text without a character that it cuts off. */
  private endOfCharacters(): number {
    const { bytes, from, to } = this;
    if (this.isWhole) return to;
    for (let at = to - 1; at >= from && at > to - 4; at--) {
      const byte = bytes[at]!;
      if (byte < 0x80) return to;
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
const LOWER_U = 0x75;
/** Begins a text of RFC 7464. */
const RECORD = 0x1e;
const PUNCTUATION: Uint8Array = classOf("{}[]:,");
/** What a number may begin with, to some readers. */
const NUMBER: Uint8Array = classOf("0-9+.-");
const WORD: Uint8Array = classOf("a-zA-Z0-9_$", (byte) => byte >= 0x80);
const ESCAPED: Uint8Array = classOf('"\\\\/bfnrt');
const MAX_WORD = 16;
const KNOWN_WORDS: ReadonlySet<string> = new Set(["true", "false", "null"]);
const NUMBER_WORD = /^(?:nan|inf|infinity)$/i;
