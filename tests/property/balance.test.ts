import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BalancedTarget, type Policy } from "../../src/features/balance/balancer.ts";
import { HeaderHashKey } from "../../src/features/balance/hash-key.ts";
import { LeastConnections } from "../../src/features/balance/least-connections.ts";
import { Rendezvous } from "../../src/features/balance/rendezvous.ts";
import { SmoothRoundRobin } from "../../src/features/balance/smooth-round-robin.ts";
import { TwoChoices, WeightedRandom } from "../../src/features/balance/weighted-random.ts";
import type { Upstream } from "../../src/message/exchange.ts";
import { anyExchange, fakeNodes } from "../unit/features/balance/balance-fake.ts";

interface Named {
  readonly name: string;
  readonly weight: number;
}

const weights = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 });
const named: fc.Arbitrary<Named[]> = fc.uniqueArray(
  fc.record({ name: fc.webAuthority(), weight: fc.integer({ min: 1, max: 20 }) }),
  { minLength: 2, maxLength: 8, selector: ({ name }) => name },
);
const KEYS = Array.from({ length: 300 }, (_, i) => anyExchange({ headers: [["X-Key", `key ${i}`]] }));

function targetsOf(all: readonly Named[], fake = fakeNodes(all.length)): BalancedTarget[] {
  const upstream = {} as Upstream;
  return all.map(({ name, weight }, i) => {
    return new BalancedTarget({ upstream, node: fake.nodes[i]!, weight, backup: false, basePath: "", name }, i, i);
  });
}

/** The name of the target of each key. */
function placesIn(all: readonly Named[], away: readonly string[] = []): string[] {
  const fake = fakeNodes(all.length);
  all.forEach(({ name }, slot) => {
    fake.table.setHealthy(slot, !away.includes(name));
  });
  const targets = targetsOf(all, fake);
  const policy = new Rendezvous(targets, new HeaderHashKey("x-key"), { pick: () => null });
  return KEYS.map((ex) => {
    const target = policy.pick(ex, 0);
    return target === null ? "-" : all[targets.indexOf(target)]!.name;
  });
}

describe("consistent hashing", () => {
  test("a target that leaves moves its own keys only, be it unusable or gone", () => {
    fc.assert(
      fc.property(named, fc.nat(), (all, chosen) => {
        const leaver = all[chosen % all.length]!;
        const before = placesIn(all);
        const without = placesIn(all, [leaver.name]);
        before.forEach((place, i) => {
          if (place !== leaver.name) expect(without[i]!).toBe(place);
          else expect(without[i]!).not.toBe(leaver.name);
        });
        const rest = all.filter((one) => one !== leaver);
        // One weight everywhere is counted another way: the winners must be the same none the less.
        expect(placesIn(rest)).toEqual(without);
      }),
      { numRuns: 60 },
    );
  });

  test("the order of the targets does not matter, and every worker agrees", () => {
    fc.assert(
      fc.property(named, (all) => {
        expect(placesIn([...all].reverse())).toEqual(placesIn(all));
        expect(placesIn(all)).toEqual(placesIn(all));
      }),
      { numRuns: 40 },
    );
  });

  test("more weight takes keys from others and gives none away", () => {
    fc.assert(
      fc.property(named, fc.integer({ min: 1, max: 30 }), (all, more) => {
        const heavier = all.map((one, i) => (i === 0 ? { ...one, weight: one.weight + more } : one));
        const before = placesIn(all);
        placesIn(heavier).forEach((place, i) => {
          if (place !== all[0]!.name) expect(place).toBe(before[i]!);
        });
      }),
      { numRuns: 60 },
    );
  });

  test("the shares follow the weights", () => {
    const all = [1, 2, 3, 4].map((weight) => ({ name: `http://10.0.0.${weight}:80`, weight }));
    const targets = targetsOf(all);
    const counts = [0, 0, 0, 0];
    const policy = new Rendezvous(targets, new HeaderHashKey("x-key"), { pick: () => null });
    const KEY_COUNT = 20_000;
    for (let i = 0; i < KEY_COUNT; i++) {
      counts[targets.indexOf(policy.pick(anyExchange({ headers: [["X-Key", `${i}`]] }), 0)!)]!++;
    }
    // Five standard deviations of the largest share are 0.018.
    counts.forEach((count, i) => {
      expect(Math.abs(count / KEY_COUNT - (i + 1) / 10)).toBeLessThan(0.02);
    });
  });
});

test("round robin gives each target exactly its weight, round after round", () => {
  fc.assert(
    fc.property(weights, (all) => {
      const targets = targetsOf(all.map((weight, i) => ({ name: String(i), weight })));
      const policy = new SmoothRoundRobin(targets);
      const total = all.reduce((sum, weight) => sum + weight, 0);
      const counts = all.map(() => 0);
      for (let turn = 1; turn <= total * 2; turn++) {
        counts[targets.indexOf(policy.pick(KEYS[0]!, 0)!)]!++;
        if (turn % total !== 0) continue;
        expect(counts).toEqual(all.map((weight) => (weight * turn) / total));
      }
    }),
    { numRuns: 200 },
  );
});

const POLICIES: readonly (readonly [string, (targets: readonly BalancedTarget[], random: () => number) => Policy])[] = [
  ["round robin", (targets) => new SmoothRoundRobin(targets)],
  ["least connections", (targets) => new LeastConnections(targets)],
  ["random", (targets, random) => new WeightedRandom(targets, random)],
  ["two choices", (targets, random) => new TwoChoices(targets, random)],
  ["rendezvous", (targets) => new Rendezvous(targets, new HeaderHashKey("x-key"), new SmoothRoundRobin(targets))],
];

test.each(POLICIES)(
  "%s finds a target whenever there is one, and never one that may not be used",
  (_name, policyOf) => {
    const states = fc.array(fc.record({ healthy: fc.boolean(), open: fc.boolean(), load: fc.nat(5) }), {
      minLength: 1,
      maxLength: 8,
    });
    const draws = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(states, fc.nat(255), draws, (all, tried, numbers) => {
        const fake = fakeNodes(all.length);
        all.forEach(({ healthy, open, load }, slot) => {
          fake.table.setHealthy(slot, healthy);
          for (let i = 0; open && i < 3; i++) fake.table.failed(slot, 3);
          fake.nodes[slot]!.inFlight = load;
        });
        const targets = targetsOf(
          all.map((_, i) => ({ name: String(i), weight: 1 + (i % 3) })),
          fake,
        );
        const allowed = targets.filter((_, i) => all[i]!.healthy && !all[i]!.open && (tried & (1 << i)) === 0);
        let at = 0;
        const policy = policyOf(targets, () => numbers[at++ % numbers.length]!);
        for (let i = 0; i < 10; i++) {
          const target = policy.pick(KEYS[i]!, tried);
          if (allowed.length === 0) expect(target).toBeNull();
          else expect(allowed).toContain(target!);
        }
      }),
      { numRuns: 300 },
    );
  },
);
