import type { RuntimeConfig } from "../config/runtime-config.ts";

/** Settings that differ and that only a restart takes up. */
export function needsRestart(old: RuntimeConfig, now: RuntimeConfig): readonly string[] {
  const hadCertificate = old.sidecar.certificate.certFile !== "";
  return [
    ...(old.server.workers === now.server.workers ? [] : ["server.workers"]),
    // One thread owns QUIC, from the start.
    ...(["enabled", "port"] as const)
      .filter((key) => old.server.http3[key] !== now.server.http3[key])
      .map((key) => `server.http3.${key}`),
    // Cleartext and TLS are two kinds of listener.
    ...(hadCertificate === (now.sidecar.certificate.certFile !== "") ? [] : ["sidecar.cert_file"]),
  ];
}
