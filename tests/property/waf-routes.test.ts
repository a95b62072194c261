import { expect, test } from "bun:test";
import { buildRouter } from "../../src/features/route/build-router.ts";
import { PrefixGuard } from "../../src/features/route/prefix-guard.ts";
import {
  PathEscapesPhase,
  PrefixGuardPhase,
  RouteExactPhase,
  RouteLookup,
  RoutePrefixPhase,
} from "../../src/features/route/routing-phases.ts";
import { RoutedWafPhase } from "../../src/features/waf/routed-waf.ts";
import type { WafPhase } from "../../src/features/waf/waf.ts";
import { type Exchange, type Phase, Verdict } from "../../src/message/exchange.ts";
import { makeCase, makeTable, type PathCase } from "../harness/path-cases.ts";
import type { ReferenceRoute } from "../harness/path-reference.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { recordedExchange } from "../unit/features/route/recorded-exchange.ts";
import { routeInit } from "../unit/features/route/route-inits.ts";
import { headOfTarget } from "../unit/proto/target/head-of-target.ts";

// docs/waf.md#at-a-route: no spelling of a path gets the firewall of another route than the one that answers.
const seed = Number(process.env.ROUTE_SEED ?? 1);
const tables = Number(process.env.ROUTE_TABLES ?? 300);
const CASES = 100;
const UNMATCHED = -1;
const NOT_JUDGED = -2;

test(`the firewall that judges is that of the route that answers, seed ${seed}`, () => {
  let routed = 0;
  for (let i = 0; i < tables; i++) {
    const random = new SeededRandom(seed + i);
    const routes = makeTable(random);
    const way = new Way(routes, i % 2 === 0 ? "upstream" : "static");
    for (let j = 0; j < CASES; j++) {
      const one = makeCase(random, routes);
      const [judged, after] = [way.walk(one, true), way.walk(one, false)];
      const wrong = JSON.stringify({ seed: seed + i, one, routes });
      // To ask beforehand changes nothing.
      expect([wrong, { ...judged, judgedBy: 0 }]).toEqual([wrong, { ...after, judgedBy: 0 }]);
      if (judged.route < 0) continue;
      expect([wrong, judged.judgedBy]).toEqual([wrong, judged.route]);
      routed++;
    }
  }
  expect(routed).toBeGreaterThan((tables * CASES) / 5);
}, 600_000);

interface Walked {
  /** Index of the route that takes the request; -1 where it was refused. */
  readonly route: number;
  readonly judgedBy: number;
  readonly path: string;
  readonly canonical: string;
  readonly prefixLength: number;
  readonly faults: readonly number[];
}

/** The routing phases with a firewall before them that only notes whose it is. */
class Way {
  private readonly waf: Phase;
  private readonly routing: readonly Phase[];
  private judgedBy = NOT_JUDGED;

  constructor(routes: readonly ReferenceRoute[], kind: "static" | "upstream") {
    const router = buildRouter(routes.map((route) => routeInit({ ...route, kind })));
    const bodies = { maxBodyBytes: 0, rejectsChunked: false };
    const guard = new PrefixGuard(router.routes.map((route) => route.init));
    const exact = new RouteExactPhase({ router, bodies, guard, isPreflight: null });
    const prefix = new RoutePrefixPhase(router, bodies);
    const noteAs = (index: number): WafPhase =>
      ({
        name: "waf",
        run: (_ex: Exchange) => {
          this.judgedBy = index;
          return Verdict.Next;
        },
      }) as unknown as WafPhase;
    const byRoute = router.routes.map(({ index }) => noteAs(index));
    this.waf = new RoutedWafPhase(new RouteLookup(router, exact, prefix), byRoute, noteAs(UNMATCHED));
    const listener = { onPathEscape() {} };
    this.routing = [exact, new PrefixGuardPhase(guard, listener), new PathEscapesPhase(), prefix];
  }

  walk({ path, query, method, host }: PathCase, isJudged: boolean): Walked {
    const { ex, faults } = recordedExchange(headOfTarget(path + query, method, host));
    this.judgedBy = NOT_JUDGED;
    const phases = isJudged ? [this.waf, ...this.routing] : this.routing;
    const isRefused = phases.some((phase) => phase.run(ex) === Verdict.Done);
    return {
      route: isRefused ? -1 : ex.route!.index,
      judgedBy: this.judgedBy,
      path: ex.forwardPath,
      canonical: ex.canonicalPath,
      prefixLength: ex.prefixLength,
      faults,
    };
  }
}
