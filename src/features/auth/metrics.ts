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
      "401 from few addresses is guessing (429 follows). 503: the service that judges is down. 401 of all users at once: its key or clock has changed.",
  },
  gateway_sign_in_failures_total: {
    kind: "counter",
    help: "Sign-ins with OpenID Connect, renewals of sessions and sign-outs that failed, by step.",
    labels: ["step"],
    group: "Who may come in",
    title: "Failed sign-ins",
    advice:
      "`login`: the provider does not answer. `callback`: its settings of this client, or a clock, are wrong. Find `sign_in_failed` in your log to see which.",
  },
  gateway_jwks_fetches_total: {
    kind: "counter",
    help: "Requests for the keys of token issuers, by URL and result.",
    labels: ["url", "result"],
    group: "Who may come in",
    title: "Fetches of token keys",
    advice:
      "Failures are harmless for as long as the keys from before hold; new keys of the issuer are not taken meanwhile.",
  },
  gateway_jwks_keys: {
    kind: "gauge",
    help: "Keys of token issuers that tokens are verified with, by URL.",
    labels: ["url"],
    group: "Who may come in",
    title: "Keys of token issuers",
    advice: "0: no token of this issuer can be verified, requests get 503.",
  },
} as const satisfies MetricRows;
