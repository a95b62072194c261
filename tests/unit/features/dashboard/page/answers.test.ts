import { expect, test } from "bun:test";
import type { LiveState } from "../../../../../src/features/dashboard/live-state.ts";
import { isUnderAttack, slowest, wellCard } from "../../../../../src/features/dashboard/page/answers.ts";
import { Model } from "../../../../../src/features/dashboard/page/model.ts";
import { liveState, target } from "../live-states.ts";

const START = 1_800_000_000_000;

function stateAt(second: number, change: Partial<LiveState> = {}, classes = [0, 0, second * 100, 0, 0, 0]): LiveState {
  const { gateway, totals } = liveState();
  const requests = classes.reduce((sum, one) => sum + one, 0);
  return liveState({
    at: START + second * 1000,
    gateway: { ...gateway, startedAt: START },
    totals: { ...totals, requests, classes, bytesOut: second * 1000, wafBlocked: 0, refusals: {} },
    ...change,
  });
}

test("the first card says the verdict, its first reasons, and where more is", () => {
  const [down, drained] = [target({ breaker: "open" }), target({ upstream: "http://b\u202e", drained: true })];
  const { gateway } = liveState();
  const of = (change: Partial<LiveState>) => wellCard(liveState(change).verdict);
  expect(of({})).toEqual({ grade: "good", headline: "well", lines: [], href: "#overview" });
  expect(of({ targets: [target(), drained] })).toEqual({
    grade: "warn",
    headline: "well, with notes",
    lines: ["drained: http://b\ufffd"],
    href: "#upstreams",
  });
  const switched = { ...gateway, lastReloadOk: false, logLevel: "debug", maintenance: ["/a"], failedLogs: ["x"] };
  const all = of({ targets: [down, drained], gateway: switched });
  expect([all.grade, all.headline, all.href]).toEqual(["bad", "not well", "#upstreams"]);
  expect([all.lines.length, all.lines[0], all.lines.at(-1)]).toEqual([6, "/api has no target left", "and 2 more"]);
});

test("rates are those of the last seconds, and begin anew when the gateway does", () => {
  const model = new Model();
  for (let second = 1; second <= 30; second++) model.take(stateAt(second, {}, [0, 0, second * second, 0, 0, 0]));
  expect(model.rateOf(({ totals }) => totals.requests)).toBe((30 ** 2 - 20 ** 2) / 10);
  expect(model.moments).toHaveLength(29);
  expect(model.moments.at(-1)).toMatchObject({ classes: [0, 0, 59, 0, 0, 0], bytesOut: 1000 });
  const again = stateAt(1);
  model.take({ ...again, at: START + 60_000, gateway: { ...again.gateway, startedAt: START + 59_000 } });
  expect([model.moments.length, model.rateOf(({ totals }) => totals.requests)]).toEqual([0, 0]);
});

test("an attack is what is refused more often than now and then; slow is what its slowest requests are", () => {
  const model = new Model();
  const { totals } = stateAt(1);
  const route = (label: string, p99: number) => ({
    label,
    requests: 1,
    classes: [0, 0, 1, 0, 0, 0],
    latency: [1, 1, p99] as const,
    bytesPerSecond: [0, 0] as const,
  });
  const routes = [route("/a", 5), route("/b", 50), route("/internal/api/status", 900)];
  model.take(stateAt(1, { routes }));
  model.take(stateAt(11, { routes, totals: { ...totals, wafBlocked: 15, refusals: { malformed: 10 } } }));
  expect(isUnderAttack(model)).toBe(true);
  expect(slowest(model.busy((state) => state.routes))?.label).toBe("/b");
});
