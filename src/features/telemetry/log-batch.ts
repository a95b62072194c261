/** Where lines go: to a worker's batch, or to the control thread's writer. */
export interface LineSink {
  /** Takes a whole line with its line break. */
  add(line: string): void;
  /** So many lines were left out for their bound: they count as dropped. */
  leftOut(lines: number): void;
}

/** Where a worker's log lines go: to the control thread. Never blocks. */
interface LogPorts {
  /** Takes whole lines, each with its line break. */
  write(batch: string): void;
}

/** The counts of a worker's log. */
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
  private readonly port: LogPorts;
  private readonly counters: LogCounters;
  private pending = "";
  private pendingLines = 0;

  constructor(port: LogPorts, counters: LogCounters) {
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

/** Writes times as `2026-01-31T12:00:00.123Z`, the part before the milliseconds once a second. */
export class IsoTime {
  private second = Number.NaN;
  private prefix = "";

  /** @param ms milliseconds since the epoch */
  text(ms: number): string {
    const whole = Math.floor(ms);
    const second = Math.floor(whole / 1000);
    if (second !== this.second) {
      this.second = second;
      this.prefix = new Date(second * 1000).toISOString().slice(0, 20);
    }
    const rest = whole - second * 1000;
    return `${this.prefix}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}Z`;
  }
}

/**
 * Writes text as a JSON string of bounded length for a log line. Besides what JSON demands, DEL and the C1 controls
 * (0x7f to 0x9f) are escaped: a log is read on terminals, which take them for commands.
 * @param text one character a byte, or any text
 * @param limit characters that are kept; what is cut shows as `…`
 */
export function jsonText(text: string, limit: number): string {
  const kept = text.length > limit ? `${text.slice(0, limit)}…` : text;
  if (!NEEDS_ESCAPE.test(kept)) return `"${kept}"`;
  return JSON.stringify(kept).replace(CONTROLS_JSON_KEEPS, escapeControl);
}

/** An object as JSON, with the same characters escaped. What it holds is bounded by who made it. */
export function jsonLine(value: object): string {
  return JSON.stringify(value).replace(CONTROLS_JSON_KEEPS, escapeControl);
}

/** The same, with `null` for the empty text: what is not known. */
export function jsonTextOrNull(text: string, limit: number): string {
  return text === "" ? "null" : jsonText(text, limit);
}

function escapeControl(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`;
}

/** Everything but printable ASCII without `"` and `\`, Latin-1 from 0xa0 on, and the mark of a cut. */
const NEEDS_ESCAPE = /[^\x20\x21\x23-\x5b\x5d-\x7e\xa0-\xff…]/;
const CONTROLS_JSON_KEEPS = /[\x7f-\x9f]/g;
