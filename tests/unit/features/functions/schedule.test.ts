import { expect, test } from "bun:test";
import { nextRun, scheduleFault } from "../../../../src/features/functions/schedule.ts";

const FROM = Date.UTC(2026, 10, 23, 5, 40, 30); // a Monday

test.each([
  ["*/5 * * * *", "2026-11-23T05:45:00.000Z"],
  ["41 5 * * *", "2026-11-23T05:41:00.000Z"],
  ["40 5 * * *", "2026-11-24T05:40:00.000Z"],
  ["0 12 * * 7", "2026-11-29T12:00:00.000Z"],
  ["0 12 * * sun", "2026-11-29T12:00:00.000Z"],
  ["0 0 1 * mon", "2026-11-30T00:00:00.000Z"], // either day, as cron
  ["0 0 29 2 *", "2028-02-29T00:00:00.000Z"],
  ["0-10/5,30 3 1 JAN-mar *", "2027-01-01T03:00:00.000Z"],
  ["  0  0 * * *  ", "2026-11-24T00:00:00.000Z"],
])("%s is due next at %s", (text, next) => {
  expect(scheduleFault(text)).toBe("");
  expect(new Date(nextRun(text, FROM)!).toISOString()).toBe(next);
});

test("a schedule that is due now is due again later", () => {
  const due = nextRun("*/5 * * * *", FROM)!;
  expect(nextRun("*/5 * * * *", due)).toBe(due + 300_000);
});

test.each([
  ["", "five fields"],
  ["@daily", "five fields"],
  ["* * * * * *", "five fields"],
  ["60 * * * *", "Invalid value for minute"],
  ["*/0 * * * *", "illegal stepping"],
  ["a * * * *", 'found "a"'],
  ["0 0 L * *", 'found "L"'],
  ["0 0 * * 1#2", 'found "1#2"'],
  ["? * * * *", 'found "?"'],
  ["0 0 31 2 *", "a day that comes"],
])("%p is no schedule", (text, fault) => {
  expect(scheduleFault(text)).toContain(fault);
});
