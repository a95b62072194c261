import { eventLine } from "../features/telemetry/events.ts";

/** What people would read of a start, as lines of the log. */
export function asEvents(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "" && !/^(More: |Try )/.test(line));
  const eventOf = (line: string): string =>
    line.endsWith(WARNING)
      ? eventLine(Date.now(), "start", { note: line.slice(0, -WARNING.length) })
      : eventLine(Date.now(), "start_failed", { error: line });
  return lines.map(eventOf).join("");
}

const WARNING = " (warning)";
