import type { FleetStore } from "./fleet-store.ts";

/** A script of the store, with the name by which the store knows it. */
export interface StoreScript {
  readonly text: string;
  readonly sha1: string;
}

/** Makes a script. */
export function storeScript(text: string): StoreScript {
  return { text, sha1: new Bun.CryptoHasher("sha1").update(text).digest("hex") };
}

/** The store as parts of a gateway use it: the names of their keys begin with the prefix of the fleet. All of it throws where the store is away. */
export class SharedStore {
  /** Of this gateway, in the fleet. */
  readonly id: string;
  private readonly store: FleetStore;
  private readonly prefix: string;

  constructor(store: FleetStore, prefix: string, id: string) {
    this.store = store;
    this.prefix = prefix;
    this.id = id;
  }

  /** Runs a script on one key. */
  async evaluate({ text, sha1 }: StoreScript, name: string, words: readonly string[]): Promise<unknown> {
    const key = `${this.prefix}:${name}`;
    try {
      return await this.store.call(key, ["EVALSHA", sha1, "1", key, ...words]);
    } catch (error) {
      // The store was emptied, or this part of a cluster has not seen it.
      if (!String(error).includes("NOSCRIPT")) throw error;
      return this.store.call(key, ["EVAL", text, "1", key, ...words]);
    }
  }

  /** Runs a command on one key, whose name comes after the first word. */
  call(name: string, command: string, ...words: readonly string[]): Promise<unknown> {
    const key = `${this.prefix}:${name}`;
    return this.store.call(key, [command, key, ...words]);
  }

  /** Ids of the gateways that were last seen. @param sinceMs milliseconds since the epoch */
  async present(sinceMs: number): Promise<readonly string[]> {
    return (await this.call("nodes", "ZRANGEBYSCORE", String(sinceMs), "+inf")) as string[];
  }
}
