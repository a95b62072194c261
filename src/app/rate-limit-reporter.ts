import type { RateLimitListener } from "../features/limit/rate-limit-phase.ts";
import { type EventValue, eventLine } from "../features/telemetry/event-line.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { Exchange } from "../message/exchange.ts";
import type { NowMs } from "../message/ports.ts";
import type { WorkerCounters } from "../shared/counter-table.ts";

/**
 * Counts every request that a rate limit refused, and logs it as `rate_limited` with a bound on the lines: those who come
 * too often must not drown the log. Decisions, "Metrics, logs".
 */
export class RateLimitReporter implements RateLimitListener {
  private readonly counters: WorkerCounters;
  private readonly log: LogBatch;
  private readonly clock: NowMs;
  private second = -1;
  private lines = 0;
  private unlogged = 0;

  /** @param clock milliseconds since the epoch */
  constructor(counters: WorkerCounters, log: LogBatch, clock: NowMs) {
    this.counters = counters;
    this.log = log;
    this.clock = clock;
  }

  onLimited(ex: Exchange, status: number, retryAfterSeconds: number): void {
    const route = ex.route!.label;
    this.counters.rateLimited(route);
    if (!this.mayLog()) {
      this.unlogged++;
      this.counters.logDropped(1);
      return;
    }
    const { request } = ex;
    const fields: Record<string, EventValue> = {
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.path(),
      route,
      status,
      retry_after: retryAfterSeconds,
    };
    if (this.unlogged > 0) fields.not_logged = this.unlogged;
    this.unlogged = 0;
    this.log.add(eventLine(this.clock.nowMs, "rate_limited", fields));
  }

  private mayLog(): boolean {
    const second = Math.floor(this.clock.nowMs / 1000);
    if (second !== this.second) {
      this.second = second;
      this.lines = 0;
    }
    return this.lines++ < MAX_LINES_A_SECOND;
  }
}

/** Lines a second and worker; the first line after a pause says how many were left out. */
const MAX_LINES_A_SECOND = 20;
