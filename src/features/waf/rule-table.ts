import { TRAVERSAL_RULES } from "./traversal-rules.ts";
import type { WafRule } from "./waf-rule.ts";

/** The whole rule table. */
export const WAF_RULES: readonly WafRule[] = TRAVERSAL_RULES;

/** The ids among these that no rule has. Decisions §5: such an id in `disabled_rules` is a configuration error. */
export function unknownRules(ids: readonly string[]): readonly string[] {
  const known = new Set(WAF_RULES.map((rule) => rule.id));
  return ids.filter((id) => !known.has(id));
}
