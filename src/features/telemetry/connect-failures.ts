import { CONNECT_FAILURE_LOG_MS, MAX_LOGGED_ORIGINS } from "../../core/limits.ts";
import { eventLine } from "./event-line.ts";
import type { LogBatch } from "./log-batch.ts";

/**
 * Logs why no connection to an origin could be made, as `upstream_failed`: what the client's 502 keeps to itself. One
 * line an origin and reason in each CONNECT_FAILURE_LOG_MS; the next one says how many were left out.
 */
export class ConnectFailures {
  private readonly log: LogBatch;
  private readonly clock: { readonly nowMs: number };
  private readonly logged: Map<string, { atMs: number; unlogged: number }> = new Map();

  /** @param clock milliseconds since the epoch */
  constructor(log: LogBatch, clock: { readonly nowMs: number }) {
    this.log = log;
    this.clock = clock;
  }

  /**
   * @param upstream the origin, as metrics name it
   * @param reason the code of the system or the TLS library, such as ECONNREFUSED or CERT_HAS_EXPIRED; `timeout`
   */
  failed(upstream: string, reason: string): void {
    const { nowMs } = this.clock;
    const key = `${upstream} ${reason}`;
    const last = this.logged.get(key);
    const sinceMs = last === undefined ? -1 : nowMs - last.atMs;
    // A clock that was set back counts as long enough.
    if (sinceMs >= 0 && sinceMs < CONNECT_FAILURE_LOG_MS) {
      last!.unlogged++;
      return;
    }
    const unlogged = last?.unlogged ?? 0;
    this.remember(key, nowMs);
    const fields = { upstream, reason };
    this.log.add(eventLine(nowMs, "upstream_failed", unlogged > 0 ? { ...fields, not_logged: unlogged } : fields));
  }

  /** Clients of a sidecar name the origins: the one that was logged longest ago makes way. */
  private remember(key: string, atMs: number): void {
    this.logged.delete(key);
    if (this.logged.size >= MAX_LOGGED_ORIGINS) this.logged.delete(this.logged.keys().next().value!);
    this.logged.set(key, { atMs, unlogged: 0 });
  }
}
