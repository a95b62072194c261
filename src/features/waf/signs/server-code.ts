import { Byte } from "../../../core/ascii.ts";
import { Place, type ValueReading } from "../match/value-reading.ts";
import { Sign } from "../rules/sign.ts";
import { CODE_WORDS, CodeWord, GADGETS, TYPE_NAMES } from "./code-words.ts";
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
  /** Offset behind the last attribute of the kind __class__; 0 where there is none. */
  private dunderTo = 0;

  /** Looks at every word and every bracket that begins an expression. */
  analyse(value: ValueReading, listener: SignListener): void {
    const { bytes, length } = value;
    this.bytes = bytes;
    this.length = length;
    this.value = value;
    this.listener = listener;
    this.isExpression = false;
    this.isPhp = false;
    this.dunderTo = 0;
    this.judgeStart();
    for (let at = 0; at < length; ) {
      if (isWordByte(bytes[at]!)) {
        const from = at;
        while (isWordByte(bytes[at]!)) at++;
        const word = CODE_WORDS.valueOf(bytes, from, at);
        if (word !== 0) this.judgeWord(word, from, at);
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
        } else if (next === Byte.Percent && !isWordByte(bytes[at + 2]!)) this.openExpression(at + 2);
        else if (this.isInclude(at)) this.report(Sign.ScriptCode, at);
        break;
      case DOLLAR:
      case Byte.Hash:
      case Byte.Percent:
      case Byte.Star:
      case Byte.At:
        if (next === OPEN_BRACE) {
          this.openExpression(at + 2);
          if (bytes[at] === DOLLAR && this.isPhpExpression(at)) this.report(Sign.PhpCode, at);
        }
        break;
      case OPEN_BRACE:
        if (next === OPEN_BRACE || next === Byte.Percent) this.openExpression(at + 2);
        break;
    }
  }

  /** {${sleep(20)}}, ${@print(1)}: calls within a text of PHP. */
  private isPhpExpression(at: number): boolean {
    const { bytes } = this;
    const from = bytes[at + 2] === Byte.At ? at + 3 : at + 2;
    if (from === at + 2 && bytes[at - 1] !== OPEN_BRACE) return false;
    let to = from;
    while (isWordByte(bytes[to]!)) to++;
    // In JavaScript names stand in the brackets.
    return to > from && bytes[to] === OPEN && (from > at + 2 || !isLetter(bytes[to + 1]!));
  }

  /** <!--#exec cmd="…"-->: a server that includes files runs it. */
  private isInclude(at: number): boolean {
    const { bytes } = this;
    const isOpen = bytes[at + 1] === BANG && bytes[at + 2] === Byte.Dash && bytes[at + 3] === Byte.Dash;
    return isOpen && bytes[at + 4] === Byte.Hash && isWordByte(bytes[at + 5]!);
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
    const next = this.skipBlanks(to);
    const isCall = bytes[next] === OPEN;
    const isIn = this.isExpression;
    switch (word) {
      case CodeWord.Php:
        return this.reportIf(isCall && this.isPhpCall(from, next + 1), Sign.PhpCode, from);
      case CodeWord.PhpFile:
        return this.reportIf(isCall && this.isSuperglobal(next + 1), Sign.PhpCode, from);
      case CodeWord.PhpSetting:
        return this.reportIf(bytes[next] === Byte.Equals, Sign.PhpCode, from);
      case CodeWord.Java:
        return this.reportIf(isIn, Sign.JavaCode, from);
      case CodeWord.Ognl:
        return this.reportIf(true, Sign.JavaCode, from);
      case CodeWord.ClassLoader:
        return this.reportIf(isIn || (bytes[from - 1] === Byte.Dot && this.value!.isName), Sign.JavaCode, from);
      case CodeWord.Package:
        return this.reportIf(this.isClassReference(from) || this.isGadget(from), Sign.JavaCode, from);
      case CodeWord.Import:
        return this.reportIf(isCall, Sign.ScriptCode, from);
      case CodeWord.Dunder:
        return this.judgeDunder(from, to);
      case CodeWord.Template:
        return this.reportIf(isIn, Sign.ScriptCode, from);
      case CodeWord.System:
        return this.reportIf(isIn && isCall, Sign.ScriptCode, from);
      case CodeWord.Require:
        return this.reportIf(isCall && this.isModule(next + 1), Sign.ScriptCode, from);
      case CodeWord.Main:
        return this.reportIf(bytes[from - 1] === Byte.Dot, Sign.ScriptCode, from);
      case CodeWord.Prototype:
        return this.reportIf(this.isPollution(from, to), Sign.PrototypePollution, from);
    }
  }

  /** __class__.__mro__: one behind the other, or one within an expression. */
  private judgeDunder(from: number, to: number): void {
    const before = this.bytes[from - 1];
    if (before !== Byte.Dot && before !== APOSTROPHE && before !== Byte.Quote) return;
    const isChain = this.dunderTo > 0 && from - this.dunderTo < MAX_BLANKS;
    this.dunderTo = to;
    this.reportIf(isChain || this.isExpression, Sign.ScriptCode, from);
  }

  /** A call of a function that runs programs: in PHP, with a superglobal, or where no formatted program has it. */
  private isPhpCall(from: number, inside: number): boolean {
    const { bytes } = this;
    if (this.isPhp || this.isSuperglobal(inside)) return true;
    const first = bytes[this.skipBlanks(inside)]!;
    const isArgument = isQuote(first) || first === DOLLAR || first === CLOSE || (isDigit(first) && from > 0);
    return isArgument && (this.isExpression || this.isDirect(from));
  }

  /** $_GET[…] and the like: what the client sent. */
  private isSuperglobal(inside: number): boolean {
    const at = this.skipBlanks(inside);
    return this.bytes[at] === DOLLAR && this.bytes[at + 1] === Byte.Underscore;
  }

  /** Whether a call is all of the value, or stands right behind an operator. */
  private isDirect(from: number): boolean {
    const { bytes } = this;
    if (from === 0) return ENDS.includes(bytes[this.length - 1]!);
    const before = bytes[from - 1]!;
    if (before === Byte.Dot) return isQuote(bytes[from - 2] ?? 0);
    return DIRECT.includes(before) || this.isFirst(from);
  }

  /** Whether nothing but operators stands before a call, as in "|| system('x')". */
  private isFirst(from: number): boolean {
    let at = from - 1;
    while (at >= 0 && at > from - MAX_BLANKS && (this.bytes[at] === Byte.Space || DIRECT.includes(this.bytes[at]!)))
      at--;
    return at < 0 && DIRECT.includes(this.bytes[0]!);
  }

  /** T(java.lang.Runtime), @java.lang.Runtime@ */
  private isClassReference(from: number): boolean {
    const { bytes } = this;
    const before = bytes[from - 1];
    return before === OPEN
      ? bytes[from - 2] === LOWER_T && !isWordByte(bytes[from - 3] ?? 0)
      : before === Byte.At && this.isExpression;
  }

  /** "@type": "com.sun.…": a class that unpacks into an attack. */
  private isGadget(from: number): boolean {
    const { bytes } = this;
    if (!this.isTyped(from)) return false;
    for (let to = from; to < from + MAX_GADGET && (isWordByte(bytes[to]!) || bytes[to] === Byte.Dot); to++) {
      const isEnd = !isWordByte(bytes[to + 1]!);
      if (isEnd && GADGETS.valueOf(bytes, from, to + 1) !== 0) return true;
    }
    return false;
  }

  /** Whether the place says that a class is named there: !!javax.…, "@type":"com.…, a member called @type. */
  private isTyped(from: number): boolean {
    const { bytes } = this;
    const value = this.value!;
    if (from === 0)
      return value.place === Place.Body && TYPE_NAMES.valueOf(value.name, value.lastNameFrom, value.nameLength) !== 0;
    if (bytes[from - 1] === BANG) return true;
    let at = from - 1;
    while (
      at > 0 &&
      at > from - MAX_BLANKS &&
      (isQuote(bytes[at]!) || bytes[at] === Byte.Colon || bytes[at] === Byte.Space)
    )
      at--;
    return at >= 4 && TYPE_NAMES.valueOf(bytes, at - 4, at + 1) !== 0;
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
    if (bytes[0] === OPEN && bytes[1] === CLOSE && bytes[this.skipBlanks(2)] === OPEN_BRACE)
      this.report(Sign.Shellshock, 0);
    let to = 0;
    while (to < MAX_MAGIC && (isWordByte(bytes[to]!) || bytes[to] === Byte.Slash || bytes[to] === DOLLAR)) to++;
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
      if (end > first && bytes[end] === Byte.Colon && bytes[end + 1] === Byte.Quote)
        this.report(Sign.SerializedObject, at);
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

  private reportIf(isFound: boolean, sign: Sign, at: number): void {
    if (isFound) this.listener!.found(sign, at);
  }
}

function isQuote(byte: number): boolean {
  return byte === Byte.Quote || byte === APOSTROPHE;
}

function isDigit(byte: number): boolean {
  return byte >= Byte.Zero && byte <= Byte.Nine;
}

function isLetter(byte: number): boolean {
  return byte >= Byte.LowerA && byte <= LOWER_Z;
}

function isWordByte(byte: number): boolean {
  return (byte >= Byte.LowerA && byte <= LOWER_Z) || isDigit(byte) || byte === Byte.Underscore;
}

/** What a call is glued to: ( ; @ { | & - ! ` + , */
const DIRECT: readonly number[] = [0x28, 0x3b, 0x40, 0x7b, 0x7c, 0x26, 0x2d, 0x21, 0x60, 0x2b, 0x2c];
/** What a value that is one call ends in: ) ; # / } and quotes. */
const ENDS: readonly number[] = [0x29, 0x3b, 0x23, 0x2f, 0x7d, 0x22, 0x27];
const MAX_DIGITS = 8;
const MAX_BLANKS = 8;
const MAX_GADGET = 64;
const MIN_MAGIC = 5;
const MAX_MAGIC = 16;
const BANG = 0x21;
const DOLLAR = 0x24;
const APOSTROPHE = 0x27;
const OPEN = 0x28;
const CLOSE = 0x29;
const PLUS = 0x2b;
const LESS = 0x3c;
const LOWER_O = 0x6f;
const LOWER_P = 0x70;
const LOWER_T = 0x74;
const LOWER_Z = 0x7a;
const OPEN_BRACE = 0x7b;
