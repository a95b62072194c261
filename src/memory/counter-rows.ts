import { FAULTS } from "../core/fault-rows.ts";
import { LENIENCIES, Leniency } from "../core/leniency.ts";

/** One number that each worker counts, and how `/metrics` shows it. */
export interface CounterRow {
  /** Its place in a worker's row of counters. */
  readonly at: number;
  /** Whether it falls back to 0 when its worker ends; a counter never falls. */
  readonly isGauge: boolean;
  /** Its metric, a row of `metrics.ts` of its owner; "" if it is not shown. Rows of one name are one metric, told apart by their labels. */
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
}

type NewRow = Omit<CounterRow, "at">;

/**
 * The plain numbers of a worker: a new number is a row here, and `counters.add(COUNTERS.name)` where it happens; what its
 * metric says is a row of its owner (`features/<x>/metrics.ts`). Numbers that
 * are counted by fault, category, route or upstream follow below; their metrics are read in facts/worker-metrics.ts.
 */
export const COUNTERS = placed({
  requestsInFlight: gauge("gateway_requests_in_flight"),
  activeConnections: gauge("gateway_active_tcp_connections"),
  activeQuicStreams: gauge("gateway_quic_active_streams"),
  unsentBytes: gauge("gateway_unsent_bytes"),
  acceptedConnections: counter("gateway_accepted_tcp_connections_total"),
  fullHandshakes: counter("gateway_tls_handshakes_total", { resumed: "false" }),
  resumedHandshakes: counter("gateway_tls_handshakes_total", { resumed: "true" }),
  keysHybrid: counter("gateway_tls_key_exchanges_total", { group: "X25519MLKEM768" }),
  keysX25519: counter("gateway_tls_key_exchanges_total", { group: "X25519" }),
  keysP256: counter("gateway_tls_key_exchanges_total", { group: "P-256" }),
  keysOther: counter("gateway_tls_key_exchanges_total", { group: "other" }),
  connectionsAbandoned: counter("gateway_abandoned_connections_total"),
  acceptPausedFull: counter("gateway_accept_pauses_total", { reason: "max_connections" }),
  acceptPausedDescriptors: counter("gateway_accept_pauses_total", { reason: "descriptors" }),
  idleClosed: counter("gateway_idle_connections_closed_total"),
  cutResponses: counter("gateway_cut_responses_total"),
  retries: counter("gateway_retries_total"),
  lenientBareLf: lenient(Leniency.BareLf),
  lenientFolding: lenient(Leniency.Folding),
  lenientLength: lenient(Leniency.RepeatedLength),
  lenientBody: lenient(Leniency.BodyOf204),
  lenientCoding: lenient(Leniency.RepeatedCoding),
  wafInspected: counter("gateway_waf_inspected_requests_total"),
  wafBudgetExhausted: counter("gateway_waf_budget_exhausted_total"),
  maintenance: counter("gateway_maintenance_refusals_total"),
  authRefused: counter("gateway_auth_refusals_total", { status: "401" }),
  authForbidden: counter("gateway_auth_refusals_total", { status: "403" }),
  authGuessed: counter("gateway_auth_refusals_total", { status: "429" }),
  authRedirected: counter("gateway_auth_refusals_total", { status: "3xx" }),
  authUnavailable: counter("gateway_auth_refusals_total", { status: "503" }),
  botPages: counter("gateway_bot_challenges_total", { form: "page" }),
  botJson: counter("gateway_bot_challenges_total", { form: "json" }),
  botSolved: counter("gateway_bot_solutions_total", { result: "accepted" }),
  botMalformed: counter("gateway_bot_solutions_total", { result: "malformed" }),
  botExpired: counter("gateway_bot_solutions_total", { result: "expired" }),
  botWeak: counter("gateway_bot_solutions_total", { result: "weak" }),
  botForged: counter("gateway_bot_solutions_total", { result: "forged" }),
  botUnsolved: counter("gateway_bot_solutions_total", { result: "unsolved" }),
  bannedConnections: counter("gateway_bans_refused_total", { what: "connection" }),
  bannedRequests: counter("gateway_bans_refused_total", { what: "request" }),
  impostorsSeen: counter("gateway_bot_impostors_total", { action: "detection" }),
  impostorsAsked: counter("gateway_bot_impostors_total", { action: "challenge" }),
  impostorsBlocked: counter("gateway_bot_impostors_total", { action: "block" }),
  agentsVerified: counter("gateway_agent_signatures_total", { result: "verified" }),
  agentsRefused: counter("gateway_agent_signatures_total", { result: "refused" }),
  crawlersVerified: counter("gateway_bot_crawlers_total", { result: "verified" }),
  crawlersRefused: counter("gateway_bot_crawlers_total", { result: "refused" }),
  signInLogin: counter("gateway_sign_in_failures_total", { step: "login" }),
  signInCallback: counter("gateway_sign_in_failures_total", { step: "callback" }),
  signInRenewal: counter("gateway_sign_in_failures_total", { step: "renewal" }),
  signInLogout: counter("gateway_sign_in_failures_total", { step: "logout" }),
  sidecarDeniedId: counter("gateway_sidecar_denied_requests_total", { reason: "allowed_ids" }),
  sidecarDeniedRule: counter("gateway_sidecar_denied_requests_total", { reason: "authorization" }),
  sidecarDeniedOutbound: counter("gateway_sidecar_denied_requests_total", { reason: "outbound" }),
  compressedZstd: compressed("zstd"),
  compressedBrotli: compressed("br"),
  compressedGzip: compressed("gzip"),
  compressionBytesIn: counter("gateway_compression_bytes_total", { direction: "in" }),
  compressionBytesOut: counter("gateway_compression_bytes_total", { direction: "out" }),
  compressionSkipped: counter("gateway_compression_skipped_total"),
  cacheDiskReads: counter("gateway_cache_disk_reads_total", { result: "ok" }),
  cacheDiskDamaged: counter("gateway_cache_disk_reads_total", { result: "damaged" }),
  cachePurgesUrl: purged("url"),
  cachePurgesPrefix: purged("prefix"),
  cachePurgesTags: purged("tags"),
  cachePurgesAll: purged("all"),
  clusterWaits: counter("gateway_cluster_waits_total"),
  clusterAlone: counter("gateway_cluster_local_decisions_total"),
  logLinesDropped: hidden(),
  /** Characters of log batches that the worker sent to the control thread. */
  logCharsSent: hidden(),
  /** Characters that the control thread took from it: the one place that the control thread writes. */
  logCharsTaken: hidden(),
});

/** The attacks that the firewall's rules protect against, in the order of reports. docs/waf.md#rules */
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
  "json",
  "custom",
] as const;

/** Labels of its findings; any other name counts as the last. */
export const WAF_LABELS: readonly string[] = [...WAF_CATEGORIES, "leak", "over_limit", "other"];

/** What becomes of requests that a route mirrors, as they are counted. docs/upstreams.md#mirroring */
export const MIRROR_COUNTS = ["sent", "skipped", "failed", "different"] as const;
export type MirrorCount = (typeof MIRROR_COUNTS)[number];

/** What becomes of second requests of routes with hedge, as they are counted. docs/upstreams.md#hedging */
export const HEDGE_COUNTS = ["sent", "won", "failed", "skipped"] as const;
export type HedgeCount = (typeof HEDGE_COUNTS)[number];

/** Upper bounds of the latency buckets in milliseconds, 100 µs to 10 s; one more bucket takes slower requests. */
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
const CACHE_PLACES = 16;
export const TRIPS_AT: number = CACHE_AT + CACHE_PLACES;
export const UNCONNECTED_AT: number = TRIPS_AT + MAX_UPSTREAM_LABELS;
export const ROW_PLACES: number = UNCONNECTED_AT + MAX_UPSTREAM_LABELS;

/** The index of a WAF category. */
export function wafCategoryIndex(category: string): number {
  const index = WAF_LABELS.indexOf(category);
  return index < 0 ? WAF_LABELS.length - 1 : index;
}

function counter(metric: string, labels: CounterRow["labels"] = {}): NewRow {
  return { isGauge: false, metric, labels };
}

function compressed(encoding: string): NewRow {
  return counter("gateway_compressed_responses_total", { encoding });
}

function purged(kind: string): NewRow {
  return counter("gateway_cache_purges_total", { kind });
}

function lenient(what: Leniency): NewRow {
  return counter("gateway_lenient_answers_total", { leniency: LENIENCIES[what]! });
}

function gauge(metric: string): NewRow {
  return { isGauge: true, metric, labels: {} };
}

function hidden(): NewRow {
  return counter("");
}

/** Gives each row its place. */
function placed<Name extends string>(rows: Record<Name, NewRow>): Readonly<Record<Name, CounterRow>> {
  const names = Object.keys(rows) as Name[];
  const entries = names.map((name, at): [Name, CounterRow] => [name, { at, ...rows[name] }]);
  return Object.fromEntries(entries) as Record<Name, CounterRow>;
}
