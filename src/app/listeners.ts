import type { RuntimeConfig } from "../config/runtime-config.ts";

/** What the gateway listens for. A socket that goes to a successor, or comes from systemd, bears its name. */
export type ListenerName = "http" | "https" | "sidecar-ingress" | "sidecar-egress" | "internal";

export const LISTENER_NAMES: readonly ListenerName[] = [
  "http",
  "https",
  "sidecar-ingress",
  "sidecar-egress",
  "internal",
];

/** Where one of the listeners is to be. */
export interface ListenerPlace {
  readonly name: ListenerName;
  readonly host: string;
  readonly port: number;
}

/** A socket that listens already. */
export interface ListeningSocket {
  readonly name: ListenerName;
  readonly fd: number;
  /** Whether the descriptor is ours beside the runtime's own: then it outlives the worker that made it. */
  readonly isKept?: boolean;
}

/** The listeners that a configuration asks for. */
export function listenersOf({ server, sidecar, internalApi }: RuntimeConfig): readonly ListenerPlace[] {
  const places: ListenerPlace[] = [];
  if (server.port >= 0) places.push({ name: "http", host: server.host, port: server.port });
  if (server.tls.enabled) places.push({ name: "https", host: server.host, port: server.tls.port });
  if (internalApi.listenPort >= 0) {
    places.push({ name: "internal", host: internalApi.listenHost, port: internalApi.listenPort });
  }
  if (!sidecar.enabled) return places;
  if (sidecar.mode !== "egress") {
    places.push({ name: "sidecar-ingress", host: sidecar.ingressHost, port: sidecar.ingressPort });
  }
  if (sidecar.mode !== "ingress") {
    places.push({ name: "sidecar-egress", host: sidecar.egressHost, port: sidecar.egressPort });
  }
  return places;
}

/** Whether two places are written alike: then whoever listens at one goes on. */
export function isSamePlace(a: ListenerPlace, b: ListenerPlace): boolean {
  return a.name === b.name && a.host === b.host && a.port === b.port;
}

/** The configuration with the ports that the system has chosen in place of 0. */
export function withPorts(config: RuntimeConfig, ports: ReadonlyMap<ListenerName, number>): RuntimeConfig {
  const { server, sidecar, internalApi } = config;
  const tls = { ...server.tls, port: ports.get("https") ?? server.tls.port };
  const http3 = { ...server.http3, port: server.http3.port === server.tls.port ? tls.port : server.http3.port };
  return {
    ...config,
    server: { ...server, port: ports.get("http") ?? server.port, tls, http3 },
    sidecar: {
      ...sidecar,
      ingressPort: ports.get("sidecar-ingress") ?? sidecar.ingressPort,
      egressPort: ports.get("sidecar-egress") ?? sidecar.egressPort,
    },
    internalApi: { ...internalApi, listenPort: ports.get("internal") ?? internalApi.listenPort },
  };
}

/** The ports of the listeners that are there, as the log names them; that of HTTP/3 is UDP. */
export function portFields(
  config: RuntimeConfig,
  ports: ReadonlyMap<ListenerName, number>,
): Readonly<Record<string, number>> {
  const { http3 } = withPorts(config, ports).server;
  const named = [...ports].map(([name, port]) => [PORT_FIELDS[name], port] as const);
  return Object.fromEntries(http3.enabled ? [...named, ["http3_port", http3.port] as const] : named);
}

const PORT_FIELDS: Readonly<Record<ListenerName, string>> = {
  http: "port",
  https: "tls_port",
  "sidecar-ingress": "sidecar_ingress_port",
  "sidecar-egress": "sidecar_egress_port",
  internal: "internal_port",
};
