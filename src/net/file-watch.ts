import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

/** Milliseconds of quiet after which changes are told: files that belong together are replaced one after the other. */
const QUIET_MS = 300;
/** Milliseconds after which they are told although there is no quiet. */
const LONGEST_MS = 3000;
/** How often the files are looked at in any case: not every file system tells of changes. */
const POLL_MS = 30_000;

/**
 * Tells when files may have changed. It is their folders that are watched, since a file that is replaced by renaming another
 * takes a watch of its own with it, and so that links which are set anew are seen.
 */
export class FileWatch {
  private readonly onChange: () => void;
  private watchers: Map<string, FSWatcher> = new Map();
  private poll: Timer | null = null;
  private quiet: Timer | null = null;
  private firstMs = 0;

  /** @param onChange may be called when nothing has changed as well */
  constructor(onChange: () => void) {
    this.onChange = onChange;
  }

  /** Watches these files in place of those so far. */
  use(files: readonly string[]): void {
    const folders = new Set(files.filter((file) => file !== "").map((file) => dirname(file)));
    for (const [folder, watcher] of this.watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.watchers.delete(folder);
    }
    for (const folder of folders) this.watchFolder(folder);
    if (this.poll !== null) clearInterval(this.poll);
    this.poll = folders.size === 0 ? null : setInterval(() => this.look(folders), POLL_MS);
  }

  stop(): void {
    this.use([]);
    if (this.quiet !== null) clearTimeout(this.quiet);
    this.quiet = null;
  }

  /** A folder that has been replaced, or was not there before, is watched from now on. */
  private look(folders: ReadonlySet<string>): void {
    for (const folder of folders) {
      this.watchers.get(folder)?.close();
      this.watchers.delete(folder);
      this.watchFolder(folder);
    }
    this.onChange();
  }

  private watchFolder(folder: string): void {
    if (this.watchers.has(folder)) return;
    try {
      const watcher = watch(folder, () => this.touched());
      watcher.on("error", () => {
        watcher.close();
        this.watchers.delete(folder);
      });
      this.watchers.set(folder, watcher);
    } catch {
      // The folder is not there now, or the system watches no more: looking at it from time to time goes on.
    }
  }

  private touched(): void {
    const nowMs = performance.now();
    if (this.quiet === null) this.firstMs = nowMs;
    else if (nowMs - this.firstMs > LONGEST_MS) return;
    else clearTimeout(this.quiet);
    this.quiet = setTimeout(() => {
      this.quiet = null;
      this.onChange();
    }, QUIET_MS);
  }
}
