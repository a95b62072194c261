// The forms of what the built-in endpoints take and give, for their rows in built-in-endpoints.ts.

/** A JSON Schema, as far as these documents need one. */
export type EndpointSchema = Readonly<Record<string, unknown>>;

export const TEXT_SCHEMA: EndpointSchema = { type: "string" };
export const COUNT: EndpointSchema = { type: "integer", minimum: 0 };
const NUMBER: EndpointSchema = { type: "number" };
export const FLAG: EndpointSchema = { type: "boolean" };
export const TIME: EndpointSchema = { type: "string", format: "date-time" };
const COUNTS: EndpointSchema = { type: "object", additionalProperties: COUNT };

/** A list of these. */
export function listOf(items: EndpointSchema): EndpointSchema {
  return { type: "array", items };
}

/** One of these words. */
export function among(...words: readonly string[]): EndpointSchema {
  return { type: "string", enum: words };
}

/** An object that always has these fields. */
export function object(
  properties: Readonly<Record<string, EndpointSchema>>,
  optional: Readonly<Record<string, EndpointSchema>> = {},
): EndpointSchema {
  return { type: "object", properties: { ...properties, ...optional }, required: Object.keys(properties) };
}

/** An object that has further fields, which depend on the configuration. */
export function openObject(
  properties: Readonly<Record<string, EndpointSchema>>,
  optional: Readonly<Record<string, EndpointSchema>> = {},
): EndpointSchema {
  return { ...object(properties, optional), additionalProperties: true };
}

/** What a call may say: nothing else is taken. */
export function call(
  properties: Readonly<Record<string, EndpointSchema>>,
  optional: Readonly<Record<string, EndpointSchema>> = {},
): EndpointSchema {
  return { ...object(properties, optional), additionalProperties: false };
}

/** A ban. docs/bans.md#by-hand */
export const BAN: EndpointSchema = object({
  address: TEXT_SCHEMA,
  source: among("blocks", "operator", "fleet"),
  since: TIME,
  until: TIME,
  count: COUNT,
});

/** The body of every refusal. */
export const ERROR_SCHEMA: EndpointSchema = openObject({ error: TEXT_SCHEMA, message: TEXT_SCHEMA });

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
export const STATUS_SCHEMA = object({
  status: among("ok", "draining"),
  server: TEXT_SCHEMA,
  version: TEXT_SCHEMA,
  uptime: TEXT_SCHEMA,
  uptime_seconds: COUNT,
  started_at: TIME,
  pid: COUNT,
  port: COUNT,
  listeners: listOf(
    openObject(
      {
        name: TEXT_SCHEMA,
        address: TEXT_SCHEMA,
        tls: FLAG,
        proxy_protocol: FLAG,
        connections: COUNT,
        active_connections: COUNT,
      },
      { client_auth: TEXT_SCHEMA, http3: FLAG },
    ),
  ),
  worker_pool_size: COUNT,
  generation: COUNT,
  operations: object({
    log_level: LEVEL,
    drained: listOf(TEXT_SCHEMA),
    maintenance: listOf(TEXT_SCHEMA),
    set: listOf(object({ what: among("drain", "maintenance", "log_level"), name: TEXT_SCHEMA, on: FLAG, since: TIME })),
    configuration: {
      ...object({ taken_at: TIME, rolled_back: FLAG, since: { type: ["string", "null"] }, earlier: COUNT }),
      type: ["object", "null"],
    },
  }),
  config_source: {
    ...object({
      url: TEXT_SCHEMA,
      version: TEXT_SCHEMA,
      etag: TEXT_SCHEMA,
      taken_at: TIME,
      reachable: FLAG,
      waiting: TEXT_SCHEMA,
      on_trial: FLAG,
    }),
    type: ["object", "null"],
  },
  runtime: object({
    engine: TEXT_SCHEMA,
    engine_version: TEXT_SCHEMA,
    platform: TEXT_SCHEMA,
    arch: TEXT_SCHEMA,
    cpus: COUNT,
    memory: object({ rss_bytes: COUNT, heap_used_bytes: COUNT, heap_total_bytes: COUNT }),
  }),
  telemetry: TRAFFIC,
  waf_enabled: FLAG,
  waf_mode: among("enforce", "detection"),
  waf_rules_count: COUNT,
  waf_allowed_ips: listOf(TEXT_SCHEMA),
  cors_enabled: FLAG,
  security_headers: FLAG,
  mtls_enabled: FLAG,
});

/** One active route. */
export const ROUTE_SCHEMA = openObject(
  { type: TEXT_SCHEMA, methods: listOf(TEXT_SCHEMA), host: listOf(TEXT_SCHEMA) },
  {
    prefix: TEXT_SCHEMA,
    path: TEXT_SCHEMA,
    targets: listOf(
      object(
        { url: TEXT_SCHEMA, weight: COUNT, backup: FLAG, status: TEXT_SCHEMA, drained: FLAG },
        { name: TEXT_SCHEMA },
      ),
    ),
  },
);

/** A source and the file, the name or the container there. */
const ORIGIN = { source: TEXT_SCHEMA, name: TEXT_SCHEMA };

/** `/internal/api/config/routes`. */
export const ROUTES_BY_SOURCE = object({
  total: COUNT,
  editable: FLAG,
  routes: listOf(
    object({
      ...ORIGIN,
      type: TEXT_SCHEMA,
      route: TEXT_SCHEMA,
      host: listOf(TEXT_SCHEMA),
      methods: listOf(TEXT_SCHEMA),
    }),
  ),
  shadowed: listOf(object({ ...ORIGIN, route: TEXT_SCHEMA, host: listOf(TEXT_SCHEMA), by: object(ORIGIN) })),
  invalid: listOf(object({ ...ORIGIN, faults: listOf(TEXT_SCHEMA), kept: FLAG })),
});

/** A route of the API, or the result of its change. */
export const ROUTE_CHANGE = openObject(
  {},
  {
    name: TEXT_SCHEMA,
    ok: FLAG,
    etag: { type: ["string", "null"] },
    dry_run: FLAG,
    generation: COUNT,
    faults: listOf(TEXT_SCHEMA),
    shadowed_by: listOf(object(ORIGIN)),
    changes: object({ routes: listOf(openObject({})), settings: listOf(openObject({})), omitted: COUNT }),
    kept: FLAG,
  },
);

/** One finding of the firewall or the guards. */
export const INCIDENT = object({
  timestamp: TIME,
  client_ip: TEXT_SCHEMA,
  method: TEXT_SCHEMA,
  path: TEXT_SCHEMA,
  category: TEXT_SCHEMA,
  rule_id: TEXT_SCHEMA,
  anomaly_score: NUMBER,
  action: TEXT_SCHEMA,
  payload_snippet: TEXT_SCHEMA,
});

/** How the targets are. */
export const HEALTH = object({
  status: among("healthy", "degraded", "unhealthy"),
  checked_at: TIME,
  total: COUNT,
  healthy: COUNT,
  upstreams: listOf(
    object(
      {
        route: TEXT_SCHEMA,
        target: TEXT_SCHEMA,
        status: among("CLOSED", "OPEN", "UNREACHABLE"),
        healthy: FLAG,
        status_code: COUNT,
        latency_ms: NUMBER,
        consecutive_failures: COUNT,
        drained: FLAG,
        error: TEXT_SCHEMA,
      },
      { name: TEXT_SCHEMA, fault_detail: TEXT_SCHEMA },
    ),
  ),
});

/** What came of a request that was tried. */
export const PROBE = object({
  status_code: COUNT,
  status_text: TEXT_SCHEMA,
  latency_ms: NUMBER,
  headers: { type: "object", additionalProperties: true },
  body: TEXT_SCHEMA,
  truncated: FLAG,
});

/** What came of a reload. */
export const RELOAD = object(
  { ok: FLAG, generation: COUNT, faults: listOf(TEXT_SCHEMA) },
  {
    routes: COUNT,
    needs_restart: listOf(TEXT_SCHEMA),
    removed: listOf(TEXT_SCHEMA),
    late: listOf(TEXT_SCHEMA),
    rolled_back_to: TIME,
    dry_run: FLAG,
    changes: object({ routes: listOf(openObject({})), settings: listOf(openObject({})), omitted: COUNT }),
  },
);
