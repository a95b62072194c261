/**
 * The one table of refusals: status, body, close, metric label. docs/wire.md#refusals
 * A new refusal is one member here and one row in FAULTS.
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
  BodyNotInspected,
  PrefixEscape,
  SymlinkEscape,
  AccessDenied,
  IdentityDenied,
  NotFound,
  MethodNotAllowed,
  LoopDetected,
  // The upstream's faults.
  UpstreamUnavailable,
  UpstreamMalformed,
  UpstreamTimeout,
  NoHealthyTarget,
  // Our own.
  InternalError,
  Cancelled,
}

/** What is done about a fault. docs/wire.md#refusals */
export interface FaultRow {
  /** Metric label and log word. */
  readonly label: string;
  /** Status of the answer; 0 where no answer can be given. */
  readonly status: number;
  /** The `message` of the JSON body; empty where the body is special or carries a detail. */
  readonly message: string;
  /** Whether the connection is closed after the answer. */
  readonly close: boolean;
  /** Whether it counts as a framing refusal (metric gateway_framing_rejections_total, log `framing_reject`). */
  readonly framing: boolean;
}

/** One row a member of Fault, in the same order. */
export const FAULTS: readonly FaultRow[] = [
  row("none", 0, "", false, false),
  row("bad_proxy_header", 400, "malformed PROXY header", true, true),
  row("plain_http_on_tls", 400, "this port serves TLS: use https://", true, false),
  row("bad_client_hello", 0, "", true, false),
  row("no_certificate", 0, "", true, false),
  row("handshake_failed", 0, "", true, false),
  row("handshake_timeout", 0, "", true, false),
  row("too_many_handshakes", 0, "", true, false),
  row("client_certificate_refused", 0, "", true, false),
  row("bad_request_line", 400, "malformed request line", true, true),
  row("bad_method", 400, "malformed method", true, true),
  row("bad_target", 400, "malformed request target", true, true),
  row("bad_version", 400, "malformed HTTP version", true, true),
  row("unsupported_version", 505, "only HTTP/1.0 and HTTP/1.1 are supported here", true, true),
  row("request_line_too_long", 414, "request line exceeds 8192 bytes", true, true),
  row("bare_line_break", 400, "bare CR or LF in the head", true, true),
  row("bad_field_name", 400, "malformed field name", true, true),
  row("space_before_colon", 400, "whitespace before the colon of a field name", true, true),
  row("line_folding", 400, "folded header line", true, true),
  row("bad_field_value", 400, "control character in a field value", true, true),
  row("header_line_too_long", 431, "a header line exceeds 8192 bytes", true, true),
  row("head_too_large", 431, "the header section is too large", true, true),
  row("head_truncated", 400, "the connection ended within the head", true, true),
  row("too_many_fields", 431, "more than 100 header fields", true, true),
  row("missing_host", 400, "Host is missing", true, true),
  row("duplicate_host", 400, "more than one Host", true, true),
  row("bad_host", 400, "malformed Host", true, true),
  row("authority_mismatch", 400, "request target and Host disagree", true, true),
  row("bad_content_length", 400, "malformed Content-Length", true, true),
  row("duplicate_content_length", 400, "more than one Content-Length", true, true),
  row("length_and_encoding", 400, "both Content-Length and Transfer-Encoding", true, true),
  row("bad_transfer_encoding", 400, "malformed Transfer-Encoding", true, true),
  row("unsupported_coding", 501, "unsupported transfer coding", true, true),
  row("encoding_in_http10", 400, "Transfer-Encoding in HTTP/1.0", true, true),
  row("bad_expectation", 417, "only 100-continue is a supported expectation", true, true),
  row("too_many_options", 400, "more than 100 options in Connection", true, true),
  row("bad_pseudo_header", 400, "pseudo-headers are missing, repeated or misplaced", true, true),
  row("connection_field", 400, "a connection-specific field", true, true),
  row("length_mismatch", 400, "the body is not as long as Content-Length says", true, true),
  row("bad_http2", 0, "", true, true),
  row("http2_flood", 0, "", true, true),
  row("bad_chunk_size", 400, "malformed chunk size", true, true),
  row("chunk_size_too_large", 400, "chunk size above 64 bits", true, true),
  row("chunk_extension_too_long", 400, "chunk extension exceeds 256 bytes", true, true),
  row("bad_chunk_extension", 400, "control character in a chunk extension", true, true),
  row("bad_chunk_delimiter", 400, "malformed chunk delimiter", true, true),
  row("bad_trailer", 400, "malformed trailer field", true, true),
  row("forbidden_trailer", 400, "forbidden trailer field", true, true),
  row("trailers_too_large", 431, "trailers exceed 4096 bytes", true, true),
  row("body_truncated", 400, "the body ended too early", true, true),
  row("body_too_large", 413, "", true, false),
  row("chunked_disabled", 501, "", true, true),
  row("header_timeout", 408, "the request head took too long", true, false),
  row("body_timeout", 408, "the request body took too long", true, false),
  row("body_too_slow", 408, "the request body arrives too slowly", true, false),
  row("body_evicted", 408, "the request body arrived too slowly for the buffer space that is left", true, false),
  row("buffers_full", 503, "too many buffered bodies", true, false),
  row("spool_failed", 503, "the request body cannot be stored at the moment", true, false),
  row("out_of_descriptors", 503, "the gateway has no descriptors left at the moment", false, false),
  row("out_of_sockets", 503, "the gateway has no ports or network memory left at the moment", false, false),
  row("origin_queue_full", 503, "too many requests wait for this upstream", false, false),
  row("too_many_connections", 503, "too many connections from this address", true, false),
  row("waf_blocked", 403, "", true, false),
  row("body_not_inspected", 413, "the request body is larger than what is inspected here", true, false),
  row("prefix_escape", 403, "", true, false),
  row("symlink_escape", 403, "", true, false),
  row("access_denied", 403, "not allowed from this address", false, false),
  row("identity_denied", 403, "not allowed for this identity", false, false),
  row("not_found", 404, "", false, false),
  row("method_not_allowed", 405, "", false, false),
  row("loop_detected", 508, "the request came through this gateway too often", false, false),
  row("upstream_unavailable", 502, "upstream unavailable", false, false),
  row("upstream_malformed", 502, "upstream unavailable", false, false),
  row("upstream_timeout", 504, "upstream timed out", false, false),
  row("no_healthy_target", 503, "no healthy upstream", false, false),
  row("internal_error", 500, "internal error", true, false),
  row("cancelled", 0, "", true, false),
];

/** Whether it is a reason why a TLS handshake failed. */
export function isTlsFault(fault: Fault): boolean {
  return fault >= Fault.PlainHttpOnTls && fault <= Fault.ClientCertificateRefused;
}

/** Whether a limit or a time-out for what a client sends ended the request, and not what it says. */
export function isLimitFault(fault: Fault): boolean {
  return fault >= Fault.BodyTooLarge && fault <= Fault.TooManyConnections && fault !== Fault.ChunkedDisabled;
}

/** The row of a fault. */
export function faultRow(fault: Fault): FaultRow {
  return FAULTS[fault]!;
}

function row(label: string, status: number, message: string, close: boolean, framing: boolean): FaultRow {
  return { label, status, message, close, framing };
}
