import type { LineSink } from "./events.ts";

/** Where a worker's log lines go: to the control thread. Never blocks. */
export interface LogPort {
  /** Takes whole lines, each with its line break. */
  write(batch: string): void;
}

/** What is counted of a worker's log. */
export interface LogCounters {
  logDropped(lines: number): void;
  logSent(chars: number): void;
  logBacklogChars(): number;
}

/**
 * Gathers a worker's log lines, so that the control thread is notified of them some ten times a second and not for each. When
 * the control thread does not keep up, lines are dropped and counted: a log never stops traffic.
 */
export class LogBatch implements LineSink {
  private readonly port: LogPort;
  private readonly counters: LogCounters;
  private pending = "";
  private pendingLines = 0;

  constructor(port: LogPort, counters: LogCounters) {
    this.port = port;
    this.counters = counters;
  }

  /** Adds a line, which ends in a line break. */
  add(line: string): void {
    this.pending += line;
    this.pendingLines++;
    if (this.pending.length >= FLUSH_CHARS) this.flush();
  }

  leftOut(lines: number): void {
    this.counters.logDropped(lines);
  }

  /** Sends what there is; to be called every 100 ms or so, and before the worker ends. */
  flush(): void {
    if (this.pendingLines === 0) return;
    const batch = this.pending;
    const lines = this.pendingLines;
    this.pending = "";
    this.pendingLines = 0;
    if (this.counters.logBacklogChars() > MAX_BACKLOG_CHARS) {
      this.counters.logDropped(lines);
      return;
    }
    this.counters.logSent(batch.length);
    this.port.write(batch);
  }
}

const FLUSH_CHARS = 32 * 1024;
/** What may wait in the messages between the threads: more means that the control thread is stalled. */
const MAX_BACKLOG_CHARS = 8 * 1024 * 1024;
