import { describe, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { BODY_RATE_GRACE_MS, BodyPace } from "../../../src/edge/body-intake.ts";

const SETTINGS = { readTimeoutMs: 30_000, minBodyRate: 240 };

describe("the pace of a body", () => {
  test("begins with a grace, and what comes adds its time", () => {
    const pace = new BodyPace();
    expect(pace.wait(0, 0, SETTINGS)).toBe(BODY_RATE_GRACE_MS);
    expect(pace.wait(4000, 240, SETTINGS)).toBe(BODY_RATE_GRACE_MS - 4000 + 1000);
  });

  test("runs out for one byte now and then, however long it goes on", () => {
    const pace = new BodyPace();
    let nowMs = 0;
    for (let bytes = 0; bytes < 100; bytes++) {
      const leftMs = pace.wait(nowMs, bytes, SETTINGS);
      if (leftMs < 1000) return expect(nowMs).toBeLessThan(BODY_RATE_GRACE_MS + 1000);
      nowMs += 1000;
    }
    throw new Error("it goes on for ever");
  });

  test("does not run out at the least rate", () => {
    const pace = new BodyPace();
    for (let second = 0; second < 1000; second++) {
      expect(pace.wait(second * 1000, second * 240, SETTINGS)).toBeGreaterThan(1000);
    }
  });

  test("costs nothing while the gateway does not read", () => {
    const pace = new BodyPace();
    pace.wait(0, 0, SETTINGS);
    pace.stop(1000);
    expect(pace.wait(500_000, 0, SETTINGS)).toBe(BODY_RATE_GRACE_MS - 1000);
  });

  test("does not pay for an endless rest with a fast beginning", () => {
    const pace = new BodyPace();
    pace.wait(0, 0, SETTINGS);
    expect(pace.wait(1, 10_000_000, SETTINGS)).toBe(SETTINGS.readTimeoutMs);
    expect(pace.wait(20_001, 10_000_001, SETTINGS)).toBeLessThan(10_100);
  });

  test("is a matter of `read_timeout` alone where no rate is asked for", () => {
    const pace = new BodyPace();
    const settings = { readTimeoutMs: 30_000, minBodyRate: 0 };
    for (const nowMs of [0, 29_000, 58_000]) expect(pace.wait(nowMs, 0, settings)).toBe(30_000);
    expect(pace.fault(59_000, settings)).toBe(Fault.BodyTimeout);
  });
});
