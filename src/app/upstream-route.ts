import type { UpstreamRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { TargetInit } from "../features/balance/balanced-target.ts";
import { targetChoice } from "../features/balance/balancer.ts";
import { ForwardHandler, type ForwardServices } from "../features/forward/forward-handler.ts";
import { requestEdits, responseEdits } from "../features/forward/header-edits.ts";
import type { Handler } from "../message/pipeline.ts";
import type { NodeSet } from "./node-set.ts";
import type { OriginPools } from "./origin-pools.ts";

/** Makes the handler of an upstream route. Decisions, "Routing and upstreams". */
export function upstreamHandler(
  route: UpstreamRouteConfig,
  config: RuntimeConfig,
  pools: OriginPools,
  nodes: NodeSet,
  services: ForwardServices,
): Handler {
  const { connectMs, responseHeaderMs, idleMs, totalMs } = route.timeouts;
  return new ForwardHandler(
    {
      preserveHost: route.preserveHost,
      times: { connectMs, responseHeaderMs, idleMs },
      totalMs,
      retryAttempts: route.retryAttempts,
      requestEdits: requestEdits(route.headers.request),
      responseEdits: responseEdits(route.headers.response),
    },
    targetChoice(route.loadBalancing, config.proxy.enabled ? targetsOf(route, pools, nodes) : [], Math.random),
    services,
  );
}

function targetsOf(route: UpstreamRouteConfig, pools: OriginPools, nodes: NodeSet): TargetInit[] {
  const routeNodes = nodes.nodesOf(route);
  return route.targets.flatMap((target, i) => {
    if (target.weight === 0) return [];
    // A target that is listed twice counts twice.
    const earlier = route.targets.slice(0, i).filter((one) => one.url === target.url).length;
    return [
      {
        upstream: pools.poolOf(target, route.tls),
        node: routeNodes[i]!,
        weight: target.weight,
        backup: target.backup,
        basePath: target.basePath,
        name: `${target.url}#${earlier}`,
      },
    ];
  });
}
