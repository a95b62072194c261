import type { FaultLog } from "../config/fault-log.ts";
import { camelCase } from "../config/row.ts";
import type { Sections } from "./sections.ts";
import type { ServerKey } from "./server-settings.ts";

/**
 * What becomes of each key of `server` on the listeners of a sidecar: it holds there, it is not for them, or the sidecar has a key of
 * its own in its place. A key without its word does not compile. docs/sidecar.md#settings-of-the-server
 */
export const SIDECAR_USE: Readonly<Record<ServerKey, "taken" | "left" | "own">> = {
  host: "own",
  port: "own",
  listeners: "own",
  route_order: "left",
  workers: "taken",
  header_timeout: "taken",
  read_timeout: "taken",
  write_timeout: "taken",
  idle_timeout: "taken",
  half_close_grace: "taken",
  shutdown_timeout: "taken",
  drain_delay: "taken",
  bans: "left",
  max_header_bytes: "taken",
  max_header_fields: "taken",
  max_body_bytes: "taken",
  min_body_rate: "taken",
  max_connections: "taken",
  max_connections_per_ip: "taken",
  max_unsent_bytes: "taken",
  inbound_chunked_mode: "taken",
  strict_origins: "left",
  request_trailers: "taken",
  trusted_proxies: "left",
  geo: "left",
  ip_rules: "left",
  auth: "left",
  bots: "left",
  access_log: "taken",
  debug_header: "left",
  rate_limit: "left",
  overload: "left",
  allowed_methods: "left",
  tls: "left",
  http2: "taken",
  http3: "left",
  proxy_protocol: "left",
  waf: "left",
  agents: "left",
  cache: "left",
  compression: "left",
  cors: "left",
  security_headers: "left",
  acme: "left",
  errors: "left",
  maintenance: "left",
  pass_identity_headers: "left",
};

/** Warns of the settings of `server` that a file has and the listeners of its sidecar do not take. @param root the file as it was read */
export function noteLeftBySidecar(
  root: unknown,
  { server, sidecar }: Pick<Sections, "server" | "sidecar">,
  log: FaultLog,
): void {
  const written = (root as { server?: object | null } | null)?.server;
  if (!sidecar.enabled || typeof written !== "object" || written === null) return;
  const resolved = server as unknown as Readonly<Record<string, unknown>>;
  const left = Object.keys(written).filter((key) => {
    if (SIDECAR_USE[key as ServerKey] !== "left") return false;
    const value = resolved[camelCase(key)] as { readonly enabled?: boolean } | null | undefined;
    // What is off is off everywhere.
    return value?.enabled !== false;
  });
  if (left.length === 0) return;
  const names = left.map((key) => `server.${key}`).join(", ");
  log.warn(["sidecar"], `its listeners do not take ${names}: these hold on the gateway's other listeners alone`);
}
