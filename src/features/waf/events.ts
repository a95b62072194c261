import { numberField, OF_REQUEST, OF_TARGET, optional, textField, texts } from "../../core/event-row.ts";

const OF_MATCH = {
  ...OF_REQUEST,
  method: textField("method of the request"),
  path: textField("the target up to its query"),
  category: textField("category of the attack"),
  rule_id: textField("the rule that matched"),
  crs: optional(numberField("the rule of the OWASP Core Rule Set that finds the same")),
  anomaly_score: numberField("score of the request"),
  action: textField("blocked or logged"),
  location: textField("part of the request in which it matched"),
  msg: optional(textField("message of a rule of `waf.rules`")),
  data: optional(textField("its `logdata`")),
  severity: optional(textField("its severity")),
  tags: optional(texts("its tags")),
  triggered_rules: optional(texts("all rules that matched, if clients are not told them")),
} as const;

/** What the firewall writes to the log. docs/waf.md#events */
export const WAF_EVENTS = {
  waf_block: {
    level: "warn",
    meaning: "The firewall refused a request.",
    advice:
      "From one address: an attack, and you do not need to do anything. From your users: a false positive, which an exclusion of `rule_id` at `location` lets pass (docs/waf.md#false-positives).",
    fields: OF_MATCH,
  },
  waf_detect: {
    level: "warn",
    meaning: "The firewall matched a request in detection mode and let it pass.",
    advice: "Decide whether it is an attack. If all of them are, you can set `mode: enforce`.",
    fields: OF_MATCH,
  },
  waf_over_limit: {
    level: "warn",
    meaning: "413: the body is larger than `max_inspect_body_size` and `over_limit` is `reject`.",
    advice: "Raise `max_inspect_body_size`, or exclude the route from `over_limit: reject`.",
    fields: {
      ...OF_REQUEST,
      ...OF_TARGET,
      key: textField("the setting"),
      max_inspect_body_size: numberField("bytes that are inspected at most"),
    },
  },
} as const;
