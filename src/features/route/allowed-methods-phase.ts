import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { RoutePolicies } from "../../message/route-policies.ts";
import { type MethodSet, methodSet } from "./method-set.ts";

/**
 * `allowed_methods`: refuses other methods with 405 when the route is known. `methods` of a route says in its place which requests are the
 * route's, so that another route of the same path may have the others. docs/guards.md#policies-at-a-route
 */
export class AllowedMethodsPhase implements Phase {
  readonly name = "allowedMethods";
  private readonly policies: RoutePolicies<MethodSet | null>;

  constructor(policies: RoutePolicies<MethodSet | null>) {
    this.policies = policies;
  }

  run(ex: Exchange): Verdict {
    const { index, kind } = ex.route!;
    const set = kind.isBuiltIn ? null : this.policies.at(index);
    if (set === null || set.allowed[ex.request.method] === 1) return Verdict.Next;
    ex.detail = set.allow;
    ex.sink.abort(ex, Fault.MethodNotAllowed);
    return Verdict.Done;
  }
}

/** Null if every method is allowed. */
export function allowedSet(names: readonly string[]): MethodSet | null {
  return names.length === 0 ? null : methodSet(names);
}
