import { Fault } from "../../core/fault.ts";
import { type ClientIdentity, type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { Route } from "../../message/route.ts";
import { refuseUnroutable } from "./unroutable.ts";

/** The one route of the inbound listener, for clients whose identity is allowed. docs/sidecar.md#who-may-come-in */
export class IngressPhase implements Phase {
  readonly name = "sidecarIngress";
  private readonly route: Route;
  private readonly allowedIds: readonly string[];

  /** @param allowedIds SPIFFE ids, `*` at the end allowed; empty admits every client that the handshake admitted */
  constructor(route: Route, allowedIds: readonly string[]) {
    this.route = route;
    this.allowedIds = allowedIds;
  }

  run(ex: Exchange): Verdict {
    ex.route = this.route;
    if (this.allowedIds.length > 0 && !isAllowed(ex.client.identity, this.allowedIds)) {
      ex.sink.abort(ex, Fault.IdentityDenied);
      return Verdict.Done;
    }
    return refuseUnroutable(ex) ? Verdict.Done : Verdict.Next;
  }
}

/** Whether one of the ids that a certificate names is among those allowed. */
export function isAllowed(identity: ClientIdentity | null, allowed: readonly string[]): boolean {
  if (identity === null) return false;
  return identity.uris.some((uri) =>
    allowed.some((one) => (one.endsWith("*") ? uri.startsWith(one.slice(0, -1)) : uri === one)),
  );
}
