import { closeSync, readSync } from "node:fs";
import { LogLines } from "./line-collector.ts";
import { openNameless } from "./run-process.ts";

/**
 * What a process writes to one of its outputs, in a file without a name that is read whenever somebody looks. A pipe would
 * have to be followed, and now and then the runtime misses the end of one while the machine stands still.
 */
export class LogFile extends LogLines {
  /** For the process to write to. */
  readonly fd: number = openNameless();
  private at = 0;
  private readonly decoder = new TextDecoder();
  private isClosed = false;

  /** Reads what is left and lets go of the file; the lines stay. */
  close(): void {
    if (this.isClosed) return;
    this.read();
    this.takeRest();
    this.isClosed = true;
    closeSync(this.fd);
  }

  protected override read(): void {
    if (this.isClosed) return;
    for (;;) {
      const count = readSync(this.fd, CHUNK, 0, CHUNK.byteLength, this.at);
      if (count === 0) return;
      this.at += count;
      this.takeText(this.decoder.decode(CHUNK.subarray(0, count), { stream: true }));
    }
  }

  protected override nextText(patienceMs: number): Promise<void> {
    return Bun.sleep(Math.min(LOOK_MS, patienceMs));
  }
}

const CHUNK = Buffer.alloc(65_536);
const LOOK_MS = 5;
