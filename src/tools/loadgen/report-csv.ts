import type { SaturationReport } from "./saturation-report.ts";

/** The columns of the CSV summary. docs/tools.md#reports-of-a-load */
const COLUMNS: readonly (readonly [string, (report: SaturationReport) => number | boolean])[] = [
  ["Concurrency", (r) => r.concurrency],
  ["TargetRPS", (r) => r.target_rate_rps],
  ["TotalActualRPS", (r) => r.total_actual_rps],
  ["BenignRPS", (r) => r.benign_stream.actual_rps],
  ["BenignP50_ms", (r) => r.benign_stream.latencies_ms.p50],
  ["BenignP99_ms", (r) => r.benign_stream.latencies_ms.p99],
  ["AttackRPS", (r) => r.adversarial_stream.actual_rps],
  ["AttackRejected", (r) => r.adversarial_stream.active_defense_requests],
  ["AttackRouteMiss", (r) => r.adversarial_stream.route_miss_requests],
  ["AttackBypassed", (r) => r.adversarial_stream.bypassed_requests],
  ["AttackUnhandled", (r) => r.adversarial_stream.unhandled_requests],
  ["ActiveDefenseRatePct", (r) => r.active_defense_rate_pct],
  ["ZeroStarvation", (r) => r.zero_starvation_verified],
  ["GCCycles", (r) => r.gc_telemetry.total_cycles],
  ["GCMeanSTW_ms", (r) => r.gc_telemetry.pause_times_ms.mean],
  ["GCP99STW_ms", (r) => r.gc_telemetry.pause_times_ms.p99],
  ["GCSlope_MBm", (r) => r.gc_telemetry.heap_metrics_mb.heap_growth_slope_mb_per_min],
];

/** A line of column names, and one line a tier. */
export function reportCsv(tiers: readonly SaturationReport[]): string {
  const lines = [
    COLUMNS.map(([name]) => name),
    ...tiers.map((tier) => COLUMNS.map(([, value]) => String(value(tier)))),
  ];
  return lines.map((cells) => `${cells.join(",")}\n`).join("");
}
