// docs/pressure.md#the-test
import { describe, expect, test } from "bun:test";
import {
  apply,
  canaryShare,
  decide,
  newRecord,
  nextShare,
  noteMoment,
  PendingCounts,
} from "../../../../src/features/canary/canary-judge.ts";
import { WorseEvidence } from "../../../../src/features/canary/evidence.ts";
import { samples } from "../../../harness/long-lane.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";
import { RULES, rollout, type Version } from "./rollouts.ts";

const GOOD: Version = { errors: 0.01, slowness: 1 };
const SIX_HOURS_S = 6 * 3600;
const NONE = { requests: 0, errors: 0, times: [] };

/** Rollouts in virtual time: how many went through, and the share of hurt requests. */
function tried(fresh: Version, seed: number) {
  const count = samples(500, 25);
  let [promoted, aborted, requests, hurt] = [0, 0, 0, 0];
  for (let i = 0; i < count; i++) {
    const random = new SeededRandom(seed * 1000 + i);
    const found = rollout(() => random.next(), 20, GOOD, fresh, SIX_HOURS_S);
    if (found.phase === "promoted") promoted++;
    if (found.phase === "aborted") aborted++;
    requests += found.requests;
    hurt += found.hurt;
  }
  return { promoted: promoted / count, aborted: aborted / count, hurt: hurt / requests };
}

describe("rollouts in virtual time", () => {
  test("good versions are promoted", () => {
    const { promoted, aborted } = tried(GOOD, 1);
    expect([promoted >= 0.98, aborted <= 0.02]).toEqual([true, true]);
  }, 300_000);

  test.each([
    ["twice the errors", { errors: 0.02, slowness: 1 }],
    ["1.5 times the latency", { errors: 0.01, slowness: 1.5 }],
  ] as const)(
    "versions with %s go back, with few requests hurt",
    (_, fresh) => {
      const { aborted, hurt } = tried(fresh, 2);
      expect([aborted >= 0.96, hurt <= 0.01]).toEqual([true, true]);
    },
    300_000,
  );

  test("versions that are slower than before, but no slower than may be, are promoted", () => {
    expect(tried({ errors: 0.01, slowness: 1.2 }, 3).promoted).toBeGreaterThanOrEqual(0.98);
  }, 300_000);
});

test.each([
  ["of one request a minute", 1 / 60, 5 * 24 * 3600],
  ["of one request every ten seconds", 0.1, 24 * 3600],
])("a version that always fails goes back with traffic %s, and a good one does not", (_, perSecond, limitS) => {
  const random = new SeededRandom(7);
  const phases = [{ errors: 1, slowness: 1 }, GOOD].map(
    (fresh) => rollout(() => random.next(), perSecond, GOOD, fresh, limitS).phase,
  );
  expect(phases).toEqual(["aborted", "running"]);
});

test("a version that fails at once goes back after a few requests", () => {
  const record = newRecord(RULES);
  noteMoment(
    record,
    new PendingCounts(),
    RULES,
    1000,
    { requests: 4, errors: 4, times: [] },
    { requests: 396, errors: 0, times: [] },
  );
  expect(decide(record, RULES)).toEqual({ action: "abort", reason: "errors" });
  apply(record, decide(record, RULES), RULES);
  expect([canaryShare(record, RULES.steps), decide(record, RULES).action]).toEqual([0, "none"]);
});

test("evidence of two gateways adds up, and none comes of requests of one version alone", () => {
  const whole = new WorseEvidence(1.5);
  const parts = [new WorseEvidence(1.5), new WorseEvidence(1.5)];
  const moment = { newAll: 100, newBad: 3, oldAll: 900, oldBad: 9 };
  whole.note(moment);
  whole.note(moment);
  for (const part of parts) part.note(moment);
  const sum = new WorseEvidence(
    1.5,
    parts[0]!.logs.map((log, i) => log + parts[1]!.logs[i]!),
  );
  expect(sum.log).toBeCloseTo(whole.log);
  const alone = new WorseEvidence(1.5);
  alone.note({ newAll: 50, newBad: 50, oldAll: 0, oldBad: 0 });
  expect(alone.log).toBeCloseTo(0);
});

test("a step waits for its time and its requests; both versions bad are alike", () => {
  const [record, pending] = [newRecord(RULES), new PendingCounts()];
  const bad = (requests: number) => ({ requests, errors: requests / 2, times: [] });
  for (let s = 0; s < 299; s++) noteMoment(record, pending, RULES, 1000, NONE, bad(100));
  expect(decide(record, RULES).action).toBe("none");
  noteMoment(record, pending, RULES, 1000, NONE, NONE);
  expect(decide(record, RULES)).toEqual({ action: "hold", reason: "few_requests" });
  for (let s = 0; s < 50; s++) noteMoment(record, pending, RULES, 1000, bad(4), bad(396));
  expect(decide(record, RULES).action).toBe("grow");
  apply(record, decide(record, RULES), RULES);
  expect([canaryShare(record, RULES.steps), record.inStep, record.inStepMs]).toEqual([5, 0, 0]);
});

test("other steps in the file leave the share, but for a last step below it", () => {
  const record = newRecord(RULES);
  for (const share of [5, 25]) {
    apply(record, { action: "grow", reason: "" }, RULES);
    expect(record.share).toBe(share);
  }
  for (const [steps, share, next] of [
    [[10, 100], 25, 100],
    [[1, 2, 5, 25, 30, 100], 25, 30],
    [[1, 10], 10, null],
    [[50, 60], 25, 50],
  ] as const)
    expect([canaryShare(record, steps), nextShare(record, steps)]).toEqual([share, next]);
});
