import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Method } from "../../message/request-head.ts";
import type { RoutePolicies } from "../../message/route-policies.ts";
import type { CorsPolicy } from "./cors-policy.ts";

/**
 * Answers CORS preflights (Fetch Standard §4.8) for every path but the gateway's own endpoints: no route needs to allow
 * OPTIONS for it, and no upstream sees one. Any other OPTIONS goes its way.
 */
export class PreflightPhase implements Phase {
  readonly name = "corsPreflight";
  private readonly policies: RoutePolicies<CorsPolicy | null>;

  constructor(policies: RoutePolicies<CorsPolicy | null>) {
    this.policies = policies;
  }

  /** Whether the request is a question of a browser that is answered here. */
  takes(ex: Exchange): boolean {
    return this.policyFor(ex) !== null;
  }

  run(ex: Exchange): Verdict {
    const policy = this.policyFor(ex);
    if (policy === null) return Verdict.Next;
    // Without the fields that allow anything, the browser does not send the request.
    ex.sink.fixed(ex, policy.allows(ex.request.headers) ? policy.preflightFor(ex.request.headers) : REFUSED);
    return Verdict.Done;
  }

  private policyFor(ex: Exchange): CorsPolicy | null {
    return ex.request.method === Method.Options && isPreflight(ex) ? this.policies.of(ex) : null;
  }
}

function isPreflight(ex: Exchange): boolean {
  if (ex.route?.kind.isBuiltIn === true) return false;
  const { headers } = ex.request;
  return headers.find(HeaderId.Origin) >= 0 && headers.find(HeaderId.AccessControlRequestMethod) >= 0;
}

const REFUSED = new PrebuiltResponse(204, [], "");
