import type { UpstreamRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { ForwardHandler } from "../features/forward/forward-handler.ts";
import type { RequestIds } from "../features/forward/request-id.ts";
import { RoundRobin } from "../features/forward/round-robin.ts";
import type { Handler } from "../message/pipeline.ts";
import { NetworkSet } from "../shared/cidr.ts";
import type { OriginPools } from "./origin-pools.ts";

/** Makes the handler of an upstream route. Decisions, "Routing and upstreams". */
export function upstreamHandler(
  route: UpstreamRouteConfig,
  config: RuntimeConfig,
  pools: OriginPools,
  requestIds: RequestIds,
): Handler {
  const trusted = new NetworkSet(config.server.trustedProxies);
  const targets = config.proxy.enabled
    ? route.targets
        .filter((target) => !target.backup && target.weight > 0)
        .map((target) => ({
          upstream: pools.poolOf(target, route.tls),
          weight: target.weight,
          basePath: Buffer.from(target.basePath, "latin1"),
        }))
    : [];
  return new ForwardHandler(
    {
      preserveHost: route.preserveHost,
      isTrusted: (peer) => trusted.has(peer.address),
      times: {
        connectMs: route.timeouts.connectMs,
        responseHeaderMs: route.timeouts.responseHeaderMs,
        idleMs: route.timeouts.idleMs,
      },
      retryAttempts: route.retryAttempts,
    },
    new RoundRobin(targets),
    requestIds,
  );
}
