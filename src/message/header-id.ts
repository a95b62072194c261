import { latin1 } from "../core/ascii.ts";

/** Known header fields as small integers; 0 is every other field. */
export const enum HeaderId {
  Other = 0,
  Host,
  Connection,
  ContentLength,
  TransferEncoding,
  ContentType,
  ContentEncoding,
  ContentRange,
  Expect,
  Upgrade,
  KeepAlive,
  ProxyConnection,
  ProxyAuthenticate,
  ProxyAuthorization,
  Te,
  Trailer,
  Trailers,
  XForwardedFor,
  XForwardedProto,
  XForwardedHost,
  XRealIp,
  XRequestId,
  Via,
  Date,
  Server,
  Accept,
  AcceptEncoding,
  UserAgent,
  Cookie,
  SetCookie,
  SetCookie2,
  Authorization,
  CacheControl,
  Pragma,
  Age,
  Expires,
  Vary,
  ETag,
  LastModified,
  IfMatch,
  IfNoneMatch,
  IfModifiedSince,
  IfUnmodifiedSince,
  IfRange,
  Range,
  Origin,
  Referer,
  Location,
  XAccelBuffering,
  XForwardedClientCert,
  Traceparent,
  Http2Settings,
  AltSvc,
  XContentTypeOptions,
  XFrameOptions,
  ReferrerPolicy,
  StrictTransportSecurity,
  AccessControlRequestMethod,
  AccessControlAllowOrigin,
  AccessControlAllowCredentials,
  AccessControlAllowMethods,
  AccessControlAllowHeaders,
  AccessControlExposeHeaders,
  AccessControlMaxAge,
  XCache,
  CacheStatus,
  ContentLocation,
  /** A field that this message's own Connection field names: hop-by-hop, never forwarded (RFC 9110 §7.6.1). */
  NamedByConnection,
}

const NAMES: readonly string[] = [
  "",
  "Host",
  "Connection",
  "Content-Length",
  "Transfer-Encoding",
  "Content-Type",
  "Content-Encoding",
  "Content-Range",
  "Expect",
  "Upgrade",
  "Keep-Alive",
  "Proxy-Connection",
  "Proxy-Authenticate",
  "Proxy-Authorization",
  "TE",
  "Trailer",
  "Trailers",
  "X-Forwarded-For",
  "X-Forwarded-Proto",
  "X-Forwarded-Host",
  "X-Real-IP",
  "X-Request-Id",
  "Via",
  "Date",
  "Server",
  "Accept",
  "Accept-Encoding",
  "User-Agent",
  "Cookie",
  "Set-Cookie",
  "Set-Cookie2",
  "Authorization",
  "Cache-Control",
  "Pragma",
  "Age",
  "Expires",
  "Vary",
  "ETag",
  "Last-Modified",
  "If-Match",
  "If-None-Match",
  "If-Modified-Since",
  "If-Unmodified-Since",
  "If-Range",
  "Range",
  "Origin",
  "Referer",
  "Location",
  "X-Accel-Buffering",
  "X-Forwarded-Client-Cert",
  "Traceparent",
  "HTTP2-Settings",
  "Alt-Svc",
  "X-Content-Type-Options",
  "X-Frame-Options",
  "Referrer-Policy",
  "Strict-Transport-Security",
  "Access-Control-Request-Method",
  "Access-Control-Allow-Origin",
  "Access-Control-Allow-Credentials",
  "Access-Control-Allow-Methods",
  "Access-Control-Allow-Headers",
  "Access-Control-Expose-Headers",
  "Access-Control-Max-Age",
  "X-Cache",
  "Cache-Status",
  "Content-Location",
];

/** Number of header identities, for tables with one entry each. */
export const HEADER_ID_COUNT = HeaderId.NamedByConnection + 1;

/** Names from this length on are none of ours. */
const LOWER_NAMES: readonly Uint8Array[] = NAMES.map((name) => latin1(name.toLowerCase()));
/** Bits of a slot number. */
const SLOT_BITS = 12;
const MULTIPLIERS_TRIED = 1 << 16;
const { multiplier: MULTIPLIER, slots: SLOTS } = slotTable();

/**
 * The identity of the field name in `bytes[from, to)`, without regard to case. Its length and three bytes choose the one
 * known name that it can be: 12 ns for a known name and 3 for most others, against 20 and more for comparing with
 * every name of that length.
 * @param bytes hold a token there: its letters are folded by one bit, which would mix up other bytes
 */
export function headerIdOf(bytes: Uint8Array, from: number, to: number): HeaderId {
  const length = to - from;
  const id = SLOTS[slotOf(bytes, from, to, MULTIPLIER)]!;
  if (id === HeaderId.Other) return HeaderId.Other;
  const name = LOWER_NAMES[id]!;
  if (name.length !== length) return HeaderId.Other;
  for (let i = 0; i < length; i++) {
    if ((bytes[from + i]! | 0x20) !== name[i]) return HeaderId.Other;
  }
  return id;
}

/** First, last and fourth byte from the end tell the known names of one length apart. */
function slotOf(bytes: Uint8Array, from: number, to: number, multiplier: number): number {
  const length = to - from;
  const inner = bytes[length < 4 ? from : to - 4]! | 0x20;
  const mixed = (length << 18) ^ ((bytes[from]! | 0x20) << 12) ^ (inner << 6) ^ (bytes[to - 1]! | 0x20);
  return Math.imul(mixed, multiplier) >>> (32 - SLOT_BITS);
}

/** Looks for a multiplier that gives every known name a slot of its own; there are many. */
function slotTable(): { readonly multiplier: number; readonly slots: Uint8Array } {
  for (let multiplier = 0x9e3779b1; multiplier < 0x9e3779b1 + MULTIPLIERS_TRIED; multiplier += 2) {
    const slots = new Uint8Array(1 << SLOT_BITS);
    const isFree = LOWER_NAMES.every((name, id) => {
      if (id === HeaderId.Other) return true;
      const slot = slotOf(name, 0, name.length, multiplier);
      if (slots[slot] !== 0) return false;
      slots[slot] = id;
      return true;
    });
    if (isFree) return { multiplier, slots };
  }
  throw new Error("two known field names cannot be told apart by slotOf");
}

/** The identity of a field name given as text. */
export function headerIdFromName(name: string): HeaderId {
  return headerIdOf(latin1(name), 0, name.length);
}

/** The usual spelling of a known field's name. */
export function headerName(id: HeaderId): string {
  return NAMES[id]!;
}
