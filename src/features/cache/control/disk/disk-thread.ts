import { stackOf } from "../../../../core/error-text.ts";
import { type ClockReading, SharedClock } from "../../../../core/shared-clock.ts";
import type { DiskPurge } from "../../purge-rule.ts";
import type { CacheBuffers } from "../../store/cache-memory.ts";
import { CacheStore } from "../../store/cache-store.ts";
import { DiskIndex } from "../../store/disk-index.ts";
import { type DiskSettings, DiskWriter } from "./disk-writer.ts";

/** What the control thread tells the thread of the disk. Those with an `id` are answered with `done`. */
export type ToDisk =
  | {
      readonly kind: "start";
      readonly settings: DiskSettings;
      readonly index: SharedArrayBuffer;
      readonly memory: CacheBuffers;
      /** Its number among the threads of the cache. */
      readonly thread: number;
      readonly clock: ClockReading;
    }
  | { readonly kind: "memory"; readonly memory: CacheBuffers }
  | { readonly kind: "purge"; readonly id: number; readonly purge: DiskPurge }
  /** Entries of another kind are stored from now on: what is there goes. */
  | { readonly kind: "renew"; readonly entries: string }
  | { readonly kind: "release"; readonly id: number }
  | { readonly kind: "resume" };

/** What the thread of the disk tells. */
export type FromDisk =
  | { readonly kind: "opened"; readonly entries: number; readonly bytes: number }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "done"; readonly id: number; readonly count: number }
  | { readonly kind: "exception"; readonly message: string };

/** The slice of a thread's global scope that is used here. */
interface Scope {
  postMessage(message: FromDisk): void;
  onmessage: ((event: { data: ToDisk }) => void) | null;
}

/** Runs the thread of `cache.disk`: the first message starts it. */
export function runDiskThread(): void {
  const scope = globalThis as unknown as Scope;
  let thread: DiskThread | null = null;
  scope.onmessage = ({ data }) => {
    try {
      if (thread !== null) thread.receive(data);
      else if (data.kind === "start") thread = new DiskThread(data, (message) => scope.postMessage(message));
    } catch (error) {
      scope.postMessage({ kind: "exception", message: stackOf(error) });
    }
  };
}

class DiskThread {
  private readonly writer: DiskWriter;
  private readonly index: DiskIndex;
  private readonly number: number;
  private readonly post: (message: FromDisk) => void;

  constructor(start: Extract<ToDisk, { kind: "start" }>, post: (message: FromDisk) => void) {
    this.post = post;
    this.number = start.thread;
    this.index = new DiskIndex(start.index, start.thread);
    const turn = {
      begin(): void {},
      get nowMs(): number {
        return performance.now();
      },
    };
    this.writer = new DiskWriter(start.settings, this.index, new SharedClock(turn, start.clock), {
      opened: (entries, bytes) => post({ kind: "opened", entries, bytes }),
      failed: (reason) => post({ kind: "failed", reason }),
    });
    this.useMemory(start.memory);
    this.writer.open();
    void this.run();
  }

  receive(message: ToDisk): void {
    const { writer } = this;
    if (message.kind === "memory") this.useMemory(message.memory);
    else if (message.kind === "renew") writer.renew(message.entries);
    else if (message.kind === "resume") writer.resume();
    else if (message.kind === "purge") {
      this.post({ kind: "done", id: message.id, count: writer.purge(message.purge) });
    } else if (message.kind === "release") {
      writer.release();
      this.post({ kind: "done", id: message.id, count: 0 });
    }
  }

  private useMemory(buffers: CacheBuffers): void {
    this.writer.useMemory(new CacheStore(buffers, this.number, this.index, LOCK_WAITS), buffers.version);
  }

  private async run(): Promise<void> {
    let lookedMs = performance.now();
    for (;;) {
      const seen = this.index.bell;
      try {
        if (this.writer.work()) await new Promise<void>((resolve) => setImmediate(resolve));
        else await this.index.waitForWork(seen, LOOK_MS);
        if (performance.now() - lookedMs >= LOOK_MS) {
          lookedMs = performance.now();
          this.writer.look();
        }
      } catch (error) {
        this.post({ kind: "exception", message: stackOf(error) });
        await Bun.sleep(LOOK_MS);
      }
    }
  }
}

/** Half a second: no client waits for this thread. */
const LOCK_WAITS = 5000;
/** How often edge checks the folder. */
const LOOK_MS = 1000;
