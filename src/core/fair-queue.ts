/** Whose turn it is to wait for. */
export interface Queued {
  /** Such as an address. */
  readonly client: string;
  /** One of the client's; compared by identity. */
  readonly connection: object;
}

/**
 * What several clients wait for, each on one or several connections: clients take turns, and so do the connections of each. What one connection
 * waits for comes in its order.
 */
export class FairQueue<T extends Queued> {
  private readonly clients: Map<string, Map<object, T[]>> = new Map();
  private readonly counts: Map<string, number> = new Map();
  /** All that waits. */
  size = 0;

  /** How much a client waits for. */
  countOf(client: string): number {
    return this.counts.get(client) ?? 0;
  }

  add(item: T): void {
    const { client, connection } = item;
    const connections = this.clients.get(client) ?? new Map<object, T[]>();
    this.clients.set(client, connections);
    const items = connections.get(connection);
    if (items === undefined) connections.set(connection, [item]);
    else items.push(item);
    this.count(client, 1);
  }

  /** @returns whether it has waited */
  remove(item: T): boolean {
    const items = this.clients.get(item.client)?.get(item.connection);
    const at = items?.indexOf(item) ?? -1;
    if (at < 0) return false;
    items!.splice(at, 1);
    this.taken(item, items!);
    return true;
  }

  /**
   * Takes the next one out; its client and its connection come last from now on.
   * @param mayCome whether the first of a connection may come now
   * @returns null where none may
   */
  take(mayCome: (item: T) => boolean): T | null {
    for (const [client, connections] of this.clients)
      for (const [connection, items] of connections) {
        if (!mayCome(items[0]!)) continue;
        const item = items.shift()!;
        connections.delete(connection);
        connections.set(connection, items);
        this.clients.delete(client);
        this.clients.set(client, connections);
        this.taken(item, items);
        return item;
      }
    return null;
  }

  private taken({ client, connection }: T, left: readonly T[]): void {
    this.count(client, -1);
    if (left.length > 0) return;
    const connections = this.clients.get(client)!;
    connections.delete(connection);
    if (connections.size === 0) this.clients.delete(client);
  }

  private count(client: string, by: number): void {
    this.size += by;
    const count = this.countOf(client) + by;
    if (count === 0) this.counts.delete(client);
    else this.counts.set(client, count);
  }
}
