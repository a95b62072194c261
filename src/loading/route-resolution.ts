import type { KeyPath } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import { didYouMean, nearestName } from "../config/nearest-name.ts";
import { describe, type Spot } from "../config/piece.ts";
import type { SharedParts } from "../config/shared-parts.ts";
import { series } from "../core/number-text.ts";
import type { ClusterConfig } from "../features/fleet/settings.ts";
import type { MapConfig } from "../features/maps/settings.ts";
import { checkWafRules } from "../features/waf/settings.ts";
import { noteGroupsOfPath } from "../routes/rewrite-keys.ts";
import type { RouteBase } from "../routes/route-base.ts";
import { routeClaims, routePlaceText } from "../routes/route-claims.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { type EntryValues, RouteSchemas, routePlace } from "../routes/route-schema.ts";
import type { RouteSpot } from "../routes/route-spot.ts";
import type { RouteSyntax } from "../routes/route-syntax.ts";
import type { StreamConfig, StreamType } from "../routes/streams/stream-config.ts";
import type { ProxyConfig, ServerConfig } from "../settings/sections.ts";
import { noteNeighbours, noteSharedCookies } from "./route-neighbours.ts";
import { checkStreams, type PlacedEntries } from "./stream-resolution.ts";

/** What routes inherit. */
interface RoutePorts extends Spot {
  readonly server: ServerConfig;
  readonly proxy: ProxyConfig;
  readonly cluster: ClusterConfig;
  readonly maps: readonly MapConfig[];
  /** Equal parts of the routes of all lists. */
  readonly parts: SharedParts;
  /** Rule names for `waf` of routes; an empty list leaves that check out. */
  readonly knownWafRules: readonly string[];
}

/** Resolves the list of routes.yaml, which is at the path of `around`, and notes routes that no request could reach. */
export function resolveRoutes(entries: readonly unknown[], around: RoutePorts): PlacedEntries {
  const { path: base, log } = around;
  const schemas = RouteSchemas.shared;
  const all = entries.map((entry, i) => resolveEntry(entry, schemas, { ...around, path: [...base, i] }));
  const routes = all.map((entry) => (entry === null || isStream(entry) ? null : around.parts.share(entry, NO_PARTS)));
  const streams = all.map((entry) => (entry !== null && isStream(entry) ? entry : null));
  noteDuplicates(routes, base, log);
  noteNeighbours(routes, base, log, around.server);
  noteSharedCookies(routes, base, log);
  checkStreams(around, { routes, streams }, base, log);
  return { routes, streams };
}

/** Every stream has its policy, and no route has. */
function isStream(entry: RouteConfig | StreamConfig): entry is StreamConfig {
  return "policy" in entry;
}

/** Each route has its own. */
const NO_PARTS: ReadonlySet<string> = new Set(["position", "targets", "errors", "maintenance"]);

function resolveEntry(raw: unknown, schemas: RouteSchemas, around: RoutePorts): RouteConfig | StreamConfig | null {
  const { log, path } = around;
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    log.fault(path, `expected a route such as "- type: static" with its keys below, found ${describe(raw)}`);
    return null;
  }
  const entry = raw as Record<string, unknown>;
  const type = typeOf(entry, schemas, around);
  if (type === "") return null;
  const values = log.read(schemas.of(type), raw, path, 2);
  const { server, proxy, cluster, files, maps } = around;
  const spot: RouteSpot = { path, log, files, server, proxy, cluster, maps, entry, values };
  if (!(type in ROUTE_FORMAT.streams)) return resolveRoute(type, values, spot, around);
  const streamType = type as StreamType;
  const { keys } = ROUTE_FORMAT.streams[streamType];
  return { type: streamType, position: log.position(path), ...keys.resolve(values, spot) };
}

function resolveRoute(type: string, values: EntryValues, spot: RouteSpot, around: RoutePorts): RouteConfig {
  const { log, path } = spot;
  const { types, options } = ROUTE_FORMAT;
  const syntax = types[type]!;
  const written = { ...routePlace.resolve(values, spot), type, methods: [] };
  const isPlaced = written.prefix !== "" || written.path !== "" || syntax.needsNoPlace?.(spot.entry) !== true;
  const base = isPlaced ? written : { ...written, prefix: "/" };
  checkPlace(base, syntax, path, log);
  const common = { ...base, position: log.position(path), ...options.resolve(values, spot) };
  // What a row of the table makes of a route is what its type says.
  const route = { ...common, ...syntax.keys.resolve(values, spot) } as RouteBase as RouteConfig;
  if (route.waf !== null) {
    const { disabledRules, exclusions, rules } = route.waf;
    const own = {
      disabledRules: disabledRules ?? [],
      exclusions: exclusions ?? [],
      rules: rules ?? around.server.waf.rules,
    };
    checkWafRules(own, around.knownWafRules, { log, path: [...path, "waf"] });
  }
  checkMethods(route, path, log);
  if ("rewrite" in route && !log.isFaulty([...path, "rewrite"]) && !log.isFaulty([...path, "regex"]))
    noteGroupsOfPath(route.rewrite, route, spot);
  noteIdleKeys(syntax, spot);
  syntax.check?.(route, spot);
  return route;
}

/** Warns of keys that do nothing at routes of this type, but for those that are switched off. */
function noteIdleKeys({ idleKeys = {} }: RouteSyntax, { entry, log, path }: RouteSpot): void {
  for (const [key, why] of Object.entries(idleKeys)) {
    const steps = key.split(".");
    const value = steps.reduce<unknown>((at, step) => (at as Readonly<Record<string, unknown>> | null)?.[step], entry);
    const isOff = typeof value === "object" && value !== null && (value as { enabled?: unknown }).enabled === false;
    if ((value ?? false) === false || value === "off" || isOff || log.isFaulty([...path, ...steps])) continue;
    log.warn([...path, ...steps], `has no effect: ${why}`);
  }
}

/** `methods` refuses with 405, `match.method` lets requests go on: both together may leave none. */
function checkMethods({ methods, match }: RouteConfig, path: KeyPath, log: FaultLog): void {
  const asked = match?.method ?? [];
  if (methods.length === 0 || asked.length === 0 || asked.some((name) => methods.includes(name))) return;
  log.fault(
    [...path, "match", "method"],
    "no request fits: methods has none of these; remove methods, which refuses all others with 405",
  );
}

/** The word at `type`, which a row of the table has; "" if there is none, which is a fault. */
function typeOf(raw: Readonly<Record<string, unknown>>, schemas: RouteSchemas, around: RoutePorts): string {
  const { log, path } = around;
  const { names, keys, kinds } = schemas;
  const { type } = raw;
  if (typeof type === "string" && names.includes(type)) return type;
  if (type !== undefined && type !== null) {
    const own = typeof type === "string" ? namedElsewhere(type.toLowerCase(), kinds) : undefined;
    const meant = own !== undefined ? ` (here it is called ${own})` : didYouMean(String(type), names);
    if (typeof type !== "symbol")
      log.fault([...path, "type"], `expected ${series(names, "or")}, found ${describe(type)}${meant}`);
    return "";
  }
  const slip = Object.keys(raw).find((key) => !keys.includes(key) && nearestName(key, keys) === "type");
  const guess = names.find((name) => kinds[name]!.marks.some((key) => key in raw));
  const cure =
    guess === undefined
      ? series(
          names.map((name) => `type: ${name} (${kinds[name]!.what})`),
          "or",
        )
      : `type: ${guess}`;
  if (slip === undefined) log.fault(path, `a route needs its type: add ${cure}`);
  else log.fault([...path, slip], `unknown key (did you mean "type"?)`, true);
  return "";
}

/** The type that another gateway calls by this word. */
function namedElsewhere(word: string, types: RouteSchemas["kinds"]): string | undefined {
  return Object.keys(types).find((name) => types[name]!.foreignWords.includes(word));
}

/** Exactly one of `prefix` and `path` says where a route is. */
function checkPlace(
  place: Pick<RouteConfig, "path" | "prefix">,
  { onlyPrefix }: RouteSyntax,
  path: KeyPath,
  log: FaultLog,
): void {
  if (["prefix", "path", "regex"].some((key) => log.isFaulty([...path, key]))) return;
  if (onlyPrefix !== undefined && place.path !== "") {
    log.fault([...path, "path"], onlyPrefix.refusal, true);
  } else if (place.path !== "" && place.prefix !== "") {
    log.fault(
      [...path, "path"],
      "a route has either prefix (everything below it) or path (exactly this): remove one",
      true,
    );
  } else if (place.path === "" && place.prefix === "") {
    log.fault(path, onlyPrefix?.missing ?? "a route needs prefix or path, such as prefix: /api");
  }
}

/** Two routes for the same place, host and method: the second could never answer. */
function noteDuplicates(routes: readonly (RouteConfig | null)[], base: KeyPath, log: FaultLog): void {
  const first = new Map<string, RouteConfig>();
  for (const [i, route] of routes.entries()) {
    if (route === null || (route.prefix === "" && route.path === "")) continue;
    const claims = routeClaims(route);
    const taken = claims.find(({ key }) => first.has(key));
    const earlier = taken === undefined ? null : first.get(taken.key)!;
    for (const { key } of claims) if (!first.has(key)) first.set(key, route);
    if (taken === undefined || earlier === null) continue;
    const { host, method } = taken;
    const { line } = earlier.position;
    const what = `${method === "" ? "" : `${method} on `}${routePlaceText(route)}${host === "" ? "" : ` of host ${host}`}`;
    const message = `${what} belongs to the route in line ${line}: remove one, or give them different hosts, methods or match`;
    log.fault([...base, i, placeKey(route)], message, true);
  }
}

/** The key of a route's place. */
export function placeKey({ path, isByRegex }: Pick<RouteBase, "path" | "isByRegex">): "path" | "prefix" | "regex" {
  if (path !== "") return "path";
  return isByRegex ? "regex" : "prefix";
}
