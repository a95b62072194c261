import type { TimerWheel } from "../core/timer-wheel.ts";
import { AUTO_LIMIT } from "../features/concurrency/adaptive-limit.ts";
import { ConcurrencyEnd, ConcurrencyPhase, type RouteGates } from "../features/concurrency/concurrency-phase.ts";
import { Gates } from "../features/concurrency/gates.ts";
import type { ConcurrencyConfig } from "../features/concurrency/settings.ts";
import type { Phase, ResponseTap } from "../message/exchange.ts";
import type { NowMs } from "../message/ports.ts";
import { labelOf } from "./route-base.ts";
import { hasTargets, type RouteConfig } from "./route-config.ts";
import { routeKey } from "./route-key.ts";
import { canaryRoute } from "./upstream/canary-route.ts";

/** What limits the requests of a route at once, or of its targets: control thread and workers make the same of the same configuration. */
export interface GateInit {
  /** Tells it from all others, across reloads. */
  readonly key: string;
  readonly routeKey: string;
  readonly route: string;
  readonly lanes: readonly GateLane[];
  readonly queue: number;
  readonly queueTimeoutMs: number;
}

interface GateLane {
  /** The target; "" for the route as a whole. */
  readonly target: string;
  /** AUTO_LIMIT if edge finds it found. */
  readonly limit: number;
}

/** A target without a limit, beside others that have one. */
const UNLIMITED = 0x7fff_ffff;

/** The limit of a route; null without one. */
function routeGate(route: RouteConfig): GateInit | null {
  const own = route.concurrency;
  return own === null ? null : gate(route, "route", [{ target: "", limit: own.limit }], [own]);
}

/** The limits of its targets, a lane each; null if none has one. */
export function targetGate(route: RouteConfig): GateInit | null {
  if (!hasTargets(route)) return null;
  const limits = route.targets.flatMap(({ concurrency }) => (concurrency == null ? [] : [concurrency]));
  if (limits.length === 0) return null;
  const lanes = route.targets.map(({ url, concurrency, weight }) => ({
    target: url,
    limit: concurrency?.limit ?? (weight === 0 ? 1 : UNLIMITED),
  }));
  return gate(route, JSON.stringify(lanes.map(({ target }) => target)), lanes, limits);
}

function gate(
  route: RouteConfig,
  what: string,
  lanes: readonly GateLane[],
  limits: readonly ConcurrencyConfig[],
): GateInit {
  return {
    key: `${routeKey(route)} ${what}`,
    routeKey: routeKey(route),
    route: labelOf(route),
    lanes,
    queue: limits.reduce((sum, { queue }) => sum + queue, 0),
    queueTimeoutMs: Math.max(...limits.map(({ queueTimeoutMs }) => queueTimeoutMs)),
  };
}

/** All gates of routes, that of a route before that of its targets. */
function gatesIn(routes: readonly RouteConfig[]): readonly GateInit[] {
  return routes.flatMap((route) => [routeGate(route), targetGate(route)]).filter((one) => one !== null);
}

/** The same, and the gates of new versions' targets. */
export function allGatesIn(routes: readonly RouteConfig[]): readonly GateInit[] {
  const fresh = routes.flatMap((route) => (hasTargets(route) ? (canaryRoute(route) ?? []) : []));
  return [...gatesIn(routes), ...fresh.map(targetGate).filter((one) => one !== null)];
}

/** Whether the limit of a lane is found by its latency. */
export function isAuto({ limit }: GateLane): boolean {
  return limit === AUTO_LIMIT;
}

/** The gates of a worker. */
export function makeGates(services: GateServices, worker: number): Gates {
  const { turn, wheel } = services;
  const ports = { worker, turn, wheel, inTurn: (work: () => void) => services.inTurn(work) };
  return new Gates(ports, ({ routes }: { readonly routes: readonly RouteConfig[] }) => allGatesIn(routes));
}

/** What gates need of their worker. */
export interface GateServices {
  readonly turn: NowMs;
  readonly wheel: TimerWheel;
  inTurn(work: () => void): void;
}

/**
 * A phase of `concurrency`: the early one, or the one after the cache, for requests that the cache may respond to. Null if no route needs it.
 * @param routes by their numbers; null for those of the gateway's own
 */
export function concurrencyPhase(
  name: ConcurrencyPhase["name"],
  routes: readonly (RouteConfig | null)[],
  gates: Gates,
  turn: NowMs,
): Phase | null {
  const ofRoutes = routes.map((route): RouteGates | null => {
    const inits = route === null ? [] : gatesIn([route]);
    return inits.length === 0 ? null : { gates: inits.map((init) => gates.of(init)), isStored: route!.cache.enabled };
  });
  const isUsed = ofRoutes.some((one) => one !== null && (name === "concurrency" || one.isStored));
  return isUsed ? new ConcurrencyPhase(name, ofRoutes, turn) : null;
}

/** What gives the places back; null if no route has any. */
export function concurrencyEnd(routes: readonly RouteConfig[]): ResponseTap | null {
  return gatesIn(routes).length === 0 ? null : new ConcurrencyEnd();
}
