import { CONNECT_FAILURE_LOG_MS, flagField, numberField, ROUTE, textField } from "../../core/event-row.ts";

/** What mirrors write to the log. docs/upstreams.md#mirroring */
export const MIRROR_EVENTS = {
  mirror_difference: {
    meaning: "A mirror's response differs. One line in 10 s for each route and mirror.",
    advice: "Compare both responses: the mirror behaves differently from the target.",
    everyMs: CONNECT_FAILURE_LOG_MS,
    fields: {
      route: ROUTE,
      upstream: textField("the mirror"),
      request_id: textField("the request, as in its access line"),
      status: numberField("status of the target's response"),
      mirror_status: numberField("status of the mirror's"),
      same_body: flagField("whether the bodies are the same"),
    },
  },
} as const;
