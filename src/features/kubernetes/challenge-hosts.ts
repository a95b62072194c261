import type { IngressObject } from "./ingress/ingress-shapes.ts";
import type { ObjectStore } from "./object-store.ts";
import type { KubeObject } from "./objects.ts";

/** The kinds whose objects name hosts. */
const KINDS = ["HTTPRoute", "GRPCRoute", "Ingress"];

/** Whether routes of a namespace may answer challenges of certificate authorities for all of these hosts. */
export type TakesChallenges = (namespace: string, hosts: readonly string[]) => boolean;

/**
 * Who answers a host's challenges can have a certificate for it: the namespace of the oldest object that names the host does.
 * Routes for every host or for a wildcard get none, since another namespace may have a part of it.
 */
export function challengeHosts(store: ObjectStore): TakesChallenges {
  const stamp = KINDS.map((kind) => store.versionOf(kind)).join(" ");
  const known = memory.get(store);
  const owners = known?.stamp === stamp ? known.owners : ownersIn(store);
  if (known?.stamp !== stamp) memory.set(store, { stamp, owners });
  return (namespace, hosts) =>
    hosts.length > 0 &&
    hosts.every((host) => host !== "" && !host.startsWith("*") && (owners.get(host) ?? namespace) === namespace);
}

const memory: WeakMap<ObjectStore, { readonly stamp: string; readonly owners: ReadonlyMap<string, string> }> =
  new WeakMap();

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
