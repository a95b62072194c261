import type { EventRow } from "../../src/core/event-row.ts";
import { EVENTS } from "../../src/facts/events.ts";
import type { LogLine } from "./line-collector.ts";

const ROWS: Readonly<Record<string, EventRow>> = EVENTS;
/** What every line may have. */
const COMMON: ReadonlySet<string> = new Set(["event", "time", "timestamp", "not_logged"]);

/** What is wrong with lines of the log: events without a row, and fields that are missing or that the row does not have. */
export function eventFaults(lines: readonly LogLine[]): string[] {
  return lines.flatMap((line) => {
    const name = String(line.event);
    const row = ROWS[name];
    if (row === undefined) return /^(access|stream|undefined)$/.test(name) ? [] : [`${name} is no event`];
    const missing = Object.entries(row.fields).filter(([field, { isOptional }]) => !isOptional && !(field in line));
    const others = Object.keys(line).filter((field) => !COMMON.has(field) && !(field in row.fields));
    return [
      ...missing.map(([field]) => `${name} lacks ${field}: ${JSON.stringify(line)}`),
      ...(row.isOpen === true ? [] : others).map((field) => `${name} has no field ${field}: ${JSON.stringify(line)}`),
    ];
  });
}
