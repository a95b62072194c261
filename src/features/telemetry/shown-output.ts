import type { LogOutput } from "./log-writer.ts";

/** Writes the lines of the log as people read them, each of JSON as one line of text; as they are while nothing shows them. */
export class ShownOutput implements LogOutput {
  /** Gives the text for a line, with its line break; null for lines as they are. */
  show: ((line: string) => string) | null = null;
  private readonly output: LogOutput;

  constructor(output: LogOutput) {
    this.output = output;
  }

  write(bytes: Uint8Array, done: (written: number) => void): void {
    const { show } = this;
    if (show === null) return this.output.write(bytes, done);
    const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8").split("\n");
    // After the last line break there is nothing.
    const shown = Buffer.from(lines.slice(0, -1).map(show).join(""), "utf8");
    this.output.write(shown, (written) => done(written === shown.length ? bytes.length : 0));
  }
}
