import { describe, expect, test } from "bun:test";
import type { LiveState } from "../../../../src/features/dashboard/live-state.ts";
import { findings } from "../../../../src/tools/watch/findings.ts";
import { verdict } from "../../../../src/tools/watch/status-view.ts";
import { liveState, module, target } from "./live-states.ts";

const { gateway, totals, workers, at } = liveState();
const DAY_MS = 86_400_000;

test("a gateway that is well has nothing to say", () => {
  expect(findings(liveState())).toEqual([]);
  expect(verdict([])).toEqual({ word: "well", isWell: true });
});

describe("what is wrong is said", () => {
  const cases: [string, Partial<LiveState>][] = [
    ["the gateway is draining", { gateway: { ...gateway, status: "draining" } }],
    ["the access log cannot be written: /var/log/x", { gateway: { ...gateway, failedLogs: ["/var/log/x"] } }],
    ["the last reload failed: the files are not what serves", { gateway: { ...gateway, lastReloadOk: false } }],
    ["1 worker of 2 stalled or starting: 1", { workers: [workers[0]!, { ...workers[0]!, moves: false }] }],
    ["1 target out: http://b", { targets: [target(), target({ upstream: "http://b", breaker: "open" })] }],
    ["1 module without a thread: shop.ts", { modules: [module(), module({ name: "shop.ts", threads: 0 })] }],
    ["/api has no target left", { targets: [target({ drained: true }), target({ healthy: false })] }],
    [
      "the certificate of a.test expires in 6d",
      { certificates: [{ domain: "a.test", notAfterS: (at + 6 * DAY_MS) / 1000 }] },
    ],
    ["the certificate of a.test has expired", { certificates: [{ domain: "a.test", notAfterS: at / 1000 - 1 }] }],
    [
      "10 % of the requests of the last minute were answered with 5xx",
      {
        history: [
          [at - 50_000, [0, 0, 100, 0, 0, 0], null, 0, 0, 0],
          [at, [0, 0, 190, 0, 0, 10], null, 0, 0, 0],
        ],
      },
    ],
  ];
  test.each(cases)("%s", (text, change) => {
    const found = findings(liveState(change));
    expect(found).toContainEqual({ isBad: true, text });
    expect(verdict(found).isWell).toBe(false);
  });

  const notes: [string, Partial<LiveState>][] = [
    ["under maintenance: /a, /b, /c and 1 more", { gateway: { ...gateway, maintenance: ["/a", "/b", "/c", "/d"] } }],
    ["drained: http://b", { targets: [target(), target({ upstream: "http://b", drained: true })] }],
    ["2 lines of the log dropped", { totals: { ...totals, logDropped: 2 } }],
    ["the log level is warn", { gateway: { ...gateway, logLevel: "warn" } }],
  ];
  test.each(notes)("%s, and it is well all the same", (text, change) => {
    const found = findings(liveState(change));
    expect(found).toEqual([{ isBad: false, text }]);
    expect(verdict(found).isWell).toBe(true);
  });
});
