import { eventLine } from "./event-log.ts";
import type { TELEMETRY_EVENTS } from "./events.ts";
import type { LineSink } from "./log-batch.ts";

/** Takes bytes without ever blocking the caller. */
export interface LogOutput {
  /**
   * Writes all bytes and calls `done` once, later: with how many of them were written, which is fewer after an error.
   * The bytes stay unchanged until then. There is one call at a time.
   */
  write(bytes: Uint8Array, done: (written: number) => void): void;
}

/** Lines go to a sink, and to one more reader. */
export function teed(sink: LineSink, reader: (line: string) => void): LineSink {
  return {
    add(line) {
      sink.add(line);
      reader(line);
    },
    leftOut: (lines) => sink.leftOut(lines),
  };
}

/**
 * The control thread's end of the log. Batches wait in a bounded queue while the reader of the log takes its time; when
 * it stalls, new lines are dropped and counted, and the first line after that says how many.
 */
export class LogWriter implements LineSink {
  /** Lines that were dropped here since the start. */
  droppedLines = 0;
  private readonly output: LogOutput;
  private readonly nowMs: () => number;
  private readonly maxQueuedChars: number;
  private queue: string[] = [];
  private queuedChars = 0;
  private busy = false;
  /** The rest of a line that an error has cut: it is written before all others, so that the line is whole after all. */
  private rest: Uint8Array = NOTHING;
  /** Whether the last write succeeded: a report of lost lines to an output that fails would only be lost too. */
  private healthy = true;
  private unreported = 0;
  private onIdle: (() => void)[] = [];

  /**
   * @param nowMs gives milliseconds since the epoch
   * @param maxQueuedChars what may wait before lines are dropped
   */
  constructor(output: LogOutput, nowMs: () => number, maxQueuedChars: number = DEFAULT_QUEUED_CHARS) {
    this.output = output;
    this.nowMs = nowMs;
    this.maxQueuedChars = maxQueuedChars;
  }

  /** Queues a line, or several. */
  add(batch: string): void {
    if (this.queuedChars + batch.length > this.maxQueuedChars) {
      this.drop(countLines(batch));
      return;
    }
    this.queue.push(batch);
    this.queuedChars += batch.length;
    this.pump();
  }

  leftOut(lines: number): void {
    this.droppedLines += lines;
  }

  /** Whether the last lines could not be written. */
  get isFailing(): boolean {
    return !this.healthy;
  }

  /** Resolves when all that was queued is out, or after `limitMs`: to be awaited before the process ends. */
  drain(limitMs: number): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.onIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private pump(): void {
    if (this.busy) return;
    if (this.unreported > 0 && this.healthy) this.reportDrops();
    const text = this.takeChunk();
    if (text === "") {
      for (const idle of this.onIdle.splice(0)) idle();
      return;
    }
    this.busy = true;
    const bytes = Buffer.concat([this.rest, Buffer.from(text, "utf8")]);
    this.output.write(bytes, (written) => {
      this.busy = false;
      this.settle(bytes, written);
      this.pump();
    });
  }

  private settle(bytes: Uint8Array, written: number): void {
    const isCut = written === 0 ? this.rest.length > 0 : bytes[written - 1] !== LINE_BREAK;
    const lineEnd = isCut ? bytes.indexOf(LINE_BREAK, written) + 1 : written;
    this.rest = bytes.slice(written, lineEnd);
    this.healthy = written === bytes.length;
    if (this.healthy) return;
    let lines = 0;
    for (let i = lineEnd; i < bytes.length; i++) if (bytes[i] === LINE_BREAK) lines++;
    this.drop(lines);
  }

  /** The batches that go out in one write, as one text. */
  private takeChunk(): string {
    let count = 0;
    let chars = 0;
    while (count < this.queue.length && chars < CHUNK_CHARS) chars += this.queue[count++]!.length;
    this.queuedChars -= chars;
    return this.queue.splice(0, count).join("");
  }

  private drop(lines: number): void {
    this.droppedLines += lines;
    this.unreported += lines;
  }

  private reportDrops(): void {
    const line = eventLine<typeof TELEMETRY_EVENTS>(this.nowMs(), "log_dropped", { lines: this.unreported });
    this.unreported = 0;
    this.queue.unshift(line);
    this.queuedChars += line.length;
  }
}

function countLines(batch: string): number {
  let lines = 0;
  for (let at = batch.indexOf("\n"); at >= 0; at = batch.indexOf("\n", at + 1)) lines++;
  return lines;
}

const DEFAULT_QUEUED_CHARS = 8 * 1024 * 1024;
const CHUNK_CHARS = 256 * 1024;
const LINE_BREAK = 0x0a;
const NOTHING: Uint8Array = new Uint8Array(0);
