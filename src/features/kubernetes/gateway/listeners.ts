import { authoritiesIn, certificateOf, keptCertificateOf } from "../backends.ts";
import { robbedRoute } from "../host-owners.ts";
import type { ObjectStore } from "../object-store.ts";
import {
  type CertificateUse,
  type ConfigMap,
  type KubeObject,
  nameOf,
  type ObjectCondition,
  type TranslationSettings,
} from "../objects.ts";
import type { BackendPair } from "./backend-certificate.ts";
import { isAllowedFrom, isGranted } from "./grants.ts";
import { hostWeight } from "./hosts.ts";
import {
  condition,
  type FrontendValidation,
  GATEWAY_GROUP,
  type GatewayObject,
  type ListenerSetObject,
  type ListenerShape,
  type Reference,
} from "./shapes.ts";

/** A listener of a Gateway, or of a ListenerSet that adds to it, as it is judged. */
export interface JudgedListener {
  readonly shape: ListenerShape;
  /** The object that lists it. */
  readonly owner: KubeObject;
  readonly gateway: GatewayObject;
  /** Lower case; "" for every host. */
  readonly host: string;
  /** Kinds that may be attached. */
  readonly kinds: readonly string[];
  readonly certificates: readonly CertificateUse[];
  /** What edge shows to servers; null for nothing. */
  readonly backendPair: BackendPair | null;
  /** How clients show certificates; null for none. */
  readonly clients: { readonly client_auth: string; readonly client_ca_file: string } | null;
  /** Accepted, and nothing of it in conflict: it serves. */
  isServed: boolean;
  /** Why it does not; the reason of a condition. */
  accepted: { readonly reason: string; readonly message: string };
  conflict: { readonly reason: string; readonly message: string };
  refs: { readonly reason: string; readonly message: string };
  /** Routes that are attached. */
  attached: number;
}

const GOOD = { reason: "", message: "" };

/** Kinds that a protocol may have. */
const KINDS_OF: ReadonlyMap<string, readonly string[]> = new Map([
  ["HTTP", ["HTTPRoute", "GRPCRoute"]],
  ["HTTPS", ["HTTPRoute", "GRPCRoute"]],
  ["TLS", ["TLSRoute"]],
  ["TCP", ["TCPRoute"]],
  ["UDP", ["UDPRoute"]],
]);

/** The surroundings of a Gateway's listeners. */
interface ListenerSurroundings {
  /** Its addresses. */
  readonly bound: readonly string[];
  /** Those of older Gateways at the same address. */
  readonly earlier: readonly JudgedListener[];
  /** The routes that hosts belong to; none if each Gateway has an address of its own. */
  readonly owners: ReadonlyMap<string, KubeObject>;
  /** Addresses and ports of all Gateways so far; this one's are added. */
  readonly ports: Set<string>;
  /** What the Gateway shows to servers. */
  readonly backendPair: BackendPair | null;
}

/** Judges the listeners of a Gateway, with those of its ListenerSets. The earlier one wins where two are in conflict. */
export function judgedListeners(
  store: ObjectStore,
  gateway: GatewayObject,
  sets: readonly ListenerSetObject[],
  { bound, earlier, owners: routes, ports, backendPair }: ListenerSurroundings,
  settings: TranslationSettings,
): readonly JudgedListener[] {
  const owners: readonly (GatewayObject | ListenerSetObject)[] = [gateway, ...sets];
  const all = owners.flatMap((owner) =>
    (owner.spec?.listeners ?? []).map((shape) => ({ ...judged(store, gateway, owner, shape, settings), backendPair })),
  );
  findConflicts([...earlier, ...all], earlier.length);
  for (const one of all) {
    const route = one.conflict.reason === "" ? robbedRoute(one.host, gateway, routes) : null;
    if (route !== null)
      one.conflict = {
        reason: "HostnameConflict",
        message: `${one.host} belongs to the older ${route.kind} ${nameOf(route)}`,
      };
  }
  const { maxListeners = Number.POSITIVE_INFINITY } = settings;
  for (const one of all) {
    const { port, protocol } = one.shape;
    if (one.accepted.reason !== "" || one.conflict.reason !== "") continue;
    const isFree = protocol === "UDP" || bound.every((address) => settings.canListen(address, port));
    const keys = bound.map((address) => `${protocol === "UDP" ? "udp" : "tcp"} ${address} ${port}`);
    const isBounded = ports.size + keys.filter((key) => !ports.has(key)).length <= maxListeners;
    if (!isFree) one.accepted = { reason: "PortUnavailable", message: `something else listens at port ${port}` };
    else if (!isBounded)
      one.accepted = { reason: "PortUnavailable", message: `edge opens at most ${maxListeners} for a cluster` };
    else for (const key of keys) ports.add(key);
  }
  for (const one of all)
    one.isServed = bound.length > 0 && one.accepted.reason === "" && one.conflict.reason === "" && isUsable(one);
  return all;
}

function isUsable({ shape: { protocol, tls }, certificates }: JudgedListener): boolean {
  const needsPair = protocol === "HTTPS" || (protocol === "TLS" && tls?.mode !== "Passthrough");
  return !needsPair || certificates.length > 0;
}

function judged(
  store: ObjectStore,
  gateway: GatewayObject,
  owner: GatewayObject | ListenerSetObject,
  shape: ListenerShape,
  settings: TranslationSettings,
): Omit<JudgedListener, "backendPair"> {
  const possible = KINDS_OF.get(shape.protocol) ?? [];
  const asked = shape.allowedRoutes?.kinds ?? [];
  const kinds = asked.length === 0 ? possible : asked.flatMap((one) => kindIn(one, possible));
  const hasBadKind = asked.some((one) => kindIn(one, possible).length === 0);
  const pairs = certificatesOf(store, owner, shape);
  const clients = shape.protocol === "HTTPS" ? clientsOf(store, gateway, shape.port, settings) : null;
  let refs = pairs.fault;
  if (clients !== null && clients.fault.reason !== "") refs = clients.fault;
  if (hasBadKind) refs = { reason: "InvalidRouteKinds", message: "a kind of route that this protocol does not have" };
  return {
    shape,
    owner,
    gateway,
    host: (shape.hostname ?? "").toLowerCase(),
    kinds,
    certificates: pairs.certificates,
    clients: clients?.terms ?? null,
    isServed: false,
    accepted:
      possible.length === 0
        ? { reason: "UnsupportedProtocol", message: `the protocol ${shape.protocol} is not served` }
        : clients !== null && clients.terms === null
          ? { reason: "NoValidCACertificate", message: clients.fault.message }
          : GOOD,
    conflict: GOOD,
    refs,
    attached: 0,
  };
}

function kindIn({ group = GATEWAY_GROUP, kind }: { group?: string; kind: string }, possible: readonly string[]) {
  return group === GATEWAY_GROUP && possible.includes(kind) ? [kind] : [];
}

function certificatesOf(store: ObjectStore, owner: KubeObject, { protocol, tls, hostname = "" }: ListenerShape) {
  const none: readonly CertificateUse[] = [];
  const isTerminating = protocol === "HTTPS" || (protocol === "TLS" && tls?.mode !== "Passthrough");
  if (!isTerminating) return { certificates: none, fault: GOOD };
  const refs = tls?.certificateRefs ?? [];
  if (refs.length === 0)
    return { certificates: none, fault: { reason: "InvalidCertificateRef", message: "tls has no certificateRefs" } };
  let fault = GOOD;
  const certificates = refs.flatMap((ref): CertificateUse[] => {
    const namespace = ref.namespace ?? owner.metadata.namespace!;
    const shown = `${namespace}/${ref.name}`;
    if ((ref.group ?? "") !== "" || (ref.kind ?? "Secret") !== "Secret") {
      fault = { reason: "InvalidCertificateRef", message: `${ref.kind} ${shown} is no Secret` };
      return [];
    }
    const from = { kind: owner.kind, namespace: owner.metadata.namespace! };
    if (!isGranted(store, from, { kind: "Secret", namespace, name: ref.name })) {
      fault = { reason: "RefNotPermitted", message: `no ReferenceGrant allows the Secret ${shown}` };
      return [];
    }
    const serving = keptCertificateOf(store, namespace, ref.name);
    if (certificateOf(store, namespace, ref.name) === null) {
      const end = serving === null ? "" : ": the pair of before serves";
      const message = `there is no Secret ${shown} with a certificate and its key${end}`;
      fault = { reason: "InvalidCertificateRef", message };
    }
    if (serving === null) return [];
    return [
      { names: hostname === "" ? [] : [hostname.toLowerCase()], secret: { kind: "Secret", namespace, name: ref.name } },
    ];
  });
  return { certificates, fault };
}

/** The demands of a Gateway on clients at a port; null for none. */
function clientsOf(store: ObjectStore, gateway: GatewayObject, port: number, { fileOf }: TranslationSettings) {
  const frontend = gateway.spec?.tls?.frontend;
  const own = frontend?.perPort?.find((one) => one.port === port);
  const validation = own === undefined ? frontend?.default?.validation : own.tls?.validation;
  if (validation === undefined) return null;
  const { pem, fault } = authoritiesOf(store, gateway, validation);
  if (pem === "") return { terms: null, fault };
  const isLoose = validation.mode === INSECURE_FALLBACK;
  return { terms: { client_auth: isLoose ? "any" : "require", client_ca_file: fileOf(pem) }, fault };
}

/** Whether clients whose certificates cannot be verified come in, at some port of a Gateway. */
export function takesUnverified({ spec }: GatewayObject): boolean {
  const { default: usual, perPort = [] } = spec?.tls?.frontend ?? {};
  return [usual, ...perPort.map(({ tls }) => tls)].some((one) => one?.validation?.mode === INSECURE_FALLBACK);
}

const INSECURE_FALLBACK = "AllowInsecureFallback";

function authoritiesOf(store: ObjectStore, gateway: GatewayObject, { caCertificateRefs = [] }: FrontendValidation) {
  const found: string[] = [];
  let fault = GOOD;
  for (const ref of caCertificateRefs) {
    const result = trustedAuthority(store, gateway, ref);
    if (typeof result === "string") found.push(result);
    else fault = result;
  }
  return { pem: found.join("\n"), fault };
}

/** The certificates of a CA that an object refers to, in PEM, or why there are none. */
export function trustedAuthority(
  store: ObjectStore,
  from: KubeObject,
  ref: Reference,
): string | { readonly reason: string; readonly message: string } {
  const namespace = ref.namespace ?? from.metadata.namespace!;
  const shown = `${ref.kind ?? "ConfigMap"} ${namespace}/${ref.name}`;
  if ((ref.group ?? "") !== "" || ref.kind !== "ConfigMap")
    return { reason: "InvalidCACertificateKind", message: `${shown} is no ConfigMap` };
  const at = { kind: from.kind, namespace: from.metadata.namespace! };
  if (!isGranted(store, at, { kind: "ConfigMap", namespace, name: ref.name }))
    return { reason: "RefNotPermitted", message: `no ReferenceGrant allows the ${shown}` };
  const map = store.get<ConfigMap>("ConfigMap", namespace, ref.name);
  const text = map === null ? "" : authoritiesIn(map);
  if (text !== "") return text;
  return { reason: "InvalidCACertificateRef", message: `there is no ${shown} with certificates at ca.crt` };
}

/** Two listeners of one port must differ in their hosts, and have the same protocol. @param judged so many have been judged before */
function findConflicts(all: readonly JudgedListener[], judged: number): void {
  const byPort = Map.groupBy(
    all.filter(({ accepted }, i) => accepted.reason === "" && (i >= judged || all[i]!.conflict.reason === "")),
    ({ shape }) => shape.port,
  );
  const fresh = new Set(all.slice(judged));
  for (const valid of byPort.values()) conflictsAt(valid, fresh);
}

function conflictsAt(valid: readonly JudgedListener[], fresh: ReadonlySet<JudgedListener>): void {
  for (const [i, one] of valid.entries())
    for (const other of fresh.has(one) ? valid.slice(0, i) : []) {
      if (other.conflict.reason !== "") continue;
      if (isDatagram(other) !== isDatagram(one)) continue;
      const reason = conflictOf(one, other);
      if (reason === "") continue;
      const message = `in conflict with the listener ${other.shape.name} of ${other.owner.kind} ${other.owner.metadata.name}`;
      one.conflict = { reason, message };
      break;
    }
}

function isDatagram({ shape }: JudgedListener): boolean {
  return shape.protocol === "UDP";
}

function conflictOf(one: JudgedListener, other: JudgedListener): string {
  const [a, b] = [familyOf(one), familyOf(other)];
  if (a !== b) return "ProtocolConflict";
  return one.host === other.host || a === "TCP" || a === "UDP" ? "HostnameConflict" : "";
}

/** HTTPS and TLS share a port: the handshake tells them apart. */
function familyOf({ shape: { protocol } }: JudgedListener): string {
  return protocol === "HTTPS" ? "TLS" : protocol;
}

/** The entry of a listener in the status. */
export function listenerStatus(one: JudgedListener, isProgrammed: boolean): object {
  const { owner, shape, kinds, accepted, conflict, refs, attached } = one;
  const at = owner.metadata.generation;
  const conditions: ObjectCondition[] = [];
  const isConflicted = conflict.reason !== "";
  const good = accepted.reason === "" && !isConflicted;
  const why = isConflicted ? conflict : accepted;
  conditions.push(condition(at, "Accepted", good, good ? "Accepted" : why.reason, why.message));
  conditions.push(
    condition(at, "Conflicted", isConflicted, isConflicted ? conflict.reason : "NoConflicts", conflict.message),
  );
  conditions.push(
    condition(at, "ResolvedRefs", refs.reason === "", refs.reason === "" ? "ResolvedRefs" : refs.reason, refs.message),
  );
  const isServed = one.isServed && isProgrammed;
  const reason = isServed ? "Programmed" : conflict.reason || "Invalid";
  const message = one.isServed && !isServed ? "the Gateway has no address" : "";
  conditions.push(condition(at, "Programmed", isServed, reason, message));
  return {
    name: shape.name,
    supportedKinds: kinds.map((kind) => ({ group: GATEWAY_GROUP, kind })),
    attachedRoutes: attached,
    conditions,
  };
}

/** Whether routes of a namespace may be attached to a listener. */
export function allowsNamespace(store: ObjectStore, { shape, owner }: JudgedListener, namespace: string): boolean {
  return isAllowedFrom(store, shape.allowedRoutes?.namespaces, "Same", owner.metadata.namespace!, namespace);
}

/** Whether another listener of the port is for a host rather than this one. */
export function isAnothers(host: string, own: JudgedListener, all: readonly JudgedListener[]): boolean {
  return all.some(
    (other) =>
      other !== own &&
      other.isServed &&
      other.shape.port === own.shape.port &&
      isDatagram(other) === isDatagram(own) &&
      hostWeight(other.host) > hostWeight(own.host) &&
      (other.host === host || (other.host.startsWith("*.") && host.endsWith(other.host.slice(1)))),
  );
}
