import { Fault, FaultKind } from "./fault.ts";

/** What people learn of a fault: `edge help NAME` and docs/errors.md are made of it. */
interface FaultAdvice {
  /** The cause. */
  readonly cause: string;
  /** What to do about it. */
  readonly cure: string;
  /** The page of docs that explains it, with a heading. */
  readonly page: string;
}

/** The gateway's reaction to a fault, and its texts for people. docs/wire.md#refusals */
export interface FaultRow extends FaultAdvice {
  /** Metric label and log word. */
  readonly label: string;
  /** Status of the response; 0 if no response can be given. */
  readonly status: number;
  /** The `message` of the JSON body; empty if the body is special or carries a detail. */
  readonly message: string;
  /** Whether the connection is closed after the response. */
  readonly close: boolean;
  /** Which metric and which log event it belongs to. */
  readonly kind: FaultKind;
}

/** The one row of each fault: a member without a row, or a row without its advice, does not compile. */
const ROWS: Readonly<Record<Fault, FaultRow>> = {
  [Fault.None]: refusal("none", 0, "", { cause: "", cure: "", page: "" }),
  [Fault.BadProxyHeader]: framing("bad_proxy_header", 400, "malformed PROXY header", {
    cause:
      "A connection from a load balancer in `server.proxy_protocol.trusted` did not begin with a PROXY header, or with a malformed one.",
    cure: "Configure your load balancer to send PROXY protocol version 1 or 2, also in health checks, or remove its address from `trusted`.",
    page: "wire.md#proxies-in-front",
  }),
  [Fault.PlainHttpOnTls]: tls("plain_http_on_tls", 400, "this port serves TLS: use https://", {
    cause: "A client spoke HTTP in clear text to a port that serves TLS.",
    cure: "Use `https://` in the URL of your client.",
    page: "tls.md#handshakes",
  }),
  [Fault.BadClientHello]: tls("bad_client_hello", 0, "", {
    cause: "The first bytes on a TLS port were no ClientHello.",
    cure: "Ignore single ones: scanners do that. If it is your client, it does not speak TLS: use an `https://` URL.",
    page: "tls.md#handshakes",
  }),
  [Fault.NoCertificate]: tls("no_certificate", 0, "", {
    cause: "A client began a TLS connection while no certificate was there for it.",
    cure: "Add the name to `server.tls.certificates` or to `server.acme`, or use the right name in your client.",
    page: "tls.md#choosing-a-certificate",
  }),
  [Fault.HandshakeFailed]: tls("handshake_failed", 0, "", {
    cause:
      "Client and gateway found no version of TLS or no suite in common, or the client did not trust the certificate.",
    cure: "Find the client. If it is old, update it. If it is yours, give it the CA of your certificate.",
    page: "tls.md#versions-and-suites",
  }),
  [Fault.HandshakeTimeout]: tls("handshake_timeout", 0, "", {
    cause: "A client did not end its TLS handshake in time.",
    cure: "Ignore single ones. If you see many from one network, it loses packets.",
    page: "tls.md#handshakes",
  }),
  [Fault.TooManyHandshakes]: tls("too_many_handshakes", 0, "", {
    cause: "A listener of a worker had 1024 handshakes under way, and the oldest was ended for a new one.",
    cure: "If they come from one address, it is an attack: ban it. If they come from all, give your gateway more workers or CPU.",
    page: "tls.md#handshakes",
  }),
  [Fault.ClientCertificateRefused]: tls("client_certificate_refused", 0, "", {
    cause: "A client showed no certificate, or a certificate that `client_ca_file` has not signed.",
    cure: "Give the client a certificate of that CA.",
    page: "tls.md#client-certificates",
  }),
  [Fault.BadRequestLine]: framing("bad_request_line", 400, "malformed request line", {
    cause: "The first line of a request is not `METHOD SP target SP HTTP/1.x`.",
    cure: "Fix your client. If it speaks TLS, use the TLS port: TLS on a port without TLS looks like this as well.",
    page: "wire.md#request-line",
  }),
  [Fault.BadMethod]: framing("bad_method", 400, "malformed method", {
    cause: "The method is no token.",
    cure: "Fix your client.",
    page: "wire.md#request-line",
  }),
  [Fault.BadTarget]: framing("bad_target", 400, "malformed request target", {
    cause: "The path or query holds a space, a control byte, or a byte above 127.",
    cure: "Percent-encode it in your client.",
    page: "wire.md#request-line",
  }),
  [Fault.BadVersion]: framing("bad_version", 400, "malformed HTTP version", {
    cause: "The version is not written `HTTP/1.0` or `HTTP/1.1`.",
    cure: "Fix your client.",
    page: "wire.md#request-line",
  }),
  [Fault.UnsupportedVersion]: framing("unsupported_version", 505, "only HTTP/1.0 and HTTP/1.1 are supported here", {
    cause: "A request line names a version other than HTTP/1.0 and HTTP/1.1.",
    cure: "Ignore scanners. If your client speaks HTTP/2 in clear text, it must begin with the preface of HTTP/2.",
    page: "wire.md#request-line",
  }),
  [Fault.RequestLineTooLong]: framing("request_line_too_long", 414, "request line exceeds 8192 bytes", {
    cause: "A request line is longer than 8192 bytes.",
    cure: "Send a body in place of a long query.",
    page: "wire.md#request-line",
  }),
  [Fault.BareLineBreak]: framing("bare_line_break", 400, "bare CR or LF in the head", {
    cause: "A head holds CR or LF alone, which readers understand differently.",
    cure: "If it is your client, fix it. From elsewhere it is an attempt at request smuggling, and you do not need to do anything.",
    page: "wire.md#request-line",
  }),
  [Fault.BadFieldName]: framing("bad_field_name", 400, "malformed field name", {
    cause: "The name of a header field is empty or no token.",
    cure: "Fix your client.",
    page: "wire.md#header-fields",
  }),
  [Fault.SpaceBeforeColon]: framing("space_before_colon", 400, "whitespace before the colon of a field name", {
    cause: "White space is before the colon of a header field.",
    cure: "If it is your client, fix it. From elsewhere it is an attempt at request smuggling, and you do not need to do anything.",
    page: "wire.md#header-fields",
  }),
  [Fault.LineFolding]: framing("line_folding", 400, "folded header line", {
    cause: "A header field goes over two lines.",
    cure: "Send it on one line in your client.",
    page: "wire.md#header-fields",
  }),
  [Fault.BadFieldValue]: framing("bad_field_value", 400, "control character in a field value", {
    cause: "A header field holds a control byte.",
    cure: "Fix your client, or the proxy that sets the field.",
    page: "wire.md#header-fields",
  }),
  [Fault.HeaderLineTooLong]: framing("header_line_too_long", 431, "a header line exceeds 8192 bytes", {
    cause: "A header line is longer than 8192 bytes; often it is `Cookie`.",
    cure: "Set fewer or smaller cookies on your site.",
    page: "wire.md#header-fields",
  }),
  [Fault.HeadTooLarge]: framing("head_too_large", 431, "the header section is too large", {
    cause: "All header lines together are longer than `server.max_header_bytes`.",
    cure: "Raise the setting if your regular clients exceed it, or set fewer cookies on your site.",
    page: "wire.md#header-fields",
  }),
  [Fault.HeadTruncated]: framing("head_truncated", 400, "the connection ended within the head", {
    cause: "The connection ended within a head.",
    cure: "You do not need to do anything: the client has gone.",
    page: "wire.md#header-fields",
  }),
  [Fault.TooManyFields]: framing("too_many_fields", 431, "more than 100 header fields", {
    cause: "A request has more fields than `server.max_header_fields`.",
    cure: "Raise the setting if your regular clients exceed it.",
    page: "wire.md#header-fields",
  }),
  [Fault.MissingHost]: framing("missing_host", 400, "Host is missing", {
    cause: "A request of HTTP/1.1 has no `Host`.",
    cure: "Fix your client or your health check.",
    page: "wire.md#host",
  }),
  [Fault.DuplicateHost]: framing("duplicate_host", 400, "more than one Host", {
    cause: "A request has two `Host` fields.",
    cure: "Fix your client.",
    page: "wire.md#host",
  }),
  [Fault.BadHost]: framing("bad_host", 400, "malformed Host", {
    cause: "`Host` is no name or address with a port, or could be read in two ways.",
    cure: "Fix your client.",
    page: "wire.md#host",
  }),
  [Fault.AuthorityMismatch]: framing("authority_mismatch", 400, "request target and Host disagree", {
    cause: "The target of the request names another host than `Host`.",
    cure: "Fix your client: both must name the same host and port.",
    page: "wire.md#host",
  }),
  [Fault.BadContentLength]: framing("bad_content_length", 400, "malformed Content-Length", {
    cause: "`Content-Length` is no number.",
    cure: "Fix your client.",
    page: "wire.md#content-length-and-transfer-encoding",
  }),
  [Fault.DuplicateContentLength]: framing("duplicate_content_length", 400, "more than one Content-Length", {
    cause: "A request has two `Content-Length` fields.",
    cure: "Fix your client, or the proxy in front that adds one.",
    page: "wire.md#content-length-and-transfer-encoding",
  }),
  [Fault.LengthAndEncoding]: framing("length_and_encoding", 400, "both Content-Length and Transfer-Encoding", {
    cause: "A request has both `Content-Length` and `Transfer-Encoding`, by which requests are smuggled.",
    cure: "Fix your client, or the proxy in front that adds one of them.",
    page: "wire.md#content-length-and-transfer-encoding",
  }),
  [Fault.BadTransferEncoding]: framing("bad_transfer_encoding", 400, "malformed Transfer-Encoding", {
    cause: "`Transfer-Encoding` is malformed, or sent twice.",
    cure: "If it is your client, fix it. From elsewhere it is an attempt at request smuggling, and you do not need to do anything.",
    page: "wire.md#content-length-and-transfer-encoding",
  }),
  [Fault.UnsupportedCoding]: framing("unsupported_coding", 501, "unsupported transfer coding", {
    cause: "`Transfer-Encoding` names a coding other than chunked.",
    cure: "Send `chunked` alone, and name codings of the content in `Content-Encoding`.",
    page: "wire.md#content-length-and-transfer-encoding",
  }),
  [Fault.EncodingInHttp10]: framing("encoding_in_http10", 400, "Transfer-Encoding in HTTP/1.0", {
    cause: "A request of HTTP/1.0 has `Transfer-Encoding`, which that version does not have.",
    cure: "Use HTTP/1.1 in your client, or send `Content-Length`.",
    page: "wire.md#content-length-and-transfer-encoding",
  }),
  [Fault.BadExpectation]: framing("bad_expectation", 417, "only 100-continue is a supported expectation", {
    cause: "`Expect` asks for something other than 100-continue.",
    cure: "Fix your client.",
    page: "wire.md#expect",
  }),
  [Fault.TooManyOptions]: framing("too_many_options", 400, "more than 100 options in Connection", {
    cause: "`Connection` names more than 100 options.",
    cure: "You do not need to do anything: no regular client does that.",
    page: "wire.md#connection-and-upgrades",
  }),
  [Fault.BadPseudoHeader]: framing("bad_pseudo_header", 400, "pseudo-headers are missing, repeated or misplaced", {
    cause:
      "A request of HTTP/2 or HTTP/3 has not exactly one `:method`, `:scheme` and `:path`, before all other fields.",
    cure: "Fix your client.",
    page: "wire.md#pseudo-headers",
  }),
  [Fault.ConnectionField]: framing("connection_field", 400, "a connection-specific field", {
    cause: "A request of HTTP/2 or HTTP/3 has a field of connections, such as `Connection` or `Transfer-Encoding`.",
    cure: "Fix your client.",
    page: "wire.md#http2",
  }),
  [Fault.LengthMismatch]: framing("length_mismatch", 400, "the body is not as long as Content-Length says", {
    cause: "A body of HTTP/2 or HTTP/3 is not as long as its `Content-Length`.",
    cure: "Fix your client.",
    page: "wire.md#http2",
  }),
  [Fault.BadHttp2]: framing("bad_http2", 0, "", {
    cause: "Frames that HTTP/2 does not allow: the connection was closed with GOAWAY.",
    cure: "Fix your client.",
    page: "wire.md#http2",
  }),
  [Fault.Http2Flood]: framing("http2_flood", 0, "", {
    cause: "A connection of HTTP/2 sent more resets, settings, pings or empty frames than any client needs.",
    cure: "You do not need to do anything if it is an attack. If it is your client, find out why it resets streams.",
    page: "wire.md#limits-of-http2",
  }),
  [Fault.BadChunkSize]: framing("bad_chunk_size", 400, "malformed chunk size", {
    cause: "The size of a chunk is no hexadecimal number.",
    cure: "Fix your client.",
    page: "bodies.md#chunk-syntax",
  }),
  [Fault.ChunkSizeTooLarge]: framing("chunk_size_too_large", 400, "chunk size above 64 bits", {
    cause: "The size of a chunk has more than 64 bits.",
    cure: "Fix your client.",
    page: "bodies.md#chunk-syntax",
  }),
  [Fault.ChunkExtensionTooLong]: framing("chunk_extension_too_long", 400, "chunk extension exceeds 256 bytes", {
    cause: "A chunk extension is longer than 256 bytes.",
    cure: "You do not need to do anything: no regular client sends extensions.",
    page: "bodies.md#chunk-syntax",
  }),
  [Fault.BadChunkExtension]: framing("bad_chunk_extension", 400, "control character in a chunk extension", {
    cause: "A chunk extension holds a control byte.",
    cure: "Fix your client.",
    page: "bodies.md#chunk-syntax",
  }),
  [Fault.BadChunkDelimiter]: framing("bad_chunk_delimiter", 400, "malformed chunk delimiter", {
    cause: "A chunk does not end with CR LF.",
    cure: "Fix your client.",
    page: "bodies.md#chunk-syntax",
  }),
  [Fault.BadTrailer]: framing("bad_trailer", 400, "malformed trailer field", {
    cause: "A trailer field is malformed.",
    cure: "Fix your client.",
    page: "bodies.md#trailers",
  }),
  [Fault.ForbiddenTrailer]: framing("forbidden_trailer", 400, "forbidden trailer field", {
    cause: "A trailer is a field that belongs into the head, such as `Content-Length` or `Authorization`.",
    cure: "If it is your client, fix it. From elsewhere it is an attempt at request smuggling, and you do not need to do anything.",
    page: "bodies.md#trailers",
  }),
  [Fault.TrailersTooLarge]: framing("trailers_too_large", 431, "trailers exceed 4096 bytes", {
    cause: "Trailers are longer than 4096 bytes.",
    cure: "Send less in your client.",
    page: "bodies.md#trailers",
  }),
  [Fault.BodyTruncated]: framing("body_truncated", 400, "the body ended too early", {
    cause: "The connection ended within a body.",
    cure: "You do not need to do anything: the client has gone, or its network.",
    page: "bodies.md#chunk-syntax",
  }),
  [Fault.BodyTooLarge]: limit("body_too_large", 413, "", {
    cause: "A body is larger than `max_body_bytes` of the route or of the server.",
    cure: "Raise `max_body_bytes` at the route that takes your uploads.",
    page: "bodies.md#limits",
  }),
  [Fault.ChunkedDisabled]: framing("chunked_disabled", 501, "", {
    cause: "`inbound_chunked_mode: reject` is set, and a body came in chunks.",
    cure: "Send `Content-Length` in your client, or set `inbound_chunked_mode` to normalize or passthrough.",
    page: "bodies.md#reject",
  }),
  [Fault.HeaderTimeout]: limit("header_timeout", 408, "the request head took too long", {
    cause: "A head was not complete within `server.header_timeout`.",
    cure: "Ignore single ones: slow clients and slowloris attacks look alike.",
    page: "wire.md#time-limits",
  }),
  [Fault.BodyTimeout]: limit("body_timeout", 408, "the request body took too long", {
    cause: "No byte of a body came within `server.read_timeout`.",
    cure: "Raise the setting if your clients pause on purpose.",
    page: "bodies.md#slow-bodies",
  }),
  [Fault.BodyTooSlow]: limit("body_too_slow", 408, "the request body arrives too slowly", {
    cause: "A body came slower than `server.min_body_rate`.",
    cure: "Lower the setting if your regular clients are that slow.",
    page: "bodies.md#slow-bodies",
  }),
  [Fault.BodyEvicted]: limit(
    "body_evicted",
    408,
    "the request body arrived too slowly for the buffer space that is left",
    {
      cause: "Bodies that were collected took the memory for them, and this one had come slowest.",
      cure: "Give your gateway more memory, or let large uploads stream: set `inbound_chunked_mode: passthrough`.",
      page: "bodies.md#held-bodies",
    },
  ),
  [Fault.BuffersFull]: limit("buffers_full", 503, "too many buffered bodies", {
    cause: "There was no room for a further body.",
    cure: "Give your gateway more memory, or lower `max_body_bytes`.",
    page: "bodies.md#held-bodies",
  }),
  [Fault.SpoolFailed]: limit("spool_failed", 503, "the request body cannot be stored at the moment", {
    cause: "The temporary folder could not be written: `spool_failed` in the log says why.",
    cure: "Free space there, or set TMPDIR to a folder that the gateway can write.",
    page: "bodies.md#held-bodies",
  }),
  [Fault.OutOfDescriptors]: limit("out_of_descriptors", 503, "the gateway has no descriptors left at the moment", {
    close: false,
    cause: "The limit of open files was reached.",
    cure: "Raise the limit of open files (`LimitNOFILE=` in your unit, `ulimit -n` in your shell).",
    page: "operations.md#failing-targets",
  }),
  [Fault.OutOfSockets]: limit("out_of_sockets", 503, "the gateway has no ports or network memory left at the moment", {
    close: false,
    cause: "The system had no local ports or no memory for sockets to origins.",
    cure: "Make your origins keep connections open, widen `net.ipv4.ip_local_port_range`, or add targets.",
    page: "operations.md#failing-targets",
  }),
  [Fault.OriginQueueFull]: limit("origin_queue_full", 503, "too many requests wait for this upstream", {
    close: false,
    cause: "So many requests waited for a connection to this upstream that a further one would not be served in time.",
    cure: "Find out why your origin is slow. If it can do more, raise the limits in `proxy.transport`.",
    page: "upstreams.md#connections",
  }),
  [Fault.TooManyConnections]: limit("too_many_connections", 503, "too many connections from this address", {
    cause: "One address has more connections than `server.max_connections_per_ip`.",
    cure: "Raise the setting if many of your users share an address.",
    page: "security.md#resources-of-one-client",
  }),
  [Fault.WafBlocked]: refusal("waf_blocked", 403, "", {
    close: true,
    cause: "The firewall found an attack: `edge waf test 'METHOD TARGET'` says which rules and where.",
    cure: "If it comes from your users, it is a false positive: exclude that rule at that place.",
    page: "waf.md#false-positives",
  }),
  [Fault.RuleRefused]: refusal("rule_refused", 403, "", {
    close: true,
    cause: "A rule of your own (`server.waf.rules`) refused the request.",
    cure: "Find `rule_id` in the log, and look at your rule.",
    page: "waf.md#rules-of-your-own",
  }),
  [Fault.RuleDropped]: refusal("rule_dropped", 0, "", {
    close: true,
    cause: "A rule of your own closed the connection (`drop`).",
    cure: "Find `rule_id` in the log, and look at your rule.",
    page: "waf.md#rules-of-your-own",
  }),
  [Fault.BodyNotInspected]: refusal(
    "body_not_inspected",
    413,
    "the request body is larger than what is inspected here",
    {
      close: true,
      cause: "A body is larger than the inspected part, and you set `over_limit: reject`.",
      cure: "Raise `max_inspect_body_size`, or exclude the route.",
      page: "waf.md#what-is-looked-at",
    },
  ),
  [Fault.PrefixEscape]: refusal("prefix_escape", 403, "", {
    close: true,
    cause: "A path leaves the prefix of its route by `..`, encoded or not.",
    cure: "You do not need to do anything: a scanner looks for files outside.",
    page: "guards.md#the-prefix-guard",
  }),
  [Fault.SymlinkEscape]: refusal("symlink_escape", 403, "", {
    close: true,
    cause: "A file of a static route lies outside of its folder, by a symbolic link.",
    cure: "If you want this, serve that folder with a route of its own.",
    page: "files.md#containment",
  }),
  [Fault.AccessDenied]: refusal("access_denied", 403, "not allowed from this address", {
    cause: "`ip_rules` do not let the client's address in.",
    cure: "If you want to admit the client, add it to `allow`. If a load balancer stands in front, name it in `server.trusted_proxies`.",
    page: "guards.md#address-rules",
  }),
  [Fault.Banned]: refusal("banned", 403, "banned for a while", {
    close: true,
    cause: "The client is banned (`server.bans`): it was refused too often, or a list or an operator names it.",
    cure: "Run `edge bans list` to see it. Lift it with `edge bans rm ADDRESS`, and add the address to `bans.allow` to keep it from coming again.",
    page: "bans.md",
  }),
  [Fault.IdentityDenied]: refusal("identity_denied", 403, "not allowed for this identity", {
    cause: "The client is known, and may not come in here: a claim, group or subject does not fit.",
    cure: "Find the reason in your log: look for `auth_refused`.",
    page: "authentication.md#who-may-come-in",
  }),
  [Fault.Unauthenticated]: refusal("unauthenticated", 401, "", {
    cause: "The request has no credentials, or wrong ones.",
    cure: "Find the reason in your log: look for `auth_refused`.",
    page: "authentication.md",
  }),
  [Fault.AuthUnavailable]: refusal("auth_unavailable", 503, "credentials cannot be checked at the moment", {
    cause: "What checks credentials is away: the authentication service, the provider, or the keys of an issuer.",
    cure: "Check your authentication service; until it responds, edge lets no request in.",
    page: "authentication.md#authentication-services",
  }),
  [Fault.TooManyGuesses]: refusal("too_many_guesses", 429, "", {
    cause: "One address tried too many wrong passwords.",
    cure: "Wait for the time in `Retry-After`, or fix your program that sends a wrong password.",
    page: "authentication.md#guessing",
  }),
  [Fault.ProxyAuthRequired]: refusal("proxy_auth_required", 407, "", {
    cause: "A client of a forward proxy sends no `Proxy-Authorization`, or wrong credentials.",
    cure: "Give your client the name and password of a user of `forward_proxy.basic`.",
    page: "forward-proxy.md#who-may-use-it",
  }),
  [Fault.DestinationDenied]: refusal("destination_denied", 403, "this host may not be reached through the proxy", {
    cause:
      "`forward_proxy.allow` does not have the host and port, or the name leads to an address that is private, link-local or otherwise not of the Internet.",
    cure: "Add the host to `allow`; for an address of your own network, add the network to `allow_networks`.",
    page: "forward-proxy.md#where-to",
  }),
  [Fault.TooManyTunnels]: limit("too_many_tunnels", 503, "too many tunnels, try again later", {
    close: false,
    cause: "`max_tunnels` or `max_tunnels_per_client` of a forward proxy are open.",
    cure: "Raise the setting, or find your clients that keep tunnels open.",
    page: "forward-proxy.md#limits",
  }),
  [Fault.BotChallenge]: refusal(
    "bot_challenge",
    403,
    "this site asks browsers for a short calculation first; programs need the consent of its operator",
    {
      cause: "`bots` asks for a pass that the client does not have.",
      cure: "Add programs that you welcome to `bots.allow`, by address, user agent or path.",
      page: "bots.md#what-is-suspicious",
    },
  ),
  [Fault.Impostor]: refusal("impostor", 403, "not allowed for this client", {
    cause:
      "The client names a browser, and has a TLS handshake that is none of this browser (`bots.impostors: block`).",
    cure: "Add programs that you welcome to `bots.allow`. If it is a browser, add its handshake to your `bots.handshakes_file`.",
    page: "bots.md#impostors",
  }),
  [Fault.AgentRefused]: refusal(
    "agent_refused",
    403,
    "this site does not let this agent in, or wants requests to be signed",
    {
      cause:
        "A rule of `agents` blocks the agent that has signed the request; `bots.block` names its user agent; or `unsigned: block`, and no signature verifies.",
      cure: "Look at `agent.name` in your access log, and at `agent_signature_refused` at level debug.",
      page: "agents.md#rules",
    },
  ),
  [Fault.PaymentRequired]: refusal("payment_required", 402, "this site asks this agent for payment", {
    cause: "A rule of `agents` says `action: payment` for the agent that has signed the request.",
    cure: "Come to an agreement with the owner of the agent, then change its rule.",
    page: "agents.md#rules",
  }),
  [Fault.NotFound]: refusal("not_found", 404, "", {
    cause: "No route takes the request, or its file is not there.",
    cure: "Run `edge explain 'METHOD URL'`: it names your routes, and why they lost.",
    page: "routing.md#no-route",
  }),
  [Fault.MethodNotAllowed]: refusal("method_not_allowed", 405, "", {
    cause: "The route takes other methods.",
    cure: "Add the method to `methods` of your route. edge never accepts CONNECT and TRACE there.",
    page: "routing.md#methods",
  }),
  [Fault.SchemaPending]: refusal("schema_pending", 503, "the methods of the gRPC upstream are not known yet", {
    cause: "The transcoder has not learned the methods of its upstream yet, by reflection.",
    cure: "Find `schema_failed` in your log: the upstream is down or has no reflection.",
    page: "transcoder.md#auto-by-reflection",
  }),
  [Fault.Misdirected]: refusal("misdirected", 421, "this name is served on connections of its own", {
    cause:
      "A client has sent a request for a name whose TLS connections are passed through on a connection for another name, since the certificate there has both.",
    cure: "You do not need to do anything: clients retry on a new connection. To keep them from trying, leave the name out of your gateway's certificate.",
    page: "streams.md#connections-for-other-names",
  }),
  [Fault.LoopDetected]: refusal("loop_detected", 508, "the request came through this gateway too often", {
    cause: "The request came through this gateway too often (`Via`): a target leads back to it.",
    cure: "Check the target of your route, and your DNS.",
    page: "upstreams.md#fields-that-are-sent",
  }),
  [Fault.Maintenance]: refusal("maintenance", 503, "", {
    cause: "`maintenance` is on for the route or the server.",
    cure: "You do not need to do anything while you want maintenance. Run `edge status` to see the switches.",
    page: "pages.md#maintenance",
  }),
  [Fault.ConcurrencyLimit]: limit("concurrency_limit", 503, "too many requests at once, try again later", {
    close: false,
    cause:
      "As many requests as `concurrency` lets in are under way, and its queue is full, or the request has waited in it for too long.",
    cure: "If your origin has room, raise `limit`, or set `auto` to find it. Otherwise add capacity: more requests at once would only wait there.",
    page: "pressure.md#concurrency",
  }),
  [Fault.WaitingRoom]: limit("waiting_room", 503, "this site is full, and you are in its queue", {
    close: false,
    cause: "As many visitors as `waiting_room` lets in are in, and this one waits for its turn.",
    cure: "If your origin has room, raise `active`. `gateway_waiting_room_waiting` counts your waiting visitors.",
    page: "waiting-room.md",
  }),
  [Fault.Overloaded]: limit("overloaded", 503, "the server is overloaded, try again later", {
    close: false,
    cause:
      "The gateway itself is short of processor time, memory or descriptors, and sheds requests of low priority (`server.overload`).",
    cure: "Find `overload` in your log: it names the shortage. Give your gateway more of it, and set `priority: high` at the routes that matter most to you.",
    page: "pressure.md#shedding",
  }),
  [Fault.UpstreamUnavailable]: refusal("upstream_unavailable", 502, "upstream unavailable", {
    cause: "The origin refused the connection, closed it, or its name or certificate could not be used.",
    cure: "Look at `fault_detail` in the access line, which names the cause. `edge help 502` tells you the fix.",
    page: "troubleshooting.md#debug-a-502",
  }),
  [Fault.UpstreamMalformed]: refusal("upstream_malformed", 502, "upstream unavailable", {
    cause: "The origin's response breaks the rules of HTTP.",
    cure: "Look at `fault_detail` in the access line, which names the rule. `edge help 502` tells you the fix. If your origin is old, set `strict_origins: false`.",
    page: "troubleshooting.md#debug-a-502",
  }),
  [Fault.UpstreamTimeout]: refusal("upstream_timeout", 504, "upstream timed out", {
    cause: "The origin did not answer in time.",
    cure: "Look at `fault_detail` in the access line, which names the time limit; `upstream_timeout` means `timeouts.total`. Find out why your origin is slow, or raise `timeouts` of your route.",
    page: "upstreams.md#time-limits",
  }),
  [Fault.CallOverdue]: refusal("call_overdue", 504, "deadline exceeded", {
    cause:
      "The origin ended a call of gRPC, gRPC-Web or Connect after the deadline that the client had set for it (`Grpc-Timeout`, `Connect-Timeout-Ms`).",
    cure: "Find out why your origin is slow, or let your client wait longer.",
    page: "transcoder.md#time-and-connections",
  }),
  [Fault.NameUnresolved]: refusal("name_unresolved", 502, "upstream unavailable", {
    cause: "The name servers did not say which address the origin's name has, and no earlier address is known.",
    cure: "Look the name up on this host (`getent hosts NAME`). If you have your own name servers, set `proxy.transport.nameservers`.",
    page: "operations.md#names",
  }),
  [Fault.NoHealthyTarget]: refusal("no_healthy_target", 503, "no healthy upstream", {
    cause: "The route has no target that may get requests: all are drained, or have `weight: 0`.",
    cure: "Run `edge undrain TARGET`, or give a target a weight. If targets merely fail, edge still sends requests to them.",
    page: "operations.md#draining-a-target",
  }),
  [Fault.ResponseWithheld]: refusal("response_withheld", 502, "the response of the upstream was withheld", {
    cause: "The firewall found secrets or errors of a server in a response.",
    cure: "Check your origin: the named leak should not be in a response.",
    page: "waf.md#responses",
  }),
  [Fault.FunctionFailed]: refusal("function_failed", 500, "the function failed", {
    cause: "The function threw, or gave no response.",
    cure: "Find `function_failed` in your log: it has file and line.",
    page: "functions.md#mistakes",
  }),
  [Fault.FunctionTimeout]: refusal("function_timeout", 504, "the function took too long", {
    cause: "The function did not answer within its `timeout`.",
    cure: "Raise `timeout`, or let your function do less.",
    page: "functions.md#limits",
  }),
  [Fault.FunctionGone]: refusal("function_gone", 502, "the function ended unexpectedly", {
    cause: "The thread of the function ended: a crash, `process.exit`, or memory.",
    cure: "Find `function_thread_ended` in your log.",
    page: "functions.md#isolation",
  }),
  [Fault.FunctionBusy]: limit("function_busy", 503, "too many requests wait for the function", {
    close: false,
    cause: "More requests waited for the function than `functions.queue` says.",
    cure: "Raise `functions.workers` or `functions.concurrency`, or let your function do less.",
    page: "functions.md#limits",
  }),
  [Fault.FunctionMethod]: refusal("function_method", 501, "functions do not take this method", {
    cause: "A method that functions are not given, such as TRACE.",
    cure: "You do not need to do anything.",
    page: "functions.md#compatibility",
  }),
  [Fault.InternalError]: refusal("internal_error", 500, "internal error", {
    close: true,
    cause: "A defect of the gateway: `exception` in the log names the place.",
    cure: "Please report it with that line.",
    page: "security.md#reporting-a-vulnerability",
  }),
  [Fault.Cancelled]: refusal("cancelled", 0, "", {
    close: true,
    cause: "The client went away before its response.",
    cure: "You do not need to do anything. If you see many, your responses take too long for these clients.",
    page: "operations.md#clients-that-leave",
  }),
};

/** The rows by number. */
export const FAULTS: readonly FaultRow[] = Object.values(ROWS);

/** The row of a fault. */
export function faultRow(fault: Fault): FaultRow {
  return FAULTS[fault]!;
}

/** Advice, and whether the connection is closed if that is otherwise than is usual of the kind. */
type RowRest = FaultAdvice & { readonly close?: boolean };

function framing(label: string, status: number, message: string, rest: RowRest): FaultRow {
  return { label, status, message, close: true, kind: FaultKind.Framing, ...rest };
}

function tls(label: string, status: number, message: string, rest: RowRest): FaultRow {
  return { label, status, message, close: true, kind: FaultKind.Tls, ...rest };
}

function limit(label: string, status: number, message: string, rest: RowRest): FaultRow {
  return { label, status, message, close: true, kind: FaultKind.Limit, ...rest };
}

function refusal(label: string, status: number, message: string, rest: RowRest): FaultRow {
  return { label, status, message, close: false, kind: FaultKind.Other, ...rest };
}
