import { Byte, equalsLower, LOWER, latin1 } from "../../../core/ascii.ts";
import { sliceText } from "../../../core/bytes.ts";
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
  const subtype = sliceText(bytes, from, to).toLowerCase().split("/")[1] ?? "";
  if (JSON_SUBTYPES.includes(subtype) || subtype.endsWith("+json")) return BodyType.Json;
  return XML_SUBTYPES.includes(subtype) || subtype.endsWith("+xml") ? BodyType.Xml : BodyType.Other;
}

function startsLower(bytes: Uint8Array, from: number, to: number, lower: Uint8Array): boolean {
  if (to - from < lower.length) return false;
  for (let i = 0; i < lower.length; i++) if (LOWER[bytes[from + i]!] !== lower[i]) return false;
  return true;
}

const IDENTITY: Uint8Array = latin1("identity");
const FORM: Uint8Array = latin1("application/x-www-form-urlencoded");
const MULTIPART: Uint8Array = latin1("multipart/");
const JSON_SUBTYPES: readonly string[] = ["json", "x-json", "ndjson", "x-ndjson", "jsonl", "csp-report"];
/** RFC 7303. */
const XML_SUBTYPES: readonly string[] = ["xml", "xml-external-parsed-entity", "xml-dtd"];
