import { describe, expect, test } from "bun:test";
import type { LoadBalancingPolicy } from "../../../src/config/route-config.ts";
import { targetChoice } from "../../../src/features/balance/balancer.ts";
import type { Exchange } from "../../../src/message/exchange.ts";
import type { TargetChoice } from "../../../src/message/target.ts";
import type { Upstream } from "../../../src/message/upstream.ts";
import { anyExchange, type FakeNodes, fakeNodes, nameOf } from "./balance-fake.ts";
import { REFUSED } from "./failures.ts";

const POLICIES: readonly LoadBalancingPolicy[] = [
  ...(["round_robin", "random", "least_conn", "p2c"] as const),
  ...(["ip_hash", "uri_hash", "header", "cookie"] as const),
];

/** Targets named a, b … of one weight; those whose letter is a capital are backups. */
function choiceOf(layout: string, fake: FakeNodes, policy: LoadBalancingPolicy = "round_robin"): TargetChoice {
  const inits = [...layout].map((letter, i) => ({
    upstream: { label: nameOf(i) } as Upstream,
    node: fake.nodes[i]!,
    weight: 1,
    backup: letter === letter.toUpperCase(),
    basePath: "",
    name: nameOf(i),
  }));
  return targetChoice({ policy, keyName: "x" }, inits, Math.random);
}

function open(fake: FakeNodes, ...slots: readonly number[]): void {
  for (const slot of slots) for (let i = 0; i < 3; i++) fake.table.failed(slot, 3);
}

const nameIn = (choice: TargetChoice, ex: Exchange = anyExchange()) => choice.choose(ex)?.upstream.label ?? "-";

describe.each(POLICIES)("%s", (policy) => {
  test("uses backups only while no other may be used", () => {
    const fake = fakeNodes(3);
    const choice = choiceOf("abC", fake, policy);
    for (let i = 0; i < 20; i++) expect(nameIn(choice)).not.toBe("c");
    open(fake, 0);
    for (let i = 0; i < 20; i++) expect(nameIn(choice)).toBe("b");
    fake.table.setHealthy(1, false);
    for (let i = 0; i < 20; i++) expect(nameIn(choice)).toBe("c");
    open(fake, 2);
    expect(nameIn(choice)).toBe("-");
    fake.table.setHealthy(1, true);
    expect(nameIn(choice)).toBe("b");
  });

  test("takes another target for a retry, a backup where there is no other, then one again", () => {
    const fake = fakeNodes(3);
    const choice = choiceOf("abC", fake, policy);
    const ex = anyExchange();
    const seen = [choice.choose(ex)!];
    for (let i = 0; i < 2; i++) {
      seen.at(-1)!.onFailure(ex, REFUSED);
      seen.push(choice.chooseAgain(ex, true)!);
    }
    expect(seen.map(({ upstream }) => upstream.label).sort()).toEqual(["a", "b", "c"]);
    expect(seen[2]!.upstream.label).toBe("c");
    seen[2]!.onFailure(ex, REFUSED);
    expect(choice.chooseAgain(ex, true)).toBeNull();
    expect(choice.chooseAgain(ex, false)).not.toBeNull();
  });

  test("gives a trial to one request, and the others elsewhere", () => {
    const fake = fakeNodes(2);
    const choice = choiceOf("ab", fake, policy);
    open(fake, 0, 1);
    expect(nameIn(choice)).toBe("-");
    fake.table.halfOpen(0);
    const trial = anyExchange();
    expect([nameIn(choice, trial), trial.isTrial]).toEqual(["a", true]);
    expect(nameIn(choice)).toBe("-");
    trial.target!.onAnswer(trial, 200);
    expect(nameIn(choice)).toBe("a");
  });
});

describe("one target", () => {
  test("is chosen while it may be used", () => {
    const fake = fakeNodes(1);
    const choice = choiceOf("a", fake);
    const ex = anyExchange();
    expect(choice.choose(ex)).toBe(ex.target!);
    expect(fake.nodes[0]!.inFlight).toBe(1);
    ex.target!.onFailure(ex, REFUSED);
    expect([fake.nodes[0]!.inFlight, ex.target]).toEqual([0, null]);
    expect(choice.chooseAgain(ex, true)).toBeNull();
    expect(choice.chooseAgain(ex, false)).not.toBeNull();
    open(fake, 0);
    expect(choice.choose(anyExchange())).toBeNull();
  });

  test("may be a backup alone, or none", () => {
    expect(nameIn(choiceOf("A", fakeNodes(1)))).toBe("a");
    expect(nameIn(choiceOf("", fakeNodes(1)))).toBe("-");
  });
});

test("exchanges under way are counted per origin, and given back however they end", () => {
  const fake = fakeNodes(2);
  const choice = choiceOf("ab", fake);
  const all = Array.from({ length: 6 }, () => anyExchange());
  for (const ex of all) choice.choose(ex);
  expect(fake.nodes.map((node) => node.inFlight)).toEqual([3, 3]);
  for (const ex of all.slice(0, 2)) ex.target!.onFailure(ex, REFUSED);
  for (const ex of all.slice(2, 4)) ex.target!.onAnswer(ex, 200);
  for (const ex of all.slice(2)) ex.target!.onOver(ex);
  expect(fake.nodes.map((node) => node.inFlight)).toEqual([0, 0]);
});
