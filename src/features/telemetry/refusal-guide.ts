/** What people are told of a refusal, beside its status and message. */
export interface RefusalGuide {
  /** What has happened. */
  readonly cause: string;
  /** What to do about it. */
  readonly cure: string;
  /** Where it is explained: a page of docs with a heading. */
  readonly page: string;
}

/** Each row of src/core/fault.ts by its label: `edge help NAME` and docs/errors.md are made of it. A test names those that are missing. */
export const REFUSAL_GUIDE: Readonly<Record<string, RefusalGuide>> = {
  bad_proxy_header: guide(
    "A connection from a load balancer in `server.proxy_protocol.trusted` did not begin with a PROXY header, or with a malformed one.",
    "Let the load balancer send PROXY protocol version 1 or 2, health checks included, or take its address out of `trusted`.",
    "wire.md#proxies-in-front",
  ),
  plain_http_on_tls: guide(
    "A client spoke HTTP in clear text to a port that serves TLS.",
    "Use `https://` in its URL.",
    "tls.md#handshakes",
  ),
  bad_client_hello: guide(
    "The first bytes on a TLS port were no ClientHello.",
    "Nothing for single ones: scanners do that. From your own client: it does not speak TLS.",
    "tls.md#handshakes",
  ),
  no_certificate: guide(
    "A client began a TLS connection while no certificate was there for it.",
    "Add the name to `server.tls.certificates` or to `server.acme`, or let the client use the right name.",
    "tls.md#choosing-a-certificate",
  ),
  handshake_failed: guide(
    "Client and gateway found no version of TLS or no suite in common, or the client did not trust the certificate.",
    "See which client it is: an old one needs an update, one of your own needs the CA of the certificate.",
    "tls.md#versions-and-suites",
  ),
  handshake_timeout: guide(
    "A client did not end its TLS handshake in time.",
    "Nothing for single ones. Many from one network: packets are lost on the way.",
    "tls.md#handshakes",
  ),
  too_many_handshakes: guide(
    "A listener of a worker had 1024 handshakes under way, and the oldest was ended for a new one.",
    "From one address: an attack. From all: give the gateway more workers or CPU.",
    "tls.md#handshakes",
  ),
  client_certificate_refused: guide(
    "A client showed no certificate, or one that `client_ca_file` has not signed.",
    "Give the client a certificate of that CA.",
    "tls.md#client-certificates",
  ),
  bad_request_line: guide(
    "The first line of a request is not `METHOD SP target SP HTTP/1.x`.",
    "Mend the client. TLS on a port without TLS looks like this as well.",
    "wire.md#request-line",
  ),
  bad_method: guide("The method is no token.", "Mend the client.", "wire.md#request-line"),
  bad_target: guide(
    "The path or query holds a space, a control byte, or a byte above 127.",
    "Let the client percent-encode it.",
    "wire.md#request-line",
  ),
  bad_version: guide(
    "The version is not written `HTTP/1.0` or `HTTP/1.1`.",
    "Mend the client.",
    "wire.md#request-line",
  ),
  unsupported_version: guide(
    "A request line names a version other than HTTP/1.0 and HTTP/1.1.",
    "Nothing for scanners. HTTP/2 in clear text begins with its own preface.",
    "wire.md#request-line",
  ),
  request_line_too_long: guide(
    "A request line is longer than 8192 bytes.",
    "Let the client send a body in place of a long query.",
    "wire.md#request-line",
  ),
  bare_line_break: guide(
    "A head holds CR or LF alone, which readers understand differently.",
    "Mend the client; from elsewhere it is an attempt at smuggling.",
    "wire.md#request-line",
  ),
  bad_field_name: guide(
    "The name of a header field is empty or no token.",
    "Mend the client.",
    "wire.md#header-fields",
  ),
  space_before_colon: guide(
    "White space is before the colon of a header field.",
    "Mend the client; from elsewhere it is an attempt at smuggling.",
    "wire.md#header-fields",
  ),
  line_folding: guide("A header field goes over two lines.", "Let the client send it on one.", "wire.md#header-fields"),
  bad_field_value: guide(
    "A header field holds a control byte.",
    "Mend the client, or what sets the field.",
    "wire.md#header-fields",
  ),
  header_line_too_long: guide(
    "A header line is longer than 8192 bytes; often it is `Cookie`.",
    "Let the site set fewer or smaller cookies.",
    "wire.md#header-fields",
  ),
  head_too_large: guide(
    "All header lines together are longer than `server.max_header_bytes`.",
    "Raise the setting where regular clients are hit, or let the site set fewer cookies.",
    "wire.md#header-fields",
  ),
  head_truncated: guide(
    "The connection ended within a head.",
    "Nothing: the client has gone.",
    "wire.md#header-fields",
  ),
  too_many_fields: guide(
    "A request has more fields than `server.max_header_fields`.",
    "Raise the setting where regular clients are hit.",
    "wire.md#header-fields",
  ),
  missing_host: guide("A request of HTTP/1.1 has no `Host`.", "Mend the client or the health check.", "wire.md#host"),
  duplicate_host: guide("A request has two `Host` fields.", "Mend the client.", "wire.md#host"),
  bad_host: guide(
    "`Host` is no name or address with a port, or could be read in two ways.",
    "Mend the client.",
    "wire.md#host",
  ),
  authority_mismatch: guide(
    "The target of the request names another host than `Host`.",
    "Mend the client: both name the same host and port.",
    "wire.md#host",
  ),
  bad_content_length: guide(
    "`Content-Length` is no number.",
    "Mend the client.",
    "wire.md#content-length-and-transfer-encoding",
  ),
  duplicate_content_length: guide(
    "A request has two `Content-Length` fields.",
    "Mend the client, or the proxy in front that adds one.",
    "wire.md#content-length-and-transfer-encoding",
  ),
  length_and_encoding: guide(
    "A request has both `Content-Length` and `Transfer-Encoding`, by which requests are smuggled.",
    "Mend the client, or the proxy in front that adds one of them.",
    "wire.md#content-length-and-transfer-encoding",
  ),
  bad_transfer_encoding: guide(
    "`Transfer-Encoding` is malformed, or sent twice.",
    "Mend the client; from elsewhere it is an attempt at smuggling.",
    "wire.md#content-length-and-transfer-encoding",
  ),
  unsupported_coding: guide(
    "`Transfer-Encoding` names a coding other than chunked.",
    "Let the client send `chunked` alone, and codings of the content in `Content-Encoding`.",
    "wire.md#content-length-and-transfer-encoding",
  ),
  encoding_in_http10: guide(
    "A request of HTTP/1.0 has `Transfer-Encoding`, which that version does not have.",
    "Let the client speak HTTP/1.1, or send `Content-Length`.",
    "wire.md#content-length-and-transfer-encoding",
  ),
  bad_expectation: guide("`Expect` asks for something other than 100-continue.", "Mend the client.", "wire.md#expect"),
  too_many_options: guide(
    "`Connection` names more than 100 options.",
    "Nothing: no regular client does that.",
    "wire.md#connection-and-upgrades",
  ),
  bad_pseudo_header: guide(
    "A request of HTTP/2 or HTTP/3 has not exactly one `:method`, `:scheme` and `:path`, before all other fields.",
    "Mend the client.",
    "wire.md#pseudo-headers",
  ),
  connection_field: guide(
    "A request of HTTP/2 or HTTP/3 has a field of connections, such as `Connection` or `Transfer-Encoding`.",
    "Mend the client.",
    "wire.md#http2",
  ),
  length_mismatch: guide(
    "A body of HTTP/2 or HTTP/3 is not as long as its `Content-Length`.",
    "Mend the client.",
    "wire.md#http2",
  ),
  bad_http2: guide(
    "Frames that HTTP/2 does not allow: the connection was closed with GOAWAY.",
    "Mend the client.",
    "wire.md#http2",
  ),
  http2_flood: guide(
    "A connection of HTTP/2 sent more resets, settings, pings or empty frames than any client needs.",
    "Nothing: it is an attack. From your own client, see what it resets.",
    "wire.md#limits-of-http2",
  ),
  bad_chunk_size: guide("The size of a chunk is no hexadecimal number.", "Mend the client.", "bodies.md#chunk-syntax"),
  chunk_size_too_large: guide(
    "The size of a chunk has more than 64 bits.",
    "Mend the client.",
    "bodies.md#chunk-syntax",
  ),
  chunk_extension_too_long: guide(
    "A chunk extension is longer than 256 bytes.",
    "Nothing: no regular client sends extensions.",
    "bodies.md#chunk-syntax",
  ),
  bad_chunk_extension: guide("A chunk extension holds a control byte.", "Mend the client.", "bodies.md#chunk-syntax"),
  bad_chunk_delimiter: guide("A chunk does not end with CR LF.", "Mend the client.", "bodies.md#chunk-syntax"),
  bad_trailer: guide("A trailer field is malformed.", "Mend the client.", "bodies.md#trailers"),
  forbidden_trailer: guide(
    "A trailer is a field that belongs into the head, such as `Content-Length` or `Authorization`.",
    "Mend the client; from elsewhere it is an attempt at smuggling.",
    "bodies.md#trailers",
  ),
  trailers_too_large: guide("Trailers are longer than 4096 bytes.", "Let the client send less.", "bodies.md#trailers"),
  body_truncated: guide(
    "The connection ended within a body.",
    "Nothing: the client has gone, or its network.",
    "bodies.md#chunk-syntax",
  ),
  body_too_large: guide(
    "A body is larger than `max_body_bytes` of the route or of the server.",
    "Raise `max_body_bytes` at the route that takes uploads.",
    "bodies.md#limits",
  ),
  chunked_disabled: guide(
    "`inbound_chunked_mode: reject` is set, and a body came in chunks.",
    "Let the client send `Content-Length`, or choose normalize or passthrough.",
    "bodies.md#reject",
  ),
  header_timeout: guide(
    "A head was not complete within `server.header_timeout`.",
    "Nothing for single ones: slow clients and slowloris look alike.",
    "wire.md#time-limits",
  ),
  body_timeout: guide(
    "No byte of a body came within `server.read_timeout`.",
    "Raise the setting where clients pause on purpose.",
    "bodies.md#slow-bodies",
  ),
  body_too_slow: guide(
    "A body came slower than `server.min_body_rate`.",
    "Lower the setting where regular clients are that slow.",
    "bodies.md#slow-bodies",
  ),
  body_evicted: guide(
    "Bodies that were collected took the memory for them, and this one had come slowest.",
    "Give the gateway memory, or let large uploads stream: `inbound_chunked_mode: passthrough`.",
    "bodies.md#held-bodies",
  ),
  buffers_full: guide(
    "There was no room for a further body.",
    "Give the gateway memory, or lower `max_body_bytes`.",
    "bodies.md#held-bodies",
  ),
  spool_failed: guide(
    "The temporary folder could not be written: `spool_failed` in the log says why.",
    "Make room there, or set TMPDIR to a folder that may be written.",
    "bodies.md#held-bodies",
  ),
  out_of_descriptors: guide(
    "The limit of open files was reached.",
    "Raise it (`LimitNOFILE=` in a unit, `ulimit -n` in a shell).",
    "operations.md#failing-targets",
  ),
  out_of_sockets: guide(
    "The system had no local ports or no memory for sockets to origins.",
    "Let origins keep connections open, widen `net.ipv4.ip_local_port_range`, or add targets.",
    "operations.md#failing-targets",
  ),
  origin_queue_full: guide(
    "So many requests waited for a connection to this upstream that a further one would not be served in time.",
    "See why the origin is slow; raise `proxy.transport` limits where it can do more.",
    "upstreams.md#connections",
  ),
  too_many_connections: guide(
    "One address has more connections than `server.max_connections_per_ip`.",
    "Raise the setting where many users share an address.",
    "security.md#resources-of-one-client",
  ),
  waf_blocked: guide(
    "The firewall found an attack: `edge waf test 'METHOD TARGET'` says which rules and where.",
    "From users it is a false positive: exclude that rule at that place.",
    "waf.md#false-positives",
  ),
  rule_refused: guide(
    "A rule of your own (`server.waf.rules`) refused the request.",
    "See `rule_id` in the log, and the rule.",
    "waf.md#rules-of-your-own",
  ),
  rule_dropped: guide(
    "A rule of your own closed the connection (`drop`).",
    "See `rule_id` in the log, and the rule.",
    "waf.md#rules-of-your-own",
  ),
  body_not_inspected: guide(
    "A body is larger than what the firewall inspects, and `over_limit: reject` is set.",
    "Raise `max_inspect_body_size`, or exclude the route.",
    "waf.md#what-is-looked-at",
  ),
  prefix_escape: guide(
    "A path leaves the prefix of its route by `..`, encoded or not.",
    "Nothing: a scanner looks for files outside.",
    "guards.md#the-prefix-guard",
  ),
  symlink_escape: guide(
    "A file of a static route lies outside of its folder, by a symbolic link.",
    "Where it is meant, serve that folder by a route of its own.",
    "files.md#containment",
  ),
  access_denied: guide(
    "`ip_rules` do not let the client's address in.",
    "Where it should be let in, add it to `allow`. Behind a load balancer, name that in `server.trusted_proxies`.",
    "guards.md#address-rules",
  ),
  identity_denied: guide(
    "The client is known, and may not come in here: a claim, group or subject does not fit.",
    "See `auth_refused` in the log for the reason.",
    "authentication.md#who-may-come-in",
  ),
  unauthenticated: guide(
    "The request has no credentials, or wrong ones.",
    "See `auth_refused` in the log for the reason.",
    "authentication.md",
  ),
  auth_unavailable: guide(
    "What checks credentials is away: the authentication service, the provider, or the keys of an issuer.",
    "See that service; until then no request is let in.",
    "authentication.md#authentication-services",
  ),
  too_many_guesses: guide(
    "One address tried too many wrong passwords.",
    "Wait for the time in `Retry-After`, or mend the program that sends a wrong one.",
    "authentication.md#guessing",
  ),
  bot_challenge: guide(
    "`bots` asks for a pass that the client does not have.",
    "For programs that are welcome: `bots.allow`, by address, user agent or path.",
    "bots.md#what-is-suspicious",
  ),
  not_found: guide(
    "No route takes the request, or its file is not there.",
    "`edge explain 'METHOD URL'` says which routes were asked, and why they lost.",
    "routing.md#no-route",
  ),
  method_not_allowed: guide(
    "The route takes other methods.",
    "Add the method to `methods`. CONNECT and TRACE are never taken.",
    "routing.md#methods",
  ),
  schema_pending: guide(
    "The transcoder has not learned the methods of its upstream yet, by reflection.",
    "See `schema_failed` in the log: the upstream is away or has no reflection.",
    "transcoder.md#auto-by-reflection",
  ),
  misdirected: guide(
    "A client has sent a request for a name whose TLS connections are passed through on a connection for another name, since the certificate there has both.",
    "Nothing: clients send it again on a connection of its own. To keep them from trying, leave the name out of the gateway's certificate.",
    "streams.md#connections-for-other-names",
  ),
  loop_detected: guide(
    "The request came through this gateway too often (`Via`): a target leads back to it.",
    "See the target of the route, and DNS.",
    "upstreams.md#fields-that-are-sent",
  ),
  maintenance: guide(
    "`maintenance` is on for the route or the server.",
    "Nothing, while it is wanted. `edge status` names what is on.",
    "pages.md#maintenance",
  ),
  upstream_unavailable: guide(
    "The origin refused the connection, closed it, or its name or certificate could not be used.",
    "See `upstream_failed` in the log for the reason.",
    "upstreams.md#failures",
  ),
  name_unresolved: guide(
    "The name servers did not say which address the origin's name has, and no earlier address is known.",
    "Look the name up on this host (`getent hosts NAME`). Name servers of your own: `proxy.transport.nameservers`.",
    "operations.md#names",
  ),
  upstream_malformed: guide(
    "The origin's response breaks the rules of HTTP.",
    "See `upstream_failed` in the log for the rule. For an old origin: `strict_origins: false`.",
    "upstreams.md#old-origins",
  ),
  upstream_timeout: guide(
    "The origin did not answer in time.",
    "See why it is slow, or raise `timeouts` of the route.",
    "upstreams.md#time-limits",
  ),
  no_healthy_target: guide(
    "The route has no target that may get requests: all are drained, or have `weight: 0`.",
    "Take one back in (`POST /internal/api/upstreams/undrain`), or give one a weight. Where targets merely fail, requests still go to them.",
    "operations.md#draining-a-target",
  ),
  response_withheld: guide(
    "The firewall found secrets or errors of a server in a response.",
    "See the origin: what the log names should not be in a response.",
    "waf.md#responses",
  ),
  function_failed: guide(
    "The function threw, or gave no response.",
    "See `function_failed` in the log for file and line.",
    "functions.md#mistakes",
  ),
  function_timeout: guide(
    "The function did not answer within its `timeout`.",
    "Raise `timeout`, or let it do less.",
    "functions.md#limits",
  ),
  function_gone: guide(
    "The thread of the function ended: a crash, `process.exit`, or memory.",
    "See `function_thread_ended` in the log.",
    "functions.md#isolation",
  ),
  function_busy: guide(
    "More requests waited for the function than `functions.queue` says.",
    "Raise `functions.workers` or `functions.concurrency`, or let the function do less.",
    "functions.md#limits",
  ),
  function_method: guide(
    "A method that functions are not given, such as TRACE.",
    "Nothing.",
    "functions.md#compatibility",
  ),
  internal_error: guide(
    "A defect of the gateway: `exception` in the log has where it happened.",
    "Report it with that line.",
    "security.md#reporting-a-vulnerability",
  ),
  cancelled: guide(
    "The client went away before its response.",
    "Nothing. Many of them: responses take too long for them.",
    "operations.md#clients-that-leave",
  ),
};

function guide(cause: string, cure: string, page: string): RefusalGuide {
  return { cause, cure, page };
}
