import { CONNECT_FAILURE_LOG_MS, flag, number, ROUTE, text } from "../../core/event-row.ts";

/** What mirrors write to the log. docs/upstreams.md#mirroring */
export const MIRROR_EVENTS = {
  mirror_difference: {
    meaning: "A mirror's response differs. One line in 10 s for each route and mirror.",
    advice: "Compare both responses: the mirror is not what the target is.",
    everyMs: CONNECT_FAILURE_LOG_MS,
    fields: {
      route: ROUTE,
      upstream: text("the mirror"),
      request_id: text("the request, as in its access line"),
      status: number("status of the target's response"),
      mirror_status: number("status of the mirror's"),
      same_body: flag("whether the bodies are the same"),
    },
  },
} as const;
