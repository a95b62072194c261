import type { ConfigFault } from "../config/config-fault.ts";
import type { MatchConfig } from "../config/match-settings.ts";
import type { RouteNotes } from "../loading/load-config.ts";
import { takesHost } from "../message/request-host.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { DryRun } from "./dry-run.ts";
import { requestOf } from "./typed-request.ts";

/**
 * Notes redirect routes that lead back to themselves, alone or by way of others: a request is made for each, and its Location followed
 * through the gateway that serves. A fault where it surely comes back here; a warning where that depends on TLS in front of the gateway.
 * docs/answers.md#redirects-that-lead-round
 */
export function noteRedirectLoops(config: RuntimeConfig, notes: RouteNotes): void {
  for (const { route, way, doubt } of loopsOf(config)) {
    if (doubt === Doubt.Host) continue;
    const text = way.map((url) => url.replace(ANY_HOST, "").replaceAll(LABEL, "…")).join(" → ");
    if (doubt === Doubt.None)
      notes.fault(route, "to", `leads round for ever: ${text}; lead to a place that no redirect takes`);
    else notes.warn(route, "to", `leads round for ever where ${TLS_IN_FRONT}: ${text}; ${TELL_APART}`);
  }
}

/**
 * One note on the redirects of every host that lead to a host that no route names: to another server as a rule, and round for ever where
 * that host is this gateway's. Only the operator knows.
 */
export function doubtfulRedirects(config: RuntimeConfig): ConfigFault[] {
  const found = [...loopsOf(config)].filter(({ doubt }) => doubt === Doubt.Host);
  const [first] = found;
  if (first === undefined) return [];
  const others = found.length - 1;
  const more = others === 0 ? "" : ` (${others === 1 ? "another route does" : `${others} other routes do`} alike)`;
  const message = `sends clients of every host to ${first.host}${more}: if that name leads to this gateway as well, they loop for ever; list the hosts to redirect in host`;
  return [{ ...config.routes[first.route]!.position, path: `routes[${first.route}].to`, message }];
}

/** Each loop once. */
function* loopsOf(config: RuntimeConfig): Generator<Loop & { readonly route: number }> {
  const dry = new DryRun(config);
  const told = new Set<string>();
  let followed = 0;
  for (const [i, route] of config.routes.entries()) {
    if (!("to" in route) || route.isForAnyHost || ++followed > MAX_FOLLOWED) continue;
    const loop = loopFrom(config, dry, i);
    if (loop === null) continue;
    const members = [...loop.members].sort((a, b) => a - b);
    // A route that only leads into a loop is as it should be once that is mended.
    if (!loop.members.has(i) || told.has(members.join())) continue;
    told.add(members.join());
    yield { ...loop, route: i };
  }
}

/** A way that does not end. */
interface Loop {
  /** Places of the routes that send the client round. */
  readonly members: ReadonlySet<number>;
  /** The first addresses of it. */
  readonly way: readonly string[];
  readonly doubt: Doubt;
  /** The host that no route names; "" if there is none on the way. */
  readonly host: string;
}

/** On what it depends whether a client comes back here. */
const enum Doubt {
  /** It surely does. */
  None = 0,
  /** Whether TLS ends in front of the gateway. */
  Tls,
  /** Whether a host that no route names leads here. */
  Host,
}

function loopFrom(config: RuntimeConfig, dry: DryRun, start: number): Loop | null {
  const route = config.routes[start]!;
  const first = firstUrl(config, route);
  if (first === null) return null;
  const own = dry.router.routes.length - config.routes.length;
  const { headers, clientIp } = senderFor(route.match);
  const way: string[] = [];
  const members: number[] = [];
  const seen: string[] = [];
  let doubt = Doubt.None;
  let host = "";
  let method = methodOf(route);
  const named = route.listeners.map((name) => config.server.listeners.find((one) => one.name === name)!);
  const listenerFor = ({ protocol }: URL) => named.find(({ tls }) => tls === (protocol === "https:"))?.name ?? "";
  for (let url = first; ; ) {
    const again = seen.indexOf(`${method} ${url.href}`);
    if (again >= 0)
      return { members: new Set(members.slice(again)), way: [...way.slice(again), url.href], doubt, host };
    if (way.length === MAX_HOPS)
      return { members: new Set(members.slice(MAX_HOPS / 2)), way: way.slice(0, 3), doubt, host };
    const request = requestOf(
      { request: `${method} ${url.href}`, headers, body: "", clientIp, listener: listenerFor(url) },
      config,
    );
    if (typeof request === "string") return null;
    const { ex, response, sent } = dry.run(request);
    const location = response?.fields.find(([name]) => name.toLowerCase() === "location")?.[1];
    const index = (ex.route?.index ?? -1) - own;
    if (response === null || sent !== null || location === undefined || response.status < 300 || response.status > 399)
      return null;
    if (way.length === 0 && index !== start) return null;
    way.push(url.href);
    seen.push(`${method} ${url.href}`);
    if (index >= 0) members.push(index);
    const next = URL.parse(location, url.href);
    if (next === null || !/^https?:$/.test(next.protocol)) return null;
    next.hash = "";
    if (!isSameServer(config, url, next)) {
      doubt = Doubt.Host;
      host ||= next.hostname;
    } else if (doubt === Doubt.None && next.protocol === "https:" && !config.server.tls.enabled) doubt = Doubt.Tls;
    url = next;
    method = methodAfter(response.status, method);
  }
}

/** Whether a client that is sent from one address to another comes to this gateway, as far as the files can tell. */
function isSameServer({ routes }: RuntimeConfig, from: URL, to: URL): boolean {
  return to.hostname === from.hostname || routes.some(({ hosts }) => hosts.length > 0 && takesHost(hosts, to.hostname));
}

/** An address that a route redirects; null if none can be made up. */
function firstUrl({ server }: RuntimeConfig, { path, prefix, hosts, match, listeners }: RouteConfig): URL | null {
  const own = server.listeners.filter(({ name }) => listeners.length === 0 || listeners.includes(name));
  const overTls = own.length > 0 && own.every(({ tls, redirectsHttps }) => tls || redirectsHttps);
  const host = (hosts[0] ?? `${LABEL}.invalid`).replace(/^\*/, LABEL);
  const below = path === "" ? `${prefix.replace(/\/$/, "")}/${LABEL}` : path;
  const wanted = match?.query ?? [];
  const query = wanted.flatMap(([name, value]) =>
    value === false ? [] : `${encodeURIComponent(name)}=${encodeURIComponent(value === true ? "1" : value)}`,
  );
  return URL.parse(`${overTls ? "https" : "http"}://${host}${below}${query.length > 0 ? `?${query.join("&")}` : ""}`);
}

/** A client for which a match holds, as far as one can be made up: an expression counts as a value, and does not fit. */
function senderFor(match: MatchConfig | null): { readonly headers: string[]; readonly clientIp: string } {
  if (match === null) return { headers: [], clientIp: ANY_CLIENT };
  const given = (tests: MatchConfig["header"]) =>
    tests.flatMap(([name, value]) => (value === false ? [] : [[name, value === true ? "1" : value] as const]));
  const cookies = given(match.cookie).map(([name, value]) => `${name}=${value}`);
  return {
    headers: [
      ...given(match.header).map(([name, value]) => `${name}: ${value}`),
      ...(cookies.length > 0 ? [`Cookie: ${cookies.join("; ")}`] : []),
    ],
    clientIp: match.clientIp[0]?.text.split("/")[0] ?? ANY_CLIENT,
  };
}

function methodOf({ methods: own, match }: RouteConfig): string {
  const methods = own.length > 0 ? own : (match?.method ?? []);
  return methods.length === 0 || methods.includes("GET") ? "GET" : methods[0]!;
}

/** What a client asks with after a redirect. RFC 9110 §15.4 */
function methodAfter(status: number, method: string): string {
  if (status === 303) return method === "HEAD" ? "HEAD" : "GET";
  return status < 303 && method === "POST" ? "GET" : method;
}

/** A label that no route is likely to name. */
const LABEL = "edge-check-sample";
/** The start of an address of a route that names no host. */
const ANY_HOST: RegExp = new RegExp(`^https?://${LABEL}\\.invalid`);
const TLS_IN_FRONT = "TLS ends in front of this gateway";
const TELL_APART = "tell the two apart, as by match: {header: {X-Forwarded-Proto: http}}";
const ANY_CLIENT = "203.0.113.1";
/** Browsers give up after that many. */
const MAX_HOPS = 20;
/** Redirects that are followed: of more, a file is rather a table. */
const MAX_FOLLOWED = 1000;
