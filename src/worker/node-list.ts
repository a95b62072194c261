import type { TargetConfig } from "../config/origin.ts";
import type { BreakerRules } from "../features/balance/balancer.ts";
import { withCanaries } from "../routes/canary-routes.ts";
import { upstreamRoutes } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { sidecarRoutes } from "../routes/upstream/sidecar-routes.ts";
import type { NodeOwner } from "../routes/upstream/upstream-config.ts";

/** A target as one route, or stream, sees it, and the settings that make it a node of its own. */
export interface NodeInit {
  readonly key: string;
  readonly route: NodeOwner;
  readonly target: TargetConfig;
  /** Whether it is a sidecar's, whose certificates and ids only its own connections know. */
  readonly isMesh: boolean;
}

/**
 * The upstream nodes of a configuration, in the order of their slots in the shared table. Control thread and workers
 * make the same list of the same configuration. Routes that lead to one origin with the same breaker, health check,
 * strictness and TLS settings share a node; where these differ, each has its own.
 */
export class NodeList {
  readonly nodes: readonly NodeInit[];
  /** Keys of the origins that no node is of, mirrors and gRPC upstreams of the transcoder: their slots, after the nodes', say only whether they are drained. */
  readonly others: readonly string[];
  /** Fields of a response's head at most. */
  readonly maxResponseFields: number;
  private readonly slots: Map<string, number> = new Map();
  /** Keys of the origins that targets of a name lead to, in all routes. */
  private readonly named: Map<string, Set<string>> = new Map();

  constructor(config: RuntimeConfig) {
    this.maxResponseFields = config.proxy.transport.maxResponseFields;
    const nodes: NodeInit[] = [];
    const ofFile = config.proxy.enabled ? withCanaries(upstreamRoutes(config.routes)) : [];
    const ofMesh: ReadonlySet<NodeOwner> = new Set(sidecarRoutes(config));
    for (const route of [...ofFile, ...ofMesh, ...config.streams]) {
      for (const { name = "", originKey } of route.targets) if (name !== "") this.noteName(name, originKey);
      nodeKeys(route).forEach((key, i) => {
        if (this.slots.has(key)) return;
        this.slots.set(key, nodes.length);
        nodes.push({ key, route, target: route.targets[i]!, isMesh: ofMesh.has(route) });
      });
    }
    this.nodes = nodes;
    const { transcoder } = config;
    const mirrors = ofFile.flatMap(({ mirror }) => (mirror === null ? [] : [mirror.target.originKey]));
    const called = transcoder.enabled ? transcoder.routes.map(({ upstream }) => upstream.originKey) : [];
    this.others = [...new Set([...mirrors, ...called])];
  }

  private noteName(name: string, originKey: string): void {
    const keys = this.named.get(name);
    if (keys === undefined) this.named.set(name, new Set([originKey]));
    else keys.add(originKey);
  }

  /** Keys of the origins that the targets of a name lead to, in all routes; none for a name that no target has. */
  originsNamed(name: string): readonly string[] {
    return [...(this.named.get(name) ?? [])];
  }

  /** Slots of the shared table. */
  get size(): number {
    return this.nodes.length + this.others.length;
  }

  /** The slot of one of the others; -1 when the configuration has no such origin. */
  otherSlotOf(originKey: string): number {
    const at = this.others.indexOf(originKey);
    return at < 0 ? -1 : this.nodes.length + at;
  }

  /** The slot of a node; -1 when the configuration has no such node. */
  slotOf(key: string): number {
    return this.slots.get(key) ?? -1;
  }
}

/** The keys of the nodes that a route's targets are, in their order. */
export function nodeKeys(route: NodeOwner): readonly string[] {
  const settings = nodeSettings(route);
  return route.targets.map((target) => `${target.originKey} ${settings}`);
}

/** The key of the node that an origin is for a route. */
export function nodeKey(route: NodeOwner, originKey: string): string {
  return `${originKey} ${nodeSettings(route)}`;
}

/** When the breakers of a route's targets open, and how these come back; the threshold is 0 where they have none. */
export function breakerRules({ circuitBreaker }: NodeOwner): BreakerRules {
  const { enabled, failureThreshold, failureStatuses, slowStartMs, successRate, successRateRequests } = circuitBreaker;
  return {
    failureThreshold: enabled ? failureThreshold : 0,
    failureStatuses,
    slowStartMs,
    rateRequests: successRate === 0 ? 0 : successRateRequests,
    rateFailures: Math.floor((successRateRequests * (100 - successRate)) / 100),
  };
}

/** A digest: there may be a hundred thousand keys, and their settings are mostly the same. */
function nodeSettings(route: NodeOwner): string {
  const { circuitBreaker, healthCheck, tls, strictOrigins } = route;
  const settings = JSON.stringify([
    breakerRules(route),
    circuitBreaker.openDurationMs,
    healthCheck.enabled ? healthCheck : null,
    tls,
    strictOrigins,
  ]);
  return Bun.hash(settings).toString(36);
}
