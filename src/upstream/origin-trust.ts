// Whether an origin is the one that it should be, by its certificate.
import { alternativeNames } from "../core/alternative-names.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { isAllowedId } from "../core/spiffe-id.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { HandshakeError, PeerCertificate } from "../net/tls-upgrade.ts";
import { failureCode, handshakeDetail } from "./failure-detail.ts";

/** Contents, not paths: files are read when the configuration is. */
export interface UpstreamTls {
  /** Name that is asked for and checked; "" asks for none, and checks the address that is connected to. */
  readonly serverName: string;
  readonly ca: string | readonly string[] | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly rejectUnauthorized: boolean;
  /** SPIFFE ids, one of which the origin's certificate must have in the place of its name; empty checks the name. */
  readonly serverIds?: readonly string[];
  /** Host names and URIs, one of which the origin's certificate must have in the place of `serverName`; empty checks that. */
  readonly altNames?: readonly string[];
}

/** A socket with TLS. */
export type Certified = { getPeerX509Certificate?(): PeerCertificate | undefined };

/** What the library learns of a TLS connection to an origin. RFC 9113 §3.3: HTTP/2 is asked for by ALPN. */
export function tlsOptions(tls: UpstreamTls, isHttp2: boolean): object {
  const own = checksHere(tls) ? { ...tls, rejectUnauthorized: false } : tls;
  return isHttp2 ? { ...own, ALPNProtocols: ALPN_H2 } : own;
}

/** Whether the id or names are checked here, and the library's check of the name does not count. */
function checksHere({ rejectUnauthorized, serverIds = [], altNames = [] }: UpstreamTls): boolean {
  return rejectUnauthorized && serverIds.length + altNames.length > 0;
}

/** Why a connection may not be used, now that its handshake is over; "" if it may. */
export function trustDenial(
  tls: UpstreamTls,
  socket: Certified,
  ok: boolean,
  error: HandshakeError | null | undefined,
): string {
  if (!checksHere(tls)) return isUsable(tls.rejectUnauthorized, ok, error) ? "" : failureCode(error);
  // The chain is verified first: only a certificate that is good in all else has a wrong name.
  if (error !== null && error !== undefined && error.code !== WRONG_NAME) return failureCode(error);
  const { serverIds = [], altNames = [] } = tls;
  const certificate = socket.getPeerX509Certificate?.();
  if (serverIds.length > 0 && !hasServerId(certificate, serverIds)) return SERVER_ID_DENIED;
  return altNames.length === 0 || hasAltName(certificate?.subjectAltName ?? "", altNames) ? "" : WRONG_NAME;
}

/**
 * Whether a certificate has one of some names. A wildcard of it stands for one label, as everywhere (RFC 9525 §6.3).
 * @param text see `alternativeNames` @param wanted host names in lower case, and URIs
 */
export function hasAltName(text: string, wanted: readonly string[]): boolean {
  const uris = alternativeNames(text, "URI");
  const hosts = new Set(alternativeNames(text, "DNS").map((name) => name.toLowerCase()));
  return wanted.some((name) => {
    if (name.includes(":")) return uris.includes(name);
    const dot = name.indexOf(".");
    return hosts.has(name) || (dot > 0 && hosts.has(`*${name.slice(dot)}`));
  });
}

/** The word for what `trustDenial` gave. */
export function denialDetail(denial: string, error: HandshakeError | null | undefined): FaultDetail {
  return denial === SERVER_ID_DENIED || denial === WRONG_NAME ? FaultDetail.TlsName : handshakeDetail(error);
}

/** Whether a certificate has an id, and that is allowed. */
function hasServerId(certificate: PeerCertificate | undefined, allowed: readonly string[]): boolean {
  const id = idIn(certificate);
  return id !== "" && isAllowedId(id, allowed);
}

/** The one URI of a certificate; "" if there is none, or another: two would be two identities. */
function idIn(certificate: PeerCertificate | undefined): string {
  const [id = "", ...more] = alternativeNames(certificate?.subjectAltName ?? "", "URI");
  return more.length === 0 ? id : "";
}

/** The id in the verified certificate of a server that a sidecar has connected to; "" if it has none, or is not verified. docs/sidecar.md#who-asks */
export function serverIdOf({ tls }: { readonly tls: UpstreamTls | null }, socket: ByteSocket): string {
  if (tls === null || tls.serverIds === undefined || !tls.rejectUnauthorized) return "";
  return idIn((socket as Certified).getPeerX509Certificate?.());
}

const WRONG_NAME = "ERR_TLS_CERT_ALTNAME_INVALID";
/** In logs. */
const SERVER_ID_DENIED = "server_id_denied";

/** Length and name. RFC 7301 §3.1. */
const ALPN_H2: Buffer = Buffer.from("\x02h2");

/**
 * Whether a connection to an origin may be used, now that its handshake is over.
 * @param verify whether the origin's certificate must be trusted and have its name
 */
function isUsable(verify: boolean, ok: boolean, error: HandshakeError | null | undefined): boolean {
  return verify ? ok && !error : !isBroken(error);
}

/**
 * Whether the handshake failed, rather than the check of the certificate. Bun says `ok: false` for either (seen with a
 * self-signed certificate and verification off); only system errors look like EPROTO or ECONNRESET.
 */
function isBroken(error: HandshakeError | null | undefined): boolean {
  return error?.code !== undefined && /^E[A-Z]+$/.test(error.code);
}
