import { Byte, equalsLower, latin1, table } from "../../../core/ascii.ts";
import type { Findings } from "../findings.ts";
import { asideEnd, isAside } from "../match/xml-text.ts";
import { Sign } from "../rules/sign.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { narrowed } from "./wide-text.ts";
import { inspectDeclaration } from "./xml-declarations.ts";
import { hidesItsText } from "./xml-encoding.ts";

/**
 * Inspects the texts and the attributes of an XML document under the names of their elements and attributes, without
 * prefixes, and its declarations of entities. One pass; the document may be cut off anywhere, and need not be well-formed.
 * @param isDeclared whether the body is called XML, and not only looks like it
 */
export function inspectXml(
  inspector: ValueInspector,
  findings: Findings,
  isDeclared: boolean,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  if (hidesItsText(bytes, from, to, isDeclared)) return findings.found(Sign.HiddenCharset, 0);
  for (let at = from; at < to; ) {
    if (!isMarkup(bytes, at, to)) at = inspectText(inspector, bytes, at, to);
    else if (bytes[at + 1] === Byte.Bang) {
      at = inspectDeclaration(inspector, findings, bytes, at, to);
      inspector.nameNothing();
    } else if (bytes[at + 1] === Byte.Slash) {
      // What comes then belongs to an element that began long before.
      inspector.nameNothing();
      at = behindGreater(bytes, at, to);
    } else at = inspectTag(inspector, bytes, at, to);
  }
}

/**
 * Inspects what an XML parser would fetch for a file that somebody sends: its declarations of entities and what it includes. What it
 * shows is the application's business. XML 1.0 §4.2.2, XInclude §3.1.
 */
export function inspectUpload(
  inspector: ValueInspector,
  findings: Findings,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  const wide = narrowed(bytes, from, to);
  const text = wide.length > 0 ? wide : bytes;
  const end = wide.length > 0 ? wide.length : to;
  let at = wide.length > 0 ? 0 : from;
  while (at < end && (text[at]! <= Byte.Space || text[at]! >= 0xef || text[at] === 0xbb || text[at] === 0xbf)) at++;
  if (text[at] !== Byte.Less) return;
  if (hidesItsText(text, at, end, false)) return findings.found(Sign.HiddenCharset, 0);
  for (; at < end; at++) {
    if (text[at] !== Byte.Less || !isMarkup(text, at, end)) continue;
    if (text[at + 1] === Byte.Bang) at = inspectDeclaration(inspector, findings, text, at, end) - 1;
    else if (isInclude(text, at, end)) at = inspectTag(inspector, text, at, end) - 1;
  }
}

/** <xi:include href="…"> */
function isInclude(bytes: Uint8Array, open: number, to: number): boolean {
  const end = nameEnd(bytes, open + 1, Math.min(to, open + MAX_INCLUDE_NAME));
  return equalsLower(bytes, localName(bytes, open + 1, end), end, INCLUDE);
}

/** Whether a tag or a declaration begins here, and no text. */
function isMarkup(bytes: Uint8Array, at: number, to: number): boolean {
  if (bytes[at] !== Byte.Less || at + 1 >= to) return false;
  const next = bytes[at + 1]!;
  return next === Byte.Bang ? !isAside(bytes, at, to) : next === Byte.Slash || IS_NAME_START[next] === 1;
}

/** Inspects the text up to the next tag. @returns the offset behind it */
function inspectText(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): number {
  let hasProgram = false;
  let isBlank = true;
  let at = from;
  while (at < to && !isMarkup(bytes, at, to)) {
    if (bytes[at]! > Byte.Space) isBlank = false;
    if (bytes[at] === Byte.Less && isAside(bytes, at, to)) {
      hasProgram ||= bytes[at + 1] === Byte.Question && !isXmlInstruction(bytes, at + 2);
      at = asideEnd(bytes, at, to);
    } else at++;
  }
  if (isBlank) return at;
  inspector.value.loadXml(bytes, from, at);
  inspector.inspect(bytes, from, at);
  if (!hasProgram) return at;
  // An instruction is for some program; <?php … ?> is one.
  inspector.value.load(bytes, from, at);
  inspector.inspect(bytes, from, at);
  return at;
}

/** <?xml …?>, <?xml-stylesheet …?> */
function isXmlInstruction(bytes: Uint8Array, at: number): boolean {
  return (bytes[at]! | 0x20) === Byte.LowerX && (bytes[at + 1]! | 0x20) === LOWER_M;
}

/** Inspects the attributes of the tag at `open`, and leaves its name to the text behind it. */
function inspectTag(inspector: ValueInspector, bytes: Uint8Array, open: number, to: number): number {
  let at = nameEnd(bytes, open + 1, to);
  const nameFrom = localName(bytes, open + 1, at);
  const nameTo = at;
  if (bytes.subarray(nameFrom, nameTo).includes(Byte.Dot)) inspectClass(inspector, bytes, nameFrom, nameTo);
  while (at < to && bytes[at] !== Byte.Greater) {
    if (IS_GAP[bytes[at]!] === 1) at++;
    else if (isMarkup(bytes, at, to)) break;
    else at = inspectAttribute(inspector, bytes, at, to);
  }
  inspector.setName(bytes, nameFrom, nameTo);
  return bytes[at] === Byte.Greater ? at + 1 : at;
}

/** Some serializers name elements by the classes of objects. */
function inspectClass(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): void {
  inspector.setName(CLASS, 0, CLASS.length);
  inspector.value.load(bytes, from, to);
  inspector.inspect(bytes, from, to);
}

function inspectAttribute(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): number {
  let at = nameEnd(bytes, from, to);
  const nameTo = at;
  while (at < to && bytes[at]! <= Byte.Space) at++;
  if (at >= to || bytes[at] !== Byte.Equals) return Math.max(nameTo, from + 1);
  at++;
  while (at < to && bytes[at]! <= Byte.Space) at++;
  const quote = bytes[at]!;
  const isQuoted = at < to && (quote === Byte.Quote || quote === Byte.Apostrophe);
  const valueFrom = isQuoted ? at + 1 : at;
  let end = valueFrom;
  if (isQuoted) while (end < to && bytes[end] !== quote) end++;
  else while (end < to && bytes[end]! > Byte.Space && bytes[end] !== Byte.Greater) end++;
  if (end > valueFrom) {
    inspector.setName(bytes, localName(bytes, from, nameTo), nameTo);
    inspector.value.loadXml(bytes, valueFrom, end);
    inspector.inspect(bytes, from, end);
  }
  return isQuoted ? end + 1 : end;
}

/** Where a name begins behind its prefix; one that declares a prefix stays whole. */
function localName(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] !== Byte.Colon) at--;
  return at - from === XMLNS.length && XMLNS.every((byte, i) => bytes[from + i] === byte) ? from : at;
}

function nameEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && IS_GAP[bytes[at]!] === 0 && bytes[at] !== Byte.Greater && bytes[at] !== Byte.Equals) at++;
  return at;
}

function behindGreater(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== Byte.Greater) at++;
  return at + 1;
}

const CLASS: Uint8Array = latin1("class");
/** Bytes of a name with a prefix of its own. */
const MAX_INCLUDE_NAME = 64;
const INCLUDE: Uint8Array = latin1("include");
const XMLNS: Uint8Array = latin1("xmlns:");
const LOWER_M = 0x6d;
/** Letters, the low line, and all beyond ASCII. XML 1.0 §2.3. */
const IS_NAME_START: Uint8Array = table((byte) => {
  const lower = byte | 0x20;
  return (lower >= Byte.LowerA && lower <= Byte.LowerZ) || byte === Byte.Underscore || byte >= 0x80 ? 1 : 0;
});
/** What stands between attributes: white space, the slash of an empty element, stray quotes. */
const IS_GAP: Uint8Array = table((byte) =>
  byte <= Byte.Space || byte === Byte.Slash || byte === Byte.Quote || byte === Byte.Apostrophe ? 1 : 0,
);
