import { Fault } from "../../core/fault.ts";
import { isAllowedId } from "../../core/spiffe-id.ts";
import { type ClientIdentity, type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { Route } from "../../message/route.ts";
import { refuseUnroutable } from "./unroutable.ts";

/** The way to the application from the inbound listener, for clients whose identity is allowed. docs/sidecar.md#who-may-come-in */
export class IngressPhase implements Phase {
  readonly name = "sidecarIngress";
  private readonly route: Route;
  private readonly allowedIds: readonly string[];
  private readonly grpc: Route | null;

  /**
   * @param allowedIds SPIFFE ids, `*` at the end allowed; empty admits every client that the handshake admitted
   * @param grpc the route of gRPC, where that goes another way; null where it does not
   */
  constructor(route: Route, allowedIds: readonly string[], grpc: Route | null = null) {
    this.route = route;
    this.allowedIds = allowedIds;
    this.grpc = grpc;
  }

  run(ex: Exchange): Verdict {
    ex.route = this.grpc !== null && isGrpc(ex.request.headers) ? this.grpc : this.route;
    if (this.allowedIds.length > 0 && !isAllowed(ex.client.identity, this.allowedIds)) {
      ex.sink.abort(ex, Fault.IdentityDenied);
      return Verdict.Done;
    }
    return refuseUnroutable(ex) ? Verdict.Done : Verdict.Next;
  }
}

/** gRPC's own protocol, which needs HTTP/2; gRPC-Web does not. */
function isGrpc(headers: HeaderBlock): boolean {
  return GRPC_TYPE.test(headers.valueOf(HeaderId.ContentType));
}

const GRPC_TYPE = /^application\/grpc(?:$|[+; ])/i;

/** Whether one of the ids that a certificate names is among those allowed. */
export function isAllowed(identity: ClientIdentity | null, allowed: readonly string[]): boolean {
  if (identity === null) return false;
  return identity.uris.some((uri) => isAllowedId(uri, allowed));
}
