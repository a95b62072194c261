import { FAULTS } from "../core/fault-rows.ts";
import { LENIENCIES, Leniency } from "../core/leniency.ts";

const TLS_HANDSHAKES = "Completed TLS handshakes, by whether an earlier session was resumed.";
const COMPRESSION_BYTES = "Bytes of response bodies before (in) and after compression (out).";
const AUTH_REFUSALS =
  "Requests refused because their credentials are missing or wrong, or could not be checked, by status.";
const BOT_CHALLENGES = "Requests that were asked for a task, by what was sent: the page, or JSON to programs.";
const BOT_SOLUTIONS = "Solved tasks that came back, by whether they counted, or why not.";
const CRAWLERS = "Addresses that named themselves a crawler and were looked up, by what was found.";
const SIGN_IN_FAILURES = "Sign-ins with OpenID Connect, renewals of sessions and sign-outs that failed, by step.";
const SIDECAR_DENIED =
  "Requests at a sidecar that were refused for who asks, or where they go, by the setting that refused them.";
const CACHE_DISK_READS = "Entries of the cache read from disk, by whether they were what had been written.";
const ACCEPT_PAUSES = "Times that a worker stopped accepting connections for a while, by reason.";

/** One number that each worker counts, and how `/metrics` shows it. */
export interface CounterRow {
  /** Its place in a worker's row of counters. */
  readonly at: number;
  /** Whether it falls back to 0 when its worker ends; a counter never falls. */
  readonly isGauge: boolean;
  /** "" where it is not shown. Rows of one name are one metric, told apart by their labels. */
  readonly metric: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
}

type NewRow = Omit<CounterRow, "at">;

/**
 * The plain numbers of a worker: a new metric is a row here, and `counters.add(COUNTERS.name)` where it happens. Numbers that
 * are counted by fault, category, route or upstream follow below; their metrics are rows of gateway-metrics.ts.
 */
export const COUNTERS = placed({
  requestsInFlight: gauge("gateway_requests_in_flight", "Requests in progress."),
  activeConnections: gauge("gateway_active_tcp_connections", "Open client connections."),
  activeQuicStreams: gauge("gateway_quic_active_streams", "Open HTTP/3 request streams."),
  unsentBytes: gauge("gateway_unsent_bytes", "Bytes buffered for peers that do not read."),
  acceptedConnections: counter("gateway_accepted_tcp_connections_total", "Client connections accepted."),
  fullHandshakes: counter("gateway_tls_handshakes_total", TLS_HANDSHAKES, { resumed: "false" }),
  resumedHandshakes: counter("gateway_tls_handshakes_total", TLS_HANDSHAKES, { resumed: "true" }),
  connectionsAbandoned: counter(
    "gateway_abandoned_connections_total",
    "Connections closed because too much was buffered for peers that do not read.",
  ),
  acceptPausedFull: counter("gateway_accept_pauses_total", ACCEPT_PAUSES, { reason: "max_connections" }),
  acceptPausedDescriptors: counter("gateway_accept_pauses_total", ACCEPT_PAUSES, { reason: "descriptors" }),
  idleClosed: counter(
    "gateway_idle_connections_closed_total",
    "Idle client connections closed to make room for new ones.",
  ),
  cutResponses: counter(
    "gateway_cut_responses_total",
    "Responses cut after their head because the origin's was malformed, broke off or stalled.",
  ),
  lenientBareLf: lenient(Leniency.BareLf),
  lenientFolding: lenient(Leniency.Folding),
  lenientLength: lenient(Leniency.RepeatedLength),
  lenientBody: lenient(Leniency.BodyOf204),
  lenientCoding: lenient(Leniency.RepeatedCoding),
  wafInspected: counter("gateway_waf_inspected_requests_total", "Requests inspected by the firewall."),
  wafBudgetExhausted: counter(
    "gateway_waf_budget_exhausted_total",
    "Inspections that the firewall ended because they took too many steps.",
  ),
  maintenance: counter("gateway_maintenance_refusals_total", "Requests refused because of maintenance."),
  authRefused: counter("gateway_auth_refusals_total", AUTH_REFUSALS, { status: "401" }),
  authForbidden: counter("gateway_auth_refusals_total", AUTH_REFUSALS, { status: "403" }),
  authGuessed: counter("gateway_auth_refusals_total", AUTH_REFUSALS, { status: "429" }),
  authRedirected: counter("gateway_auth_refusals_total", AUTH_REFUSALS, { status: "3xx" }),
  authUnavailable: counter("gateway_auth_refusals_total", AUTH_REFUSALS, { status: "503" }),
  botPages: counter("gateway_bot_challenges_total", BOT_CHALLENGES, { form: "page" }),
  botJson: counter("gateway_bot_challenges_total", BOT_CHALLENGES, { form: "json" }),
  botSolved: counter("gateway_bot_solutions_total", BOT_SOLUTIONS, { result: "accepted" }),
  botMalformed: counter("gateway_bot_solutions_total", BOT_SOLUTIONS, { result: "malformed" }),
  botExpired: counter("gateway_bot_solutions_total", BOT_SOLUTIONS, { result: "expired" }),
  botWeak: counter("gateway_bot_solutions_total", BOT_SOLUTIONS, { result: "weak" }),
  botForged: counter("gateway_bot_solutions_total", BOT_SOLUTIONS, { result: "forged" }),
  botUnsolved: counter("gateway_bot_solutions_total", BOT_SOLUTIONS, { result: "unsolved" }),
  crawlersVerified: counter("gateway_bot_crawlers_total", CRAWLERS, { result: "verified" }),
  crawlersRefused: counter("gateway_bot_crawlers_total", CRAWLERS, { result: "refused" }),
  signInLogin: counter("gateway_sign_in_failures_total", SIGN_IN_FAILURES, { step: "login" }),
  signInCallback: counter("gateway_sign_in_failures_total", SIGN_IN_FAILURES, { step: "callback" }),
  signInRenewal: counter("gateway_sign_in_failures_total", SIGN_IN_FAILURES, { step: "renewal" }),
  signInLogout: counter("gateway_sign_in_failures_total", SIGN_IN_FAILURES, { step: "logout" }),
  sidecarDeniedId: counter("gateway_sidecar_denied_requests_total", SIDECAR_DENIED, { reason: "allowed_ids" }),
  sidecarDeniedRule: counter("gateway_sidecar_denied_requests_total", SIDECAR_DENIED, { reason: "authorization" }),
  sidecarDeniedOutbound: counter("gateway_sidecar_denied_requests_total", SIDECAR_DENIED, { reason: "outbound" }),
  compressedZstd: compressed("zstd"),
  compressedBrotli: compressed("br"),
  compressedGzip: compressed("gzip"),
  compressionBytesIn: counter("gateway_compression_bytes_total", COMPRESSION_BYTES, { direction: "in" }),
  compressionBytesOut: counter("gateway_compression_bytes_total", COMPRESSION_BYTES, { direction: "out" }),
  compressionSkipped: counter(
    "gateway_compression_skipped_total",
    "Responses sent plain because too many were being compressed.",
  ),
  cacheDiskReads: counter("gateway_cache_disk_reads_total", CACHE_DISK_READS, { result: "ok" }),
  cacheDiskDamaged: counter("gateway_cache_disk_reads_total", CACHE_DISK_READS, { result: "damaged" }),
  cachePurgesUrl: purged("url"),
  cachePurgesPrefix: purged("prefix"),
  cachePurgesTags: purged("tags"),
  cachePurgesAll: purged("all"),
  clusterWaits: counter("gateway_cluster_waits_total", "Requests that waited for the store of the fleet."),
  clusterAlone: counter(
    "gateway_cluster_local_decisions_total",
    "Requests under limits of the fleet that the gateway's own buckets decided: the store was away, or late.",
  ),
  logLinesDropped: hidden(),
  /** Characters of log batches that the worker sent to the control thread. */
  logCharsSent: hidden(),
  /** Characters that the control thread took from it: the one place that the control thread writes. */
  logCharsTaken: hidden(),
});

/** What the firewall's rules protect against, in the order in which they are reported. docs/waf.md#rules */
export const WAF_CATEGORIES = [
  "traversal",
  "sqli",
  "xss",
  "rce",
  "lfi",
  "rfi",
  "ssrf",
  "log4j",
  "scanner",
  "protocol",
  "ldap",
  "files",
  "custom",
] as const;

/** Labels of what it has found; any other name is counted as the last. */
export const WAF_LABELS: readonly string[] = [...WAF_CATEGORIES, "leak", "over_limit", "other"];

/** What becomes of requests that a route mirrors, as they are counted. docs/upstreams.md#mirroring */
export const MIRROR_COUNTS = ["sent", "skipped", "failed", "different"] as const;
export type MirrorCount = (typeof MIRROR_COUNTS)[number];

/** Upper bounds of the latency buckets in milliseconds, 100 µs to 10 s; one more bucket takes what is slower. */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000,
];

/** Upstreams with counters of their own, the overflow included. */
export const MAX_UPSTREAM_LABELS = 256;
/** Route labels with counters of their own, the overflow included. */
export const MAX_ROUTE_LABELS = 8192;

/*
 * A worker's row of counters, one Float64 a place, in this order:
 *
 *     COUNTERS | a count a Fault | blocked a WAF category | detected a WAF category | a count a cache result
 *     | breaker trips an upstream
 *
 * What is counted by route or upstream besides is in traffic-blocks.ts.
 */
export const FRAMING_AT: number = Object.keys(COUNTERS).length;
export const WAF_BLOCKED_AT: number = FRAMING_AT + FAULTS.length;
export const WAF_DETECTED_AT: number = WAF_BLOCKED_AT + WAF_LABELS.length;
/** A count for each thing that the cache may do for a request. */
export const CACHE_AT: number = WAF_DETECTED_AT + WAF_LABELS.length;
export const CACHE_PLACES = 16;
export const TRIPS_AT: number = CACHE_AT + CACHE_PLACES;
export const UNCONNECTED_AT: number = TRIPS_AT + MAX_UPSTREAM_LABELS;
export const ROW_PLACES: number = UNCONNECTED_AT + MAX_UPSTREAM_LABELS;

/** The index of a WAF category. */
export function wafCategoryIndex(category: string): number {
  const index = WAF_LABELS.indexOf(category);
  return index < 0 ? WAF_LABELS.length - 1 : index;
}

function counter(metric: string, help: string, labels: CounterRow["labels"] = {}): NewRow {
  return { isGauge: false, metric, help, labels };
}

function compressed(encoding: string): NewRow {
  return counter("gateway_compressed_responses_total", "Responses compressed, by encoding.", { encoding });
}

function purged(kind: string): NewRow {
  return counter("gateway_cache_purges_total", "Purges of the cache by operators, by what was named.", { kind });
}

function lenient(what: Leniency): NewRow {
  const help = "Responses accepted because strict_origins is false, by what was wrong with them.";
  return counter("gateway_lenient_answers_total", help, { leniency: LENIENCIES[what]! });
}

function gauge(metric: string, help: string): NewRow {
  return { isGauge: true, metric, help, labels: {} };
}

function hidden(): NewRow {
  return counter("", "");
}

/** Gives each row its place. */
function placed<Name extends string>(rows: Record<Name, NewRow>): Readonly<Record<Name, CounterRow>> {
  const names = Object.keys(rows) as Name[];
  const entries = names.map((name, at): [Name, CounterRow] => [name, { at, ...rows[name] }]);
  return Object.fromEntries(entries) as Record<Name, CounterRow>;
}
