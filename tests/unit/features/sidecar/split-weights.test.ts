import { expect, test } from "bun:test";
import { targetChoice } from "../../../../src/features/balance/target-choice.ts";
import type { Upstream } from "../../../../src/message/exchange.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";
import { anyExchange, fakeNodes, nameOf } from "../balance/balance-fake.ts";

const CHOICES = 100_000;

// docs/sidecar.md#splits: a backend is chosen in proportion to its weight. Chi-square at 0.1 % against the expectation.
test.each([
  [[1, 1], 10.83],
  [[9, 1], 10.83],
  [[1, 2, 3], 13.82],
  [[999, 1], 10.83],
  [[5, 5, 5, 5, 80], 18.47],
])("weights %p", (weights, critical) => {
  const random = new SeededRandom(weights.reduce((sum, weight) => sum * 31 + weight, 7));
  const { nodes } = fakeNodes(weights.length);
  const inits = weights.map((weight, i) => ({
    upstream: { label: nameOf(i) } as Upstream,
    node: nodes[i]!,
    weight,
    backup: false,
    basePath: "",
    name: nameOf(i),
  }));
  const choice = targetChoice({ policy: "random", keyName: "", cookie: null }, inits, () => random.next());
  const counts = weights.map(() => 0);
  const ex = anyExchange();
  for (let i = 0; i < CHOICES; i++) {
    const target = choice.choose(ex)!;
    counts[inits.findIndex((init) => init.upstream === target.upstream)]!++;
    target.onOver(ex);
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const chiSquare = weights.reduce((sum, weight, i) => {
    const expected = (CHOICES * weight) / total;
    return sum + (counts[i]! - expected) ** 2 / expected;
  }, 0);
  expect(chiSquare).toBeLessThan(critical);
});
