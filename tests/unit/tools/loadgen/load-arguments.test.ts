import { describe, expect, test } from "bun:test";
import { durationKey, tiersOf, tiersOfDurations } from "../../../../src/tools/loadgen/duration-tier.ts";
import { splitPlan } from "../../../../src/tools/loadgen/load-plan.ts";
import { parseTarget } from "../../../../src/tools/loadgen/load-target.ts";

describe("a target", () => {
  test.each([
    [
      "http://127.0.0.1:8080/health",
      { hostname: "127.0.0.1", port: 8080, authority: "127.0.0.1:8080", path: "/health" },
    ],
    ["http://gw.test", { isTls: false, port: 80, authority: "gw.test", path: "/" }],
    ["https://gw.test/a?b=c#d", { isTls: true, port: 443, path: "/a?b=c", url: "https://gw.test/a?b=c" }],
    ["http://[::1]:99/x", { hostname: "::1", port: 99, authority: "[::1]:99" }],
  ])("%s is understood", (text, expected) => {
    expect(parseTarget(text)).toMatchObject(expected);
  });

  test.each([
    "",
    "127.0.0.1:8080",
    "ftp://a/",
    "http://",
    "http://u:p@a/",
    "/health",
    "http://a:99999/",
    "http://a:0/",
  ])("%p is refused in words", (text) => expect(parseTarget(text)).toBeString());
});

describe("tiers", () => {
  const keys = (word: string) => tiersOf(word).map((tier) => `${tier.name} ${durationKey(tier.durationMs)}`);

  test("have the documented durations", () => {
    expect(["quick", "medium", "steady", "soak"].map((word) => keys(word)[0])).toEqual([
      ...["quick 5s", "medium 60s", "medium 60s", "soak 300s"],
    ]);
    expect(keys("all")).toEqual(["quick 5s", "medium 60s", "soak 300s"]);
    expect(keys("nonsense")).toEqual([]);
  });

  test("of a list of durations are named by their length, or as asked for", () => {
    const named = (list: number[], word: string) => tiersOfDurations(list, word).map((tier) => tier.name);
    expect(named([5000, 60_000, 1500, 300_000, 5000], "")).toEqual(["quick", "medium", "custom", "soak"]);
    expect(named([2000], "soak")).toEqual(["soak"]);
    expect(named([2000], "steady")).toEqual(["medium"]);
  });

  test("key files by whole seconds where they can", () => {
    expect([5000, 60_000, 90_000, 1500].map(durationKey)).toEqual(["5s", "60s", "90s", "1500ms"]);
  });
});

test("threads share a plan without losing a connection or a request", () => {
  const target = parseTarget("http://a/") as Exclude<ReturnType<typeof parseTarget>, string>;
  const plan = {
    target,
    requests: [{ method: "GET", path: "/", fields: [], body: "" }],
    protocol: 1 as const,
    concurrency: 10,
    durationMs: 1,
    tier: "custom",
    ratePerSecond: 3000,
    attackRatio: 0.25,
  };
  const shares = splitPlan(plan, 4);
  const sum = (pick: (share: (typeof shares)[number]) => number) =>
    shares.reduce((total, share) => total + pick(share), 0);
  expect(shares).toHaveLength(4);
  expect([sum((s) => s.connections), sum((s) => s.benignPerSecond), sum((s) => s.attacksPerSecond)]).toEqual([
    10, 2250, 750,
  ]);
  expect(splitPlan({ ...plan, concurrency: 1 }, 4)).toHaveLength(1);
});
