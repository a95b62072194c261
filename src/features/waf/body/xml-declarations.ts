import { Byte, equalsLower, LOWER, latin1 } from "../../../core/ascii.ts";
import { sliceText } from "../../../core/bytes.ts";
import type { Findings } from "../findings.ts";
import { Sign } from "../rules/sign.ts";
import type { ValueInspector } from "../value-inspector.ts";

/**
 * Inspects <!ENTITY …> and the head of <!DOCTYPE …>. An entity whose text is elsewhere is an attack in a request; so is one
 * that is made of many others. A document type elsewhere is one unless it is that of a standard or of the type's owner.
 * @returns where to look on: behind the declaration, or behind the bracket that begins a list of others
 */
export function inspectDeclaration(
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
      if (isEntity && countReferences(bytes, at + 1, end) >= MANY_REFERENCES) report(Sign.GrowingEntity, end);
      isFormal ||= isType && isStandard(bytes, at + 1);
      if (isExternal && isType && !isFormal && isElsewhere(bytes, at + 1, end, name)) report(Sign.ExternalEntity, end);
      if (isEntity || isType) inspectLiteral(inspector, bytes, at + 1, end);
      at = end + 1;
      continue;
    }
    const end = wordEnd(bytes, at, to);
    if (end > at && name === "") name = sliceText(bytes, at, end).toLowerCase();
    else if (equalsLower(bytes, at, end, SYSTEM) || equalsLower(bytes, at, end, PUBLIC)) {
      isExternal = true;
      if (isEntity) report(Sign.ExternalEntity, end);
    }
    at = Math.max(end, at + 1);
  }
  return at < to && bytes[at] !== Byte.Less ? at + 1 : at;

  // Once a declaration: what is shown of it is read anew each time, and a declaration may be as long as the body.
  function report(sign: Sign, end: number): void {
    if (isReported) return;
    isReported = true;
    inspector.nameNothing();
    inspector.value.load(bytes, open, end);
    findings.setSource(bytes, open, end);
    findings.found(sign, 0);
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
  while (at < to && isWordByte(LOWER[bytes[at]!]!)) at++;
  return at;
}

function isWordByte(lower: number): boolean {
  const isLetter = (lower >= Byte.LowerA && lower <= Byte.LowerZ) || lower === Byte.Underscore || lower >= 0x80;
  return isLetter || (lower >= Byte.Zero && lower <= Byte.Nine) || lower === Byte.Dash || lower === Byte.Dot;
}

function isEnd(byte: number): boolean {
  return byte === Byte.Greater || byte === Byte.LeftBracket || byte === Byte.Less;
}

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
