import { describe, expect, test } from "bun:test";
import type { LiveState } from "../../../../src/features/dashboard/live-state.ts";
import { LiveRates } from "../../../../src/tools/watch/rates.ts";
import { statusText } from "../../../../src/tools/watch/status-view.ts";
import { COLORS, ENDLESS, fitted, NO_COLORS } from "../../../../src/tools/watch/text.ts";
import { topLines, topText, VIEWS } from "../../../../src/tools/watch/top-view.ts";
import { liveState, module, target } from "../../features/dashboard/live-states.ts";

const HOSTILE = "/\u001b[2J\u001b]0;owned\u0007\r\nwide 漢字漢字漢字 \u202e";

/** All that a client can name is hostile, and every list is long. */
function crowded(): LiveState {
  const label = (i: number) => ({ ...liveState().routes[0]!, label: `${HOSTILE}${i}`, requests: i * 1_000_003 });
  const many = Array.from({ length: 60 }, (_, i) => i);
  return liveState({
    routes: many.map(label),
    routeCount: 4000,
    upstreams: many.map(label),
    targets: many.map((i) =>
      target({ upstream: `http://${"h".repeat(i)}:80`, breaker: i % 3 === 0 ? "open" : "closed" }),
    ),
    attackers: many.map((i) => ({
      address: `2001:db8::${i}`,
      refusals: i,
      reasons: [["waf_blocked", i]],
      firstAt: 0,
      lastAt: 1,
      path: HOSTILE,
      userAgent: HOSTILE,
    })),
    cache: { entries: 1, bytes: 2, maxBytes: 3, evictions: 4, results: { hit: 1, miss: 3 } },
    certificates: many.map((i) => ({ domain: `${i}.example.com`, notAfterS: i })),
    changes: [{ at: 1, event: "config_reload", text: HOSTILE, bad: true }],
    modules: many.map((i) => module({ name: `${HOSTILE}${i}`, calls: i * 1_000_003, threads: i % 2 })),
    workers: many.map(() => liveState().workers[0]!),
    gateway: {
      ...liveState().gateway,
      listeners: many.map((i) => ({
        name: `l${i}`,
        address: `[2001:db8::${i}]:443`,
        protocols: ["https", "h2", "h3"],
        open: i,
      })),
    },
  });
}

const widths = [20, 40, 80, 120, 200];
const controls = (text: string) =>
  Bun.stripANSI(text)
    .replaceAll("\n", "")
    .match(/[\p{Cc}\p{Cf}]/u);

describe("no line is wider than the screen, and no client moves the cursor", () => {
  test.each(widths)("at %i columns", (width) => {
    for (const state of [liveState(), crowded()]) {
      for (const paints of [NO_COLORS, COLORS]) {
        const text = statusText(state, "unix:/run/edge.sock", width, paints);
        expect(Math.max(...text.split("\n").map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(
          Math.max(width, 48),
        );
        expect(controls(text)).toBeNull();
        const rates = new LiveRates();
        for (let i = 0; i < 3; i++) rates.add({ ...state, at: state.at + i * 1000 });
        for (const view of VIEWS) {
          const lines = topLines(
            state,
            rates,
            "x",
            { view, sort: "e", from: 0, isPaused: false },
            { width, height: 24, paints },
          );
          expect(lines.length).toBe(24);
          expect(controls(lines.join("\n"))).toBeNull();
        }
      }
    }
  });
});

test("a status says what is asked for", () => {
  const text = statusText(liveState(), "unix:/run/edge.sock", 80, NO_COLORS);
  expect(text.split("\n").slice(0, 7)).toEqual([
    "edge 1.2.3   ● well                                          unix:/run/edge.sock",
    "up 1d 2h   machine, pid 7   configuration 1   firewall enforce",
    "",
    "requests     1,000      2xx 96 %  3xx 1 %  4xx 2 %  5xx 1 %   since the start",
    "latency      p50 0.4 ms   p90 2 ms   p99 30 ms",
    "open         connections 12   2 under way   2 KiB in, 3.81 MiB out",
    "workers      1 of 1 serve   memory 100 MiB   load 25 %",
  ]);
  expect(text).toContain("refused      malformed 4   firewall 3\n");
});

test("rates are what happened between two events", () => {
  const rates = new LiveRates();
  const first = liveState();
  rates.add(first);
  const route = { ...first.routes[0]!, requests: 1000, classes: [0, 0, 970, 0, 10, 20] };
  const row = { address: "192.0.2.1", method: "GET", host: "", path: "/x", protocol: "", status: 500, ms: 1 };
  const rows = [
    {
      ...row,
      at: 1,
      bytesOut: 5,
      route: "",
      upstream: "",
      cache: "",
      fault: "",
      faultDetail: "",
      attempts: 1,
      attemptMs: [1],
      userAgent: "",
      id: "",
    },
  ];
  const second = { ...first, at: first.at + 2000, routes: [route], rows, totals: { ...first.totals, requests: 1100 } };
  rates.add(second);
  expect(rates.total).toBe(50);
  expect(rates.ofLabel(route, "routes")).toEqual({ perSecond: 50, failedPerSecond: 5, refusedPerSecond: 0 });
  expect(rates.clients()).toEqual([
    { address: "192.0.2.1", requests: 1, failed: 1, bytesOut: 5, refusals: 0, why: "", path: "/x" },
  ]);
  const once = topText(second, rates, "x", { width: ENDLESS, height: 0, paints: NO_COLORS });
  expect(once).toContain("\nROUTES (1)");
  expect(once).toContain("\nUPSTREAMS (1)");
  expect(once).toContain("\nCLIENTS, last 10 s");
  rates.add({ ...second, at: second.at + 1000, totals: { ...second.totals, requests: 3 } });
  expect(rates.total).toBe(0);
});

test("modules are listed where there are any, with the rates of their calls", () => {
  const rates = new LiveRates();
  const first = liveState({ modules: [module(), module({ name: "hooks/shop.ts", calls: 10 })] });
  rates.add(first);
  const modules = [module({ calls: 160, failed: 5 }), module({ name: "hooks/shop.ts", calls: 10 })];
  const second = { ...first, at: first.at + 2000, modules };
  rates.add(second);
  expect(rates.ofModule(modules[0]!)).toEqual({ perSecond: 30, failedPerSecond: 2, refusedPerSecond: 0 });
  const frame = { width: ENDLESS, height: 0, paints: NO_COLORS };
  expect(topText(second, rates, "x", frame)).toContain(
    "\nFUNCTIONS (2)   CALLS/S  FAIL/S       P50       P90       P99  WAITING  THREADS  RESTARTS       HEAP     TOTAL\nfn/hello.ts          30       2      1 ms      2 ms      3 ms        4        2         1      1 MiB       160\n",
  );
  expect(topText(liveState(), rates, "x", frame)).not.toContain("FUNCTIONS");
  expect(statusText(second, "x", 80, NO_COLORS)).toContain(
    "\nfn/hello.ts           160    3.1 %        4        2         1      1 MiB\n",
  );
  expect(statusText(liveState(), "x", 80, NO_COLORS)).not.toContain("FUNCTIONS");
});

test("a text that is too long ends in dots", () => {
  expect([fitted("abc", 3), fitted("abcd", 3), fitted("漢字", 3), fitted("x", 0)]).toEqual(["abc", "ab…", "漢…", ""]);
});

test("a screen has as many reasons as there is room for, and how many there are beside them", () => {
  const { gateway } = liveState();
  const state = liveState({ gateway: { ...gateway, status: "draining", lastReloadOk: false, logLevel: "debug" } });
  const choice = { view: "routes", sort: "r", from: 0, isPaused: false } as const;
  const second = (width: number) =>
    topLines(state, new LiveRates(), "x", choice, { width, height: 24, paints: NO_COLORS })[1];
  const [first, reload, level] = state.verdict.findings.map(({ text }) => text);
  expect([40, 60, 110, 200].map(second)).toEqual([
    `${first}   and 2 more`,
    `${first}   and 2 more`,
    `${first}   ${reload}   and 1 more`,
    `${first}   ${reload}   ${level}`,
  ]);
});

test("the endpoints of the gateway itself are apart from routes, and `?` explains the keys", () => {
  const { routes } = liveState();
  const state = liveState({ routes: [...routes, { ...routes[0]!, label: "/internal/api/stream" }], routeCount: 2 });
  const frame = { width: ENDLESS, height: 40, paints: NO_COLORS };
  expect(statusText(state, "x", ENDLESS, NO_COLORS)).toContain("ROUTES (1) ");
  const once = topText(state, new LiveRates(), "x", frame);
  const [before, after] = once.split("\nENDPOINTS OF EDGE (1)");
  expect(before).toContain("\nROUTES (1)");
  expect([before!.includes("/internal/"), after!.includes("\n/internal/api/stream")]).toEqual([false, true]);
  const choice = { view: "routes", sort: "r", from: 0, isPaused: false, hasHelp: true } as const;
  const lines = topLines(state, new LiveRates(), "x", choice, frame).join("\n");
  for (const word of ["KEYS", "4        endpoints of edge", "sort by errors", "?        these keys"])
    expect(lines).toContain(word);
});

test("status shows the listeners, the first of many, and none of an older gateway", () => {
  const lines = statusText(crowded(), "x", 80, NO_COLORS).split("\n");
  const at = lines.findIndex((line) => line.startsWith("listens"));
  expect(lines[at]).toBe("listens      [2001:db8::0]:443   l0   https, h2, h3   0 open");
  expect(lines[at + 4]!.trim()).toBe("and 56 more");
  expect(statusText(liveState(), "x", 80, NO_COLORS)).not.toContain("listens");
});
