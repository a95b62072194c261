import { describe, expect, test } from "bun:test";
import { backOff, dueAt, momentWithin, waitAfter } from "../../../../../src/features/acme/control/renewal-rule.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;

describe("a certificate is due", () => {
  test.each([
    ["90 days, ours: 30 days before it ends", 90, true, 60],
    ["90 days, somebody else's: likewise", 90, false, 60],
    ["45 days, ours: after two thirds, not at once", 45, true, 30],
    ["45 days, somebody else's: 30 days before it ends", 45, false, 15],
    ["6 days, ours: after four days", 6, true, 4],
    ["6 days, somebody else's: at once", 6, false, -24],
    ["398 days, ours: 30 days before it ends", 398, true, 368],
  ])("%s", (_, days, isOurs, dueDay) => {
    const life = { notBeforeMs: 1000 * DAY, notAfterMs: (1000 + days) * DAY, isOurs };
    expect(dueAt(life, null)).toBe((1000 + dueDay) * DAY);
  });

  test("when the authority says, but never after it has expired", () => {
    const life = { notBeforeMs: 0, notAfterMs: 90 * DAY, isOurs: true };
    expect(dueAt(life, 3 * DAY)).toBe(3 * DAY);
    expect(dueAt(life, 100 * DAY)).toBe(90 * DAY);
  });
});

describe("the moment within a window", () => {
  const window = { startMs: 1000, endMs: 2000, askAgainMs: 0 };

  test("is anywhere in it", () => {
    expect([0, 0.5, 0.999].map((at) => momentWithin(window, null, () => at))).toEqual([1000, 1500, 1999]);
  });

  test("stays as long as it lies in the window, and moves with it", () => {
    expect(momentWithin(window, 1234, () => 0.5)).toBe(1234);
    expect(momentWithin(window, 2345, () => 0.5)).toBe(1500);
  });
});

describe("the wait after failures", () => {
  test("doubles from a minute to a day", () => {
    expect([1, 2, 3, 4].map((n) => backOff(n, 0, () => 0) / 60_000)).toEqual([1, 2, 4, 8]);
    expect(backOff(12, 0, () => 0)).toBe(24 * HOUR);
    expect(backOff(1000, 0, () => 0.99)).toBe(24 * HOUR);
  });

  test("has jitter", () => {
    expect(backOff(1, 0, () => 0.999)).toBeGreaterThan(89_000);
    expect(backOff(1, 0, () => 0.5)).toBe(75_000);
  });

  test("is at least what the authority asks for, within a day", () => {
    expect(backOff(1, HOUR, () => 0)).toBe(HOUR);
    expect(backOff(1, 7 * DAY, () => 0)).toBe(DAY);
  });
});

test("an order whose nonce was not taken is made again within seconds, but not for ever", () => {
  const failure = { kind: "badNonce", retryAfterMs: 0 };
  const waits = [1, 2, 3, 4, 5, 6, 7].map((failures) => waitAfter(failure, failures, failures, () => 0));
  expect(waits.slice(0, 5)).toEqual([2000, 2000, 2000, 2000, 2000]);
  expect(waits.slice(5)).toEqual([6, 7].map((failures) => backOff(failures, 0, () => 0)));
  expect(waitAfter(failure, 1, 1, () => 1)).toBe(3000);
  expect(waitAfter({ kind: "badNonce", retryAfterMs: 90_000 }, 1, 1, () => 0)).toBe(90_000);
  expect(waitAfter({ kind: "rejectedIdentifier", retryAfterMs: 0 }, 1, 1, () => 0)).toBe(60_000);
});
