import type { Fault } from "../../../../src/core/fault.ts";
import type { PathRewrite } from "../../../../src/features/rewrite/path-rewrite.ts";
import { buildRouter } from "../../../../src/features/route/build-router.ts";
import { RouteExactPhase, RoutePrefixPhase } from "../../../../src/features/route/routing-phases.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import { parsedHead } from "../../../harness/parsed-head.ts";
import { recordedExchange } from "../route/recorded-exchange.ts";
import { routeInit } from "../route/route-inits.ts";

/** What a rewrite makes of a request that its route has got; the fault of the routing where it has not got it. */
export function rewritten(rewrite: PathRewrite, target: string, prefix: string) {
  const head = parsedHead(`GET ${target}`);
  const router = buildRouter([routeInit({ kind: "upstream", label: prefix, path: prefix })]);
  const { ex, faults } = recordedExchange(head);
  const bodies = { maxBodyBytes: 0, rejectsChunked: false };
  const exact = new RouteExactPhase({ router, bodies, guard: null, isPreflight: null });
  let verdict = exact.run(ex);
  if (verdict === Verdict.Next) verdict = new RoutePrefixPhase(router, bodies).run(ex);
  const path: string | null | Fault = verdict === Verdict.Next ? rewrite.pathOf(ex) : faults[0]!;
  return { path, captures: ex.captures, isRouted: verdict === Verdict.Next };
}
