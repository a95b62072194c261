import type { WafRule } from "../waf-rule.ts";
import type { Sign } from "./sign.ts";

/** A rule on values: it matches where the sign is found. */
export interface ValueRule extends WafRule {
  readonly sign: Sign;
}
