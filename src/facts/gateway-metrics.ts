import type { MetricRows } from "../core/metric-row.ts";

/** Metrics of traffic, connections, upstreams, streams and the process. */
export const GATEWAY_METRICS = {
  gateway_requests_total: {
    kind: "counter",
    help: "Requests that ended, by method, status code and path of the route.",
    labels: ["method", "code", "path"],
    group: "Traffic",
    title: "Requests by status",
    advice:
      "If 5xx rise on one `path`, look at the upstreams of that route first. 502 and 504 come from origins that are down, 503 from limits and maintenance, 500 is a defect. 4xx that rise on `unmatched` are usually scanners.",
  },
  gateway_request_duration_seconds: {
    kind: "histogram",
    help: "Time from the first byte of a request to the end of its response; without malformed heads, and without `/metrics` and `/internal/`.",
    labels: [],
    group: "Traffic",
    title: "Request duration",
    advice:
      "Compare with `gateway_upstream_request_duration_seconds`: if both rise, your origin is slow; if only this one rises, you have slow clients, large bodies, or a worker without CPU.",
  },
  gateway_requests_in_flight: {
    kind: "gauge",
    help: "Requests in progress.",
    labels: [],
    group: "Traffic",
    title: "Requests in progress",
    advice:
      "It rises with load and with slow origins. If it rises and the request rate does not, look at the durations of your upstreams.",
  },
  gateway_request_body_bytes_total: {
    kind: "counter",
    help: "Bytes of request bodies, decoded.",
    labels: [],
    group: "Traffic",
    title: "Request body bytes",
    advice:
      "Uploads. A jump without more requests is a client that sends large bodies. You bound it with `max_body_bytes` and `min_body_rate`.",
  },
  gateway_response_body_bytes_total: {
    kind: "counter",
    help: "Bytes of response bodies.",
    labels: [],
    group: "Traffic",
    title: "Response body bytes",
    advice: "Downloads. If it rises and the cache's hit ratio falls, edge no longer stores some responses.",
  },
  gateway_active_tcp_connections: {
    kind: "gauge",
    help: "Open client connections.",
    labels: [],
    group: "Connections",
    title: "Open client connections",
    advice:
      "Near `server.max_connections` new ones wait in the kernel's queue. Raise the limit and the descriptors (`LimitNOFILE`), or shorten `idle_timeout`.",
  },
  gateway_accepted_tcp_connections_total: {
    kind: "counter",
    help: "Client connections accepted.",
    labels: [],
    group: "Connections",
    title: "Accepted connections",
    advice:
      "A rate near that of requests means that clients do not keep connections; your load balancer in front should. A jump without requests is a flood: `max_connections_per_ip` bounds one address.",
  },
  gateway_quic_active_streams: {
    kind: "gauge",
    help: "Open HTTP/3 request streams.",
    labels: [],
    group: "Connections",
    title: "HTTP/3 streams",
    advice: "HTTP/3 requests that are open. All of them are served by the first worker.",
  },
  gateway_listener_connections_total: {
    kind: "counter",
    help: "Client connections over TCP and UNIX sockets, by listener.",
    labels: ["listener"],
    group: "Connections",
    title: "Connections by listener",
    advice:
      "Which address your clients use. If a listener stays at 0, remove it, or look for a firewall in front of it.",
  },
  gateway_listener_active_connections: {
    kind: "gauge",
    help: "Open client connections over TCP and UNIX sockets, by listener.",
    labels: ["listener"],
    group: "Connections",
    title: "Open connections by listener",
    advice: "After a reload that removes a listener, it falls to 0 as its connections end.",
  },
  gateway_idle_connections_closed_total: {
    kind: "counter",
    help: "Idle client connections closed to make room for new ones.",
    labels: [],
    group: "Connections",
    title: "Idle connections closed for others",
    advice: "Connections are at their limit. Raise `server.max_connections`, or find the client that holds so many.",
  },
  gateway_accept_pauses_total: {
    kind: "counter",
    help: "Times that a worker stopped accepting connections for a while, by reason.",
    labels: ["reason"],
    group: "Connections",
    title: "Pauses of accepting",
    advice:
      "`max_connections`: as above. `descriptors`: the process may open too few files; raise `LimitNOFILE` of the unit.",
  },
  gateway_abandoned_connections_total: {
    kind: "counter",
    help: "Connections closed because too much was buffered for peers that do not read.",
    labels: [],
    group: "Connections",
    title: "Connections abandoned",
    advice:
      "Clients or origins do not read their data, and `server.max_unsent_bytes` is full. You may be under a slow-read attack.",
  },
  gateway_unsent_bytes: {
    kind: "gauge",
    help: "Bytes buffered for peers that do not read.",
    labels: [],
    group: "Connections",
    title: "Bytes for peers that do not read",
    advice: "Memory held for slow peers. It should stay far under `server.max_unsent_bytes`.",
  },
  gateway_tls_handshakes_total: {
    kind: "counter",
    help: "Completed TLS handshakes, by whether an earlier session was resumed.",
    labels: ["resumed"],
    group: "Connections",
    title: "TLS handshakes",
    advice:
      'Full handshakes (`resumed="false"`) cost the most CPU of all. Many of them from few clients: these do not resume sessions or keep connections.',
  },
  gateway_tls_key_exchanges_total: {
    kind: "counter",
    help: "Completed TLS handshakes over TCP, by the group of the key exchange.",
    labels: ["group"],
    group: "Connections",
    title: "TLS key exchanges",
    advice:
      '`group="X25519MLKEM768"` is safe against quantum computers; clients of the other groups do not offer it, or `curves` leaves it out.',
  },
  gateway_tls_handshake_failures_total: {
    kind: "counter",
    help: "Failed TLS handshakes, by reason.",
    labels: ["reason"],
    group: "Connections",
    title: "Failed TLS handshakes",
    advice:
      "`plain_http_on_tls`: a client speaks http on the TLS port. `client_certificate_refused`: a client's certificate has expired or is of another authority. `handshake_timeout` in masses is a flood.",
  },
  gateway_cut_responses_total: {
    kind: "counter",
    help: "Responses cut after their head because the origin's was malformed, broke off or stalled.",
    labels: [],
    group: "Upstreams",
    title: "Responses cut",
    advice:
      "Your clients got the beginning of a response, and then a cut. Check the lines of the access log whose `fault` begins with `upstream_`, and the responses of those origins.",
  },
  gateway_retries_total: {
    kind: "counter",
    help: "Attempts beyond the first of a request: gateway_upstream_requests_total counts every attempt.",
    labels: [],
    group: "Upstreams",
    title: "Retries",
    advice:
      "`upstream_failed` in the log names the targets that fail first, and `fault_detail` the cause: `edge help 502`.",
  },
  gateway_upstream_requests_total: {
    kind: "counter",
    help: "Attempts at upstreams, by upstream and status code: a request that is sent again counts again.",
    labels: ["upstream", "code"],
    group: "Upstreams",
    title: "Upstream attempts",
    advice:
      "`code` 502 and 504 here are attempts without a response. Without `gateway_retries_total`, which counts attempts beyond the first, these are requests.",
  },
  gateway_upstream_request_duration_seconds: {
    kind: "histogram",
    help: "Time that upstreams took to respond, by upstream.",
    labels: ["upstream"],
    group: "Upstreams",
    title: "Upstream duration",
    advice:
      "One upstream is slower than the others of its route: drain it (`edge drain`) and look at it. All of them are slower: look at the parts that they share, such as a database.",
  },
  gateway_upstream_healthy: {
    kind: "gauge",
    help: "1 while the breaker of the upstream is closed and its health check passes, else 0.",
    labels: ["upstream"],
    group: "Upstreams",
    title: "Upstream health",
    advice: "0: it gets no requests. The lines `breaker_open` and `upstream_unhealthy` of the log say why.",
  },
  gateway_circuit_breaker_state: {
    kind: "gauge",
    help: "State of the circuit breaker, by upstream: 0 closed, 1 half-open, 2 open.",
    labels: ["upstream"],
    group: "Upstreams",
    title: "Circuit breakers",
    advice:
      "If it stays 2, your origin is down. If it alternates, your origin fails under load and recovers without; `slow_start` lets its share grow slowly.",
  },
  gateway_circuit_breaker_trips_total: {
    kind: "counter",
    help: "Times that a circuit breaker opened, by upstream.",
    labels: ["upstream"],
    group: "Upstreams",
    title: "Circuit breaker trips",
    advice:
      "If it trips again and again, your origin comes back and fails again. Check `failure_threshold` and the origin's own log.",
  },
  gateway_lenient_answers_total: {
    kind: "counter",
    help: "Malformed responses accepted because strict_origins is false, by fault.",
    labels: ["leniency"],
    group: "Upstreams",
    title: "Malformed responses accepted",
    advice:
      "Your origin writes malformed responses, and you accept them with `strict_origins: false`. Fix your origin: response splitting uses such responses.",
  },
  gateway_config_last_reload_successful: {
    kind: "gauge",
    help: "1 after a successful reload or start, 0 after a failed reload.",
    labels: [],
    group: "Process",
    title: "Last reload",
    advice:
      "0: the gateway serves an older configuration than your files. The line `config_reload` has the faults; `edge check` finds them without a gateway.",
  },
  gateway_config_last_reload_success_timestamp_seconds: {
    kind: "gauge",
    help: "When the current configuration was loaded, in seconds since the epoch.",
    labels: [],
    group: "Process",
    title: "Configuration loaded",
    advice: "Compare it with the times of your files.",
  },
  gateway_worker_stalls_total: {
    kind: "counter",
    help: "Workers that stopped responding.",
    labels: [],
    group: "Process",
    title: "Workers replaced",
    advice:
      "A worker stood still for ten seconds: your machine swaps or has no CPU left, or you found a defect. Please report it with the lines before `worker_stalled`.",
  },
  gateway_log_lines_dropped_total: {
    kind: "counter",
    help: "Log lines that could not be written.",
    labels: [],
    group: "Process",
    title: "Dropped log lines",
    advice:
      "The reader of your log is too slow, an output is down, or edge bounded a flood of refusals. Your users do not notice.",
  },
  gateway_build_info: {
    kind: "gauge",
    help: "Always 1, with the version as label.",
    labels: ["version"],
    group: "Process",
    title: "Version",
    advice: "If you see several versions, a rolling upgrade is under way.",
  },
  gateway_stream_connections_total: {
    kind: "counter",
    help: "Forwarded connections that have begun, refused ones included, by stream.",
    labels: ["route"],
    group: "Streams",
    title: "Forwarded connections",
    advice:
      "The load of a stream. If it rises and the bytes do not, look at `gateway_stream_ended_total`: clients reconnect again and again.",
  },
  gateway_stream_open_connections: {
    kind: "gauge",
    help: "Forwarded connections that are open, by stream.",
    labels: ["route"],
    group: "Streams",
    title: "Open forwarded connections",
    advice: "Compare with the stream's `max_connections`, and with the limits of its targets.",
  },
  gateway_stream_bytes_total: {
    kind: "counter",
    help: "Bytes forwarded, by stream and direction: in from clients, out to them.",
    labels: ["route", "direction"],
    group: "Streams",
    title: "Forwarded bytes",
    advice: "`in` from clients, `out` to them.",
  },
  gateway_stream_ended_total: {
    kind: "counter",
    help: "Forwarded connections that are over, by stream and why.",
    labels: ["route", "reason"],
    group: "Streams",
    title: "Ends of forwarded connections",
    advice:
      "`connect_failed` and `no_target`: your targets are down. `target_reset`: they end connections by themselves. `max_connections` and `address_refused`: the stream's own limits. `idle_timeout`: raise it, or let clients send keep-alives.",
  },
  gateway_stream_connect_failures_total: {
    kind: "counter",
    help: "Connections to targets of streams that did not come about, by upstream.",
    labels: ["upstream"],
    group: "Streams",
    title: "Failed connections to targets",
    advice:
      "`upstream_failed` in your log names the reason. Your clients do not notice while another target takes the connection.",
  },
} as const satisfies MetricRows;
