import { durationKey } from "./duration-tier.ts";
import type { SaturationReport } from "./saturation-report.ts";
import { percentOf } from "./verdict.ts";

/** Several tiers of one call, side by side. */
export interface ConsolidatedReport {
  readonly timestamp: string;
  readonly target_url: string;
  readonly overall_verdict: "PASS" | "FAIL";
  readonly interrupted: boolean;
  readonly comparison: readonly ComparisonRow[];
  readonly tiers: readonly SaturationReport[];
}

/** One tier in the comparison. */
interface ComparisonRow {
  readonly tier: string;
  readonly duration: string;
  readonly verdict: "PASS" | "FAIL";
  readonly total_actual_rps: number;
  readonly benign_success_pct: number;
  readonly benign_p50_ms: number;
  readonly benign_p99_ms: number;
  readonly active_defense_rate_pct: number;
  readonly gc_cycles: number;
  readonly gc_p99_ms: number;
  readonly heap_growth_slope_mb_per_min: number;
}

/** Puts the reports of all tiers (at least one) together: PASS when each is. */
export function consolidate(tiers: readonly SaturationReport[]): ConsolidatedReport {
  const isPass = tiers.every((tier) => tier.overall_verdict === "PASS");
  return {
    timestamp: tiers[0]!.timestamp,
    target_url: tiers[0]!.target_url,
    overall_verdict: isPass ? "PASS" : "FAIL",
    interrupted: tiers.some((tier) => tier.interrupted),
    comparison: tiers.map(comparisonRow),
    tiers,
  };
}

/** One tier as a row of the comparison. */
function comparisonRow(report: SaturationReport): ComparisonRow {
  const { benign_stream: benign, gc_telemetry: gc } = report;
  return {
    tier: report.duration_tier,
    duration: durationKey(Math.round(report.duration_seconds * 1000)),
    verdict: report.overall_verdict,
    total_actual_rps: report.total_actual_rps,
    benign_success_pct: successPercent(report),
    benign_p50_ms: benign.latencies_ms.p50,
    benign_p99_ms: benign.latencies_ms.p99,
    active_defense_rate_pct: report.active_defense_rate_pct,
    gc_cycles: gc.total_cycles,
    gc_p99_ms: gc.pause_times_ms.p99,
    heap_growth_slope_mb_per_min: gc.heap_metrics_mb.heap_growth_slope_mb_per_min,
  };
}

/** The share of good benign requests, 0 to 100, cut to two decimals. */
export function successPercent({ benign_stream: benign }: SaturationReport): number {
  return percentOf(benign.success_requests, benign.total_requests);
}
