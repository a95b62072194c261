/** Whose turn something waits for: a client's and one of its connections', or a network's and one of its clients'. */
export interface Queued {
  readonly group: string;
  /** Compared by identity. */
  readonly member: unknown;
}

/**
 * What members of several groups wait for: groups take turns, and so do the members of each. What one member waits for comes in its order.
 */
export class FairQueue<T extends Queued> {
  private readonly groups: Map<string, Group<T>> = new Map();
  /** How many groups there are of each size; a full queue is asked for the largest by each request that it refuses. */
  private readonly bySize: number[] = [];
  private largest = 0;
  /** All that waits. */
  size = 0;

  /** How much a group waits for. */
  countOf(group: string): number {
    return this.groups.get(group)?.size ?? 0;
  }

  /** How much the group waits for that waits for most. */
  get longest(): number {
    return this.largest;
  }

  add(item: T): void {
    const group = this.groups.get(item.group) ?? { size: 0, members: new Map<unknown, T[]>() };
    this.groups.set(item.group, group);
    const items = group.members.get(item.member);
    if (items === undefined) group.members.set(item.member, [item]);
    else items.push(item);
    this.resize(group, 1);
  }

  /** @returns whether it has waited */
  remove(item: T): boolean {
    const items = this.groups.get(item.group)?.members.get(item.member);
    const at = items?.indexOf(item) ?? -1;
    if (at < 0) return false;
    items!.splice(at, 1);
    this.taken(item);
    return true;
  }

  /**
   * Takes the next one out; its group and its member come last from now on.
   * @param mayCome whether the first of a member may come now
   * @returns null if none may
   */
  take(mayCome: (item: T) => boolean): T | null {
    for (const [name, group] of this.groups)
      for (const [member, items] of group.members) {
        if (!mayCome(items[0]!)) continue;
        const item = items.shift()!;
        group.members.delete(member);
        group.members.set(member, items);
        this.groups.delete(name);
        this.groups.set(name, group);
        this.taken(item);
        return item;
      }
    return null;
  }

  /** Takes out the newest of the member that waits for most, in the group that waits for most. @returns null if nothing waits */
  takeNewestOfMost(): T | null {
    const group = longest(this.groups.values(), ({ size }) => size);
    if (group === null) return null;
    const item = longest(group.members.values(), ({ length }) => length)!.pop()!;
    this.taken(item);
    return item;
  }

  private resize(group: Group<T>, by: 1 | -1): void {
    const { bySize } = this;
    if (group.size > 0) bySize[group.size]!--;
    group.size += by;
    this.size += by;
    bySize[group.size] = (bySize[group.size] ?? 0) + 1;
    if (group.size > this.largest) this.largest = group.size;
    while (this.largest > 0 && (bySize[this.largest] ?? 0) === 0) this.largest--;
  }

  private taken(item: T): void {
    const group = this.groups.get(item.group)!;
    this.resize(group, -1);
    if (group.size === 0) this.groups.delete(item.group);
    else if (group.members.get(item.member)!.length === 0) group.members.delete(item.member);
  }
}

/** What a group waits for, by its members. */
interface Group<T> {
  size: number;
  readonly members: Map<unknown, T[]>;
}

/** The one with most; the latest of several. */
function longest<V>(all: Iterable<V>, sizeOf: (value: V) => number): V | null {
  let found: V | null = null;
  for (const one of all) if (found === null || sizeOf(one) >= sizeOf(found)) found = one;
  return found;
}
