import type { RateLimitListener } from "../features/limit/rate-limit-phase.ts";
import { BoundedLines } from "../features/telemetry/bounded-lines.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { Exchange } from "../message/exchange.ts";
import type { NowMs, RequestNamer } from "../message/ports.ts";
import type { WorkerCounters } from "../shared/counter-table.ts";

/**
 * Counts every request that a rate limit refused, and logs it as `rate_limited` with a bound on the lines: those who come
 * too often must not drown the log. Decisions, "Metrics, logs".
 */
export class RateLimitReporter implements RateLimitListener {
  private readonly counters: WorkerCounters;
  private readonly lines: BoundedLines;
  private readonly names: RequestNamer;

  /** @param clock milliseconds since the epoch */
  constructor(counters: WorkerCounters, log: LogBatch, clock: NowMs, names: RequestNamer) {
    this.names = names;
    this.counters = counters;
    this.lines = new BoundedLines(MAX_LINES_A_SECOND, log, clock, (lines) => counters.logDropped(lines));
  }

  onLimited(ex: Exchange, status: number, retryAfterSeconds: number): void {
    const route = ex.route!.label;
    this.counters.rateLimited(route);
    // The access line names it too.
    const requestId = this.names.idOf(ex);
    if (!this.lines.takes()) return;
    const { request } = ex;
    this.lines.write("rate_limited", {
      request_id: requestId,
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.path(),
      route,
      status,
      retry_after: retryAfterSeconds,
    });
  }
}

/** Lines a second and worker. */
const MAX_LINES_A_SECOND = 20;
