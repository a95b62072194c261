import type { EVENTS } from "../facts/events.ts";
import { eventLine } from "../features/telemetry/event-log.ts";

/** What people would read of a start, as lines of the log. */
export function asEvents(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "" && !/^(More: |Try )/.test(line));
  const eventOf = (line: string): string =>
    line.endsWith(WARNING)
      ? eventLine<typeof EVENTS>(Date.now(), "start", { note: line.slice(0, -WARNING.length) })
      : eventLine<typeof EVENTS>(Date.now(), "start_failed", { error: line });
  return lines.map(eventOf).join("");
}

const WARNING = " (warning)";
