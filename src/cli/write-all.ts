import { writeSync } from "node:fs";

/**
 * Writes text to a file descriptor and comes back when all of it is with the kernel, so that a long output is not cut at
 * the size of a pipe when the process leaves. A reader that has gone, or a full disk, ends it.
 */
export function writeAll(fd: number, text: string): void {
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as { code?: string }).code !== "EAGAIN") return;
      Bun.sleepSync(RETRY_MS);
    }
  }
}

/** A pipe that somebody has made non-blocking is full. */
const RETRY_MS = 5;
