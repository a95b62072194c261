/** Whom something waits for: turns are taken by networks, and within one by clients. */
export interface TurnTaker {
  readonly network: string;
  readonly client: string;
}

/**
 * What waits for something scarce, so that no client waits for all that another has asked for: networks take turns, and within each its
 * clients. When it is full, the client that has most waiting in the network that has most makes room.
 */
export class FairTurns<T> {
  private readonly max: number;
  private readonly networks: Map<string, NetworkTurns<T>> = new Map();
  private size = 0;

  constructor(max: number) {
    this.max = max;
  }

  /** Puts it behind what its client has waiting. @returns what has had to make room, perhaps itself; null where there was room */
  add({ network, client }: TurnTaker, item: T): T | null {
    const turns = this.networks.get(network) ?? new NetworkTurns<T>();
    this.networks.set(network, turns);
    turns.add(client, item);
    return ++this.size > this.max ? this.dropNewest() : null;
  }

  /** Takes what is next; null where nothing waits. */
  next(): T | null {
    for (const [network, turns] of this.networks) {
      const item = turns.next();
      this.networks.delete(network);
      if (turns.size > 0) this.networks.set(network, turns);
      this.size--;
      return item;
    }
    return null;
  }

  private dropNewest(): T {
    const [network, turns] = longest(this.networks, ({ size }) => size);
    const item = turns.dropNewest();
    if (turns.size === 0) this.networks.delete(network);
    this.size--;
    return item;
  }
}

/** What the clients of one network have waiting, oldest first. */
class NetworkTurns<T> {
  size = 0;
  private readonly clients: Map<string, T[]> = new Map();

  add(client: string, item: T): void {
    const items = this.clients.get(client);
    if (items === undefined) this.clients.set(client, [item]);
    else items.push(item);
    this.size++;
  }

  next(): T {
    const [client, items] = this.clients.entries().next().value!;
    const item = items.shift()!;
    this.clients.delete(client);
    if (items.length > 0) this.clients.set(client, items);
    this.size--;
    return item;
  }

  dropNewest(): T {
    const [client, items] = longest(this.clients, ({ length }) => length);
    const item = items.pop()!;
    if (items.length === 0) this.clients.delete(client);
    this.size--;
    return item;
  }
}

/** The entry with most; the latest of several. */
function longest<V>(all: ReadonlyMap<string, V>, sizeOf: (value: V) => number): [string, V] {
  let found: [string, V] | null = null;
  for (const entry of all) if (found === null || sizeOf(entry[1]) >= sizeOf(found[1])) found = entry;
  return found!;
}
