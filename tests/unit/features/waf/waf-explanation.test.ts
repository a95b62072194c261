import { expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { buildRouter } from "../../../../src/features/route/build-router.ts";
import type { RouteFacts } from "../../../../src/features/waf/detectors/path-traversal.ts";
import { explainWaf, type WafExplanation } from "../../../../src/features/waf/waf-explanation.ts";
import type { WafSettings } from "../../../../src/features/waf/waf-scorer.ts";
import { routeInit } from "../route/route-inits.ts";
import { ENFORCE } from "./waf-settings.ts";

const ROUTER = buildRouter(
  [
    { kind: "static", label: "/static", path: "/static" },
    { kind: "upstream", label: "/site", path: "/site", hosts: ["a.test"] },
  ].map(routeInit),
);

function explain(target: string, settings: WafSettings, routes: RouteFacts): WafExplanation {
  return explainWaf({ method: "GET", target, headers: [], body: new Uint8Array(0) }, settings, routes);
}

test("explains a block", () => {
  const found = explain("/static/%252e%252e/x?q", ENFORCE, ROUTER);
  expect([found.verdict, found.score, found.fault]).toEqual(["block", 5, Fault.None]);
  expect(found.candidates).toEqual({ raw: "/static/%252e%252e/x", decoded: "/static/../x" });
  expect(found.rules.map((rule) => rule.id)).toEqual(["TRAVERSAL-003"]);
});

test("explains a pass and a mere log line", () => {
  expect(explain("/static/a/../b", ENFORCE, ROUTER).verdict).toBe("pass");
  expect(explain("/../b", { ...ENFORCE, mode: "detection" }, ROUTER).verdict).toBe("log");
});

test("takes the host from an absolute target", () => {
  expect(explain("http://a.test/site/x/../y", ENFORCE, ROUTER).verdict).toBe("pass");
  expect(explain("http://b.test/site/x/../y", ENFORCE, ROUTER).verdict).toBe("block");
});

test.each(["no-slash", "/a b", "/a\0b", "/é", "", "/a HTTP/1.0\r\nX: y\r\n\r\n", "/a HTTP/1.0\r\nX:"])(
  "refuses %j",
  (target) => {
    const found = explain(target, ENFORCE, ROUTER);
    expect(found.verdict).toBe("refuse");
    expect(found.fault).not.toBe(Fault.None);
  },
);
