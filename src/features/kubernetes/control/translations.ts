import type { Cidr } from "../../../config/cidr.ts";
import { isEveryAddress } from "../../../core/ip-address.ts";
import { MAX_LISTENERS } from "../../../core/limits.ts";
import type { RouteFile } from "../../../loading/route-folder.ts";
import type { SourceListener } from "../../../loading/source-listeners.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { addressText } from "../../../routes/streams/stream-config.ts";
import { keptCertificateOf } from "../backends.ts";
import { isClusterListener } from "../gateway/addresses.ts";
import { servicesOf } from "../gateway/route-renewal.ts";
import { translatedGateways } from "../gateway/translation.ts";
import { translatedIngresses } from "../ingress/ingress-translation.ts";
import type { ObjectStore } from "../object-store.ts";
import {
  type ListenerInput,
  type ObjectChange,
  type ObjectCondition,
  type ObjectEvent,
  type ObjectRef,
  type ObjectRoutes,
  type RenewedRoutes,
  refKey,
  type Service,
  type StatusPatch,
  type Translation,
  type TranslationSettings,
} from "../objects.ts";
import { PolicyTable } from "../policy/policy-table.ts";
import type { KubernetesConfig } from "../settings.ts";
import type { CertificateFolder } from "./certificate-folder.ts";
import { judgePolicy } from "./policy-judge.ts";

/** THE translations, in the order of precedence. */
const TRANSLATIONS: readonly ((
  store: ObjectStore,
  settings: TranslationSettings,
  policies: PolicyTable,
) => Translation)[] = [translatedGateways, translatedIngresses];

/** The lists of groups that have not changed. */
const lists: WeakMap<ObjectRoutes, RouteFile> = new WeakMap();

function fileOfGroup(group: ObjectRoutes): RouteFile {
  const known = lists.get(group);
  if (known !== undefined) return known;
  const { name, routes, streams = [], rank = 0 } = group;
  const bytes = Buffer.from(JSON.stringify([...routes, ...streams]));
  const file = { name, path: `/kubernetes/${name}/${rank}`, bytes };
  const made: RouteFile = { source: "kubernetes", file, hosts: null, isLeftOut: true };
  lists.set(group, made);
  return made;
}

/** What all translations give, as the gateway takes it. */
export interface ClusterResult {
  readonly files: readonly RouteFile[];
  readonly listeners: readonly SourceListener[];
  /** By `refKey`; `renewed` changes it. */
  readonly statuses: ReadonlyMap<string, StatusPatch>;
  readonly events: readonly ObjectEvent[];
  /** Files of certificates that are in use. */
  readonly certificates: ReadonlySet<string>;
  /** Addresses of streams. */
  readonly streams: ReadonlySet<string>;
  /** The statuses of objects with faults, by `refKey`. @param faults by the names of their lists */
  faulted(faults: ReadonlyMap<string, string>): ReadonlyMap<string, StatusPatch>;
  /** The same after changes of objects, at the cost of the changes; null if all objects are to be translated again. */
  renewed(changes: readonly ObjectChange[]): RenewedResult | null;
}

/** A result that continues another one. */
interface RenewedResult {
  readonly result: ClusterResult;
  /** Keys of the statuses that are others. */
  readonly statuses: readonly string[];
}

/** Translates all objects. */
export function clusterResult(
  store: ObjectStore,
  settings: Omit<TranslationSettings, "fileOf">,
  folder: CertificateFolder,
): ClusterResult {
  const used = new Set<string>();
  const fileOf = (pem: string): string => {
    const path = folder.fileOf(pem);
    used.add(path);
    return path;
  };
  const [{ policies, all, listeners }, asked] = store.noting(() => {
    const table = new PolicyTable(store, judgePolicy);
    const made = TRANSLATIONS.map((translate) => translate(store, { ...settings, fileOf }, table));
    const joined = joinedListeners(made.flatMap((one) => one.listeners));
    return { policies: table, all: made, listeners: joined.map((one) => sourceListener(one, store, fileOf)) };
  });
  const groups = all.flatMap(({ routes }) => routes);
  // Of routes of one path, the more specific ones come first, whatever object they are in.
  const ordered = groups.toSorted((a, b) => (b.rank ?? 0) - (a.rank ?? 0));
  const patches = [...all.flatMap((one) => one.statuses), ...policies.statuses(settings.controller)];
  const statuses = new Map(patches.map((patch) => [refKey(patch.object), patch]));
  const owners = new Map(groups.map(({ name, object }) => [name, object]));
  const places = new Map(ordered.map((group, i) => [group, i]));
  const rest = {
    listeners,
    statuses,
    events: [...all.flatMap(({ events }) => events), ...store.allUnreadable().map(unreadableEvent)],
    certificates: used,
    streams: new Set(groups.flatMap(({ streams = [] }) => streams.flatMap(({ listen = [] }) => listen as string[]))),
    faulted: (faults: ReadonlyMap<string, string>) =>
      new Map([...faults].flatMap(([name, text]) => faultedStatus(owners.get(name), text, statuses, settings))),
  };
  const resultOf = (files: readonly RouteFile[]): ClusterResult => ({
    ...rest,
    files,
    renewed: (changes) => {
      const own = changes.filter(isOwnWord).map(refKey);
      const told = changes.filter((change) => !isOwnWord(change) && isOther(change, asked));
      const parts = told.some((change) => change.isUnreadable || isAsked(change, asked))
        ? null
        : renewedRoutes(all, told);
      if (parts === null) return null;
      const next = parts.groups.size === 0 ? files : [...files];
      for (const [before, after] of parts.groups) {
        const place = places.get(before)!;
        places.delete(before);
        places.set(after, place);
        (next as RouteFile[])[place] = fileOfGroup(after);
      }
      for (const patch of parts.statuses) statuses.set(refKey(patch.object), patch);
      return { result: resultOf(next), statuses: [...own, ...parts.statuses.map(({ object }) => refKey(object))] };
    },
  });
  return resultOf(ordered.map(fileOfGroup));
}

/** Kinds whose statuses translations do not read. */
const WRITTEN_ONLY: readonly string[] = ["Ingress", "GatewayClass"];

/** Whether nothing but a status has changed that edge writes. */
function isOwnWord({ kind, before, after, isUnreadable }: ObjectChange): boolean {
  if (isUnreadable || before === null || after === null || !WRITTEN_ONLY.includes(kind)) return false;
  const [a, b] = [before, after].map(({ spec, metadata }) => {
    const { labels, annotations, creationTimestamp, generation, hasOwnStatus } = metadata;
    return [spec, labels, annotations, creationTimestamp, generation, hasOwnStatus];
  });
  return before.metadata.deletionTimestamp === after.metadata.deletionTimestamp && Bun.deepEquals(a, b);
}

/** Kinds of objects that are asked for by name alone: one that was not asked for concerns nothing. */
const BY_NAME: readonly string[] = ["Secret", "ConfigMap", "Namespace"];

function isOther(change: ObjectChange, asked: ReadonlySet<string>): boolean {
  return change.isUnreadable || !BY_NAME.includes(change.kind) || isAsked(change, asked);
}

/** Whether a translation has asked for an object by its name, or for the Service whose endpoints it has. */
function isAsked(change: ObjectChange, asked: ReadonlySet<string>): boolean {
  const services = servicesOf(change);
  if (services === null) return BY_NAME.includes(change.kind) && asked.has(refKey(change));
  return services.some((service) => asked.has(`Service ${service}`));
}

/** One translation takes all changes up, or all objects are to be translated. */
function renewedRoutes(all: readonly Translation[], changes: readonly ObjectChange[]): RenewedRoutes | null {
  if (changes.length === 0) return { groups: new Map(), statuses: [] };
  const able = all.filter(({ renewed }) => renewed !== undefined);
  return able.length === 1 ? able[0]!.renewed!(changes) : null;
}

/** An object of another shape than its kind has counts as none. */
function unreadableEvent({ object, place }: ReturnType<ObjectStore["allUnreadable"]>[number]): ObjectEvent {
  const message = `edge cannot read it: ${place} is not as the definition of the kind says`;
  return { object, type: "Warning", reason: "Unreadable", message };
}

function faultedStatus(
  object: ObjectRef | undefined,
  text: string,
  statuses: ReadonlyMap<string, StatusPatch>,
  { controller }: Pick<TranslationSettings, "controller">,
): [string, StatusPatch][] {
  const key = object === undefined ? "" : refKey(object);
  const patch = statuses.get(key);
  return patch === undefined ? [] : [[key, withFault(patch, text, controller)]];
}

function withFault(patch: StatusPatch, text: string, controller: string): StatusPatch {
  const { parents } = patch.status as { readonly parents?: readonly Parent[] };
  if (text === "" || parents === undefined) return patch;
  const message = `the gateway cannot serve it: ${text}`.slice(0, 1000);
  const faulty = parents.map((parent) => {
    if (parent.controllerName !== controller) return parent;
    const conditions = parent.conditions.map((one) =>
      one.type === "Accepted" && one.status === "True"
        ? { ...one, status: "False" as const, reason: "UnsupportedValue", message }
        : one,
    );
    return { ...parent, conditions };
  });
  return { ...patch, status: { ...patch.status, parents: faulty } };
}

interface Parent {
  readonly controllerName: string;
  readonly conditions: readonly ObjectCondition[];
}

/** Listeners of one name, which Gateways and Ingresses share, as one. */
function joinedListeners(all: readonly ListenerInput[]): ListenerInput[] {
  const byName = new Map<string, ListenerInput>();
  for (const one of all) {
    const known = byName.get(one.name);
    const certificates = [...(known?.tls?.certificates ?? []), ...(one.tls?.certificates ?? [])];
    const tls = { ...one.tls, ...known?.tls, certificates };
    byName.set(one.name, known === undefined || one.tls === undefined ? (known ?? one) : { ...known, tls });
  }
  return [...byName.values()];
}

function sourceListener(
  { name, address, tls }: ListenerInput,
  store: ObjectStore,
  fileOf: (pem: string) => string,
): SourceListener {
  const origin = { source: "kubernetes" as const, name };
  if (tls === undefined) return { ...origin, entry: { name, address } };
  const { certificates, ...options } = tls;
  const taken = new Set<string>();
  const made = certificates.flatMap(({ names, secret, options: own }) => {
    const pair = keptCertificateOf(store, secret.namespace, secret.name);
    return pair === null ? [] : [{ names, own, cert_file: fileOf(pair.cert), key_file: fileOf(pair.key) }];
  });
  const plain = made
    .filter(({ names }) => names.length === 0)
    .map(({ cert_file, key_file }) => ({ cert_file, key_file }));
  const hosts = made.flatMap(({ own, names, ...host }) => {
    // Each name once, the first one's: Gateways and Ingresses may share a listener.
    const free = names.filter((name) => !taken.has(name));
    for (const name of free) taken.add(name);
    return free.length === 0 ? [] : [{ names: free, ...host, ...own }];
  });
  const first = plain[0] ?? made.map(({ cert_file, key_file }) => ({ cert_file, key_file }))[0] ?? {};
  return {
    ...origin,
    entry: { name, address, tls: { ...options, ...first, certificates: plain.slice(1), hosts } },
  };
}

/** What translations know beside the objects. */
export function settingsFor(
  { controller, ingressClass, ingressPorts, addresses, service, namespaces }: KubernetesConfig,
  store: ObjectStore,
  own: readonly OwnPlace[],
): Omit<TranslationSettings, "fileOf"> {
  const [namespace = "", name = ""] = service.split("/");
  const shared = service === "" ? null : store.get<Service>("Service", namespace, name);
  return {
    controller,
    ingressClass,
    ingressPorts,
    addresses: shared === null ? [] : addressesOf(shared),
    pool: addresses.flatMap(poolOf),
    isUsable: isOwnAddress,
    isWatched: (place) => namespaces.length === 0 || namespaces.includes(place),
    canListen: (address, at) =>
      !own.some(
        ({ host, port }) => port === at && (host === address || isEveryAddress(host) || isEveryAddress(address)),
      ) && isFreePort(address, at),
    // Those of Ingresses are beside them.
    maxListeners: Math.max(0, MAX_LISTENERS - own.length - INGRESS_LISTENERS),
  };
}

const INGRESS_LISTENERS = 2;

/** An address at which the gateway listens by its own configuration. */
export interface OwnPlace {
  readonly host: string;
  readonly port: number;
}

/** What config.yaml and routes.yaml open. @param others addresses of streams of the cluster */
export function ownPlaces(
  { server, internalApi, streams }: Pick<RuntimeConfig, "server" | "internalApi" | "streams">,
  others: ReadonlySet<string>,
): OwnPlace[] {
  const listeners = server.listeners.filter(({ name, socket }) => socket === "" && !isClusterListener(name));
  const internal = { host: internalApi.listenHost, port: internalApi.listenPort };
  const listens = streams.flatMap(({ type, listen }) => (type === "udp" ? [] : listen));
  return [...listeners, internal, ...listens.filter((at) => !others.has(addressText(at)))].filter(
    ({ port }) => port > 0,
  );
}

function addressesOf({ spec, status }: Service): string[] {
  const { loadBalancer } = (status ?? {}) as {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[] };
  };
  const outside = loadBalancer?.ingress?.flatMap(({ ip, hostname }) => ip ?? hostname ?? []) ?? [];
  return outside.length > 0 ? outside : [spec?.clusterIP ?? ""].filter((one) => one !== "" && one !== "None");
}

/** Addresses that a network gives. */
const MAX_POOL = 4096;

/** The addresses of a network; of an IPv4 network, without its first and its last one. */
function poolOf(network: Cidr): string[] {
  // IPv4 is written within IPv6.
  const isMapped = network.bytes.length === 16 && MAPPED.every((byte, i) => network.bytes[i] === byte);
  const bytes = isMapped ? network.bytes.slice(MAPPED.length) : network.bytes;
  const bits = isMapped ? network.bits - MAPPED.length * 8 : network.bits;
  const free = bytes.length * 8 - bits;
  const size = Math.min(2 ** free, MAX_POOL);
  const isNetwork = bytes.length === 4 && free > 1;
  const from = isNetwork ? 1 : 0;
  const to = isNetwork && size === 2 ** free ? size - 1 : size;
  return Array.from({ length: to - from }, (_, i) => addressAt(bytes, from + i));
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];

function addressAt(bytes: readonly number[], offset: number): string {
  const all = [...bytes];
  let rest = offset;
  for (let i = all.length - 1; i >= 0 && rest > 0; i--) {
    rest += all[i]!;
    all[i] = rest & 255;
    rest >>= 8;
  }
  if (all.length === 4) return all.join(".");
  const words = Array.from({ length: 8 }, (_, i) => ((all[i * 2]! << 8) | all[i * 2 + 1]!).toString(16));
  return new URL(`http://[${words.join(":")}]`).hostname.slice(1, -1);
}

/** Addresses, and addresses with ports, at which something could listen. */
const known: Set<string> = new Set();

/** Whether this machine has an address: whether something can listen there. */
function isOwnAddress(address: string): boolean {
  return canBind(address, 0);
}

/** Whether the gateway can listen at a port, beside its own sockets. */
function isFreePort(address: string, port: number): boolean {
  return canBind(address, port);
}

function canBind(hostname: string, port: number): boolean {
  const key = `${hostname} ${port}`;
  if (known.has(key)) return true;
  try {
    // Another socket of this process may be there already, since each worker has one.
    Bun.listen({ hostname, port, reusePort: true, socket: { data() {} } } as never).stop(true);
    known.add(key);
    return true;
  } catch {
    return false;
  }
}
