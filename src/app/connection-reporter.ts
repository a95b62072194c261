import { Fault } from "../core/fault.ts";
import type { GateObserver } from "../edge/connection-gate.ts";
import { eventLine } from "../features/telemetry/event-line.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { NowMs } from "../message/ports.ts";
import { type ConnectionCounts, LimitKind } from "../shared/connection-counts.ts";
import type { WorkerCounters } from "../shared/counter-table.ts";

/**
 * Counts connections that wait or are refused because there are too many, and logs it as `connection_limit`: a line a minute
 * for each reason, all workers together. docs/security.md#resources-of-one-client
 */
export class ConnectionReporter implements GateObserver {
  private readonly counters: WorkerCounters;
  private readonly counts: ConnectionCounts;
  private readonly log: LogBatch;
  private readonly clock: NowMs;

  /** @param clock milliseconds since the epoch */
  constructor(counters: WorkerCounters, counts: ConnectionCounts, log: LogBatch, clock: NowMs) {
    this.counters = counters;
    this.counts = counts;
    this.log = log;
    this.clock = clock;
  }

  onPaused(isShortOfDescriptors: boolean): void {
    this.counters.acceptPaused(isShortOfDescriptors);
    if (isShortOfDescriptors) this.write(LimitKind.Descriptors, { key: "RLIMIT_NOFILE" });
    else this.write(LimitKind.Connections, { key: "server.max_connections" });
  }

  onIdleClosed(): void {
    this.counters.idleClosed();
  }

  onRefused(address: string): void {
    this.counters.refused(Fault.TooManyConnections);
    this.write(LimitKind.Address, { key: "server.max_connections_per_ip", client_ip: address });
  }

  private write(kind: LimitKind, fields: Readonly<Record<string, string>>): void {
    const { nowMs } = this.clock;
    if (!this.counts.takesLine(kind, nowMs)) return;
    this.log.add(
      eventLine(nowMs, "connection_limit", { reason: REASONS[kind]!, ...fields, open: this.counts.total() }),
    );
  }
}

/** By LimitKind. */
const REASONS: readonly string[] = ["too_many_connections", "too_many_of_one_address", "out_of_descriptors"];
