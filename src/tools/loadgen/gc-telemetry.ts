import type { GcCycle } from "./gc-log-parser.ts";
import { leastSquaresSlope } from "./least-squares.ts";

/** A collection and when it ended, in milliseconds on the run's clock. */
export interface TimedCycle extends GcCycle {
  readonly atMs: number;
}

/** Where the times of the collections come from: seen as they happened, or spread evenly over the run. */
type GcTimes = "observed" | "spread" | "none";

/** The report's `gc_telemetry`. docs/tools.md#reports-of-a-load. Without collections every number is 0. */
export interface GcTelemetry {
  readonly enabled: boolean;
  readonly total_cycles: number;
  readonly full_cycles: number;
  /** Threads that collect: each has a heap of its own. Sizes below are those of all heaps together. */
  readonly heaps: number;
  readonly times: GcTimes;
  readonly gc_cpu_percent: number;
  readonly cycles_per_second: number;
  readonly total_reclaimed_mb: number;
  readonly pause_times_ms: {
    readonly min: number;
    readonly mean: number;
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
    readonly max: number;
    readonly total_stw: number;
    readonly mean_mark: number;
    readonly max_mark: number;
  };
  readonly heap_metrics_mb: {
    readonly initial: number;
    readonly final: number;
    readonly peak: number;
    readonly mean_live_heap: number;
    readonly peak_trigger_heap: number;
    readonly heap_growth_slope_mb_per_min: number;
  };
}

/**
 * Sums up the collections of a run.
 * @param cycles in the order of their ends
 * @param liveBefore what each heap held after its last collection before the run, in KiB
 * @param durationMs of the run
 */
export function gcTelemetry(
  cycles: readonly TimedCycle[],
  liveBefore: ReadonlyMap<string, number>,
  durationMs: number,
  times: GcTimes,
): GcTelemetry {
  const pauses = cycles.flatMap((cycle) => cycle.pausesMs).sort((a, b) => a - b);
  const marks = cycles.map((cycle) => Math.max(0, cycle.cycleMs - sum(cycle.pausesMs)));
  const { points, peakTriggerKb } = heapPoints(cycles, liveBefore);
  const live = points.map((point) => point.y);
  const cycleMs = sum(cycles.map((cycle) => Math.max(cycle.cycleMs, sum(cycle.pausesMs))));
  return {
    enabled: times !== "none",
    total_cycles: cycles.length,
    full_cycles: cycles.filter((cycle) => cycle.isFull).length,
    heaps: new Set(cycles.map((cycle) => cycle.heap)).size,
    times,
    gc_cpu_percent: digits(durationMs > 0 ? (100 * cycleMs) / durationMs : 0, 2),
    cycles_per_second: digits(durationMs > 0 ? (1000 * cycles.length) / durationMs : 0, 3),
    total_reclaimed_mb: digits(sum(cycles.map((c) => Math.max(0, c.triggerKb - c.liveKb))) / KB_PER_MB, 3),
    pause_times_ms: {
      min: digits(pauses[0] ?? 0, 3),
      mean: digits(mean(pauses), 3),
      p50: digits(rank(pauses, 50), 3),
      p95: digits(rank(pauses, 95), 3),
      p99: digits(rank(pauses, 99), 3),
      max: digits(pauses.at(-1) ?? 0, 3),
      total_stw: digits(sum(pauses), 3),
      mean_mark: digits(mean(marks), 3),
      max_mark: digits(largest(marks), 3),
    },
    heap_metrics_mb: {
      initial: digits(live[0] ?? 0, 3),
      final: digits(live.at(-1) ?? 0, 3),
      peak: digits(largest(live), 3),
      mean_live_heap: digits(mean(live), 3),
      peak_trigger_heap: digits(peakTriggerKb / KB_PER_MB, 3),
      heap_growth_slope_mb_per_min: digits(leastSquaresSlope(points), 4),
    },
  };
}

const KB_PER_MB = 1024;
const MS_PER_MINUTE = 60_000;

/**
 * All heaps together after each collection: x in minutes, y in MB. Between its collections a heap counts with what it
 * held after the last one, and before its first with what it held after that, so that nothing jumps when a heap appears.
 */
function heapPoints(cycles: readonly TimedCycle[], liveBefore: ReadonlyMap<string, number>) {
  const liveKb = new Map(liveBefore);
  for (const cycle of cycles) if (!liveKb.has(cycle.heap)) liveKb.set(cycle.heap, cycle.liveKb);
  let totalKb = sum([...liveKb.values()]);
  let peakTriggerKb = 0;
  const points = cycles.map((cycle) => {
    peakTriggerKb = Math.max(peakTriggerKb, totalKb - liveKb.get(cycle.heap)! + cycle.triggerKb);
    totalKb += cycle.liveKb - liveKb.get(cycle.heap)!;
    liveKb.set(cycle.heap, cycle.liveKb);
    return { x: cycle.atMs / MS_PER_MINUTE, y: totalKb / KB_PER_MB };
  });
  return { points, peakTriggerKb };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

/** The smallest of the sorted values that `percent` of them do not exceed; 0 for none. */
function rank(sorted: readonly number[], percent: number): number {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0;
}

function digits(value: number, count: number): number {
  return Number(value.toFixed(count));
}

/** Without a log: everything 0. */
export const NO_GC_TELEMETRY: GcTelemetry = gcTelemetry([], new Map(), 0, "none");
