import type { GuardListener } from "../features/route/prefix-guard-phase.ts";
import { BoundedLines } from "../features/telemetry/bounded-lines.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { Exchange } from "../message/exchange.ts";
import type { NowMs, RequestNamer } from "../message/ports.ts";

/**
 * Logs what the prefix guard refused as `prefix_guard_block`, with a bound on the lines. `path` is the raw target up to its
 * query, as in `waf_block`. Decisions, "Metrics, logs".
 */
export class GuardReporter implements GuardListener {
  private readonly lines: BoundedLines;
  private readonly names: RequestNamer;

  /**
   * @param clock milliseconds since the epoch
   * @param onDropped hears of each line that is left out
   */
  constructor(log: LogBatch, clock: NowMs, onDropped: (lines: number) => void, names: RequestNamer) {
    this.names = names;
    this.lines = new BoundedLines(MAX_LINES_A_SECOND, log, clock, onDropped);
  }

  onRefused(ex: Exchange): void {
    if (!this.lines.takes()) return;
    const { request } = ex;
    this.lines.write("prefix_guard_block", {
      request_id: this.names.idOf(ex),
      client_ip: ex.clientIp,
      method: request.methodText(),
      path: request.targetBeforeQuery(),
      action: "blocked",
      status: 403,
    });
  }
}

/** Lines a second and worker. */
const MAX_LINES_A_SECOND = 100;
