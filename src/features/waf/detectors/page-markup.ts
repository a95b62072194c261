import { Byte, indexOfByte, isDigit, isLowerLetter, latin1 } from "../../../core/bytes.ts";
import { ATTRIBUTE_GAP, ATTRIBUTE_NAME, DASHED_WORD, hasTextAt, isQuote, lastPart, TAG_NAME } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, each, type WafRule, words } from "../rule.ts";
import { isAddress } from "./script-text.ts";

/** Elements that act, load or change the page by themselves, and that no text in a query is made of. */
const ACTING =
  "set animate animatetransform animatemotion handler listener foreignobject feimage xss isindex bgsound layer ilayer";
/** Elements that do so with an attribute: of a page, of a style or of a drawing. */
const PARTS = "link meta stylesheet body html form style svg math image head frameset noscript xml";
/** Attributes that bind data, run at an event of XML, or name what is animated. */
const ATTRIBUTES = "attributename datasrc datafld ev:event xlink:href implementation xmlns:xss";
const PIECES = "-moz-binding -o-link -o-link-source behavior expression";

const PAGE_MARKUP: WafRule = {
  id: "XSS-011",
  category: "xss",
  score: CRITICAL_SCORE,
  description:
    "markup in a query that changes the page: a part of it, a handler of any name, a style that loads or runs",
  keywords: [
    ...each(`${ACTING} ${PARTS}`, (name) => [`<${name}`, `:${name}`]),
    ...words(ATTRIBUTES),
    ...each("a b c d e f g h i j k l m n o p q r s t u v w x y z", (letter) =>
      [" ", "\t", "/", "'"].map((gap) => `${gap}on${letter}`),
    ),
    ...words(
      "</script </style </head </body </html </form </xml <!--[if -->]]> =&{ +adw- @import -moz-bind -o-link expression( :expr",
    ),
    ...words("<?import <?xml <?xsl <xsl: <svg: <stylesheet data:appl data:image/svg url(data:"),
    ...[
      "-->",
      "^<!--",
      "ession(",
      "ssion(",
      "@im",
      "<!attlist",
      "><!doctype",
      "></",
      "</on",
      "><?xml",
      "cdata '",
      "script:j",
      ",javascript:",
      " cdata ",
      "&amp;#",
      "&#0",
      "&#x0",
      "0&#",
      "></on",
      "script\\",
      "style=",
    ],
    ...each("src href action background poster", (name) => [`${name}='//`, `${name}='http`]),
  ],
  crs: [941160, 941100, 941120, 941310, 941320],
};

/** Markup if none is due. An article in a body has what it likes. */
export const PAGE_MARKUP_GROUP: DetectorGroup = {
  rules: [PAGE_MARKUP],
  locations: [InputLocation.Query],
  keywords: () => [],
  detectors: () => [{ analyse: findPageMarkup }],
};

/**
 * Finds tags that change a page, in a value of a query: an element that acts, a part of a page with an attribute or with a style in it, a
 * handler whatever its name is, the end of a script. Beside tags: UTF-7, scripts in styles, what ends comments and sections at once.
 */
function findPageMarkup(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (value.isName || length > MAX_VALUE || isArticle(bytes, length) || hasTextAt(bytes, 0, PICTURE)) return;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.Less ? isActingTag(value, at) : isMark(bytes, at)) return listener.found(PAGE_MARKUP, at);
  }
}

/** Whether a value has lines, as pages and programs have that people paste into a field. */
function isArticle(bytes: Uint8Array, length: number): boolean {
  const first = indexOfByte(bytes, Byte.Lf, 0, length);
  return first < length && indexOfByte(bytes, Byte.Lf, first + 1, length) < length;
}

/** Whether the tag at `open` changes the page. It reads to the end of the tag, MAX_TAG bytes at most. */
function isActingTag(value: ValueReading, open: number): boolean {
  const { bytes, length } = value;
  let from = open + 1;
  if (bytes[from] === Byte.Bang) return isDeclaration(bytes, open);
  const isInstruction = bytes[from] === Byte.Question;
  const isClosing = bytes[from] === Byte.Slash;
  if (isInstruction || isClosing) from++;
  if (!isLowerLetter(bytes[from]!)) return false;
  let to = from;
  while (TAG_NAME[bytes[to]!] === 1 || bytes[to] === Byte.Dash) to++;
  if (isInstruction) {
    const kind = INSTRUCTIONS.valueOf(bytes, from, to);
    // A document begins with its declaration.
    return (
      bytes[to] === Byte.Space && (kind === ALWAYS || (kind === WITHIN && open > 0 && bytes[open - 1] === Byte.Greater))
    );
  }
  // <scr&#x9ipt>
  if (bytes[to] === Byte.Ampersand && bytes[to + 1] === Byte.Hash) return true;
  const kind = ELEMENTS.valueOf(bytes, lastPart(bytes, from, to), to);
  // What a person asks about ends a word: "what is </body> for".
  if (isClosing) return ENDS.valueOf(bytes, from, to) !== 0 && (isFirst(bytes, open) || bytes[open - 1]! > Byte.Space);
  const isPrefixed = PREFIXES.valueOf(bytes, from, Math.max(from, lastPart(bytes, from, to) - 1)) !== 0;
  if (isPrefixed) return true;
  const next = bytes[to]!;
  if (kind === Element.Acting && (next <= Byte.Space || next === Byte.Slash || next === Byte.Greater))
    return isGiven(bytes, to);
  // <b><svg>: a drawing or a style right behind something, where prose has a blank.
  if (kind !== 0 && next === Byte.Greater && open > 0 && bytes[open - 1]! > Byte.Space) return true;
  if (!value.steps.take(MAX_TAG)) return false;
  const limit = Math.min(length, to + MAX_TAG);
  let at = to;
  while (at < limit && bytes[at] !== Byte.Greater) {
    while (at < limit && ATTRIBUTE_GAP[bytes[at]!] === 1) at++;
    const name = at;
    while (at < limit && ATTRIBUTE_NAME[bytes[at]!] === 1) at++;
    if (at > name && isActingAttribute(bytes, name, at, kind)) return true;
    if (bytes[at] === Byte.Less && bytes[at + 1] !== Byte.Slash) return false;
    if (at === name && bytes[at] !== Byte.Greater) at++;
  }
  return kind === Element.Style && bytes[at] === Byte.Greater && isStyleText(bytes, at + 1, length);
}

/** Whether nothing but white space is in front. */
function isFirst(bytes: Uint8Array, to: number): boolean {
  let at = 0;
  while (at < MAX_GAP && bytes[at]! <= Byte.Space) at++;
  return at === to;
}

/** Whether an attribute follows: a word that is given a value. */
function isGiven(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + MAX_TAG && bytes[at] !== Byte.Greater && bytes[at] !== Byte.Nul) {
    if (bytes[at] === Byte.Equals) return true;
    at++;
  }
  return false;
}

/** onxxx=, attributename=, datasrc=; any attribute that a part of a page is given. */
function isActingAttribute(bytes: Uint8Array, from: number, to: number, kind: Element): boolean {
  let next = to;
  while (next < to + MAX_GAP && bytes[next]! <= Byte.Space && bytes[next] !== Byte.Nul) next++;
  const isPart = kind === Element.Part || kind === Element.Style;
  if (bytes[next] !== Byte.Equals) return isPart && hasTextAt(bytes, from, NAMESPACE);
  if (isPart || (hasTextAt(bytes, from, ON) && isHandlerMark(bytes, from, to))) return true;
  const attribute = ATTRIBUTE_NAMES.valueOf(bytes, from, to);
  if (attribute === STYLED) return isActiveStyle(bytes, next + 1);
  if (attribute === LOADING || attribute === FETCHING) {
    return isDangling(bytes, next + 1) || (attribute === LOADING && isActiveUrl(bytes, next + 1));
  }
  return attribute !== 0;
}

/** A style with brackets or escapes: it loads something, or leaves the attribute. */
function isActiveStyle(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + MAX_STYLE && bytes[at] !== Byte.Nul && bytes[at] !== Byte.Greater; at++) {
    const byte = bytes[at];
    if (byte === Byte.Backslash || byte === Byte.LeftBracket || byte === Byte.CloseBrace || byte === Byte.OpenBrace)
      return true;
    if (byte === Byte.OpenParen && hasTextAt(bytes, at - URL.length + 1, URL)) return true;
  }
  return false;
}

/** An address on another server in a quote that the value leaves open: the page's own text, up to its next quote, goes there. */
function isDangling(bytes: Uint8Array, quote: number): boolean {
  if (!isQuote(bytes[quote]!) || !isAddress(bytes, quote)) return false;
  const limit = quote + MAX_TAG;
  for (let at = quote + 1; at < limit; at++) {
    if (bytes[at] === Byte.Nul) return true;
    if (bytes[at] === bytes[quote] || bytes[at] === Byte.Greater) return false;
  }
  return false;
}

/** data:application/…, javascript\x00:… */
function isActiveUrl(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + MAX_GAP && (bytes[at] === Byte.Space || isQuote(bytes[at]!))) at++;
  return (
    hasTextAt(bytes, at, PROGRAM_DATA) || (hasTextAt(bytes, at, SCHEME) && bytes[at + SCHEME.length] === Byte.Backslash)
  );
}

/** onxxx, and onload!#$%&()*: what lenient browsers take for a name. */
function isHandlerMark(bytes: Uint8Array, from: number, to: number): boolean {
  let at = from + 2;
  while (at < to && isLowerLetter(bytes[at]!)) at++;
  return at - from >= MIN_HANDLER && (at === to || !DASHED_WORD[bytes[at]!]);
}

/** A style's text that loads or sets something right behind the tag. */
function isStyleText(bytes: Uint8Array, from: number, length: number): boolean {
  const limit = Math.min(length, from + MAX_STYLE);
  for (let at = from; at < limit; at++)
    if (bytes[at] === Byte.OpenBrace || (bytes[at] === Byte.At && at === from)) return true;
  return false;
}

/** <!--[if gte IE 4]>; <!attlist, which gives an element a handler. */
function isDeclaration(bytes: Uint8Array, open: number): boolean {
  if (hasTextAt(bytes, open + 2, ATTLIST)) return true;
  // A second document within the first.
  if (bytes[open - 1] === Byte.Greater && hasTextAt(bytes, open + 2, DOCTYPE)) return true;
  return hasTextAt(bytes, open + 2, CONDITION);
}

/** What counts outside a tag: +ADw- =&{ -->]]> @import'… expression(…). */
function isMark(bytes: Uint8Array, at: number): boolean {
  switch (bytes[at]) {
    case Byte.Plus:
      return hasTextAt(bytes, at, UTF7);
    case Byte.Equals:
      return bytes[at + 1] === Byte.Ampersand && bytes[at + 2] === Byte.OpenBrace;
    case Byte.Greater:
      // Ends a comment, and a section right after it.
      return (
        hasTextAt(bytes, at, ENDED) || (hasTextAt(bytes, at - 2, COMMENT_END) && hasTextAt(bytes, at + 1, COMMENT_OPEN))
      );
    case Byte.At:
      return hasTextAt(bytes, at, IMPORT) && isLoaded(bytes, at + IMPORT.length);
    case Byte.Colon:
      return isStyleScript(bytes, at + 1) || (hasTextAt(bytes, at - SCHEME.length, SCHEME) && isScheme(bytes, at + 1));
    case Byte.Dash:
      return isBinding(bytes, at);
    case Byte.Comma:
      return (
        hasTextAt(bytes, at + 1, SCHEME) &&
        bytes[at + 1 + SCHEME.length] === Byte.Colon &&
        isCalled(bytes, at + SCHEME.length + 2)
      );
    case Byte.Space:
      return hasTextAt(bytes, at, CDATA) && isQuote(bytes[at + CDATA.length]!);
    case Byte.Ampersand:
      return isSplitScheme(bytes, at) || isReferenceRow(bytes, at);
    default:
      return false;
  }
}

/** A name and the bracket of a call. */
function isCalled(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + MAX_PROPERTY && isLowerLetter(bytes[at]!)) at++;
  return at > from && bytes[at] === Byte.OpenParen;
}

/** jav&amp;#x0a;ascript: a reference, written twice, within the name of a scheme. */
function isSplitScheme(bytes: Uint8Array, at: number): boolean {
  if (!hasTextAt(bytes, at, TWICE)) return false;
  let from = at;
  while (from > 0 && isLowerLetter(bytes[from - 1]!) && at - from < SCHEME.length) from--;
  if (at - from < 2) return false;
  for (let i = from; i < at; i++) if (bytes[i] !== SCHEME[i - from]) return false;
  return true;
}

/** &#97;&#118;&#97;: letters that need no reference, one after the other. */
function isReferenceRow(bytes: Uint8Array, from: number): boolean {
  let at = from;
  for (let count = 0; count < MIN_REFERENCES; count++) {
    if (bytes[at] !== Byte.Ampersand || bytes[at + 1] !== Byte.Hash) return false;
    let value = 0;
    let end = at + 2;
    while (end < at + MAX_GAP && isDigit(bytes[end]!)) value = value * 10 + bytes[end++]! - Byte.Zero;
    if (value < 0x41 || value > 0x7a || bytes[end] !== Byte.Semicolon) return false;
    at = end + 1;
  }
  return true;
}

/** A quote or url( after @import. */
function isLoaded(bytes: Uint8Array, from: number): boolean {
  const at = bytes[from] === Byte.Space ? from + 1 : from;
  return isQuote(bytes[at]!) || (hasTextAt(bytes, at, URL) && isQuote(bytes[at + URL.length]!));
}

/** x:expression(…, also with comments within the word. */
function isStyleScript(bytes: Uint8Array, from: number): boolean {
  let matched = 0;
  for (let at = from; at < from + MAX_SPLIT; at++) {
    if (matched === EXPRESSION.length) return bytes[at] === Byte.OpenParen || bytes[at] === Byte.Backslash;
    if (bytes[at] === EXPRESSION[matched]) matched++;
    else if (bytes[at] === Byte.Slash && bytes[at + 1] === Byte.Star && matched > 0) {
      at += 2;
      while (at < from + MAX_SPLIT && !(bytes[at] === Byte.Star && bytes[at + 1] === Byte.Slash)) at++;
      at++;
    } else if (bytes[at] !== Byte.Space || matched > 0) return false;
  }
  return false;
}

/** javascript:javascript:…, as filters that take the scheme off leave it. */
function isScheme(bytes: Uint8Array, from: number): boolean {
  return hasTextAt(bytes, from, SCHEME) && bytes[from + SCHEME.length] === Byte.Colon;
}

/** -moz-binding:url(…, -o-link:'javascript:…. */
function isBinding(bytes: Uint8Array, at: number): boolean {
  let to = at;
  while (to < at + MAX_PROPERTY && DASHED_WORD[bytes[to]!] === 1) to++;
  return bytes[to] === Byte.Colon && BINDINGS.valueOf(bytes, at, to) !== 0;
}

const enum Element {
  Acting = 1,
  Part,
  Style,
}

const ELEMENTS: WordSet = new WordSet([
  [Element.Acting, ACTING],
  [Element.Part, PARTS.replace("style ", "")],
  [Element.Style, "style"],
]);
const PREFIXES: WordSet = new WordSet([[1, "xsl svg t xss v"]]);
const ENDS: WordSet = new WordSet([[1, "script style head body html xml noscript textarea title xsl:stylesheet"]]);
const ALWAYS = 1;
const WITHIN = 2;
const INSTRUCTIONS: WordSet = new WordSet([
  [ALWAYS, "import xml-stylesheet xml:namespace"],
  [WITHIN, "xml"],
]);
const STYLED = 2;
const LOADING = 3;
const FETCHING = 4;
const ATTRIBUTE_NAMES: WordSet = new WordSet([
  [1, ATTRIBUTES],
  [STYLED, "style"],
  [LOADING, "href src"],
  [FETCHING, "action background poster"],
]);
const BINDINGS: WordSet = new WordSet([[1, PIECES]]);
const DOCTYPE: Uint8Array = latin1("doctype html");
const ATTLIST: Uint8Array = latin1("attlist ");
const CONDITION: Uint8Array = latin1("--[if ");
const PICTURE: Uint8Array = latin1("data:image/");
const ENDED: Uint8Array = latin1(">]]>");
const COMMENT_END: Uint8Array = latin1("-->");
const COMMENT_OPEN: Uint8Array = latin1("<!--");
const ON: Uint8Array = latin1("on");
const NAMESPACE: Uint8Array = latin1("xmlns");
const PROGRAM_DATA: Uint8Array = latin1("data:application/");
const CDATA: Uint8Array = latin1(" cdata ");
const TWICE: Uint8Array = latin1("&amp;#");
const UTF7: Uint8Array = latin1("+adw-");
const IMPORT: Uint8Array = latin1("@import");
const URL: Uint8Array = latin1("url(");
const SCHEME: Uint8Array = latin1("javascript");
const EXPRESSION: Uint8Array = latin1("expression");
const MIN_REFERENCES = 3;
const MIN_HANDLER = 5;
const MAX_VALUE = 8192;
const MAX_TAG = 256;
const MAX_GAP = 8;
const MAX_STYLE = 64;
const MAX_SPLIT = 48;
const MAX_PROPERTY = 16;
