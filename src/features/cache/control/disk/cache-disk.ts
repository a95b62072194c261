import { readClock } from "../../../../core/shared-clock.ts";
import { NO_DESCRIPTORS, startThread } from "../../../../net/threads.ts";
import type { DiskPurge } from "../../purge-rule.ts";
import type { CacheBuffers } from "../../store/cache-memory.ts";
import { DiskIndex } from "../../store/disk-index.ts";
import { createDiskIndex } from "../../store/disk-layout.ts";
import type { FromDisk, ToDisk } from "./disk-thread.ts";
import type { DiskSettings } from "./disk-writer.ts";

/** Milliseconds that a start waits at most for what the disk's cache has. */
const DISK_START_MS = 2000;

/** What the disk of the cache tells the log. */
export interface DiskReports {
  opened(fields: { readonly path: string; readonly entries: number; readonly bytes: number }): void;
  failed(fields: { readonly path: string; readonly reason: string }): void;
  exception(error: string): void;
}

/** The control thread's hand on `cache.disk`: it makes the index and starts the thread that has the files. docs/cache.md#on-disk */
export class CacheDisk {
  /** For all threads; see DiskIndex. */
  readonly buffer: SharedArrayBuffer;
  readonly index: DiskIndex;
  private readonly settings: DiskSettings;
  private readonly reports: DiskReports;
  private readonly number: number;
  private thread: globalThis.Worker | null = null;
  private readonly waiting: Map<number, (count: number) => void> = new Map();
  private readonly begun: PromiseWithResolvers<void> = Promise.withResolvers();
  private lastId = 0;

  /** @param threads of the cache: this one is the last but one of them, that of the disk the last */
  constructor(settings: DiskSettings, threads: number, reports: DiskReports) {
    this.settings = settings;
    this.reports = reports;
    this.number = threads - 1;
    this.buffer = createDiskIndex(settings, threads);
    this.index = new DiskIndex(this.buffer, threads - 2);
  }

  /** Whether the thread is there. */
  get isRunning(): boolean {
    return this.thread !== null;
  }

  /**
   * Starts the thread.
   * @returns when what was left on disk can be found, or that takes longer than DISK_START_MS
   */
  start(memory: CacheBuffers): Promise<void> {
    const thread = startThread(DISK_ENTRY);
    if (thread === null) {
      this.index.close();
      this.reports.failed({ path: this.settings.path, reason: NO_DESCRIPTORS });
      return Promise.resolve();
    }
    this.thread = thread;
    thread.onmessage = ({ data }: { data: FromDisk }) => this.onMessage(data);
    thread.addEventListener("close", () => this.onEnd());
    const { settings, number } = this;
    this.post({ kind: "start", settings, index: this.buffer, memory, thread: number, clock: readClock() });
    return Promise.race([this.begun.promise, Bun.sleep(DISK_START_MS)]);
  }

  /** The memory whose entries go to disk from now on. */
  useMemory(memory: CacheBuffers): void {
    this.post({ kind: "memory", memory });
  }

  /** Removes what is there: entries of another kind are stored from now on. */
  renew(entries: string): void {
    // At once: no worker may find any of it.
    this.index.close();
    this.post({ kind: "renew", entries });
  }

  /** Takes out what is on disk, or makes it stale. @returns how many entries, when the files say so too */
  purge(purge: DiskPurge): Promise<number> {
    return this.ask((id) => ({ kind: "purge", id, purge }));
  }

  /** Writes what waits, and lets another process have the folder. */
  async release(): Promise<void> {
    await Promise.race([this.ask((id) => ({ kind: "release", id })), Bun.sleep(DISK_START_MS)]);
  }

  /** No other process wants it. */
  resume(): void {
    this.post({ kind: "resume" });
  }

  /** The same as `release`, at the end of the process. */
  async stop(): Promise<void> {
    await this.release();
    const { thread } = this;
    this.thread = null;
    thread?.terminate();
  }

  private ask(question: (id: number) => ToDisk): Promise<number> {
    if (this.thread === null) return Promise.resolve(0);
    const id = ++this.lastId;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.post(question(id));
    });
  }

  private post(message: ToDisk): void {
    this.thread?.postMessage(message);
  }

  private onMessage(message: FromDisk): void {
    const { path } = this.settings;
    if (message.kind === "done") {
      this.waiting.get(message.id)?.(message.count);
      this.waiting.delete(message.id);
      return;
    }
    this.begun.resolve();
    if (message.kind === "opened") this.reports.opened({ path, entries: message.entries, bytes: message.bytes });
    else if (message.kind === "failed") this.reports.failed({ path, reason: message.reason });
    else this.reports.exception(message.message);
  }

  /** The thread has ended by itself: the gateway goes on from memory. */
  private onEnd(): void {
    if (this.thread === null) return;
    this.thread = null;
    this.index.close();
    this.index.threadDied(this.number);
    for (const resolve of this.waiting.values()) resolve(0);
    this.waiting.clear();
    this.begun.resolve();
    this.reports.failed({ path: this.settings.path, reason: "its thread has ended" });
  }
}

/** The path is resolved against the entry point, in the source tree as in the compiled binary. */
const DISK_ENTRY = "./disk-worker.ts";
