import { type ObjectRoutes, type RouteInput, refOf } from "../objects.ts";
import { optionsOf } from "../policy/option-keys.ts";
import type { PolicyPlace, PolicyTable } from "../policy/policy-table.ts";
import type { AttachedRoute } from "./attachment.ts";
import type { BackendPair } from "./backend-certificate.ts";
import type { BackendResolver, BackendUse, ResolvedBackend } from "./backend-refs.ts";
import { type FilterKeys, filterKeys, firstOfEach } from "./filters.ts";
import type { JudgedListener } from "./listeners.ts";
import type { FieldMatch, RouteMatch, RouteObject, RouteRule } from "./shapes.ts";

/** The names of the listeners of a route. */
type ListenerNames = (listener: JudgedListener) => readonly string[];

/** What becomes of the rules of an HTTPRoute or a GRPCRoute. */
export interface TranslatedRules {
  readonly groups: readonly ObjectRoutes[];
  /** Why a backend cannot be used; "" if all can. */
  readonly reason: string;
  readonly message: string;
  /** Why nothing of the object serves; absent if it does. */
  readonly refusal?: string;
}

/** One object makes at most so many routes: more of them hold the control thread, and all other objects wait. */
const MAX_ROUTES = 512;

/** The origin of requests: listeners that have the same hosts and the same scheme. */
interface Place {
  readonly listeners: readonly string[];
  readonly hosts: readonly string[];
  readonly scheme: "http" | "https";
  readonly port: number;
  /** The Gateway and its listener, as policies name them. */
  readonly parents: readonly PolicyPlace[];
  /** Whether the route answers challenges for certificates of these hosts. */
  readonly takesChallenges: boolean;
  /** What edge shows to servers that speak TLS. */
  readonly pair: BackendPair | null;
}

/** Makes routes of the rules of an object, unless nothing of it has changed since the last time. */
export function translatedRules(
  one: AttachedRoute,
  backends: BackendResolver,
  namesOf: ListenerNames,
  policies: PolicyTable,
): TranslatedRules {
  const { route, attachments } = one;
  const served = attachments.filter(({ listener, hosts }) => listener.isServed && hosts.length > 0);
  const { namespace = "" } = route.metadata;
  const isAuthority: IsAuthority = ({ gateway }, hosts) =>
    gateway.metadata.namespace === namespace || backends.takesChallenges(namespace, hosts);
  const places = placesOf(served, namesOf, policies, isAuthority);
  const gateways = [
    ...new Set(
      attachments.map(({ listener: { gateway } }) => `${gateway.metadata.namespace}/${gateway.metadata.name}`),
    ),
  ];
  const around = `${backends.world} ${JSON.stringify([places, gateways])}`;
  const known = memory.get(route);
  if (known !== undefined && known.around === around && backends.isSame(known.uses)) {
    backends.reuse(known.uses);
    return known.rules;
  }
  const [rules, uses] = backends.noting(() => madeRules(route, places, gateways, backends, policies));
  memory.set(route, { around, uses, rules });
  return rules;
}

/** What became of a route, and of which surroundings and backends it was made. */
interface KnownRules {
  readonly around: string;
  readonly uses: readonly BackendUse[];
  readonly rules: TranslatedRules;
}

const memory: WeakMap<RouteObject, KnownRules> = new WeakMap();

/** The backends that the routes of an object were made of the last time. */
export function usesOf(route: RouteObject): readonly BackendUse[] {
  return memory.get(route)?.uses ?? [];
}

function madeRules(
  route: RouteObject,
  places: readonly Place[],
  gateways: readonly string[],
  backends: BackendResolver,
  policies: PolicyTable,
): TranslatedRules {
  const byRank = new Map<number, RouteInput[]>();
  const taken = new Set<string>();
  let fault = { reason: "", message: "" };
  let count = 0;
  for (const rule of route.spec?.rules ?? []) {
    const found = (rule.backendRefs ?? []).map((ref) => backends.resolve(route, ref, gateways));
    const keys = filterKeys(rule.filters ?? [], {
      resolve: (ref) => backends.resolve(route, ref, gateways),
    });
    const ofBackends = found.map(({ filters }) => filterKeys(filters, null).fault);
    const bad = [...found, keys.fault, ...ofBackends, keys.unresolved].find(({ reason }) => reason !== "");
    if (bad !== undefined && fault.reason === "") fault = bad;
    const parts = partsOf(route, rule, found, keys);
    count += (rule.matches ?? [{}]).length * places.length * parts.length;
    if (count > MAX_ROUTES) return { groups: [], ...fault, refusal: TOO_MANY };
    for (const match of rule.matches ?? [{}])
      for (const place of places) {
        const asked = askedBy(route, match);
        const claim = JSON.stringify([asked.where, asked.match, place.hosts, place.listeners]);
        if (taken.has(claim)) continue;
        taken.add(claim);
        const list = byRank.get(asked.rank) ?? [];
        byRank.set(asked.rank, list);
        const said = policies.keysAt([...place.parents, ...ownPlaces(route, rule)]);
        const isUsable = said.fault === "";
        const filters = isUsable ? keys : { ...keys, redirect: null };
        const shared = sharedParts(isUsable ? parts : [failing(1, 500)], keys);
        list.push(...shared.map((part) => routeOf(asked, place, part, filters, said.keys)));
      }
  }
  const name = `${route.kind} ${route.metadata.namespace}/${route.metadata.name}`;
  const groups = [...byRank].map(([rank, routes]) => ({ name, object: refOf(route), routes, rank }));
  return { groups, reason: fault.reason, message: fault.message };
}

const TOO_MANY =
  `matches, listeners with other hosts and backends with filters of their own make more than ${MAX_ROUTES} routes: ` +
  "divide them among several objects, or name a listener";

/** The route and its rule, as policies name them. */
function ownPlaces({ kind, metadata }: RouteObject, { name: section = "" }: RouteRule): PolicyPlace[] {
  const whole = { kind, namespace: metadata.namespace ?? "", name: metadata.name, section: "" };
  return section === "" ? [whole] : [whole, { ...whole, section }];
}

/** A listener and its Gateway, as policies name them; nothing while there is no policy. */
function parentPlaces({ gateway, owner, shape }: JudgedListener, policies: PolicyTable): PolicyPlace[] {
  if (policies.isEmpty) return [];
  const { namespace = "", name } = gateway.metadata;
  const whole = { kind: "Gateway", namespace, name, section: "" };
  return owner === gateway ? [whole, { ...whole, section: shape.name }] : [whole];
}

/** Whether a route may answer challenges for hosts of a listener. */
type IsAuthority = (listener: JudgedListener, hosts: readonly string[]) => boolean;

function placesOf(
  served: AttachedRoute["attachments"],
  namesOf: ListenerNames,
  policies: PolicyTable,
  isAuthority: IsAuthority,
): Place[] {
  const places = new Map<string, { listeners: string[]; place: Omit<Place, "listeners"> }>();
  for (const { listener, hosts } of served) {
    const { protocol, port } = listener.shape;
    const scheme = protocol === "HTTP" ? ("http" as const) : ("https" as const);
    const takesChallenges = isAuthority(listener, hosts);
    const place = {
      ...{ hosts, scheme, port, takesChallenges },
      ...{ parents: parentPlaces(listener, policies), pair: listener.backendPair },
    };
    const key = JSON.stringify(place);
    const known = places.get(key) ?? { listeners: [], place };
    places.set(key, known);
    for (const name of namesOf(listener)) if (!known.listeners.includes(name)) known.listeners.push(name);
  }
  return [...places.values()].map(({ listeners, place }) => ({ ...place, listeners }));
}

/** A match, as keys of a route. */
interface Asked {
  readonly where: { readonly path?: string; readonly prefix?: string; readonly regex?: string };
  readonly match: Readonly<Record<string, unknown>>;
  /** Of two that take a request, the more demanding one goes first: for a method, for more fields, for more parameters. */
  readonly rank: number;
}

function askedBy({ kind }: RouteObject, match: RouteMatch): Asked {
  const { headers = [], queryParams = [], method } = match;
  const asked: Record<string, unknown> = {};
  if (typeof method === "string")
    Object.assign(asked, { method: [method], ...(method === "GET" ? { head_with_get: false } : {}) });
  if (headers.length > 0) asked.header = testsOf(headers);
  if (queryParams.length > 0) asked.query = testsOf(queryParams);
  const where = kind === "GRPCRoute" ? callPlace(method) : pathPlace(match.path);
  const rank = (typeof method === "string" ? 10_000 : 0) + headers.length * 100 + queryParams.length;
  return { where, match: asked, rank };
}

function pathPlace({ type = "PathPrefix", value = "/" }: NonNullable<RouteMatch["path"]> = {}): Asked["where"] {
  if (type === "Exact") return { path: value };
  if (type === "RegularExpression") return { regex: `^(?:${value})$` };
  return { prefix: value.length > 1 ? value.replace(/\/$/, "") : value };
}

function callPlace(method: RouteMatch["method"]): Asked["where"] {
  if (typeof method !== "object") return { prefix: "/" };
  const { type = "Exact", service = "", method: name = "" } = method;
  if (type === "RegularExpression") return { regex: `^/(?:${service || "[^/]+"})/(?:${name || "[^/]+"})$` };
  if (service === "") return { regex: `^/[^/]+/${literalPattern(name)}$` };
  return name === "" ? { prefix: `/${service}` } : { path: `/${service}/${name}` };
}

/** The first of several tests of one name counts. */
function testsOf(tests: readonly FieldMatch[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    firstOfEach(tests, ({ name }) => name.toLowerCase()).map(({ type = "Exact", name, value }) => {
      if (type === "RegularExpression") return [name, `/^(?:${value})$/`];
      return [name, /^\/.*\/$/.test(value) ? `/^${literalPattern(value)}$/` : value];
    }),
  );
}

function literalPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Requests that are treated alike. */
interface Part {
  readonly weight: number;
  readonly keys: Readonly<Record<string, unknown>>;
  /** Whether requests go on to servers. */
  readonly isForwarded: boolean;
  readonly filters: FilterKeys | null;
}

function partsOf(
  route: RouteObject,
  rule: RouteRule,
  backends: readonly ResolvedBackend[],
  { redirect, fault }: FilterKeys,
): readonly Part[] {
  if (redirect !== null) return [{ weight: 1, keys: {}, isForwarded: false, filters: null }];
  if (fault.reason !== "") return [failing(1, 500)];
  const parts = new Map<string, { keys: Part["keys"]; filters: FilterKeys | null; all: ResolvedBackend[] }>();
  const broken: Part[] = [];
  for (const one of backends) {
    if (one.weight === 0) continue;
    const own = filterKeys(one.filters, null);
    if (one.reason !== "" || one.tls?.isBroken === true || own.fault.reason !== "") {
      broken.push(failing(one.weight, 500));
      continue;
    }
    if (one.addresses.length === 0) {
      broken.push(failing(one.weight, 503));
      continue;
    }
    const keys = { ...tlsKeys(one), ...ruleKeys(rule) };
    const filters = one.filters.length > 0 ? own : null;
    const scheme = schemeOf(route, one);
    const key = JSON.stringify([scheme, keys, one.filters]);
    const known = parts.get(key) ?? { keys: { ...keys, scheme }, filters, all: [] };
    parts.set(key, known);
    known.all.push(one);
  }
  const good = [...parts.values()].map(({ keys: { scheme, ...keys }, filters, all }): Part => {
    const weight = all.reduce((sum, one) => sum + one.weight, 0);
    return {
      weight,
      keys: { type: "upstream", targets: targetsOf(String(scheme), all), ...keys },
      isForwarded: true,
      filters,
    };
  });
  const parted = [...broken, ...good];
  return parted.length === 0 ? [failing(1, 500)] : parted;
}

function failing(weight: number, status: number): Part {
  return { weight, keys: { type: "respond", status, body: "no usable backend\n" }, isForwarded: false, filters: null };
}

function schemeOf({ kind }: RouteObject, { appProtocol, tls }: ResolvedBackend): string {
  const isHttp2 = kind === "GRPCRoute" || appProtocol === "kubernetes.io/h2c";
  if (tls !== null) return isHttp2 ? "h2" : "https";
  return isHttp2 ? "h2c" : "http";
}

function tlsKeys({ tls }: ResolvedBackend): Readonly<Record<string, unknown>> {
  if (tls === null) return {};
  const { serverName, caFile, names } = tls;
  return {
    tls: {
      server_name: serverName,
      ...(caFile === "" ? {} : { ca_file: caFile }),
      ...(names.length === 0 ? {} : { alt_names: names }),
    },
    preserve_host: true,
  };
}

/** The endpoints of a backend share its weight. */
function targetsOf(scheme: string, all: readonly ResolvedBackend[]): object[] {
  const weights = new Map<string, number>();
  for (const { weight, addresses } of all)
    for (const address of addresses)
      weights.set(address, (weights.get(address) ?? 0) + (weight * WEIGHT_UNIT) / addresses.length);
  const isEven = new Set(weights.values()).size === 1;
  return [...weights].map(([address, weight]) => ({
    url: `${scheme}://${address}`,
    ...(isEven ? {} : { weight: Math.max(1, Math.round(weight)) }),
  }));
}

/** Weights of endpoints are whole numbers: this stands for a weight of 1. */
const WEIGHT_UNIT = 840;

function ruleKeys({ timeouts, retry }: RouteRule): Readonly<Record<string, unknown>> {
  const keys: Record<string, unknown> = {};
  const limits: Record<string, unknown> = {};
  const [total, attempt] = [milliseconds(timeouts?.request), milliseconds(timeouts?.backendRequest)];
  if (total > 0) limits.total = `${total}ms`;
  if (attempt > 0) Object.assign(limits, { response_header: `${attempt}ms`, idle: `${attempt}ms` });
  if (Object.keys(limits).length > 0) keys.timeouts = limits;
  if (retry !== undefined) {
    const { attempts = 1, codes = [], backoff } = retry;
    const pause = Math.min(LONGEST_BACKOFF_MS, milliseconds(backoff));
    keys.retries = { attempts: Math.min(10, attempts), statuses: codes, backoff: `${pause}ms` };
  }
  return keys;
}

/** As `retries.backoff` takes it. */
const LONGEST_BACKOFF_MS = 60_000;

/** Durations of the API are texts such as `1m30s`; 0 for none, and for "0s", which is no limit. */
function milliseconds(text: string | undefined): number {
  let sum = 0;
  for (const [, number, unit] of (text ?? "").matchAll(/(\d{1,5})(ms|h|m|s)/g)) sum += Number(number) * UNITS[unit!]!;
  return sum;
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Parts with the share that each has of the requests: the last one takes the rest. */
function sharedParts(parts: readonly Part[], _keys: FilterKeys): readonly (Part & { readonly share: string })[] {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  return parts.map((part, i) => {
    const share = i === parts.length - 1 ? "" : `${Math.max(LEAST_SHARE, (part.weight / total) * 100).toFixed(3)}%`;
    return { ...part, share };
  });
}

/** A share of less would be none. */
const LEAST_SHARE = 0.001;

function routeOf(
  { where, match }: Asked,
  { hosts, listeners, scheme, port, pair, takesChallenges }: Place,
  part: Part & { readonly share: string },
  { redirect, ...own }: FilterKeys,
  policy: Readonly<Record<string, unknown>>,
): RouteInput {
  const asked = part.share === "" ? match : { ...match, share: part.share, sticky_by: "request" };
  const keys = part.filters === null ? own.keys(where) : merged(own.keys(where), part.filters.keys(where));
  const named = hosts.filter((host) => host !== "");
  return {
    ...where,
    ...(named.length > 0 && named.length === hosts.length ? { hosts: named } : {}),
    listeners,
    ...(takesChallenges ? { acme_challenge: "upstream" } : {}),
    ...(Object.keys(asked).length > 0 ? { match: asked } : {}),
    ...(redirect === null ? part.keys : { type: "redirect", ...redirect(where, scheme, port) }),
    ...(pair === null || part.keys.tls === undefined ? {} : { tls: { ...(part.keys.tls as object), ...pair } }),
    ...(part.isForwarded
      ? merged(policy, { ...DEFAULTS, ...keys })
      : merged(optionsOf(policy), keys.headers === undefined ? {} : responseOf(keys))),
  };
}

/** Paths go on as they are. */
const DEFAULTS = { strip_prefix: false };

function responseOf({ headers }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { response } = headers as { readonly response?: object };
  return response === undefined ? {} : { headers: { response } };
}

function merged(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const made = new Map(Object.entries(a));
  for (const [key, value] of Object.entries(b)) {
    const known = made.get(key);
    const isBoth = typeof known === "object" && known !== null && !Array.isArray(known);
    made.set(key, isBoth && typeof value === "object" ? merged(known as never, value as never) : value);
  }
  return Object.fromEntries(made);
}
