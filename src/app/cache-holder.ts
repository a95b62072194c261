import type { CacheBuffers } from "../shared/cache-memory.ts";
import { CacheStore } from "../shared/cache-store.ts";

/**
 * A worker's hand on the cache's memory: one for each memory, however often the configuration changes, since it counts the
 * worker's own pins.
 */
export class CacheHolder {
  store: CacheStore | null = null;
  private version = 0;

  /** The store in this memory: the one in use where the memory stays. `use` takes it up. */
  storeIn(buffers: CacheBuffers | null, worker: number): CacheStore | null {
    if (buffers === null) return null;
    return buffers.version === this.version && this.store !== null ? this.store : new CacheStore(buffers, worker);
  }

  /** Takes up a store from `storeIn` of the same memory. */
  use(store: CacheStore | null, buffers: CacheBuffers | null): void {
    this.store = store;
    this.version = buffers === null ? 0 : buffers.version;
  }
}
