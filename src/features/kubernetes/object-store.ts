import type { KubeObject } from "./objects.ts";

/** The objects of a cluster, as far as they are watched. Objects in it are never changed in place. */
export class ObjectStore {
  private readonly kinds: Map<string, Map<string, KubeObject>> = new Map();
  private readonly listeners: Set<(kind: string) => void> = new Set();
  /** Counts changes. */
  version = 0;

  get<T extends KubeObject = KubeObject>(kind: string, namespace: string, name: string): T | null {
    return (this.kinds.get(kind)?.get(keyOf(namespace, name)) as T | undefined) ?? null;
  }

  /** All objects of a kind, the oldest first, then by name: the order in which one wins over another. */
  list<T extends KubeObject = KubeObject>(kind: string, namespace?: string): readonly T[] {
    const all = [...(this.kinds.get(kind)?.values() ?? [])] as T[];
    const some = namespace === undefined ? all : all.filter(({ metadata }) => (metadata.namespace ?? "") === namespace);
    return some.sort(byAge);
  }

  /** Those with this value of a label. */
  byLabel<T extends KubeObject = KubeObject>(
    kind: string,
    namespace: string,
    label: string,
    value: string,
  ): readonly T[] {
    return this.list<T>(kind, namespace).filter(({ metadata }) => metadata.labels?.[label] === value);
  }

  /** Takes an object in, in place of an earlier one of its name. */
  put(object: KubeObject): void {
    const { kind, metadata } = object;
    let known = this.kinds.get(kind);
    if (known === undefined) {
      known = new Map();
      this.kinds.set(kind, known);
    }
    const key = keyOf(metadata.namespace ?? "", metadata.name);
    const { resourceVersion } = metadata;
    if (resourceVersion !== undefined && known.get(key)?.metadata.resourceVersion === resourceVersion) return;
    known.set(key, object);
    this.changed(kind);
  }

  remove(kind: string, namespace: string, name: string): void {
    if (this.kinds.get(kind)?.delete(keyOf(namespace, name)) === true) this.changed(kind);
  }

  /** Takes a whole list in: what is not in it is gone. @param namespace of the list; absent for that of the whole cluster */
  replace(kind: string, objects: readonly KubeObject[], namespace?: string): void {
    const there = new Set(objects.map(({ metadata }) => keyOf(metadata.namespace ?? "", metadata.name)));
    for (const { metadata } of this.list(kind, namespace))
      if (!there.has(keyOf(metadata.namespace ?? "", metadata.name)))
        this.remove(kind, metadata.namespace ?? "", metadata.name);
    for (const object of objects) this.put(object);
  }

  /** @returns takes the listener off */
  onChange(listener: (kind: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private changed(kind: string): void {
    this.version++;
    for (const listener of this.listeners) listener(kind);
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The oldest first; of the same age, by namespace and name. */
function byAge(a: KubeObject, b: KubeObject): number {
  return (
    compare(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
    compare(`${a.metadata.namespace ?? ""}/${a.metadata.name}`, `${b.metadata.namespace ?? ""}/${b.metadata.name}`)
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
