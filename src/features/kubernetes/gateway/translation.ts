import { ingressOwners, routeOwners } from "../host-owners.ts";
import type { ObjectStore } from "../object-store.ts";
import {
  type CertificateUse,
  type KubeObject,
  type ListenerInput,
  nameOf,
  type ObjectCondition,
  type ObjectRoutes,
  refOf,
  type StatusPatch,
  type Translation,
  type TranslationSettings,
} from "../objects.ts";
import type { PolicyTable } from "../policy/policy-table.ts";
import { type GatewayPlace, gatewayPlaces, listenerName, PLACE_FAULTS } from "./addresses.ts";
import { type AttachedRoute, attachedRoute, withoutIngressHosts } from "./attachment.ts";
import { backendCertificate } from "./backend-certificate.ts";
import { BackendResolver } from "./backend-refs.ts";
import { BackendTlsPolicies } from "./backend-tls.ts";
import { SUPPORTED_FEATURES } from "./features.ts";
import { formerStatuses } from "./former-statuses.ts";
import { type TranslatedRules, translatedRules } from "./http-rules.ts";
import { isSetServed, type JudgedSet, judgedSets, setStatus } from "./listener-sets.ts";
import { type JudgedListener, judgedListeners, listenerStatus, takesUnverified } from "./listeners.ts";
import { hasRules, type MadeRoute, RouteRenewal } from "./route-renewal.ts";
import { condition, type GatewayObject, type RouteObject } from "./shapes.ts";
import { translatedStreams } from "./stream-rules.ts";

const ROUTE_KINDS = ["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"];

/** A Gateway of ours, as it is judged. */
interface JudgedGateway {
  readonly gateway: GatewayObject;
  readonly place: GatewayPlace;
  readonly listeners: readonly JudgedListener[];
  /** Conditions about its certificate for servers. */
  readonly references: readonly ObjectCondition[];
}

/** Makes routes, listeners and statuses of the objects of the Gateway API. docs/gateway-api.md#gateways */
export function translatedGateways(
  store: ObjectStore,
  settings: TranslationSettings,
  edgePolicies: PolicyTable,
): Translation {
  const classes = store
    .list<ClassObject>("GatewayClass")
    .filter(({ spec }) => spec?.controllerName === settings.controller);
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  const all = store
    .list<GatewayObject>("Gateway")
    .filter(
      ({ spec, metadata }) => names.has(spec?.gatewayClassName ?? "") && metadata.deletionTimestamp === undefined,
    );
  const places = gatewayPlaces(all, settings);
  const sets = judgedSets(store, all);
  const isShared = settings.pool.length === 0;
  const gateways = judgedGateways(store, places, sets, settings);
  const listeners = gateways.flatMap((one) => one.listeners);
  const byGateway = Map.groupBy(listeners, ({ gateway }) => gateway);
  const byName = new Map(gateways.map((one) => [nameOf(one.gateway), one]));
  const parentsOf = (kind: string, namespace: string, name: string) => {
    const set = kind === "ListenerSet" ? sets.find((one) => isNamed(one.set, namespace, name)) : undefined;
    const owner = set === undefined ? byName.get(`${namespace}/${name}`)?.gateway : set.set;
    const gateway = set === undefined ? owner : set.parent;
    if (owner === undefined || gateway === undefined || (set === undefined && kind !== "Gateway")) return null;
    const there = byGateway.get(gateway) ?? [];
    return { own: there.filter((one) => one.owner === owner), all: isShared ? listeners : there };
  };
  const { routes, left } = attachedRoutes(store, parentsOf, settings);
  const policies = new BackendTlsPolicies(store, (pem) => settings.fileOf(pem));
  const translated = translatedRoutes(routes, new BackendResolver(store, policies), places, edgePolicies);
  const whole = wholePlaces(translated.groups);
  const hasPolicies = !edgePolicies.isEmpty || !policies.isEmpty;
  const renewal = new RouteRenewal(translated.made, hasPolicies, {
    rules: translated.rules,
    status: (of, found) => routeStatus(of, found, settings.controller),
    leftStatus: (route) => (classes.length === 0 ? null : leftStatus(route, settings)),
    claims: ({ groups }) => [...wholePlaces(groups)],
  });
  return {
    routes: [...translated.groups, ...gateways.flatMap((one) => isolation(one, whole))],
    listeners: merged(gateways.flatMap(listenersOf)),
    statuses: [
      ...classes.map(classStatus),
      ...gateways.map((one) => gatewayStatus(one, sets)),
      ...sets.map((one) => setStatus(one, listeners, places)),
      ...translated.made.map(({ of, found }) => routeStatus(of, found, settings.controller)),
      // Without a class of its own, edge knows nothing about parents.
      ...(classes.length === 0 ? [] : left.flatMap((route) => leftStatus(route, settings) ?? [])),
      ...policies.statuses(settings.controller),
      ...formerStatuses(store),
    ],
    events: [],
    // Whether an address or a port is free by now only another translation finds out.
    ...(gateways.every(isPlaced) ? { renewed: (changes) => renewal.of(changes) } : {}),
  };
}

/** Judges the listeners of all Gateways, the oldest first. */
function judgedGateways(
  store: ObjectStore,
  places: ReadonlyMap<GatewayObject, GatewayPlace>,
  sets: readonly JudgedSet[],
  settings: TranslationSettings,
): readonly JudgedGateway[] {
  const isShared = settings.pool.length === 0;
  const ports = new Set<string>();
  const earlier: JudgedListener[] = [];
  const owners = isShared ? routeOwners(store, settings.controller) : new Map<string, KubeObject>();
  return [...places].map(([gateway, place]): JudgedGateway => {
    const own = sets.filter(({ parent, isAllowed }) => parent === gateway && isAllowed).map(({ set }) => set);
    const { pair, conditions } = backendCertificate(store, gateway, (pem) => settings.fileOf(pem));
    const around = { bound: place.bound, earlier: isShared ? earlier : [], owners, ports, backendPair: pair };
    const judged = judgedListeners(store, gateway, own, around, settings);
    earlier.push(...judged);
    return { gateway, place, listeners: judged, references: conditions };
  });
}

/** Whether a Gateway has its addresses and ports. */
function isPlaced({ place, listeners }: JudgedGateway): boolean {
  return place.unusable === "" && listeners.every(({ accepted }) => accepted.reason !== "PortUnavailable");
}

/** The routes that have a Gateway of ours, and all that have none. */
function attachedRoutes(
  store: ObjectStore,
  parentsOf: Parameters<typeof attachedRoute>[2],
  settings: TranslationSettings,
) {
  const left: RouteObject[] = [];
  const owners = settings.pool.length === 0 ? ingressOwners(store, settings) : new Map<string, KubeObject>();
  const { http, https } = settings.ingressPorts;
  const routes = ROUTE_KINDS.flatMap((kind) =>
    store.list<RouteObject>(kind).flatMap((route) => {
      const attached = attachedRoute(store, route, parentsOf);
      if (attached === null) left.push(route);
      return attached === null ? [] : withoutIngressHosts(attached, owners, [http, https]);
    }),
  );
  return { routes, left };
}

interface ClassObject extends KubeObject {
  readonly spec?: { readonly controllerName?: string };
}

function classStatus({ metadata, kind, ...object }: ClassObject): StatusPatch {
  const conditions = [condition(metadata.generation, "Accepted", true, "Accepted")];
  const supportedFeatures = SUPPORTED_FEATURES.map((name) => ({ name }));
  return { object: refOf({ metadata, kind, ...object }), status: { conditions, supportedFeatures } };
}

function translatedRoutes(
  routes: readonly AttachedRoute[],
  backends: BackendResolver,
  places: ReadonlyMap<GatewayObject, GatewayPlace>,
  edgePolicies: PolicyTable,
) {
  const taken = new Set<string>();
  const boundOf = ({ gateway }: JudgedListener) => places.get(gateway)?.bound ?? [];
  const addressesOf = (one: JudgedListener) => boundOf(one).map((address) => at(address, one.shape.port));
  const namesOf = (one: JudgedListener) => boundOf(one).map((address) => nameAt(address, one));
  const rules = (one: AttachedRoute) => translatedRules(one, backends, namesOf, edgePolicies);
  const made = routes.map((of): MadeRoute => {
    const found = hasRules(of.route) ? rules(of) : translatedStreams(of, backends, addressesOf, namesOf, taken);
    return { of, found };
  });
  return { groups: made.flatMap(({ found }) => found.groups), made, rules };
}

function at(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function nameAt(address: string, { shape: { port, protocol } }: JudgedListener): string {
  return listenerName(address, port, protocol === "HTTP" ? "http" : "tls");
}

function routeStatus(
  { route, parents }: AttachedRoute,
  { reason, message, refusal }: TranslatedRules,
  controllerName: string,
): StatusPatch {
  const there = ((route.status ?? {}) as { parents?: readonly { controllerName?: string }[] }).parents ?? [];
  const others = there.filter((one) => one.controllerName !== controllerName);
  const resolved = condition(
    route.metadata.generation,
    "ResolvedRefs",
    reason === "",
    reason === "" ? "ResolvedRefs" : reason,
    message,
  );
  const own = parents.map(({ ref, accepted }) => ({
    parentRef: ref,
    controllerName,
    conditions: [
      refusal === undefined
        ? accepted
        : condition(route.metadata.generation, "Accepted", false, "UnsupportedValue", refusal),
      resolved,
    ],
  }));
  return { object: refOf(route), status: { parents: [...others, ...own] } };
}

/** A route whose Gateways are gone has no word of edge on them any more; null if there is none. */
function leftStatus(route: RouteObject, { controller, isWatched }: TranslationSettings): StatusPatch | null {
  const { parents = [] } = (route.status ?? {}) as { readonly parents?: readonly StatusParent[] };
  const home = route.metadata.namespace ?? "";
  const kept = parents.filter(
    ({ controllerName, parentRef }) =>
      controllerName !== controller || isWatched?.(parentRef?.namespace ?? home) === false,
  );
  return kept.length === parents.length ? null : { object: refOf(route), status: { parents: kept } };
}

interface StatusParent {
  readonly controllerName?: string;
  readonly parentRef?: { readonly namespace?: string };
}

function isNamed({ metadata }: KubeObject, namespace: string, name: string): boolean {
  return metadata.namespace === namespace && metadata.name === name;
}

function gatewayStatus(
  { gateway, place, listeners, references }: JudgedGateway,
  sets: readonly JudgedSet[],
): StatusPatch {
  const { generation } = gateway.metadata;
  const own = listeners.filter(({ owner }) => owner === gateway);
  const isAnyGood = own.some(({ accepted, conflict }) => accepted.reason + conflict.reason === "");
  const isAllGood = own.every(({ accepted, conflict }) => accepted.reason + conflict.reason === "");
  const isAccepted = place.refused === "" && isAnyGood;
  const acceptedReason = place.refused !== "" ? place.refused : isAllGood ? "Accepted" : "ListenersNotValid";
  const isProgrammed = isAccepted && place.unusable === "" && place.bound.length > 0;
  const programmedReason = isProgrammed ? "Programmed" : place.unusable || "Invalid";
  const conditions = [
    condition(generation, "Accepted", isAccepted, acceptedReason, PLACE_FAULTS[acceptedReason]),
    condition(generation, "Programmed", isProgrammed, programmedReason, PLACE_FAULTS[programmedReason]),
    ...references,
    ...(takesUnverified(gateway)
      ? [condition(generation, "InsecureFrontendValidationMode", true, "ConfigurationChanged")]
      : []),
  ];
  return {
    object: refOf(gateway),
    status: {
      addresses: place.shown,
      attachedListenerSets: sets.filter((one) => one.parent === gateway && isSetServed(one, listeners)).length,
      conditions,
      listeners: own.map((one) => listenerStatus(one, place.bound.length > 0)),
    },
  };
}

/** The listeners that edge opens for a Gateway: one for each address and port. */
function listenersOf({ place, listeners }: JudgedGateway): ListenerInput[] {
  const byPort = new Map<number, JudgedListener[]>();
  for (const one of listeners)
    if (one.isServed && ["HTTP", "HTTPS", "TLS"].includes(one.shape.protocol))
      byPort.set(one.shape.port, [...(byPort.get(one.shape.port) ?? []), one]);
  return place.bound.flatMap((address) =>
    [...byPort].map(([port, all]): ListenerInput => {
      const [first] = all;
      const base = { name: nameAt(address, first!), address: at(address, port) };
      return first!.shape.protocol === "HTTP" ? base : { ...base, tls: tlsOf(all) };
    }),
  );
}

/** Gateways that share an address share its listeners. */
function merged(all: readonly ListenerInput[]): ListenerInput[] {
  const byName = new Map<string, ListenerInput>();
  for (const one of all) {
    const known = byName.get(one.name);
    if (known === undefined) byName.set(one.name, one);
    else if (known.tls !== undefined && one.tls !== undefined) {
      const taken = new Set(known.tls.certificates.flatMap(({ names }) => names));
      const more = one.tls.certificates.filter(({ names }) => !names.some((name) => taken.has(name)));
      byName.set(one.name, { ...known, tls: { ...known.tls, certificates: [...known.tls.certificates, ...more] } });
    }
  }
  return [...byName.values()].map(apart);
}

/** Of several listeners of a port, each has connections of its own: a request for the host of another one is misdirected. */
function apart(listener: ListenerInput): ListenerInput {
  const { tls } = listener;
  const hosts = new Set(tls?.certificates.map(({ names }) => names.join()));
  if (tls === undefined || hosts.size < 2) return listener;
  const certificates = tls.certificates.map((one) =>
    one.names.length === 0 ? one : { ...one, options: { ...one.options, own_connections: true } },
  );
  return { ...listener, tls: { ...tls, certificates } };
}

function tlsOf(all: readonly JudgedListener[]): NonNullable<ListenerInput["tls"]> {
  const certificates = new Map<string, CertificateUse>();
  for (const { certificates: own, host, clients } of all)
    for (const one of own) {
      const key = JSON.stringify([one.names, one.names.length === 0 ? one.secret : ""]);
      if (certificates.has(key)) continue;
      certificates.set(key, host !== "" && clients !== null ? { ...one, options: clients } : one);
    }
  const open = all.find(({ host }) => host === "")?.clients ?? null;
  return { ...open, certificates: [...certificates.values()] };
}

/** A request belongs to the listener with the most specific host: no other listener's routes take the rest, nor do those of files. */
function isolation({ gateway, place, listeners }: JudgedGateway, whole: ReadonlySet<string>): ObjectRoutes[] {
  const routes = listeners.flatMap((one) => {
    const { protocol } = one.shape;
    if (!one.isServed || (protocol !== "HTTP" && protocol !== "HTTPS")) return [];
    const hosts = one.host === "" ? {} : { hosts: [one.host] };
    return place.bound
      .map((address) => nameAt(address, one))
      .filter((name) => !whole.has(wholeKey(hosts.hosts, [name])))
      .map((name) => ({ type: "respond", prefix: "/", ...hosts, listeners: [name], status: 404 }));
  });
  const name = `Gateway ${gateway.metadata.namespace}/${gateway.metadata.name}`;
  return routes.length === 0 ? [] : [{ name, object: refOf(gateway), routes, rank: -1 }];
}

/** Places of which a route takes every request. */
function wholePlaces(groups: readonly ObjectRoutes[]): ReadonlySet<string> {
  const places = new Set<string>();
  for (const { prefix, match, hosts, listeners } of groups.flatMap(({ routes }) => routes))
    if (prefix === "/" && match === undefined) {
      const all = hosts as readonly string[] | undefined;
      for (const host of all ?? [undefined])
        for (const one of listeners as readonly string[])
          places.add(wholeKey(host === undefined ? undefined : [host], [one]));
    }
  return places;
}

function wholeKey(hosts: readonly string[] | undefined, listeners: readonly string[]): string {
  return JSON.stringify([hosts ?? [], listeners]);
}
