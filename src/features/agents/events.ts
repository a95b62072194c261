import { numberField, OF_REQUEST, optional, textField, texts } from "../../core/event-row.ts";

/** What signed agents write to the log. docs/agents.md */
export const AGENT_EVENTS = {
  agent_directory_fetched: {
    meaning: "The key directory of an agent was fetched, and has other keys than before.",
    advice: "You do not need to do anything. `passed_over` says which keys do not count, and why.",
    fields: {
      url: textField("the directory"),
      keys: numberField("keys that count"),
      passed_over: optional(texts("why others do not")),
    },
  },
  agent_directory_failed: {
    level: "warn",
    meaning: "The key directory of an agent cannot be had. The keys from before stay.",
    advice: "`edge agents check URL` fetches it and says more. Without keys, the agent's requests are unsigned ones.",
    fields: {
      url: textField("the directory"),
      error: textField("why"),
      failures: numberField("in a row"),
      keys_kept: numberField("keys that still count"),
      retry_in_s: numberField("seconds until it is tried again"),
    },
  },
  agent_signature_refused: {
    level: "debug",
    meaning: "A request has a signature that does not verify: it is an unsigned one.",
    advice: "Check `reason` (docs/agents.md#refused-signatures), and tell the agent's owner.",
    perSecond: 20,
    fields: {
      ...OF_REQUEST,
      reason: textField("in a word, why it does not count"),
    },
  },
} as const;
