import { ACCESS_FIELDS, USUAL_ACCESS_FIELDS } from "../core/access-fields.ts";
import { EVENTS } from "../features/telemetry/events.ts";

/** `edge help log`. */
export function logReference(): string {
  const fields = Object.entries(ACCESS_FIELDS);
  const events = Object.entries(EVENTS).map(([name, { meaning }]) => [name, meaning] as const);
  return (
    "The log goes to standard output, one JSON object a line.\n" +
    "not_logged counts the lines of this kind that were left out before it, because there were too many.\n\n" +
    `Each request is a line where server.access_log is on:\n${table(fields.slice(0, USUAL_ACCESS_FIELDS.length))}\n` +
    `access_log.fields may name these as well:\n${table(fields.slice(USUAL_ACCESS_FIELDS.length))}\n` +
    `Events, each with time (and the same as timestamp):\n${table(events)}`
  );
}

function table(rows: readonly (readonly [name: string, meaning: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  const room = LINE_CHARS - width - 4;
  const indent = " ".repeat(width + 4);
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${wrapped(text, room).join(`\n${indent}`)}\n`).join("");
}

/** The text in lines of at most so many characters. */
function wrapped(text: string, room: number): string[] {
  const lines = [""];
  for (const word of text.replaceAll("`", "").split(" ")) {
    const last = lines.length - 1;
    if (lines[last] !== "" && lines[last]!.length + 1 + word.length > room) lines.push(word);
    else lines[last] += lines[last] === "" ? word : ` ${word}`;
  }
  return lines;
}

const LINE_CHARS = 110;
