import { TRAVERSAL_RULES } from "./traversal-rules.ts";
import type { WafRule } from "./waf-rule.ts";

/** The whole rule table. */
export const WAF_RULES: readonly WafRule[] = TRAVERSAL_RULES;
