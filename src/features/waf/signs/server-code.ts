import { Byte } from "../../../core/ascii.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { Sign } from "../rules/sign.ts";
import { CODE_WORDS, CodeWord, GADGETS } from "./code-words.ts";
import type { SignListener } from "./sign-listener.ts";

/** Finds programs for a server: PHP, Java expressions, Python, Ruby, Node, templates. One pass over the words. */
export class ServerCode {
  private bytes: Uint8Array = new Uint8Array(0);
  private length = 0;
  private value: ValueReading | null = null;
  private listener: SignListener | null = null;
  /** Whether an expression of a template language has begun: ${ #{ %{ *{ {{ {% <% T( */
  private isExpression = false;
  private isPhp = false;
  private dunders = 0;

  /** Looks at every word and every bracket that begins an expression. */
  analyse(value: ValueReading, listener: SignListener): void {
    const { bytes, length } = value;
    this.bytes = bytes;
    this.length = length;
    this.value = value;
    this.listener = listener;
    this.isExpression = false;
    this.isPhp = false;
    this.dunders = 0;
    this.judgeStart();
    for (let at = 0; at < length; ) {
      if (isWordByte(bytes[at]!)) {
        const from = at;
        while (isWordByte(bytes[at]!)) at++;
        const word = CODE_WORDS.valueOf(bytes, from, at);
        if (word !== 0) this.judgeWord(word, from, at);
        else if (isDunder(bytes, from, at)) this.judgeDunder(from, at);
        continue;
      }
      this.judgeMark(at);
      at++;
    }
  }

  private judgeMark(at: number): void {
    const { bytes } = this;
    const next = bytes[at + 1]!;
    switch (bytes[at]) {
      case LESS:
        if (next === Byte.Question && (bytes[at + 2] === LOWER_P || bytes[at + 2] === Byte.Equals)) {
          this.isPhp = true;
          this.report(Sign.PhpTag, at);
        } else if (next === Byte.Percent) this.openExpression(at + 2);
        break;
      case DOLLAR:
      case Byte.Hash:
      case Byte.Percent:
      case Byte.Star:
      case Byte.At:
        if (next === OPEN_BRACE) this.openExpression(at + 2);
        break;
      case OPEN_BRACE:
        if (next === OPEN_BRACE || next === Byte.Percent) this.openExpression(at + 2);
        break;
    }
  }

  /** {{7*7}}, ${7*7}, <%= 7*7 %>: the first thing that is tried of a template. */
  private openExpression(from: number): void {
    const { bytes } = this;
    this.isExpression = true;
    let at = from;
    while (bytes[at] === Byte.Space || bytes[at] === Byte.Equals || bytes[at] === OPEN || isQuote(bytes[at]!)) at++;
    const first = at;
    while (isDigit(bytes[at]!)) at++;
    if (at === first || at - first > MAX_DIGITS) return;
    while (bytes[at] === Byte.Space) at++;
    if (bytes[at] !== Byte.Star && bytes[at] !== PLUS && bytes[at] !== Byte.Dash) return;
    at++;
    while (bytes[at] === Byte.Space || isQuote(bytes[at]!)) at++;
    if (isDigit(bytes[at]!)) this.report(Sign.ScriptCode, from);
  }

  private judgeWord(word: CodeWord, from: number, to: number): void {
    const { bytes } = this;
    const isCall = bytes[this.skipBlanks(to)] === OPEN;
    switch (word) {
      case CodeWord.Php:
        if (isCall && this.isPhpCall(from, to)) this.report(Sign.PhpCode, from);
        break;
      case CodeWord.PhpSetting:
        if (bytes[this.skipBlanks(to)] === Byte.Equals || this.value!.isName) this.report(Sign.PhpCode, from);
        break;
      case CodeWord.Java:
        if (this.isExpression) this.report(Sign.JavaCode, from);
        break;
      case CodeWord.JavaAlways:
        this.report(Sign.JavaCode, from);
        break;
      case CodeWord.ClassLoader:
        if (bytes[from - 1] === Byte.Dot && this.value!.isName) this.report(Sign.JavaCode, from);
        break;
      case CodeWord.Gadget:
        if (this.isGadget(from)) this.report(Sign.JavaCode, from);
        break;
      case CodeWord.Import:
        if (isCall) this.report(Sign.ScriptCode, from);
        break;
      case CodeWord.Template:
        if (this.isExpression && (bytes[to] === Byte.Dot || bytes[to] === Byte.LeftBracket || bytes[to] === CLOSE_BRACE))
          this.report(Sign.ScriptCode, from);
        break;
      case CodeWord.System:
        if (this.isExpression || this.isDirect(from)) this.report(Sign.ScriptCode, from);
        break;
      case CodeWord.Require:
        if (isCall && this.isModule(this.skipBlanks(to) + 1)) this.report(Sign.ScriptCode, from);
        break;
      case CodeWord.Main:
        if (bytes[from - 1] === Byte.Dot) this.report(Sign.ScriptCode, from);
        break;
      case CodeWord.Prototype:
        if (this.isPollution(from, to)) this.report(Sign.PrototypePollution, from);
        break;
    }
  }

  /** __class__.__mro__: two of a chain, or one within an expression. Programs say __class__.__name__ all day. */
  private judgeDunder(from: number, to: number): void {
    const { bytes } = this;
    const before = bytes[from - 1]!;
    if (before !== Byte.Dot && before !== Byte.LeftBracket && !isQuote(before)) return;
    const isName = bytes[from + 2] === LOWER_N || bytes[from + 2] === LOWER_D;
    if (!isName) this.dunders++;
    if (this.dunders > 1 || (this.isExpression && !isName) || bytes[to] === Byte.LeftBracket) this.report(Sign.ScriptCode, from);
  }

  /** A call of one of PHP's dangerous functions in PHP, with a superglobal, at the start, or glued to an operator. */
  private isPhpCall(from: number, to: number): boolean {
    const { bytes } = this;
    const inside = this.skipBlanks(this.skipBlanks(to) + 1);
    const isSuperglobal = bytes[inside] === DOLLAR && bytes[inside + 1] === Byte.Underscore;
    if (this.isPhp || isSuperglobal) return true;
    const isArgument = isQuote(bytes[inside]!) || bytes[inside] === DOLLAR || bytes[inside] === CLOSE || isDigit(bytes[inside]!);
    return isArgument && this.isDirect(from);
  }

  /** Whether a call begins the value, or stands right behind an operator as no formatted program has it. */
  private isDirect(from: number): boolean {
    if (from === 0) return true;
    const before = this.bytes[from - 1]!;
    if (isQuote(before)) return false;
    return DIRECT.includes(before);
  }

  /** "@type": "com.sun.…": a class that unpacks into an attack. */
  private isGadget(from: number): boolean {
    const { bytes } = this;
    let to = from;
    while (to < this.length && (isWordByte(bytes[to]!) || bytes[to] === Byte.Dot || bytes[to] === DOLLAR)) {
      to++;
      if (bytes[to] === Byte.Dot && to - from > 3 && GADGETS.valueOf(bytes, from, to) !== 0) return true;
      if (to - from > MAX_GADGET) return false;
    }
    return false;
  }

  private isModule(at: number): boolean {
    const { bytes } = this;
    const from = isQuote(bytes[at]!) ? at + 1 : at;
    let to = from;
    while (isWordByte(bytes[to]!)) to++;
    if (CODE_WORDS.valueOf(bytes, from, to) !== CodeWord.Main) return false;
    // A program keeps the module under a name first.
    while (isQuote(bytes[to]!) || bytes[to] === CLOSE) to++;
    return bytes[to] === Byte.Dot;
  }

  /** __proto__ as a name, or within a JSON text; constructor[prototype]. */
  private isPollution(from: number, to: number): boolean {
    const { bytes } = this;
    const value = this.value!;
    const isProto = bytes[from] === Byte.Underscore;
    if (value.isName) return isProto || bytes[from - 1] === Byte.LeftBracket || bytes[from - 1] === Byte.Dot;
    return isProto && isQuote(bytes[from - 1]!) && isQuote(bytes[to]!) && bytes[this.skipBlanks(to + 1)] === Byte.Colon;
  }

  /** What is only told from the start of a value: () { of a shell, objects of PHP, Java, .NET and Node. */
  private judgeStart(): void {
    const { bytes } = this;
    if (bytes[0] === OPEN && bytes[1] === CLOSE && bytes[this.skipBlanks(2)] === OPEN_BRACE) this.report(Sign.Shellshock, 0);
    let to = 0;
    while (to < MAX_MAGIC && (isWordByte(bytes[to]!) || bytes[to] === Byte.Slash)) to++;
    for (let length = MIN_MAGIC; length <= to; length++) {
      if (CODE_WORDS.valueOf(bytes, 0, length) === CodeWord.Magic) this.report(Sign.SerializedObject, 0);
    }
    this.judgePhpObject();
  }

  /** O:8:"Name":1:{ */
  private judgePhpObject(): void {
    const { bytes, length } = this;
    for (let at = 0; at < length; at++) {
      if (bytes[at] !== LOWER_O || bytes[at + 1] !== Byte.Colon || (at > 0 && isWordByte(bytes[at - 1]!))) continue;
      let end = at + 2;
      if (bytes[end] === PLUS) end++;
      const first = end;
      while (isDigit(bytes[end]!)) end++;
      if (end > first && bytes[end] === Byte.Colon && bytes[end + 1] === Byte.Quote) this.report(Sign.SerializedObject, at);
      at = end - 1;
    }
  }

  private skipBlanks(from: number): number {
    let at = from;
    while (at < from + MAX_BLANKS && this.bytes[at] === Byte.Space) at++;
    return at;
  }

  private report(sign: Sign, at: number): void {
    this.listener!.found(sign, at);
  }
}

/** __name__ */
function isDunder(bytes: Uint8Array, from: number, to: number): boolean {
  const isLong = to - from > 6;
  return (
    isLong &&
    bytes[from] === Byte.Underscore &&
    bytes[from + 1] === Byte.Underscore &&
    bytes[to - 1] === Byte.Underscore &&
    bytes[to - 2] === Byte.Underscore
  );
}

function isQuote(byte: number): boolean {
  return byte === Byte.Quote || byte === APOSTROPHE;
}

function isDigit(byte: number): boolean {
  return byte >= Byte.Zero && byte <= Byte.Nine;
}

function isWordByte(byte: number): boolean {
  return (byte >= Byte.LowerA && byte <= LOWER_Z) || isDigit(byte) || byte === Byte.Underscore;
}

/** ( . ; @ { | & - ! ` + , and the control bytes that end a line. */
const DIRECT: readonly number[] = [0x28, 0x2e, 0x3b, 0x40, 0x7b, 0x7c, 0x26, 0x2d, 0x21, 0x60, 0x2b, 0x2c, 0x0a];
const MAX_DIGITS = 8;
const MAX_BLANKS = 8;
const MAX_GADGET = 64;
const MIN_MAGIC = 5;
const MAX_MAGIC = 16;
const DOLLAR = 0x24;
const APOSTROPHE = 0x27;
const OPEN = 0x28;
const CLOSE = 0x29;
const PLUS = 0x2b;
const LESS = 0x3c;
const LOWER_D = 0x64;
const LOWER_N = 0x6e;
const LOWER_O = 0x6f;
const LOWER_P = 0x70;
const LOWER_Z = 0x7a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
