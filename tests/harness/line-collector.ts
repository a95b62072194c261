import { PATIENCE_MS } from "./byte-socket.ts";
import { Waiters } from "./waiters.ts";

/** One line of JSON, as the gateway's log has it. */
export type LogLine = Record<string, unknown>;

/** The lines that a process has written so far, JSON objects apart from anything else. */
export abstract class LogLines {
  private readonly all: string[] = [];
  private readonly objects: LogLine[] = [];
  private readonly others: string[] = [];
  private rest = "";

  get lines(): readonly string[] {
    this.read();
    return this.all;
  }

  get json(): readonly LogLine[] {
    this.read();
    return this.objects;
  }

  /** Lines that are not a JSON object. */
  get stray(): readonly string[] {
    this.read();
    return this.others;
  }

  /** Waits until a JSON line is there for which `matches` holds. */
  async until(what: string, matches: (line: LogLine) => boolean, patienceMs = PATIENCE_MS): Promise<LogLine> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const found = this.json.find(matches);
      if (found !== undefined) return found;
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`no log line: ${what}; ${this.tail()}`);
      await this.nextText(left);
    }
  }

  /** The last lines, for messages. */
  tail(count = 12): string {
    return this.lines.slice(-count).join("\n").slice(-2000);
  }

  /** Takes what has been written and was not seen yet. */
  protected abstract read(): void;

  /** Resolves when there may be more. */
  protected abstract nextText(patienceMs: number): Promise<void>;

  protected takeText(text: string): void {
    const parts = (this.rest + text).split("\n");
    this.rest = parts.pop() ?? "";
    for (const line of parts) this.take(line);
  }

  /** What comes last may lack its line feed. */
  protected takeRest(): void {
    if (this.rest !== "") this.take(this.rest);
    this.rest = "";
  }

  private take(line: string): void {
    this.all.push(line);
    const value = parseObject(line);
    if (value === null) this.others.push(line);
    else this.objects.push(value);
  }
}

/** Follows a stream of lines. */
export class LineCollector extends LogLines {
  private readonly waiters = new Waiters();

  /** Reads the stream to its end. */
  async follow(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      this.takeText(decoder.decode(chunk, { stream: true }));
      this.waiters.wake();
    }
    this.takeRest();
    this.waiters.wake();
  }

  protected override read(): void {}

  protected override nextText(patienceMs: number): Promise<void> {
    return this.waiters.wait(patienceMs);
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
