import { FaultDetail } from "../core/fault-detail.ts";
import { detailLabel } from "../core/fault-detail-rows.ts";
import { isNoName } from "../net/name-resolver.ts";
import type { InputBuffer } from "../net/socket-buffers.ts";
import type { HandshakeError } from "../net/tls-upgrade.ts";

/** A failure of an attempt in the words of the log, from codes of the system, of the TLS library and from the origin's bytes. docs/troubleshooting.md#debug-a-502 */

/** A connection to an origin, as its failures are reported. */
interface FailedConnection {
  readonly requestId: string;
  readonly pool: {
    readonly settings: { readonly originKey: string };
    readonly context: { onFailed(originKey: string, reason: string, detail: FaultDetail, requestId: string): void };
  };
}

/** Why there is no connection. @param code of the system */
export function connectDetail(code: string): FaultDetail {
  if (code === "ENOENT") return FaultDetail.SocketNotFound;
  return code === "ETIMEDOUT" ? FaultDetail.ConnectTimeout : FaultDetail.ConnectRefused;
}

/** Why a name has no address. @param failure as the resolver says it */
export function nameDetail(failure: string): FaultDetail {
  if (isNoName(failure)) return FaultDetail.DnsNotFound;
  return failure === "ETIMEOUT" || failure === "DNS_ETIMEOUT" ? FaultDetail.DnsTimeout : FaultDetail.DnsFailed;
}

/** Why a handshake has failed. */
export function handshakeDetail(error: HandshakeError | null | undefined): FaultDetail {
  const code = error?.code ?? "";
  if (code === "EPROTO") return protocolDetail(error?.message ?? "");
  if (/^E[A-Z]+$/.test(code)) return FaultDetail.TlsHandshakeClosed;
  return VERIFICATIONS[code] ?? FaultDetail.TlsUnknownIssuer;
}

/** The library reads the origin's first bytes: bytes outside of a TLS record are clear text. */
function protocolDetail(message: string): FaultDetail {
  return CLEARTEXT.some((word) => message.includes(word)) ? FaultDetail.TlsOnCleartext : FaultDetail.TlsAlert;
}

const CLEARTEXT = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "ENCRYPTED_LENGTH_TOO_LONG"];

/** A root within a chain is as unknown as a missing one. */
const VERIFICATIONS: Readonly<Record<string, FaultDetail>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: FaultDetail.TlsSelfSigned,
  CERT_HAS_EXPIRED: FaultDetail.TlsExpired,
  CERT_NOT_YET_VALID: FaultDetail.TlsExpired,
  ERR_TLS_CERT_ALTNAME_INVALID: FaultDetail.TlsName,
};

/** The protocol of an origin whose first bytes are no response of HTTP/1.1: TLS, HTTP/2, or another. */
function openingDetail(bytes: Uint8Array, from: number): FaultDetail {
  const first = bytes[from]!;
  if ((first === TLS_ALERT || first === TLS_HANDSHAKE) && bytes[from + 1] === TLS_MAJOR)
    return FaultDetail.CleartextOnTls;
  const isFrame = first === 0 && (bytes[from + 3] === SETTINGS || bytes[from + 3] === GOAWAY);
  return isFrame ? FaultDetail.H2OnHttp1 : FaultDetail.NotHttp;
}

/** The protocol of an origin whose first bytes are no frame of HTTP/2: HTTP/1.1, TLS, or another. */
export function h2OpeningDetail(bytes: Uint8Array): FaultDetail {
  if (HTTP1.every((byte, i) => bytes[i] === byte)) return FaultDetail.Http1OnH2;
  const detail = openingDetail(bytes, 0);
  return detail === FaultDetail.H2OnHttp1 ? FaultDetail.H2Protocol : detail;
}

/** Why a head of HTTP/1.1 is malformed. @param detail as the parser says it */
export function headDetail({ bytes, from }: InputBuffer, detail: FaultDetail): FaultDetail {
  return detail === FaultDetail.NotHttp ? openingDetail(bytes, from) : detail;
}

/**
 * How a connection of HTTP/1.1 was lost before a response was whole.
 * @param detail as the parser says it
 * @param hasHead whether the head was there
 */
export function lossDetail(input: InputBuffer, detail: FaultDetail, hasHead: boolean, isReset: boolean): FaultDetail {
  if (hasHead) return isReset ? FaultDetail.ResetInBody : FaultDetail.ClosedInBody;
  if (input.length > 0 && detail === FaultDetail.NotHttp) return openingDetail(input.bytes, input.from);
  if (isReset) return FaultDetail.ResetBeforeHead;
  return input.length > 0 ? FaultDetail.ClosedInHead : FaultDetail.ClosedBeforeHead;
}

/** Which part of a response was late. @param hasHead whether its head was there @param hasBegun whether anything of it was */
export function latenessDetail(hasHead: boolean, hasBegun: boolean): FaultDetail {
  if (hasHead) return FaultDetail.IdleTimeout;
  return hasBegun ? FaultDetail.HeadTimeout : FaultDetail.FirstByteTimeout;
}

/** A connection was not made in time, which is reported. @param isReached whether the origin has accepted it */
export function dialLateness({ pool, requestId }: FailedConnection, isReached: boolean): FaultDetail {
  const detail = isReached ? FaultDetail.TlsHandshakeTimeout : FaultDetail.ConnectTimeout;
  pool.context.onFailed(pool.settings.originKey, "timeout", detail, requestId);
  return detail;
}

/** A word for the log: the code of the system or of the TLS library. */
export function failureCode(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "failed");
}

/** Whether a connection was closed by a failure, and not in order. */
export function hasFailed(reason: unknown): boolean {
  return reason !== undefined && reason !== null;
}

/** Reports a failure after a connection was made. @param reason of the system; undefined if it says none */
export function reportFailure(
  { pool: { context, settings } }: Pick<FailedConnection, "pool">,
  detail: FaultDetail,
  reason: unknown,
  requestId: string,
): void {
  const word = hasFailed(reason) ? failureCode(reason) : detailLabel(detail);
  context.onFailed(settings.originKey, word, detail, requestId);
}

const TLS_ALERT = 0x15;
const TLS_HANDSHAKE = 0x16;
const TLS_MAJOR = 3;
const SETTINGS = 4;
const GOAWAY = 7;
const HTTP1: Uint8Array = Buffer.from("HTTP/");
