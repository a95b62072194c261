import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ServerListener } from "../settings/server-listeners.ts";

/** Routes that are for some listeners are for this one. */
function localListener({ http2 }: RuntimeConfig["server"], port: number): ServerListener {
  const clear = { path: [], host: "127.0.0.1", port, socket: "", mode: 0, group: "", tls: false, site: null };
  const usual = { proxies: [], redirectsHttps: false, http3: false, http3Port: -1, forwardProxy: null };
  return { name: "http", ...clear, ...usual, http2: http2.enabled };
}

/**
 * A configuration for this machine alone: one listener in clear text on 127.0.0.1, one worker, log lines on standard output.
 * What other machines take part in, or see, is off: TLS, HTTP/3, PROXY protocol, certificates by ACME, sidecar, cluster, telemetry,
 * the internal listeners, the files of the log and of the cache. docs/functions.md#edge-dev
 * @param port 0 lets the system choose one
 */
export function localConfig(config: RuntimeConfig, port: number): RuntimeConfig {
  const { server, sidecar, cluster, telemetry, internalApi } = config;
  const routes = config.routes.map((route) =>
    route.accessLog === null ? route : { ...route, accessLog: { ...route.accessLog, outputs: null } },
  );
  return {
    ...config,
    routes: routes.map((route) => (route.listeners.length === 0 ? route : { ...route, listeners: [] })),
    server: {
      ...server,
      host: "127.0.0.1",
      hosts: ["127.0.0.1"],
      port,
      isListed: false,
      listeners: [localListener(server, port)],
      workers: 1,
      tls: { ...server.tls, enabled: false, redirectHttp: false },
      http3: { ...server.http3, enabled: false },
      proxyProtocol: { ...server.proxyProtocol, enabled: false },
      acme: { ...server.acme, enabled: false },
      accessLog: { ...server.accessLog, outputs: [] },
      cache: { ...server.cache, disk: null },
    },
    sidecar: { ...sidecar, enabled: false },
    cluster: { ...cluster, enabled: false },
    telemetry: { ...telemetry, enabled: false },
    internalApi: { ...internalApi, listenPort: -1, socket: "" },
  };
}
