import { type Fault, faultRow } from "../../core/fault.ts";
import type { WorkerCounters } from "../../shared/counter-table.ts";
import { eventLine } from "./event-line.ts";
import type { LogBatch } from "./log-batch.ts";

/**
 * Counts every refusal of a request's framing and logs it as `framing_reject`, with a bound on the lines: a flood of bad
 * requests is seen in the counters and must not drown the log.
 */
export class FramingRejects {
  private readonly counters: WorkerCounters;
  private readonly log: LogBatch;
  private readonly clock: { readonly nowMs: number };
  private windowSecond = -1;
  private linesInWindow = 0;
  private unlogged = 0;

  /** @param clock milliseconds since the epoch */
  constructor(counters: WorkerCounters, log: LogBatch, clock: { readonly nowMs: number }) {
    this.counters = counters;
    this.log = log;
    this.clock = clock;
  }

  /**
   * To be called once a refusal: by the counters for an exchange that ended with a fault of framing, and by an engine
   * for a connection that it refuses without an exchange.
   * @param clientIp address of the TCP peer
   */
  refused(fault: Fault, clientIp: string): void {
    this.counters.framingRejected(fault);
    if (!this.mayLog()) return;
    const row = faultRow(fault);
    const reason = { client_ip: clientIp, reason: row.label, status: row.status };
    const fields = this.unlogged > 0 ? { ...reason, not_logged: this.unlogged } : reason;
    this.unlogged = 0;
    this.log.add(eventLine(this.clock.nowMs, "framing_reject", fields));
  }

  private mayLog(): boolean {
    const second = Math.floor(this.clock.nowMs / 1000);
    if (second !== this.windowSecond) {
      this.windowSecond = second;
      this.linesInWindow = 0;
    }
    if (this.linesInWindow < MAX_LINES_A_SECOND) {
      this.linesInWindow++;
      return true;
    }
    this.unlogged++;
    this.counters.logDropped(1);
    return false;
  }
}

/** Lines a second and worker; the first line after a pause says how many were left out. */
const MAX_LINES_A_SECOND = 100;
