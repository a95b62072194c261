import { isLoopback, unmapped } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ListenAddress } from "../routes/streams/stream-config.ts";

/** What the gateway listens for. A socket that goes to a successor, or comes from systemd, bears its name. */
export type ListenerName = FixedName | StreamListener;

/** The listener of a TCP stream at an address: `tcp-5432-0.0.0.0`. The names of sockets have no colon, sd_listen_fds(3). */
export type StreamListener = `tcp-${string}`;

type FixedName = "http" | "https" | "sidecar-ingress" | "sidecar-egress" | "internal" | "internal-socket";

/** What a worker opens: one of these, or a UDP port. */
export type OpeningListener = ListenerName | "http3" | "udp";

/** The name of the listener of a stream at an address. */
export function streamListener({ host, port }: ListenAddress): StreamListener {
  return `tcp-${port}-${host.replaceAll(":", "_")}`;
}

/** Whether a listener is a stream's. */
export function isStreamListener(name: string): name is StreamListener {
  return /^tcp-\d{1,5}-[\w.-]+$/.test(name);
}

export const LISTENER_NAMES: readonly FixedName[] = [
  "http",
  "https",
  "sidecar-ingress",
  "sidecar-egress",
  "internal",
  "internal-socket",
];

/** Where one of the listeners is to be. */
export interface ListenerPlace {
  readonly name: ListenerName;
  /** The path of a UNIX socket, which has no port. */
  readonly host: string;
  readonly port: number;
}

/** Whether a listener is at a path, and not at an address. */
export function isUnixListener({ name }: Pick<ListenerPlace, "name">): boolean {
  return name === "internal-socket";
}

/** A socket that listens already. */
export interface ListeningSocket {
  readonly name: ListenerName;
  readonly fd: number;
  /** Whether the descriptor is ours beside the runtime's own: then it outlives the worker that made it. */
  readonly isKept?: boolean;
}

/** The listeners that a configuration asks for. */
export function listenersOf({ server, sidecar, internalApi, streams }: RuntimeConfig): readonly ListenerPlace[] {
  const places: ListenerPlace[] = [];
  if (server.port >= 0) places.push({ name: "http", host: server.host, port: server.port });
  if (server.tls.enabled) places.push({ name: "https", host: server.host, port: server.tls.port });
  if (internalApi.listenPort >= 0) {
    places.push({ name: "internal", host: internalApi.listenHost, port: internalApi.listenPort });
  }
  if (internalApi.socket !== "") places.push({ name: "internal-socket", host: internalApi.socket, port: 0 });
  for (const { type, listen } of streams)
    if (type === "tcp") for (const at of listen) places.push({ name: streamListener(at), ...at });
  if (!sidecar.enabled) return places;
  if (sidecar.mode !== "egress") {
    places.push({ name: "sidecar-ingress", host: sidecar.ingressHost, port: sidecar.ingressPort });
  }
  if (sidecar.mode !== "ingress") {
    places.push({ name: "sidecar-egress", host: sidecar.egressHost, port: sidecar.egressPort });
  }
  return places;
}

/** The addresses where a configuration's UDP streams listen. */
export function udpAddressesOf({ streams }: Pick<RuntimeConfig, "streams">): readonly ListenAddress[] {
  return streams.flatMap(({ type, listen }) => (type === "udp" ? listen : []));
}

/** Whether two places are written alike: then the listener goes on. */
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
): Readonly<Record<string, number | string>> {
  const { http3 } = withPorts(config, ports).server;
  const { socket } = config.internalApi;
  const tcp = [...ports].flatMap(([name, port]) => (isStreamListener(name) ? [port] : []));
  return {
    ...Object.fromEntries(
      [...ports].flatMap(([name, port]) => (isStreamListener(name) ? [] : [[PORT_FIELDS[name], port]])),
    ),
    ...(tcp.length > 0 ? { tcp_ports: tcp.join(" ") } : {}),
    ...(http3.enabled ? { http3_port: http3.port } : {}),
    ...(socket === "" ? {} : { internal_socket: socket }),
  };
}

const PORT_FIELDS: Readonly<Record<FixedName, string>> = {
  http: "port",
  https: "tls_port",
  "sidecar-ingress": "sidecar_ingress_port",
  "sidecar-egress": "sidecar_egress_port",
  internal: "internal_port",
  "internal-socket": "internal_socket",
};

/**
 * The TCP addresses at which this gateway itself listens: a sidecar connects to none of them, by whatever name or address
 * it was asked to. docs/security.md#sidecar
 */
export class OwnListeners {
  private readonly places: readonly ListenerPlace[];

  constructor(config: RuntimeConfig) {
    this.places = listenersOf(config).filter((place) => !isUnixListener(place));
  }

  /**
   * Whether a connection that has just been made leads to one of them. The system has resolved the name by now, so that
   * what is judged is what is spoken to.
   * @param port that was connected to
   */
  isAt(socket: ByteSocket, port: number): boolean {
    if (!this.places.some((place) => place.port === port)) return false;
    const remote = unmapped(socket.remoteAddress ?? "");
    // A connection to an address of this machine comes from that same address.
    const isHere = isLoopback(remote) || remote === unmapped(socket.localAddress ?? "");
    return isHere && this.covers(remote, port);
  }

  /** Whether one of them is at this host, as a request names it: what can be said without connecting. */
  isNamed(hostname: string, port: number): boolean {
    const addresses = LOCAL_NAMES.get(hostname) ?? [unmapped(hostname)];
    return addresses.some((address) => isLoopback(address) && this.covers(address, port));
  }

  private covers(address: string, port: number): boolean {
    return this.places.some((place) => place.port === port && listensAt(place.host, address));
  }
}

/** One loopback address is as good as another: nothing else listens at the port there. */
function listensAt(host: string, address: string): boolean {
  if (host === "::" || host === "0.0.0.0" || unmapped(host) === address) return true;
  return isLoopback(address) && (host === "localhost" || isLoopback(host));
}

const LOCAL_NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ["localhost", ["127.0.0.1", "::1"]],
  ["0.0.0.0", ["127.0.0.1"]],
  ["::", ["::1", "127.0.0.1"]],
]);
