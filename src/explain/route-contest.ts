import { buildRouter } from "../features/route/build-router.ts";
import type { Router } from "../features/route/router.ts";
import { RouteExactPhase, RoutePrefixPhase } from "../features/route/routing-phases.ts";
import { ClientListener } from "../message/client-listener.ts";
import { ClientPeer } from "../message/client-peer.ts";
import { Exchange, Pipeline, type Route, type RouteInit } from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import type { RequestHead } from "../message/request-head.ts";
import { requestHost, takesHost } from "../message/request-host.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { settingsByIndex } from "../worker/routing.ts";

/** A route that did not get a request although its path fits. */
interface LostRoute {
  readonly route: Route;
  readonly why: string;
}

/** The route that the router alone would give a request to: whatever phases say of it. */
export function routeByPath(router: Router, head: RequestHead): Route | null {
  return askRouter(router, head);
}

/**
 * The routes whose path takes a request and that did not get it, the most specific first, and why. What a route takes is asked of a
 * router that has this route alone, first without its hosts and methods, then with them.
 * @param winner null if none got it
 */
export function lostRoutes(router: Router, winner: Route | null, head: RequestHead): LostRoute[] {
  const contest = new Contest(head, router.isHostFirst);
  const lost = router.routes.flatMap((route) => {
    if (route === winner) return [];
    const why = contest.reason(route.init, winner?.init ?? null);
    return why === "" ? [] : [{ route, why }];
  });
  return lost.sort((a, b) => contest.compare(a.route.init, b.route.init) || a.route.index - b.route.index);
}

/** What routes.yaml says of a route; null for those of the gateway's own and transcoded ones. */
export function settingsOf(config: RuntimeConfig, { routes }: Router, route: Route): RouteConfig | null {
  return settingsByIndex(config, routes)[route.index] ?? null;
}

class Contest {
  private readonly head: RequestHead;
  private readonly host: string;
  private readonly isHostFirst: boolean;

  constructor(head: RequestHead, isHostFirst: boolean) {
    this.head = head;
    this.host = requestHost(head);
    this.isHostFirst = isHostFirst;
  }

  /** Negative where the first goes before the second. */
  compare(a: RouteInit, b: RouteInit): number {
    const byPath = rank(b) - rank(a);
    const byHost = hostRank(b, this.host) - hostRank(a, this.host);
    return this.isHostFirst ? byHost || byPath : byPath || byHost;
  }

  /** "" if the path is not the route's. */
  reason(init: RouteInit, winner: RouteInit | null): string {
    const { hosts, methods, match, ...others } = init;
    const bare = { ...others, hosts: [], methods: [] };
    if (!this.takes(bare)) return "";
    if (init.regex !== undefined && match?.groupsOf(this.head) === null) return "";
    if (hosts.length > 0 && !this.takes({ ...bare, hosts })) return `is for host ${hosts.join(", ")}`;
    if (match?.fits(this.head) === false) return "has a match that does not fit";
    if (methods.length > 0 && !this.takes(init)) return `takes ${methods.join(", ")} only`;
    return winner === null ? "gives way: a more specific path lacks the method" : this.beatenBy(init, winner);
  }

  /** Why a route that takes the request by itself gives way. docs/routing.md#which-route-wins */
  private beatenBy(loser: RouteInit, winner: RouteInit): string {
    const isHostWon = hostRank(loser, this.host) < hostRank(winner, this.host);
    if (isHostWon && (this.isHostFirst || rank(loser) === rank(winner))) return hostReason(loser, this.host);
    if (rank(loser) < rank(winner)) {
      if (winner.kind.holdsOnEveryHost && hostRank(loser, this.host) > 0)
        return "gives way: that path is one on every host";
      if (winner.exact) return "is less specific than the exact path";
      return winner.regex === undefined ? "is a shorter prefix" : "is a prefix: expressions go before it";
    }
    if (isHostWon) return hostReason(loser, this.host);
    if (loser.match === undefined && winner.match !== undefined) return "comes after the routes with match";
    return "comes after it";
  }

  private takes(init: RouteInit): boolean {
    return askRouter(buildRouter([init]), this.head) !== null;
  }
}

/** Null if no route takes the request, or not its method. */
function askRouter(router: Router, head: RequestHead): Route | null {
  const ex = new Exchange(IDLE_PORTS);
  ex.request.copyFrom(head);
  const bodies = { maxBodyBytes: 0, rejectsChunked: false };
  const phases = [
    new RouteExactPhase({ router, bodies, guard: null, isPreflight: null }),
    new RoutePrefixPhase(router, bodies),
  ];
  const pipeline = new Pipeline(phases, [], []);
  // The copy has no databases of its own: it is where the request is.
  pipeline.places = { countryOf: () => head.sender.country, asnOf: () => 0 };
  let isRefused = false;
  const sink = {
    ...IDLE_PORTS.sink,
    abort: () => {
      isRefused = true;
    },
  };
  const peer = new ClientPeer(head.sender.clientIp, false, 0);
  peer.listener = new ClientListener(head.sender.listenerName);
  ex.open(sink, IDLE_PORTS.flow, peer, pipeline);
  pipeline.start(ex);
  return isRefused ? null : ex.route;
}

/** Why a route gives way to one of a more specific host. */
function hostReason({ hosts }: RouteInit, host: string): string {
  return hosts.length === 0
    ? `names no host: a route for ${host} goes before it`
    : `has a less specific host than ${host}`;
}

/** The more specific the host of a route is for a request, the higher; -1 if it does not take it. */
function hostRank({ hosts }: RouteInit, host: string): number {
  if (hosts.length === 0) return 0;
  const own = hosts.filter((one) => takesHost([one], host));
  return own.includes(host) ? EXACT : Math.max(-1, ...own.map((one) => one.length));
}

/** The more specific the path, the higher. */
function rank({ exact, pattern, path, regex }: RouteInit): number {
  if (pattern !== undefined) return EXACT / 2;
  if (regex !== undefined) return EXACT / 4;
  return exact ? EXACT : path.replace(/\/\*?$/, "").length;
}

/** Above the length of any path. */
const EXACT = 1_000_000;
