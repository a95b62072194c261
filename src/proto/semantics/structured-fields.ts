import { Byte, classOf, LOWER, TOKEN } from "../../core/bytes.ts";

/** A value of a structured field, without its parameters. RFC 9651 §3.3; a date is in seconds since the epoch. */
export type BareItem =
  | { readonly kind: "integer" | "decimal" | "date"; readonly value: number }
  | { readonly kind: "string" | "token" | "display"; readonly value: string }
  | { readonly kind: "bytes"; readonly value: Uint8Array }
  | { readonly kind: "boolean"; readonly value: boolean };

/** Of a key that occurs twice the last value counts, at the place of the first. */
export type Parameters = ReadonlyMap<string, BareItem>;

/** A value with its parameters. */
export interface Item {
  readonly item: BareItem;
  readonly parameters: Parameters;
}

/** A list within a list or a dictionary. */
export interface InnerList {
  readonly items: readonly Item[];
  readonly parameters: Parameters;
}

/** What a list or a dictionary consists of. */
export type Member = Item | InnerList;

/**
 * THE reader of structured fields, as strict as RFC 9651 §4.2 asks. It goes over the text once.
 * @param text all lines of the field, joined by a comma and a space, one character a byte
 * @param isUnique whether a key that occurs twice is malformed, in the dictionary and in parameters
 * @returns null if any of it is malformed
 */
export function parseDictionary(text: string, isUnique = false): ReadonlyMap<string, Member> | null {
  return new StructuredReader(text, isUnique).dictionary();
}

/** The same of a list. */
export function parseList(text: string): readonly Member[] | null {
  return new StructuredReader(text).list();
}

/** The same of a single item. */
export function parseItem(text: string): Item | null {
  return new StructuredReader(text).only();
}

/** Each method takes what it is named for, from `at` on; null says that it is not there, and then all is malformed. */
class StructuredReader {
  private readonly text: string;
  private readonly end: number;
  private readonly isUnique: boolean;
  private at = 0;

  constructor(text: string, isUnique = false) {
    this.isUnique = isUnique;
    let end = text.length;
    while (end > 0 && text.charCodeAt(end - 1) === Byte.Space) end--;
    this.text = text;
    this.end = end;
    this.skipSpaces();
  }

  dictionary(): ReadonlyMap<string, Member> | null {
    const members = new Map<string, Member>();
    while (this.at < this.end) {
      const key = this.key();
      if (key === null || (this.isUnique && members.has(key))) return null;
      const member = this.take(Byte.Equals) ? this.member() : this.withParameters(TRUE);
      if (member === null) return null;
      members.set(key, member);
      if (!this.isNext()) return null;
    }
    return members;
  }

  list(): readonly Member[] | null {
    const members: Member[] = [];
    while (this.at < this.end) {
      const member = this.member();
      if (member === null) return null;
      members.push(member);
      if (!this.isNext()) return null;
    }
    return members;
  }

  only(): Item | null {
    const item = this.item();
    return this.at === this.end ? item : null;
  }

  /** Whether the text ends here, or goes on with a comma and something after it. RFC 9651 §4.2.1 */
  private isNext(): boolean {
    this.skipBlanks();
    if (this.at === this.end) return true;
    if (!this.take(Byte.Comma)) return false;
    this.skipBlanks();
    return this.at < this.end;
  }

  private member(): Member | null {
    return this.peek() === Byte.OpenParen ? this.innerList() : this.item();
  }

  private innerList(): InnerList | null {
    const items: Item[] = [];
    for (this.at++; ; ) {
      this.skipSpaces();
      if (this.take(Byte.CloseParen)) break;
      const item = this.item();
      if (item === null) return null;
      items.push(item);
      if (this.peek() !== Byte.Space && this.peek() !== Byte.CloseParen) return null;
    }
    const parameters = this.parameters();
    return parameters === null ? null : { items, parameters };
  }

  private item(): Item | null {
    const item = this.bareItem();
    return item === null ? null : this.withParameters(item);
  }

  private withParameters(item: BareItem): Item | null {
    const parameters = this.parameters();
    return parameters === null ? null : { item, parameters };
  }

  private parameters(): Parameters | null {
    if (this.peek() !== Byte.Semicolon) return NO_PARAMETERS;
    const parameters = new Map<string, BareItem>();
    while (this.take(Byte.Semicolon)) {
      this.skipSpaces();
      const key = this.key();
      const value = key === null || !this.take(Byte.Equals) ? TRUE : this.bareItem();
      if (key === null || value === null || (this.isUnique && parameters.has(key))) return null;
      parameters.set(key, value);
    }
    return parameters;
  }

  private key(): string | null {
    const from = this.at;
    const first = this.peek();
    if (first !== Byte.Star && !isLower(first)) return null;
    while (isIn(KEY, this.peek())) this.at++;
    return this.text.slice(from, this.at);
  }

  private bareItem(): BareItem | null {
    const first = this.peek();
    switch (first) {
      case Byte.Quote:
        return this.string();
      case Byte.Colon:
        return this.bytes();
      case Byte.Question:
        return this.boolean();
      case Byte.At:
        return this.date();
      case Byte.Percent:
        return this.displayString();
      default:
        if (first === Byte.Dash || isDigit(first)) return this.number();
        return first === Byte.Star || isLetter(first) ? this.token() : null;
    }
  }

  /** RFC 9651 §4.2.4: fifteen digits at most, twelve before a point and one to three after it. */
  private number(): BareItem | null {
    const from = this.at;
    this.take(Byte.Dash);
    const whole = this.digits();
    const isDecimal = this.take(Byte.Dot);
    const fraction = isDecimal ? this.digits() : 0;
    const isGood = isDecimal
      ? whole <= MAX_WHOLE_DIGITS && fraction > 0 && fraction <= MAX_FRACTION_DIGITS
      : whole <= MAX_DIGITS;
    if (whole === 0 || !isGood) return null;
    return { kind: isDecimal ? "decimal" : "integer", value: Number(this.text.slice(from, this.at)) };
  }

  /** Goes past digits. @returns how many there were */
  private digits(): number {
    const from = this.at;
    while (isDigit(this.peek())) this.at++;
    return this.at - from;
  }

  private date(): BareItem | null {
    this.at++;
    const number = this.number();
    return number?.kind === "integer" ? { kind: "date", value: number.value } : null;
  }

  private string(): BareItem | null {
    const parts: string[] = [];
    let from = ++this.at;
    for (;;) {
      const char = this.peek();
      if (char === Byte.Quote) break;
      if (!isPrintable(char)) return null;
      if (char === Byte.Backslash) {
        parts.push(this.text.slice(from, this.at));
        from = ++this.at;
        if (this.peek() !== Byte.Quote && this.peek() !== Byte.Backslash) return null;
      }
      this.at++;
    }
    parts.push(this.text.slice(from, this.at++));
    return { kind: "string", value: parts.join("") };
  }

  private token(): BareItem {
    const from = this.at;
    while (isIn(IN_TOKEN, this.peek())) this.at++;
    return { kind: "token", value: this.text.slice(from, this.at) };
  }

  private boolean(): BareItem | null {
    this.at++;
    if (this.take(ONE)) return TRUE;
    return this.take(Byte.Zero) ? FALSE : null;
  }

  /** RFC 9651 §4.2.7. Padding may be left out, and stands nowhere but at the end. */
  private bytes(): BareItem | null {
    const from = ++this.at;
    while (isIn(IN_BASE64, this.peek())) this.at++;
    const digits = this.at - from;
    const to = this.at;
    while (this.at < to + 2 && this.take(Byte.Equals));
    const padding = this.at - to;
    if (!this.take(Byte.Colon) || digits % 4 === 1 || (padding > 0 && (digits + padding) % 4 !== 0)) return null;
    return { kind: "bytes", value: Buffer.from(this.text.slice(from, to), "base64") };
  }

  /** RFC 9651 §4.2.10: UTF-8 with what is not printable ASCII, and percent signs, as two hexadecimal digits in lower case. */
  private displayString(): BareItem | null {
    this.at++;
    if (!this.take(Byte.Quote)) return null;
    const bytes: number[] = [];
    for (; this.peek() !== Byte.Quote; this.at++) {
      let char = this.peek();
      if (!isPrintable(char)) return null;
      if (char === Byte.Percent) {
        const high = hexValue(this.text.charCodeAt(this.at + 1));
        const low = hexValue(this.text.charCodeAt(this.at + 2));
        if (high < 0 || low < 0) return null;
        char = high * 16 + low;
        this.at += 2;
      }
      bytes.push(char);
    }
    this.at++;
    const value = utf8(bytes);
    return value === null ? null : { kind: "display", value };
  }

  /** The character that comes next; -1 at the end. */
  private peek(): number {
    return this.at < this.end ? this.text.charCodeAt(this.at) : -1;
  }

  private take(char: number): boolean {
    if (this.peek() !== char) return false;
    this.at++;
    return true;
  }

  private skipSpaces(): void {
    while (this.peek() === Byte.Space) this.at++;
  }

  private skipBlanks(): void {
    while (this.peek() === Byte.Space || this.peek() === Byte.Tab) this.at++;
  }
}

/** Null if the bytes are no UTF-8. */
function utf8(bytes: readonly number[]): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

function isIn(table: Uint8Array, char: number): boolean {
  return char >= 0 && char < table.length && table[char] === 1;
}

function isDigit(char: number): boolean {
  return char >= Byte.Zero && char <= Byte.Nine;
}

function isLower(char: number): boolean {
  return char >= Byte.LowerA && char <= Byte.LowerZ;
}

function isLetter(char: number): boolean {
  return char >= 0 && char < LOWER.length && isLower(LOWER[char]!);
}

/** Whether a string may hold it. */
function isPrintable(char: number): boolean {
  return char >= Byte.Space && char < Byte.Del;
}

/** Of a digit in lower case; -1 for what is none. */
function hexValue(char: number): number {
  if (isDigit(char)) return char - Byte.Zero;
  return char >= Byte.LowerA && char <= Byte.LowerF ? char - Byte.LowerA + 10 : -1;
}

const TRUE: BareItem = { kind: "boolean", value: true };
const FALSE: BareItem = { kind: "boolean", value: false };
const NO_PARAMETERS: Parameters = new Map();
const KEY: Uint8Array = classOf("a-z0-9_-.*");
const IN_BASE64: Uint8Array = classOf("a-zA-Z0-9+/");
const IN_TOKEN: Uint8Array = TOKEN.slice();
for (const char of ":/") IN_TOKEN[char.charCodeAt(0)] = 1;
const MAX_DIGITS = 15;
const MAX_WHOLE_DIGITS = 12;
const MAX_FRACTION_DIGITS = 3;
/** The digit of true. */
const ONE = 0x31;
