import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { buildRouter } from "../../../src/features/route/build-router.ts";
import { explainWaf } from "../../../src/features/waf/waf-explanation.ts";
import { routeInit } from "../route/route-inits.ts";
import { ENFORCE } from "./waf-settings.ts";

const ROUTER = buildRouter(
  [
    { kind: "static", label: "/static", path: "/static" },
    { kind: "upstream", label: "/site", path: "/site", hosts: ["a.test"] },
  ].map(routeInit),
);

test("explains a block", () => {
  const found = explainWaf("GET", "/static/%252e%252e/x?q", ENFORCE, ROUTER);
  expect([found.verdict, found.score, found.fault]).toEqual(["block", 5, Fault.None]);
  expect(found.candidates).toEqual({ raw: "/static/%252e%252e/x", decoded: "/static/../x" });
  expect(found.rules.map((rule) => rule.id)).toEqual(["TRAVERSAL-003"]);
});

test("explains a pass and a mere log line", () => {
  expect(explainWaf("GET", "/static/a/../b", ENFORCE, ROUTER).verdict).toBe("pass");
  expect(explainWaf("GET", "/../b", { ...ENFORCE, mode: "detection" }, ROUTER).verdict).toBe("log");
});

test("takes the host from an absolute target", () => {
  expect(explainWaf("GET", "http://a.test/site/x/../y", ENFORCE, ROUTER).verdict).toBe("pass");
  expect(explainWaf("GET", "http://b.test/site/x/../y", ENFORCE, ROUTER).verdict).toBe("block");
});

test.each(["no-slash", "/a b", "/a\0b", "/é", "", "/a HTTP/1.0\r\nX: y\r\n\r\n", "/a HTTP/1.0\r\nX:"])(
  "refuses %j",
  (target) => {
    const found = explainWaf("GET", target, ENFORCE, ROUTER);
    expect(found.verdict).toBe("refuse");
    expect(found.fault).not.toBe(Fault.None);
  },
);
