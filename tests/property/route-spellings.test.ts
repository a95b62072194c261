import { expect, test } from "bun:test";
import { FAULTS } from "../../src/core/fault-rows.ts";
import { buildRouter } from "../../src/features/route/build-router.ts";
import { PathEscapesPhase, RouteExactPhase, RoutePrefixPhase } from "../../src/features/route/routing-phases.ts";
import { Verdict } from "../../src/message/exchange.ts";
import { makeCase, makeTable, type PathCase } from "../harness/path-cases.ts";
import { faultIn, type Outcome, plainLabel, type ReferenceRoute } from "../harness/path-reference.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { recordedExchange } from "../unit/features/route/recorded-exchange.ts";
import { routeInit } from "../unit/features/route/route-inits.ts";
import { headOfTarget } from "../unit/proto/target/head-of-target.ts";

// ROUTE_SEED and ROUTE_TABLES have other tables; tests/wire/route-spellings.test.ts asks the binary the same.
const seed = Number(process.env.ROUTE_SEED ?? 1);
const tables = Number(process.env.ROUTE_TABLES ?? 300);
const CASES = 100;

test(`what was matched is what an origin sees, seed ${seed}`, () => {
  let forwarded = 0;
  for (let i = 0; i < tables; i++) {
    const random = new SeededRandom(seed + i);
    const routes = makeTable(random);
    const phases = phasesOf(routes);
    for (let j = 0; j < CASES; j++) {
      const one = makeCase(random, routes);
      const outcome = walk(phases, one);
      const wrong = faultIn(routes, one, outcome) ?? faultInPlain(routes, one, outcome);
      if (wrong !== null) throw new Error(`${wrong}\n${JSON.stringify({ seed: seed + i, one, outcome, routes })}`);
      if (outcome.label !== "") forwarded++;
    }
  }
  expect(forwarded).toBeGreaterThan((tables * CASES) / 3);
}, 600_000);

/** A spelling that means one thing to everybody is routed like that path itself. */
function faultInPlain(routes: readonly ReferenceRoute[], one: PathCase, outcome: Outcome): string | null {
  if (one.plain === "" || outcome.status === 400) return null;
  const label = plainLabel(routes, { ...one, path: one.plain });
  return label === outcome.label ? null : `${label || "405"} was meant`;
}

function phasesOf(routes: readonly ReferenceRoute[]) {
  const router = buildRouter(
    routes.map((route) => routeInit({ ...route, kind: "upstream" })),
    true,
  );
  const exact = new RouteExactPhase({
    router,
    bodies: { maxBodyBytes: 0, rejectsChunked: false },
    guard: null,
    isPreflight: null,
  });
  return [exact, new PathEscapesPhase(), new RoutePrefixPhase(router, { maxBodyBytes: 0, rejectsChunked: false })];
}

function walk(phases: ReturnType<typeof phasesOf>, { path, query, method, host }: PathCase): Outcome {
  const { ex, faults } = recordedExchange(headOfTarget(path + query, method, host));
  for (const phase of phases) {
    if (phase.run(ex) === Verdict.Done)
      return { status: FAULTS[faults[0]!]!.status, label: "", target: "", host: null };
  }
  const sent = ex.prefixLength < 0 ? ex.forwardPath : path.slice(ex.prefixLength) || "/";
  return { status: 200, label: ex.route!.label, target: sent + query, host: null };
}
