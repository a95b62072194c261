import { formatKeyPath, type KeyPath } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import type { OriginConfig } from "../config/origin.ts";
import type { AcmeConfig } from "../features/acme/settings.ts";
import type { SidecarConfig } from "../features/sidecar/settings.ts";
import type { StreamConfig } from "../routes/streams/stream-config.ts";
import type { Sections } from "../settings/sections.ts";
import { demandOf, LOOPBACK } from "../settings/server-settings.ts";

/** One TCP address that the gateway would listen on, or a UNIX socket, whose path is its host. */
interface Listener {
  readonly path: KeyPath;
  readonly host: string;
  readonly port: number;
}

/** Notes a fault at each key of the short form beside `server.listeners`. @param root the file as it was read */
export function checkShortForm(root: unknown, { server }: Sections, log: FaultLog): void {
  const written = (root as { server?: Readonly<Record<string, unknown>> | null } | null)?.server;
  if (!server.isListed || typeof written !== "object" || written === null) return;
  const keys = ["host", "port"].filter((key) => (written[key] ?? null) !== null).map((key) => ["server", key]);
  for (const [section, key] of [
    ["tls", "port"],
    ["http3", "port"],
  ] as const) {
    const inner = written[section] as Readonly<Record<string, unknown>> | null | undefined;
    if ((inner?.[key] ?? null) !== null) keys.push(["server", section, key]);
  }
  for (const path of keys)
    log.fault(path, "opens nothing beside server.listeners: remove it, or name its address there", true);
}

/** Notes a fault where two listeners of the gateway want one port, which the system would refuse at start-up. */
export function checkListeners(config: Sections, log: FaultLog): void {
  const taken: Listener[] = [];
  for (const listener of listeners(config)) {
    const earlier = taken.find((other) => other.port === listener.port && overlaps(other.host, listener.host));
    if (earlier === undefined) taken.push(listener);
    else if (!log.isFaulty(listener.path) && !log.isFaulty(earlier.path)) {
      const name = formatKeyPath(earlier.path);
      const what = listener.port > 0 ? `port ${listener.port}` : listener.host;
      log.fault(listener.path, `${what} is in use by ${name}: choose another`);
    }
  }
  checkCleartext(config, log);
  checkApplication(config.sidecar, taken, log);
}

/** The same for the addresses of streams, among themselves and beside those. @param base the path of the list in routes.yaml */
export function checkStreamListeners(
  config: Sections,
  streams: readonly (StreamConfig | null)[],
  base: KeyPath,
  log: FaultLog,
): void {
  const taken: (Listener & { readonly name: string })[] = listeners(config).map((one) => ({
    ...one,
    name: formatKeyPath(one.path),
  }));
  const datagrams: typeof taken = config.server.listeners.flatMap(({ http3, host, http3Port, path }) =>
    http3
      ? [{ path: [], host, port: http3Port, name: config.server.isListed ? formatKeyPath(path) : "server.http3" }]
      : [],
  );
  for (const [i, stream] of streams.entries()) {
    const others = stream?.type === "udp" ? datagrams : taken;
    for (const [k, { host, port }] of stream?.listen.entries() ?? []) {
      const path = [...base, i, "listen", k];
      const earlier = others.find((other) => other.port === port && overlaps(other.host, host));
      if (earlier !== undefined) log.fault(path, `port ${port} is in use by ${earlier.name}: choose another`);
      others.push({ path, host, port, name: `the stream in line ${stream!.position.line}` });
    }
    for (const [k, target] of stream?.targets.entries() ?? []) {
      const isOwn = stream!.listen.some(
        ({ host, port }) =>
          port === target.port &&
          (host === target.hostname || (LOOPBACK.test(target.hostname) && overlaps(host, target.hostname))),
      );
      if (isOwn)
        log.fault([...base, i], `target ${k + 1} is the address of the stream itself: connections would loop for ever`);
    }
  }
}

/** The application beside a sidecar is no listener of the gateway's own. docs/security.md#sidecar */
function checkApplication({ enabled, mode, appPort }: SidecarConfig, taken: readonly Listener[], log: FaultLog): void {
  if (!enabled || mode === "egress") return;
  const own = taken.find(({ host, port }) => port === appPort && (host === "localhost" || overlaps(host, "127.0.0.1")));
  const path = ["sidecar", "app_port"];
  if (own === undefined || log.isFaulty(own.path) || log.isFaulty(path)) return;
  const name = formatKeyPath(own.path);
  log.fault(path, `port ${appPort} is the gateway's own ${name}: name the port of the application`);
}

/** `server.port: off`: something else must listen, and what is answered in clear alone is not. */
function checkCleartext({ server, sidecar }: Sections, log: FaultLog): void {
  if (server.listeners.some((one) => !one.tls)) return;
  const { tls, acme } = server;
  const isJudged = !log.isFaulty(["server", "tls"]) && !log.isFaulty(["sidecar"]);
  if (!tls.enabled && !sidecar.enabled && isJudged)
    log.fault(["server", "port"], "is off, and nothing else listens: switch server.tls on, or name a port");
  if (tls.enabled && tls.redirectHttp)
    log.warn(["server", "tls", "redirect_http"], "has no effect while server.port is off");
  if (acme.enabled && usesHttp01(acme))
    log.fault(
      ["server", "acme", "challenge_type"],
      "http-01 challenges are served in clear text, and server.port is off: use tls-alpn-01",
    );
}

function usesHttp01({ isAuto, challengeType, orders }: AcmeConfig): boolean {
  return (isAuto && challengeType === "http-01") || orders.some((order) => order.challengeType === "http-01");
}

/**
 * Warns where routes that clients need a certificate for over TLS are served without one in clear text.
 * docs/security.md#tls-and-client-certificates
 */
export function checkClientAuth({ server }: Pick<Sections, "server">, routes: number, log: FaultLog): void {
  const isOpen = server.listeners.some(({ tls, redirectsHttps }) => !tls && !redirectsHttps);
  if (routes === 0 || !isOpen || demandOf(server).clientAuth !== "require") return;
  log.warn(
    ["server", "tls", "client_auth"],
    server.isListed
      ? "does not protect the listeners in clear text, where routes without listeners are served to anyone: say redirect_https, or listeners at the routes"
      : "does not protect server.port, which serves the routes in clear text to every client: set port: off, or redirect_http: true",
  );
}

/** The key of the gateway's own listener that an origin is on this machine, such as `server.port`; "" if it is none. */
export function ownListenerAt({ hostname, port, socketPath }: OriginConfig, config: Sections): string {
  if (socketPath !== "") return "";
  const isLocal = LOOPBACK.test(hostname);
  const own = listeners(config).find(({ host, port: listening }) => {
    if (listening !== port) return false;
    if (host === hostname || (isLocal && overlaps(host, hostname))) return true;
    return (hostname === "localhost" && LOOPBACK.test(host)) || (host === "localhost" && isLocal);
  });
  return own === undefined ? "" : formatKeyPath(own.path);
}

function listeners({ server, sidecar, internalApi }: Sections): Listener[] {
  const all: Listener[] = server.listeners.map(({ path, host, port, socket }) => ({
    path,
    host: host || socket,
    port,
  }));
  if (sidecar.enabled && sidecar.mode !== "egress") {
    all.push({ path: ["sidecar", "ingress_port"], host: sidecar.ingressHost, port: sidecar.ingressPort });
  }
  if (sidecar.enabled && sidecar.mode !== "ingress") {
    all.push({ path: ["sidecar", "egress_port"], host: sidecar.egressHost, port: sidecar.egressPort });
  }
  all.push({ path: ["internal_api", "listen"], host: internalApi.listenHost, port: internalApi.listenPort });
  if (internalApi.socket !== "") all.push({ path: ["internal_api", "socket"], host: internalApi.socket, port: 0 });
  return all.filter(({ port, host }) => port > 0 || host.startsWith("/"));
}

function overlaps(a: string, b: string): boolean {
  const isEvery = (host: string) => host === "0.0.0.0" || host === "::";
  return a === b || isEvery(a) || isEvery(b);
}
