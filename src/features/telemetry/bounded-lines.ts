import { type EventFields, eventLine } from "./event-line.ts";
import type { LogBatch } from "./log-batch.ts";

/**
 * The lines of one kind of refusal, with a bound on them: a flood is seen in the counters and must not drown the log. The
 * first line after a pause says how many were left out, as `not_logged`.
 */
export class BoundedLines {
  private readonly perSecond: number;
  private readonly log: LogBatch;
  private readonly clock: { readonly nowMs: number };
  private readonly onDropped: (lines: number) => void;
  private second = -1;
  private lines = 0;
  private unlogged = 0;

  /**
   * @param perSecond lines a second
   * @param clock milliseconds since the epoch
   * @param onDropped hears of each line that is left out
   */
  constructor(perSecond: number, log: LogBatch, clock: { readonly nowMs: number }, onDropped: (lines: number) => void) {
    this.perSecond = perSecond;
    this.log = log;
    this.clock = clock;
    this.onDropped = onDropped;
  }

  /** To be asked before each line is made. @returns whether it may be written; if not, it counts as left out */
  takes(): boolean {
    const second = Math.floor(this.clock.nowMs / 1000);
    if (second !== this.second) {
      this.second = second;
      this.lines = 0;
    }
    if (this.lines++ < this.perSecond) return true;
    this.unlogged++;
    this.onDropped(1);
    return false;
  }

  /** Writes a line that was taken. */
  write(event: string, fields: EventFields): void {
    const { unlogged } = this;
    this.unlogged = 0;
    this.log.add(eventLine(this.clock.nowMs, event, unlogged > 0 ? { ...fields, not_logged: unlogged } : fields));
  }
}
