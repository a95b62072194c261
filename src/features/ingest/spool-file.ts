import { accessSync, closeSync, constants, openSync, readSync, statfsSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

let count = 0;

/** Where such files are made. */
export function spoolFolder(): string {
  return tmpdir();
}

/** Whether there is a folder for such files that can be written to. */
export function canSpool(): boolean {
  try {
    accessSync(spoolFolder(), constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Bytes that the disk of such files has free for this user; where that cannot be told, no number limits it. */
export function freeSpoolBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(spoolFolder());
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** A temporary file without a name: no other process can open it, and it is gone with its descriptor. */
export class SpoolFile {
  private fd: number;
  /** Bytes written so far. */
  length = 0;

  /** @throws when there is no place for it */
  constructor(folder: string = spoolFolder()) {
    const path = join(
      folder,
      `edge-body-${process.pid}-${++count}-${Math.floor(Math.random() * 2 ** 48).toString(36)}`,
    );
    this.fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    unlinkSync(path);
  }

  /** Appends `bytes[0, length)`. @throws when the disk is full */
  append(bytes: Uint8Array, length: number): void {
    for (let at = 0; at < length; ) at += writeSync(this.fd, bytes, at, length - at, this.length + at);
    this.length += length;
  }

  /**
   * Reads from `position` on.
   * @returns bytes read; fewer than asked for only at the end
   * @throws when the disk fails
   */
  read(into: Uint8Array, position: number): number {
    let at = 0;
    while (at < into.length) {
      const count = readSync(this.fd, into, at, into.length - at, position + at);
      if (count === 0) break;
      at += count;
    }
    return at;
  }

  /** Lets the file go. */
  close(): void {
    if (this.fd < 0) return;
    closeSync(this.fd);
    this.fd = -1;
  }
}
