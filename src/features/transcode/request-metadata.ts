import { UNKNOWN_CLIENT } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { GrpcMetadata } from "../../message/grpc-upstream.ts";
import { HeaderId } from "../../message/header-block.ts";
import { viaOf } from "../../message/via.ts";

/**
 * The client's header fields as metadata of a call, and the gateway's own: hop-by-hop fields and what Connection names
 * are removed, everything else is preserved; TE is the gateway's. docs/transcoder.md#metadata
 */
export function requestMetadata(ex: Exchange): GrpcMetadata {
  const { headers } = ex.request;
  const metadata: [string, string][] = [];
  const via: string[] = [];
  for (let i = 0; i < headers.count; i++) {
    const id = headers.ids[i]!;
    if (id === HeaderId.Via) via.push(headers.valueText(i));
    if (DROPPED[id] === 1) continue;
    const name = headers.nameText(i).toLowerCase();
    // What begins with grpc- is the protocol's own. gRPC over HTTP/2, "Custom-Metadata".
    if (!name.startsWith("grpc-")) metadata.push([name, headers.valueText(i)]);
  }
  metadata.push(["x-request-id", ex.response.requestId()], ...forwardedFields(ex));
  metadata.push(["via", [...via, viaOf(ex.request)].join(", ")]);
  return metadata;
}

/** docs/upstreams.md#fields-that-are-sent */
function forwardedFields(ex: Exchange): [string, string][] {
  const { client, request, fromTrustedProxy } = ex;
  const told = fromTrustedProxy ? valuesOf(ex, HeaderId.XForwardedFor) : [];
  // The proxy forwards for a client: it must not be recorded as the client.
  const unnamed = ex.forwardedIp === UNKNOWN_CLIENT ? [UNKNOWN_CLIENT] : [];
  return [
    ["x-forwarded-for", [...(told.length === 0 ? unnamed : told), client.address].join(", ")],
    ["x-real-ip", ex.clientIp],
    ["x-forwarded-proto", ex.scheme],
    ["x-forwarded-host", request.authority()],
    ...clientCertificates(ex),
  ];
}

/** The certificate that the client has shown, else what a trusted proxy says of one. */
function clientCertificates(ex: Exchange): [string, string][] {
  const { client, fromTrustedProxy } = ex;
  const told = fromTrustedProxy ? valuesOf(ex, HeaderId.XForwardedClientCert) : [];
  const line = client.certificateLine;
  const values = client.identity === null ? told : [line.slice(line.indexOf(" ") + 1).trimEnd()];
  return values.map((value) => ["x-forwarded-client-cert", value]);
}

function valuesOf(ex: Exchange, id: HeaderId): string[] {
  const { headers } = ex.request;
  const values: string[] = [];
  for (let i = headers.find(id); i >= 0; i = headers.find(id, i + 1)) {
    if (headers.valueText(i) !== "") values.push(headers.valueText(i));
  }
  return values;
}

/** 1 for what is removed, what speaks of the REST message alone, and what the gateway writes itself. */
const DROPPED: Uint8Array = new Uint8Array(256);
for (const id of [
  HeaderId.Host,
  HeaderId.Connection,
  HeaderId.KeepAlive,
  HeaderId.Upgrade,
  HeaderId.ProxyConnection,
  HeaderId.TransferEncoding,
  HeaderId.ProxyAuthenticate,
  HeaderId.ProxyAuthorization,
  HeaderId.Trailer,
  HeaderId.Trailers,
  HeaderId.NamedByConnection,
  HeaderId.Te,
  HeaderId.Http2Settings,
  HeaderId.Expect,
  HeaderId.ContentLength,
  HeaderId.ContentType,
  HeaderId.ContentEncoding,
  HeaderId.AcceptEncoding,
  HeaderId.XForwardedFor,
  HeaderId.XForwardedProto,
  HeaderId.XForwardedHost,
  HeaderId.XForwardedClientCert,
  HeaderId.XRealIp,
  HeaderId.XRequestId,
  HeaderId.Via,
]) {
  DROPPED[id] = 1;
}
