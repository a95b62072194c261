import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of `auth`. docs/authentication.md */
export const AUTH_METRICS = {
  gateway_auth_refusals_total: {
    kind: "counter",
    help: "Requests refused because their credentials are missing or wrong, or could not be checked, by status.",
    labels: ["status"],
    group: "Who may come in",
    title: "Refused for credentials",
    advice:
      "401 from few addresses: a client guesses passwords (429 follows). 503: your authentication service is down. 401 of all your users at once: its key or clock has changed.",
  },
  gateway_sign_in_failures_total: {
    kind: "counter",
    help: "Sign-ins with OpenID Connect, renewals of sessions and sign-outs that failed, by step.",
    labels: ["step"],
    group: "Who may come in",
    title: "Failed sign-ins",
    advice:
      "`login`: your provider does not answer. `callback`: its settings of your client, or a clock, are wrong. Find `sign_in_failed` in your log to see which.",
  },
  gateway_jwks_fetches_total: {
    kind: "counter",
    help: "Requests for the keys of token issuers, by URL and result.",
    labels: ["url", "result"],
    group: "Who may come in",
    title: "Fetches of token keys",
    advice:
      "Failures are harmless as long as the keys from before hold. Meanwhile edge does not get new keys of your issuer.",
  },
  gateway_jwks_keys: {
    kind: "gauge",
    help: "Keys of token issuers that tokens are verified with, by URL.",
    labels: ["url"],
    group: "Who may come in",
    title: "Keys of token issuers",
    advice: "0: edge cannot verify a token of this issuer, and your users get 503.",
  },
} as const satisfies MetricRows;
