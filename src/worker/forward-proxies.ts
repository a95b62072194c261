import { originOf, parseAuthority } from "../config/origin.ts";
import { Fault } from "../core/fault.ts";
import { NetworkSet } from "../core/network-set.ts";
import { isPublicAddress } from "../core/public-address.ts";
import { BasicMethod, type PasswordChecks } from "../features/auth/basic-method.ts";
import { HostRules } from "../features/connect/host-rules.ts";
import { type ProxyAuth, ProxyPhase } from "../features/connect/proxy-phase.ts";
import { ForwardEnd } from "../features/forward/forward-handler.ts";
import { BodyLimitPhase } from "../features/ingest/body-limit.ts";
import { BoundedBodyPhase } from "../features/ingest/bounded-body.ts";
import { AuthorityChoice, type OriginSource } from "../features/sidecar/authority-choice.ts";
import type { AccessLog } from "../features/telemetry/access-log.ts";
import type { BodyBudget } from "../memory/body-budget.ts";
import { DispatchPhase, Pipeline, type Route, type Upstream } from "../message/exchange.ts";
import { HeaderId } from "../message/header-block.ts";
import { NO_HEADER_EDITS } from "../routes/header-operations.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { forwardHandler } from "../routes/upstream/forward-route.ts";
import { directRoute } from "../routes/upstream/sidecar-routes.ts";
import type { ForwardProxyConfig } from "../settings/forward-proxy.ts";
import { ConnectTunnel } from "../upstream/connect-tunnel.ts";
import { passwordChecks } from "./client-policy.ts";
import { OwnListeners } from "./listeners.ts";
import type { OriginGuard, OriginPools } from "./origin-pools.ts";
import { FORWARD_PROXY_LABEL } from "./routing.ts";
import type { RuntimePorts } from "./runtime-inputs.ts";
import { soleRoute } from "./sidecar.ts";

/** Parts of the pipelines of forward proxies. */
interface ForwardProxyPorts {
  readonly inputs: RuntimePorts;
  readonly pools: OriginPools;
  readonly budget: BodyBudget;
  readonly accessLog: AccessLog | null;
}

/**
 * The ways of listeners with `forward_proxy`, by the names of these: neither routes nor built-in endpoints are there.
 *
 *   counters → forwardProxy → bodyLimit → boundedBody → dispatch
 *   accessLog ← forwardEnd ← counters
 */
export function forwardProxies(config: RuntimeConfig, parts: ForwardProxyPorts): ReadonlyMap<string, Pipeline> {
  return new Map(
    config.server.listeners.flatMap(({ name, forwardProxy }) =>
      forwardProxy === null ? [] : [[name, pipelineOf(config, name, forwardProxy, parts)] as const],
    ),
  );
}

function pipelineOf(config: RuntimeConfig, name: string, own: ForwardProxyConfig, parts: ForwardProxyPorts): Pipeline {
  const { inputs, budget, accessLog } = parts;
  const taps = [inputs.counters, new ForwardEnd(), ...(accessLog === null ? [] : [accessLog])];
  const phases = [
    inputs.counters,
    phaseOf(config, name, own, parts),
    new BodyLimitPhase(config.server.maxBodyBytes),
    new BoundedBodyPhase(budget, inputs.reports),
    new DispatchPhase(),
  ];
  const pipeline = new Pipeline(phases, [], taps, null, inputs.requestIds);
  pipeline.places = inputs.client.places;
  return pipeline;
}

function phaseOf(config: RuntimeConfig, name: string, own: ForwardProxyConfig, parts: ForwardProxyPorts): ProxyPhase {
  const { inputs, pools } = parts;
  const { services, requestIds } = inputs;
  const networks = new NetworkSet(own.allowNetworks);
  const listeners = new OwnListeners(config);
  const guard: OriginGuard = {
    key: `${FORWARD_PROXY_LABEL} ${name}`,
    own: listeners,
    admits: (address) => isPublicAddress(address) || networks.has(address),
  };
  const authorities = new AuthorityChoice(new NamedOrigins(pools, guard), inputs.tally, services.turn);
  const connectMs = config.proxy.transport.connectTimeoutMs;
  return new ProxyPhase({
    rules: new HostRules(own.allow),
    auth: own.basic === null ? null : authOf(own.basic, passwordChecks(inputs.client)),
    counts: inputs.under.tunnels,
    direct: directOf(config, authorities, parts),
    faultOf: (ex) => authorities.faultOf(ex),
    turns: services,
    maxTunnels: own.maxTunnels,
    maxTunnelsPerClient: own.maxTunnelsPerClient,
    read: (authority) => {
      const parsed = parseAuthority(authority);
      return typeof parsed === "string" ? null : parsed;
    },
    connect: (ex, hostname, port) => {
      requestIds.assign(ex);
      const settings = pools.tunnelTo(originOf("http", hostname, port, ""), guard);
      new ConnectTunnel(ex, settings, services.upstream, { connectMs, idleMs: own.idleTimeoutMs }).start();
    },
    onRefused: (ex) => inputs.reports.onUnauthenticated(ex, FORWARD_PROXY_LABEL, 407, ""),
  });
}

function authOf({ realm, users }: NonNullable<ForwardProxyConfig["basic"]>, checks: PasswordChecks): ProxyAuth {
  const hashes = new Map(users.map((user) => [user.name, user.hash]));
  return new BasicMethod(realm, hashes, checks, true, HeaderId.ProxyAuthorization);
}

/** The route of requests for `http:` URLs. No server of others learns of the client, or of this gateway's own fields. */
function directOf(config: RuntimeConfig, choice: AuthorityChoice, { inputs, budget }: ForwardProxyPorts): Route {
  const { services, requestIds } = inputs;
  const headers = { request: { ...NO_HEADER_EDITS, remove: OWN_FIELDS }, response: NO_HEADER_EDITS };
  const route = { ...directRoute(config), headers, maxBodyBytes: config.server.maxBodyBytes, retryAttempts: 0 };
  const handler = forwardHandler(route, choice, {
    requestIds,
    wheel: services.wheel,
    turn: services.turn,
    bodies: budget,
  });
  return soleRoute(config, FORWARD_PROXY_LABEL, handler);
}

const OWN_FIELDS = [
  "X-Forwarded-For",
  "X-Real-IP",
  "X-Forwarded-Proto",
  "X-Forwarded-Host",
  "X-Forwarded-Client-Cert",
  "X-Request-Id",
];

/** The servers that requests name: each has connections of its own. */
class NamedOrigins implements OriginSource {
  private readonly pools: OriginPools;
  private readonly guard: OriginGuard;

  constructor(pools: OriginPools, guard: OriginGuard) {
    this.pools = pools;
    this.guard = guard;
  }

  originOf(scheme: "http" | "https", authority: string): Upstream | Fault {
    const parsed = parseAuthority(authority);
    if (typeof parsed === "string") return Fault.BadHost;
    // Clients speak TLS to servers themselves, through a tunnel.
    if (scheme === "https") return Fault.BadTarget;
    return this.pools.guardedPool(
      originOf("http", parsed.hostname, parsed.port < 0 ? 80 : parsed.port, ""),
      this.guard,
    );
  }

  isOwn(): boolean {
    return false;
  }

  forget(upstream: Upstream): void {
    this.pools.drop(upstream);
  }
}
