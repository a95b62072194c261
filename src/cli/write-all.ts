import { writeSync } from "node:fs";

/**
 * Writes text to a file descriptor and comes back when all of it is with the kernel, so that a long output is not cut at
 * the size of a pipe when the process leaves. A reader that has gone, or a full disk, ends it.
 * @returns the system's code for why not all was written; "" if all was, or where the pipe has no reader
 */
export function writeAll(fd: number, text: string): string {
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const { code = "EIO" } = error as { code?: string };
      if (code !== "EAGAIN") return NOBODY_READS.has(code) ? "" : code;
      Bun.sleepSync(RETRY_MS);
    }
  }
  return "";
}

/** A pipe whose reader has seen enough (`| head`), and an output that was closed before the start. */
const NOBODY_READS: ReadonlySet<string> = new Set(["EPIPE", "EBADF"]);

/** A pipe that another process has made non-blocking is full. */
const RETRY_MS = 5;
