import type { ParentReference } from "./gateway/shapes.ts";
import { type IngressObject, ownIngresses } from "./ingress/ingress-shapes.ts";
import type { ObjectStore } from "./object-store.ts";
import type { KubeObject, TranslationSettings } from "./objects.ts";

/** The kinds whose objects name hosts. */
const KINDS = ["HTTPRoute", "GRPCRoute", "Ingress"];

/** Whether routes of a namespace may answer challenges of certificate authorities for all of these hosts. */
export type TakesChallenges = (namespace: string, hosts: readonly string[]) => boolean;

/** What was found in a store, for the state that it was found in. */
class Remembered<T> {
  private readonly kinds: readonly string[];
  private readonly memory: WeakMap<ObjectStore, { readonly stamp: string; readonly found: T }> = new WeakMap();

  /** @param kinds all of whose objects `find` of `of` looks at */
  constructor(kinds: readonly string[]) {
    this.kinds = kinds;
  }

  /** @param key what `find` goes by beside the store */
  of(store: ObjectStore, key: string, find: () => T): T {
    const stamp = [key, ...this.kinds.map((kind) => store.versionOf(kind))].join(" ");
    const known = this.memory.get(store);
    if (known?.stamp === stamp) return known.found;
    const found = find();
    this.memory.set(store, { stamp, found });
    return found;
  }
}

const CHALLENGES: Remembered<ReadonlyMap<string, string>> = new Remembered(KINDS);
const ROUTES: Remembered<ReadonlyMap<string, KubeObject>> = new Remembered([
  "HTTPRoute",
  "GRPCRoute",
  "GatewayClass",
  "Gateway",
  "ListenerSet",
]);

const INGRESSES: Remembered<ReadonlyMap<string, KubeObject>> = new Remembered(["Ingress", "IngressClass"]);

/**
 * Who answers a host's challenges can have a certificate for it: the namespace of the oldest object that names the host does.
 * Routes for every host or for a wildcard get none, since another namespace may have a part of it.
 */
export function challengeHosts(store: ObjectStore): TakesChallenges {
  const owners = CHALLENGES.of(store, "", () => ownersIn(store));
  return (namespace, hosts) =>
    hosts.length > 0 &&
    hosts.every((host) => host !== "" && !host.startsWith("*") && (owners.get(host) ?? namespace) === namespace);
}

function ownersIn(store: ObjectStore): ReadonlyMap<string, string> {
  const oldest = new Map<string, { readonly namespace: string; readonly since: string }>();
  for (const object of KINDS.flatMap((kind) => store.list(kind)))
    for (const host of hostsOf(object)) {
      const { namespace = "", creationTimestamp: since = "" } = object.metadata;
      const known = oldest.get(host);
      if (known === undefined || since < known.since) oldest.set(host, { namespace, since });
    }
  return new Map([...oldest].map(([host, { namespace }]) => [host, namespace]));
}

function hostsOf({ spec }: KubeObject): readonly string[] {
  const { hostnames = [] } = (spec ?? {}) as { readonly hostnames?: readonly string[] };
  const { rules = [] } = (spec ?? {}) as NonNullable<IngressObject["spec"]>;
  return [...hostnames, ...rules.map((rule) => (rule as { readonly host?: string }).host ?? "")].map((host) =>
    host.toLowerCase(),
  );
}

/** Of each host that rules of Ingresses of this controller name, the oldest of them. */
export function ingressOwners(
  store: ObjectStore,
  { controller, ingressClass }: Pick<TranslationSettings, "controller" | "ingressClass">,
): ReadonlyMap<string, KubeObject> {
  return INGRESSES.of(store, `${controller} ${ingressClass}`, () => {
    const owners = new Map<string, KubeObject>();
    for (const ingress of ownIngresses(store, { controller, ingressClass }))
      for (const host of hostsOf(ingress)) if (host !== "" && !owners.has(host)) owners.set(host, ingress);
    return owners;
  });
}

/** Of each host, the oldest HTTPRoute or GRPCRoute that names it and has a Gateway of this controller. */
export function routeOwners(store: ObjectStore, controller: string): ReadonlyMap<string, KubeObject> {
  return ROUTES.of(store, controller, () => routesByHost(store, controller));
}

function routesByHost(store: ObjectStore, controller: string): ReadonlyMap<string, KubeObject> {
  const classes = store.list("GatewayClass").filter(({ spec }) => spec?.controllerName === controller);
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  const isOurs = ({ spec, metadata }: KubeObject): boolean =>
    ((spec?.parentRefs ?? []) as readonly ParentReference[]).some((ref) => {
      const namespace = ref.namespace ?? metadata.namespace ?? "";
      const set = ref.kind === "ListenerSet" ? store.get("ListenerSet", namespace, ref.name) : null;
      const parent = (set?.spec?.parentRef ?? ref) as ParentReference;
      const home = parent.namespace ?? (set === null ? namespace : (set.metadata.namespace ?? ""));
      return names.has(String(store.get("Gateway", home, parent.name)?.spec?.gatewayClassName ?? ""));
    });
  const owners = new Map<string, KubeObject>();
  for (const route of ["HTTPRoute", "GRPCRoute"].flatMap((kind) => store.list(kind)).filter(isOurs))
    for (const host of hostsOf(route)) {
      const known = owners.get(host);
      if (known === undefined || isOlder(route, known)) owners.set(host, route);
    }
  return owners;
}

/**
 * The older route whose host a listener of a Gateway would take, though the Gateway is neither in its namespace nor in that of one of its parents; null
 * for none. Of listeners at one address the more specific host wins, in whatever namespace it is.
 */
export function robbedRoute(
  host: string,
  gateway: KubeObject,
  owners: ReadonlyMap<string, KubeObject>,
): KubeObject | null {
  const exact = host === "" ? undefined : owners.get(host);
  const routes = host.startsWith("*.")
    ? [...owners].flatMap(([name, route]) => (name.endsWith(host.slice(1)) ? [route] : []))
    : exact === undefined
      ? []
      : [exact];
  return (
    routes.find((route) => isOlder(route, gateway) && !homesOf(route).has(gateway.metadata.namespace ?? "")) ?? null
  );
}

/** The namespaces of a route and of its parents. */
function homesOf({ spec, metadata: { namespace = "" } }: KubeObject): ReadonlySet<string> {
  const parents = (spec?.parentRefs ?? []) as readonly ParentReference[];
  return new Set([namespace, ...parents.map((ref) => ref.namespace ?? namespace)]);
}

/** Whether an object is older than another one. */
export function isOlder({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return (a.creationTimestamp ?? "") < (b.creationTimestamp ?? "");
}
