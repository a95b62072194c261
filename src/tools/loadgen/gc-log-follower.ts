import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type GcCycle, GcLogParser } from "./gc-log-parser.ts";
import { type GcTelemetry, gcTelemetry, type TimedCycle } from "./gc-telemetry.ts";

/**
 * Follows a collector's log while it grows, since its lines carry no time: a collection happened when its line appeared.
 * A log that does not grow during a run was recorded before: then all of it counts, spread evenly over the run.
 */
export class GcLogFollower {
  private readonly file: number;
  private readonly buffer = Buffer.allocUnsafe(READ_BYTES);
  private readonly parser: GcLogParser;
  private readonly before: GcCycle[] = [];
  private liveBefore = new Map<string, number>();
  private seen: TimedCycle[] = [];
  private position = 0;
  private nowMs = -1;

  /** Opens the log and reads what it holds. Throws if it cannot be read or is no such log. */
  constructor(private readonly path: string) {
    this.file = openSync(path, "r");
    this.parser = new GcLogParser((cycle) => this.take(cycle));
    try {
      if (!fstatSync(this.file).isFile()) throw new Error("it is not a file");
      this.read();
      this.check();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Begins a run: what is in the log now happened before it. */
  begin(): void {
    this.nowMs = -1;
    this.read();
    for (const { heap, liveKb } of this.before) this.liveBefore.set(heap, liveKb);
    for (const { heap, liveKb } of this.seen) this.liveBefore.set(heap, liveKb);
    this.seen = [];
  }

  /** Takes what the log has gained. To be called several times a second, with the run's clock. */
  follow(nowMs: number): void {
    this.nowMs = Math.max(0, nowMs);
    this.read();
  }

  /** What the collector did in the run that ends now. Throws where the log has turned out to be none. */
  telemetry(durationMs: number): GcTelemetry {
    this.read();
    this.check();
    if (this.seen.length > 0 || this.before.length === 0) {
      return gcTelemetry(this.seen, this.liveBefore, durationMs, "observed");
    }
    const share = durationMs / this.before.length;
    const spread = this.before.map((cycle, index) => ({ ...cycle, atMs: (index + 0.5) * share }));
    return gcTelemetry(spread, new Map(), durationMs, "spread");
  }

  close(): void {
    closeSync(this.file);
  }

  private take(cycle: GcCycle): void {
    if (this.nowMs < 0) this.before.push(cycle);
    else this.seen.push({ ...cycle, atMs: this.nowMs });
  }

  private read(): void {
    // A log that was begun anew is read from its start.
    if (fstatSync(this.file).size < this.position) this.position = 0;
    for (;;) {
      const bytes = readSync(this.file, this.buffer, 0, READ_BYTES, this.position);
      if (bytes === 0) return;
      this.position += bytes;
      this.parser.feed(this.buffer.latin1Slice(0, bytes));
    }
  }

  private check(): void {
    if (this.parser.lines > 0 || this.parser.size < FEWEST_CHARS) return;
    throw new Error(`${this.path} holds no line of JavaScriptCore's garbage collector log (BUN_JSC_logGC=1)`);
  }
}

const READ_BYTES = 65536;
/** A log that has just been begun may hold a line that is not complete. */
const FEWEST_CHARS = 64;
