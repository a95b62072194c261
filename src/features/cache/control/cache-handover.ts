import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HEADER_NAMES } from "../../../message/header-block.ts";
import { dumpEntries, loadEntries } from "../store/cache-dump.ts";
import { MemoryHead } from "../store/cache-memory.ts";
import type { CacheStore } from "../store/cache-store.ts";

/** How often two processes look whether what one has handed to the other still holds. */
const CACHE_HANDOVER_MS = 20;

/**
 * The stored data goes from one process to its successor through a file without a name, which both have open and no one else can
 * read. Before the entries it has a line that says of what kind they are, and before that a number that grows when a response is
 * taken out after the dump: the successor then forgets what it was handed. docs/operations.md#replacing-the-binary
 */
export class CacheHandover {
  private fd = -1;
  private timer: Timer | null = null;

  /** The file with the stored data, for a successor; -1 if there is none. */
  get file(): number {
    return this.fd;
  }

  /**
   * Writes the stored data, a piece at a time. If there is no room for it the successor begins with an empty cache.
   * @param kind tells whether a successor may use it
   */
  async dump(store: CacheStore, kind: string): Promise<void> {
    this.close();
    const { words } = store.memory;
    let known = words[MemoryHead.Invalidations]!;
    const fd = openUnnamed();
    if (fd < 0) return;
    try {
      const head = { kind, layout: LAYOUT, wallMs: Date.now() };
      writeAll(fd, Buffer.from(`\0\0\0\0${JSON.stringify(head)}\n`, "latin1"));
      let pending = 0;
      const write = (bytes: Buffer): void => {
        writeAll(fd, bytes);
        pending += bytes.length;
      };
      for (const _ of dumpEntries(store, performance.now(), write)) {
        if (pending < STEP_BYTES) continue;
        pending = 0;
        await Bun.sleep(0);
      }
      this.fd = fd;
    } catch {
      // No room: nothing is handed over.
      closeSync(fd);
      return;
    }
    this.timer = setInterval(() => {
      if (words[MemoryHead.Invalidations] === known) return;
      known = words[MemoryHead.Invalidations]!;
      writeSync(fd, Buffer.of(1), 0, 1, 0);
    }, CACHE_HANDOVER_MS);
    this.timer.unref();
  }

  /** The successor has its own descriptor, or there is none. */
  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    if (this.fd >= 0) closeSync(this.fd);
    this.fd = -1;
  }
}

/**
 * Takes up what a predecessor has stored, and forgets it when that takes something out before it is gone.
 * @param fd the file of its CacheHandover
 * @param predecessor its process id
 */
export function takeOverCache(store: CacheStore, kind: string, fd: number, predecessor: number): void {
  const reader = new FileReader(fd);
  const head = parseHead(reader.line());
  if (head === null || head.kind !== kind || head.layout !== LAYOUT) {
    closeSync(fd);
    return;
  }
  const elapsedMs = Math.max(0, Date.now() - head.wallMs);
  loadEntries(store, performance.now() - elapsedMs, (length) => reader.take(length));
  const timer = setInterval(() => {
    // In this order: what it has written before it ended is seen.
    const isGone = !isAlive(predecessor);
    if (isOutdated(fd)) store.purge({ matches: () => true, tags: null, staleSinceMs: -1 });
    else if (!isGone) return;
    clearInterval(timer);
    closeSync(fd);
  }, CACHE_HANDOVER_MS);
  timer.unref();
}

function isOutdated(fd: number): boolean {
  const flag = Buffer.alloc(1);
  return readSync(fd, flag, 0, 1, 0) === 1 && flag[0] !== 0;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A file that is gone from its folder as soon as it is open. @returns -1 if there can be none */
function openUnnamed(): number {
  const name = join(tmpdir(), `edge-cache-${process.pid}-${crypto.randomUUID()}`);
  try {
    const fd = openSync(name, "wx+", 0o600);
    unlinkSync(name);
    return fd;
  } catch {
    return -1;
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function parseHead(line: string): { kind: string; layout: string; wallMs: number } | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** Reads a file from its beginning, in pieces. */
class FileReader {
  private readonly fd: number;
  private at = FLAG_BYTES;

  constructor(fd: number) {
    this.fd = fd;
  }

  /** The first line, up to 4 KiB. */
  line(): string {
    const bytes = Buffer.alloc(4096);
    const length = readSync(this.fd, bytes, 0, bytes.length, this.at);
    const end = bytes.subarray(0, length).indexOf(0x0a);
    this.at += end + 1;
    return bytes.toString("latin1", 0, Math.max(0, end));
  }

  take(length: number): Buffer | null {
    const bytes = Buffer.allocUnsafe(length);
    let done = 0;
    while (done < length) {
      const taken = readSync(this.fd, bytes, done, length - done, this.at + done);
      if (taken <= 0) return null;
      done += taken;
    }
    this.at += length;
    return bytes;
  }
}

/** Stored heads hold the numbers of their fields: another binary may have others. */
export const LAYOUT: string = Bun.hash(HEADER_NAMES.join()).toString(16);
const FLAG_BYTES = 4;
const STEP_BYTES = 1 << 22;
