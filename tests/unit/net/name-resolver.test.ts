import { expect, test } from "bun:test";
import { NameResolver } from "../../../src/net/name-resolver.ts";
import type { NameRecords, ReverseRecord } from "../../../src/net/name-servers.ts";

/** A resolver whose clock and answers the test holds. */
function resolver() {
  let now = 0;
  const asked: string[] = [];
  const answers: ((records: NameRecords) => void)[] = [];
  const reversed: ((record: ReverseRecord) => void)[] = [];
  const failures: string[] = [];
  const published: string[] = [];
  const timers = new Set<{ atMs: number; act: () => void }>();
  const names = new NameResolver({
    query: (name) => {
      asked.push(name);
      return new Promise((resolve) => answers.push(resolve));
    },
    reverse: () => new Promise((resolve) => reversed.push(resolve)),
    now: () => now,
    after: (ms, act) => {
      const timer = { atMs: now + ms, act };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    onFailure: (name, failure) => failures.push(`${name} ${failure}`),
    onKnown: ({ name, addresses }) => published.push(`${name} ${addresses}`),
  });
  const heard: string[] = [];
  const listener = (addresses: readonly string[], failure: string) => heard.push(addresses.join() || failure);
  return {
    names,
    reversed,
    asked,
    failures,
    published,
    heard,
    resolve: (name = "app") => names.resolve(name, listener),
    refresh: (name = "app") => names.refresh(name, listener),
    answer: async (addresses: string[], ttlMs = 5000, failure = "") => {
      answers.shift()!({ addresses, ttlMs, failure });
      await Bun.sleep(0);
    },
    pass: (ms: number) => {
      now += ms;
      for (const timer of [...timers]) if (timer.atMs <= now && timers.delete(timer)) timer.act();
    },
  };
}

test("many wait for one question, and its answer serves at once from then on", async () => {
  const t = resolver();
  for (let n = 0; n < 3; n++) t.resolve();
  expect([t.asked.length, t.heard.length]).toEqual([1, 0]);
  await t.answer(["a"]);
  t.pass(4999);
  t.resolve("APP");
  expect([t.asked.length, t.heard]).toEqual([1, ["a", "a", "a", "a"]]);
  t.pass(1);
  t.resolve();
  // It is too old: the next question runs beside.
  expect([t.asked.length, t.heard.length]).toEqual([2, 5]);
  await t.answer(["b"]);
  t.resolve();
  expect([t.asked.length, t.heard.at(-1)]).toEqual([2, "b"]);
});

test("a name in use is asked for as soon as its answer is too old, one that nobody uses is not", async () => {
  const t = resolver();
  t.resolve();
  await t.answer(["a"], 60_000);
  t.pass(60_000);
  expect(t.asked.length).toBe(2);
  await t.answer(["b"], 600_000);
  t.pass(600_000);
  expect(t.asked.length).toBe(2);
});

test("after a long rest a connection waits for a moment, and goes on with what is known", async () => {
  const t = resolver();
  t.resolve();
  await t.answer(["a"], 1000);
  t.pass(1000);
  await t.answer(["a"], 600_000);
  t.pass(660_000);
  t.resolve();
  expect(t.heard).toEqual(["a"]);
  t.pass(100);
  expect(t.heard).toEqual(["a", "a"]);
});

test("addresses are held for a while after the servers say that there are none", async () => {
  const t = resolver();
  t.names.use({ nameservers: [], dnsHoldMs: 10_000 });
  t.resolve();
  await t.answer(["a"], 1000);
  t.pass(1000);
  for (let second = 0; second < 10; second++) {
    await t.answer([], 0);
    t.resolve();
    t.pass(1000);
    t.resolve();
  }
  expect([new Set(t.heard), t.failures]).toEqual([new Set(["a"]), ["app ENOTFOUND"]]);
  await t.answer([], 0);
  t.resolve();
  expect(t.heard.at(-1)).toBe("ENOTFOUND");
});

test("a name that was asked for in vain makes connections wait for a moment only", async () => {
  const t = resolver();
  t.resolve();
  await t.answer([], 0, "ETIMEOUT");
  t.resolve();
  expect([t.asked.length, t.heard]).toEqual([1, ["ETIMEOUT", "ETIMEOUT"]]);
  t.pass(1000);
  t.resolve();
  t.pass(99);
  expect([t.asked.length, t.heard.length]).toEqual([2, 2]);
  t.pass(1);
  expect(t.heard.length).toBe(3);
  await t.answer(["a"]);
  t.resolve();
  expect(t.heard.at(-1)).toBe("a");
});

test("threads tell each other, and what one has learnt serves those that wait", async () => {
  const t = resolver();
  t.resolve("App");
  t.names.learn({ name: "app", addresses: ["z"], ttlMs: 5000 });
  expect([t.heard, t.published]).toEqual([["z"], []]);
  await t.answer(["z"], 6000);
  expect(t.published).toEqual([]);
  expect(t.names.known()).toEqual([{ name: "app", addresses: ["z"], ttlMs: 6000 }]);
  t.pass(6000);
  await t.answer(["y"], 1000);
  expect(t.published).toEqual(["app y"]);
  t.names.learn({ name: "app", addresses: ["old"], ttlMs: 500 });
  t.resolve();
  expect(t.heard.at(-1)).toBe("y");
});

test("after a failed connection it asks at once, and 100 ms after the last question at the earliest", async () => {
  const t = resolver();
  t.resolve();
  await t.answer(["a"]);
  for (let n = 0; n < 3; n++) t.refresh();
  expect([t.asked.length, t.heard]).toEqual([1, ["a"]]);
  t.pass(99);
  expect(t.asked.length).toBe(1);
  t.pass(1);
  expect([t.asked.length, t.heard]).toEqual([2, ["a"]]);
  await t.answer(["b"]);
  expect(t.heard).toEqual(["a", "b", "b", "b"]);
  t.pass(100);
  t.refresh();
  expect(t.asked.length).toBe(3);
  await t.answer(["c"]);
  expect(t.heard.at(-1)).toBe("c");
});

test("a failed connection waits for no servers that have just not answered", async () => {
  const t = resolver();
  t.resolve();
  await t.answer(["a"], 0);
  t.resolve();
  await t.answer([], 0, "ETIMEOUT");
  t.refresh();
  expect([t.asked.length, t.heard]).toEqual([2, ["a", "a", "a"]]);
});

test("the last good answer is kept while the servers fail, and no connection waits a second time", async () => {
  const t = resolver();
  t.resolve();
  await t.answer(["a"]);
  t.pass(6000);
  t.resolve();
  await t.answer([], 0, "ETIMEOUT");
  expect(t.heard).toEqual(["a", "a"]);
  t.pass(1001);
  t.resolve();
  expect([t.heard, t.failures]).toEqual([["a", "a", "a"], ["app ETIMEOUT"]]);
  await t.answer([], 0, "");
  t.pass(1001);
  t.resolve();
  await t.answer([], 0, "");
  expect(t.heard.at(-1)).toBe("ENOTFOUND");
});

test("servers that say nothing at all are waited for two seconds", async () => {
  const t = resolver();
  t.resolve();
  t.pass(1999);
  expect(t.heard).toEqual([]);
  t.pass(1);
  expect(t.heard).toEqual(["ETIMEOUT"]);
  await t.answer(["a"]);
  expect(t.heard).toEqual(["ETIMEOUT"]);
});

test("addresses take turns, and one that failed comes last for a while", async () => {
  const t = resolver();
  t.resolve();
  await t.answer(["a", "b"], 60_000);
  t.resolve();
  expect(new Set(t.heard)).toEqual(new Set(["a,b", "b,a"]));
  t.names.failed("app", "a");
  for (let n = 0; n < 4; n++) t.resolve();
  expect(t.heard.slice(2)).toEqual(["b,a", "b,a", "b,a", "b,a"]);
  t.pass(10_001);
  t.resolve();
  t.resolve();
  expect(new Set(t.heard.slice(-2))).toEqual(new Set(["a,b", "b,a"]));
});

test("what is found of an address is told once, and no later than after two seconds", async () => {
  const t = resolver();
  const told: string[] = [];
  const confirm = () => t.names.confirm("192.0.2.1", ["a.test"], (is, failure) => told.push(`${is} ${failure}`));
  confirm();
  t.reversed.shift()!({ isConfirmed: true, failure: "" });
  await Bun.sleep(0);
  t.pass(5000);
  expect(told).toEqual(["true "]);
  confirm();
  t.pass(1999);
  expect(told).toHaveLength(1);
  t.pass(1);
  expect(told.slice(1)).toEqual(["false ETIMEOUT"]);
  t.reversed.shift()!({ isConfirmed: true, failure: "" });
  await Bun.sleep(0);
  expect(told).toHaveLength(2);
});
