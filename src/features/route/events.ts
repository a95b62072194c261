import { OF_REQUEST, OF_TARGET, STATUS, textField } from "../../core/event-row.ts";

/** What routing writes to the log. docs/files.md#paths */
export const ROUTE_EVENTS = {
  prefix_guard_block: {
    level: "warn",
    meaning: "403: the path leads out of its static prefix.",
    advice: "You do not need to do anything: a scanner looks for files outside.",
    perSecond: 100,
    fields: { ...OF_REQUEST, ...OF_TARGET, action: textField("blocked"), status: STATUS },
  },
} as const;
