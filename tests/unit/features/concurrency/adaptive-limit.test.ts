// docs/pressure.md#auto
import { describe, expect, test } from "bun:test";
import { AdaptiveLimit } from "../../../../src/features/concurrency/adaptive-limit.ts";

const STEP_MS = 100;

/**
 * A server in virtual time that works on so many requests at once, each for `calmMs`; what is above shares its capacity. More requests
 * always wait than there is room for.
 */
function simulate(limit: AdaptiveLimit, seconds: number, serverOf: (ms: number) => { width: number; calmMs: number }) {
  let [responses, atMost] = [0, 0];
  for (let step = 0; step < (seconds * 1000) / STEP_MS; step++) {
    const { width, calmMs } = serverOf(step * STEP_MS);
    const inFlight = limit.value;
    const latencyMs = calmMs * Math.max(1, inFlight / width);
    const samples = (inFlight * STEP_MS) / latencyMs;
    responses += samples;
    atMost = Math.max(atMost, inFlight);
    // A tenth more or less, in turn.
    const noise = 1 + 0.1 * Math.sin(step);
    limit.note({ samples, sumMs: samples * latencyMs * noise, timeouts: 0, inFlight }, step * STEP_MS);
  }
  return { responses, atMost };
}

describe("a limit that is found", () => {
  test.each([
    [4, 10],
    [32, 10],
    [200, 50],
  ])("uses up a server of width %d, and lets few more in than that", (width, calmMs) => {
    const limit = new AdaptiveLimit();
    const { responses } = simulate(limit, 120, () => ({ width, calmMs }));
    expect(responses / ((120_000 / calmMs) * width)).toBeGreaterThan(0.93);
    expect([limit.value >= width * 0.9, limit.value <= width * 1.7 + 4]).toEqual([true, true]);
    expect(limit.calmMs).toBeWithin(calmMs * 0.8, calmMs * 1.25);
  });

  test("falls as the server gets slower under load, and comes back", () => {
    const limit = new AdaptiveLimit();
    simulate(limit, 60, (ms) => ({ width: ms > 20_000 && ms < 40_000 ? 4 : 64, calmMs: 10 }));
    const after = limit.value;
    const falling = new AdaptiveLimit();
    simulate(falling, 40, (ms) => ({ width: ms > 20_000 ? 4 : 64, calmMs: 10 }));
    expect([falling.value <= 10, after >= 55]).toEqual([true, true]);
  });

  test("takes a server that has become slower for good as it is", () => {
    const limit = new AdaptiveLimit();
    simulate(limit, 400, (ms) => ({ width: 32, calmMs: ms < 60_000 ? 10 : 30 }));
    expect([limit.value >= 25, limit.value <= 64]).toEqual([true, true]);
  });

  test("falls with time-outs, to 1 at least, and stays where nothing comes", () => {
    const limit = new AdaptiveLimit();
    for (let ms = 0; ms < 5000; ms += STEP_MS) limit.note({ samples: 0, sumMs: 0, timeouts: 3, inFlight: 4 }, ms);
    expect(limit.value).toBe(1);
    const idle = new AdaptiveLimit();
    const first = idle.value;
    for (let hour = 0; hour < 100; hour++)
      idle.note({ samples: 1, sumMs: 20, timeouts: 0, inFlight: 1 }, hour * 3_600_000);
    expect(idle.value).toBe(first);
  });
});
