/** Keys that upstream routes alone have. */
const UPSTREAM_KEYS: ReadonlySet<string> = new Set([
  ...[
    "load_balancing",
    "hedge",
    "mirror",
    "mirrors",
    "circuit_breaker",
    "retries",
    "timeouts",
    "rewrite_location",
    "rewrite_cookies",
    "tls",
  ],
  ...["health_check", "preserve_host", "host_header", "strict_origins", "grpc_web"],
]);

/** Those of these keys that routes of every type have. */
export function optionsOf(keys: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(keys).filter(([key]) => !UPSTREAM_KEYS.has(key)));
}
