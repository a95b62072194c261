/**
 * The one table of refusals: status, body, close, metric label. docs/wire.md#refusals
 * A new refusal is a member here and its row in ROWS.
 */

export const enum Fault {
  None = 0,
  // What a load balancer puts before the first request.
  BadProxyHeader,
  // TLS, before the first request.
  PlainHttpOnTls,
  BadClientHello,
  NoCertificate,
  HandshakeFailed,
  HandshakeTimeout,
  TooManyHandshakes,
  ClientCertificateRefused,
  // The request line.
  BadRequestLine,
  BadMethod,
  BadTarget,
  BadVersion,
  UnsupportedVersion,
  RequestLineTooLong,
  // The field section.
  BareLineBreak,
  BadFieldName,
  SpaceBeforeColon,
  LineFolding,
  BadFieldValue,
  HeaderLineTooLong,
  HeadTooLarge,
  HeadTruncated,
  TooManyFields,
  // Host and authority.
  MissingHost,
  DuplicateHost,
  BadHost,
  AuthorityMismatch,
  // Message framing.
  BadContentLength,
  DuplicateContentLength,
  LengthAndEncoding,
  BadTransferEncoding,
  UnsupportedCoding,
  EncodingInHttp10,
  BadExpectation,
  TooManyOptions,
  // HTTP/2's own points of framing.
  BadPseudoHeader,
  ConnectionField,
  LengthMismatch,
  BadHttp2,
  Http2Flood,
  // The chunked body.
  BadChunkSize,
  ChunkSizeTooLarge,
  ChunkExtensionTooLong,
  BadChunkExtension,
  BadChunkDelimiter,
  BadTrailer,
  ForbiddenTrailer,
  TrailersTooLarge,
  BodyTruncated,
  // Limits and time.
  BodyTooLarge,
  ChunkedDisabled,
  HeaderTimeout,
  BodyTimeout,
  BodyTooSlow,
  BodyEvicted,
  BuffersFull,
  SpoolFailed,
  OutOfDescriptors,
  OutOfSockets,
  OriginQueueFull,
  TooManyConnections,
  // Routing and protection.
  WafBlocked,
  RuleRefused,
  RuleDropped,
  BodyNotInspected,
  PrefixEscape,
  SymlinkEscape,
  AccessDenied,
  IdentityDenied,
  Unauthenticated,
  AuthUnavailable,
  TooManyGuesses,
  BotChallenge,
  NotFound,
  MethodNotAllowed,
  SchemaPending,
  LoopDetected,
  Misdirected,
  Maintenance,
  // The upstream's faults.
  UpstreamUnavailable,
  UpstreamMalformed,
  UpstreamTimeout,
  NameUnresolved,
  NoHealthyTarget,
  ResponseWithheld,
  // Functions: modules of the user's own.
  FunctionFailed,
  FunctionTimeout,
  FunctionGone,
  FunctionBusy,
  FunctionMethod,
  // Our own.
  InternalError,
  Cancelled,
}

/** What a fault is counted and logged as. */
export const enum FaultKind {
  /** By status alone, or as what its feature says. */
  Other = 0,
  /** The bytes of a request: `gateway_framing_rejections_total`, `framing_reject`. */
  Framing,
  /** A TLS handshake that failed: `gateway_tls_handshake_failures_total`, `tls_reject`. */
  Tls,
  /** A limit of size, time, room or number: `gateway_limit_refusals_total`, `limit_reject`. */
  Limit,
}

/** What is done about a fault. docs/wire.md#refusals */
export interface FaultRow {
  /** Metric label and log word. */
  readonly label: string;
  /** Status of the response; 0 where no response can be given. */
  readonly status: number;
  /** The `message` of the JSON body; empty where the body is special or carries a detail. */
  readonly message: string;
  /** Whether the connection is closed after the response. */
  readonly close: boolean;
  /** Which metric and which log event it belongs to. */
  readonly kind: FaultKind;
}

/** The one row of each fault: a member without a row does not compile. */
const ROWS: Readonly<Record<Fault, FaultRow>> = {
  [Fault.None]: row("none", 0, "", false, FaultKind.Other),
  [Fault.BadProxyHeader]: row("bad_proxy_header", 400, "malformed PROXY header", true, FaultKind.Framing),
  [Fault.PlainHttpOnTls]: row("plain_http_on_tls", 400, "this port serves TLS: use https://", true, FaultKind.Tls),
  [Fault.BadClientHello]: row("bad_client_hello", 0, "", true, FaultKind.Tls),
  [Fault.NoCertificate]: row("no_certificate", 0, "", true, FaultKind.Tls),
  [Fault.HandshakeFailed]: row("handshake_failed", 0, "", true, FaultKind.Tls),
  [Fault.HandshakeTimeout]: row("handshake_timeout", 0, "", true, FaultKind.Tls),
  [Fault.TooManyHandshakes]: row("too_many_handshakes", 0, "", true, FaultKind.Tls),
  [Fault.ClientCertificateRefused]: row("client_certificate_refused", 0, "", true, FaultKind.Tls),
  [Fault.BadRequestLine]: row("bad_request_line", 400, "malformed request line", true, FaultKind.Framing),
  [Fault.BadMethod]: row("bad_method", 400, "malformed method", true, FaultKind.Framing),
  [Fault.BadTarget]: row("bad_target", 400, "malformed request target", true, FaultKind.Framing),
  [Fault.BadVersion]: row("bad_version", 400, "malformed HTTP version", true, FaultKind.Framing),
  [Fault.UnsupportedVersion]: row(
    "unsupported_version",
    505,
    "only HTTP/1.0 and HTTP/1.1 are supported here",
    true,
    FaultKind.Framing,
  ),
  [Fault.RequestLineTooLong]: row(
    "request_line_too_long",
    414,
    "request line exceeds 8192 bytes",
    true,
    FaultKind.Framing,
  ),
  [Fault.BareLineBreak]: row("bare_line_break", 400, "bare CR or LF in the head", true, FaultKind.Framing),
  [Fault.BadFieldName]: row("bad_field_name", 400, "malformed field name", true, FaultKind.Framing),
  [Fault.SpaceBeforeColon]: row(
    "space_before_colon",
    400,
    "whitespace before the colon of a field name",
    true,
    FaultKind.Framing,
  ),
  [Fault.LineFolding]: row("line_folding", 400, "folded header line", true, FaultKind.Framing),
  [Fault.BadFieldValue]: row("bad_field_value", 400, "control character in a field value", true, FaultKind.Framing),
  [Fault.HeaderLineTooLong]: row(
    "header_line_too_long",
    431,
    "a header line exceeds 8192 bytes",
    true,
    FaultKind.Framing,
  ),
  [Fault.HeadTooLarge]: row("head_too_large", 431, "the header section is too large", true, FaultKind.Framing),
  [Fault.HeadTruncated]: row("head_truncated", 400, "the connection ended within the head", true, FaultKind.Framing),
  [Fault.TooManyFields]: row("too_many_fields", 431, "more than 100 header fields", true, FaultKind.Framing),
  [Fault.MissingHost]: row("missing_host", 400, "Host is missing", true, FaultKind.Framing),
  [Fault.DuplicateHost]: row("duplicate_host", 400, "more than one Host", true, FaultKind.Framing),
  [Fault.BadHost]: row("bad_host", 400, "malformed Host", true, FaultKind.Framing),
  [Fault.AuthorityMismatch]: row(
    "authority_mismatch",
    400,
    "request target and Host disagree",
    true,
    FaultKind.Framing,
  ),
  [Fault.BadContentLength]: row("bad_content_length", 400, "malformed Content-Length", true, FaultKind.Framing),
  [Fault.DuplicateContentLength]: row(
    "duplicate_content_length",
    400,
    "more than one Content-Length",
    true,
    FaultKind.Framing,
  ),
  [Fault.LengthAndEncoding]: row(
    "length_and_encoding",
    400,
    "both Content-Length and Transfer-Encoding",
    true,
    FaultKind.Framing,
  ),
  [Fault.BadTransferEncoding]: row(
    "bad_transfer_encoding",
    400,
    "malformed Transfer-Encoding",
    true,
    FaultKind.Framing,
  ),
  [Fault.UnsupportedCoding]: row("unsupported_coding", 501, "unsupported transfer coding", true, FaultKind.Framing),
  [Fault.EncodingInHttp10]: row("encoding_in_http10", 400, "Transfer-Encoding in HTTP/1.0", true, FaultKind.Framing),
  [Fault.BadExpectation]: row(
    "bad_expectation",
    417,
    "only 100-continue is a supported expectation",
    true,
    FaultKind.Framing,
  ),
  [Fault.TooManyOptions]: row("too_many_options", 400, "more than 100 options in Connection", true, FaultKind.Framing),
  [Fault.BadPseudoHeader]: row(
    "bad_pseudo_header",
    400,
    "pseudo-headers are missing, repeated or misplaced",
    true,
    FaultKind.Framing,
  ),
  [Fault.ConnectionField]: row("connection_field", 400, "a connection-specific field", true, FaultKind.Framing),
  [Fault.LengthMismatch]: row(
    "length_mismatch",
    400,
    "the body is not as long as Content-Length says",
    true,
    FaultKind.Framing,
  ),
  [Fault.BadHttp2]: row("bad_http2", 0, "", true, FaultKind.Framing),
  [Fault.Http2Flood]: row("http2_flood", 0, "", true, FaultKind.Framing),
  [Fault.BadChunkSize]: row("bad_chunk_size", 400, "malformed chunk size", true, FaultKind.Framing),
  [Fault.ChunkSizeTooLarge]: row("chunk_size_too_large", 400, "chunk size above 64 bits", true, FaultKind.Framing),
  [Fault.ChunkExtensionTooLong]: row(
    "chunk_extension_too_long",
    400,
    "chunk extension exceeds 256 bytes",
    true,
    FaultKind.Framing,
  ),
  [Fault.BadChunkExtension]: row(
    "bad_chunk_extension",
    400,
    "control character in a chunk extension",
    true,
    FaultKind.Framing,
  ),
  [Fault.BadChunkDelimiter]: row("bad_chunk_delimiter", 400, "malformed chunk delimiter", true, FaultKind.Framing),
  [Fault.BadTrailer]: row("bad_trailer", 400, "malformed trailer field", true, FaultKind.Framing),
  [Fault.ForbiddenTrailer]: row("forbidden_trailer", 400, "forbidden trailer field", true, FaultKind.Framing),
  [Fault.TrailersTooLarge]: row("trailers_too_large", 431, "trailers exceed 4096 bytes", true, FaultKind.Framing),
  [Fault.BodyTruncated]: row("body_truncated", 400, "the body ended too early", true, FaultKind.Framing),
  [Fault.BodyTooLarge]: row("body_too_large", 413, "", true, FaultKind.Limit),
  [Fault.ChunkedDisabled]: row("chunked_disabled", 501, "", true, FaultKind.Framing),
  [Fault.HeaderTimeout]: row("header_timeout", 408, "the request head took too long", true, FaultKind.Limit),
  [Fault.BodyTimeout]: row("body_timeout", 408, "the request body took too long", true, FaultKind.Limit),
  [Fault.BodyTooSlow]: row("body_too_slow", 408, "the request body arrives too slowly", true, FaultKind.Limit),
  [Fault.BodyEvicted]: row(
    "body_evicted",
    408,
    "the request body arrived too slowly for the buffer space that is left",
    true,
    FaultKind.Limit,
  ),
  [Fault.BuffersFull]: row("buffers_full", 503, "too many buffered bodies", true, FaultKind.Limit),
  [Fault.SpoolFailed]: row(
    "spool_failed",
    503,
    "the request body cannot be stored at the moment",
    true,
    FaultKind.Limit,
  ),
  [Fault.OutOfDescriptors]: row(
    "out_of_descriptors",
    503,
    "the gateway has no descriptors left at the moment",
    false,
    FaultKind.Limit,
  ),
  [Fault.OutOfSockets]: row(
    "out_of_sockets",
    503,
    "the gateway has no ports or network memory left at the moment",
    false,
    FaultKind.Limit,
  ),
  [Fault.OriginQueueFull]: row(
    "origin_queue_full",
    503,
    "too many requests wait for this upstream",
    false,
    FaultKind.Limit,
  ),
  [Fault.TooManyConnections]: row(
    "too_many_connections",
    503,
    "too many connections from this address",
    true,
    FaultKind.Limit,
  ),
  [Fault.WafBlocked]: row("waf_blocked", 403, "", true, FaultKind.Other),
  [Fault.RuleRefused]: row("rule_refused", 403, "", true, FaultKind.Other),
  [Fault.RuleDropped]: row("rule_dropped", 0, "", true, FaultKind.Other),
  [Fault.BodyNotInspected]: row(
    "body_not_inspected",
    413,
    "the request body is larger than what is inspected here",
    true,
    FaultKind.Other,
  ),
  [Fault.PrefixEscape]: row("prefix_escape", 403, "", true, FaultKind.Other),
  [Fault.SymlinkEscape]: row("symlink_escape", 403, "", true, FaultKind.Other),
  [Fault.AccessDenied]: row("access_denied", 403, "not allowed from this address", false, FaultKind.Other),
  [Fault.IdentityDenied]: row("identity_denied", 403, "not allowed for this identity", false, FaultKind.Other),
  [Fault.Unauthenticated]: row("unauthenticated", 401, "", false, FaultKind.Other),
  [Fault.AuthUnavailable]: row(
    "auth_unavailable",
    503,
    "credentials cannot be checked at the moment",
    false,
    FaultKind.Other,
  ),
  [Fault.TooManyGuesses]: row("too_many_guesses", 429, "", false, FaultKind.Other),
  [Fault.BotChallenge]: row(
    "bot_challenge",
    403,
    "this site asks browsers for a short calculation first; programs need the consent of its operator",
    false,
    FaultKind.Other,
  ),
  [Fault.NotFound]: row("not_found", 404, "", false, FaultKind.Other),
  [Fault.MethodNotAllowed]: row("method_not_allowed", 405, "", false, FaultKind.Other),
  [Fault.SchemaPending]: row(
    "schema_pending",
    503,
    "the methods of the gRPC upstream are not known yet",
    false,
    FaultKind.Other,
  ),
  [Fault.Misdirected]: row("misdirected", 421, "this name is served on connections of its own", false, FaultKind.Other),
  [Fault.LoopDetected]: row(
    "loop_detected",
    508,
    "the request came through this gateway too often",
    false,
    FaultKind.Other,
  ),
  [Fault.Maintenance]: row("maintenance", 503, "", false, FaultKind.Other),
  [Fault.UpstreamUnavailable]: row("upstream_unavailable", 502, "upstream unavailable", false, FaultKind.Other),
  [Fault.UpstreamMalformed]: row("upstream_malformed", 502, "upstream unavailable", false, FaultKind.Other),
  [Fault.UpstreamTimeout]: row("upstream_timeout", 504, "upstream timed out", false, FaultKind.Other),
  [Fault.NameUnresolved]: row("name_unresolved", 502, "upstream unavailable", false, FaultKind.Other),
  [Fault.NoHealthyTarget]: row("no_healthy_target", 503, "no healthy upstream", false, FaultKind.Other),
  [Fault.ResponseWithheld]: row(
    "response_withheld",
    502,
    "the response of the upstream was withheld",
    false,
    FaultKind.Other,
  ),
  [Fault.FunctionFailed]: row("function_failed", 500, "the function failed", false, FaultKind.Other),
  [Fault.FunctionTimeout]: row("function_timeout", 504, "the function took too long", false, FaultKind.Other),
  [Fault.FunctionGone]: row("function_gone", 502, "the function ended unexpectedly", false, FaultKind.Other),
  [Fault.FunctionBusy]: row("function_busy", 503, "too many requests wait for the function", false, FaultKind.Limit),
  [Fault.FunctionMethod]: row("function_method", 501, "functions do not take this method", false, FaultKind.Other),
  [Fault.InternalError]: row("internal_error", 500, "internal error", true, FaultKind.Other),
  [Fault.Cancelled]: row("cancelled", 0, "", true, FaultKind.Other),
};

/** The rows by number. */
export const FAULTS: readonly FaultRow[] = Object.values(ROWS);

/** The row of a fault. */
export function faultRow(fault: Fault): FaultRow {
  return FAULTS[fault]!;
}

/**
 * Whether the failure of an attempt says something of the origin. It does not if the gateway had no room or made the mistake,
 * if its name servers did not answer, or if the client was late. docs/operations.md#failing-targets
 */
export function blamesOrigin(fault: Fault): boolean {
  switch (fault) {
    case Fault.OriginQueueFull:
    case Fault.InternalError:
    case Fault.OutOfDescriptors:
    case Fault.OutOfSockets:
    case Fault.BodyTimeout:
    case Fault.NameUnresolved:
      return false;
    default:
      return true;
  }
}

function row(label: string, status: number, message: string, close: boolean, kind: FaultKind): FaultRow {
  return { label, status, message, close, kind };
}
