import { describe, expect, test } from "bun:test";
import { buildRouter } from "../../../../src/features/route/build-router.ts";
import { Method } from "../../../../src/message/request-head.ts";
import { headOfTarget } from "../../proto/target/head-of-target.ts";
import { type RouteVector, routeInit } from "./route-inits.ts";

function upstream(path: string, more: Partial<RouteVector> = {}) {
  return routeInit({ kind: "upstream", label: path, path, ...more });
}

describe("building the router", () => {
  test("numbers the routes and works out their methods", () => {
    const { routes } = buildRouter([upstream("/a"), upstream("/b", { methods: ["POST", "GET"] })]);
    expect(routes.map((route) => route.index)).toEqual([0, 1]);
    expect(routes.map((route) => route.allow)).toEqual([
      "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS",
      "GET, HEAD, POST",
    ]);
    expect(routes[0]!.allowedMethods[Method.Other]).toBe(1);
    expect(routes[1]!.allowedMethods[Method.Other]).toBe(0);
    expect(routes.map((route) => route.allowedMethods[Method.Connect])).toEqual([0, 0]);
    expect(routes.map((route) => route.allowedMethods[Method.Trace])).toEqual([0, 0]);
  });

  test("never allows CONNECT and TRACE, even where a route names them", () => {
    expect(buildRouter([upstream("/a", { methods: ["TRACE", "GET"] })]).routes[0]!.allow).toBe("GET, HEAD");
  });

  test("refuses a method that it cannot tell apart", () => {
    expect(() => buildRouter([upstream("/a", { methods: ["BREW"] })])).toThrow('unknown method "BREW"');
  });

  test("the earlier of two equal routes is found", () => {
    const router = buildRouter([upstream("/a", { label: "first" }), upstream("/a/*", { label: "second" })]);
    expect(router.findPrefix(headOfTarget("/a/b"))?.label).toBe("first");
  });

  test("an empty table finds nothing", () => {
    const router = buildRouter([]);
    for (const target of ["/", "/a", "*", ""]) {
      expect(router.findExact(headOfTarget(target))).toBeNull();
      expect(router.findPrefix(headOfTarget(target))).toBeNull();
      expect(router.prefixAllowOf(target, headOfTarget(target))).toBe("");
    }
  });

  test("a target without a path is one for the root", () => {
    const router = buildRouter([upstream("/"), upstream("/", { label: "exact", exact: true })]);
    expect(router.findExact(headOfTarget("?x"))?.label).toBe("exact");
    expect(router.findPrefix(headOfTarget("?x"))?.label).toBe("/");
  });

  test("a host longer than a name can be takes the routes of every host", () => {
    const router = buildRouter([upstream("/", { hosts: ["*.a.test"], label: "star" }), upstream("/")]);
    expect(router.findPrefix(headOfTarget("/", "GET", `${"x.".repeat(500)}a.test`))?.label).toBe("/");
    expect(router.findPrefix(headOfTarget("/", "GET", "x.a.test"))?.label).toBe("star");
  });

  test("exact and prefix ids tell paths and hosts apart, whatever the method", () => {
    const router = buildRouter([
      upstream("/a", { methods: ["GET"] }),
      upstream("/a", { methods: ["POST"] }),
      upstream("/a", { hosts: ["h.test"] }),
      upstream("/b"),
      upstream("/a", { exact: true }),
    ]);
    const get = headOfTarget("/");
    const put = headOfTarget("/", "PUT", "other.test");
    expect(router.prefixId("/a/x", get)).toBe(router.prefixId("/a", put));
    expect(router.prefixId("/a", get)).not.toBe(router.prefixId("/a", headOfTarget("/", "GET", "h.test")));
    expect(router.prefixId("/a", get)).not.toBe(router.prefixId("/b", get));
    expect(router.prefixId("/c", get)).toBe(-1);
    expect(router.exactId("/a", get)).not.toBe(router.prefixId("/a", get));
    expect(router.exactId("/a/", get)).toBe(-1);
  });
});
