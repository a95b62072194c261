import { OF_REQUEST, OF_TARGET, ROUTE, STATUS } from "../../core/event-row.ts";

/** What maintenance writes to the log. docs/pages.md#maintenance */
export const PAGE_EVENTS = {
  maintenance_reject: {
    meaning: "503: a request came to a route under maintenance.",
    advice: "You do not need to do anything if you want the maintenance.",
    perSecond: 20,
    fields: { ...OF_REQUEST, ...OF_TARGET, route: ROUTE, status: STATUS },
  },
} as const;
