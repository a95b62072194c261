import { shaped } from "./object-shape.ts";
import { type KubeObject, type ObjectChange, type ObjectRef, refOf } from "./objects.ts";

/** An object that is not as the definition of its kind says: it counts as if it were not there. */
interface UnreadableObject {
  readonly object: ObjectRef;
  /** The place in it, such as `spec.listeners[0].port`. */
  readonly place: string;
}

/** The objects of a kind. */
interface KindObjects {
  /** Counts its changes. */
  version: number;
  readonly byName: Map<string, KubeObject>;
  /** All in their order; null once one has changed, as those of a namespace. */
  sorted: readonly KubeObject[] | null;
  readonly byNamespace: Map<string, readonly KubeObject[]>;
}

/** The objects of a cluster, as far as they are watched. Objects in it are never changed in place, and have the shapes that translations count on. */
export class ObjectStore {
  private readonly kinds: Map<string, KindObjects> = new Map();
  private readonly unreadable: Map<string, UnreadableObject> = new Map();
  /** EndpointSlices by their Service: there are more of them than of all else. */
  private readonly slices: Map<string, Map<string, KubeObject>> = new Map();
  /** Kinds, with their namespaces or "", that have been listed. */
  private readonly listed: Set<string> = new Set();
  private readonly stamps: Map<string, number> = new Map();
  private readonly listeners: Set<(kind: string) => void> = new Set();
  /** By kind and name, those that have changed since `takeChanges`, as they were then. */
  private readonly pending: Map<string, Omit<ObjectChange, "after">> = new Map();
  /** Who is told of each object that is asked for by its name; null for none. */
  private asked: Set<string> | null = null;
  /** Counts changes. */
  version = 0;

  get<T extends KubeObject = KubeObject>(kind: string, namespace: string, name: string): T | null {
    const key = keyOf(namespace, name);
    this.asked?.add(`${kind} ${key}`);
    return (this.kinds.get(kind)?.byName.get(key) as T | undefined) ?? null;
  }

  /** @returns the result of a function, and kind and name of each object that it has asked for by its name */
  noting<T>(make: () => T): [T, ReadonlySet<string>] {
    const { asked: before } = this;
    const asked = new Set<string>();
    this.asked = asked;
    try {
      return [make(), asked];
    } finally {
      this.asked = before;
    }
  }

  /** The objects that have changed since the last call, each once. */
  takeChanges(): readonly ObjectChange[] {
    const changes = [...this.pending.values()].map((one) => {
      const after = this.kinds.get(one.kind)?.byName.get(keyOf(one.namespace, one.name)) ?? null;
      return { ...one, after };
    });
    this.pending.clear();
    return changes;
  }

  /** All objects of a kind, the oldest first, then by name: the order in which one wins over another. */
  list<T extends KubeObject = KubeObject>(kind: string, namespace?: string): readonly T[] {
    const known = this.kinds.get(kind);
    if (known === undefined) return [];
    known.sorted ??= [...known.byName.values()].sort(byAge);
    if (namespace === undefined) return known.sorted as readonly T[];
    let some = known.byNamespace.get(namespace);
    if (some === undefined) {
      some = known.sorted.filter(({ metadata }) => (metadata.namespace ?? "") === namespace);
      known.byNamespace.set(namespace, some);
    }
    return some as readonly T[];
  }

  /** The EndpointSlices of a Service. */
  slicesOf<T extends KubeObject = KubeObject>(namespace: string, service: string): readonly T[] {
    return [...(this.slices.get(keyOf(namespace, service))?.values() ?? [])] as unknown as readonly T[];
  }

  /** Tells a kind as it is from what it was. */
  versionOf(kind: string): number {
    return this.kinds.get(kind)?.version ?? 0;
  }

  /** Tells a Service with its EndpointSlices from what it was. */
  stampOf(namespace: string, service: string): number {
    return this.stamps.get(keyOf(namespace, service)) ?? 0;
  }

  /** Objects that cannot be read. */
  allUnreadable(): readonly UnreadableObject[] {
    return [...this.unreadable.values()];
  }

  /** Takes an object in, in place of an earlier one of its name. */
  put(object: KubeObject): void {
    const { kind, metadata } = object;
    const key = keyOf(metadata.namespace ?? "", metadata.name);
    const known = this.kinds.get(kind)?.byName.get(key);
    const { resourceVersion } = metadata;
    if (resourceVersion !== undefined && known?.metadata.resourceVersion === resourceVersion) return;
    const made = shaped(kind, object);
    if (typeof made === "string") {
      this.remove(kind, metadata.namespace ?? "", metadata.name);
      this.unreadable.set(`${kind} ${key}`, { object: refOf(object), place: made });
      this.note(refOf(object), known ?? null, true);
      this.changed(kind);
      return;
    }
    const wasOdd = this.unreadable.delete(`${kind} ${key}`);
    this.note(refOf(object), known ?? null, wasOdd);
    this.kindOf(kind).byName.set(key, made);
    this.index(kind, key, known ?? null, made);
    this.changed(kind);
  }

  remove(kind: string, namespace: string, name: string): void {
    const key = keyOf(namespace, name);
    const wasOdd = this.unreadable.delete(`${kind} ${key}`);
    const known = this.kinds.get(kind)?.byName.get(key);
    if (known !== undefined || wasOdd) this.note({ kind, namespace, name }, known ?? null, wasOdd);
    if (known !== undefined) {
      this.kinds.get(kind)!.byName.delete(key);
      this.index(kind, key, known, null);
    }
    if (known !== undefined || wasOdd) this.changed(kind);
  }

  /** Takes a whole list in: objects that are not in it are gone. @param namespace of the list; absent for the whole cluster */
  replace(kind: string, objects: readonly KubeObject[], namespace?: string): void {
    const there = new Set(objects.map(({ metadata }) => keyOf(metadata.namespace ?? "", metadata.name)));
    const odd = [...this.unreadable.values()].map(({ object }) => object).filter((one) => one.kind === kind);
    const known = [...this.list(kind, namespace).map(refOf), ...odd];
    for (const one of known)
      if ((namespace === undefined || one.namespace === namespace) && !there.has(keyOf(one.namespace, one.name)))
        this.remove(kind, one.namespace, one.name);
    for (const object of objects) this.put(object);
    this.listed.add(`${kind} ${namespace ?? ""}`);
  }

  /** Whether all objects of a kind are known: what is not there then does not exist. @param namespace "" for a kind of the whole cluster */
  isListed(kind: string, namespace: string): boolean {
    return this.listed.has(`${kind} `) || this.listed.has(`${kind} ${namespace}`);
  }

  /** @returns takes the listener off */
  onChange(listener: (kind: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private kindOf(kind: string): KindObjects {
    const known = this.kinds.get(kind) ?? { version: 0, byName: new Map(), sorted: null, byNamespace: new Map() };
    this.kinds.set(kind, known);
    return known;
  }

  /** Keeps up what is known by Services. @param before null for an object that is new @param after null for one that is gone */
  private index(kind: string, key: string, before: KubeObject | null, after: KubeObject | null): void {
    if (kind === "Service") this.stamp(key);
    if (kind !== SLICE) return;
    const [from, to] = [serviceOf(before), serviceOf(after)];
    if (from !== null) this.slices.get(from)?.delete(key);
    if (to !== null) this.slices.set(to, (this.slices.get(to) ?? new Map()).set(key, after!));
    for (const service of new Set([from, to])) if (service !== null) this.stamp(service);
  }

  // Of a Service that is gone with its slices nothing is left, however many come and go.
  private stamp(service: string): void {
    if (this.slices.get(service)?.size === 0) this.slices.delete(service);
    const isThere = this.slices.has(service) || this.kinds.get("Service")?.byName.has(service) === true;
    if (isThere) this.stamps.set(service, this.version + 1);
    else this.stamps.delete(service);
  }

  private note(object: ObjectRef, before: KubeObject | null, isUnreadable: boolean): void {
    const key = `${object.kind} ${keyOf(object.namespace, object.name)}`;
    const known = this.pending.get(key);
    const isOdd = isUnreadable || known?.isUnreadable === true;
    this.pending.set(key, { ...object, before: known === undefined ? before : known.before, isUnreadable: isOdd });
  }

  private changed(kind: string): void {
    this.version++;
    const known = this.kinds.get(kind);
    if (known !== undefined) {
      known.version = this.version;
      known.sorted = null;
      known.byNamespace.clear();
    }
    for (const listener of this.listeners) listener(kind);
  }
}

const SLICE = "EndpointSlice";
const SERVICE_NAME = "kubernetes.io/service-name";

/** The Service of an EndpointSlice; null for none. */
function serviceOf(slice: KubeObject | null | undefined): string | null {
  const name = slice?.metadata.labels?.[SERVICE_NAME];
  return name === undefined ? null : keyOf(slice!.metadata.namespace ?? "", name);
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The oldest first; of the same age, by namespace and name. */
function byAge({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  return (
    compare(a.creationTimestamp ?? "", b.creationTimestamp ?? "") ||
    compare(a.namespace ?? "", b.namespace ?? "") ||
    compare(a.name, b.name)
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
