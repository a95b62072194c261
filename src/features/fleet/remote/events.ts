import { ERROR, number, text } from "../../../core/event-row.ts";

/** What a configuration from afar writes to the log. docs/fleet.md#configuration-from-afar */
export const REMOTE_EVENTS = {
  config_source_away: {
    level: "error",
    meaning: "The URL that the configuration comes from could not be asked. One line until it can be asked again.",
    advice: "See the server of the URL. The configuration from before serves, over restarts as well.",
    fields: {
      source: text("the URL"),
      error: ERROR,
      version: text("the configuration that serves on"),
      age_s: number("for how long it has served"),
    },
  },
  config_source_back: {
    meaning: "The URL that the configuration comes from could be asked again.",
    advice: "Nothing.",
    fields: { source: text("the URL") },
  },
  config_not_kept: {
    level: "error",
    meaning: "The last good configuration from afar could not be written into `folder`.",
    advice: "Make the folder writable: without it a start needs the source of the configuration.",
    fields: { folder: text("the folder"), reason: text("why") },
  },
} as const;
