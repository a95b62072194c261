import { type Metric, single } from "./metric.ts";

/** What the control thread knows beside the workers' counters. */
export interface ProcessFacts {
  readonly version: string;
  /** Whether the last reload of the configuration succeeded; true before the first. */
  readonly lastReloadSuccessful: () => boolean;
  /** Seconds since the epoch of the last reload that succeeded; of the start before the first. */
  readonly lastReloadSeconds: () => number;
  /** Log lines that the control thread dropped. */
  readonly droppedLogLines: () => number;
}

/** Metrics about the gateway's process. docs/operations.md#metrics */
export function processFactMetrics(facts: ProcessFacts): readonly Metric[] {
  return [
    {
      name: "gateway_build_info",
      help: "Always 1, with the version as label.",
      type: "gauge",
      read: () => [{ value: 1, labels: { version: facts.version } }],
    },
    single(
      "gauge",
      "gateway_config_last_reload_successful",
      "1 after a successful reload or start, 0 after a failed reload.",
      () => (facts.lastReloadSuccessful() ? 1 : 0),
    ),
    single(
      "gauge",
      "gateway_config_last_reload_success_timestamp_seconds",
      "When the current configuration was loaded, in seconds since the epoch.",
      facts.lastReloadSeconds,
    ),
    single("counter", "gateway_log_lines_dropped_total", "Log lines that could not be written.", facts.droppedLogLines),
  ];
}
