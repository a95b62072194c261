import type { Exchange, Route } from "./exchange.ts";
import { Method } from "./request-head.ts";

/** Finds the route whose policies are for a request that is not routed yet, or that no route takes. */
export interface PolicyRouteFinder {
  policyRouteOf(ex: Exchange): Route | null;
}

/**
 * THE way in which a route's policy comes before the server's: a table by route, made when a configuration is read. If no route has a
 * policy of its own, all requests have the server's, without a lookup. docs/guards.md#policies-at-a-route
 */
export class RoutePolicies<P> {
  /** For requests without a route, and for the gateway's own endpoints. */
  private readonly server: P;
  /** By the routes' numbers; null if no route has its own. */
  private readonly byIndex: readonly P[] | null;
  private readonly finder: PolicyRouteFinder;

  /** @see routePolicies */
  constructor(server: P, byIndex: readonly P[] | null, finder: PolicyRouteFinder) {
    this.server = server;
    this.byIndex = byIndex;
    this.finder = finder;
  }

  /** The policy for an exchange: before routing and for refusals, that of the route which its path belongs to. */
  of(ex: Exchange): P {
    const { byIndex } = this;
    if (byIndex === null) return this.server;
    // A preflight asks for another method, which another route may have.
    const isFound = ex.route !== null && ex.request.method !== Method.Options;
    // Before the first phase, a head may be half read.
    const route = isFound || ex.step === 0 ? ex.route : this.finder.policyRouteOf(ex);
    return route === null ? this.server : byIndex[route.index]!;
  }

  /** The policy at a route. */
  at(index: number): P {
    return this.byIndex === null ? this.server : this.byIndex[index]!;
  }

  /** The one policy of all requests; undefined if routes have their own. */
  get only(): P | undefined {
    return this.byIndex === null ? this.server : undefined;
  }

  /** The server's policy alone, for routes that are not in this table. */
  get ofServer(): RoutePolicies<P> {
    return new RoutePolicies(this.server, null, this.finder);
  }

  /** Every policy once. */
  get all(): readonly P[] {
    return [...new Set([this.server, ...(this.byIndex ?? [])])];
  }

  /** The same table with something else made of each policy, once. */
  map<Q>(make: (policy: P) => Q): RoutePolicies<Q> {
    const made = new Map(this.all.map((policy) => [policy, make(policy)]));
    const byIndex = this.byIndex?.map((policy) => made.get(policy)!) ?? null;
    return new RoutePolicies(made.get(this.server)!, byIndex, this.finder);
  }
}

/**
 * Makes the policies of a configuration. Thousands of routes that say the same share one.
 * @param own what each route says, by number; null for nothing
 */
export function routePolicies<C>(server: C, own: readonly (C | null)[], finder: PolicyRouteFinder): RoutePolicies<C> {
  if (own.every((one) => one === null)) return new RoutePolicies(server, null, finder);
  const known = new Map<string, C>();
  const byIndex = own.map((one) => {
    if (one === null) return server;
    const key = JSON.stringify(one);
    const policy = known.get(key) ?? one;
    known.set(key, policy);
    return policy;
  });
  return new RoutePolicies(server, byIndex, finder);
}
