import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BanKey, KeyKind } from "../../../../src/features/bans/ban-key.ts";
import { banNetwork } from "../../../../src/features/bans/ban-network.ts";
import { BanTable, createBanTable } from "../../../../src/features/bans/ban-table.ts";
import { type Decisions, intervalsOf, readDecisions, readNetworks } from "../../../../src/features/bans/feed-text.ts";
import {
  buildNetworkTable,
  type Intervals,
  merged,
  NetworkTable,
  shareFault,
  sizeOf,
  withoutLoopback,
} from "../../../../src/features/bans/network-table.ts";

function keyOf(address: string): BanKey {
  const key = new BanKey();
  key.read(address);
  return key;
}

function run<T>(steps: Generator<undefined, T, undefined>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const lines = (text: string) => run(readNetworks(Buffer.from(text)));
const RULES = { blocks: 3, windowMs: 8000, forMs: 10_000, maxMs: 35_000 };

describe("BanTable", () => {
  test("bans at the wanted number of blocks within the window, and not for blocks outside of it", () => {
    const table = new BanTable(createBanTable([1, 2], 16));
    const key = keyOf("192.0.2.1");
    expect(table.blocked(key, 1_000_000, RULES)).toBeNull();
    expect(table.blocked(key, 1_007_000, RULES)).toBeNull();
    expect(table.blocked(key, 1_008_500, RULES)).toBeNull();
    expect(table.blocked(key, 1_009_000, RULES)).toMatchObject({ address: "192.0.2.1", untilMs: 1_019_000, count: 1 });
    expect(table.untilMs(key, 1_018_999)).toBe(1_019_000);
    expect(table.untilMs(key, 1_019_000)).toBe(0);
  });

  test("doubles the time up to the longest, and begins anew after that", () => {
    const table = new BanTable(createBanTable([1, 2], 16));
    const key = keyOf("2001:db8::1");
    const ban = (nowMs: number) => [0, 1, 2].map((i) => table.blocked(key, nowMs + i, RULES)).at(-1)!;
    let nowMs = 5_000_000;
    const lengths: number[] = [];
    for (let i = 0; i < 4; i++) {
      const { sinceMs, untilMs } = ban(nowMs);
      lengths.push(untilMs - sinceMs);
      nowMs = untilMs + 1;
    }
    expect(lengths).toEqual([10_000, 20_000, 35_000, 35_000]);
    expect(ban(nowMs + 40_000)).toMatchObject({ count: 1, address: "2001:db8::/64" });
  });

  test("keeps bans where it is full, and forgets clients without one", () => {
    const table = new BanTable(createBanTable([7, 9], 1));
    const nowMs = 1000;
    const banned = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(keyOf);
    for (const key of banned) table.ban(key, nowMs, { source: "operator", sinceMs: nowMs, untilMs: 9e9, count: 1 });
    for (let i = 0; i < 200; i++) table.blocked(keyOf(`10.9.0.${i}`), nowMs + i, RULES);
    for (const key of banned) expect(table.untilMs(key, nowMs)).toBe(9e9);
    expect(table.lift(banned[0]!, nowMs)).toBe(true);
    expect(table.bans(nowMs).length).toBe(2);
  });

  test("ends bans that were made before the clock was set back, and bans anew", () => {
    const table = new BanTable(createBanTable([5, 6], 16));
    const key = keyOf("192.0.2.1");
    const yearMs = 31_536_000_000;
    const ban = (nowMs: number) => [0, 1, 2].map((i) => table.blocked(key, nowMs + i, RULES)).at(-1);
    ban(2 * yearMs);
    expect(table.untilMs(key, 2 * yearMs - 30_000)).toBe(2 * yearMs + 10_002);
    expect([table.untilMs(key, yearMs), table.bans(yearMs)]).toEqual([0, []]);
    expect(ban(yearMs)).toMatchObject({ sinceMs: yearMs + 2 });
    expect(table.untilMs(key, yearMs + 3)).toBeGreaterThan(yearMs);
  });

  test("is one for all threads, whichever writes", () => {
    const buffer = createBanTable([3, 4], 16);
    const [one, other] = [new BanTable(buffer), new BanTable(buffer)];
    const key = keyOf("198.51.100.1");
    one.blocked(key, 1000, RULES);
    other.blocked(key, 1001, RULES);
    expect(one.blocked(key, 1002, RULES)).not.toBeNull();
    expect(other.untilMs(key, 1003)).toBe(11_002);
  });
});

describe("NetworkTable", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const v4 = fc.tuple(octet, octet, octet, octet, fc.integer({ min: 0, max: 32 }));
  const v6 = fc.tuple(
    fc.integer({ min: 0, max: 0xffff }),
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 0, max: 128 }),
  );

  test("finds what one of its networks has, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(v4, { maxLength: 30 }), fc.array(v6, { maxLength: 30 }), v4, v6, (four, six, ask4, ask6) => {
        const texts = [
          ...four.map(([a, b, c, d, bits]) => `${a}.${b}.${c}.${d}/${bits}`),
          ...six.map(([a, b, bits]) => `${a.toString(16)}:0:0:${b}::1/${bits}`),
        ];
        const lists = texts.map((text) => intervalsOf(text)!);
        const table = new NetworkTable(buildNetworkTable(merged(lists)));
        const places = [
          `${ask4.slice(0, 4).join(".")}`,
          `${ask6[0].toString(16)}:0:0:${ask6[1]}::9`,
          ...four.map(([a, b, c, d]) => `${a}.${b}.${c}.${d}`),
        ];
        for (const address of places) {
          const key = keyOf(address);
          expect(table.has(key)).toBe(lists.some((list) => isIn(list, key)));
        }
      }),
      { numRuns: 300 },
    );
  });

  test("leaves loopback out, and says what share of the addresses it has", () => {
    const all = withoutLoopback(merged([intervalsOf("0.0.0.0/0")!, intervalsOf("::/0")!]));
    const table = new NetworkTable(buildNetworkTable(all));
    expect(["127.0.0.1", "127.255.255.255", "::1"].map((one) => table.has(keyOf(one)))).toEqual([false, false, false]);
    expect(
      ["126.255.255.255", "128.0.0.0", "0:0:0:1::1", "255.255.255.255"].every((one) => table.has(keyOf(one))),
    ).toBe(true);
    const tenth = merged([intervalsOf("10.0.0.0/8")!, intervalsOf("10.0.0.0/9")!]);
    expect([shareFault(tenth, 1 / 256), shareFault(tenth, 1 / 257)]).toEqual(["", expect.stringContaining("0.391%")]);
  });

  test("holds a million networks in less than 64 MiB for all workers", () => {
    const four = new Uint32Array(1_000_000).map((_, i) => i * 4096 + 1);
    const one: Intervals = {
      v4: { from: four, to: four },
      v6: { from: new BigUint64Array(0), to: new BigUint64Array(0) },
    };
    const six = BigUint64Array.from({ length: 1_000_000 }, (_, i) => 0x2000_0000_0000_0000n + BigInt(i) * 16n);
    const other: Intervals = { v4: { from: new Uint32Array(0), to: new Uint32Array(0) }, v6: { from: six, to: six } };
    const buffers = [one, other].map((list) => buildNetworkTable(merged([list])));
    // Two of them are there while one takes the place of the other.
    for (const { byteLength } of buffers) expect(byteLength * 2).toBeLessThan(64 * 1024 * 1024);
    const table = new NetworkTable(buffers[0]!);
    const key = new BanKey();
    key.set(KeyKind.V4, 4096 * 77 + 1, 0);
    expect(table.has(key)).toBe(true);
    key.set(KeyKind.V4, 4096 * 77 + 2, 0);
    expect(table.has(key)).toBe(false);
  });
});

describe("feeds", () => {
  test("have addresses, networks and ranges, with comments behind them", () => {
    const { intervals, skipped } = lines(
      "# head\r\n192.0.2.1\n198.51.100.0/24 ; SBL1\n\n203.0.113.1-203.0.113.9\n2001:db8::/32,x\nfoo\n10.1.2.3/8\n1.2.3.4/33\n",
    );
    expect(skipped).toBe(2);
    expect(sizeOf(intervals)).toBe(5);
    expect([...intervals.v4.from].map((one) => one >>> 24)).toEqual([192, 198, 203, 10]);
  });

  test("that are something else are refused", () => {
    expect(() => lines("<html>\n<body>\nhello\n</body>\n")).toThrow("no addresses");
    expect(() => run(readDecisions(Buffer.from("<html>"), new Map(), 0))).toThrow("no JSON");
    expect(() => run(readDecisions(Buffer.from('{"a":1}'), new Map(), 0))).toThrow("decisions");
    expect(() => run(readDecisions(Buffer.from("[1,2,3]"), new Map(), 0))).toThrow("no decision");
  });

  test("of CrowdSec are all decisions, or changes of those before, and end by themselves", () => {
    const decision = (value: string, more = {}) => ({ value, type: "ban", scope: "Ip", duration: "1h0m2.5s", ...more });
    const read = (what: unknown, before: Decisions, nowMs: number) =>
      run(readDecisions(Buffer.from(JSON.stringify(what)), before, nowMs));
    const first = read([decision("192.0.2.1"), decision("192.0.2.2", { type: "captcha" })], new Map(), 0);
    expect(first.decisions).toEqual(new Map([["192.0.2.1", 3_602_500]]));
    const changes = { new: [decision("198.51.100.0/24")], deleted: [decision("192.0.2.1")] };
    const second = read(changes, first.decisions, 1000);
    expect([...second.decisions.keys()]).toEqual(["198.51.100.0/24"]);
    expect(sizeOf(read({ new: null, deleted: null }, second.decisions, 9_999_999).intervals)).toBe(0);
    expect(sizeOf(read(null, second.decisions, 1000).intervals)).toBe(0);
  });
});

/** Looks at each interval. */
function isIn({ v4, v6 }: Intervals, { kind, high, low }: BanKey): boolean {
  if (kind === KeyKind.V4) return v4.from.some((from, i) => from <= high && high <= v4.to[i]!);
  const value = (BigInt(high) << 32n) | BigInt(low);
  return v6.from.some((from, i) => from <= value && value <= v6.to[i]!);
}

describe("a text of an operator, a feed or another gateway", () => {
  test("has one name for all spellings of one client or network", () => {
    const names: Readonly<Record<string, readonly string[]>> = {
      "192.0.2.7": ["192.0.2.7", "192.0.2.7/32", "::ffff:192.0.2.7", "::ffff:c000:207/128", "192.0.2.7-192.0.2.7"],
      "192.0.2.0/24": ["192.0.2.9/24", "::ffff:192.0.2.9/120", "192.0.2.0-192.0.2.255", "::ffff:192.0.2.0-192.0.2.255"],
      "192.0.2.1-192.0.2.9": ["192.0.2.1-192.0.2.9"],
      "0.0.0.0/0": ["0.0.0.0/0", "::ffff:0:0/96", "1.2.3.4/0"],
      "2001:db8::/64": ["2001:db8::1", "2001:db8::/64", "2001:db8::ffff/128", "2001:db8::1-2001:db8::2"],
      "2001:db8::/48": ["2001:db8::/48", "2001:db8:0:ff::1/48"],
      "fe80::/64": ["fe80::1%eth0"],
      "::/0": ["::/0", "::ffff:1.2.3.4/0"],
    };
    for (const [name, texts] of Object.entries(names))
      for (const text of texts) expect([text, banNetwork(text)?.name]).toEqual([text, name]);
    for (const text of [
      "",
      "192.0.2.7/33",
      "::ffff:192.0.2.7/129",
      "010.0.0.1",
      "1.2.3",
      "[::1]",
      "localhost",
      "1.1.1.1-",
    ])
      expect([text, banNetwork(text)]).toEqual([text, null]);
  });

  test("bans no loopback as a part of a network, only by its own address", () => {
    const sizes = ["127.0.0.0/8", "127.1.2.0/24", "::ffff:127.0.0.0/104", "126.0.0.0/7", "127.0.0.1", "::1"].map(
      (text) => sizeOf(banNetwork(text)!.intervals),
    );
    expect(sizes).toEqual([0, 0, 0, 1, 1, 1]);
  });
});
