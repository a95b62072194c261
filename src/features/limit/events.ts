import { numberField, OF_REQUEST, OF_TARGET, ROUTE, STATUS } from "../../core/event-row.ts";

/** What rate limits write to the log. docs/guards.md#rate-limits */
export const LIMIT_EVENTS = {
  rate_limited: {
    level: "warn",
    meaning: "A request exceeded its rate limit.",
    advice: "If your users exceed it, raise the limit or choose another `key`.",
    perSecond: 20,
    fields: {
      ...OF_REQUEST,
      ...OF_TARGET,
      route: ROUTE,
      status: STATUS,
      retry_after: numberField("seconds after which the client may ask again"),
    },
  },
} as const;
