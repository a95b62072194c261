import type { MetricRows } from "../../core/metric-row.ts";

/** Metrics of language models. docs/ai.md */
export const AI_METRICS = {
  gateway_ai_tokens_total: {
    kind: "counter",
    help: "Tokens of language models, by route, model and kind (prompt, completion).",
    labels: ["route", "model", "kind"],
    group: "Traffic",
    title: "Tokens of models",
    advice: "Multiply by the price of the model. If one grows faster than you want, set `ai.tokens` at its route.",
  },
} as const satisfies MetricRows;
