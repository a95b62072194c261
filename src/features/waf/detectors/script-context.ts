import { Byte, EMPTY_BYTES, indexOfByte, isDigit } from "../../../core/bytes.ts";
import { isQuote, isScriptNameByte } from "../match/scan.ts";
import type { StepBudget } from "../match/step-budget.ts";
import type { ValueReading } from "../match/value-reading.ts";
import {
  ANY_TEXT,
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  type DetectorGroup,
  each,
  type WafRule,
  words,
} from "../rule.ts";
import { EVENT_HANDLER, MARKUP_RULES, MarkupScan, SCRIPT_URL } from "./markup-scan.ts";
import { isAddress, isCalledTwice, isComputedCall, isQuotedCall, isSumOfNames, isWrappedCall } from "./script-text.ts";
import {
  BEFORE_URL,
  DATA,
  DOCUMENTS,
  isHandlerName,
  OPENERS,
  SCHEMES,
  SCRIPT,
  SCRIPT_FUNCTIONS,
  SCRIPT_OBJECTS,
  ScriptWord,
  SECRETS,
  VOID,
  WORDS,
} from "./script-words.ts";

const SCRIPT_BREAKOUT: WafRule = {
  id: "XSS-006",
  crs: [941390, 941370],
  category: "xss",
  score: CRITICAL_SCORE,
  description: "script after a quote or bracket that closes one of the page's",
  keywords: [
    ...SCRIPT_FUNCTIONS.flatMap((names) => each(names, (name) => [`${name}(`, `${name}\``, `${name} (`])),
    ...each(SCRIPT_OBJECTS[0], (name) => [`${name}.`, `${name}=`, `${name}[`]),
    ...each(SCRIPT_OBJECTS[1], (name) => `${name}[`),
  ],
};
const SCRIPT_SINK: WafRule = {
  id: "XSS-007",
  crs: [941390, 941180, 941370],
  category: "xss",
  score: CRITICAL_SCORE,
  description: "script that exfiltrates data, is obfuscated, or probes for execution",
  keywords: words("[][ (alert)( (prompt)( (confirm)( fromcharcode( fromcodepoint("),
};
const TEMPLATE_SCRIPT: WafRule = {
  id: "XSS-008",
  crs: [941380],
  category: "xss",
  score: CRITICAL_SCORE,
  description: "client-side template expression that escapes its sandbox",
  keywords: ["constructor", "$eval"],
};

/** Programs for browsers: in markup, and without a tag. */
export const SCRIPT_GROUP: DetectorGroup = {
  rules: [...MARKUP_RULES, SCRIPT_BREAKOUT, SCRIPT_SINK, TEMPLATE_SCRIPT],
  locations: ANY_TEXT,
  keywords: () => [],
  detectors: () => [new MarkupScan(), new ScriptContext()],
};

/**
 * Finds programs for a browser that come without a tag: after a quote that closes one of the page's own, in an
 * attribute that a quote opened, as a URL, in a template. One pass over the words of the value.
 */
class ScriptContext implements Detector {
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private listener: DetectionListener | null = null;
  /** The last quote that may have closed one of the page's: the first, third, … of its kind; -1 before there is one. */
  private breakAt = -1;
  /** The last of those that white space, a slash or a tag's end follows. */
  private attributeBreakAt = -1;
  /** How far templates have been read. */
  private templatesTo = 0;

  /** Looks at every word of the value. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    this.bytes = value.bytes;
    this.length = value.length;
    this.listener = listener;
    this.breakAt = -1;
    this.attributeBreakAt = -1;
    this.templatesTo = 0;
    this.judgeUrl();
    this.readWords(value.steps);
  }

  private readWords(steps: StepBudget): void {
    const { bytes, length } = this;
    let single = 0;
    let double = 0;
    for (let at = 0; at < length; ) {
      const byte = bytes[at]!;
      if (isScriptNameByte(byte)) {
        const from = at;
        while (isScriptNameByte(bytes[at]!)) at++;
        if (this.judgeWord(from, at) && !steps.take(STEPS)) return;
        continue;
      }
      if (byte === Byte.Apostrophe && (++single & 1) === 1) this.noteBreak(at);
      else if (byte === Byte.Quote && (++double & 1) === 1) this.noteBreak(at);
      else if (byte === Byte.OpenBrace && bytes[at + 1] === Byte.OpenBrace) {
        this.judgeTemplate(at);
        if (!steps.take(STEPS)) return;
      } else if (byte === Byte.LeftBracket && bytes[at + 1] === Byte.RightBracket) this.judgeBrackets(at);
      at++;
    }
  }

  private noteBreak(at: number): void {
    this.breakAt = at;
    const next = this.bytes[at + 1]!;
    if (next <= Byte.Space || next === Byte.Slash || next === Byte.Greater) this.attributeBreakAt = at;
  }

  /** @returns whether the word was one to look around */
  private judgeWord(from: number, to: number): boolean {
    const { bytes } = this;
    const word = WORDS.valueOf(bytes, from, to);
    switch (word) {
      case ScriptWord.Sink:
      case ScriptWord.Evaluator:
      case ScriptWord.Box:
        if (word === ScriptWord.Box && isWrappedCall(bytes, from, to)) this.report(SCRIPT_SINK, from);
        else this.judgeCall(word, from, this.skipInvisible(to));
        break;
      case ScriptWord.Object:
      case ScriptWord.Frame:
        this.judgeObject(word, from, to);
        break;
      case ScriptWord.Maker:
        // x.constructor.constructor('…')()
        if (bytes[to] === Byte.OpenParen && bytes[from - 1] === Byte.Dot && this.isMaker(from - 1)) {
          this.report(TEMPLATE_SCRIPT, from);
        } else if (isQuotedCall(bytes, from, to)) this.report(TEMPLATE_SCRIPT, from);
        break;
      case ScriptWord.Codes:
        if (bytes[to] === Byte.OpenParen && this.countNumbers(to + 1) >= MIN_CODES) this.report(SCRIPT_SINK, from);
        break;
      case ScriptWord.Scheme:
        // A link of Markdown, or an attribute without its tag.
        if (bytes[to] === Byte.Colon && BEFORE_URL.includes(bytes[from - 1]!) && this.isProgram(to + 1)) {
          this.report(SCRIPT_URL, from);
        }
        break;
      case 0:
        if (!isHandlerName(bytes, from, to)) return false;
        this.judgeHandler(from, to);
        break;
    }
    return true;
  }

  /** alert(1), eval`…`: an attack after a break, or when its argument is one. */
  private judgeCall(word: ScriptWord, from: number, open: number): void {
    const { bytes } = this;
    if (bytes[open] !== Byte.OpenParen && bytes[open] !== Byte.Backtick) return;
    if (this.isBehindBreak(from)) {
      this.report(SCRIPT_BREAKOUT, from);
      return;
    }
    const inside = this.skipInvisible(open + 1);
    let end = inside;
    while (isScriptNameByte(bytes[end]!)) end++;
    const argument = WORDS.valueOf(bytes, inside, end);
    const next = bytes[end]!;
    const isStolen = argument === ScriptWord.Object && next === Byte.Dot && this.isSecret(end + 1);
    const isDecoded =
      word === ScriptWord.Evaluator &&
      (argument === ScriptWord.Decoder || argument === ScriptWord.Object) &&
      (next === Byte.OpenParen || next === Byte.Dot);
    // alert(1) and no more: no other client sends that.
    const isProbe =
      word === ScriptWord.Box && this.isFirst(from) && this.isProbeArgument(inside) && this.isProbe(inside);
    const isTwice = word === ScriptWord.Evaluator && from === 0 && isCalledTwice(bytes, open, this.length);
    if (isTwice || (word === ScriptWord.Evaluator && from === 0 && isSumOfNames(bytes, inside, this.length)))
      this.report(SCRIPT_SINK, from);
    if (isStolen || isDecoded || isProbe) this.report(SCRIPT_SINK, from);
  }

  /** Whether a short value ends with the call whose argument begins at `from`, and no words come: "alert(1) meaning". */
  private isProbe(from: number): boolean {
    if (this.length > MAX_PROBE_BYTES) return false;
    for (let at = indexOfByte(this.bytes, Byte.CloseParen, from, this.length); at < this.length; at++) {
      if (this.bytes[at] === Byte.Space && isScriptNameByte(this.bytes[at + 1]!)) return false;
    }
    return true;
  }

  /** A digit, a quote, or nothing at all; a quote may have been escaped on its way. */
  private isProbeArgument(at: number): boolean {
    const byte = this.bytes[at]!;
    if (byte === Byte.Backslash) return isQuote(this.bytes[at + 1]!);
    return isDigit(byte) || isQuote(byte) || byte === Byte.CloseParen || byte === Byte.Slash;
  }

  /** Whether nothing precedes the word at `from`, but for the window: top.alert(1). */
  private isFirst(from: number): boolean {
    if (from === 0) return true;
    if (this.bytes[from - 1] !== Byte.Dot) return false;
    const word = WORDS.valueOf(this.bytes, 0, from - 1);
    return word === ScriptWord.Frame || word === ScriptWord.Object;
  }

  /** document.cookie, location=…, window['…']: where a program just began, or glued to a string. */
  private judgeObject(word: ScriptWord, from: number, to: number): void {
    const { bytes } = this;
    const next = bytes[to]!;
    const isUsed =
      next === Byte.LeftBracket || (word === ScriptWord.Object && (next === Byte.Dot || next === Byte.Equals));
    if (!isUsed) return;
    if (from === 0 && isComputedCall(bytes, to)) this.report(SCRIPT_SINK, from);
    if (this.isFirst(from) && next === Byte.Equals && isAddress(bytes, to + 1)) this.report(SCRIPT_SINK, from);
    if (this.isBehindBreak(from)) this.report(SCRIPT_BREAKOUT, from);
    else if (next === Byte.Dot && bytes[from - 1] === Byte.Plus && this.isSecret(to + 1))
      this.report(SCRIPT_SINK, from);
  }

  private isSecret(from: number): boolean {
    let end = from;
    while (isScriptNameByte(this.bytes[end]!)) end++;
    return SECRETS.valueOf(this.bytes, from, end) !== 0;
  }

  /** onerror=… outside a tag: after a quote that ended an attribute, or with a call that gives it away. */
  private judgeHandler(from: number, to: number): void {
    const { bytes } = this;
    const before = from === 0 ? Byte.Space : bytes[from - 1]!;
    const isAttribute =
      before <= Byte.Space || before === Byte.Slash || before === Byte.Quote || before === Byte.Apostrophe;
    const equals = this.skipInvisible(to);
    if (!isAttribute || bytes[equals] !== Byte.Equals) return;
    if (this.attributeBreakAt >= 0 || (from > 0 && this.breakAt === from - 1)) this.report(EVENT_HANDLER, from);
    else if (this.hasCall(equals + 1) || this.isCallback(equals + 1)) this.report(EVENT_HANDLER, from);
  }

  /** onerror=alert;throw 1 */
  private isCallback(from: number): boolean {
    let to = from;
    while (isScriptNameByte(this.bytes[to]!)) to++;
    return this.bytes[to] === Byte.Semicolon && WORDS.valueOf(this.bytes, from, to) === ScriptWord.Box;
  }

  /** Whether a call of one of the sinks begins within the next bytes. */
  private hasCall(from: number): boolean {
    const { bytes } = this;
    const limit = Math.min(this.length, from + MAX_HANDLER_BYTES);
    for (let at = from; at < limit; ) {
      if (!isScriptNameByte(bytes[at]!)) {
        at++;
        continue;
      }
      const start = at;
      while (at < limit && isScriptNameByte(bytes[at]!)) at++;
      const isComment = bytes[at] === Byte.Slash && bytes[at + 1] === Byte.Star;
      const isCall = isComment || bytes[at] === Byte.OpenParen || bytes[at] === Byte.Backtick;
      if (isCall && isCallee(WORDS.valueOf(bytes, start, at))) return true;
    }
    return false;
  }

  /**
   * Whether nothing but operators is between a quote that closed one of the page's and the word at `from`; names
   * in front of it as in window.alert do not matter. At the start of a value an operator alone will do.
   */
  private isBehindBreak(from: number): boolean {
    const { bytes } = this;
    let at = from;
    for (let names = 0; names < MAX_NAMES && bytes[at - 1] === Byte.Dot; names++) {
      at--;
      while (at > 0 && isScriptNameByte(bytes[at - 1]!)) at--;
    }
    const limit = Math.max(0, at - MAX_OPERATORS);
    let before = at - 1;
    while (before >= limit && !isScriptNameByte(bytes[before]!) && !isQuote(bytes[before]!)) before--;
    if (before < 0) return at > 0 && OPENERS.includes(bytes[at - 1]!);
    if (bytes[at - 1] === Byte.OpenBrace && bytes[at - 2] === Byte.Dollar) return true;
    // With nothing in between, the quote belongs to a string that holds the word.
    return isQuote(bytes[before]!) && before === this.breakAt && before < at - 1 && !this.isOnlySpace(before + 1, at);
  }

  private isOnlySpace(from: number, to: number): boolean {
    for (let at = from; at < to; at++) {
      if (this.bytes[at]! > Byte.Space) return false;
    }
    return true;
  }

  /** The value is a URL that runs a script. Prose that begins with "JavaScript:" goes on with a word and a blank. */
  private judgeUrl(): void {
    const { bytes } = this;
    let from = 0;
    while (from < this.length && (bytes[from]! <= Byte.Space || isQuote(bytes[from]!))) from++;
    // Browsers pass over control bytes in a scheme.
    let length = 0;
    let at = from;
    for (; at < this.length && length < schemeText.length; at++) {
      if (isScriptNameByte(bytes[at]!)) schemeText[length++] = bytes[at]!;
      else if (bytes[at]! >= Byte.Space) break;
    }
    if (bytes[at] !== Byte.Colon) return;
    const scheme = SCHEMES.valueOf(schemeText, 0, length);
    if (scheme === DATA ? this.isDocument(at + 1) : scheme === SCRIPT && this.isProgram(at + 1)) {
      this.report(SCRIPT_URL, from);
    }
  }

  private isDocument(from: number): boolean {
    const { bytes } = this;
    let at = from;
    while (isScriptNameByte(bytes[at]!) || bytes[at] === Byte.Slash || bytes[at] === Byte.Plus) at++;
    return DOCUMENTS.valueOf(bytes, from, at) !== 0;
  }

  private isProgram(from: number): boolean {
    const { bytes } = this;
    let at = from;
    // In a URL within a URL a plus is a space.
    while ((bytes[at] !== 0 && bytes[at]! <= Byte.Space) || bytes[at] === Byte.Plus) at++;
    const first = at;
    while (isScriptNameByte(bytes[at]!) || bytes[at] === Byte.Dot) at++;
    const next = bytes[at]!;
    if (at > first) {
      const isVoid = VOID.valueOf(bytes, first, at) !== 0;
      return (
        !isVoid &&
        (next === Byte.OpenParen || next === Byte.Backtick || next === Byte.Equals || next === Byte.LeftBracket)
      );
    }
    return next > Byte.Space && next !== Byte.Semicolon && next < Byte.Del;
  }

  /** {{constructor.constructor('…')()}}: an expression that leaves its sandbox. What one has been read is not read again. */
  private judgeTemplate(open: number): void {
    const { bytes } = this;
    const limit = Math.min(this.length, open + MAX_TEMPLATE_BYTES);
    let at = Math.max(open + 2, this.templatesTo);
    let from = at;
    while (at < limit && bytes[at] !== Byte.CloseBrace) {
      from = at;
      while (at < limit && isScriptNameByte(bytes[at]!)) at++;
      const word = WORDS.valueOf(bytes, from, at);
      if (
        word === ScriptWord.Maker ||
        ((word === ScriptWord.Box || word === ScriptWord.Evaluator) && bytes[at] === Byte.OpenParen)
      ) {
        this.report(TEMPLATE_SCRIPT, open);
        return;
      }
      if (at === from) at++;
    }
    // A word that the limit cuts is left to the next.
    this.templatesTo = at < limit ? at : from;
  }

  private isMaker(to: number): boolean {
    let from = to;
    while (from > 0 && isScriptNameByte(this.bytes[from - 1]!)) from--;
    return WORDS.valueOf(this.bytes, from, to) === ScriptWord.Maker;
  }

  /** [][(![]+[])…: a program without letters; []["filter"]["constructor"]. */
  private judgeBrackets(at: number): void {
    const { bytes } = this;
    if (bytes[at + 2] !== Byte.LeftBracket) return;
    const next = bytes[at + 3]!;
    if (next === Byte.OpenParen || next === Byte.Bang || next === Byte.LeftBracket) this.report(SCRIPT_SINK, at);
  }

  /** Numbers of a list, separated by commas. */
  private countNumbers(from: number): number {
    const { bytes } = this;
    let count = 0;
    let at = from;
    while (count < MIN_CODES) {
      at = this.skipInvisible(at);
      const start = at;
      while (isScriptNameByte(bytes[at]!) && bytes[at]! <= Byte.LowerX) at++;
      if (at === start) break;
      count++;
      at = this.skipInvisible(at);
      if (bytes[at] !== Byte.Comma) break;
      at++;
    }
    return count;
  }

  /** Passes over blanks and control bytes, as browsers do. */
  private skipInvisible(from: number): number {
    let at = from;
    const limit = from + MAX_OPERATORS;
    while (at < limit && this.bytes[at]! <= Byte.Space && this.bytes[at] !== 0) at++;
    return at;
  }

  private report(rule: WafRule, at: number): void {
    this.listener!.found(rule, at);
  }
}

function isCallee(word: number): boolean {
  return word === ScriptWord.Sink || word === ScriptWord.Evaluator || word === ScriptWord.Box;
}

const schemeText: Uint8Array = new Uint8Array(16);
/** What the detector reads around a word or a template. */
const STEPS = 64;
const MAX_NAMES = 3;
const MAX_OPERATORS = 24;
const MAX_HANDLER_BYTES = 64;
const MAX_TEMPLATE_BYTES = 192;
const MIN_CODES = 4;
const MAX_PROBE_BYTES = 32;
