import { write } from "node:fs";
import type { LogOutput } from "./log-writer.ts";

/**
 * Writes to a file descriptor: file, pipe or terminal. `fs.write` with a callback runs on a pool thread, so a pipe that
 * has no reader holds up that one thread and nothing else, not even the end of the process (tried with Bun 1.4.4;
 * `Bun.file(1).writer()` throws EPIPE out of `write`, `process.stdout` queues without bound).
 */
export class FdOutput implements LogOutput {
  private readonly fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  write(bytes: Uint8Array, done: (written: number) => void): void {
    this.writeFrom(bytes, 0, done);
  }

  private writeFrom(bytes: Uint8Array, from: number, done: (written: number) => void): void {
    write(this.fd, bytes, from, bytes.length - from, null, (error, count) => {
      const to = from + (count ?? 0);
      if (to === bytes.length) done(to);
      else if (to > from) this.writeFrom(bytes, to, done);
      // EAGAIN: a pipe that another process made non-blocking and that is full.
      else if (error === null || error.code === "EAGAIN") setTimeout(() => this.writeFrom(bytes, from, done), RETRY_MS);
      else done(from);
    });
  }
}

const RETRY_MS = 20;
