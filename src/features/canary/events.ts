import { nullable, numberField, optional, ROUTE, textField } from "../../core/event-row.ts";

const NUMBERS = {
  share: numberField("percent of the requests that the new version gets from now on"),
  requests: numberField("requests of the new version"),
  errors: numberField("5xx, and attempts without a response, among them"),
  old_requests: numberField("requests of the old version meanwhile"),
  old_errors: numberField("errors among them"),
  p99_ms: nullable(numberField("the 99th percentile of the new version's times, in milliseconds")),
  old_p99_ms: nullable(numberField("that of the old version's")),
  errors_evidence: numberField("evidence for more errors: above 200 the rollout is over"),
  latency_evidence: numberField("evidence for slower responses, likewise"),
} as const;

/** What rollouts write to the log. docs/pressure.md#canaries */
export const CANARY_EVENTS = {
  canary_started: {
    meaning: "A new version of a route's targets begins to get requests.",
    advice: "You do not need to do anything: `edge canary status` shows how it goes.",
    fields: { route: ROUTE, targets: textField("its addresses"), share: NUMBERS.share },
  },
  canary_step: {
    meaning: "The new version is no worse so far, and gets a larger share of the requests.",
    advice: "You do not need to do anything.",
    fields: { route: ROUTE, ...NUMBERS },
  },
  canary_held: {
    meaning: "The step has lasted long enough, and the share does not grow yet.",
    advice:
      "With `few_requests`, lower `abort.min_requests`, wait, or `edge canary promote`. With `evidence` the new version may be worse.",
    fields: { route: ROUTE, reason: textField("`few_requests` or `evidence`"), ...NUMBERS },
  },
  canary_promoted: {
    meaning: "The new version gets all requests.",
    advice: "Write its targets into `targets` and remove `canary`.",
    fields: { route: ROUTE, reason: optional(textField("`operator`, if one has done it")), ...NUMBERS },
  },
  canary_aborted: {
    level: "warn",
    meaning:
      "The new version is worse than the old one, or an operator has ended the rollout: it gets no requests any more.",
    advice: "Check its errors and times. Another `target` in the file begins anew.",
    fields: { route: ROUTE, reason: textField("`errors`, `latency` or `operator`"), ...NUMBERS },
  },
} as const;
