// The one place that knows which package reads the expressions of `functions.cron`: croner, without dependencies, loaded if there is one.

/** The fault in a text of five fields, as cron writes schedules; "" for a schedule. docs/functions.md#schedules */
export function scheduleFault(text: string): string {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== FIELDS.length)
    return `expected five fields (minute hour day month weekday) such as "*/5 * * * *", found ${fields.length}`;
  const odd = fields.findIndex((field, at) => !FIELDS[at]!.test(field));
  if (odd >= 0) return `expected numbers, names, * , - and / in a field, found ${JSON.stringify(fields[odd])}`;
  try {
    return nextRun(text, Date.UTC(2026, 0)) === null ? "expected a day that comes, found none" : "";
  } catch (error) {
    const why = String((error as Error).message).replace(/^CronPattern: /, "");
    return `expected a schedule such as "*/5 * * * *", found ${JSON.stringify(text)} (${why})`;
  }
}

/**
 * When a schedule is due next, in UTC.
 * @param text without faults
 * @param afterMs milliseconds since the epoch; the time itself is not meant
 * @returns milliseconds since the epoch, on a whole minute; null if there is no such time
 */
export function nextRun(text: string, afterMs: number): number | null {
  const { Cron } = require("croner") as typeof import("croner");
  const schedule = new Cron(text, { mode: "5-part", timezone: "UTC", paused: true });
  return schedule.nextRun(new Date(afterMs))?.getTime() ?? null;
}

const NUMBERS = String.raw`[\d*,/-]`;
const DAYS = "sun|mon|tue|wed|thu|fri|sat";
const MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";

/** What each field may hold: the package takes more than cron does. */
const FIELDS: readonly RegExp[] = ["", "", "", MONTHS, DAYS].map(
  (names) => new RegExp(names === "" ? `^${NUMBERS}+$` : `^(?:${NUMBERS}|${names})+$`, "i"),
);
