import type { AccessLogConfig, LogOutputConfig } from "./access-log-settings.ts";
import { LogBatch, type LogCounters } from "./log-batch.ts";

/** Whether lines go anywhere else than to standard output, among those of events. */
export function hasOwnOutputs({ enabled, outputs }: Pick<AccessLogConfig, "enabled" | "outputs">): boolean {
  return enabled && outputs.length > 0 && !(outputs.length === 1 && outputs[0]!.stdout);
}

/** The name of a set of outputs, between the threads. */
export function outputsKey(outputs: readonly LogOutputConfig[]): string {
  return JSON.stringify(outputs);
}

/** The access lines of a worker on their way to the control thread: a batch for each set of outputs. */
export class AccessLines {
  private readonly batches: Map<string, LogBatch> = new Map();
  private readonly post: (outputs: string, batch: string) => void;
  private readonly counters: LogCounters;

  /** @param post sends lines for a set of outputs to the control thread */
  constructor(post: (outputs: string, batch: string) => void, counters: LogCounters) {
    this.post = post;
    this.counters = counters;
  }

  /** The batch for a set of outputs. @param outputs from `outputsKey` */
  of(outputs: string): LogBatch {
    let batch = this.batches.get(outputs);
    if (batch === undefined) {
      batch = new LogBatch({ write: (lines) => this.post(outputs, lines) }, this.counters);
      this.batches.set(outputs, batch);
    }
    return batch;
  }

  flush(): void {
    for (const batch of this.batches.values()) batch.flush();
  }
}
