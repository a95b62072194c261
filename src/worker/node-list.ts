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
  /** Its place in the shared table. */
  readonly slot: number;
  /** Whether it is a sidecar's, whose certificates and ids only its own connections know. */
  readonly isMesh: boolean;
}

/** Gives a node its place in the shared table. @param at how many come before it in the configuration */
type Placing = (key: string, at: number) => number;

/**
 * The upstream nodes of a configuration. Control thread and workers make the same list of the same configuration. Their slots in the shared table
 * are in the same order, until live changes of targets give new nodes other places (`Placing`). Routes that lead to one origin with the same breaker,
 * health check, strictness and TLS settings share a node; where these differ, each has its own.
 */
export class NodeList {
  readonly nodes: readonly NodeInit[];
  /** Keys of the origins that no node is of, mirrors and gRPC upstreams of the transcoder: their slots say only whether they are drained. */
  readonly others: readonly string[];
  /** Fields of a response's head at most. */
  readonly maxResponseFields: number;
  private readonly byKey: Map<string, NodeInit> = new Map();
  private readonly otherSlots: Map<string, number> = new Map();
  /** Keys of the origins that targets of a name lead to, in all routes. */
  private readonly named: Map<string, Set<string>> = new Map();

  constructor(config: RuntimeConfig, place: Placing = (_, at) => at) {
    this.maxResponseFields = config.proxy.transport.maxResponseFields;
    const nodes: NodeInit[] = [];
    const ofFile = config.proxy.enabled ? withCanaries(upstreamRoutes(config.routes)) : [];
    const ofMesh: ReadonlySet<NodeOwner> = new Set(sidecarRoutes(config));
    for (const route of [...ofFile, ...ofMesh, ...config.streams]) {
      for (const { name = "", originKey } of route.targets) if (name !== "") this.noteName(name, originKey);
      for (const [i, key] of nodeKeys(route).entries()) {
        if (this.byKey.has(key)) continue;
        const node = {
          key,
          route,
          target: route.targets[i]!,
          slot: place(key, nodes.length),
          isMesh: ofMesh.has(route),
        };
        this.byKey.set(key, node);
        nodes.push(node);
      }
    }
    this.nodes = nodes;
    const { transcoder } = config;
    const mirrors = ofFile.flatMap((route) => route.mirrors.map(({ target }) => target.originKey));
    const called = transcoder.enabled ? transcoder.routes.map(({ upstream }) => upstream.originKey) : [];
    this.others = [...new Set([...mirrors, ...called])];
    for (const [i, key] of this.others.entries()) this.otherSlots.set(key, place(`other ${key}`, nodes.length + i));
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

  /** How many slots they take. */
  get size(): number {
    return this.nodes.length + this.others.length;
  }

  /** All slots, for a worker that makes the same list. */
  slots(): Int32Array {
    return Int32Array.from([...this.nodes.map(({ slot }) => slot), ...this.otherSlots.values()]);
  }

  /** The slots of the nodes, by their keys. */
  slotsByKey(): Map<string, number> {
    return new Map(this.nodes.map(({ key, slot }) => [key, slot]));
  }

  /** The slot of one of the others; -1 when the configuration has no such origin. */
  otherSlotOf(originKey: string): number {
    return this.otherSlots.get(originKey) ?? -1;
  }

  /** The slot of a node; -1 when the configuration has no such node. */
  slotOf(key: string): number {
    return this.byKey.get(key)?.slot ?? -1;
  }

  /** A node by its key; null if the configuration has no such node. */
  nodeOf(key: string): NodeInit | null {
    return this.byKey.get(key) ?? null;
  }

  /** The slot of whatever `Placing` names by this key; -1 if it is not in the list. */
  placeOf(key: string): number {
    return this.byKey.get(key)?.slot ?? (key.startsWith("other ") ? this.otherSlotOf(key.slice(6)) : -1);
  }
}

/** The keys of the nodes that a route's targets are, in their order. */
export function nodeKeys(route: NodeOwner): readonly string[] {
  const settings = nodeSettings(route);
  const known = keysOfTargets.get(route.targets);
  if (known?.settings === settings) return known.keys;
  const keys = route.targets.map((target) => `${target.originKey} ${settings}`);
  keysOfTargets.set(route.targets, { settings, keys });
  return keys;
}

/** Of each list of targets, the last ones: lists of nodes are made again and again of the same routes. */
const keysOfTargets: WeakMap<NodeOwner["targets"], { readonly settings: string; readonly keys: readonly string[] }> =
  new WeakMap();

/** The key of the node that an origin is for a route. */
export function nodeKey(route: NodeOwner, originKey: string): string {
  return `${originKey} ${nodeSettings(route)}`;
}

/** When the breakers of a route's targets open, and how these come back; the threshold is 0 if they have none. */
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
  const known = digests.get(circuitBreaker);
  if (known?.healthCheck === healthCheck && known.tls === tls && known.strictOrigins === strictOrigins)
    return known.digest;
  const digest = digestOf(route);
  digests.set(circuitBreaker, { healthCheck, tls, strictOrigins, digest });
  return digest;
}

/** The last one for each object of settings: routes share equal ones. */
const digests: WeakMap<
  NodeOwner["circuitBreaker"],
  Pick<NodeOwner, "healthCheck" | "tls" | "strictOrigins"> & { readonly digest: string }
> = new WeakMap();

function digestOf(route: NodeOwner): string {
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
