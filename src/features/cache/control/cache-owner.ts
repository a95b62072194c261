import type { ControlService, Prepared } from "../../../core/control-service.ts";
import type { Metric } from "../../../core/metric-row.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { DiskPurge } from "../purge-rule.ts";
import type { CacheConfig } from "../settings.ts";
import { CacheLock } from "../store/cache-lock.ts";
import {
  type CacheBuffers,
  CacheMemory,
  type CacheSizes,
  createCacheBuffers,
  MemoryHead,
  type SharedCache,
} from "../store/cache-memory.ts";
import { rebuildCache, reclaimFrom } from "../store/cache-repair.ts";
import { CacheStore } from "../store/cache-store.ts";
import type { DiskIndex } from "../store/disk-index.ts";
import { CacheHandover, LAYOUT, takeOverCache } from "./cache-handover.ts";
import { cacheMetrics } from "./cache-metrics.ts";
import { CacheDisk, type DiskReports } from "./disk/cache-disk.ts";

/** The control thread and that of the disk. */
const OTHER_THREADS = 2;
/** How long until the lock is tried again, where a worker holds it. */
const RETRY_MS = 5;

/** What the memory of the cache depends on. */
type MemoryConfig = Pick<CacheConfig, "enabled" | "maxEntries" | "maxBytes" | "cookies"> &
  CacheSizes &
  Partial<Pick<CacheConfig, "disk">>;

/** The control thread's hand on the response cache: it makes the memory, and takes back what dead workers held. */
export class CacheOwner implements ControlService<RuntimeConfig> {
  /** For the workers; null if the cache is off. */
  buffers: CacheBuffers | null = null;
  private memory: CacheMemory | null = null;
  private readonly workers: number;
  private kind = "";
  private storedKind = "";
  private readonly handover: CacheHandover = new CacheHandover();
  private version = 0;
  /** Of all memories, so that what is on disk is found from each. */
  private readonly seed: number = crypto.getRandomValues(new Int32Array(1))[0]!;
  private readonly disk: CacheDisk | null;
  private isDiskStarted = false;

  /** @param reports takes what there is to say of the disk; without it nothing is on disk */
  constructor(config: MemoryConfig, workers: number, reports: DiskReports | null = null) {
    this.workers = workers;
    const { disk = null } = config;
    this.disk =
      disk === null || reports === null
        ? null
        : new CacheDisk({ ...disk, kind: diskKind(config) }, workers + OTHER_THREADS, {
            ...reports,
            failed: (fields) => {
              reports.failed(fields);
              if (this.disk?.isRunning === false) void this.workerDied(workers + 1);
            },
          });
    this.takeUp(config, this.buffersFor(config));
  }

  prepare({ server: { cache: config } }: RuntimeConfig): Prepared & { readonly fields: SharedCache } {
    const cache = this.buffersFor(config);
    return { fields: { cache }, takeUp: () => this.takeUp(config, cache) };
  }

  /**
   * The memory for a configuration, to be taken up by `takeUp`: the one in use, unless the cache becomes smaller or larger, or
   * cookies count from now on, so that responses may be stored that were made for one client.
   */
  private buffersFor(config: MemoryConfig): CacheBuffers | null {
    if (kindOf(config) === this.kind) return this.buffers;
    if (!config.enabled) return null;
    const buffers = createCacheBuffers(config, this.workers + OTHER_THREADS, this.seed, ++this.version);
    return { ...buffers, disk: this.disk?.buffer ?? null };
  }

  /** Takes up the memory from `buffersFor` the same configuration. */
  private takeUp(config: MemoryConfig, buffers: CacheBuffers | null): void {
    const isOtherKind = this.storedKind !== "" && this.storedKind !== config.cookies;
    this.kind = kindOf(config);
    this.storedKind = config.cookies;
    if (isOtherKind) this.disk?.renew(diskKind(config));
    if (buffers === this.buffers) return;
    this.buffers = buffers;
    this.memory = buffers === null ? null : new CacheMemory(buffers);
    if (buffers === null) return;
    if (this.isDiskStarted) this.disk?.useMemory(buffers);
    else if (this.version > 1) void this.startDisk();
  }

  /** Starts what has to do with the disk. @returns when what was left there can be found, or soon */
  async startDisk(): Promise<void> {
    if (this.disk === null || this.buffers === null || this.isDiskStarted) return;
    this.isDiskStarted = true;
    await this.disk.start(this.buffers);
  }

  /** Writes what waits for the disk, and lets another process have it. */
  async stop(): Promise<void> {
    await this.disk?.stop();
  }

  /** No successor takes over after all. */
  keep(): void {
    this.disk?.resume();
  }

  /** Takes out what is on disk, or makes it stale. @returns how many */
  purgeDisk(purge: DiskPurge): Promise<number> {
    return this.disk?.purge(purge) ?? Promise.resolve(0);
  }

  /** The entries on disk; null if the disk is off. */
  get diskIndex(): DiskIndex | null {
    return this.disk?.index ?? null;
  }

  /**
   * Writes what is stored for a successor.
   * @returns the file, or -1
   */
  async handOn(): Promise<number> {
    await this.disk?.release();
    if (this.buffers !== null) await this.handover.dump(new CacheStore(this.buffers, this.workers), this.storedKind);
    return this.handover.file;
  }

  /** Takes up what a predecessor has stored, before any worker begins. */
  takeOver(file: number, predecessor: number): void {
    if (file < 0 || this.buffers === null) return;
    takeOverCache(new CacheStore(this.buffers, this.workers), this.storedKind, file, predecessor);
  }

  /** Takes back the lock, the fetches and the pins of a worker that has ended; to be done before it is started again. */
  async workerDied(worker: number): Promise<void> {
    const { memory } = this;
    this.disk?.index.threadDied(worker);
    if (memory === null) return;
    const dead = worker + 1;
    const lock = new CacheLock(memory.words, this.workers + 1);
    for (;;) {
      if (lock.takeFrom(dead)) rebuildCache(memory, dead);
      else if (lock.take()) reclaimFrom(memory, dead);
      else {
        // Perhaps another one that has died holds it, and its turn comes next.
        await Bun.sleep(RETRY_MS);
        continue;
      }
      lock.give();
      return;
    }
  }

  metrics(): readonly Metric[] {
    return cacheMetrics(this);
  }

  startFields(): SharedCache {
    return { cache: this.buffers };
  }

  /** Stored responses. */
  get entries(): number {
    return this.memory === null ? 0 : this.memory.words[MemoryHead.Entries]!;
  }

  /** Memory in use by stored responses and those on their way. */
  get bytes(): number {
    if (this.memory === null) return 0;
    const { words, blockBytes } = this.memory;
    return (words[MemoryHead.BlocksUsed]! - words[MemoryHead.FreeBlocks]!) * blockBytes;
  }

  /** Responses that had to make way for others so far. */
  get evictions(): number {
    return this.memory === null ? 0 : this.memory.words[MemoryHead.Evictions]!;
  }
}

/** Which entries on disk may be used. */
function diskKind({ cookies }: MemoryConfig): string {
  return `${LAYOUT} ${cookies}`;
}

function kindOf(config: MemoryConfig): string {
  return config.enabled ? `${config.maxEntries} ${config.maxBytes} ${config.cookies} ${config.eviction}` : "";
}
