import { type Fault, faultRow, isTlsFault } from "../../core/fault.ts";
import type { WorkerCounters } from "../../shared/counter-table.ts";
import { BoundedLines } from "./bounded-lines.ts";
import type { LogBatch } from "./log-batch.ts";

/**
 * Counts every refusal of a request's framing and logs it as `framing_reject`, those of TLS handshakes as `tls_reject`, with
 * a bound on the lines.
 */
export class FramingRejects {
  private readonly counters: WorkerCounters;
  private readonly lines: BoundedLines;

  /** @param clock milliseconds since the epoch */
  constructor(counters: WorkerCounters, log: LogBatch, clock: { readonly nowMs: number }) {
    this.counters = counters;
    this.lines = new BoundedLines(MAX_LINES_A_SECOND, log, clock, (lines) => counters.logDropped(lines));
  }

  /**
   * To be called once a refusal: by the counters for an exchange that ended with a fault of framing, and by an engine
   * for a connection that it refuses without an exchange.
   * @param clientIp address of the TCP peer
   * @param requestId "" where there is no request yet
   */
  refused(fault: Fault, clientIp: string, requestId = ""): void {
    this.counters.refused(fault);
    if (!this.lines.takes()) return;
    const row = faultRow(fault);
    const named: Readonly<Record<string, string>> = requestId === "" ? {} : { request_id: requestId };
    const fields = { ...named, client_ip: clientIp, reason: row.label, status: row.status };
    this.lines.write(isTlsFault(fault) ? "tls_reject" : "framing_reject", fields);
  }
}

/** Lines a second and worker. */
const MAX_LINES_A_SECOND = 100;
