/**
 * What origins may make of a request, and what a gateway may therefore not have done: slow, simple, and without a line of the
 * gateway's own code. docs/security.md#paths-and-hosts
 */

/** A route to an origin, as far as it chooses requests. */
export interface ReferenceRoute {
  readonly label: string;
  readonly path: string;
  readonly exact: boolean;
  /** Empty is all. */
  readonly methods: readonly string[];
  /** Empty is all. */
  readonly hosts: readonly string[];
  readonly stripPrefix: boolean;
}

/** What came of a request: the status of a refusal, or where it went. */
export interface Outcome {
  readonly status: number;
  /** Label of the route whose rules were applied; "" where it went nowhere. */
  readonly label: string;
  /** The path and query that the origin was asked for. */
  readonly target: string;
  /** The Host that the origin was told; null where that is not looked at. */
  readonly host: string | null;
}

/** A request in the client's words. */
export interface ReferenceRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/** Says what is wrong with an outcome; null where nothing is. */
export function faultIn(routes: readonly ReferenceRoute[], request: ReferenceRequest, outcome: Outcome): string | null {
  const host = canonicalHost(request.host);
  if (outcome.label === "") return faultInRefusal(routes, request, host, outcome.status);
  const route = routes.find(({ label }) => label === outcome.label)!;
  if (!takesHost(route, host)) return `${route.label} is of another host`;
  if (!takesMethod(route, request.method)) return `${route.label} has another method`;
  if (outcome.host !== null && outcome.host !== host + portOf(request.host)) return `Host ${outcome.host} was sent`;
  const [path = "", query] = split(outcome.target);
  if (query !== request.query) return `the query became ${query}`;
  const isStripped = route.stripPrefix && !route.exact && route.path !== "/";
  if (!path.startsWith("/") || /^\/[/\\]/.test(path)) return "a path that begins like a host";
  if (isStripped && /^\/(?:%2f|%5c)/i.test(path)) return "a path that begins like a host when it is decoded";
  const readings = readingsOf(path).map((reading) => (isStripped ? route.path + reading : reading));
  if (!readings.some((reading) => takesPath(route, reading))) return `no reading of ${path} belongs to ${route.label}`;
  for (const reading of readings) {
    const better = routes.find(
      (other) => takesHost(other, host) && isBetter(routes, other, route, host) && takesPath(other, reading),
    );
    if (better !== undefined) return `read as ${reading} it belongs to ${better.label} (${better.path})`;
  }
  return faultInDeeper(routes, route, path, host);
}

/** Servers that decode again must not find themselves at another route, but for those around the one that was found. */
function faultInDeeper(
  routes: readonly ReferenceRoute[],
  route: ReferenceRoute,
  path: string,
  host: string,
): string | null {
  for (const read of deeperReadingsOf(path)) {
    const reading = route.stripPrefix && !route.exact && route.path !== "/" ? route.path + read : read;
    const fitting = routes.filter((one) => takesHost(one, host) && takesPath(one, reading));
    const other = fitting.find(
      (one) =>
        !fitting.some((another) => isBetter(routes, another, one, host)) &&
        (isBetter(routes, one, route, host) || !takesPath(one, route.path)),
    );
    if (other !== undefined) return `decoded again, as ${reading}, it belongs to ${other.label} (${other.path})`;
  }
  return null;
}

/** What a plain path should lead to: a label, or "" where its most specific path lacks the method, or there is none. */
export function plainLabel(routes: readonly ReferenceRoute[], request: ReferenceRequest): string {
  const host = canonicalHost(request.host);
  const fitting = routes.filter((route) => takesHost(route, host) && takesPath(route, request.path));
  const best = fitting.filter((route) => !fitting.some((other) => isBetter(routes, other, route, host)));
  const able = best.filter((route) => takesMethod(route, request.method));
  able.sort((a, b) => hostRank(b, host) - hostRank(a, host));
  return able[0]?.label ?? "";
}

/** The host in lower case, without port and without the dot behind it. */
export function canonicalHost(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
}

function faultInRefusal(
  routes: readonly ReferenceRoute[],
  request: ReferenceRequest,
  host: string,
  status: number,
): string | null {
  if (status === 400 || status === 403) return null;
  const deep = deepDotsReadings(request.path);
  // Where it leads is one of its readings, and nothing has been asked for it.
  if (deep.length > 0 && status === 404) return null;
  const readings = [...readingsOf(request.path), ...deep];
  const fitting = routes.filter((route) => takesHost(route, host) && readings.some((each) => takesPath(route, each)));
  if (status === 404) return fitting.length === 0 ? null : `404 beside ${fitting[0]!.label}`;
  if (status !== 405) return `an answer of ${status}`;
  return fitting.some((route) => !takesMethod(route, request.method)) ? null : "405 where no route lacks the method";
}

/** The readings of a path at each depth at which it shows dot segments that decoding it once does not show. */
function deepDotsReadings(path: string): string[] {
  const readings: string[] = [];
  let text = decode(path);
  while (decode(text) !== text) {
    text = decode(text);
    if (/(^|[/\\])\.\.?([/\\;]|$)/.test(text))
      readings.push(...readingsOf(text.replaceAll("%", "%25")), ...readingsOf(text));
  }
  return readings;
}

function portOf(host: string): string {
  return /:\d+$/.exec(host)?.[0] ?? "";
}

/** Path, and query with its question mark. */
function split(target: string): [path: string, query: string] {
  const at = target.indexOf("?");
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at)];
}

/** The paths that servers make of one in a request line. */
function readingsOf(path: string): string[] {
  const decoded = decode(path);
  const viaUrl = URL.parse(path, "http://origin.invalid");
  return [
    // Decode, then resolve, then merge: nginx, Go, WSGI servers.
    merge(resolve(decoded)),
    // Merge before resolving.
    resolve(merge(decoded)),
    // Resolve, then decode: RFC 3986, Java.
    merge(decode(resolve(plainDots(path)))),
    // Nothing resolved.
    merge(decoded),
    // Encoded slashes are no slashes.
    merge(resolve(path.replaceAll(/%(?!2f)([0-9a-f]{2})/gi, (all) => decode(all)))),
    // A backslash is a slash, before and after decoding.
    merge(resolve(decoded.replaceAll("\\", "/"))),
    merge(decode(resolve(path.replaceAll("\\", "/")))),
    // Parameters are dropped behind dots.
    merge(resolve(withoutParameters(decoded))),
    merge(resolve(withoutParameters(decoded.replaceAll("\\", "/")))),
    // Resolved at plain slashes first, and then at all others.
    merge(resolve(withoutParameters(decode(resolve(withoutParameters(plainDots(path)))).replaceAll("\\", "/")))),
    // A browser's parser, for which two slashes at the beginning announce a host.
    viaUrl?.host === "origin.invalid" ? merge(decode(viaUrl.pathname)) : "another host",
  ];
}

/** The paths that servers make of one which decode twice, and so on until nothing is left; none where once is enough. */
function deeperReadingsOf(path: string): string[] {
  const readings: string[] = [];
  for (let text = decode(path); decode(text) !== text; text = decode(text)) {
    const again = decode(text);
    readings.push(
      merge(resolve(again)),
      merge(resolve(again.replaceAll("\\", "/"))),
      merge(resolve(withoutParameters(again))),
      merge(decode(resolve(plainDots(text)))),
    );
  }
  return readings;
}

function decode(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function plainDots(path: string): string {
  return path.replaceAll(/%2e/gi, ".").replaceAll(/%3b/gi, ";");
}

function withoutParameters(path: string): string {
  return path.replaceAll(/\/(\.{1,2});[^/]*/g, "/$1");
}

function merge(path: string): string {
  return path.replaceAll(/\/+/g, "/");
}

function resolve(path: string): string {
  const kept: string[] = [];
  const segments = path.split("/").slice(1);
  segments.forEach((segment, i) => {
    const isLast = i === segments.length - 1;
    if (segment === "..") kept.pop();
    if (segment !== "." && segment !== "..") kept.push(segment);
    else if (isLast) kept.push("");
  });
  return `/${kept.join("/")}`;
}

function takesPath(route: ReferenceRoute, path: string): boolean {
  if (route.exact) return path === route.path;
  return route.path === "/" || path === route.path || path.startsWith(`${route.path}/`);
}

/** Host first, then the exact path, then the longest prefix; routes of one path complement each other. docs/security.md#methods */
function isBetter(all: readonly ReferenceRoute[], route: ReferenceRoute, than: ReferenceRoute, host: string): boolean {
  const [rank, other] = [pathRank(all, route, host), pathRank(all, than, host)];
  if (rank !== other) return rank > other;
  if (route.exact !== than.exact) return route.exact;
  return route.path.length > than.path.length && !route.exact;
}

/** The rank of the most specific host that has the path of a route. */
function pathRank(all: readonly ReferenceRoute[], { path, exact }: ReferenceRoute, host: string): number {
  return Math.max(...all.filter((one) => one.path === path && one.exact === exact).map((one) => hostRank(one, host)));
}

function takesMethod({ methods }: ReferenceRoute, method: string): boolean {
  return methods.length === 0 || methods.includes(method) || (method === "HEAD" && methods.includes("GET"));
}

function takesHost(route: ReferenceRoute, host: string): boolean {
  return hostRank(route, host) >= 0;
}

/** 0 for a route of every host, more for a pattern, most for the name; -1 where it is another host's. */
function hostRank({ hosts }: ReferenceRoute, host: string): number {
  if (hosts.length === 0) return 0;
  const ranks = hosts.map((pattern) => {
    if (pattern === host) return 1000;
    return pattern.startsWith("*.") && host.endsWith(pattern.slice(1)) ? pattern.length : -1;
  });
  return Math.max(...ranks);
}
