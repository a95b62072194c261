import { Fault } from "../../../../src/core/fault.ts";
import type { Router } from "../../../../src/features/route/router.ts";
import { RouteExactPhase, RoutePrefixPhase } from "../../../../src/features/route/routing-phases.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import type { RequestHead } from "../../../../src/message/request-head.ts";
import { recordedExchange } from "./recorded-exchange.ts";

/** The label of the route that a request gets from both phases of routing; "404", or "405" and the methods. */
export function routed(router: Router, request: RequestHead): string {
  const { ex, faults } = recordedExchange(request);
  const bodies = { maxBodyBytes: 0, rejectsChunked: false };
  const phases = [
    new RouteExactPhase({ router, bodies, guard: null, isPreflight: null }),
    new RoutePrefixPhase(router, bodies),
  ];
  let verdict: Verdict = Verdict.Next;
  for (const phase of phases) if (verdict === Verdict.Next) verdict = phase.run(ex);
  if (verdict === Verdict.Next) return ex.route!.label;
  return faults[0] === Fault.MethodNotAllowed ? `405 ${ex.detail}` : "404";
}
