// The workers' own code in virtual time: what limits of a fleet hold, and what they ask of the store. docs/scale.md#the-store
import { describe, expect, test } from "bun:test";
import { longTest } from "../harness/long-lane.ts";
import { type FleetOutcome, type FleetScene, simulateFleet } from "./fleet-simulation.ts";
import { anywhere, FOUR, sticky, THOUSAND, unequal } from "./scenes.ts";

/** What a store bears, in any second. */
const MOST_CALLS = 20_000;

/** What was admitted of what the limits allow, for the key that got least, and for the one that got most. */
function parts({ admittedOf }: FleetOutcome, { limitPerS, seconds, warmUpS }: FleetScene): [number, number] {
  const admitted = [...admittedOf.values()].map((count) => count / (limitPerS * (seconds - warmUpS)));
  return [Math.min(...admitted), Math.max(...admitted)];
}

function expectExact(outcome: FleetOutcome, scene: FleetScene, within = 0.05): void {
  const [least, most] = parts(outcome, scene);
  expect(least).toBeGreaterThan(1 - within);
  expect(most).toBeLessThan(1 + within);
}

describe("four gateways, 400 of 1,000 requests a second", () => {
  const next = anywhere(8, 1);
  const scenes: Record<string, FleetScene> = {
    "the same load on each": { ...FOUR, next },
    "90, 4, 3 and 3 in a hundred": { ...FOUR, next: unequal([90, 4, 3, 3], 2) },
    "a store that takes 200 ms": { ...FOUR, next, roundTripMs: 200 },
    "a bucket of a tenth of a second": { ...FOUR, next, burst: 40 },
  };
  for (const [name, scene] of Object.entries(scenes)) {
    test(name, () => {
      const outcome = simulateFleet(scene);
      expectExact(outcome, scene);
      expect(outcome.waited * 50).toBeLessThan(outcome.offered);
      expect(outcome.admitted + outcome.refused).toBe(outcome.offered);
    });
  }

  test("no request is refused, or waits, where fewer come than may", () => {
    const { refused, waited } = simulateFleet({ ...FOUR, limitPerS: 1200, burst: 1200, next });
    expect([refused, waited]).toEqual([0, 0]);
  });

  test("what comes at once gets the bucket, and no more than a twentieth beyond it", () => {
    const outcome = simulateFleet({ ...FOUR, limitPerS: 1, burst: 400, seconds: 3, warmUpS: 0, next });
    expect(outcome.admitted).toBeGreaterThan(380);
    expect(outcome.admitted).toBeLessThan(424);
  });

  test("while the store is away each gateway has its part, and all are told again when it is back", () => {
    const away = new Map<number, NonNullable<FleetScene["events"]> extends ReadonlyMap<number, infer E> ? E : never>([
      [
        5000,
        (store, tell) => {
          store.isAway = true;
          tell(false);
        },
      ],
      [
        10_000,
        (store, tell) => {
          store.isAway = false;
          tell(true);
        },
      ],
    ]);
    const scene = { ...FOUR, seconds: 15, warmUpS: 5, burst: 40, next, events: away };
    const outcome = simulateFleet(scene);
    expectExact(outcome, scene);
    expect(outcome.alone).toBe(5000);
    expect(outcome.admitted + outcome.refused).toBe(outcome.offered);
  });

  test("an emptied store gives a full bucket once more, and nothing else changes", () => {
    const scene = { ...FOUR, next, events: new Map([[8000, (store: { flush(): void }) => store.flush()]]) };
    const outcome = simulateFleet(scene);
    expect(outcome.admitted).toBeLessThan(1.05 * (15 * scene.limitPerS + scene.burst));
    expect(outcome.admitted).toBeGreaterThan(0.95 * 15 * scene.limitPerS);
  });
});

describe("a thousand gateways, a million requests a second", () => {
  test("one limit for all", () => {
    const scene = { ...THOUSAND, limitPerS: 500_000, burst: 500_000, seconds: 3, warmUpS: 2, next: anywhere(1000, 1) };
    const outcome = simulateFleet(scene);
    expect(outcome.busiestSecond).toBeLessThan(MOST_CALLS);
    expectExact(outcome, scene);
    expect(outcome.waited * 50).toBeLessThan(outcome.offered);
  }, 120_000);

  longTest(
    "ten limits",
    () => {
      const scene = {
        ...THOUSAND,
        limitPerS: 50_000,
        burst: 50_000,
        seconds: 10,
        warmUpS: 5,
        next: anywhere(1000, 10),
      };
      const outcome = simulateFleet(scene);
      expect(outcome.busiestSecond).toBeLessThan(MOST_CALLS);
      expectExact(outcome, scene);
      expect(outcome.waited * 50).toBeLessThan(outcome.offered);
    },
    600_000,
  );

  longTest(
    "two hundred thousand clients below their limits, from the first request on",
    () => {
      const scene = { ...THOUSAND, limitPerS: 100, burst: 1000, seconds: 8, warmUpS: 0, next: sticky(1000, 200_000) };
      const outcome = simulateFleet(scene);
      expect(outcome.busiestSecond).toBeLessThan(MOST_CALLS);
      expect(outcome.waited * 50).toBeLessThan(outcome.offered);
      expect(outcome.refused * 100).toBeLessThan(outcome.offered);
    },
    600_000,
  );
});
