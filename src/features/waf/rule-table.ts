import { FILE_RULES } from "./rules/file-rules.ts";
import { RCE_RULES } from "./rules/rce-rules.ts";
import { REQUEST_RULES } from "./rules/request-rules.ts";
import { SQLI_RULES } from "./rules/sqli-rules.ts";
import type { ValueRule } from "./rules/value-rule.ts";
import { XSS_RULES } from "./rules/xss-rules.ts";
import { TRAVERSAL_RULES } from "./traversal-rules.ts";
import { CRITICAL_SCORE, type WafRule } from "./waf-rule.ts";

/** The rules on values, by sign. */
export const VALUE_RULES: readonly ValueRule[] = [
  ...SQLI_RULES,
  ...XSS_RULES,
  ...RCE_RULES,
  ...FILE_RULES,
  ...REQUEST_RULES,
].sort((a, b) => a.sign - b.sign);

/** The rule on requests whose inspection costs more than that of any honest one. */
export const SPENT_RULE: WafRule = {
  id: "PROTOCOL-007",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "more steps of inspection than any honest request of that length takes",
};

/** The whole rule table. */
export const WAF_RULES: readonly WafRule[] = [...TRAVERSAL_RULES, ...VALUE_RULES, SPENT_RULE];
