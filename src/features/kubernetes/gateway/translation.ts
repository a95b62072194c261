import type { ObjectStore } from "../object-store.ts";
import {
  type CertificateUse,
  type KubeObject,
  type ListenerInput,
  type ObjectRoutes,
  refOf,
  type StatusPatch,
  type Translation,
  type TranslationSettings,
} from "../objects.ts";
import type { PolicyTable } from "../policy/policy-table.ts";
import { type GatewayPlace, gatewayPlaces, listenerName } from "./addresses.ts";
import { type AttachedRoute, attachedRoute } from "./attachment.ts";
import { BackendResolver } from "./backend-refs.ts";
import { BackendTlsPolicies } from "./backend-tls.ts";
import { SUPPORTED_FEATURES } from "./features.ts";
import { translatedRules } from "./http-rules.ts";
import { type JudgedListener, judgedListeners, listenerStatus } from "./listeners.ts";
import { condition, type GatewayObject, type RouteObject } from "./shapes.ts";
import { translatedStreams } from "./stream-rules.ts";

const ROUTE_KINDS = ["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"];

/** A Gateway of ours, as it is judged. */
interface JudgedGateway {
  readonly gateway: GatewayObject;
  readonly place: GatewayPlace;
  readonly listeners: readonly JudgedListener[];
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
  const gateways = all.map((gateway): JudgedGateway => {
    const listeners = judgedListeners(store, gateway, [], settings);
    return { gateway, place: places.get(gateway)!, listeners };
  });
  const byName = new Map(
    gateways.map((one) => [`${one.gateway.metadata.namespace}/${one.gateway.metadata.name}`, one]),
  );
  const parentsOf = (kind: string, namespace: string, name: string) => {
    const found = kind === "Gateway" ? byName.get(`${namespace}/${name}`) : undefined;
    return found === undefined ? null : found.listeners.filter(({ owner }) => owner === found.gateway);
  };
  const routes = ROUTE_KINDS.flatMap((kind) =>
    store.list<RouteObject>(kind).flatMap((route) => attachedRoute(store, route, parentsOf) ?? []),
  );
  const policies = new BackendTlsPolicies(store, (pem) => settings.fileOf(pem));
  const translated = translatedRoutes(routes, new BackendResolver(store, policies), places, edgePolicies);
  return {
    routes: [...translated.groups, ...gateways.flatMap(isolation)],
    listeners: gateways.flatMap(listenersOf),
    statuses: [
      ...classes.map(classStatus),
      ...gateways.map(gatewayStatus),
      ...translated.faults.map(({ of, reason, message }) => routeStatus(of, reason, message, settings.controller)),
      ...policies.statuses(settings.controller),
    ],
    events: [],
  };
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
  const groups: ObjectRoutes[] = [];
  const faults: { of: AttachedRoute; reason: string; message: string }[] = [];
  const taken = new Set<string>();
  const boundOf = ({ gateway }: JudgedListener) => places.get(gateway)?.bound ?? [];
  const addressesOf = (one: JudgedListener) => boundOf(one).map((address) => at(address, one.shape.port));
  const namesOf = (one: JudgedListener) => boundOf(one).map((address) => nameAt(address, one));
  for (const one of routes) {
    const isHttp = one.route.kind === "HTTPRoute" || one.route.kind === "GRPCRoute";
    const found = isHttp
      ? translatedRules(one, backends, namesOf, edgePolicies)
      : translatedStreams(one, backends, addressesOf, namesOf, taken);
    groups.push(...found.groups);
    faults.push({ of: one, reason: found.reason, message: found.message });
  }
  return { groups, faults };
}

function at(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function nameAt(address: string, { shape: { port, protocol } }: JudgedListener): string {
  return listenerName(address, port, protocol === "HTTP" ? "http" : "tls");
}

function routeStatus(
  { route, parents }: AttachedRoute,
  reason: string,
  message: string,
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
    conditions: [accepted, resolved],
  }));
  return { object: refOf(route), status: { parents: [...others, ...own] } };
}

function gatewayStatus({ gateway, place, listeners }: JudgedGateway): StatusPatch {
  const { generation } = gateway.metadata;
  const own = listeners.filter(({ owner }) => owner === gateway);
  const isAnyGood = listeners.some(({ accepted, conflict }) => accepted.reason + conflict.reason === "");
  const isAllGood = own.every(({ accepted, conflict }) => accepted.reason + conflict.reason === "");
  const isAccepted = place.refused === "" && isAnyGood;
  const acceptedReason = place.refused !== "" ? place.refused : isAllGood ? "Accepted" : "ListenersNotValid";
  const isProgrammed = isAccepted && place.unusable === "" && place.bound.length > 0;
  const programmedReason = isProgrammed ? "Programmed" : place.unusable || "Invalid";
  const conditions = [
    condition(generation, "Accepted", isAccepted, acceptedReason),
    condition(generation, "Programmed", isProgrammed, programmedReason),
  ];
  return {
    object: refOf(gateway),
    status: {
      addresses: place.shown,
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

/** A request belongs to the listener with the most specific host: no other listener's routes take the rest. */
function isolation({ gateway, place, listeners }: JudgedGateway): ObjectRoutes[] {
  const routes = listeners.flatMap((one) => {
    const { protocol, port } = one.shape;
    if (!one.isServed || one.host === "" || (protocol !== "HTTP" && protocol !== "HTTPS")) return [];
    const isBeside = listeners.some(
      (other) => other !== one && other.isServed && other.shape.port === port && isWider(other.host, one.host),
    );
    if (!isBeside) return [];
    const names = place.bound.map((address) => nameAt(address, one));
    return [{ type: "respond", prefix: "/", hosts: [one.host], listeners: names, status: 404 }];
  });
  const name = `Gateway ${gateway.metadata.namespace}/${gateway.metadata.name}`;
  return routes.length === 0 ? [] : [{ name, object: refOf(gateway), routes, rank: -1 }];
}

function isWider(host: string, than: string): boolean {
  return host === "" || (host.startsWith("*.") && than.endsWith(host.slice(1)) && than !== host);
}
