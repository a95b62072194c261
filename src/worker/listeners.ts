import { isLoopback, unmapped } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ListenAddress } from "../routes/streams/stream-config.ts";
import { listenerAddress } from "../settings/server-listeners.ts";

/**
 * The name of a listener. A socket that goes to a successor, or comes from systemd, bears its name. Those of `server` have the names that
 * operators give them.
 */
export type ListenerName = string;

/** The listener of a TCP stream at an address: `tcp-5432-0.0.0.0`. The names of sockets have no colon, sd_listen_fds(3). */
export type StreamListener = `tcp-${string}`;

/** A worker's listening socket: one of these, or a UDP port. */
export type OpeningListener = ListenerName | "http3" | "udp";

/** The name of the listener of a stream at an address. */
export function streamListener({ host, port }: ListenAddress): StreamListener {
  return `tcp-${port}-${host.replaceAll(":", "_")}`;
}

/** Whether a listener is a stream's. */
function isStreamListener(name: string): name is StreamListener {
  return /^tcp-\d{1,5}-[\w.-]+$/.test(name);
}

/** The listeners there. */
type ListenerKind = "server" | "stream" | "internal" | "internal-socket" | "sidecar-ingress" | "sidecar-egress";

/** The address of one of the listeners. */
export interface ListenerPlace {
  readonly name: ListenerName;
  readonly kind: ListenerKind;
  /** The path of a UNIX socket, which has no port. */
  readonly host: string;
  readonly port: number;
  readonly isUnix: boolean;
  /** Whether its connections begin with a handshake. */
  readonly tls: boolean;
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
  const places: ListenerPlace[] = server.listeners.map(({ name, host, port, socket, tls }) =>
    socket === ""
      ? { name, kind: "server", host, port, isUnix: false, tls }
      : { name, kind: "server", host: socket, port: 0, isUnix: true, tls },
  );
  const add = (kind: ListenerKind, host: string, port: number, name: string = kind): void => {
    places.push({ name, kind, host, port, isUnix: kind === "internal-socket", tls: false });
  };
  if (internalApi.listenPort >= 0) add("internal", internalApi.listenHost, internalApi.listenPort);
  if (internalApi.socket !== "") add("internal-socket", internalApi.socket, 0);
  for (const { type, listen } of streams)
    if (type === "tcp") for (const at of listen) add("stream", at.host, at.port, streamListener(at));
  if (sidecar.enabled && sidecar.mode !== "egress") add("sidecar-ingress", sidecar.ingressHost, sidecar.ingressPort);
  if (sidecar.enabled && sidecar.mode !== "ingress") add("sidecar-egress", sidecar.egressHost, sidecar.egressPort);
  return places;
}

/** The listening addresses of a configuration's UDP streams. */
export function udpAddressesOf({ streams }: Pick<RuntimeConfig, "streams">): readonly ListenAddress[] {
  return streams.flatMap(({ type, listen }) => (type === "udp" ? listen : []));
}

/** The addresses of UDP where HTTP/3 is served. */
export function quicAddressesOf({ server }: Pick<RuntimeConfig, "server">): readonly ListenAddress[] {
  return server.listeners.flatMap(({ http3, host, http3Port }) => (http3 ? [{ host, port: http3Port }] : []));
}

/** Whether two places are written alike: then the listener goes on. */
export function isSamePlace(a: ListenerPlace, b: ListenerPlace): boolean {
  return a.name === b.name && a.kind === b.kind && a.tls === b.tls && isSameAddress(a, b);
}

/** Whether two places are at one address: then the socket goes on. */
export function isSameAddress(a: ListenerPlace, b: ListenerPlace): boolean {
  return a.host === b.host && a.port === b.port && a.isUnix === b.isUnix;
}

/** The configuration with the ports that the system has chosen in place of 0. */
export function withPorts(config: RuntimeConfig, ports: ReadonlyMap<ListenerName, number>): RuntimeConfig {
  const { server, sidecar, internalApi } = config;
  const listeners = server.listeners.map((one) => {
    const port = ports.get(one.name) ?? one.port;
    return { ...one, port, http3Port: one.http3Port === one.port ? port : one.http3Port };
  });
  const first = (tls: boolean) => listeners.find((one) => one.tls === tls && one.socket === "")?.port;
  const tls = { ...server.tls, port: first(true) ?? server.tls.port };
  const quic = listeners.find((one) => one.http3)?.http3Port;
  return {
    ...config,
    server: {
      ...server,
      listeners,
      port: first(false) ?? server.port,
      tls,
      http3: { ...server.http3, port: quic ?? server.http3.port },
    },
    sidecar: {
      ...sidecar,
      ingressPort: ports.get("sidecar-ingress") ?? sidecar.ingressPort,
      egressPort: ports.get("sidecar-egress") ?? sidecar.egressPort,
    },
    internalApi: { ...internalApi, listenPort: ports.get("internal") ?? internalApi.listenPort },
  };
}

/** The listeners that are there, as the log names them: with the ports that they have. */
export function portFields(
  config: RuntimeConfig,
  ports: ReadonlyMap<ListenerName, number>,
): Readonly<Record<string, number | string | readonly string[]>> {
  const { server } = withPorts(config, ports);
  const { socket } = config.internalApi;
  const has = (tls: boolean) => server.listeners.some((one) => one.tls === tls && one.socket === "");
  const tcp = [...ports].flatMap(([name, port]) => (isStreamListener(name) ? [port] : []));
  return {
    ...(has(false) ? { port: server.port } : {}),
    ...(has(true) ? { tls_port: server.tls.port } : {}),
    ...Object.fromEntries(
      Object.entries(OTHER_PORTS).flatMap(([name, field]) => (ports.has(name) ? [[field, ports.get(name)!]] : [])),
    ),
    ...(tcp.length > 0 ? { tcp_ports: tcp.join(" ") } : {}),
    ...(server.http3.enabled ? { http3_port: server.http3.port } : {}),
    ...(socket === "" ? {} : { internal_socket: socket }),
    ...(server.isListed || server.hosts.length > 1
      ? { listeners: server.listeners.map((one) => `${one.name} ${listenerAddress(one)}`) }
      : {}),
  };
}

const OTHER_PORTS: Readonly<Record<string, string>> = {
  internal: "internal_port",
  "sidecar-ingress": "sidecar_ingress_port",
  "sidecar-egress": "sidecar_egress_port",
};

/**
 * The TCP addresses at which this gateway itself listens: a sidecar connects to none of them, by whatever name or address
 * it was asked to. docs/security.md#sidecar
 */
export class OwnListeners {
  private readonly places: readonly ListenerPlace[];

  constructor(config: RuntimeConfig) {
    this.places = listenersOf(config).filter(({ isUnix }) => !isUnix);
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

  /** Whether one of them is at this host, as a request names it: a check without a connection. */
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
