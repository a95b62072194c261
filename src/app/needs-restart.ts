import type { RuntimeConfig } from "../config/runtime-config.ts";

/** The settings that only a restart takes up, as they are since the start: by their paths in config.yaml. */
export type RestartSettings = ReadonlyMap<string, string | number | boolean>;

/**
 * What of a configuration stays until a restart. What is marked with (HTTP/3) is taken up for everything else: the runtime's
 * QUIC is opened once, by the thread that owns it, and keeps what it was opened with.
 */
export function restartSettings({ server, sidecar }: RuntimeConfig): RestartSettings {
  const settings = new Map<string, string | number | boolean>([
    ["server.workers", server.workers],
    ["server.http3.enabled", server.http3.enabled],
    ["server.http3.port", server.http3.port],
    // Cleartext and TLS are two kinds of listener.
    ["sidecar.cert_file", sidecar.certificate.certFile !== ""],
  ]);
  if (!server.http3.enabled) return settings;
  // See QuicPort.
  return settings
    .set("server.host (HTTP/3)", server.host)
    .set("server.header_timeout (HTTP/3)", server.headerTimeoutMs)
    .set("server.idle_timeout (HTTP/3)", server.idleTimeoutMs)
    .set("server.max_header_bytes (HTTP/3)", server.maxHeaderBytes)
    .set("server.tls.client_auth (HTTP/3)", server.tls.clientAuth)
    .set("server.tls.client_ca_file (HTTP/3)", server.tls.clientCaFile)
    .set("server.http2.unknown_pseudo_headers (HTTP/3)", server.http2.unknownPseudoHeaders);
}

/** Settings in which a configuration differs from what has been running since the start. */
export function needsRestart(running: RestartSettings, now: RuntimeConfig): readonly string[] {
  // Where one of the two has no HTTP/3, its settings are not looked at: the switch is named.
  return [...restartSettings(now)].flatMap(([key, value]) => {
    const before = running.get(key);
    return before === undefined || before === value ? [] : [key];
  });
}
