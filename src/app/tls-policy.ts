import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { TlsPolicy } from "../edge/certificate-store.ts";

/**
 * How the inbound listener of a sidecar makes its handshakes: without strict mTLS a client certificate is asked for, and
 * verified where one is sent. docs/sidecar.md#who-may-come-in
 */
export function sidecarPolicyOf(config: RuntimeConfig): TlsPolicy {
  const { protocols } = tlsPolicyOf(config);
  return { minVersion: "1.2", clientAuth: config.sidecar.strictMtls ? "require" : "request", protocols };
}

/** How the listener of `server.tls` makes its handshakes. docs/tls.md#versions-and-suites */
export function tlsPolicyOf({ server }: RuntimeConfig): TlsPolicy {
  const { minVersion, clientAuth } = server.tls;
  return { minVersion, clientAuth, protocols: server.http2.enabled ? ["h2", "http/1.1"] : ["http/1.1"] };
}
