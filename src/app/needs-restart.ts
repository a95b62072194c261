import type { RuntimeConfig } from "../config/runtime-config.ts";

/**
 * Settings that differ and that only a restart takes up, as paths of config.yaml. What is marked with (HTTP/3) is taken up for
 * everything else: the runtime's QUIC is opened once, by the thread that owns it, and keeps what it was opened with.
 */
export function needsRestart(old: RuntimeConfig, now: RuntimeConfig): readonly string[] {
  const changed = (keys: ReadonlyMap<string, Setting>): string[] =>
    [...keys].filter(([, settingOf]) => settingOf(old) !== settingOf(now)).map(([key]) => key);
  const hasQuic = old.server.http3.enabled && now.server.http3.enabled;
  return [...changed(ALWAYS), ...(hasQuic ? changed(WITH_QUIC).map((key) => `${key} (HTTP/3)`) : [])];
}

type Setting = (config: RuntimeConfig) => string | number | boolean;

const ALWAYS: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  ["server.workers", ({ server }) => server.workers],
  ["server.http3.enabled", ({ server }) => server.http3.enabled],
  ["server.http3.port", ({ server }) => server.http3.port],
  // Cleartext and TLS are two kinds of listener.
  ["sidecar.cert_file", ({ sidecar }) => sidecar.certificate.certFile !== ""],
]);

/** See QuicPort. */
const WITH_QUIC: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  ["server.host", ({ server }) => server.host],
  ["server.header_timeout", ({ server }) => server.headerTimeoutMs],
  ["server.idle_timeout", ({ server }) => server.idleTimeoutMs],
  ["server.max_header_bytes", ({ server }) => server.maxHeaderBytes],
  ["server.tls.client_auth", ({ server }) => server.tls.clientAuth],
  ["server.tls.client_ca_file", ({ server }) => server.tls.clientCaFile],
  ["server.http2.unknown_pseudo_headers", ({ server }) => server.http2.unknownPseudoHeaders],
  ["proxy.transport.max_buffered_bytes", ({ proxy }) => proxy.transport.maxBufferedBytes],
]);
