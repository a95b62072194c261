// What the log says, for `edge help log`. tests/unit/telemetry/log-reference.test.ts holds it to the source: every event
// that is written stands here, and every field of an access line.

/** Fields of an `access` line, in their order. */
export const ACCESS_FIELDS: Readonly<Record<string, string>> = {
  time: "when the request was over, UTC",
  event: "access",
  request_id: "X-Request-Id, as the server behind got it; null where nobody was asked",
  client_ip: "the client, by trusted_proxies or proxy_protocol if it came through one",
  method: "",
  host: "",
  path: "as it came, without the query",
  protocol: "HTTP/1.0, HTTP/1.1, HTTP/2.0, HTTP/3.0",
  status: "499 where the client was gone before an answer",
  bytes_in: "of the request's body, decoded",
  bytes_out: "of the answer's body",
  duration_ms: "from the request's first byte to the answer's end",
  upstream: "the server that was asked last; null where none was",
  upstream_ms: "until the head of its answer; null where none came",
  route: "the route's prefix, path or pattern; unmatched",
  cache: "hit, miss, stale …; null where the cache was not asked",
  waf_score: "",
  user_agent: "",
  fault: "why it was refused or cut: upstream_timeout, body_too_large, waf_blocked, cancelled …; else null",
};

/** All other events. */
export const EVENTS: Readonly<Record<string, string>> = {
  listening: "the ports are open; http3_port is UDP",
  draining: "SIGTERM or SIGINT: after delay_ms no more is accepted",
  drain_cut: "what was under way for longer than shutdown_timeout has been ended; the exit code is 3",
  config_reload:
    "SIGHUP, when all workers serve it; with ok: false and faults nothing has changed; removed names listeners and guards " +
    "that are gone, needs_restart what was not taken up",
  upgrade: "SIGUSR2: a new binary takes over; with ok: false and error this process goes on",
  log_reopen: "SIGUSR1, which changes nothing: the log goes to standard output",
  start: "a note on how it was started",
  upstream_failed: "no connection to a server: reason is ECONNREFUSED, ENOTFOUND, timeout, CERT_HAS_EXPIRED …",
  connection_limit:
    "too many client connections, in all or of one address, or no descriptors: reason, key, open; once a minute",
  limit_reject:
    "a limit ended a request (408, 413, 503): reason, the setting that did it as key, route, client_ip, body_bytes",
  spool_failed: "no file for a large body: folder, and reason such as ENOSPC; the client got 503",
  upstream_unhealthy: "a health check failed unhealthy_threshold times",
  upstream_healthy: "it passes again",
  breaker_open: "a circuit breaker keeps requests away from a server",
  breaker_closed: "and lets them through again",
  waf_block: "the firewall refused a request: rule_id, category, location; path is the target up to its query",
  waf_detect: "the same in detection mode, where it passed",
  waf_over_limit: "413 to a body larger than max_inspect_body_size, where over_limit is reject; key names the setting",
  prefix_guard_block: "a path would have left its static mount",
  framing_reject: "a malformed request, by reason",
  tls_reject: "a connection to a TLS port that came to nothing, by reason",
  rate_limited: "requests beyond a rate limit, at most a few lines a second",
  cert_obtained: "ACME: the first certificate for these names",
  cert_renewed: "ACME: the next one",
  cert_failed: "ACME: an attempt failed; when the next one comes",
  cert_waiting: "ACME: the last attempts failed before this start; when the next one comes",
  certificate_reload: "a certificate file changed",
  sidecar_warning: "a body beyond the sidecar's limit, or a setting that leaves something open",
  worker_failed: "a worker could not start",
  worker_stalled: "a worker stood still for stalled_ms and is replaced; its connections are lost",
  worker_died: "a worker ended and was started again",
  exception: "a mistake in edge itself, which cost one connection: please report it",
  log_dropped: "so many lines could not be written in time",
};

/** `edge help log`. */
export function logReference(): string {
  return (
    "The log goes to stdout, one JSON object a line. not_logged counts lines that were left out in a flood.\n\n" +
    `A line for every request (server.access_log):\n${table(ACCESS_FIELDS)}\n` +
    `Events, with a timestamp:\n${table(EVENTS)}`
  );
}

function table(rows: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(rows).map((name) => name.length));
  return Object.entries(rows)
    .map(([name, meaning]) => `${`  ${name.padEnd(width)}  ${meaning}`.trimEnd()}\n`)
    .join("");
}
