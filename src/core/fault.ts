/** What may be wrong with a request, a connection or an attempt: a new refusal is a member here and its row in fault-rows.ts. */

export const enum Fault {
  None = 0,
  // The load balancer's bytes before the first request.
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
  Banned,
  IdentityDenied,
  Unauthenticated,
  AuthUnavailable,
  TooManyGuesses,
  ProxyAuthRequired,
  DestinationDenied,
  TooManyTunnels,
  BotChallenge,
  Impostor,
  AgentRefused,
  PaymentRequired,
  NotFound,
  MethodNotAllowed,
  SchemaPending,
  LoopDetected,
  Misdirected,
  Maintenance,
  ConcurrencyLimit,
  WaitingRoom,
  Overloaded,
  // The upstream's faults.
  UpstreamUnavailable,
  UpstreamMalformed,
  UpstreamTimeout,
  CallOverdue,
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

/** A fault's name in counters and logs. */
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

/**
 * Whether the failure of an attempt says something of the origin. It does not if the gateway had no room or made the mistake,
 * if its name servers did not answer, or if the client was late or gave its call too little time. docs/operations.md#failing-targets
 */
export function blamesOrigin(fault: Fault): boolean {
  switch (fault) {
    case Fault.OriginQueueFull:
    case Fault.InternalError:
    case Fault.OutOfDescriptors:
    case Fault.OutOfSockets:
    case Fault.HeadTooLarge:
    case Fault.BodyTimeout:
    case Fault.CallOverdue:
    case Fault.NameUnresolved:
      return false;
    default:
      return true;
  }
}
