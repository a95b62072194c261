import { isOlder } from "../host-owners.ts";
import type { ObjectStore } from "../object-store.ts";
import { type KubeObject, nameOf, type ObjectCondition } from "../objects.ts";
import { commonHosts } from "./hosts.ts";
import { allowsNamespace, isAnothers, type JudgedListener } from "./listeners.ts";
import { condition, GATEWAY_GROUP, type ParentReference, type RouteObject } from "./shapes.ts";

/** A listener that a route is attached to, with the hosts of its requests; "" is every host. */
interface Attachment {
  readonly listener: JudgedListener;
  readonly hosts: readonly string[];
}

/** A route with its listeners, and its word on its parents. */
export interface AttachedRoute {
  readonly route: RouteObject;
  readonly attachments: readonly Attachment[];
  readonly parents: readonly { readonly ref: ParentReference; readonly accepted: ObjectCondition }[];
}

/** The listeners of a Gateway or a ListenerSet, and all of that Gateway; null if another controller serves it. */
type ParentLookup = (kind: string, namespace: string, name: string) => ParentListeners | null;

interface ParentListeners {
  readonly own: readonly JudgedListener[];
  readonly all: readonly JudgedListener[];
}

const WITH_RULES: readonly string[] = ["HTTPRoute", "GRPCRoute"];
const WITH_HOSTS: readonly string[] = ["HTTPRoute", "GRPCRoute", "TLSRoute"];

/** Attaches a route to the listeners that its parents have for it; null if none of its parents is served here. */
export function attachedRoute(store: ObjectStore, route: RouteObject, parentsOf: ParentLookup): AttachedRoute | null {
  const attachments = new Map<JudgedListener, Attachment>();
  const namespace = route.metadata.namespace!;
  const parents = (route.spec?.parentRefs ?? []).flatMap((ref) => {
    if ((ref.group ?? GATEWAY_GROUP) !== GATEWAY_GROUP) return [];
    const listeners = parentsOf(ref.kind ?? "Gateway", ref.namespace ?? namespace, ref.name);
    if (listeners === null) return [];
    const { found, reason, message } = foundListeners(store, route, ref, listeners);
    for (const one of found) if (!attachments.has(one.listener)) attachments.set(one.listener, one);
    return [
      { ref, accepted: condition(route.metadata.generation, "Accepted", reason === "Accepted", reason, message) },
    ];
  });
  if (parents.length === 0) return null;
  for (const listener of attachments.keys()) listener.attached++;
  return { route, attachments: [...attachments.values()], parents };
}

/**
 * The same without hosts that older Ingresses of other namespaces have. At one address Gateways and Ingresses share listeners, and no Ingress says who
 * else may have its host.
 */
export function withoutIngressHosts(
  { route, attachments, parents }: AttachedRoute,
  owners: ReadonlyMap<string, KubeObject>,
  ports: readonly number[],
): AttachedRoute {
  const lost = new Set<KubeObject>();
  if (owners.size === 0 || !WITH_RULES.includes(route.kind)) return { route, attachments, parents };
  const isFree = (host: string): boolean => {
    const owner = owners.get(host);
    if (owner === undefined || owner.metadata.namespace === route.metadata.namespace || !isOlder(owner, route))
      return true;
    lost.add(owner);
    return false;
  };
  const left = attachments.map(({ listener, hosts }) =>
    ports.includes(listener.shape.port) ? { listener, hosts: hosts.filter(isFree) } : { listener, hosts },
  );
  if (lost.size === 0) return { route, attachments, parents };
  const message = `hosts belong to the older ${[...lost].map((one) => `Ingress ${nameOf(one)}`).join(", ")}`;
  const isServed = left.some(({ hosts }) => hosts.length > 0);
  if (!isServed) for (const { listener } of left) listener.attached--;
  const told = parents.map(({ ref, accepted }) => {
    if (accepted.status !== "True") return { ref, accepted };
    const { generation } = route.metadata;
    return {
      ref,
      accepted: condition(generation, "Accepted", isServed, isServed ? "Accepted" : "HostnameConflict", message),
    };
  });
  return { route, attachments: left, parents: told };
}

function foundListeners(
  store: ObjectStore,
  { kind, metadata, ...route }: RouteObject,
  ref: ParentReference,
  { own: listeners, all }: ParentListeners,
): { readonly found: readonly Attachment[]; readonly reason: string; readonly message: string } {
  const named = listeners.filter(
    ({ shape }) =>
      (ref.sectionName === undefined || shape.name === ref.sectionName) &&
      (ref.port === undefined || shape.port === ref.port),
  );
  if (named.length === 0)
    return { found: [], reason: "NoMatchingParent", message: "no listener has this name and port" };
  const allowed = named.filter(
    (one) =>
      one.accepted.reason === "" &&
      one.conflict.reason === "" &&
      one.kinds.includes(kind) &&
      allowsNamespace(store, one, metadata.namespace!),
  );
  if (allowed.length === 0)
    return { found: [], reason: "NotAllowedByListeners", message: "no listener allows this kind from this namespace" };
  const asked = WITH_HOSTS.includes(kind) ? (route.spec?.hostnames ?? []) : [];
  const found = allowed.flatMap((listener): Attachment[] => {
    const common = commonHosts(listener.host, asked);
    if (common.length === 0) return [];
    return [{ listener, hosts: common.filter((host) => !isAnothers(host, listener, all)) }];
  });
  if (found.length === 0)
    return { found, reason: "NoMatchingListenerHostname", message: "no listener has one of the route's hostnames" };
  return { found, reason: "Accepted", message: "" };
}
