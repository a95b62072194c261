import { jsonText } from "./json-text.ts";

/** A value of an event's field. */
export type EventValue = string | number | boolean | null | readonly string[];
/** Fields of an event, in the order in which they are written. */
export type EventFields = Readonly<Record<string, EventValue>>;

/**
 * One line of the log for an event: `{"timestamp":…,"event":…,<fields>}` and a line break. Spec, "Events".
 * @param timestampMs milliseconds since the epoch
 * @param event its kind, such as `waf_block`
 * @param fields texts may hold anything that a client sent: they are escaped, and cut at 2048 characters
 */
export function eventLine(timestampMs: number, event: string, fields: EventFields): string {
  let line = `{"timestamp":"${new Date(timestampMs).toISOString()}","event":${jsonText(event, MAX_TEXT)}`;
  for (const name of Object.keys(fields)) line += `,${jsonText(name, MAX_TEXT)}:${valueText(fields[name]!)}`;
  return `${line}}\n`;
}

function valueText(value: EventValue): string {
  if (typeof value === "string") return jsonText(value, MAX_TEXT);
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "null";
  if (typeof value === "boolean" || value === null) return String(value);
  return `[${value
    .slice(0, MAX_ITEMS)
    .map((item) => jsonText(item, MAX_TEXT))
    .join(",")}]`;
}

const MAX_TEXT = 2048;
const MAX_ITEMS = 100;
