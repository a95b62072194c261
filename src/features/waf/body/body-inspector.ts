import { Byte } from "../../../core/ascii.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import type { Findings } from "../findings.ts";
import { findFamilies, PAIR_BYTES } from "../match/escaped-scan.ts";
import type { KeywordAutomaton } from "../match/keyword-automaton.ts";
import { Place } from "../match/value-reading.ts";
import { inspectPairs } from "../pair-inspector.ts";
import { BODY_FAMILIES } from "../rules/family.ts";
import { Sign } from "../rules/sign.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { BodyType, bodyTypeOf, typeParameters } from "./body-type.ts";
import { findJsonFamilies, inspectJson } from "./json-strings.ts";
import { inspectMultipart } from "./multipart-parts.ts";
import { parameterOf, type TypeParameter } from "./type-parameters.ts";
import { inspectXml } from "./xml-values.ts";

/** Inspects the beginning of a body as its Content-Type says. */
export function inspectBody(
  inspector: ValueInspector,
  findings: Findings,
  automaton: KeywordAutomaton,
  headers: HeaderBlock,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  const type = bodyTypeOf(headers);
  inspector.value.place = Place.Body;
  inspector.nameNothing();
  const parameters = typeParameters(headers);
  const charset = parameterOf(parameters, "charset")?.toLowerCase() ?? "";
  if (HIDING_CHARSETS.some((one) => charset.startsWith(one))) findings.found(Sign.HiddenCharset, 0);
  switch (type) {
    case BodyType.Form:
      if ((findFamilies(automaton, PAIR_BYTES, bytes, from, to) & BODY_FAMILIES) === 0) return;
      inspectPairs(inspector, Place.Body, Byte.Ampersand, bytes, from, to);
      return;
    case BodyType.Json:
      if ((findJsonFamilies(automaton, bytes, from, to) & BODY_FAMILIES) === 0) return;
      inspectJson(inspector, bytes, from, to);
      return;
    case BodyType.Multipart:
      if (!inspectMultipart(inspector, findings, boundaryOf(parameters), bytes, from, to)) {
        findings.found(Sign.UnreadableBody, 0);
      }
      return;
    case BodyType.Xml:
      inspectXml(inspector, findings, bytes, from, to);
  }
}

/** The one boundary; "" where there is none, or a choice of them. */
function boundaryOf(parameters: readonly TypeParameter[]): string {
  const boundaries = parameters.filter((parameter) => parameter.name.startsWith("boundary"));
  return boundaries.length === 1 ? (parameterOf(boundaries, "boundary") ?? "") : "";
}

/** What the names of character sets begin with in which text that looks harmless is not. */
const HIDING_CHARSETS: readonly string[] = [
  ...["utf-7", "utf7", "utf-16", "utf16", "utf-32", "utf32", "ucs-2", "ucs2", "ucs-4", "ucs4", "unicode"],
  ...["ibm", "x-ibm", "cp037", "cp500", "cp1026", "ebcdic", "iso-2022", "hz-gb", "x-user-defined"],
];
