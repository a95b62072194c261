import { Byte, byteTable, equalsLower, indexOfByte, LOWER, latin1, sliceText } from "../../../core/bytes.ts";
import { EXTERNAL_ENTITY } from "../detectors/markup-scan.ts";
import { GROWING_ENTITY, HIDDEN_CHARSET } from "../detectors/protocol-abuse.ts";
import type { Findings } from "../findings.ts";
import { XML_WORD } from "../match/scan.ts";
import { asideEnd, isAside } from "../match/xml-text.ts";
import type { WafRule } from "../rule.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { isPlainCharset } from "./declared-types.ts";
import { eachRunOfPart, isNoise, narrowed } from "./text-runs.ts";

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
  if (hidesItsText(bytes, from, to, isDeclared)) return findings.found(HIDDEN_CHARSET, 0);
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
 * Inspects what an XML parser would fetch for an uploaded file: its declarations of entities and what it includes. What it
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
  if (hidesItsText(text, at, end, false)) return findings.found(HIDDEN_CHARSET, 0);
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

/** Inspects the text up to the next tag. @returns the offset after it */
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
  inspectValue(inspector, bytes, from, from, at);
  // Of a guess, all runs of text are inspected as they are as well.
  if (!hasProgram || inspector.isGuess) return at;
  // An instruction is for some program; <?php … ?> is one.
  inspector.value.load(bytes, from, at);
  inspector.inspect(bytes, from, at);
  return at;
}

/** <?xml …?>, <?xml-stylesheet …?> */
function isXmlInstruction(bytes: Uint8Array, at: number): boolean {
  return (bytes[at]! | 0x20) === Byte.LowerX && (bytes[at + 1]! | 0x20) === LOWER_M;
}

/** Inspects the attributes of the tag at `open`, and leaves its name to the text after it. */
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
  inspectValue(inspector, bytes, from, from, to);
}

/** Inspects a text or an attribute, or the runs of text in it if it is noise and the document one by a guess. @param wireFrom see `inspect` */
function inspectValue(inspector: ValueInspector, bytes: Uint8Array, wireFrom: number, from: number, to: number): void {
  if (inspector.isGuess && isNoise(bytes, from, to)) return eachRunOfPart(bytes, from, to, take, inspector.leastBits);
  inspector.value.loadXml(bytes, from, to);
  inspector.inspect(bytes, wireFrom, to);

  function take(_bytes: Uint8Array, runFrom: number, runTo: number): void {
    inspector.value.loadXml(bytes, runFrom, runTo);
    inspector.inspect(bytes, runFrom, runTo);
  }
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
    inspectValue(inspector, bytes, from, valueFrom, end);
  }
  return isQuoted ? end + 1 : end;
}

/** Where a name begins after its prefix; one that declares a prefix stays whole. */
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

/**
 * Inspects <!ENTITY …> and the head of <!DOCTYPE …>. An entity whose text is elsewhere is an attack in a request; so is one
 * that is made of many others. A document type elsewhere is one unless it is that of a standard or of the type's owner.
 * @returns where to look on: after the declaration, or after the bracket that begins a list of others
 */
function inspectDeclaration(
  inspector: ValueInspector,
  findings: Findings,
  bytes: Uint8Array,
  open: number,
  to: number,
): number {
  const kindTo = wordEnd(bytes, open + 2, to);
  const isEntity = equalsLower(bytes, open + 2, kindTo, ENTITY);
  const isType = equalsLower(bytes, open + 2, kindTo, DOCTYPE);
  let name = "";
  let isExternal = false;
  let isFormal = false;
  let isReported = false;
  let at = kindTo;
  for (; at < to && !isEnd(bytes[at]!); ) {
    const byte = bytes[at]!;
    if (byte === Byte.Quote || byte === Byte.Apostrophe) {
      const end = literalEnd(bytes, at + 1, to, byte);
      if (isEntity && countReferences(bytes, at + 1, end) >= MANY_REFERENCES) report(GROWING_ENTITY, end);
      isFormal ||= isType && isStandard(bytes, at + 1);
      if (isExternal && isType && !isFormal && isElsewhere(bytes, at + 1, end, name)) report(EXTERNAL_ENTITY, end);
      if (isEntity || isType) inspectLiteral(inspector, bytes, at + 1, end);
      at = end + 1;
      continue;
    }
    const end = wordEnd(bytes, at, to);
    if (end > at && name === "") name = sliceText(bytes, at, end).toLowerCase();
    else if (equalsLower(bytes, at, end, SYSTEM) || equalsLower(bytes, at, end, PUBLIC)) {
      isExternal = true;
      if (isEntity) report(EXTERNAL_ENTITY, end);
    }
    at = Math.max(end, at + 1);
  }
  return at < to && bytes[at] !== Byte.Less ? at + 1 : at;

  // Once a declaration: what is shown of it is read anew each time, and a declaration may be as long as the body.
  function report(rule: WafRule, end: number): void {
    if (isReported) return;
    isReported = true;
    inspector.nameNothing();
    inspector.value.load(bytes, open, end);
    findings.setSource(bytes, open, end);
    findings.found(rule, 0);
  }
}

/** The text of an entity, or where it is: what a file's name is asked for. */
function inspectLiteral(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): void {
  inspector.setName(FILE, 0, FILE.length);
  inspector.value.loadXml(bytes, from, to);
  inspector.inspect(bytes, from, to);
}

/** Whether a document type is fetched from a place that its name has no part in: cXML from xml.cxml.org is not. */
function isElsewhere(bytes: Uint8Array, from: number, to: number, name: string): boolean {
  const place = sliceText(bytes, from, Math.min(to, from + MAX_PLACE)).toLowerCase();
  return place.includes("://") && !place.includes(name);
}

/** -//W3C//DTD SVG 1.1//EN, ISO 8879…: the name of a standard. */
function isStandard(bytes: Uint8Array, at: number): boolean {
  const isOwned = bytes[at] === Byte.Dash || bytes[at] === Byte.Plus;
  if (isOwned) return bytes[at + 1] === Byte.Slash && bytes[at + 2] === Byte.Slash;
  return bytes[at] === UPPER_I && bytes[at + 1] === UPPER_S;
}

/** References to other entities: &a; or %a;, neither characters nor those that all documents have. */
function countReferences(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++) {
    if (bytes[at] !== Byte.Ampersand && bytes[at] !== Byte.Percent) continue;
    const end = wordEnd(bytes, at + 1, to);
    const isReference = end > at + 1 && end < to && bytes[end] === Byte.Semicolon;
    if (isReference && !KNOWN.includes(sliceText(bytes, at + 1, end))) count++;
  }
  return count;
}

function literalEnd(bytes: Uint8Array, from: number, to: number, quote: number): number {
  let at = from;
  while (at < to && bytes[at] !== quote) at++;
  return at;
}

function wordEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && XML_WORD[LOWER[bytes[at]!]!] === 1) at++;
  return at;
}

function isEnd(byte: number): boolean {
  return byte === Byte.Greater || byte === Byte.LeftBracket || byte === Byte.Less;
}

/**
 * Whether the bytes of an XML document are not those of its characters: UTF-16 and UTF-32, EBCDIC, or a declared
 * encoding in which ASCII means something else. XML 1.0, appendix F. A declaration of UTF-16 in plain ASCII is a
 * well-known slip of generators, and hides nothing.
 * @param isDeclared whether the body is called XML; of another one, only the declaration tells
 */
function hidesItsText(bytes: Uint8Array, from: number, to: number, isDeclared: boolean): boolean {
  if (to - from < 4) return false;
  if (isEbcdic(bytes, from, to)) return true;
  if (isDeclared) {
    if (bytes[from]! >= 0xfe) return true;
    for (let at = from; at < from + 4; at++) if (bytes[at] === Byte.Nul) return true;
  }
  const limit = Math.min(to, from + MAX_BEFORE);
  const open = indexOfByte(bytes, Byte.Question, from, limit);
  if (open === limit || bytes[open - 1] !== Byte.Less) return false;
  const declaration = sliceText(bytes, open, indexOfByte(bytes, Byte.Question, open + 1, to)).toLowerCase();
  const encoding = /^\?xml\s.*?encoding\s*=\s*["']([^"']+)/s.exec(declaration)?.[1] ?? "";
  return encoding !== "" && !WIDE.test(encoding) && !isPlainCharset(encoding);
}

/** Whether an XML document begins in EBCDIC: its first characters, "<?xm", are in all its kinds the same. */
export function isEbcdic(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from >= EBCDIC.length && EBCDIC.every((byte, i) => bytes[from + i] === byte);
}

const CLASS: Uint8Array = latin1("class");
/** Bytes of a name with a prefix of its own. */
const MAX_INCLUDE_NAME = 64;
const INCLUDE: Uint8Array = latin1("include");
const XMLNS: Uint8Array = latin1("xmlns:");
const LOWER_M = 0x6d;
/** Letters, the low line, and all beyond ASCII. XML 1.0 §2.3. */
const IS_NAME_START: Uint8Array = byteTable((byte) => {
  const lower = byte | 0x20;
  return (lower >= Byte.LowerA && lower <= Byte.LowerZ) || byte === Byte.Underscore || byte >= 0x80 ? 1 : 0;
});
/** What is between attributes: white space, the slash of an empty element, stray quotes. */
const IS_GAP: Uint8Array = byteTable((byte) =>
  byte <= Byte.Space || byte === Byte.Slash || byte === Byte.Quote || byte === Byte.Apostrophe ? 1 : 0,
);
const ENTITY: Uint8Array = latin1("entity");
const DOCTYPE: Uint8Array = latin1("doctype");
const SYSTEM: Uint8Array = latin1("system");
const PUBLIC: Uint8Array = latin1("public");
const FILE: Uint8Array = latin1("file");
const KNOWN: readonly string[] = ["lt", "gt", "amp", "quot", "apos"];
/** So many entities in one are made to grow. */
const MANY_REFERENCES = 3;
const MAX_PLACE = 512;
const UPPER_I = 0x49;
const UPPER_S = 0x53;
const EBCDIC: readonly number[] = [0x4c, 0x6f, 0xa7, 0x94];
/** White space and marks that may stand in front of a declaration. */
const MAX_BEFORE = 64;
const WIDE = /^(?:utf-?16|ucs-?2|iso-10646-ucs-2)/;
