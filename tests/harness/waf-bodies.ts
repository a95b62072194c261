// Bodies for parts of the firewall that are asked without a gateway around them.
import { BodyReading } from "../../src/features/waf/body/body-reading.ts";
import { type BodyHints, factsOf } from "../../src/features/waf/seclang/body-facts.ts";
import type { BodyFacts } from "../../src/features/waf/seclang/rule-values.ts";
import type { WafInspector } from "../../src/features/waf/waf-inspector.ts";
import type { HeaderBlock } from "../../src/message/header-block.ts";
import type { RequestHead } from "../../src/message/request-head.ts";

/** A body as the firewall reads it. */
export function bodyReading(headers: HeaderBlock, bytes: Uint8Array, maxBytes = 65_536): BodyReading {
  const reading = new BodyReading();
  reading.begin(headers, bytes, 0, bytes.length, maxBytes);
  return reading;
}

/** What rules of `waf.rules` see of a body. */
export function ruleBody(
  headers: HeaderBlock,
  bytes: Uint8Array,
  hints: Partial<BodyHints>,
  maxBytes?: number,
): BodyFacts {
  return factsOf(bodyReading(headers, bytes, maxBytes), { isJson: false, processor: "", ...hints });
}

/** Inspects a whole body. @returns the score of head and body */
export function inspectWhole(
  by: WafInspector,
  head: RequestHead,
  headScore: number,
  body: Uint8Array,
  length = body.length,
): number {
  by.body.begin(head.headers, body, 0, length, length);
  return by.inspectBody(head, headScore);
}
