import { describe, expect, test } from "bun:test";
import { faultRow } from "../../../../src/core/fault-rows.ts";
import { buildRouter } from "../../../../src/features/route/build-router.ts";
import { PrefixGuard } from "../../../../src/features/route/prefix-guard.ts";
import {
  PathEscapesPhase,
  PrefixGuardPhase,
  RouteExactPhase,
  RoutePrefixPhase,
} from "../../../../src/features/route/routing-phases.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import requests from "../../../vectors/route/requests.json";
import routes from "../../../vectors/route/routes.json";
import { headOfTarget } from "../../proto/target/head-of-target.ts";
import { recordedExchange } from "./recorded-exchange.ts";
import { routeInit } from "./route-inits.ts";

const INITS = routes.map(routeInit);
const ROUTER = buildRouter(INITS);
const GUARD = new PrefixGuard(INITS);
const PHASES = [
  new RouteExactPhase({
    router: ROUTER,
    bodies: { maxBodyBytes: 0, rejectsChunked: false },
    guard: GUARD,
    isPreflight: null,
  }),
  new PrefixGuardPhase(GUARD, { onPathEscape() {} }),
  new PathEscapesPhase(),
  new RoutePrefixPhase(ROUTER, { maxBodyBytes: 0, rejectsChunked: false }),
];

describe("routing phases", () => {
  for (const vector of requests) {
    const { target, method = "GET", host = "" } = vector;
    test(`${method} ${host}${target}`, () => {
      const { ex, faults } = recordedExchange(headOfTarget(target, method, host));
      let verdict: Verdict = Verdict.Next;
      for (const phase of PHASES) {
        if (verdict === Verdict.Next) verdict = phase.run(ex);
      }
      if (vector.fault !== undefined) {
        expect([verdict, faults.map((fault) => faultRow(fault).label)]).toEqual([Verdict.Done, [vector.fault]]);
        if (vector.detail !== undefined) expect(ex.detail).toBe(vector.detail);
        return;
      }
      expect([verdict, faults]).toEqual([Verdict.Next, []]);
      expect({
        route: ex.route?.label,
        prefixLength: ex.prefixLength,
        canonicalPath: ex.canonicalPath,
        forwardPath: ex.forwardPath,
      }).toEqual({
        route: vector.route,
        prefixLength: vector.prefixLength!,
        canonicalPath: vector.canonicalPath ?? "",
        forwardPath: vector.forwardPath ?? "",
      });
    });
  }
});
