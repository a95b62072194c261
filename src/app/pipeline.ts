import type { RuntimeConfig } from "../config/runtime-config.ts";
import { ForwardEnd } from "../features/forward/forward-end.ts";
import { BodyLimitPhase } from "../features/ingest/body-limit.ts";
import { NormalizePhase } from "../features/ingest/normalize.ts";
import { PrefixGuard } from "../features/route/prefix-guard.ts";
import { PrefixGuardPhase } from "../features/route/prefix-guard-phase.ts";
import { RouteExactPhase } from "../features/route/route-exact.ts";
import { RoutePrefixPhase } from "../features/route/route-prefix.ts";
import type { Router } from "../features/route/router.ts";
import type { AccessLog } from "../features/telemetry/access-log.ts";
import { WafBodyPhase } from "../features/waf/waf-body-phase.ts";
import { WafPhase } from "../features/waf/waf-phase.ts";
import { type Phase, Pipeline, type ReplyTap } from "../message/pipeline.ts";
import type { BodyBudget } from "../shared/body-budget.ts";
import { NetworkSet } from "../shared/cidr.ts";
import type { ClientPolicy } from "./client-policy.ts";
import { DispatchPhase } from "./dispatch.ts";
import type { GraphInputs } from "./graph.ts";

/** What the pipeline is made of. */
export interface PipelineParts {
  readonly router: Router;
  readonly inputs: GraphInputs;
  readonly accessLog: AccessLog | null;
  readonly budget: BodyBudget;
  readonly client: ClientPolicy;
}

/**
 * THE order of a request's way down and of its reply's way up. Spec, "Request processing order".
 *
 *   counters → clientAddress → serverAddressRules → waf → routeExact → corsPreflight → prefixGuard → routePrefix
 *     → routeAddressRules → rateLimit → bodyLimit → wafBody → ingest → dispatch
 *   accessLog ← forwardEnd ← counters ← (the protocol engine writes the reply) ← securityHeaders ← cors
 *
 * What a configuration does not ask for is left out.
 */
export function buildPipeline(config: RuntimeConfig, parts: PipelineParts): Pipeline {
  const { router, inputs, accessLog, budget, client } = parts;
  const guard = new PrefixGuard(router.routes.map((route) => route.init));
  const phases: (Phase | null)[] = [
    inputs.counters,
    client.clientAddress,
    client.serverAddressRules,
    config.server.waf.enabled ? wafPhase(config, router, inputs) : null,
    new RouteExactPhase(router),
    client.preflight,
    new PrefixGuardPhase(guard),
    new RoutePrefixPhase(router),
    client.routeAddressRules,
    client.rateLimit,
    new BodyLimitPhase(),
    wafBodyPhase(config, router, inputs, budget),
    new NormalizePhase(budget),
    new DispatchPhase(),
  ];
  const taps: ReplyTap[] = [inputs.counters, new ForwardEnd()];
  if (accessLog !== null) taps.push(accessLog);
  return new Pipeline(
    phases.filter((phase) => phase !== null),
    client.headTaps,
    taps,
  );
}

function wafPhase(config: RuntimeConfig, router: Router, inputs: GraphInputs): WafPhase {
  const { waf } = config.server;
  return new WafPhase(waf, new NetworkSet(waf.allowedIps), router, inputs.incidents, inputs.services.clock);
}

function wafBodyPhase(
  config: RuntimeConfig,
  router: Router,
  inputs: GraphInputs,
  budget: BodyBudget,
): WafBodyPhase | null {
  const { waf } = config.server;
  if (!waf.enabled || waf.maxInspectBodyBytes === 0) return null;
  const allowed = new NetworkSet(waf.allowedIps);
  return new WafBodyPhase(waf, allowed, router, inputs.incidents, inputs.services.clock, budget);
}
