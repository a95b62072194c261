import { expect, test } from "bun:test";
import { Clock } from "../../../src/core/clock.ts";

test("the date changes with the second, in the form of RFC 9110 §5.6.7", () => {
  let now = Date.UTC(1994, 10, 6, 8, 49, 37, 999);
  const clock = new Clock(() => now);
  expect(Buffer.from(clock.dateBytes).toString()).toBe("Sun, 06 Nov 1994 08:49:37 GMT");
  now += 1;
  expect(Buffer.from(clock.dateBytes).toString()).toBe("Sun, 06 Nov 1994 08:49:37 GMT");
  clock.update();
  expect(Buffer.from(clock.dateBytes).toString()).toBe("Sun, 06 Nov 1994 08:49:38 GMT");
  expect(clock.nowMs).toBe(now);
});

test("the time stands still between updates", () => {
  let now = 1000;
  const clock = new Clock(() => now);
  now = 5000;
  expect(clock.nowMs).toBe(1000);
  clock.update();
  expect(clock.nowMs).toBe(5000);
});
