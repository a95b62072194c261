import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, type Route, Verdict } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { Denial, IngressAccess } from "./ingress-access.ts";
import { refuseUnroutable } from "./unroutable.ts";

/** Is told of requests that are refused for who asks. */
export interface DenialListener {
  onSidecarDenied(ex: Exchange, denial: Denial): void;
}

/** The routes to the application. */
interface AppRoutes {
  readonly plain: Route;
  /** That of gRPC, if it goes another way; null if it does not. */
  readonly grpc: Route | null;
}

/** The way to the application from the inbound listener, for clients that may ask for it. docs/sidecar.md#who-may-come-in */
export class IngressPhase implements Phase {
  readonly name = "sidecarIngress";
  private readonly routes: AppRoutes;
  private readonly access: IngressAccess;
  private readonly listener: DenialListener;

  constructor(routes: AppRoutes, access: IngressAccess, listener: DenialListener) {
    this.routes = routes;
    this.access = access;
    this.listener = listener;
  }

  run(ex: Exchange): Verdict {
    const { request } = ex;
    const { plain, grpc } = this.routes;
    ex.route = grpc !== null && isGrpc(request.headers) ? grpc : plain;
    const denial = this.access.denialOf(ex.client.identity, request);
    if (denial === "") return refuseUnroutable(ex) ? Verdict.Done : Verdict.Next;
    this.listener.onSidecarDenied(ex, denial);
    if (request.major > 1 && isGrpc(request.headers)) ex.sink.fixed(ex, GRPC_DENIED);
    else ex.sink.abort(ex, Fault.IdentityDenied);
    return Verdict.Done;
  }
}

/** gRPC's own protocol, which needs HTTP/2; gRPC-Web does not. */
function isGrpc(headers: HeaderBlock): boolean {
  return GRPC_TYPE.test(headers.valueOf(HeaderId.ContentType));
}

const GRPC_TYPE = /^application\/grpc(?:$|[+; ])/i;

/** PERMISSION_DENIED, as a response of trailers alone. */
const GRPC_DENIED: PrebuiltResponse = new PrebuiltResponse(
  200,
  [
    ["Content-Type", "application/grpc"],
    ["grpc-status", "7"],
    ["grpc-message", "not allowed for this identity"],
  ],
  "",
);
