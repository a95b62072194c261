import { speaksHttp2 } from "../../config/origin.ts";
import type { TargetConfig, UpstreamRouteConfig } from "../../config/route-config.ts";
import type { TargetInit } from "../../features/balance/balancer.ts";
import { ForwardHandler, type ForwardServices } from "../../features/forward/forward-handler.ts";
import type { Handler } from "../../message/exchange.ts";
import type { TargetChoice } from "../../message/target.ts";
import type { Upstream } from "../../message/upstream.ts";
import { requestEdits, responseEdits } from "../header-operations.ts";
import type { RouteSite } from "../route-type.ts";

/** Makes the handler that sends a route's requests to the targets of a choice. */
export function forwardHandler(route: UpstreamRouteConfig, choice: TargetChoice, services: ForwardServices): Handler {
  const { enabled, failureStatuses } = route.circuitBreaker;
  const { connectMs, responseHeaderMs, idleMs, totalMs } = route.timeouts;
  return new ForwardHandler(
    {
      preserveHost: route.preserveHost,
      times: { connectMs, responseHeaderMs, idleMs },
      totalMs,
      retryAttempts: route.retryAttempts,
      canBeRefused: route.targets.some(({ scheme }) => speaksHttp2(scheme)),
      failureStatuses: enabled && failureStatuses.length > 0 ? new Set(failureStatuses) : null,
      requestEdits: requestEdits(route.headers.request),
      responseEdits: responseEdits(route.headers.response),
    },
    choice,
    services,
  );
}

/** The targets of a route that may get requests. @param poolOf gives the connections to one */
export function targetsOf(
  route: UpstreamRouteConfig,
  poolOf: (target: TargetConfig) => Upstream,
  nodes: Pick<RouteSite, "nodesOf">,
): TargetInit[] {
  const routeNodes = nodes.nodesOf(route);
  return route.targets.flatMap((target, i) => {
    if (target.weight === 0) return [];
    // A target that is listed twice counts twice.
    const earlier = route.targets.slice(0, i).filter((one) => one.url === target.url).length;
    return [
      {
        upstream: poolOf(target),
        node: routeNodes[i]!,
        weight: target.weight,
        backup: target.backup,
        basePath: target.basePath,
        name: `${target.url}#${earlier}`,
      },
    ];
  });
}
