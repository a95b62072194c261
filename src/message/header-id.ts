import { LOWER, latin1 } from "../core/ascii.ts";

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
];

/** Number of header identities, for tables with one entry each. */
export const HEADER_ID_COUNT = HeaderId.NamedByConnection + 1;

/** Names from this length on are none of ours. */
const MAX_NAME_LENGTH = 33;
const LOWER_NAMES: readonly Uint8Array[] = NAMES.map((name) => latin1(name.toLowerCase()));
/** Known ids by the length of their names: few share one, so the first byte decides almost always. */
const IDS_BY_LENGTH: readonly Uint8Array[] = Array.from({ length: MAX_NAME_LENGTH }, (_, length) =>
  Uint8Array.from(LOWER_NAMES.flatMap((name, id) => (id > 0 && name.length === length ? [id] : []))),
);

/** The identity of the field name in `bytes[from, to)`, without regard to case. */
export function headerIdOf(bytes: Uint8Array, from: number, to: number): HeaderId {
  const length = to - from;
  if (length >= MAX_NAME_LENGTH) return HeaderId.Other;
  const candidates = IDS_BY_LENGTH[length]!;
  for (let c = 0; c < candidates.length; c++) {
    const id = candidates[c]!;
    const name = LOWER_NAMES[id]!;
    let i = 0;
    while (i < length && LOWER[bytes[from + i]!] === name[i]) i++;
    if (i === length) return id;
  }
  return HeaderId.Other;
}

/** The identity of a field name given as text. */
export function headerIdFromName(name: string): HeaderId {
  return headerIdOf(latin1(name), 0, name.length);
}

/** The usual spelling of a known field's name. */
export function headerName(id: HeaderId): string {
  return NAMES[id]!;
}
