// What each built-in endpoint takes and gives, as data: /internal/api/openapi.json is made of it, and tests hold the running gateway and
// docs/endpoints.md to it.

/** A JSON Schema, as far as these documents need one. */
export type Schema = Readonly<Record<string, unknown>>;

/** One endpoint. */
export interface EndpointDoc {
  readonly summary: string;
  /** The page of docs/ that says more, with its heading. */
  readonly page: string;
  /** What a query may say. */
  readonly query?: Readonly<Record<string, Schema>>;
  /** The JSON of the body; none takes no body. */
  readonly request?: Schema;
  /** Whether the body may be left out. */
  readonly isBodyOptional?: boolean;
  /** What the response with 200 is: JSON of a schema, or another media type. */
  readonly response: Schema | string;
  /** Further statuses whose body is JSON of another schema than that of an error. */
  readonly others?: Readonly<Record<string, Schema>>;
  /** Statuses of refusals, beside those of who may come. */
  readonly refusals: readonly number[];
}

const TEXT: Schema = { type: "string" };
const COUNT: Schema = { type: "integer", minimum: 0 };
const NUMBER: Schema = { type: "number" };
const FLAG: Schema = { type: "boolean" };
const TIME: Schema = { type: "string", format: "date-time" };
const COUNTS: Schema = { type: "object", additionalProperties: COUNT };

function list(items: Schema): Schema {
  return { type: "array", items };
}

function among(...words: readonly string[]): Schema {
  return { type: "string", enum: words };
}

/** An object that always has these fields. */
function object(properties: Readonly<Record<string, Schema>>, optional: Readonly<Record<string, Schema>> = {}): Schema {
  return { type: "object", properties: { ...properties, ...optional }, required: Object.keys(properties) };
}

/** An object that has further fields, which depend on the configuration. */
function openObject(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return { ...object(properties, optional), additionalProperties: true };
}

/** What a call may say: nothing else is taken. */
function call(properties: Readonly<Record<string, Schema>>, optional: Readonly<Record<string, Schema>> = {}): Schema {
  return { ...object(properties, optional), additionalProperties: false };
}

/** The body of every refusal. */
export const ERROR: Schema = openObject({ error: TEXT, message: TEXT });

const TRAFFIC = object({
  total_requests: COUNT,
  active_quic_streams: COUNT,
  active_tcp_connections: COUNT,
  circuit_breaker_trips: COUNT,
  waf: object({
    enabled: FLAG,
    mode: among("enforce", "detection"),
    inspected: COUNT,
    blocked: COUNT,
    detected: COUNT,
    by_category: COUNTS,
  }),
  status_breakdown: COUNTS,
  method_breakdown: COUNTS,
});

const LEVEL = among("debug", "info", "warn", "error");

const STATUS = object({
  status: among("ok", "draining"),
  server: TEXT,
  version: TEXT,
  uptime: TEXT,
  uptime_seconds: COUNT,
  started_at: TIME,
  pid: COUNT,
  port: COUNT,
  worker_pool_size: COUNT,
  generation: COUNT,
  operations: object({ log_level: LEVEL, drained: list(TEXT), maintenance: list(TEXT) }),
  config_source: {
    ...object({
      url: TEXT,
      version: TEXT,
      etag: TEXT,
      taken_at: TIME,
      reachable: FLAG,
      waiting: TEXT,
      on_trial: FLAG,
    }),
    type: ["object", "null"],
  },
  runtime: object({
    engine: TEXT,
    engine_version: TEXT,
    platform: TEXT,
    arch: TEXT,
    cpus: COUNT,
    memory: object({ rss_bytes: COUNT, heap_used_bytes: COUNT, heap_total_bytes: COUNT }),
  }),
  telemetry: TRAFFIC,
  waf_enabled: FLAG,
  waf_mode: among("enforce", "detection"),
  waf_rules_count: COUNT,
  waf_allowed_ips: list(TEXT),
  cors_enabled: FLAG,
  security_headers: FLAG,
  mtls_enabled: FLAG,
});

const ROUTE = openObject(
  { type: TEXT, methods: list(TEXT), host: list(TEXT) },
  {
    prefix: TEXT,
    path: TEXT,
    targets: list(object({ url: TEXT, weight: COUNT, backup: FLAG, status: TEXT, drained: FLAG })),
  },
);

const INCIDENT = object({
  timestamp: TIME,
  client_ip: TEXT,
  method: TEXT,
  path: TEXT,
  category: TEXT,
  rule_id: TEXT,
  anomaly_score: NUMBER,
  action: TEXT,
  payload_snippet: TEXT,
});

const HEALTH = object({
  status: among("healthy", "degraded", "unhealthy"),
  checked_at: TIME,
  total: COUNT,
  healthy: COUNT,
  upstreams: list(
    object({
      route: TEXT,
      target: TEXT,
      status: among("CLOSED", "OPEN", "UNREACHABLE"),
      healthy: FLAG,
      status_code: COUNT,
      latency_ms: NUMBER,
      consecutive_failures: COUNT,
      drained: FLAG,
      error: TEXT,
    }),
  ),
});

const PROBE = object({
  status_code: COUNT,
  status_text: TEXT,
  latency_ms: NUMBER,
  headers: { type: "object", additionalProperties: true },
  body: TEXT,
  truncated: FLAG,
});

const RELOAD = object(
  { ok: FLAG, generation: COUNT, faults: list(TEXT) },
  { routes: COUNT, needs_restart: list(TEXT), removed: list(TEXT), late: list(TEXT) },
);

const DRAINED: Pick<EndpointDoc, "page" | "request" | "response" | "refusals"> = {
  page: "endpoints.md#actions",
  request: call({ target: TEXT }),
  response: object({ target: TEXT, drained: list(TEXT) }),
  refusals: [400, 404, 413, 415],
};

/** What each endpoint takes and gives, by its path. docs/endpoints.md */
export const ENDPOINT_DOCS: Readonly<Record<string, EndpointDoc>> = {
  "/health": {
    summary: "Whether the process serves. 503 while it is ending.",
    page: "endpoints.md#health",
    response: object({ status: among("ok") }),
    others: { 503: object({ status: among("draining") }) },
    refusals: [],
  },
  "/api/status": {
    summary: "What serves, and for how long.",
    page: "endpoints.md#built-in-endpoints",
    response: object({ server: TEXT, version: TEXT, uptime: TEXT, engine: TEXT }),
    refusals: [],
  },
  "/internal/": {
    summary: "The dashboard, a page for browsers.",
    page: "dashboard.md#dashboard",
    response: "text/html",
    refusals: [],
  },
  "/internal/api/stream": {
    summary: "Live numbers: one event a second.",
    page: "dashboard.md#the-stream",
    response: "text/event-stream",
    refusals: [503],
  },
  "/internal/api/config": {
    summary: "The configuration in use as YAML, secrets masked.",
    page: "dashboard.md#the-stream",
    response: "application/yaml",
    refusals: [503],
  },
  "/internal/api/openapi.json": {
    summary: "This document.",
    page: "endpoints.md#openapi",
    response: openObject({ openapi: TEXT, info: openObject({}), paths: openObject({}) }),
    refusals: [503],
  },
  "/metrics": {
    summary: "All metrics, in the text format of Prometheus or OpenMetrics.",
    page: "endpoints.md#metrics",
    response: "text/plain",
    refusals: [503],
  },
  "/internal/api/status": {
    summary: "The process, what it has counted, and what is switched on.",
    page: "endpoints.md#status",
    response: STATUS,
    refusals: [503],
  },
  "/internal/api/metrics": {
    summary: "Counts of the traffic since the start.",
    page: "endpoints.md#traffic",
    response: TRAFFIC,
    refusals: [503],
  },
  "/internal/api/nodes": {
    summary: "The gateways of the fleet.",
    page: "endpoints.md#nodes",
    response: object({
      total: COUNT,
      nodes: list(
        object({
          id: TEXT,
          name: TEXT,
          version: TEXT,
          generation: COUNT,
          state: among("serving", "draining"),
          config: TEXT,
          trial: among("", "canary", "waiting"),
          pid: COUNT,
          started_at: TIME,
          seen_at: TIME,
          own: FLAG,
        }),
      ),
    }),
    refusals: [404, 503],
  },
  "/internal/api/routes": {
    summary: "Every active route with the values in force.",
    page: "endpoints.md#routes",
    response: object({ total: COUNT, routes: list(ROUTE) }),
    refusals: [503],
  },
  "/internal/api/security/incidents": {
    summary: "What the firewall and the guards found, the newest first.",
    page: "endpoints.md#incidents",
    query: {
      limit: { type: "integer", minimum: 1, maximum: 1000, default: 100 },
      since: { type: "string", description: "ISO 8601, or milliseconds since 1970" },
    },
    response: object({ total_incidents: COUNT, incidents: list(INCIDENT) }),
    refusals: [400, 503],
  },
  "/internal/api/upstreams/health": {
    summary: "Asks every target once and says how it is.",
    page: "endpoints.md#upstreams",
    response: HEALTH,
    refusals: [503],
  },
  "/internal/api/proxy-test": {
    summary: "Sends a request through the gateway itself and returns what came of it.",
    page: "endpoints.md#proxy-test",
    request: openObject(
      { path: TEXT },
      { method: among("GET", "HEAD", "POST"), headers: { type: "object", additionalProperties: TEXT } },
    ),
    response: PROBE,
    refusals: [400],
  },
  "/internal/api/cache/purge": {
    summary: "Takes responses out of the cache.",
    page: "cache.md#purge",
    request: {
      ...call(
        {},
        { url: TEXT, prefix: TEXT, tag: TEXT, tags: { ...list(TEXT), minItems: 1 }, all: { const: true }, soft: FLAG },
      ),
      minProperties: 1,
    },
    response: object({ purged: COUNT }),
    refusals: [400, 404, 413],
  },
  "/internal/api/upstreams/drain": { summary: "Takes a target out of service.", ...DRAINED },
  "/internal/api/upstreams/undrain": { summary: "Takes a target back into service.", ...DRAINED },
  "/internal/api/maintenance": {
    summary: "Switches maintenance of all routes, or of one, on or off.",
    page: "endpoints.md#actions",
    request: call({ on: FLAG }, { route: { type: ["string", "null"] } }),
    response: object({ on: FLAG, route: { type: ["string", "null"] }, generation: COUNT, routes: list(TEXT) }),
    refusals: [400, 404, 413, 415, 500, 503],
  },
  "/internal/api/reload": {
    summary: "Reads the configuration again.",
    page: "endpoints.md#actions",
    request: { type: "object" },
    isBodyOptional: true,
    response: RELOAD,
    others: { 422: RELOAD },
    refusals: [400, 413, 415, 503],
  },
  "/internal/api/log-level": {
    summary: "Changes how much is logged.",
    page: "endpoints.md#actions",
    request: call({ level: LEVEL }),
    response: object({ level: LEVEL, before: LEVEL }),
    refusals: [400, 413, 415],
  },
};
