import type { RuntimeConfig } from "../config/runtime-config.ts";
import { BodyLimitPhase } from "../features/ingest/body-limit.ts";
import { NormalizePhase } from "../features/ingest/normalize.ts";
import { PrefixGuard } from "../features/route/prefix-guard.ts";
import { PrefixGuardPhase } from "../features/route/prefix-guard-phase.ts";
import { RouteExactPhase } from "../features/route/route-exact.ts";
import { RoutePrefixPhase } from "../features/route/route-prefix.ts";
import type { Router } from "../features/route/router.ts";
import type { AccessLog } from "../features/telemetry/access-log.ts";
import { WafPhase } from "../features/waf/waf-phase.ts";
import { type Phase, Pipeline, type ReplyTap } from "../message/pipeline.ts";
import type { BodyBudget } from "../shared/body-budget.ts";
import { NetworkSet } from "../shared/cidr.ts";
import { DispatchPhase } from "./dispatch.ts";
import type { GraphInputs } from "./graph.ts";

/** What the pipeline is made of. */
export interface PipelineParts {
  readonly router: Router;
  readonly inputs: GraphInputs;
  readonly accessLog: AccessLog | null;
  readonly budget: BodyBudget;
}

/**
 * THE order of a request's way down and of its reply's way up. Spec, "Request processing order".
 *
 *   counters → waf → routeExact → prefixGuard → routePrefix → bodyLimit → ingest → dispatch
 *   accessLog ← counters ← (the protocol engine writes the reply)
 */
export function buildPipeline(config: RuntimeConfig, parts: PipelineParts): Pipeline {
  const { router, inputs, accessLog, budget } = parts;
  const guard = new PrefixGuard(router.routes.map((route) => route.init));
  const phases: Phase[] = [inputs.counters];
  if (config.server.waf.enabled) phases.push(wafPhase(config, router, inputs));
  phases.push(
    new RouteExactPhase(router),
    new PrefixGuardPhase(guard),
    new RoutePrefixPhase(router),
    new BodyLimitPhase(),
    new NormalizePhase(budget),
    new DispatchPhase(),
  );
  const taps: ReplyTap[] = [inputs.counters];
  if (accessLog !== null) taps.push(accessLog);
  return new Pipeline(phases, [], taps);
}

function wafPhase(config: RuntimeConfig, router: Router, inputs: GraphInputs): WafPhase {
  const { waf } = config.server;
  return new WafPhase(waf, new NetworkSet(waf.allowedIps), router, inputs.incidents, inputs.services.clock);
}
