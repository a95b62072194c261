import { EVENTS } from "../facts/events.ts";
import { ACCESS_FIELDS, USUAL_ACCESS_FIELDS } from "../features/telemetry/access-fields.ts";

type Row = readonly [name: string, meaning: string];

/** `edge help log`. @param table lays rows out, as help does with all of them */
export function logReference(table: (rows: readonly Row[]) => string): string {
  const plain = (rows: readonly Row[]) => table(rows.map(([name, meaning]) => [name, meaning.replaceAll("`", "")]));
  const fields = Object.entries(ACCESS_FIELDS);
  const events = Object.entries(EVENTS).map(([name, { meaning, fields }]): Row => {
    return [name, `${meaning} Fields: ${Object.keys(fields).join(", ")}.`];
  });
  return (
    "The log goes to standard output, one JSON object a line.\n" +
    "not_logged counts the lines of this kind that were left out before it, because\nthere were too many.\n\n" +
    `Each request is a line where server.access_log is on:\n${plain(fields.slice(0, USUAL_ACCESS_FIELDS.length))}\n` +
    `access_log.fields may name these as well:\n${plain(fields.slice(USUAL_ACCESS_FIELDS.length))}\n` +
    `Events, each with time (and the same as timestamp):\n${plain(events)}`
  );
}
