import { Byte, equalsLower, latin1 } from "../../../core/ascii.ts";
import { indexOfByte } from "../../../core/bytes.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import { HeaderId } from "../../../message/header-id.ts";
import { parametersOf, type TypeParameter } from "./type-parameters.ts";

/** Kinds of bodies that are inspected. */
export const enum BodyType {
  /** Any other: it passes. */
  Other = 0,
  Form,
  Json,
  Multipart,
  Xml,
}

/**
 * What a request says that its body is. A body with a Content-Encoding is not inspected: to unpack what an attacker
 * packed costs more than it is worth, and few applications take such requests.
 */
export function bodyTypeOf(headers: HeaderBlock): BodyType {
  const coding = headers.find(HeaderId.ContentEncoding);
  if (coding >= 0 && !headers.valueEquals(coding, IDENTITY)) return BodyType.Other;
  // Where there are two, the application may go by either.
  for (let i = headers.find(HeaderId.ContentType); i >= 0; i = headers.find(HeaderId.ContentType, i + 1)) {
    const type = typeOf(headers.bytes, headers.spans[i * 4 + 2]!, headers.spans[i * 4 + 3]!);
    if (type !== BodyType.Other) return type;
  }
  return BodyType.Other;
}

/** All parameters of Content-Type. */
export function typeParameters(headers: HeaderBlock): TypeParameter[] {
  const found: TypeParameter[] = [];
  for (let i = headers.find(HeaderId.ContentType); i >= 0; i = headers.find(HeaderId.ContentType, i + 1)) {
    found.push(...parametersOf(headers.valueText(i)));
  }
  return found;
}

function typeOf(bytes: Uint8Array, from: number, valueTo: number): BodyType {
  let to = from;
  while (to < valueTo && bytes[to] !== Byte.Semicolon && bytes[to] !== Byte.Comma && bytes[to]! > Byte.Space) to++;
  if (equalsLower(bytes, from, to, FORM)) return BodyType.Form;
  if (startsLower(bytes, from, to, MULTIPART)) return BodyType.Multipart;
  const subFrom = indexOfByte(bytes, Byte.Slash, from, to) + 1;
  const subTo = indexOfByte(bytes, Byte.Slash, subFrom, to);
  if (isOneOf(bytes, subFrom, subTo, JSON_SUBTYPES, JSON_SUFFIX)) return BodyType.Json;
  return isOneOf(bytes, subFrom, subTo, XML_SUBTYPES, XML_SUFFIX) ? BodyType.Xml : BodyType.Other;
}

/** Whether a subtype is one of these, or ends in the suffix of their syntax. RFC 6838 §4.2.8. */
function isOneOf(
  bytes: Uint8Array,
  from: number,
  to: number,
  names: readonly Uint8Array[],
  suffix: Uint8Array,
): boolean {
  for (let i = 0; i < names.length; i++) if (equalsLower(bytes, from, to, names[i]!)) return true;
  return to - from >= suffix.length && equalsLower(bytes, to - suffix.length, to, suffix);
}

function startsLower(bytes: Uint8Array, from: number, to: number, lower: Uint8Array): boolean {
  return to - from >= lower.length && equalsLower(bytes, from, from + lower.length, lower);
}

const IDENTITY: Uint8Array = latin1("identity");
const FORM: Uint8Array = latin1("application/x-www-form-urlencoded");
const MULTIPART: Uint8Array = latin1("multipart/");
const JSON_SUBTYPES: readonly Uint8Array[] = ["json", "x-json", "ndjson", "x-ndjson", "jsonl", "csp-report"].map(
  latin1,
);
const JSON_SUFFIX: Uint8Array = latin1("+json");
/** RFC 7303. */
const XML_SUBTYPES: readonly Uint8Array[] = ["xml", "xml-external-parsed-entity", "xml-dtd"].map(latin1);
const XML_SUFFIX: Uint8Array = latin1("+xml");
