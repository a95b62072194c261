import { describe, expect, test } from "bun:test";
import type { LoadBalancingPolicy } from "../../../../src/features/balance/settings.ts";
import { targetChoice } from "../../../../src/features/balance/target-choice.ts";
import { BreakerState } from "../../../../src/memory/node-table.ts";
import type { Exchange, Upstream } from "../../../../src/message/exchange.ts";
import type { TargetChoice } from "../../../../src/message/target.ts";
import { anyExchange, type FakeNodes, fakeNodes, nameOf } from "./balance-fake.ts";
import { REFUSED, TIMED_OUT } from "./failures.ts";

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
  return targetChoice({ policy, keyName: "x", cookie: null }, inits, Math.random);
}

function open(fake: FakeNodes, ...slots: readonly number[]): void {
  for (const slot of slots) for (let i = 0; i < 3; i++) fake.table.failed(slot, 3);
}

/** What so many requests get. */
function namesOf(choice: TargetChoice, count: number): string {
  const names = Array.from({ length: count }, () => nameIn(choice));
  return [...new Set(names)].sort().join("");
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
    expect(namesOf(choice, 6)).toBe("abc");
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

  test("tries all in turn where all are out, a request that fails each of them once", () => {
    const fake = fakeNodes(3);
    const choice = choiceOf("abC", fake, policy);
    open(fake, 0, 1);
    fake.table.setHealthy(2, false);
    const counts = new Map<string, number>();
    for (let i = 0; i < 30; i++) {
      const name = nameIn(choice);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    expect([...counts].sort()).toEqual([
      ["a", 10],
      ["b", 10],
      ["c", 10],
    ]);
    const ex = anyExchange();
    const seen = new Set<string>();
    for (let target = choice.choose(ex); target !== null; target = choice.chooseAgain(ex, true)) {
      seen.add(target.upstream.label);
      target.onFailure(ex, REFUSED);
    }
    expect(seen.size).toBe(3);
    expect(choice.chooseAgain(ex, false)).not.toBeNull();
  });

  test("leaves what is out alone while another may be used, even one that has failed this request", () => {
    const fake = fakeNodes(2);
    const choice = choiceOf("ab", fake, policy);
    open(fake, 0);
    const ex = anyExchange();
    choice.choose(ex)!.onFailure(ex, TIMED_OUT);
    expect(choice.chooseAgain(ex, true)).toBeNull();
    expect(choice.chooseAgain(ex, false)!.upstream.label).toBe("b");
  });

  test("gives a trial to one request, and the others elsewhere", () => {
    const fake = fakeNodes(3);
    const choice = choiceOf("abc", fake, policy);
    open(fake, 0, 1, 2);
    fake.table.halfOpen(0);
    const trial = anyExchange();
    expect([nameIn(choice, trial), trial.attempt.isTrial, trial.attempt.isForced]).toEqual(["a", true, false]);
    const other = anyExchange();
    expect([namesOf(choice, 6), nameIn(choice, other) !== "-", other.attempt.isTrial, other.attempt.isForced]).toEqual([
      "abc",
      true,
      false,
      true,
    ]);
    trial.attempt.target!.onAnswer(trial, 200);
    expect(namesOf(choice, 6)).toBe("a");
  });
});

describe("one target", () => {
  test("is never taken out", () => {
    const fake = fakeNodes(1);
    const choice = choiceOf("a", fake);
    const ex = anyExchange();
    expect(choice.choose(ex)).toBe(ex.attempt.target!);
    expect(fake.nodes[0]!.inFlight).toBe(1);
    ex.attempt.target!.onFailure(ex, REFUSED);
    expect([fake.nodes[0]!.inFlight, ex.attempt.target]).toEqual([0, null]);
    expect(choice.chooseAgain(ex, true)).toBeNull();
    expect(choice.chooseAgain(ex, false)).not.toBeNull();
    open(fake, 0);
    const forced = anyExchange();
    expect([choice.choose(forced), forced.attempt.isForced]).toEqual([expect.anything(), true]);
    forced.attempt.target!.onAnswer(forced, 200);
    forced.attempt.target!.onOver(forced);
    fake.table.setHealthy(0, false);
    expect([fake.table.state(0), nameIn(choice)]).toEqual([BreakerState.Closed, "a"]);
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
  for (const ex of all.slice(0, 2)) ex.attempt.target!.onFailure(ex, REFUSED);
  for (const ex of all.slice(2, 4)) ex.attempt.target!.onAnswer(ex, 200);
  for (const ex of all.slice(2)) ex.attempt.target!.onOver(ex);
  expect(fake.nodes.map((node) => node.inFlight)).toEqual([0, 0]);
});
