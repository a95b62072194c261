import { expect, test } from "bun:test";
import fc from "fast-check";
import { buildRouter } from "../../src/features/route/build-router.ts";
import { PrefixGuard } from "../../src/features/route/prefix-guard.ts";
import { PrefixGuardPhase, RouteExactPhase, RoutePrefixPhase } from "../../src/features/route/routing-phases.ts";
import { type Route, Verdict } from "../../src/message/exchange.ts";
import { methodFromName } from "../../src/message/request-head.ts";
import { isPlainPath } from "../../src/proto/h1/request-rules.ts";
import { canonicalise, slashedPath } from "../../src/proto/target/canonical-path.ts";
import { isWithin } from "../../src/proto/target/dot-segments.ts";
import { recordedExchange } from "../unit/features/route/recorded-exchange.ts";
import { type RouteVector, routeInit } from "../unit/features/route/route-inits.ts";
import { headOfTarget } from "../unit/proto/target/head-of-target.ts";

const SEGMENTS = ["a", "b", "ab", "c.d"];
const plainPath = fc.array(fc.constantFrom(...SEGMENTS), { maxLength: 4 }).map((segments) => `/${segments.join("/")}`);
const host = fc.constantFrom("", "x.test", "y.x.test", "z.y.x.test", "other.test:81", "X.TEST");
const route: fc.Arbitrary<RouteVector> = fc.record({
  kind: fc.constantFrom("static", "upstream", "built-in"),
  label: fc.uuid(),
  path: plainPath,
  exact: fc.boolean(),
  methods: fc.subarray(["GET", "POST", "PUT"]),
  hosts: fc.subarray(["x.test", "*.x.test", "*.y.x.test"], { maxLength: 2 }),
  stripPrefix: fc.boolean(),
});
const routes = fc.array(route, { maxLength: 12 });
const method = fc.constantFrom("GET", "HEAD", "POST", "DELETE", "BREW", "TRACE");

test("the router finds what a slow search finds, raw and canonical alike", () => {
  fc.assert(
    fc.property(routes, plainPath, method, host, fc.boolean(), (vectors, path, name, authority, slash) => {
      const router = buildRouter(vectors.map(routeInit));
      const target = slash && path !== "/" ? `${path}/` : path;
      const head = headOfTarget(target, name, authority);
      const labelOf = (found: Route | null) => found?.label ?? "";
      const exact = slowSearch(router.routes, target, name, authority, true);
      const prefix = slowSearch(router.routes, target, name, authority, false);
      expect(labelOf(router.findExact(head))).toBe(exact);
      expect(labelOf(router.findExactCanonical(target, head))).toBe(exact);
      expect(labelOf(router.findPrefix(head))).toBe(prefix);
      expect(labelOf(router.findPrefixCanonical(target, head))).toBe(prefix);
      const lists = (allow: string) => allow.split(", ").includes(name);
      if (name === "BREW") return;
      expect(lists(router.ownAllowOf(target, head, null))).toBe(exact !== "");
      expect(lists(router.prefixAllowOf(target, head))).toBe(prefix !== "");
    }),
    { numRuns: 3000 },
  );
});

const PIECES = ["/", "/", "a", "b", "ab", ".", "..", "/../", "%2e", "%2f", "%61", "%25", "//", "%", "\\", "%5C", ";"];
const roughPath = fc.array(fc.constantFrom(...PIECES), { maxLength: 10 }).map((parts) => `/${parts.join("")}`);

test("what is forwarded is what was matched", () => {
  fc.assert(
    fc.property(routes, roughPath, method, host, (vectors, raw, name, authority) => {
      const inits = vectors.map(routeInit);
      const { ex, verdict } = walk(inits, raw, name, authority);
      if (verdict !== Verdict.Next) return;
      const found = ex.route!;
      const canonical = canonicalise(raw).canonical;
      expect(ex.canonicalPath === "" ? raw : ex.canonicalPath).toBe(canonical);
      expect(isPlainPath(ex.request) && ex.forwardPath !== "").toBe(false);
      const sent = ex.prefixLength < 0 ? ex.forwardPath : raw.slice(ex.prefixLength) || "/";
      expect(sent.startsWith("/")).toBe(true);
      expect(/^\/[/\\]/.test(sent)).toBe(false);
      if (ex.prefixLength > 0) expect(/^\/(?:[/\\]|%2f|%5c)/i.test(sent)).toBe(false);
      const strips = !found.init.exact && found.stripPrefix && found.path !== "/";
      const read = slashedPath(canonical);
      const expected = strips ? read.slice(found.path.length) || "/" : read;
      expect(slashedPath(canonicalise(sent).canonical)).toBe(expected);
      if (!found.init.exact) expect(isWithin(read, found.path)).toBe(true);
      else expect(read).toBe(found.path);
    }),
    { numRuns: 5000 },
  );
});

test("no target makes a phase throw, and every refusal says so once", () => {
  const anyTarget = fc
    .array(fc.integer({ min: 0, max: 255 }), { maxLength: 40 })
    .map((codes) => String.fromCharCode(...codes));
  fc.assert(
    fc.property(routes, anyTarget, method, (vectors, target, name) => {
      const { verdict, faults } = walk(vectors.map(routeInit), target, name, "");
      expect(faults).toHaveLength(verdict === Verdict.Done ? 1 : 0);
    }),
    { numRuns: 2000 },
  );
});

function walk(inits: ReturnType<typeof routeInit>[], target: string, name: string, authority: string) {
  const router = buildRouter(inits);
  const guard = new PrefixGuard(inits);
  const { ex, faults } = recordedExchange(headOfTarget(target, name, authority));
  let verdict: Verdict = Verdict.Next;
  const exact = new RouteExactPhase({
    router,
    bodies: { maxBodyBytes: 0, rejectsChunked: false },
    guard,
    isPreflight: null,
  });
  const phases = [
    exact,
    new PrefixGuardPhase(guard, { onPathEscape() {} }),
    new RoutePrefixPhase(router, { maxBodyBytes: 0, rejectsChunked: false }),
  ];
  for (const phase of phases) {
    if (verdict === Verdict.Next) verdict = phase.run(ex);
  }
  return { ex, faults, verdict };
}

/**
 * Every route is looked at; the longest path that the host has wins, then the most specific host with the method, then the
 * order. Gives the label.
 */
function slowSearch(all: readonly Route[], path: string, name: string, authority: string, exact: boolean): string {
  const plainHost = authority.toLowerCase().replace(/:\d+$/, "");
  const rows = all
    .filter((found) => found.init.exact === exact)
    .filter((found) => (exact ? path === found.path : isWithin(path, found.path)))
    .map((found) => ({ found, rank: hostRank(found.init.hosts, plainHost) }))
    .filter((row) => row.rank >= 0);
  const longest = Math.max(...rows.map((row) => row.found.path.length));
  const able = rows
    .filter((row) => row.found.path.length === longest)
    .filter((row) => row.found.allowedMethods[methodFromName(name)] === 1);
  able.sort((a, b) => b.rank - a.rank || a.found.index - b.found.index);
  return able[0]?.found.label ?? "";
}

/** 0 for any host, the length of the pattern for a match, more for a full name; -1 for none. */
function hostRank(hosts: readonly string[], name: string): number {
  if (hosts.length === 0) return 0;
  const ranks = hosts.map((pattern) => {
    if (pattern === name) return 1000;
    return pattern.startsWith("*.") && name.endsWith(pattern.slice(1)) ? pattern.length : -1;
  });
  return Math.max(...ranks);
}
