// The forms of what the built-in endpoints take and give, for their rows in built-in-endpoints.ts.

/** A JSON Schema, as far as these documents need one. */
export type Schema = Readonly<Record<string, unknown>>;

export const TEXT: Schema = { type: "string" };
export const COUNT: Schema = { type: "integer", minimum: 0 };
export const NUMBER: Schema = { type: "number" };
export const FLAG: Schema = { type: "boolean" };
export const TIME: Schema = { type: "string", format: "date-time" };
export const COUNTS: Schema = { type: "object", additionalProperties: COUNT };

/** A list of these. */
export function list(items: Schema): Schema {
  return { type: "array", items };
}

/** One of these words. */
export function among(...words: readonly string[]): Schema {
  return { type: "string", enum: words };
}

/** An object that always has these fields. */
export function object(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return { type: "object", properties: { ...properties, ...optional }, required: Object.keys(properties) };
}

/** An object that has further fields, which depend on the configuration. */
export function openObject(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return { ...object(properties, optional), additionalProperties: true };
}

/** What a call may say: nothing else is taken. */
export function call(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return { ...object(properties, optional), additionalProperties: false };
}

/** The body of every refusal. */
export const ERROR: Schema = openObject({ error: TEXT, message: TEXT });

/** What has been counted since the start. */
export const TRAFFIC = object({
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

/** Levels of the log. */
export const LEVEL = among("debug", "info", "warn", "error");

/** `/internal/api/status`. */
export const STATUS = object({
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

/** One active route. */
export const ROUTE = openObject(
  { type: TEXT, methods: list(TEXT), host: list(TEXT) },
  {
    prefix: TEXT,
    path: TEXT,
    targets: list(object({ url: TEXT, weight: COUNT, backup: FLAG, status: TEXT, drained: FLAG })),
  },
);

/** One finding of the firewall or the guards. */
export const INCIDENT = object({
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

/** How the targets are. */
export const HEALTH = object({
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

/** What came of a request that was tried. */
export const PROBE = object({
  status_code: COUNT,
  status_text: TEXT,
  latency_ms: NUMBER,
  headers: { type: "object", additionalProperties: true },
  body: TEXT,
  truncated: FLAG,
});

/** What came of a reload. */
export const RELOAD = object(
  { ok: FLAG, generation: COUNT, faults: list(TEXT) },
  { routes: COUNT, needs_restart: list(TEXT), removed: list(TEXT), late: list(TEXT) },
);
