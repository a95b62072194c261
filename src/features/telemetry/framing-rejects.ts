import { type Fault, faultRow, isTlsFault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { RequestNamer } from "../../message/ports.ts";
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
  private readonly names: RequestNamer;

  /** @param clock milliseconds since the epoch */
  constructor(counters: WorkerCounters, log: LogBatch, clock: { readonly nowMs: number }, names: RequestNamer) {
    this.names = names;
    this.counters = counters;
    this.lines = new BoundedLines(MAX_LINES_A_SECOND, log, clock, (lines) => counters.logDropped(lines));
  }

  /**
   * To be called once a refusal: by the counters for an exchange that ended with a fault of framing, and by an engine
   * for a connection that it refuses without an exchange.
   * @param clientIp address of the TCP peer
   * @param ex null where there is no request
   */
  refused(fault: Fault, clientIp: string, ex: Exchange | null = null): void {
    this.counters.refused(fault);
    if (!this.lines.takes()) return;
    const row = faultRow(fault);
    const fields = { client_ip: clientIp, reason: row.label, status: row.status };
    const event = isTlsFault(fault) ? "tls_reject" : "framing_reject";
    this.lines.write(event, ex === null ? fields : { request_id: this.names.idOf(ex), ...fields });
  }
}

/** Lines a second and worker. */
const MAX_LINES_A_SECOND = 100;
