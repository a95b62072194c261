import { type Metric, metricOf, single } from "../core/metric-row.ts";
import { METRICS } from "./metrics.ts";

/** What the control thread knows beside the workers' counters. */
interface ProcessFacts {
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
    metricOf(METRICS, "gateway_build_info", () => [{ value: 1, labels: { version: facts.version } }]),
    single(METRICS, "gateway_config_last_reload_successful", () => (facts.lastReloadSuccessful() ? 1 : 0)),
    single(METRICS, "gateway_config_last_reload_success_timestamp_seconds", facts.lastReloadSeconds),
    single(METRICS, "gateway_log_lines_dropped_total", facts.droppedLogLines),
  ];
}
