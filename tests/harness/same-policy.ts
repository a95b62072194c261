import { RoutePolicies } from "../../src/message/route-policies.ts";

/** A policy of the server that no route changes. */
export function samePolicy<P>(policy: P): RoutePolicies<P> {
  return new RoutePolicies(policy, null, { policyRouteOf: () => null });
}
