import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

/**
 * Keeps two processes on one `cache_dir` from ordering at the same time. A file that its holder touches now and then; one
 * that has not been touched for a while was left by a process that has ended, and is broken.
 */
export class StoreLock {
  private readonly file: string;
  private readonly holder: string = `${hostname()} ${process.pid} ${randomUUID()} ${startOf(process.pid)}`;
  private touching: ReturnType<typeof setInterval> | null = null;

  constructor(dir: string) {
    this.file = join(dir, "lock");
  }

  /** @returns false while another process holds it */
  take(): boolean {
    if (!this.create() && !(this.breakStale() && this.create())) return false;
    this.touching = setInterval(() => this.touch(), TOUCH_MS);
    return true;
  }

  release(): void {
    if (this.touching === null) return;
    clearInterval(this.touching);
    this.touching = null;
    if (this.content() === this.holder) rmSync(this.file, { force: true });
  }

  /** With its content from the first moment on: a link is made whole or not at all. */
  private create(): boolean {
    const own = `${this.file}.${process.pid}.tmp`;
    try {
      writeFileSync(own, this.holder, { mode: 0o600 });
      linkSync(own, this.file);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === "EEXIST") return false;
      throw error;
    } finally {
      rmSync(own, { force: true });
    }
  }

  private breakStale(): boolean {
    const before = this.content();
    if (before === null) return true;
    if (!this.isStale(before)) return false;
    const aside = `${this.file}.${process.pid}.stale`;
    try {
      renameSync(this.file, aside);
    } catch {
      return false;
    }
    const isWhatWasSeen = readOrNull(aside) === before;
    if (!isWhatWasSeen) {
      // Another process was faster, and this is the new holder's: back with it.
      try {
        linkSync(aside, this.file);
      } catch {
        // And a third one has it by now.
      }
    }
    rmSync(aside, { force: true });
    return isWhatWasSeen;
  }

  private isStale(content: string): boolean {
    try {
      if (Date.now() - statSync(this.file).mtimeMs > STALE_MS) return true;
    } catch {
      return false;
    }
    const [host, pid, , start = ""] = content.split(" ");
    if (host !== hostname()) return false;
    return !isAlive(Number(pid)) || (start !== "" && start !== startOf(Number(pid)));
  }

  private touch(): void {
    try {
      const now = new Date();
      if (this.content() === this.holder) utimesSync(this.file, now, now);
    } catch {
      // The next touch may work; a lock that is lost costs an order at most.
    }
  }

  private content(): string | null {
    return readOrNull(this.file);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== "ESRCH";
  }
}

/**
 * When a process was started, in ticks since the machine's start; "" if the system does not tell. Numbers of processes come again: in a container
 * the one that was killed and the next one are both number 1. proc_pid_stat(5)
 */
function startOf(pid: number): string {
  const stat = readOrNull(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[START_TICKS] ?? "";
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

/** Field of `/proc/PID/stat` after the name. */
const START_TICKS = 19;
const TOUCH_MS = 5000;
const STALE_MS = 30_000;
