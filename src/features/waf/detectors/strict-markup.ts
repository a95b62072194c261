import { Byte, indexOfByte, isLowerLetter } from "../../../core/bytes.ts";
import { DASHED_WORD, isQuote, TAG_NAME } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, each, type WafRule, words } from "../rule.ts";

const STRICT_MARKUP: WafRule = {
  id: "XSS-010",
  category: "xss",
  score: CRITICAL_SCORE,
  description: "markup in a line that is no article, or a piece of script or style",
  keywords: [
    ...["<!", "<?", "<%", "</", "=&{", "+adw-", "@import", "-moz-binding", "expression("],
    ...Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => `<${letter}`),
    ...each("alert confirm prompt eval msgbox", (name) => [`${name}(`, `${name} (`, `${name}\``, `${name}\\`]),
    ...words("javascript: vbscript: livescript: style= .source( exploit"),
    ...["onclick", "onload", "onerror", "onmouse", "onfocus", "on0", "style ="],
  ],
  level: 2,
  crs: [941100, 941160, 941320],
};

/** Markup of any kind. */
export const STRICT_MARKUP_GROUP: DetectorGroup = {
  rules: [STRICT_MARKUP],
  locations: [
    InputLocation.Query,
    InputLocation.Header,
    InputLocation.Extension,
    InputLocation.Body,
    InputLocation.Segment,
  ],
  keywords: () => [],
  detectors: () => [{ analyse: findStrictMarkup }],
};

/**
 * Finds tags in a value of one line, elements that act in any value, and calls and attributes that only scripts have. Articles have
 * paragraphs and lists; a person's name in front of an address of mail is no tag.
 */
function findStrictMarkup(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  const isLine = length <= MAX_LINE && indexOfByte(bytes, Byte.Lf, 0, length) === length;
  for (
    let at = indexOfByte(bytes, Byte.Less, 0, length);
    at < length;
    at = indexOfByte(bytes, Byte.Less, at + 1, length)
  ) {
    if (isTag(bytes, at + 1, isLine)) return listener.found(STRICT_MARKUP, at);
  }
  if (isLine && hasScript(bytes, length)) listener.found(STRICT_MARKUP, 0);
}

/** Whether a tag that counts begins after a `<`. */
function isTag(bytes: Uint8Array, from: number, isLine: boolean): boolean {
  const first = bytes[from]!;
  if (first === Byte.Bang || first === Byte.Question || first === Byte.Percent)
    return isLine && !isSign(bytes[from + 1]!);
  const at = first === Byte.Slash ? from + 1 : from;
  if (!isLowerLetter(bytes[at]!)) return false;
  let end = at;
  while (end < at + MAX_NAME && (TAG_NAME[bytes[end]!] === 1 || bytes[end] === Byte.Dash)) end++;
  const kind = ELEMENTS.valueOf(bytes, at, end);
  if (kind === ACTING) return isLine || first !== Byte.Slash;
  if (!isLine) return false;
  // Formatted text has elements without attributes.
  if (kind === FORMATTING && isBare(bytes, end)) return false;
  // <user@example.com>, <https://example.com>, a<b.
  const next = bytes[end]!;
  if (bytes[end - 1] === Byte.Colon) return false;
  return (
    next <= Byte.Space || next === Byte.Slash || next === Byte.Greater || next === Byte.Less || next === Byte.Percent
  );
}

/** Whether an element ends after its name: `>`, `/>`, ` />`. */
function isBare(bytes: Uint8Array, at: number): boolean {
  const end = bytes[at] === Byte.Space ? at + 1 : at;
  return bytes[end] === Byte.Slash || (end === at && bytes[end] === Byte.Greater);
}

/** What no declaration and no instruction begins with. */
function isSign(byte: number): boolean {
  return byte === Byte.Greater || byte === Byte.Quote || byte === Byte.CloseBrace || byte === Byte.CloseParen;
}

/** alert(…), onclick=…(…, =&{…}, +ADw-, style=…: in a line, none of these is prose. */
function hasScript(bytes: Uint8Array, length: number): boolean {
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.Equals && bytes[at + 1] === Byte.Ampersand && bytes[at + 2] === Byte.OpenBrace) return true;
    if (byte === Byte.Plus && bytes[at + 1] === 0x61 && bytes[at + 2] === 0x64 && bytes[at + 3] === 0x77) return true;
    if (!isLowerLetter(byte) || isLowerLetter(bytes[at - 1]!)) continue;
    let end = at;
    while (DASHED_WORD[bytes[end]!] === 1) end++;
    if (isScriptWord(bytes, at, end, length)) return true;
    at = end - 1;
  }
  return false;
}

function isScriptWord(bytes: Uint8Array, from: number, to: number, length: number): boolean {
  const word = WORDS.valueOf(bytes, from, to);
  let next = to;
  while (bytes[next] === Byte.Space || bytes[next] === Byte.Backslash) next++;
  if (word === CALL)
    return (bytes[next] === Byte.OpenParen || bytes[next] === Byte.Backtick) && bytes[from - 1] !== Byte.Dot;
  if (word === SCHEME) return bytes[to] === Byte.Colon;
  if (word === IMPORT) return bytes[from - 1] === Byte.At && (isQuote(bytes[next]!) || bytes[next] === 0x75);
  if (word === PIECE) return true;
  const isHandler = bytes[from] === 0x6f && bytes[from + 1] === 0x6e && to - from > MIN_HANDLER;
  if ((!isHandler && word !== STYLE) || bytes[next] !== Byte.Equals) return false;
  for (let at = next; at < Math.min(length, next + MAX_VALUE); at++) {
    if (bytes[at] === Byte.OpenParen || bytes[at] === Byte.Backtick) return true;
  }
  return false;
}

/** Elements that load, act or style wherever they are. */
const ACTING = 1;
const FORMATTING = 2;
const ELEMENTS: WordSet = new WordSet([
  [ACTING, "script set xsl:stylesheet frameset frame handler object embed applet iframe isindex"],
  [ACTING, "bgsound animate foreignobject math xss layer ilayer xml noscript"],
  [FORMATTING, "p b i u s em strong br hr sub sup code pre ul ol li blockquote h2 h3 h4 fullname note"],
]);
const CALL = 1;
const SCHEME = 2;
const IMPORT = 3;
const PIECE = 4;
const STYLE = 5;
const WORDS: WordSet = new WordSet([
  [CALL, "alert confirm prompt eval msgbox expression execscript settimeout"],
  [SCHEME, "javascript vbscript livescript"],
  [IMPORT, "import"],
  [PIECE, "-moz-binding moz-binding exploit-string"],
  [STYLE, "style"],
]);
const MIN_HANDLER = 4;
const MAX_NAME = 24;
const MAX_VALUE = 48;
/** A longer one is a text of some machine. */
const MAX_LINE = 4096;
