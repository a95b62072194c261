import { Fault, faultRow } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { RequestNamer } from "../../message/ports.ts";
import type { WorkerCounters } from "../../shared/counter-table.ts";
import { BoundedLines } from "./bounded-lines.ts";
import type { LogBatch } from "./log-batch.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/**
 * Counts every request that a limit ended (408, 413, 503) and logs it as `limit_reject` with the setting that did it, as
 * `key`, with a bound on the lines. docs/security.md#resources-of-one-client
 */
export class LimitRejects {
  private readonly counters: WorkerCounters;
  private readonly lines: BoundedLines;
  private readonly names: RequestNamer;

  /** @param clock milliseconds since the epoch */
  constructor(counters: WorkerCounters, log: LogBatch, clock: { readonly nowMs: number }, names: RequestNamer) {
    this.names = names;
    this.counters = counters;
    this.lines = new BoundedLines(MAX_LINES_A_SECOND, log, clock, (lines) => counters.logDropped(lines));
  }

  /** To be called once a request that ended with such a fault. */
  refused(ex: Exchange): void {
    this.counters.refused(ex.fault);
    if (!this.lines.takes()) return;
    const row = faultRow(ex.fault);
    this.lines.write("limit_reject", {
      request_id: this.names.idOf(ex),
      client_ip: ex.clientIp,
      route: ex.route === null ? UNMATCHED_LABEL : ex.route.label,
      reason: row.label,
      key: keyOf(ex),
      ...(ex.fault === Fault.BodyTooLarge ? { limit: ex.maxBodyBytes } : {}),
      body_bytes: ex.bodyBytes,
      status: row.status,
    });
  }
}

/** The setting that ended the request; null where there is none. */
function keyOf(ex: Exchange): string | null {
  switch (ex.fault) {
    case Fault.BodyTooLarge:
      return ex.route?.init.bodyLimitKey ?? "server.max_body_bytes";
    case Fault.HeaderTimeout:
      return "server.header_timeout";
    case Fault.BodyTimeout:
      return "server.read_timeout";
    case Fault.BodyTooSlow:
      return "server.min_body_rate";
    case Fault.OutOfDescriptors:
      return "RLIMIT_NOFILE";
    case Fault.BuffersFull:
    case Fault.BodyEvicted:
      return ex.detail === "" ? null : ex.detail;
    default:
      return null;
  }
}

/** Lines a second and worker. */
const MAX_LINES_A_SECOND = 100;
