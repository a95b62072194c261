import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Milliseconds of quiet after which changes are told: files that belong together are replaced one after the other. */
const QUIET_MS = 300;
/** Milliseconds after which they are told although there is no quiet. */
const LONGEST_MS = 3000;
/** How often edge checks the files in any case: not every file system reports changes. */
const POLL_MS = 30_000;
/** How often the folders are: one that is deleted and made anew is another, of which no watch tells. */
const FOLDERS_MS = 500;

/** A folder that is watched, as it was found. */
interface Watched {
  readonly watcher: FSWatcher;
  readonly id: string;
}

/**
 * Tells when files may have changed. It is their folders that are watched, since a file that is replaced by renaming another
 * takes a watch of its own with it, and so that links which are set anew are seen.
 */
export class FileWatch {
  private readonly onChange: () => void;
  private readonly quietMs: number;
  private readonly longestMs: number;
  private readonly watched: Map<string, Watched> = new Map();
  private poll: Timer | null = null;
  private folders: Timer | null = null;
  private quiet: Timer | null = null;
  private firstMs = 0;

  /**
   * @param onChange may be called when nothing has changed as well
   * @param quietMs milliseconds of quiet before `onChange`
   * @param longestMs milliseconds after which it comes without quiet
   */
  constructor(onChange: () => void, quietMs = QUIET_MS, longestMs = LONGEST_MS) {
    this.onChange = onChange;
    this.quietMs = quietMs;
    this.longestMs = longestMs;
  }

  /** Watches these files in place of those so far. */
  use(files: readonly string[]): void {
    const folders = new Set(files.filter((file) => file !== "").map((file) => dirname(file)));
    for (const folder of this.watched.keys()) if (!folders.has(folder)) this.leave(folder);
    for (const folder of folders) this.watchFolder(folder);
    if (this.poll !== null) clearInterval(this.poll);
    if (this.folders !== null) clearInterval(this.folders);
    this.poll = folders.size === 0 ? null : setInterval(() => this.onChange(), POLL_MS);
    this.folders = folders.size === 0 ? null : setInterval(() => this.look(folders), FOLDERS_MS);
  }

  stop(): void {
    this.use([]);
    if (this.quiet !== null) clearTimeout(this.quiet);
    this.quiet = null;
  }

  /** A folder that has been replaced, or was not there before, is watched from now on. */
  private look(folders: ReadonlySet<string>): void {
    for (const folder of folders) {
      const before = this.watched.get(folder);
      if (before?.id === idOf(folder)) continue;
      this.leave(folder);
      if (this.watchFolder(folder) || before !== undefined) this.touched();
    }
  }

  private leave(folder: string): void {
    this.watched.get(folder)?.watcher.close();
    this.watched.delete(folder);
  }

  /** @returns whether it is watched now and was not before */
  private watchFolder(folder: string): boolean {
    const id = idOf(folder);
    if (id === "" || this.watched.has(folder)) return false;
    try {
      const watcher = watch(folder, () => this.touched());
      watcher.on("error", () => this.leave(folder));
      this.watched.set(folder, { watcher, id });
      return true;
    } catch {
      // The system watches no more: looking at the files from time to time goes on.
      return false;
    }
  }

  private touched(): void {
    const nowMs = performance.now();
    if (this.quiet === null) this.firstMs = nowMs;
    else if (nowMs - this.firstMs > this.longestMs) return;
    else clearTimeout(this.quiet);
    this.quiet = setTimeout(() => {
      this.quiet = null;
      this.onChange();
    }, this.quietMs);
  }
}

/** What tells a folder from another at the same path; "" if there is none. */
function idOf(folder: string): string {
  try {
    const { dev, ino, birthtimeNs } = statSync(folder, { bigint: true });
    return `${dev} ${ino} ${birthtimeNs}`;
  } catch {
    return "";
  }
}
