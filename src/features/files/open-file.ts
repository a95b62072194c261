import { closeSync } from "node:fs";
import type { FileIdentity } from "./file-identity.ts";

/** Files that a worker keeps open at most while no response is sent from them. */
const MAX_KEPT_FILES = 64;
/** Milliseconds that a file is kept open without being asked for: at least one of these, less than two. */
const KEPT_MS = 1000;

/** An open file that several responses are sent from at a time. It is closed when the last that holds it lets go. */
export class OpenFile {
  readonly fd: number;
  /** What was opened. */
  readonly identity: FileIdentity;
  /** Whether it was asked for since this was last said to be false. */
  isWanted = true;
  private holders = 1;

  /** Its maker holds it. */
  constructor(fd: number, identity: FileIdentity) {
    this.fd = fd;
    this.identity = identity;
  }

  /** One more holds it. */
  hold(): void {
    this.holders++;
    this.isWanted = true;
  }

  /** One holder less. */
  release(): void {
    if (--this.holders === 0) closeSync(this.fd);
  }
}

/**
 * Large files that were sent lately, kept open for the next request: to open one costs as much as to send 50 KB of it. A file without
 * requests is let go within two seconds, so that its space on the disk is free if it has been removed.
 */
export class OpenFiles {
  private readonly kept: Set<OpenFile> = new Set();
  private readonly later: (callback: () => void, ms: number) => unknown;

  /** @param later runs its callback once, in so many milliseconds; it does not keep the process alive */
  constructor(later: (callback: () => void, ms: number) => unknown = (run, ms) => setTimeout(run, ms).unref()) {
    this.later = later;
  }

  /** Keeps a file, if there is room. */
  keep(file: OpenFile): boolean {
    if (this.kept.size >= MAX_KEPT_FILES) return false;
    file.hold();
    if (this.kept.add(file).size === 1) this.later(this.sweep, KEPT_MS);
    return true;
  }

  /** Whether it is still kept, and so open. */
  has(file: OpenFile): boolean {
    return this.kept.has(file);
  }

  /** Keeps it no longer. */
  drop(file: OpenFile): void {
    if (this.kept.delete(file)) file.release();
  }

  private readonly sweep = (): void => {
    for (const file of this.kept) {
      if (file.isWanted) file.isWanted = false;
      else this.drop(file);
    }
    if (this.kept.size > 0) this.later(this.sweep, KEPT_MS);
  };
}
