import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { AddressRules } from "./address-rules.ts";

/** `server.ip_rules`: refuses clients before anything else is done for them. */
export class ServerAddressPhase implements Phase {
  readonly name = "serverAddressRules";
  private readonly rules: AddressRules;

  constructor(rules: AddressRules) {
    this.rules = rules;
  }

  run(ex: Exchange): Verdict {
    return this.rules.admit(ex.clientIp) ? Verdict.Next : refuse(ex);
  }
}

/** `ip_rules` of routes: refuses clients once the route is known. */
export class RouteAddressPhase implements Phase {
  readonly name = "routeAddressRules";
  private readonly rules: readonly (AddressRules | null)[];

  /** @param rules one entry a route, by its index */
  constructor(rules: readonly (AddressRules | null)[]) {
    this.rules = rules;
  }

  run(ex: Exchange): Verdict {
    const rules = this.rules[ex.route!.index]!;
    return rules === null || rules.admit(ex.clientIp) ? Verdict.Next : refuse(ex);
  }
}

function refuse(ex: Exchange): Verdict {
  ex.sink.abort(ex, Fault.AccessDenied);
  return Verdict.Done;
}
