// What modules, scripts and services are told of a path. docs/security.md#one-path
import { expect, test } from "bun:test";
import { buildRouter } from "../../src/features/route/build-router.ts";
import { PathEscapesPhase, RouteExactPhase, RoutePrefixPhase } from "../../src/features/route/routing-phases.ts";
import { type Exchange, type Route, Verdict } from "../../src/message/exchange.ts";
import { slashedPath } from "../../src/proto/target/canonical-path.ts";
import { decodeOnce } from "../../src/proto/target/percent-decoding.ts";
import { routedPath, sentPath, shownPath } from "../../src/proto/target/routed-path.ts";
import { makeCase, makeTable } from "../harness/path-cases.ts";
import type { ReferenceRoute } from "../harness/path-reference.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { recordedExchange } from "../unit/features/route/recorded-exchange.ts";
import { routeInit } from "../unit/features/route/route-inits.ts";
import { headOfTarget } from "../unit/proto/target/head-of-target.ts";

// ROUTE_SEED and ROUTE_TABLES have other tables.
const seed = Number(process.env.ROUTE_SEED ?? 1);
const tables = Number(process.env.ROUTE_TABLES ?? 200);
const CASES = 100;
const BITS = [
  "/",
  "//",
  "/./",
  "/../",
  "\\",
  "%2f",
  "%5C",
  "%2E",
  ".",
  ";",
  ";x=1",
  "%3b",
  "%61",
  "%41",
  "%25",
  "%20",
  "%e9",
  "%3F",
  "%23",
  "a",
  "b",
  "admin",
  '"',
  "[",
  "+",
  "%2B",
  "~",
];

test(`a shown path leads where the request went, and a decision by it is one by the canonical path, seed ${seed}`, () => {
  let looked = 0;
  for (let i = 0; i < tables; i++) {
    const random = new SeededRandom(seed + i);
    const routes = makeTable(random);
    const phases = phasesOf(routes);
    const spellings: Map<string, string> = new Map();
    for (let j = 0; j < CASES; j++) {
      const one = makeCase(random, routes);
      const path = j % 2 === 0 ? one.path : oddPath(random);
      const first = walk(phases, path, one.method, one.host);
      if (first === null) continue;
      looked++;
      const shown = shownPath(first.ex.request);
      const canonical = routedPath(first.ex.request, first.ex.canonicalPath);
      const told = JSON.stringify({ seed: seed + i, path, shown, canonical });
      // Asked anew, it is the same route's.
      expect([walk(phases, shown, one.method, one.host)?.route.label, told]).toEqual([first.route.label, told]);
      expect([walk(phases, sentPath(first.ex.request), one.method, one.host)?.route.label, told]).toEqual([
        first.route.label,
        told,
      ]);
      // Decoded once, as those decode it who decide by it, it is the path by which the route was chosen.
      expect([decodeOnce(shown), told]).toEqual([canonical, told]);
      expect([slashedPath(decodeOnce(new URL(`http://h${shown}`).pathname)), told]).toEqual([canonical, told]);
      expect([new URL(shown, "http://h/").host, told]).toEqual(["h", told]);
      // One path has one form.
      expect([spellings.get(canonical) ?? shown, told]).toEqual([shown, told]);
      spellings.set(canonical, shown);
    }
  }
  expect(looked).toBeGreaterThan((tables * CASES) / 4);
}, 600_000);

function oddPath(random: SeededRandom): string {
  let path = "/";
  for (let i = random.integer(1, 8); i > 0; i--) path += random.pick(BITS);
  return path;
}

function phasesOf(routes: readonly ReferenceRoute[]) {
  const router = buildRouter(routes.map((route) => routeInit({ ...route, kind: "upstream" })));
  const bodies = { maxBodyBytes: 0, rejectsChunked: false };
  const exact = new RouteExactPhase({ router, bodies, guard: null, isPreflight: null });
  return [exact, new PathEscapesPhase(), new RoutePrefixPhase(router, bodies)];
}

function walk(
  phases: ReturnType<typeof phasesOf>,
  path: string,
  method: string,
  host: string,
): { ex: Exchange; route: Route } | null {
  const { ex } = recordedExchange(headOfTarget(path, method, host));
  for (const phase of phases) if (phase.run(ex) === Verdict.Done) return null;
  return { ex, route: ex.route! };
}
