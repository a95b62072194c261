import { bracketed, ipVersion } from "../core/ip-address.ts";
import { trimmedEnd } from "../core/trimming.ts";
import { type KeyPath, quote } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import { didYouMean } from "./nearest-name.ts";

/**
 * Reads the URL of an upstream server: `http://10.0.0.5:9001/api`, with `http` when no scheme is named. Gives its parts
 * or a fault text with the cure. Schemes: http, https, h2c (cleartext HTTP/2), h2 (HTTP/2 over TLS),
 * `unix:/run/app.sock` where sockets are taken, and `fastcgi://127.0.0.1:9000` or `fastcgi://unix:/run/app.sock`, likewise `uwsgi` and
 * `scgi`, where scripts are run. docs/upstreams.md#targets
 * @param absolute makes the path of a socket absolute; null if only TCP is valid
 */
export function parseOrigin(
  url: string,
  absolute: ((path: string) => string) | null = null,
  runsScripts = false,
): OriginConfig | string {
  const example = "such as http://127.0.0.1:9001";
  if (url === "") return `expected the address of a server ${example}, found ""`;
  if (/^unix:/i.test(url)) {
    const found = `found ${quote(url)}`;
    return absolute === null
      ? `expected a URL ${example}, ${found}: a socket can only be a route's target`
      : parseSocket(url, absolute);
  }
  // The URL may hold a password, so it is not repeated in this message, which comes before the others.
  if (/^(?:[a-z][a-z0-9+.-]*:)?[/\\]*([^/?#]*)/i.exec(url)![1]!.includes("@")) {
    return 'expected a URL without user name and password; remove the part before "@"';
  }
  if (/[\s\\]/.test(url) || !/^[\x21-\x7e]+$/.test(url))
    return `expected a URL without spaces or special characters, found ${quote(url)}`;
  const [scheme, rest] = splitScheme(url);
  const isOfScripts = SCRIPT_SCHEMES.has(scheme);
  if (isOfScripts && !runsScripts)
    return `expected a URL ${example}, found ${quote(url)}: only a target of a route with type: upstream runs scripts`;
  if (isOfScripts && absolute !== null && /^unix:/i.test(rest))
    return parseScriptSocket(url, scheme as ScriptScheme, rest, absolute);
  const port = SCHEME_PORTS.get(scheme as OriginScheme);
  if (port === undefined) return `expected a URL with http, https, h2c or h2, found ${quote(url)}${schemeCure(scheme)}`;
  if (rest.includes("#")) return `expected a URL without a fragment, found ${quote(url)}; remove the part from "#"`;
  if (rest.includes("?")) return `expected a URL without a query, found ${quote(url)}; remove the part from "?"`;
  // As nginx writes it.
  if (/^unix:/i.test(rest)) return `expected unix:/run/app.sock for a socket, found ${quote(url)}`;
  const slash = rest.indexOf("/");
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const host = parseAuthority(authority);
  if (typeof host === "string") return `${host}, found ${quote(url)}`;
  const basePath = slash < 0 ? "" : withoutLastSlash(rest.slice(slash));
  if (isOfScripts && slash >= 0)
    return noPathAfter(url, scheme, scheme === FASTCGI ? "a FastCGI server" : "an application's address");
  if (hasDots(basePath)) return `expected a URL without "." and ".." in its path, found ${quote(url)}`;
  return originOf(scheme as OriginScheme, host.hostname, host.port < 0 ? port : host.port, basePath);
}

/** Reads `unix:/run/app.sock` or `unix:/run/app.sock:/base`: the path of a socket, and the prefix of paths. */
function parseSocket(url: string, absolute: (path: string) => string): OriginConfig | string {
  const found = `found ${quote(url)}`;
  const rest = url.slice("unix:".length);
  const end = rest.indexOf(":/");
  const path = end < 0 ? rest : rest.slice(0, end);
  const base = end < 0 ? undefined : rest.slice(end + 1);
  if (path === "" || path.startsWith("//") || /[/:]$/.test(path))
    return `expected the path of a socket, such as unix:/run/app.sock, ${found}`;
  if (base !== undefined && (/[?#\s\\]/.test(base) || !/^[\x21-\x7e]+$/.test(base) || hasDots(base)))
    return `expected a plain path after the socket's, such as unix:/run/app.sock:/api, ${found}`;
  const socketPath = absolute(path!);
  const bytes = Buffer.byteLength(socketPath);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    return `expected the path of a socket of at most ${MAX_SOCKET_PATH_BYTES} bytes, found one of ${bytes}: ${quote(socketPath)}`;
  }
  if (/\p{Cc}|:\//u.test(socketPath))
    return `expected the path of a socket without control characters and ":/", ${found}`;
  const basePath = withoutLastSlash(base ?? "");
  // A socket has no name of its own to send as Host.
  return { ...originOf("http", "localhost", 80, basePath), originKey: `unix:${socketPath}`, socketPath };
}

/** Reads the part after `fastcgi://` if it is a socket. */
function parseScriptSocket(
  url: string,
  scheme: ScriptScheme,
  rest: string,
  absolute: (path: string) => string,
): OriginConfig | string {
  const socket = parseSocket(rest, absolute);
  if (typeof socket === "string") return socket;
  if (socket.basePath !== "" || rest.endsWith(":/")) return noPathAfter(url, scheme, "the socket's");
  return { ...socket, scheme, originKey: `${scheme}://${socket.originKey}` };
}

function noPathAfter(url: string, scheme: string, what: string): string {
  const cure =
    scheme === FASTCGI ? "the folder of its scripts is fastcgi.root" : "rewrite changes the path that it is asked for";
  return `expected no path after ${what}, found ${quote(url)}: ${cure}`;
}

function withoutLastSlash(path: string): string {
  return trimmedEnd(path, "/");
}

function hasDots(path: string): boolean {
  return /(^|\/)\.{1,2}(\/|$)/.test(path);
}

/** An origin as a target is written: its key, with the path that is put in front. */
export function originUrl({ originKey, basePath, socketPath }: OriginConfig): string {
  return socketPath === "" || basePath === "" ? originKey + basePath : `${originKey}:${basePath}`;
}

/** The parts of an origin, worked out from the scheme, a lower-case host name (IPv6 without brackets) and a port. */
export function originOf(scheme: OriginScheme, hostname: string, port: number, basePath: string): OriginConfig {
  const host = bracketed(hostname);
  const authority = port === SCHEME_PORTS.get(scheme) ? host : `${host}:${port}`;
  return { originKey: `${scheme}://${authority}`, scheme, hostname, port, authority, basePath, socketPath: "" };
}

/** True for schemes that speak TLS. */
export function usesTls(scheme: OriginScheme): boolean {
  return scheme === "https" || scheme === "h2";
}

/** True for schemes that run scripts by FastCGI. */
export function speaksFastCgi(scheme: OriginScheme): boolean {
  return scheme === FASTCGI;
}

/** The protocol in which an application gets variables in place of a request of HTTP, if it is not FastCGI; null for all others. */
export function applicationScheme(scheme: OriginScheme): "uwsgi" | "scgi" | null {
  return scheme === "uwsgi" || scheme === "scgi" ? scheme : null;
}

/** True for schemes whose servers get variables in place of a request of HTTP. */
export function takesVariables(scheme: OriginScheme): boolean {
  return SCRIPT_SCHEMES.has(scheme);
}

/** True for schemes that speak HTTP/2. */
export function speaksHttp2(scheme: OriginScheme): boolean {
  return scheme === "h2" || scheme === "h2c";
}

/** True for a DNS name, in any letter case: labels of letters, digits, `-` and `_` (which container networks use). */
export function isHostName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*\.?$/i.test(name);
}

/**
 * Reads `host`, `host:port` or `[ipv6]:port`. Gives the lower-case host name without brackets and the port, -1 when
 * there is none, or a fault text with the expectation.
 */
export function parseAuthority(authority: string): { hostname: string; port: number } | string {
  const parts = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(.*))?$/.exec(authority);
  if (parts === null || parts[3]?.includes(":")) return "expected host:port, with an IPv6 address in brackets";
  const hostname = (parts[1] ?? parts[2] ?? "").toLowerCase();
  const isGood =
    parts[1] !== undefined ? ipVersion(hostname) === 6 && !hostname.includes("%") : isDottedOrName(hostname);
  if (!isGood)
    return hostname === "" ? "expected a host name or an IP address" : "expected a valid host name or IP address";
  if (parts[3] === undefined) return { hostname, port: -1 };
  const port = /^\d{1,5}$/.test(parts[3]) ? Number(parts[3]) : -1;
  return port >= 1 && port <= 65_535 ? { hostname, port } : "expected a port from 1 to 65535 after the colon";
}

function isDottedOrName(hostname: string): boolean {
  // Four numbers, or digits alone, are an IPv4 address or a slip, never a name: `10.0.0.256`, `10.0.1`.
  return /^[\d.]+$/.test(hostname) ? ipVersion(hostname) === 4 : isHostName(hostname);
}

function schemeCure(scheme: string): string {
  if (scheme.startsWith(SERVICE)) return ": only the key target of an upstream route takes SRV records";
  const web = new Map([
    ["ws", "http"],
    ["wss", "https"],
    ["grpc", "h2c"],
    ["grpcs", "h2"],
  ]).get(scheme);
  if (scheme === "fcgi" || scheme === "php") return ` (write ${FASTCGI}://)`;
  return web === undefined ? didYouMean(scheme, [...SCHEME_PORTS.keys()]) : ` (write ${web}://)`;
}

function splitScheme(url: string): [string, string] {
  const parts = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(url);
  return parts === null ? ["http", url] : [parts[1]!.toLowerCase(), parts[2]!];
}

/**
 * Reads `srv+http://_web._tcp.example.com/base`, whose servers SRV records name. docs/upstreams.md#srv-records
 * @returns null for another address, or a fault text
 */
export function parseService(url: string): OriginConfig | string | null {
  if (!url.toLowerCase().startsWith(SERVICE)) return null;
  const example = `expected a service such as srv+http://_web._tcp.example.com, found ${quote(url)}`;
  const origin = parseOrigin(url.slice(SERVICE.length));
  if (typeof origin === "string") return `${example}: ${origin}`;
  const hasPort = /^[^/]*\/\/[^/]*:/.test(url.slice(SERVICE.length));
  if (hasPort) return `${example}: its records say the ports`;
  return ipVersion(origin.hostname) === 0 ? origin : `${example}: an address has no records`;
}

const SERVICE = "srv+";

/** Room in the address of a socket (unix(7): 108, the last of them zero). */
const MAX_SOCKET_PATH_BYTES = 107;

const FASTCGI = "fastcgi";
type ScriptScheme = "fastcgi" | "uwsgi" | "scgi";
const SCRIPT_SCHEMES: ReadonlySet<string> = new Set<ScriptScheme>([FASTCGI, "uwsgi", "scgi"]);
const SCHEME_PORTS = new Map<OriginScheme, number>([
  ["http", 80],
  ["https", 443],
  ["h2c", 80],
  ["h2", 443],
  // The default port of php-fpm.
  [FASTCGI, 9000],
  ["uwsgi", 3031],
  ["scgi", 4000],
]);

/** `h2c` is cleartext HTTP/2, `h2` is HTTP/2 over TLS, `fastcgi`, `uwsgi` and `scgi` run scripts; `tcp` and `udp` are whatever the client speaks. */
export type OriginScheme = "http" | "https" | "h2c" | "h2" | "fastcgi" | "uwsgi" | "scgi" | "tcp" | "udp";

/** A server that the gateway connects to. docs/upstreams.md#targets */
export interface OriginConfig {
  /**
   * `scheme://host[:port]`, lower-case, the scheme's own port left out, `unix:/path` or `fastcgi://unix:/path`: the key of the
   * connection pool.
   */
  readonly originKey: string;
  readonly scheme: OriginScheme;
  /** For connecting and for certificate checks: lower-case, an IPv6 address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** For a `Host` field: with brackets where needed, the port left out when it is the scheme's own. */
  readonly authority: string;
  /** Put before the forwarded path: "" or `/api`, never ending in `/`. */
  readonly basePath: string;
  /** The absolute path of its UNIX socket; "" for a TCP address. */
  readonly socketPath: string;
}

/** The parts of an origin, or of nothing if a fault has been noted. */
export function meshOrigin(url: string, path: KeyPath, log: FaultLog): OriginConfig {
  const parsed = parseOrigin(url);
  if (typeof parsed !== "string") return parsed;
  log.fault(path, parsed);
  return originOf("http", "", 0, "");
}

/** One server of an upstream route. */
export interface TargetConfig extends OriginConfig {
  /** As `originUrl` writes it, for listings. */
  readonly url: string;
  /** What operators call it; absent or "" without a name. docs/upstreams.md#names-of-targets */
  readonly name?: string;
  /** 0 sends nothing to it. */
  readonly weight: number;
  /** Used only while every other target is unhealthy. */
  readonly backup: boolean;
}
