import { PATIENCE_MS } from "./byte-socket.ts";

/** One structured log line. */
export type LogLine = Record<string, unknown>;

/** Reads a process's output line by line, and keeps JSON objects apart from anything else. */
export class LineCollector {
  readonly lines: string[] = [];
  readonly json: LogLine[] = [];
  /** Lines that are not a JSON object. */
  readonly stray: string[] = [];
  /** Resolves when the output has ended. */
  readonly finished: Promise<void>;
  private resolveFinished: () => void = () => {};
  private readonly waiters = new Set<() => void>();

  constructor() {
    this.finished = new Promise((resolve) => {
      this.resolveFinished = resolve;
    });
  }

  /** Reads the stream to its end. */
  async follow(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const line of parts) this.take(line);
      for (const waiter of [...this.waiters]) waiter();
    }
    if (rest !== "") this.take(rest);
    for (const waiter of [...this.waiters]) waiter();
    this.resolveFinished();
  }

  /** Waits until a JSON line is there for which `matches` holds. */
  async until(what: string, matches: (line: LogLine) => boolean, patienceMs = PATIENCE_MS): Promise<LogLine> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const found = this.json.find(matches);
      if (found !== undefined) return found;
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`no log line: ${what}; ${this.tail()}`);
      await this.nextChunk(left);
    }
  }

  /** The last lines, for messages. */
  tail(count = 12): string {
    return this.lines.slice(-count).join("\n").slice(-2000);
  }

  private take(line: string): void {
    this.lines.push(line);
    const value = parseObject(line);
    if (value === null) this.stray.push(line);
    else this.json.push(value);
  }

  private nextChunk(patienceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, patienceMs);
      this.waiters.add(done);
    });
  }
}

function parseObject(line: string): LogLine | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as LogLine) : null;
  } catch {
    return null;
  }
}
