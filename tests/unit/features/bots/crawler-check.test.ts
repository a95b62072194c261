import { expect, test } from "bun:test";
import { CrawlerCheck } from "../../../../src/features/bots/crawler-check.ts";

/** A check whose clock and name servers the test holds. */
function crawlers() {
  const clock = { nowMs: 0 };
  const asked: string[] = [];
  const told: boolean[] = [];
  const waiting: ((isConfirmed: boolean, failure: string) => void)[] = [];
  const check = new CrawlerCheck(
    {
      confirm: (address, domains, listener) => {
        asked.push(`${address} ${domains.join()}`);
        waiting.push(listener);
      },
    },
    clock,
    (isVerified) => told.push(isVerified),
  );
  const found: boolean[] = [];
  return {
    check,
    clock,
    asked,
    found,
    told,
    ask: (address: string, network = address) =>
      check.ask("bingbot", address, network, (isVerified) => found.push(isVerified)),
    say: (isConfirmed: boolean, failure = "") => waiting.shift()!(isConfirmed, failure),
  };
}

test("many wait for one question, and what was found is remembered for its time", () => {
  const t = crawlers();
  for (let i = 0; i < 3; i++) expect(t.ask("192.0.2.1")).toBe(true);
  expect(t.asked).toEqual(["192.0.2.1 search.msn.com"]);
  t.say(true);
  expect([t.found, t.told]).toEqual([[true, true, true], [true]]);
  t.clock.nowMs = 3_599_999;
  expect(t.check.standing("bingbot", "192.0.2.1")).toBe("verified");
  expect(t.check.standing("googlebot", "192.0.2.1")).toBe("unknown");
  t.clock.nowMs = 3_600_000;
  expect(t.check.standing("bingbot", "192.0.2.1")).toBe("unknown");
});

test("a refusal is remembered for minutes, and for seconds where the name servers did not respond", () => {
  const t = crawlers();
  for (const [failure, untilMs] of [
    ["", 300_000],
    ["ETIMEOUT", 5000],
  ] as const) {
    t.clock.nowMs = 0;
    t.ask("192.0.2.2");
    t.say(false, failure);
    t.clock.nowMs = untilMs - 1;
    expect(t.check.standing("bingbot", "192.0.2.2")).toBe("refused");
    t.clock.nowMs = untilMs;
    expect(t.check.standing("bingbot", "192.0.2.2")).toBe("unknown");
  }
});

test("one network has a part of the room, all together the whole, and it is given back", () => {
  const t = crawlers();
  const ofOne = Array.from({ length: 10 }, (_, i) => t.ask(`192.0.2.${i}`, "192.0.2"));
  expect(ofOne.filter(Boolean)).toHaveLength(8);
  const ofAll = Array.from({ length: 100 }, (_, i) => t.ask(`198.51.${i}.1`));
  expect(ofAll.filter(Boolean)).toHaveLength(56);
  while (t.found.length < 64) t.say(false);
  expect(t.ask("192.0.2.100", "192.0.2")).toBe(true);
});

test("the number of those who wait is bounded, whatever they wait for", () => {
  const t = crawlers();
  const waits = Array.from({ length: 1100 }, () => t.ask("192.0.2.1"));
  expect(waits.filter(Boolean)).toHaveLength(1024);
  t.say(true);
  expect(t.found).toHaveLength(1024);
  expect(t.ask("192.0.2.9")).toBe(true);
});

test("what was found longest ago is forgotten first", () => {
  const t = crawlers();
  for (let i = 0; i < 4097; i++) {
    t.ask(`10.0.${i >> 8}.${i & 255}`);
    t.say(true);
  }
  expect(t.check.standing("bingbot", "10.0.0.0")).toBe("unknown");
  expect(t.check.standing("bingbot", "10.0.0.1")).toBe("verified");
});
