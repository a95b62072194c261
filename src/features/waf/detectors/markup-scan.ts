import { Byte, EMPTY_BYTES, indexOfByte, isLowerLetter, isWhitespace } from "../../../core/bytes.ts";
import { ATTRIBUTE_GAP, ATTRIBUTE_NAME, DASHED_WORD, lastPart, TAG_NAME } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  each,
  NOTICE_SCORE,
  type WafRule,
  words,
} from "../rule.ts";
import { isComponentCode, isProgramText, isScriptUrl } from "./script-text.ts";
import { EVENT_STEMS, isHandlerName, ScriptWord, WORDS } from "./script-words.ts";

const SCRIPT_ELEMENT: WafRule = {
  id: "XSS-001",
  crs: [941110, 941100, 941160, 941320],
  category: "xss",
  score: CRITICAL_SCORE,
  description: "script element with a source or with code",
  keywords: ["<script", ":script"],
};
export const EVENT_HANDLER: WafRule = {
  id: "XSS-002",
  crs: [941120, 941100, 941160],
  category: "xss",
  score: CRITICAL_SCORE,
  description: "event handler or srcdoc attribute",
  keywords: [
    "srcdoc",
    // Of the names of events the beginning, with what may be before it.
    ...each(EVENT_STEMS, (stem) => ["^", " ", "'", "/"].map((before) => `${before}on${stem.slice(0, 2)}`)),
  ],
};
export const SCRIPT_URL: WafRule = {
  id: "XSS-003",
  crs: [941170, 941100, 941210],
  category: "xss",
  score: CRITICAL_SCORE,
  description: "script URL, or URL of an inline document",
  keywords: [
    ...words("expression behavior -moz-b &# &colon &tab &newline &lpar data:text data:application data:image/svg"),
    "j a v a",
    ...words("^javas ^'javas ^vbs ^data: ^data:t script: ipt:"),
    ...["^ javas", "^java s"],
  ],
};
const ACTIVE_ELEMENT: WafRule = {
  id: "XSS-004",
  crs: [941160, 941100, 941320],
  category: "xss",
  score: CRITICAL_SCORE,
  description: "element in a query or header that embeds a document or redirects",
  keywords: words("<iframe <frame <object <embed <applet <meta <portal <fencedframe <import <xml <base"),
};
const EMBEDDED_ELEMENT: WafRule = {
  id: "XSS-005",
  crs: [941320, 941100, 941160],
  category: "xss",
  score: NOTICE_SCORE,
  description: "embedding element in a body, which an article may have",
};
export const EXTERNAL_ENTITY: WafRule = {
  id: "LFI-004",
  category: "lfi",
  score: CRITICAL_SCORE,
  description: "external XML entity",
  keywords: ["<!doctype", "<!entity", "<?xml-stylesheet"],
};

/** The rules that are reported here, some of them without a tag too. */
export const MARKUP_RULES: readonly WafRule[] = [
  SCRIPT_ELEMENT,
  EVENT_HANDLER,
  SCRIPT_URL,
  ACTIVE_ELEMENT,
  EMBEDDED_ELEMENT,
  EXTERNAL_ENTITY,
];

/**
 * Reads tags as a browser would and says which of them run or load something. Every byte is read once, but after a
 * quote that is not closed within MAX_VALUE_BYTES, where reading starts anew: that cannot happen often, since a quote
 * of the same kind would close it.
 */
export class MarkupScan implements Detector {
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private value: ValueReading | null = null;
  private listener: DetectionListener | null = null;
  /** The attribute that was read last. */
  private nameFrom = 0;
  private nameTo = 0;
  private valueFrom = 0;
  private valueTo = 0;
  private isUnclosed = false;

  /** Looks at every tag in the value. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    this.value = value;
    this.bytes = value.bytes;
    this.length = value.length;
    this.listener = listener;
    for (let at = this.nextTag(0); at >= 0 && !value.steps.isSpent; at = this.nextTag(at)) at = this.readTag(at);
  }

  /** Bounded by the value's end, and not by that of the memory, which a longer value before may have left large. */
  private nextTag(from: number): number {
    const at = indexOfByte(this.bytes, Byte.Less, from, this.length);
    return at < this.length ? at : -1;
  }

  /** @returns where to look on */
  private readTag(open: number): number {
    const { bytes } = this;
    let at = open + 1;
    if (bytes[at] === Byte.Slash) at++;
    if (bytes[at] === Byte.Bang || bytes[at] === Byte.Question) return this.readDeclaration(open, at + 1);
    const from = at;
    if (!isLowerLetter(bytes[at]!)) return open + 1;
    while (TAG_NAME[bytes[at]!] === 1) at++;
    const kind = TAGS.valueOf(bytes, lastPart(bytes, from, at), at);
    const behindName = at;
    const isClosing = bytes[open + 1] === Byte.Slash;
    at = this.readAttributes(at, open, kind);
    this.value!.steps.take(STEPS);
    if (kind === Tag.Script && !isClosing && this.isScript(open, behindName, at)) this.report(SCRIPT_ELEMENT, open);
    return Math.max(at, behindName);
  }

  /** Reads the attributes of a tag. @returns the offset after it, or where reading was given up */
  private readAttributes(from: number, open: number, kind: Tag): number {
    const { bytes } = this;
    const limit = this.length;
    let at = from;
    let loads = false;
    this.isUnclosed = false;
    while (at < limit && !this.isUnclosed) {
      while (at < limit && ATTRIBUTE_GAP[bytes[at]!] === 1) at++;
      if (at >= limit || bytes[at] === Byte.Greater) break;
      if (bytes[at] === Byte.Less) {
        // Where another tag begins, this one is text.
        if (isLowerLetter(bytes[at + 1]!)) break;
        at++;
        continue;
      }
      const before = at;
      at = this.readAttribute(at, limit);
      if (!this.value!.steps.take(STEPS + 2 * (at - before))) return limit;
      const isHandler = isHandlerName(bytes, this.nameFrom, this.nameTo) || this.isDirective();
      if (isHandler && this.valueFrom >= 0 && !isComponentCode(bytes, this.valueFrom))
        this.report(EVENT_HANDLER, this.nameFrom);
      loads = this.judgeAttribute(kind) || loads;
      if (at <= before) at = before + 1;
    }
    if (loads && (kind === Tag.Active || kind === Tag.Base)) this.reportActive(open);
    if (this.isUnclosed) return this.valueFrom;
    return at < limit && bytes[at] === Byte.Greater ? at + 1 : at;
  }

  /** Reads one attribute; `valueFrom` is -1 if it has no value. @returns the offset after it */
  private readAttribute(from: number, limit: number): number {
    const { bytes } = this;
    let at = from;
    while (at < limit && ATTRIBUTE_NAME[bytes[at]!] === 1) at++;
    this.nameFrom = from;
    this.nameTo = at;
    this.valueFrom = -1;
    this.valueTo = -1;
    while (at < limit && isWhitespace(bytes[at]!)) at++;
    if (bytes[at] !== Byte.Equals) return at;
    at++;
    while (at < limit && isWhitespace(bytes[at]!)) at++;
    const quote = bytes[at]!;
    if (quote === Byte.Quote || quote === Byte.Apostrophe || quote === Byte.Backtick) {
      const end = Math.min(limit, at + MAX_VALUE_BYTES);
      this.valueFrom = ++at;
      while (at < end && bytes[at] !== quote) at++;
      this.valueTo = at;
      this.isUnclosed = bytes[at] !== quote || at >= limit;
      return at + 1;
    }
    this.valueFrom = at;
    while (at < limit && !isWhitespace(bytes[at]!) && bytes[at] !== Byte.Greater) at++;
    this.valueTo = at;
    return at;
  }

  /** ng-click="alert(1)", v-on:x, @x, x-on:x: what frameworks of pages run, with a call that gives it away. */
  private isDirective(): boolean {
    const { bytes, nameFrom, valueTo } = this;
    const first = bytes[nameFrom]!;
    let at = nameFrom;
    while (isLowerLetter(bytes[at]!)) at++;
    const isPrefixed = bytes[at] === Byte.Dash && DIRECTIVES.valueOf(bytes, nameFrom, at) !== 0;
    if (!isPrefixed && first !== Byte.At) return false;
    for (let from = this.valueFrom; from >= 0 && from < valueTo; ) {
      const to = dashedEnd(bytes, from, valueTo);
      const word = to > from ? WORDS.valueOf(bytes, from, to) : 0;
      const isCall = bytes[to] === Byte.OpenParen || bytes[to] === Byte.Backtick;
      if (isCall && (word === ScriptWord.Box || word === ScriptWord.Evaluator || word === ScriptWord.Maker))
        return true;
      from = Math.max(to, from + 1);
    }
    return false;
  }

  /** @returns whether the attribute makes an active element load something */
  private judgeAttribute(kind: Tag): boolean {
    const { bytes, nameFrom, nameTo, valueFrom, valueTo } = this;
    if (valueFrom < 0) return false;
    const attribute = ATTRIBUTES.valueOf(bytes, lastPart(bytes, nameFrom, nameTo), nameTo);
    switch (attribute) {
      case Attribute.Url:
        if (isScriptUrl(bytes, valueFrom, valueTo)) this.report(SCRIPT_URL, valueFrom);
        return valueTo > valueFrom;
      case Attribute.Content:
        if (isScriptUrl(bytes, valueFrom, valueTo)) this.report(SCRIPT_URL, valueFrom);
        return false;
      case Attribute.Document:
        this.report(EVENT_HANDLER, nameFrom);
        return true;
      case Attribute.Style:
        if (this.isActiveStyle(valueFrom, valueTo)) this.report(SCRIPT_URL, valueFrom);
        return false;
      case Attribute.Equivalent:
        return kind === Tag.Active && (bytes[valueFrom] === LOWER_R || bytes[valueFrom] === LOWER_S);
      default:
        return false;
    }
  }

  /** expression(…), behavior:, url(javascript:…): old browsers run them. */
  private isActiveStyle(from: number, to: number): boolean {
    const { bytes } = this;
    for (let at = from; at < to; at++) {
      const isWord = at === from || DASHED_WORD[bytes[at - 1]!] !== 1;
      // What a function of styles is given, as far as a scheme can reach: nested brackets would each read the rest.
      if (bytes[at] === Byte.OpenParen && !isWord) {
        if (!this.value!.steps.take(2 * MAX_STYLE_URL_BYTES)) return false;
        if (isScriptUrl(bytes, at + 1, Math.min(to, at + MAX_STYLE_URL_BYTES))) return true;
      }
      if (isWord && STYLES.valueOf(bytes, at, dashedEnd(bytes, at, to)) !== 0) return true;
    }
    return false;
  }

  /** A script with a source, or with something after it that looks like a program. */
  private isScript(open: number, behindName: number, behindTag: number): boolean {
    const { bytes } = this;
    // <script/… and <script ⟨attribute⟩ are no way to talk about the tag.
    for (let at = behindName; at < behindTag - 1; at++) {
      if (bytes[at] === Byte.Equals || bytes[at] === Byte.Slash) return true;
    }
    if (bytes[behindTag - 1] !== Byte.Greater)
      return open > 0 && bytes[open - 1] !== Byte.Space && behindTag >= this.length;
    return isProgramText(bytes, behindTag, Math.min(this.length, behindTag + MAX_PROGRAM_BYTES));
  }

  /** <!DOCTYPE … [<!ENTITY x SYSTEM "file:…">]>: entities that make an XML parser read files. */
  private readDeclaration(open: number, from: number): number {
    const { bytes } = this;
    const end = dashedEnd(bytes, from, this.length);
    const declaration = DECLARATIONS.valueOf(bytes, from, end);
    if (declaration === STYLESHEET && this.isForeignStylesheet(end)) this.report(EXTERNAL_ENTITY, open);
    if (declaration !== ENTITY) return open + 1;
    let isPage = false;
    for (let at = end; at < this.length && bytes[at] !== Byte.Greater && bytes[at] !== Byte.Less; at++) {
      if (!isWhitespace(bytes[at]!)) continue;
      const word = SOURCES.valueOf(bytes, at + 1, dashedEnd(bytes, at + 1, this.length));
      if (word === PAGE) isPage = true;
      // Pages of the old days begin with <!DOCTYPE html PUBLIC …>.
      const isExternal = word === SYSTEM || (word === PUBLIC && !isPage && !this.isFormal(at + 1));
      if (isExternal && this.hasLiteral(at + 1)) {
        this.report(EXTERNAL_ENTITY, open);
        return at;
      }
    }
    return open + 1;
  }

  /** <?xml-stylesheet type="text/xsl" href="http://…"?>: a program in XSLT from elsewhere. */
  private isForeignStylesheet(from: number): boolean {
    const { bytes } = this;
    let isProgram = false;
    for (let at = from; at < from + MAX_VALUE_BYTES && at < this.length && bytes[at] !== Byte.Greater; at++) {
      if (XSL.valueOf(bytes, at, at + 3) !== 0) isProgram = true;
      else if (isProgram && bytes[at] === Byte.Equals && XSL.valueOf(bytes, at + 2, at + 6) !== 0) return true;
    }
    return false;
  }

  /** Whether a quote follows the word at `from`, as XML demands: "the system id and the public id" is prose. */
  private hasLiteral(from: number): boolean {
    const { bytes } = this;
    let at = dashedEnd(bytes, from, this.length);
    while (isWhitespace(bytes[at]!)) at++;
    return bytes[at] === Byte.Quote || bytes[at] === Byte.Apostrophe;
  }

  /** PUBLIC "-//…": the name of a standard. */
  private isFormal(from: number): boolean {
    const { bytes } = this;
    let at = dashedEnd(bytes, from, this.length);
    while (isWhitespace(bytes[at]!)) at++;
    return bytes[at + 1] === Byte.Dash && bytes[at + 2] === Byte.Slash;
  }

  /** In a query such elements are no text; in a body they may be an article's. */
  private reportActive(open: number): void {
    this.report(this.value!.location === InputLocation.Body ? EMBEDDED_ELEMENT : ACTIVE_ELEMENT, open);
  }

  private report(rule: WafRule, at: number): void {
    this.listener!.found(rule, at);
  }
}

/** What the names of their attributes begin with. */
const DIRECTIVES: WordSet = new WordSet([[1, "ng v x data"]]);

const enum Tag {
  Script = 1,
  /** Elements that load another document or send the browser elsewhere. */
  Active,
  Base,
}

const enum Attribute {
  Url = 1,
  /** Of a meta element: a URL is one part of it. */
  Content,
  /** A whole document. */
  Document,
  Style,
  /** http-equiv: refresh, set-cookie. */
  Equivalent,
}

/** Offset after the letters and dashes that go on at `from`. */
function dashedEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && DASHED_WORD[bytes[at]!] === 1) at++;
  return at;
}

const TAGS: WordSet = new WordSet([
  [Tag.Script, "script"],
  [Tag.Active, "iframe frame frameset object embed applet meta portal fencedframe import xml"],
  [Tag.Base, "base"],
]);
const ATTRIBUTES: WordSet = new WordSet([
  [Attribute.Url, "href src action formaction data to from values background poster codebase code archive dynsrc"],
  [Attribute.Url, "lowsrc url manifest movie ping"],
  [Attribute.Content, "content"],
  [Attribute.Document, "srcdoc"],
  [Attribute.Style, "style"],
  [Attribute.Equivalent, "http-equiv"],
]);
const STYLES: WordSet = new WordSet([[1, "expression behavior -moz-binding"]]);
const ENTITY = 1;
const STYLESHEET = 2;
const DECLARATIONS: WordSet = new WordSet([
  [ENTITY, "doctype entity"],
  [STYLESHEET, "xml-stylesheet"],
]);
/** What tells a program from a style, and where it comes from. */
const XSL: WordSet = new WordSet([[1, "xsl http ftp: file"]]);
const SYSTEM = 1;
const PUBLIC = 2;
const PAGE = 3;
const SOURCES: WordSet = new WordSet([
  [SYSTEM, "system"],
  [PUBLIC, "public"],
  [PAGE, "html"],
]);
const MAX_VALUE_BYTES = 512;
/** What a tag or an attribute costs beside its own bytes. */
const STEPS = 32;
const MAX_STYLE_URL_BYTES = 64;
/** How much of a script's text the scan reads. */
const MAX_PROGRAM_BYTES = 64;
const LOWER_R = 0x72;
const LOWER_S = 0x73;
