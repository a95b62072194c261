import type { RuntimeConfig } from "../config/runtime-config.ts";
import { type ListenerPlace, listenersOf } from "./listeners.ts";

/**
 * What a reload takes away of what guards the gateway or listens, as `config_reload` names it: listeners, TLS, demands for
 * client certificates, the firewall. docs/operations.md#reload
 */
export function removedParts(before: RuntimeConfig, now: RuntimeConfig): readonly string[] {
  const removed = listenersGone(before, now).map(({ name, host, port }) => `listener ${name} ${host}:${port}`);
  for (const [name, isThere] of GUARDS) if (isThere(before) && !isThere(now)) removed.push(name);
  return removed;
}

/** A listener that only moves is not gone. */
function listenersGone(before: RuntimeConfig, now: RuntimeConfig): readonly ListenerPlace[] {
  const left = listenersOf(now);
  return listenersOf(before).filter(({ name }) => !left.some((place) => place.name === name));
}

const GUARDS: readonly (readonly [name: string, isThere: (config: RuntimeConfig) => boolean])[] = [
  ["server.tls", ({ server }) => server.tls.enabled],
  ["server.tls.client_auth", ({ server }) => server.tls.enabled && server.tls.clientAuth !== "none"],
  ["server.tls.client_auth: require", ({ server }) => server.tls.enabled && server.tls.clientAuth === "require"],
  ["server.tls.redirect_http", ({ server }) => server.tls.enabled && server.tls.redirectHttp],
  ["server.http3", ({ server }) => server.http3.enabled],
  ["server.waf", ({ server }) => server.waf.enabled],
  ["server.waf.mode: enforce", ({ server }) => server.waf.enabled && server.waf.mode === "enforce"],
  ["server.rate_limit", ({ server }) => server.rateLimit.enabled],
  ["sidecar", ({ sidecar }) => sidecar.enabled],
  ["sidecar.strict_mtls", ({ sidecar }) => sidecar.enabled && sidecar.strictMtls],
  ["internal_api.token", ({ internalApi }) => internalApi.token !== ""],
];
