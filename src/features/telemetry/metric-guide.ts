// What people are told of the metrics beside their help: docs/metrics.md and the dashboard of `edge grafana` are made of it. A test holds it
// to what a running gateway exposes.

/** Parts of the gateway, in the order in which they are shown. */
export const METRIC_GROUPS = [
  "Traffic",
  "Connections",
  "Upstreams",
  "Streams",
  "Firewall and guards",
  "Who may come in",
  "Cache",
  "Compression",
  "Certificates",
  "Process",
  "Sidecar",
  "Fleet",
  "Functions",
] as const;

/** One metric. */
export interface MetricGuide {
  readonly group: (typeof METRIC_GROUPS)[number];
  /** A few words, for a panel. */
  readonly title: string;
  /** Names of its labels, in the order in which they are shown. */
  readonly labels: readonly string[];
  /** What it means when the value moves, and what to do. */
  readonly advice: string;
}

/** The metrics of `/metrics`, by name. */
export const METRIC_GUIDE = {
  gateway_requests_total: {
    group: "Traffic",
    title: "Requests by status",
    labels: ["method", "code", "path"],
    advice:
      "5xx that rise on one `path`: look at that route's upstreams first. 502 and 504 come from origins that are away, 503 from limits and maintenance, 500 is a defect. 4xx that rise on `unmatched` are usually scanners.",
  },
  gateway_request_duration_seconds: {
    group: "Traffic",
    title: "Request duration",
    labels: [],
    advice:
      "Compare with `gateway_upstream_request_duration_seconds`: where both rise it is the origin, where this one rises alone it is slow clients, large bodies, or a worker without CPU.",
  },
  gateway_requests_in_flight: {
    group: "Traffic",
    title: "Requests in progress",
    labels: [],
    advice:
      "It rises with load and with slow origins. If it rises while the request rate does not, requests wait for something: look at the upstreams' durations.",
  },
  gateway_request_body_bytes_total: {
    group: "Traffic",
    title: "Request body bytes",
    labels: [],
    advice:
      "Uploads. A jump without more requests is a client that sends large bodies: `max_body_bytes` and `min_body_rate` bound what one can do.",
  },
  gateway_response_body_bytes_total: {
    group: "Traffic",
    title: "Response body bytes",
    labels: [],
    advice:
      "Downloads. Where it rises and the cache's hit ratio falls, responses that were stored before are not any more.",
  },
  gateway_mirrored_requests_total: {
    group: "Traffic",
    title: "Mirrored requests",
    labels: ["route", "result"],
    advice:
      "`failed` and `skipped`: a mirror is away or too slow. `different`: it responds otherwise than the target does (`compare`). Clients do not notice; what was mirrored is incomplete.",
  },
  gateway_maintenance_refusals_total: {
    group: "Traffic",
    title: "Refused for maintenance",
    labels: [],
    advice:
      "It rises only under maintenance. If none is planned, see `maintenance` in `edge status` and switch it off.",
  },
  gateway_active_tcp_connections: {
    group: "Connections",
    title: "Open client connections",
    labels: [],
    advice:
      "Near `server.max_connections` new ones wait in the kernel's queue. Raise the limit and the descriptors (`LimitNOFILE`), or shorten `idle_timeout`.",
  },
  gateway_accepted_tcp_connections_total: {
    group: "Connections",
    title: "Accepted connections",
    labels: [],
    advice:
      "A rate near that of requests means that clients do not keep connections: a load balancer in front should. A jump without requests is a flood: `max_connections_per_ip` bounds one address.",
  },
  gateway_quic_active_streams: {
    group: "Connections",
    title: "HTTP/3 streams",
    labels: [],
    advice: "HTTP/3 requests that are open. All of them are served by the first worker.",
  },
  gateway_idle_connections_closed_total: {
    group: "Connections",
    title: "Idle connections closed for others",
    labels: [],
    advice: "Connections are at their limit. Raise `server.max_connections`, or find who holds so many.",
  },
  gateway_accept_pauses_total: {
    group: "Connections",
    title: "Pauses of accepting",
    labels: ["reason"],
    advice:
      "`max_connections`: as above. `descriptors`: the process may open too few files; raise `LimitNOFILE` of the unit.",
  },
  gateway_abandoned_connections_total: {
    group: "Connections",
    title: "Connections abandoned",
    labels: [],
    advice:
      "Clients or origins do not read what is sent to them, and `server.max_unsent_bytes` is full. See whether a slow-reading attack is under way.",
  },
  gateway_unsent_bytes: {
    group: "Connections",
    title: "Bytes for peers that do not read",
    labels: [],
    advice: "Memory held for slow peers. It should stay far under `server.max_unsent_bytes`.",
  },
  gateway_tls_handshakes_total: {
    group: "Connections",
    title: "TLS handshakes",
    labels: ["resumed"],
    advice:
      'Full handshakes (`resumed="false"`) cost the most CPU of all. Many of them from few clients: these do not resume sessions or keep connections.',
  },
  gateway_tls_handshake_failures_total: {
    group: "Connections",
    title: "Failed TLS handshakes",
    labels: ["reason"],
    advice:
      "`plain_http_on_tls`: a client speaks http on the TLS port. `client_certificate_refused`: a client's certificate has expired or is of another authority. `handshake_timeout` in masses is a flood.",
  },
  gateway_cut_responses_total: {
    group: "Upstreams",
    title: "Responses cut",
    labels: [],
    advice:
      "Clients got the beginning of a response, and then a cut. See the lines of the access log whose `fault` begins with `upstream_`, and what those origins send.",
  },
  gateway_upstream_requests_total: {
    group: "Upstreams",
    title: "Upstream requests",
    labels: ["upstream", "code"],
    advice: "`code` 502 and 504 here are attempts without a response. More attempts than requests are retries.",
  },
  gateway_upstream_request_duration_seconds: {
    group: "Upstreams",
    title: "Upstream duration",
    labels: ["upstream"],
    advice:
      "One upstream slower than the others of its route: take it out (`drain`) and look at it. All of them slower: it is what they share, such as a database.",
  },
  gateway_upstream_healthy: {
    group: "Upstreams",
    title: "Upstream health",
    labels: ["upstream"],
    advice: "0: it gets no requests. The lines `breaker_open` and `upstream_unhealthy` of the log say why.",
  },
  gateway_circuit_breaker_state: {
    group: "Upstreams",
    title: "Circuit breakers",
    labels: ["upstream"],
    advice:
      "2 for long: the origin is away. Alternating: it fails under load and recovers without; `slow_start` lets its share grow slowly.",
  },
  gateway_circuit_breaker_trips_total: {
    group: "Upstreams",
    title: "Circuit breaker trips",
    labels: ["upstream"],
    advice:
      "Trips again and again: the origin comes back and fails again. See `failure_threshold` and the origin's own log.",
  },
  gateway_lenient_answers_total: {
    group: "Upstreams",
    title: "Malformed responses accepted",
    labels: ["leniency"],
    advice:
      "An origin writes malformed responses that are accepted because of `strict_origins: false`. Mend the origin: these are what response splitting is made of.",
  },
  gateway_waf_inspected_requests_total: {
    group: "Firewall and guards",
    title: "Inspected requests",
    labels: [],
    advice:
      "It follows the requests. Where it is lower, routes have the firewall off or clients are in `waf.allowed_ips`.",
  },
  gateway_waf_blocked_requests_total: {
    group: "Firewall and guards",
    title: "Blocked by the firewall",
    labels: ["category"],
    advice:
      "From few addresses it is an attack: see `edge top`, list 3. From many users right after a release it is a false positive: `edge waf test` shows which rule, an exclusion lets it pass.",
  },
  gateway_waf_detected_requests_total: {
    group: "Firewall and guards",
    title: "Detected and passed",
    labels: ["category"],
    advice: "What `mode: enforce` would refuse. When it holds only attacks, switch over.",
  },
  gateway_waf_budget_exhausted_total: {
    group: "Firewall and guards",
    title: "Inspections that took too long",
    labels: [],
    advice:
      "Requests made to be slow to inspect; they score as attacks. Regular users among them: their bodies are unusual, see the incidents.",
  },
  gateway_framing_rejections_total: {
    group: "Firewall and guards",
    title: "Malformed requests",
    labels: ["reason"],
    advice:
      "Scanners and request smuggling. From your own load balancer it is that one's bug: `reason` says what it writes.",
  },
  gateway_limit_refusals_total: {
    group: "Firewall and guards",
    title: "Ended by a limit",
    labels: ["reason"],
    advice:
      "The line `limit_reject` names the setting as `key`. `out_of_descriptors` and `buffers_full` are shortages of this machine, the others are clients beyond what is allowed.",
  },
  gateway_rate_limited_requests_total: {
    group: "Firewall and guards",
    title: "Rate limited",
    labels: ["route"],
    advice:
      "Some clients ask too often. If it is regular users, the limit is too low or many share one address (`key: user`, `ipv6_prefix`).",
  },
  gateway_bot_challenges_total: {
    group: "Firewall and guards",
    title: "Challenges for bots",
    labels: ["form"],
    advice:
      "It rises when scrapers come. Compare with solutions: many challenges without solutions are bots, with them they are people who are asked too often.",
  },
  gateway_bot_solutions_total: {
    group: "Firewall and guards",
    title: "Solutions of challenges",
    labels: ["result"],
    advice:
      "`forged` and `weak` are programs that try. `expired` in masses: `difficulty` is too high for the clients' machines.",
  },
  gateway_bot_crawlers_total: {
    group: "Firewall and guards",
    title: "Crawlers looked up",
    labels: ["result"],
    advice: "`refused` are clients that call themselves a search engine and are none.",
  },
  gateway_geo_reloads_total: {
    group: "Firewall and guards",
    title: "Databases of addresses reloaded",
    labels: ["result"],
    advice: "`failed`: the new file cannot be read, the one before stays. The line `geo_reload` says why.",
  },
  gateway_geo_database_built_seconds: {
    group: "Firewall and guards",
    title: "Databases of addresses, built",
    labels: ["database"],
    advice: "Older than two months: addresses have moved. See what fetches the file.",
  },
  gateway_auth_refusals_total: {
    group: "Who may come in",
    title: "Refused for credentials",
    labels: ["status"],
    advice:
      "401 from few addresses is guessing (429 follows). 503: the service that judges is away. 401 of all users at once: its key or clock has changed.",
  },
  gateway_sign_in_failures_total: {
    group: "Who may come in",
    title: "Failed sign-ins",
    labels: ["step"],
    advice:
      "`login`: the provider cannot be asked. `callback`: its settings of this client, or a clock, are wrong. The line `sign_in_failed` says which.",
  },
  gateway_jwks_fetches_total: {
    group: "Who may come in",
    title: "Fetches of token keys",
    labels: ["url", "result"],
    advice:
      "Failures are harmless for as long as the keys from before hold; new keys of the issuer are not taken meanwhile.",
  },
  gateway_jwks_keys: {
    group: "Who may come in",
    title: "Keys of token issuers",
    labels: ["url"],
    advice: "0: no token of this issuer can be verified, requests get 503.",
  },
  gateway_cache_requests_total: {
    group: "Cache",
    title: "Cache lookups",
    labels: ["result"],
    advice:
      "A falling share of `hit`: after a release origins forbid storing (`bypass`), keys vary more than needed, or the memory is too small (evictions).",
  },
  gateway_cache_entries: {
    group: "Cache",
    title: "Stored responses",
    labels: [],
    advice: "At `max_entries` others make way.",
  },
  gateway_cache_bytes: {
    group: "Cache",
    title: "Memory of the cache",
    labels: [],
    advice: "At `max_bytes` others make way: see evictions.",
  },
  gateway_cache_evictions_total: {
    group: "Cache",
    title: "Evictions",
    labels: [],
    advice: "Steady evictions with a low share of hits: give the cache more memory, or keep large responses out of it.",
  },
  gateway_cache_purges_total: {
    group: "Cache",
    title: "Purges",
    labels: ["kind"],
    advice:
      "Who purged what is in the lines `audit`. `all` again and again empties the cache for all clients: purge by tag.",
  },
  gateway_cache_disk_up: {
    group: "Cache",
    title: "Disk of the cache",
    labels: [],
    advice: "0: nothing is written any more, the memory goes on. The line `cache_disk_failed` says why.",
  },
  gateway_cache_disk_entries: {
    group: "Cache",
    title: "Responses on disk",
    labels: [],
    advice: "It grows until the disk's share is full.",
  },
  gateway_cache_disk_bytes: {
    group: "Cache",
    title: "Bytes on disk",
    labels: [],
    advice: "At its limit others make way.",
  },
  gateway_cache_disk_evictions_total: {
    group: "Cache",
    title: "Removed from disk",
    labels: [],
    advice: "Steady removals: the disk's share is smaller than what is asked for.",
  },
  gateway_cache_disk_missed_total: {
    group: "Cache",
    title: "Not written to disk in time",
    labels: [],
    advice: "The disk is slower than what is stored, or the memory too small for the time until it is written.",
  },
  gateway_cache_disk_reads_total: {
    group: "Cache",
    title: "Reads from disk",
    labels: ["result"],
    advice: "`damaged`: the disk fails, or another program writes in the folder.",
  },
  gateway_compressed_responses_total: {
    group: "Compression",
    title: "Compressed responses",
    labels: ["encoding"],
    advice: "It follows the responses that can be compressed.",
  },
  gateway_compression_bytes_total: {
    group: "Compression",
    title: "Bytes before and after",
    labels: ["direction"],
    advice: "Little between `in` and `out`: what is compressed does not shrink; see `types`.",
  },
  gateway_compression_skipped_total: {
    group: "Compression",
    title: "Sent plain for want of CPU",
    labels: [],
    advice: "CPU is short. Lower `level`, or let the cache keep packed responses.",
  },
  gateway_certificate_not_after_seconds: {
    group: "Certificates",
    title: "Certificates, days left",
    labels: ["domain"],
    advice: "Renewals come long before the end. Less than a week left: see `edge certs` and the lines `cert_failed`.",
  },
  gateway_acme_renewals_total: {
    group: "Certificates",
    title: "ACME orders",
    labels: ["result"],
    advice:
      "`failure`: the line `cert_failed` says why and when it is tried again. The certificate from before stays in use.",
  },
  gateway_acme_storage_up: {
    group: "Certificates",
    title: "Storage of certificates",
    labels: [],
    advice: "0 for long: no certificate is renewed. The line `cert_store_away` says why.",
  },
  gateway_acme_storage_failures_total: {
    group: "Certificates",
    title: "Storage calls failed",
    labels: [],
    advice: "A few are passing faults. Many: see the storage and the network between.",
  },
  gateway_certificate_reloads_total: {
    group: "Certificates",
    title: "Certificate files changed",
    labels: ["result"],
    advice: "`failed`: certificate and key do not belong together, or one cannot be read. The one before stays in use.",
  },
  gateway_config_last_reload_successful: {
    group: "Process",
    title: "Last reload",
    labels: [],
    advice:
      "0: the files are not what serves. The line `config_reload` has the faults; `edge check` finds them without a gateway.",
  },
  gateway_config_last_reload_success_timestamp_seconds: {
    group: "Process",
    title: "Configuration loaded",
    labels: [],
    advice: "When the configuration in use was loaded; compare with the files' times.",
  },
  gateway_worker_stalls_total: {
    group: "Process",
    title: "Workers replaced",
    labels: [],
    advice:
      "A worker stood still for ten seconds: the machine swaps or has no CPU to give, or it is a defect. Please report it with the lines before `worker_stalled`.",
  },
  gateway_log_lines_dropped_total: {
    group: "Process",
    title: "Dropped log lines",
    labels: [],
    advice:
      "What reads the log is too slow, an output is away, or a flood of refusals was bounded. Traffic is not affected.",
  },
  gateway_build_info: {
    group: "Process",
    title: "Version",
    labels: ["version"],
    advice: "Several versions at once: a rolling upgrade is under way.",
  },
  gateway_telemetry_items_total: {
    group: "Process",
    title: "Sent to the collector",
    labels: ["signal", "result"],
    advice: "Dropped ones: the collector is away or too slow. Requests are not affected.",
  },
  gateway_sidecar_denied_requests_total: {
    group: "Sidecar",
    title: "Denied for who asks",
    labels: ["reason"],
    advice:
      "A service calls that may not, or its identity has changed; with `outbound`, the application calls what no split leads to. The line `sidecar_denied` names it.",
  },
  gateway_sidecar_server_requests_total: {
    group: "Sidecar",
    title: "Requests by server",
    labels: ["server", "code"],
    advice:
      "Whom this application calls, and how that ends. `none` are servers without an identity, and those that did not respond.",
  },
  gateway_stream_connections_total: {
    group: "Streams",
    title: "Forwarded connections",
    labels: ["route"],
    advice:
      "The load of a stream. Where it rises and the bytes do not, look at `gateway_stream_ended_total`: clients come again and again.",
  },
  gateway_stream_open_connections: {
    group: "Streams",
    title: "Open forwarded connections",
    labels: ["route"],
    advice: "Compare with the stream's `max_connections`, and with what its targets take.",
  },
  gateway_stream_bytes_total: {
    group: "Streams",
    title: "Forwarded bytes",
    labels: ["route", "direction"],
    advice: "`in` from clients, `out` to them.",
  },
  gateway_stream_ended_total: {
    group: "Streams",
    title: "Ends of forwarded connections",
    labels: ["route", "reason"],
    advice:
      "`connect_failed` and `no_target`: the targets are away. `target_reset`: they end connections by themselves. `max_connections` and `address_refused`: the stream's own limits. `idle_timeout`: raise it, or let clients send keep-alives.",
  },
  gateway_stream_connect_failures_total: {
    group: "Streams",
    title: "Failed connections to targets",
    labels: ["upstream"],
    advice:
      "The log's `upstream_failed` names the reason. Clients notice nothing while another target takes the connection.",
  },
  gateway_sidecar_peer_requests_total: {
    group: "Sidecar",
    title: "Requests by peer",
    labels: ["peer", "code"],
    advice: "Who calls this service, and how that ends. `none` are clients without an identity.",
  },
  gateway_cluster_store_up: {
    group: "Fleet",
    title: "Store reachable",
    labels: [],
    advice: "0: Redis is away, and limits of the fleet are each gateway's own. The line `cluster_store_away` says why.",
  },
  gateway_cluster_nodes: {
    group: "Fleet",
    title: "Gateways",
    labels: [],
    advice: "Fewer than there should be: one has ended, or cannot reach the store.",
  },
  gateway_cluster_calls_total: {
    group: "Fleet",
    title: "Buckets asked for",
    labels: [],
    advice: "How much the limits of the fleet cost the store: one script for each.",
  },
  gateway_cluster_call_failures_total: {
    group: "Fleet",
    title: "Buckets not answered",
    labels: [],
    advice: "The store is away or slow: the gateway's own buckets decided. No client got an error for it.",
  },
  gateway_cluster_waits_total: {
    group: "Fleet",
    title: "Waited for the store",
    labels: [],
    advice:
      "Requests near a limit that came before tokens were fetched. Many of them: limits so small that each request must ask.",
  },
  gateway_cluster_local_decisions_total: {
    group: "Fleet",
    title: "Decided alone",
    labels: [],
    advice:
      "The store was away or late, and each gateway went by its part of the limit. No client got an error for it.",
  },
  gateway_cluster_health_hints_total: {
    group: "Fleet",
    title: "Hints of targets that are down",
    labels: [],
    advice: "Nothing. Many of them without `breaker_open`: another gateway alone cannot reach its targets.",
  },
  gateway_config_source_up: {
    group: "Fleet",
    title: "Source of the configuration reachable",
    labels: [],
    advice: "0: the last good configuration serves on. The line `config_source_away` says why.",
  },
  gateway_config_polls_total: {
    group: "Fleet",
    title: "Configurations asked for",
    labels: ["result"],
    advice:
      "`refused` grows: the source has what cannot be taken, and `config_reload` says why. `failed` grows: it is away.",
  },
  gateway_config_canary: {
    group: "Fleet",
    title: "Trials of configurations",
    labels: ["role"],
    advice: "1 for longer than `cluster.canary.for`: the store of the fleet is away, and no gateway moves.",
  },
  gateway_config_rollbacks_total: {
    group: "Fleet",
    title: "Configurations rolled back",
    labels: [],
    advice: "The line `canary_end` says what the canaries did with it.",
  },
  gateway_function_calls_total: {
    group: "Functions",
    title: "Calls of functions",
    labels: ["module", "outcome"],
    advice:
      "error: the line `function_failed` says where. timeout, gone: the module is too slow, or ends its thread. busy: more requests than `functions.concurrency` and `functions.queue` have room for.",
  },
  gateway_function_seconds_total: {
    group: "Functions",
    title: "Time in functions",
    labels: ["module"],
    advice: "Divided by the calls it is their mean time: where it grows, look at what the module waits for.",
  },
  gateway_function_queued: {
    group: "Functions",
    title: "Calls that wait for a thread",
    labels: ["module"],
    advice:
      "More than 0 for long: raise `functions.workers` where the module computes, `functions.concurrency` where it waits.",
  },
  gateway_function_thread_ends_total: {
    group: "Functions",
    title: "Threads of functions that ended",
    labels: ["module", "reason"],
    advice:
      "Each one cost the requests in it. stuck: find the loop. memory: find what grows. exit: take `process.exit` out.",
  },
  gateway_function_threads: {
    group: "Functions",
    title: "Threads of functions",
    labels: ["module"],
    advice: "0: the module cannot be loaded; `function_load_failed` says why.",
  },
  gateway_function_heap_bytes: {
    group: "Functions",
    title: "Memory of functions",
    labels: ["module"],
    advice:
      "Where it grows without end, the module keeps what it should let go; at `functions.memory` its thread is replaced.",
  },
  gateway_scheduled_runs_total: {
    group: "Functions",
    title: "Scheduled runs",
    labels: ["module", "result"],
    advice:
      "`error`, `timeout` and `died` are runs that came to no end: the line `function_scheduled` says why. `overlap`: a run takes longer than the time between two. In a fleet `elsewhere` counts the runs of other gateways.",
  },
  gateway_scheduled_last_success_timestamp_seconds: {
    group: "Functions",
    title: "Last good scheduled run",
    labels: ["module"],
    advice: "Alert on the largest value of all gateways when it is older than two times between runs.",
  },
} as const satisfies Readonly<Record<`gateway_${string}`, MetricGuide>>;

/** The name of a metric. */
export type MetricName = keyof typeof METRIC_GUIDE;

/** The unit of a metric, as its name says it. */
export function unitOf(name: string): "seconds" | "bytes" | "count" | "number" {
  if (/_seconds$/.test(name)) return "seconds";
  if (/_bytes(_total)?$/.test(name)) return "bytes";
  return name.endsWith("_total") ? "count" : "number";
}
