import {
  type ObjectChange,
  type ObjectRoutes,
  type RenewedRoutes,
  refKey,
  refOf,
  type StatusPatch,
} from "../objects.ts";
import type { AttachedRoute } from "./attachment.ts";
import { type TranslatedRules, usesOf } from "./http-rules.ts";
import type { RouteObject } from "./shapes.ts";

/** A route with its translation. */
export interface MadeRoute {
  readonly of: AttachedRoute;
  readonly found: TranslatedRules;
}

/** The translation that a renewal continues. */
interface RenewalPorts {
  rules(one: AttachedRoute): TranslatedRules;
  status(of: AttachedRoute, found: TranslatedRules): StatusPatch;
  /** Of a route without a Gateway of ours; null if it has no word of edge. */
  leftStatus(route: RouteObject): StatusPatch | null;
  /** The places that other objects leave to these routes. */
  claims(found: TranslatedRules): readonly string[];
}

/** Whether an object has rules about requests. */
export function hasRules({ kind }: RouteObject): boolean {
  return kind === "HTTPRoute" || kind === "GRPCRoute";
}

const STREAMS: readonly string[] = ["TLSRoute", "TCPRoute", "UDPRoute"];
const SERVICE_NAME = "kubernetes.io/service-name";

/**
 * Takes changes of Services, of their endpoints and of the rules of routes up, each at the cost of the routes that it is about. For what may concern
 * other routes there is none: other parents or hosts, other paths that a Gateway leaves free, streams, which take places from each other.
 */
export class RouteRenewal {
  private readonly made: Map<string, MadeRoute>;
  private readonly hasPolicies: boolean;
  private readonly ports: RenewalPorts;
  /** By Service, the routes that lead there; null until it is asked for. */
  private users: Map<string, Set<string>> | null = null;

  /** @param hasPolicies whether policies name routes or Services */
  constructor(made: readonly MadeRoute[], hasPolicies: boolean, ports: RenewalPorts) {
    this.made = new Map(made.map((one) => [refKey(refOf(one.of.route)), one]));
    this.hasPolicies = hasPolicies;
    this.ports = ports;
  }

  /** @returns null if only another translation tells */
  of(changes: readonly ObjectChange[]): RenewedRoutes | null {
    const routes = new Map<string, AttachedRoute>();
    const statuses: StatusPatch[] = [];
    for (const change of changes) {
      const services = servicesOf(change);
      if (services === null) {
        if (!this.noteRoute(change, routes, statuses)) return null;
      } else {
        if (change.kind === "Service" && this.hasPolicies) return null;
        for (const key of services.flatMap((service) => [...(this.usersOf(service) ?? [])]))
          if (!routes.has(key)) routes.set(key, this.made.get(key)!.of);
      }
    }
    const groups = new Map<ObjectRoutes, ObjectRoutes>();
    for (const [key, of] of routes) if (!this.renew(key, of, groups, statuses)) return null;
    return { groups, statuses };
  }

  /** @returns false if the change may concern other objects */
  private noteRoute(
    { before, after, ...ref }: ObjectChange,
    routes: Map<string, AttachedRoute>,
    statuses: StatusPatch[],
  ): boolean {
    const isStream = STREAMS.includes(ref.kind);
    if (before === null || after === null || !(isStream || hasRules(after))) return false;
    if (!isAttachedAlike(before, after)) return false;
    const isSame = Bun.deepEquals(before.spec, after.spec);
    if (!isSame && (isStream || this.hasPolicies)) return false;
    const key = refKey(ref);
    const known = this.made.get(key);
    if (known === undefined) {
      const left = this.ports.leftStatus(after);
      // Without a word of its own, edge has none to write.
      statuses.push(left ?? { object: ref, status: {} });
      return true;
    }
    const { generation = 0 } = after.metadata;
    const parents = known.of.parents.map(({ ref: parent, accepted }) => ({
      ref: parent,
      accepted: { ...accepted, observedGeneration: generation },
    }));
    const of = { ...known.of, route: after, parents };
    if (!isStream) routes.set(key, of);
    else {
      this.made.set(key, { of, found: known.found });
      statuses.push(this.ports.status(of, known.found));
    }
    return true;
  }

  private renew(
    key: string,
    of: AttachedRoute,
    groups: Map<ObjectRoutes, ObjectRoutes>,
    statuses: StatusPatch[],
  ): boolean {
    const known = this.made.get(key)!;
    const found = this.ports.rules(of);
    const [before, after] = [known.found.groups, found.groups];
    if (before.length !== after.length || before.some(({ rank }, i) => rank !== after[i]!.rank)) return false;
    if (known.found !== found && !Bun.deepEquals(this.ports.claims(known.found), this.ports.claims(found)))
      return false;
    for (const [i, group] of before.entries()) if (group !== after[i]) groups.set(group, after[i]!);
    for (const { namespace, name } of usesOf(of.route)) this.noteUser(`${namespace}/${name}`, key);
    this.made.set(key, { of, found });
    statuses.push(this.ports.status(of, found));
    return true;
  }

  private usersOf(service: string): ReadonlySet<string> | undefined {
    if (this.users === null) {
      this.users = new Map();
      for (const [key, { of }] of this.made)
        for (const { namespace, name } of usesOf(of.route)) this.noteUser(`${namespace}/${name}`, key);
    }
    return this.users.get(service);
  }

  /** One that does not lead there any more costs a look. */
  private noteUser(service: string, key: string): void {
    if (this.users === null) return;
    const known = this.users.get(service);
    if (known === undefined) this.users.set(service, new Set([key]));
    else known.add(key);
  }
}

/** Whether parents, hosts and age are the same, by which routes are attached, and by which one wins over another. */
function isAttachedAlike(before: RouteObject, after: RouteObject): boolean {
  const [a, b] = [before, after].map(({ metadata: { creationTimestamp, deletionTimestamp }, spec }) => [
    ...[creationTimestamp, deletionTimestamp, spec?.parentRefs, spec?.hostnames],
  ]);
  return Bun.deepEquals(a, b);
}

/** The Services that a change is about; null for an object that is neither one nor has their endpoints. */
export function servicesOf({ kind, namespace, name, before, after }: ObjectChange): readonly string[] | null {
  if (kind === "Service") return [`${namespace}/${name}`];
  if (kind !== "EndpointSlice") return null;
  const named = [before, after].flatMap((one) => one?.metadata.labels?.[SERVICE_NAME] ?? []);
  return [...new Set(named)].map((service) => `${namespace}/${service}`);
}
