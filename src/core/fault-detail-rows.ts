import { Fault } from "./fault.ts";
import { FaultDetail } from "./fault-detail.ts";
import { faultRow } from "./fault-rows.ts";

/** Cause and cure of a failed attempt: the log, `edge help NAME`, `edge help 502`, docs/errors.md and the dashboard are made of it. */
export interface FaultDetailRow {
  /** The word in `fault_detail`. */
  readonly label: string;
  /** The failure. */
  readonly cause: string;
  /** What to do about it. */
  readonly cure: string;
  /** The fault that a request ends with if no other attempt helps. */
  readonly fault: Fault;
}

/** The one row of each cause: a member without a row does not compile. docs/troubleshooting.md#debug-a-502 */
const ROWS: Readonly<Record<FaultDetail, FaultDetailRow>> = {
  [FaultDetail.None]: unavailable("none", "", ""),
  [FaultDetail.DnsNotFound]: unavailable(
    "dns_not_found",
    "The name servers say that the name of the target does not exist.",
    "Check the name in `target`, and run `getent hosts NAME` on this host. A name of a container needs the network of that container.",
  ),
  [FaultDetail.DnsFailed]: {
    label: "dns_failed",
    cause: "The name servers refused the question or failed, and no earlier address of the name is known.",
    cure: "Check /etc/resolv.conf and your name servers. If you have your own name servers, set `proxy.transport.nameservers`.",
    fault: Fault.NameUnresolved,
  },
  [FaultDetail.DnsTimeout]: {
    label: "dns_timeout",
    cause: "The name servers did not answer in time, and no earlier address of the name is known.",
    cure: "Check whether this host reaches its name servers (UDP and TCP port 53). If you have your own name servers, set `proxy.transport.nameservers`.",
    fault: Fault.NameUnresolved,
  },
  [FaultDetail.ConnectRefused]: unavailable(
    "connect_refused",
    "The origin's host refused the connection, or the network has no way to it: no process listens at that address and port. Of a UNIX socket: nothing listens, or the gateway's user may not connect to it.",
    "Start your origin, or correct host and port of your target; run `ss -ltn` on that host to see its listeners. `reason` of `upstream_failed` has the system's word (ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EACCES).",
  ),
  [FaultDetail.ConnectTimeout]: timeout(
    "connect_timeout",
    "The connection was not accepted within `timeouts.connect`: a firewall drops packets, the host is down, or its queue of connections is full.",
    "Try `nc -vz HOST PORT` from this host, and check the firewall between. Raise `timeouts.connect` only if your path is slow.",
  ),
  [FaultDetail.SocketNotFound]: unavailable(
    "socket_not_found",
    "The UNIX socket of the target is not there.",
    "Start your origin, or correct the path. In a container or a unit with its own file system, the folder of the socket must be mounted.",
  ),
  [FaultDetail.TlsOnCleartext]: unavailable(
    "tls_on_cleartext",
    "The gateway speaks TLS (`https://`, `h2://`), and the origin answers in clear text.",
    "Write `http://` or `h2c://` in your target, or choose the TLS port of your origin.",
  ),
  [FaultDetail.TlsHandshakeClosed]: unavailable(
    "tls_handshake_closed",
    "The origin closed or reset the connection during the TLS handshake, without an alert.",
    "Read the log of your origin. Usual causes: the port does not speak TLS, no certificate for the name (`tls.server_name`), a load balancer without a healthy server.",
  ),
  [FaultDetail.TlsHandshakeTimeout]: timeout(
    "tls_handshake_timeout",
    "The connection was accepted, and the TLS handshake did not end within `timeouts.connect`.",
    "Check whether the port speaks TLS, and whether the origin has processor time left.",
  ),
  [FaultDetail.TlsAlert]: unavailable(
    "tls_alert",
    "The TLS handshake failed with an alert: no version or suite in common, a name that the origin does not serve, or a client certificate that it wants and does not get or trust.",
    "Run `openssl s_client -connect HOST:PORT -servername NAME` to see the alert. Set `tls.server_name`, or `tls.cert_file` and `tls.key_file`.",
  ),
  [FaultDetail.TlsSelfSigned]: unavailable(
    "tls_verify:self_signed",
    "The origin's certificate is signed by itself and not trusted.",
    "Name that certificate in `tls.ca_file` of the route, or give your origin one of an authority.",
  ),
  [FaultDetail.TlsExpired]: unavailable(
    "tls_verify:expired",
    "The origin's certificate, or one of its chain, is not valid now: it has expired, or is not valid yet.",
    "Renew it at your origin. Check the clock of this host, too.",
  ),
  [FaultDetail.TlsName]: unavailable(
    "tls_verify:name",
    "The origin's certificate is for another name than the target's. In a sidecar: it has none of the expected SPIFFE ids.",
    "Write the certificate's name in your target, or set `tls.server_name` to it.",
  ),
  [FaultDetail.TlsUnknownIssuer]: unavailable(
    "tls_verify:unknown_issuer",
    "No trusted authority has issued the origin's certificate, or a certificate in between is missing in its chain.",
    "Name the authority in `tls.ca_file` of the route, or let your origin send the whole chain.",
  ),
  [FaultDetail.CleartextOnTls]: malformed(
    "cleartext_on_tls",
    "The gateway speaks clear text (`http://`, `h2c://`), and the origin speaks TLS.",
    "Write `https://` or `h2://` in your target, or choose your origin's port without TLS.",
  ),
  [FaultDetail.NotHttp]: malformed(
    "not_http",
    "The origin's response does not begin as one of HTTP; of a FastCGI route, as one of FastCGI. Another protocol listens at that port, or the origin writes something before its response.",
    "Check the port of your target: run `curl -v` or `nc` from this host to see the program behind it.",
  ),
  [FaultDetail.Http1OnH2]: malformed(
    "http1_on_h2",
    "The gateway speaks HTTP/2 (`h2c://`, `h2://`), and the origin HTTP/1.1.",
    "Write `http://` or `https://` in your target, or switch HTTP/2 on at your origin.",
  ),
  [FaultDetail.H2OnHttp1]: malformed(
    "h2_on_http1",
    "The gateway speaks HTTP/1.1 (`http://`, `https://`), and the origin HTTP/2, as gRPC servers do.",
    "Write `h2c://` or `h2://` in your target.",
  ),
  [FaultDetail.ClosedBeforeHead]: unavailable(
    "closed_before_head",
    "The origin closed the connection before it sent a byte of its response: its process ended, crashed on the request, or closes kept connections earlier than the gateway does.",
    "Read the log of your origin for the request. If you see it now and then, on kept connections, let your origin keep them longer than `proxy.transport.idle_conn_timeout`.",
  ),
  [FaultDetail.ResetBeforeHead]: unavailable(
    "reset_before_head",
    "The origin reset the connection before the head of its response was whole: it closed without having read the request, crashed, or a device between cut the connection.",
    "Read the log of your origin for the request, and whether it limits the size of requests or their number.",
  ),
  [FaultDetail.ClosedInHead]: unavailable(
    "closed_in_head",
    "The origin closed the connection within the head of its response.",
    "Read the log of your origin: it has ended while it wrote.",
  ),
  [FaultDetail.FirstByteTimeout]: timeout(
    "first_byte_timeout",
    "The origin sent no byte of a response within `timeouts.response_header`.",
    "Find out why your origin is slow for this request. If it may be slow, raise `timeouts.response_header` of the route.",
  ),
  [FaultDetail.HeadTimeout]: timeout(
    "head_timeout",
    "The origin began a response, and its head was not whole within `timeouts.response_header`.",
    "Check your origin: it stopped while it wrote its head.",
  ),
  [FaultDetail.BadStatus]: malformed(
    "bad_status",
    "The status of the response is none: not three digits from 100 to 599, a malformed status line, or a 101 that was not asked for.",
    "Fix your origin. If it is old, set `strict_origins: false`.",
  ),
  [FaultDetail.BadField]: malformed(
    "bad_field",
    "A header or trailer field of the response is malformed: a space before the colon, a control character, a folded line, a bare line feed, a field that HTTP/2 forbids.",
    "Fix your origin. If it is old, set `strict_origins: false`.",
  ),
  [FaultDetail.BadLength]: malformed(
    "bad_length",
    "The response has no clear length: two lengths, a malformed one, a length beside `Transfer-Encoding`, another transfer coding than chunked, or a body that is longer or shorter than its length.",
    "Fix your origin. A framework that sets `Content-Length` by hand is the usual cause. If it is old, set `strict_origins: false`.",
  ),
  [FaultDetail.TooManyFields]: malformed(
    "too_many_fields",
    "The response has more header fields than `proxy.transport.max_response_fields`.",
    "Let your origin send fewer, cookies above all, or raise `proxy.transport.max_response_fields`.",
  ),
  [FaultDetail.HeadTooLarge]: malformed(
    "head_too_large",
    "The head of the response, interim responses included, is larger than 64 KiB.",
    "Let your origin send less: large cookies and debugging fields are the usual cause.",
  ),
  [FaultDetail.BadChunk]: malformed(
    "bad_chunk",
    "The chunked body of the response is malformed.",
    "Fix your origin: it writes a body that is not chunked under `Transfer-Encoding: chunked`, or two threads write one response.",
  ),
  [FaultDetail.ClosedInBody]: unavailable(
    "closed_in_body",
    "The origin closed the connection before the body of its response was whole; the client's response was cut.",
    "Read the log of your origin: it crashed, timed out or was stopped while it wrote.",
  ),
  [FaultDetail.ResetInBody]: unavailable(
    "reset_in_body",
    "The origin reset the connection before the body of its response was whole; the client's response was cut.",
    "Read the log of your origin, and devices between that cut long connections.",
  ),
  [FaultDetail.IdleTimeout]: timeout(
    "idle_timeout",
    "The origin sent nothing more of a body within `timeouts.idle`; the client's response was cut.",
    "Let your origin send something in time, a comment line in an event stream for example, or raise `timeouts.idle`.",
  ),
  [FaultDetail.H2Reset]: unavailable(
    "h2_reset",
    "The origin reset the HTTP/2 stream of the request.",
    "Read the log of your origin for the request: it failed, or refuses more streams than it can serve.",
  ),
  [FaultDetail.H2GoAway]: unavailable(
    "h2_goaway",
    "The origin ended the HTTP/2 connection (GOAWAY) before it answered the request, and the request could not be sent again.",
    "If your origin restarts, you do not need to do anything. Otherwise read its log: it may count requests as abuse, or limit the age of connections.",
  ),
  [FaultDetail.H2Protocol]: malformed(
    "h2_protocol",
    "The origin broke the rules of HTTP/2: a frame that may not come there, a malformed one, or a header block that cannot be decoded.",
    "Update your origin's HTTP/2 library. Until then, use HTTP/1.1 (`http://`, `https://`).",
  ),
};

/** The rows by number; the first is of none. */
export const FAULT_DETAILS: readonly FaultDetailRow[] = Object.values(ROWS);

/** The word of a cause. */
export function detailLabel(detail: FaultDetail): string {
  return FAULT_DETAILS[detail]!.label;
}

/**
 * What `fault_detail` says of an exchange that ended with a fault: why the origin failed, else the fault itself.
 * @returns "" if nothing is wrong
 */
export function faultDetailOf(fault: Fault, detail: FaultDetail): string {
  if (fault === Fault.None) return "";
  return detail !== FaultDetail.None && isOfOrigin(fault) ? FAULT_DETAILS[detail]!.label : faultRow(fault).label;
}

/** Whether a fault is one whose causes have names of their own. */
export function isOfOrigin(fault: Fault): boolean {
  return (
    fault === Fault.UpstreamUnavailable ||
    fault === Fault.UpstreamMalformed ||
    fault === Fault.UpstreamTimeout ||
    fault === Fault.NameUnresolved
  );
}

function unavailable(label: string, cause: string, cure: string): FaultDetailRow {
  return { label, cause, cure, fault: Fault.UpstreamUnavailable };
}

function malformed(label: string, cause: string, cure: string): FaultDetailRow {
  return { label, cause, cure, fault: Fault.UpstreamMalformed };
}

function timeout(label: string, cause: string, cure: string): FaultDetailRow {
  return { label, cause, cure, fault: Fault.UpstreamTimeout };
}
