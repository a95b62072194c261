import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import type { RouteFacts } from "../../../../src/features/waf/detectors/path-traversal.ts";
import type { WafIncident } from "../../../../src/features/waf/incident.ts";
import { RouteFirewall, Waf, WafPhase } from "../../../../src/features/waf/waf.ts";
import type { AddressSet, WafSettings } from "../../../../src/features/waf/waf-scorer.ts";
import { ClientPeer } from "../../../../src/message/client-peer.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import { headOfTarget } from "../../proto/target/head-of-target.ts";
import { recordedExchange } from "../route/recorded-exchange.ts";
import { DETACHED, ENFORCE } from "./waf-settings.ts";

const NO_ROUTES: RouteFacts = { exactId: () => -1, prefixId: () => -1 };

function run(target: string, settings: WafSettings = ENFORCE, allowedIps: AddressSet = DETACHED) {
  const incidents: WafIncident[] = [];
  const listener = {
    onInspected() {},
    onIncident: (incident: WafIncident) => void incidents.push(incident),
    onBudgetExhausted() {},
    onOverLimit() {},
  };
  const phase = new WafPhase(new Waf(settings, allowedIps, NO_ROUTES, listener, { nowMs: 1234 }));
  const { ex, faults } = recordedExchange(headOfTarget(target));
  ex.client = new ClientPeer("192.0.2.7", false, 80);
  return { verdict: phase.run(ex), ex, faults, incidents };
}

describe("WAF phase", () => {
  test("lets a benign request pass without a word", () => {
    const { verdict, ex, faults, incidents } = run("/static/app.js?x=../");
    expect([verdict, ex.wafScore, ex.detail, faults, incidents]).toEqual([Verdict.Next, 0, "", [], []]);
  });

  test("blocks in enforce mode, with the body and the incident", () => {
    const { verdict, ex, faults, incidents } = run("/static/..%2f%2e%2e/x?q=1#f");
    expect([verdict, ex.wafScore, faults]).toEqual([Verdict.Done, 10, [Fault.WafBlocked]]);
    expect(ex.detail).toBe(
      '{"error":"403 Forbidden","message":"Request blocked by Web Application Firewall","threat_score":10,"triggered_rules":["TRAVERSAL-001","TRAVERSAL-002"]}',
    );
    expect(incidents).toEqual([
      {
        timestampMs: 1234,
        clientIp: "192.0.2.7",
        method: "GET",
        path: "/static/..%2f%2e%2e/x",
        category: "traversal",
        ruleId: "TRAVERSAL-001",
        crs: 930110,
        anomalyScore: 10,
        action: "blocked",
        location: "url",
        payloadSnippet: "/static/..%2f%2e%2e/x",
      },
    ]);
  });

  test("reports and goes on in detection mode", () => {
    const { verdict, ex, faults, incidents } = run("/../x", { ...ENFORCE, mode: "detection" });
    expect([verdict, ex.wafScore, ex.detail, faults]).toEqual([Verdict.Next, 5, "", []]);
    expect(incidents.map((incident) => incident.action)).toEqual(["logged"]);
  });

  test("reports and goes on below the threshold", () => {
    const settings = { ...ENFORCE, anomalyThreshold: 6 };
    expect(run("/../x", settings).incidents.map((incident) => incident.action)).toEqual(["logged"]);
    expect(run("/../x", settings).verdict).toBe(Verdict.Next);
    expect(run("/../%2e%2e/x", settings).verdict).toBe(Verdict.Done);
  });

  test("a threshold of 0 does not block what no rule matches", () => {
    expect(run("/a..b", { ...ENFORCE, anomalyThreshold: 0 }).verdict).toBe(Verdict.Next);
  });

  test("lets allowed clients pass unseen", () => {
    const { verdict, ex, incidents } = run("/../x", ENFORCE, { has: (address) => address === "192.0.2.7" });
    expect([verdict, ex.wafScore, incidents]).toEqual([Verdict.Next, 0, []]);
  });

  test("forgets the last request", () => {
    const phase = new WafPhase(
      new Waf(
        ENFORCE,
        DETACHED,
        NO_ROUTES,
        { onInspected() {}, onIncident() {}, onBudgetExhausted() {}, onOverLimit() {} },
        { nowMs: 0 },
      ),
    );
    const details = ["/%2e%2e/", "/a/../b"].map((target) => {
      const { ex } = recordedExchange(headOfTarget(target));
      phase.run(ex);
      return JSON.parse(ex.detail).triggered_rules;
    });
    expect(details).toEqual([["TRAVERSAL-002"], ["TRAVERSAL-001"]]);
  });

  test("judges by its own switches, whichever firewall has used the inspector before", () => {
    const listener = { onInspected() {}, onIncident() {}, onBudgetExhausted() {}, onOverLimit() {} };
    const base = new Waf(ENFORCE, DETACHED, NO_ROUTES, listener, { nowMs: 0 });
    const lenient = new RouteFirewall(base, { ...ENFORCE, disabledRules: ["TRAVERSAL-001"] }, { nowMs: 0 });
    const [strictPhase, lenientPhase] = [new WafPhase(base), new WafPhase(lenient)];
    const verdicts = [strictPhase, lenientPhase, strictPhase, lenientPhase].map((phase) =>
      phase.run(recordedExchange(headOfTarget("/a/../b")).ex),
    );
    expect(verdicts).toEqual([Verdict.Done, Verdict.Next, Verdict.Done, Verdict.Next]);
  });

  test("shows the find in a long target", () => {
    const { incidents } = run(`/${"a".repeat(5000)}/%2e%2e/b`);
    expect(incidents[0]!.payloadSnippet).toBe(`${"a".repeat(63)}/%2e%2e/b`);
    expect(incidents[0]!.path).toHaveLength(5010);
  });
});
