import { describe, expect, test } from "bun:test";
import type { ProbeOrigin, ProbeOutcome } from "../../../src/upstream/http-probe.ts";
import { type HealthCheck, Prober } from "../../../src/upstream/prober.ts";
import { SeededRandom } from "../../harness/seeded-random.ts";
import { FakeTime } from "./fake-time.ts";

const ORIGIN: ProbeOrigin = { hostname: "10.0.0.1", port: 80, authority: "10.0.0.1", tls: null };
const CHECK: HealthCheck = {
  key: "a",
  origin: ORIGIN,
  path: "/h",
  intervalMs: 10_000,
  timeoutMs: 2000,
  healthyThreshold: 2,
  unhealthyThreshold: 3,
  expectStatusFrom: 200,
  expectStatusTo: 399,
};

const answer = (statusCode: number): ProbeOutcome => ({ statusCode, latencyMs: 5, error: "" });
const SILENCE: ProbeOutcome = { statusCode: 0, latencyMs: 2000, error: "no response within 2000 ms" };

/** A prober whose probes get `outcomes` in turn, the last one for ever. */
function setUp(...outcomes: readonly ProbeOutcome[]) {
  const time = new FakeTime();
  const random = new SeededRandom(7);
  const asked: number[] = [];
  const origins: ProbeOrigin[] = [];
  const changes: string[] = [];
  const prober = new Prober({
    probe: async (origin) => {
      asked.push(time.nowMs);
      origins.push(origin);
      return outcomes[Math.min(asked.length, outcomes.length) - 1]!;
    },
    random: () => random.next(),
    after: time.after,
    onChange: (key, healthy, { statusCode }) =>
      void changes.push(`${key} ${healthy ? "up" : "down"} ${statusCode} after ${asked.length}`),
  });
  return { time, prober, asked, origins, changes };
}

describe("a health check", () => {
  test("asks soon, then once an interval, with some jitter", async () => {
    const { time, prober, asked, changes } = setUp(answer(200));
    prober.use([CHECK]);
    await time.passSlowly(200_000, 100);
    expect(asked[0]!).toBeLessThan(1100);
    const pauses = asked.slice(1).map((at, i) => at - asked[i]!);
    expect(pauses.length).toBeGreaterThan(17);
    for (const pause of pauses) expect(pause).toBeWithin(8900, 11_100);
    expect(new Set(pauses.map((pause) => Math.round(pause))).size).toBeGreaterThan(10);
    expect(changes).toEqual([]);
  });

  test("asks as a new configuration says, and keeps what it knows", async () => {
    const { time, prober, origins, changes } = setUp(answer(503));
    prober.use([CHECK]);
    await time.passSlowly(20_000, 100);
    prober.use([{ ...CHECK, origin: { ...ORIGIN, maxResponseFields: 7 } }]);
    await time.passSlowly(20_000, 100);
    expect([origins[0]?.maxResponseFields, origins.at(-1)?.maxResponseFields]).toEqual([undefined, 7]);
    expect(changes).toEqual(["a down 503 after 3"]);
  });

  test("learns nothing where this machine has no ports or memory left for a connection", async () => {
    const { time, prober, asked, changes } = setUp({ ...SILENCE, isOurs: true });
    prober.use([CHECK]);
    await time.passSlowly(100_000, 100);
    expect([asked.length > 8, changes]).toEqual([true, []]);
  });

  test.each([
    ["answers outside of the range", [answer(404)]],
    ["silence", [SILENCE]],
    ["one and the other", [answer(500), SILENCE, answer(199)]],
  ])("is down after three of %s", async (_name, outcomes) => {
    const { time, prober, changes } = setUp(...outcomes);
    prober.use([CHECK]);
    await time.passSlowly(60_000, 100);
    expect(changes).toEqual([`a down ${outcomes.at(-1)!.statusCode} after 3`]);
  });

  test("needs them in a row, and two good ones to be up again", async () => {
    const bad = answer(503);
    const good = answer(399);
    const { time, prober, changes } = setUp(bad, bad, good, bad, bad, bad, good, bad, good, good, good);
    prober.use([CHECK]);
    await time.passSlowly(150_000, 100);
    expect(changes).toEqual(["a down 503 after 6", "a up 399 after 10"]);
  });
});

describe("a new configuration", () => {
  test("leaves the checks that it has too as they are, ends the others, and begins new ones", async () => {
    const { time, prober, changes } = setUp(answer(500));
    prober.use([CHECK]);
    await time.passSlowly(15_000, 100);
    prober.use([CHECK, { ...CHECK, key: "b" }]);
    await time.passSlowly(15_000, 100);
    expect(changes).toEqual([expect.stringMatching(/^a down 500/)]);
    prober.use([{ ...CHECK, key: "b" }]);
    await time.passSlowly(60_000, 100);
    expect(changes.map((change) => change[0])).toEqual(["a", "b"]);
    prober.stop();
    expect(time.waiting).toBe(0);
  });

  test("spreads its first probes, and no more than 256 are under way", async () => {
    const time = new FakeTime();
    let running = 0;
    let most = 0;
    const release: (() => void)[] = [];
    const first: number[] = [];
    const prober = new Prober({
      probe: async () => {
        first.push(time.nowMs);
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => release.push(resolve));
        running--;
        return answer(200);
      },
      random: Math.random,
      after: time.after,
      onChange: () => {},
    });
    prober.use(Array.from({ length: 2000 }, (_, i) => ({ ...CHECK, key: `n${i}` })));
    await time.passSlowly(1000, 50);
    expect(first.length).toBe(256);
    while (first.length < 2000) {
      for (const one of release.splice(0)) one();
      await time.passSlowly(100, 50);
    }
    expect(most).toBe(256);
    prober.stop();
    for (const one of release.splice(0)) one();
    await time.passSlowly(100, 50);
    expect(time.waiting).toBe(0);
  });
});
