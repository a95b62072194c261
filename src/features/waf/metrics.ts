import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of the firewall. docs/waf.md */
export const WAF_METRICS = {
  gateway_waf_inspected_requests_total: {
    kind: "counter",
    help: "Requests inspected by the firewall.",
    labels: [],
    group: "Firewall and guards",
    title: "Inspected requests",
    advice:
      "It follows the requests. If it is lower, routes have the firewall off or clients are in `waf.allowed_ips`.",
  },
  gateway_waf_blocked_requests_total: {
    kind: "counter",
    help: "Requests refused by the firewall, by category.",
    labels: ["category"],
    group: "Firewall and guards",
    title: "Blocked by the firewall",
    advice:
      "From few addresses it is an attack: see `edge top`, list 3. From many users right after you released, it is a false positive: `edge waf test` shows you the rule, and an exclusion lets the request pass.",
  },
  gateway_waf_detected_requests_total: {
    kind: "counter",
    help: "Requests that matched the firewall's rules in detection mode and passed, by category.",
    labels: ["category"],
    group: "Firewall and guards",
    title: "Detected and passed",
    advice: "`mode: enforce` would refuse these. If they are all attacks, you can switch over.",
  },
  gateway_waf_budget_exhausted_total: {
    kind: "counter",
    help: "Inspections that the firewall ended because they took too many steps.",
    labels: [],
    group: "Firewall and guards",
    title: "Inspections that took too long",
    advice:
      "Requests made to be slow to inspect; they score as attacks. If your users are among them: their bodies are unusual, check the incidents.",
  },
} as const satisfies MetricRows;
