import type { HeaderBlock } from "../../../message/header-block.ts";
import type { Findings } from "../findings.ts";
import { mayHoldKeyword, PAIR_ROLES } from "../match/escaped-scan.ts";
import type { KeywordFilter } from "../match/keyword-filter.ts";
import { Place } from "../match/value-reading.ts";
import { inspectPairs } from "../pair-inspector.ts";
import { Sign } from "../rules/sign.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { BodyType, bodyTypeOf, typeParameter } from "./body-type.ts";
import { inspectJson, mayJsonHoldKeyword } from "./json-strings.ts";
import { inspectMultipart } from "./multipart-parts.ts";

/** Inspects the beginning of a body as its Content-Type says. */
export function inspectBody(
  inspector: ValueInspector,
  findings: Findings,
  filter: KeywordFilter,
  headers: HeaderBlock,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  const type = bodyTypeOf(headers);
  inspector.value.place = Place.Body;
  inspector.nameNothing();
  const charset = typeParameter(headers, "charset").toLowerCase();
  if (HIDING_CHARSETS.some((one) => charset.startsWith(one))) findings.found(Sign.HiddenCharset, 0);
  switch (type) {
    case BodyType.Form:
      if (!mayHoldKeyword(filter, PAIR_ROLES, bytes, from, to)) return;
      inspectPairs(inspector, Place.Body, AMPERSAND, bytes, from, to);
      return;
    case BodyType.Json:
      if (mayJsonHoldKeyword(filter, bytes, from, to)) inspectJson(inspector, bytes, from, to);
      return;
    case BodyType.Multipart:
      if (!inspectMultipart(inspector, findings, typeParameter(headers, "boundary"), bytes, from, to)) {
        findings.found(Sign.UnreadableBody, 0);
      }
  }
}

const AMPERSAND = 0x26;
/** What the names of character sets begin with in which text that looks harmless is not. */
const HIDING_CHARSETS: readonly string[] = [
  ...["utf-7", "utf7", "utf-16", "utf16", "utf-32", "utf32", "ucs-2", "ucs2", "ucs-4", "ucs4", "unicode"],
  ...["ibm", "x-ibm", "cp037", "cp500", "cp1026", "ebcdic", "iso-2022", "hz-gb", "x-user-defined"],
];
