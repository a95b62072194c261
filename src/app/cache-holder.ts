import type { CacheBuffers } from "../shared/cache-memory.ts";
import { CacheStore } from "../shared/cache-store.ts";

/**
 * A worker's hand on the cache's memory: one for each memory, however often the configuration changes, since it counts the
 * worker's own pins.
 */
export class CacheHolder {
  store: CacheStore | null = null;
  private version = 0;

  /** Takes what the control thread sent. */
  use(buffers: CacheBuffers | null, worker: number): void {
    if (buffers === null) this.store = null;
    else if (buffers.version !== this.version || this.store === null) this.store = new CacheStore(buffers, worker);
    this.version = buffers === null ? 0 : buffers.version;
  }
}
