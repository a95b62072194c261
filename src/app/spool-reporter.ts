import type { SpoolListener } from "../features/ingest/buffered-body.ts";
import { spoolFolder } from "../features/ingest/spool-file.ts";
import { BoundedLines } from "../features/telemetry/bounded-lines.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { NowMs } from "../message/ports.ts";

/** Logs why a large body could not be kept in a file as `spool_failed`: what the client's 503 keeps to itself. */
export class SpoolReporter implements SpoolListener {
  private readonly lines: BoundedLines;

  /**
   * @param clock milliseconds since the epoch
   * @param onDropped hears of each line that is left out
   */
  constructor(log: LogBatch, clock: NowMs, onDropped: (lines: number) => void) {
    this.lines = new BoundedLines(MAX_LINES_A_SECOND, log, clock, onDropped);
  }

  onSpoolFailed(reason: string): void {
    if (this.lines.takes()) this.lines.write("spool_failed", { folder: spoolFolder(), reason });
  }
}

/** Lines a second and worker. */
const MAX_LINES_A_SECOND = 1;
