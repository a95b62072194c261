import type { Cidr } from "../config/cidr.ts";
import { type KeyPath, quote } from "../config/config-fault.ts";
import { resolveHost } from "../config/host-kinds.ts";
import { parseAuthority } from "../config/origin.ts";
import { list, type Spot } from "../config/piece.ts";
import { below, block, isFaultyAt, type Rows, type Values } from "../config/row.ts";
import { flag, text, textLike, textOrNumber } from "../config/scalars.ts";
import { fileMode, socketPath } from "../config/socket-kinds.ts";
import { clientDemand, listenerSite, listenerTls, type TlsSettings } from "../config/tls-settings.ts";
import { hostAndPort, isThisMachine } from "../core/ip-address.ts";
import { MAX_LISTENERS } from "../core/limits.ts";
import { type ForwardProxyConfig, forwardProxy } from "./forward-proxy.ts";

/** One address of the gateway's for clients, whatever way it was written: in `server.listeners`, or by `host` and `port`. docs/listeners.md */
export interface ServerListener {
  readonly name: string;
  /** The key that opens it. */
  readonly path: KeyPath;
  /** Without brackets; "" for a UNIX socket. */
  readonly host: string;
  readonly port: number;
  /** The absolute path of a UNIX socket, "" for an address. */
  readonly socket: string;
  /** Permissions of that file. */
  readonly mode: number;
  /** Its group, a name or number; "" for that of the process. */
  readonly group: string;
  readonly tls: boolean;
  /** What its TLS has of its own; null for `server.tls`. */
  readonly site: TlsSettings | null;
  /** Peers whose connections begin with a PROXY header. */
  readonly proxies: readonly Cidr[];
  /** Whether requests in clear text are sent to https://. */
  readonly redirectsHttps: boolean;
  readonly http2: boolean;
  /** Whether HTTP/3 is served at the UDP port of `http3Port`. */
  readonly http3: boolean;
  readonly http3Port: number;
  /** Null for a listener of the site. docs/forward-proxy.md */
  readonly forwardProxy: ForwardProxyConfig | null;
}

const NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/i;
/** Of listeners that other keys open. */
const RESERVED = /^(internal|internal-socket|sidecar-ingress|sidecar-egress|tcp-.*)$/;

const rows = {
  name: {
    type: textLike(NAME, "a name of letters, digits, dots and dashes"),
    absent: "",
    example: "public",
    doc: "the listener's name in logs, metrics and `listeners` of a route; its address by default",
  },
  address: {
    type: textOrNumber("an address and a port"),
    default: "",
    example: "0.0.0.0:8080",
    doc: 'where it listens: HOST:PORT, "[::]:443", ":8080" or unix:/run/edge/http.sock',
  },
  mode: { type: fileMode(), default: "0660", doc: "the permissions of a UNIX socket" },
  group: { type: text("the name of a group"), default: "", example: "www-data", doc: "the group of a UNIX socket" },
  tls: { type: listenerTls, doc: "true takes server.tls; or write keys here, and server.tls gives the others" },
  proxy_protocol: {
    type: flag(),
    absent: null,
    example: true,
    doc: "true: peers of server.proxy_protocol.trusted, else of trusted_proxies, send a PROXY header first",
  },
  redirect_https: { type: flag(), absent: null, example: true, doc: "true redirects cleartext requests to https://" },
  http2: {
    type: flag(),
    absent: null,
    example: false,
    doc: "whether this listener speaks HTTP/2; as server.http2 by default",
  },
  http3: {
    type: flag(),
    absent: null,
    example: false,
    doc: "HTTP/3 at the same port over UDP; as server.http3 by default",
  },
  forward_proxy: {
    type: forwardProxy,
    absent: null,
    doc: "your clients reach other servers through this listener; it serves no routes",
  },
} as const satisfies Rows;

/** An entry of `server.listeners`. docs/listeners.md */
export const listener = block(rows);

/** The key `server.listeners`. */
export const listenerList = list(listener, "listeners");

type ListenerValues = Values<typeof rows>;

/** The keys of `server` that listeners fall back to. */
interface ListenerDefaults {
  readonly hosts: readonly string[];
  readonly port: number;
  readonly tls: TlsSettings & {
    readonly enabled: boolean;
    readonly port: number;
    readonly redirectHttp: boolean;
    readonly redirectPort: number;
  };
  readonly http2: { readonly enabled: boolean };
  readonly http3: { readonly enabled: boolean; readonly port: number };
  readonly proxyProtocol: { readonly enabled: boolean; readonly trusted: readonly Cidr[] };
  /** Whether certificates come without files: by ACME, or of the local authority. */
  readonly hasIssuer: boolean;
}

/** The listeners of the short form: cleartext at `port` and TLS at `tls.port`, on each of the hosts. */
export function shortListeners({ hosts, port, tls, http2, http3, proxyProtocol }: ListenerDefaults): ServerListener[] {
  const base = {
    ...PLAIN,
    proxies: proxyProtocol.enabled ? proxyProtocol.trusted : [],
    http2: http2.enabled,
  };
  return hosts.flatMap((host, i) => {
    const number = i === 0 ? "" : `-${i + 1}`;
    const clear = { ...base, name: `http${number}`, path: ["server", "port"], host, port };
    const secure = {
      ...base,
      name: `https${number}`,
      path: ["server", "tls", "port"],
      host,
      port: tls.port,
      tls: true,
    };
    const quic = { http3: http3.enabled, http3Port: http3.port <= 0 ? tls.port : http3.port };
    return [
      ...(port >= 0 ? [{ ...clear, redirectsHttps: tls.enabled && tls.redirectHttp }] : []),
      ...(tls.enabled ? [{ ...secure, ...quic }] : []),
    ];
  });
}

/** The listeners of `server.listeners`. What contradicts itself is noted as a fault. @param spot that of the list */
export function listedListeners(
  all: readonly ListenerValues[],
  defaults: ListenerDefaults,
  spot: Spot,
): ServerListener[] {
  const found = all.map((values, i) => resolveListener(values, defaults, below(spot, i)));
  if (all.length > MAX_LISTENERS)
    spot.log.fault(spot.path, `expected at most ${MAX_LISTENERS} listeners, found ${all.length}`);
  const names = new Map<string, number>();
  for (const [i, { name, path }] of found.entries()) {
    const earlier = names.get(name);
    if (earlier === undefined) names.set(name, i);
    else spot.log.fault([...path, "name"], `${quote(name)} is listeners[${earlier}] already: choose another name`);
  }
  return found;
}

function resolveListener(values: ListenerValues, defaults: ListenerDefaults, spot: Spot): ServerListener {
  const { path, log } = spot;
  const { tls, http2, http3, proxyProtocol } = defaults;
  const place = placeOf(values.address, below(spot, "address"));
  const name = values.name === "" ? nameOf(place) : values.name;
  if (RESERVED.test(name))
    log.fault([...path, "name"], `${quote(name)} is a name of the gateway's own: choose another`);
  const isSecure = values.tls.enabled;
  const listed = {
    ...PLAIN,
    ...place,
    name,
    path,
    mode: Number.parseInt(values.mode, 8),
    group: values.group,
    tls: isSecure,
    site: isSecure ? listenerSite(values.tls, tls, below(spot, "tls")) : null,
    proxies: (values.proxy_protocol ?? proxyProtocol.enabled) ? proxyProtocol.trusted : [],
    redirectsHttps: !isSecure && (values.redirect_https ?? tls.redirectHttp),
    http2: values.http2 ?? http2.enabled,
    http3: isSecure && place.socket === "" && (values.http3 ?? http3.enabled),
    http3Port: place.port,
    forwardProxy:
      values.forward_proxy === null ? null : forwardProxy.resolve(values.forward_proxy, below(spot, "forward_proxy")),
  };
  check(listed, values, defaults, spot);
  return listed;
}

function check(
  listed: ServerListener,
  values: ListenerValues,
  { tls, proxyProtocol, hasIssuer }: ListenerDefaults,
  spot: Spot,
) {
  const { path, log } = spot;
  const fault = (key: string, message: string) => {
    if (!isFaultyAt(spot, key)) log.fault([...path, key], message);
  };
  const own = listed.site ?? tls;
  if (listed.tls && own.certificates.length === 0 && !hasIssuer && !own.isInternal && !hasHostPair(own)) {
    const isMeant = log.isFaulty(["server", "tls"]) || log.isFaulty(["server", "acme"]);
    if (!isMeant) fault("tls", "needs server.tls with a certificate, or cert_file and key_file here, or tls: internal");
  }
  if (values.proxy_protocol === true && proxyProtocol.trusted.length === 0)
    fault("proxy_protocol", "needs server.proxy_protocol.trusted or trusted_proxies: who may send PROXY headers");
  if (values.redirect_https === true && listed.tls) fault("redirect_https", "is for clear text, and tls is on here");
  if (values.http3 === true && !listed.tls)
    fault("http3", "HTTP/3 always runs over TLS: say tls: true, or remove http3");
  if (values.http3 === true && listed.socket !== "") fault("http3", "HTTP/3 is over UDP, and this is a UNIX socket");
  checkForwardProxy(listed, fault, spot);
  if (listed.socket === "" && values.group !== "") log.warn([...path, "group"], "has no effect without a UNIX socket");
  const withoutQuic = quicFault(listed, tls);
  if (withoutQuic !== "") log.fault(path, withoutQuic, true);
}

function checkForwardProxy(
  { forwardProxy: own, http3, redirectsHttps, host, socket }: ServerListener,
  fault: (key: string, message: string) => void,
  { path, log }: Spot,
): void {
  if (own === null) return;
  if (http3) fault("forward_proxy", "is for HTTP/1.1 and HTTP/2: say http3: false here");
  if (redirectsHttps)
    fault("forward_proxy", "and redirect_https contradict each other: say redirect_https: false here");
  if (own.basic === null && socket === "" && !isThisMachine(host))
    log.warn([...path, "forward_proxy"], "lets every client use the proxy that reaches this address: add basic");
}

/** Why HTTP/3 cannot be served as a listener's TLS demands, or "": the runtime's QUIC has one set of terms for all names. */
export function quicFault({ http3, site }: Pick<ServerListener, "http3" | "site">, server: TlsSettings): string {
  if (!http3) return "";
  const own = site ?? server;
  // It can require certificates; it cannot merely ask for them, and clients would be anonymous over HTTP/3.
  if (own.clientAuth === "request" || own.clientAuth === "any")
    return `with tls.client_auth: ${own.clientAuth} clients could not show certificates over HTTP/3: say require, or http3: false`;
  if (own.hosts.some((host) => clientDemand(host) !== clientDemand(own)))
    return "HTTP/3 cannot ask for client certificates by host, nor keep names apart, as tls.hosts does: say http3: false";
  if (own.crlFile !== "") return "HTTP/3 cannot look at crl_file: say http3: false";
  if ([own, ...own.hosts].some(({ curves }) => curves.length > 0))
    return "HTTP/3 cannot choose curves, as tls does: say http3: false";
  return "";
}

function hasHostPair({ hosts }: TlsSettings): boolean {
  return hosts.some(({ certificate }) => certificate !== null);
}

type Place = Pick<ServerListener, "host" | "port" | "socket">;

function placeOf(address: string, spot: Spot): Place {
  const { path, log } = spot;
  const unix = /^unix:(?:\/\/(?=\/))?(.+)$/.exec(address)?.[1];
  if (unix !== undefined) return { host: "", port: 0, socket: socketPath(unix, spot) };
  const full = /^\d+$/.test(address) ? `0.0.0.0:${address}` : address.replace(/^(?:\*?)(?=:\d+$)/, "0.0.0.0");
  const parsed = parseAuthority(full);
  if (typeof parsed !== "string" && (parsed.port > 0 || full.endsWith(":0")))
    return { host: resolveHost(parsed.hostname, path, log), port: Math.max(0, parsed.port), socket: "" };
  const what = 'an address and a port such as 0.0.0.0:8080, "[::]:443" or :8080, or unix:/run/edge/http.sock';
  if (!log.isFaulty(path)) log.fault(path, `expected ${what}, found ${quote(address)}`, address === "");
  return { host: "0.0.0.0", port: 0, socket: "" };
}

/** `0.0.0.0-8080`, or the name of the file: names have no colon. */
function nameOf({ host, port, socket }: Place): string {
  const text = socket === "" ? `${host}-${port}` : socket.slice(socket.lastIndexOf("/") + 1);
  return text.replace(/[^a-zA-Z0-9_.-]/g, "_").replace(/^[_.-]/, "l");
}

/** Where a listener is, as an operator writes it. */
export function listenerAddress({ host, port, socket }: Place): string {
  return socket === "" ? hostAndPort(host, port) : `unix:${socket}`;
}

/** The listeners as a file would say them, each with all of its keys. */
export function writtenListeners(all: readonly ServerListener[]): object[] {
  return all.map((one) => {
    const { socket, site, tls, http3, proxies } = one;
    const own = site === null ? tls : listenerTls.write({ ...site, enabled: true } as never);
    return {
      name: one.name,
      address: listenerAddress(one),
      ...(socket === "" ? {} : { mode: fileMode().write(one.mode), group: one.group }),
      tls: own,
      proxy_protocol: proxies.length > 0,
      ...(tls ? { http3 } : { redirect_https: one.redirectsHttps }),
      http2: one.http2,
      ...(one.forwardProxy === null ? {} : { forward_proxy: forwardProxy.write(one.forwardProxy) }),
    };
  });
}

const PLAIN = {
  socket: "",
  mode: 0o660,
  group: "",
  tls: false,
  site: null,
  redirectsHttps: false,
  http3: false,
  http3Port: -1,
  forwardProxy: null,
};

/** A server, as far as its listeners go. */
interface WithListeners {
  readonly listeners: readonly ServerListener[];
}

/** The TLS of a listener. */
export function siteOf({ site }: ServerListener, server: { readonly tls: TlsSettings }): TlsSettings {
  return site ?? server.tls;
}

/** The TLS of all listeners. */
export function sitesIn(server: WithListeners & { readonly tls: TlsSettings }): readonly TlsSettings[] {
  return [...new Set(server.listeners.filter(({ tls }) => tls).map((one) => siteOf(one, server)))];
}

/** The listeners of `server` as `/internal/api/status` shows them. docs/endpoints.md#status @param server with the ports that they have */
export function listenerFacts(
  server: WithListeners & { readonly tls: TlsSettings },
  counts: readonly { readonly label: string; readonly accepted: number; readonly open: number }[],
): readonly object[] {
  return server.listeners.map((one) => ({
    name: one.name,
    address: listenerAddress(one),
    tls: one.tls,
    ...(one.tls ? { client_auth: siteOf(one, server).clientAuth, http3: one.http3 } : {}),
    proxy_protocol: one.proxies.length > 0,
    connections: counts.find(({ label }) => label === one.name)?.accepted ?? 0,
    active_connections: counts.find(({ label }) => label === one.name)?.open ?? 0,
  }));
}
