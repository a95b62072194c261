import { successPercent } from "./consolidated-report.ts";
import { MAX_LOAD_RATE } from "./limits.ts";
import type { SaturationReport } from "./saturation-report.ts";

/** One rate that was offered, and what became of it. */
export interface SweepStep {
  readonly offered_rps: number;
  readonly reached_rps: number;
  readonly benign_success_pct: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Whether the rate was kept with PASS's bounds for benign requests. */
  readonly is_good: boolean;
  /** Whether the generator was too busy to tell. */
  readonly is_generator_busy: boolean;
}

/** Where a gateway begins to lag behind. docs/tools.md#the-knee */
export interface SweepReport {
  readonly timestamp: string;
  readonly target_url: string;
  /** The highest rate that was kept; 0 if none was. */
  readonly knee_rps: number;
  /** What was in the way of more. */
  readonly limited_by: "gateway" | "generator" | "nothing";
  /** In the order in which they were tried. */
  readonly steps: readonly SweepStep[];
}

/** What a run at one rate has shown. */
export function sweepStep(report: SaturationReport): SweepStep {
  const { p50, p99 } = report.benign_stream.latencies_ms;
  const isReached = report.total_actual_rps >= report.target_rate_rps * REACHED;
  return {
    offered_rps: report.target_rate_rps,
    reached_rps: report.total_actual_rps,
    benign_success_pct: successPercent(report),
    p50_ms: p50,
    p99_ms: p99,
    is_good: isReached && report.zero_starvation_verified,
    is_generator_busy: report.generator.is_busy,
  };
}

/**
 * The rate to try next: half as much again until one is not kept, then between the two until they are a tenth apart.
 * @param first of all rates, requests a second
 * @returns null if the knee is found, or is not to be had
 */
export function nextRate(steps: readonly SweepStep[], first: number): number | null {
  if (steps.length === 0) return first;
  if (steps.length >= MAX_STEPS) return null;
  const good = highestGood(steps);
  const bad = Math.min(...steps.filter((step) => !step.is_good).map((step) => step.offered_rps));
  if (bad === Number.POSITIVE_INFINITY)
    return good >= MAX_LOAD_RATE ? null : Math.min(MAX_LOAD_RATE, Math.ceil(good * GROWTH));
  if (good === 0) return bad <= 1 ? null : Math.max(1, Math.floor(bad / 4));
  return bad / good <= PRECISION ? null : Math.round((good + bad) / 2);
}

/** All steps together. @param steps at least one */
export function sweepReport(steps: readonly SweepStep[], { timestamp, target_url }: SaturationReport): SweepReport {
  const knee = highestGood(steps);
  const above = byRate(steps).find((step) => !step.is_good && step.offered_rps > knee);
  const limited = above === undefined ? "nothing" : above.is_generator_busy ? "generator" : "gateway";
  return { timestamp, target_url, knee_rps: knee, limited_by: limited, steps };
}

/** The sweep for the terminal. */
export function sweepText({ knee_rps: knee, limited_by: limited, steps }: SweepReport): string {
  const why = {
    gateway: "above it the gateway lags behind",
    generator: "above it this machine is too busy to load the gateway: load it from another one",
    nothing: "no rate was too high",
  }[limited];
  const head = knee === 0 ? "no rate was kept" : `knee at ${knee} requests a second: ${why}`;
  const rows = byRate(steps).map(
    (step) =>
      `  ${String(step.offered_rps).padStart(9)}/s  ${step.is_good ? "kept    " : "not kept"}  ${step.reached_rps}/s, ` +
      `${step.benign_success_pct.toFixed(2)} % good, p50 ${step.p50_ms} ms, p99 ${step.p99_ms} ms` +
      `${step.is_generator_busy ? ", this machine is busy" : ""}`,
  );
  return `${[head, ...rows].join("\n")}\n`;
}

/** Steps from the lowest rate to the highest. */
export function byRate(steps: readonly SweepStep[]): readonly SweepStep[] {
  return steps.toSorted((a, b) => a.offered_rps - b.offered_rps);
}

function highestGood(steps: readonly SweepStep[]): number {
  return Math.max(0, ...steps.filter((step) => step.is_good).map((step) => step.offered_rps));
}

const REACHED = 0.99;
const GROWTH = 1.5;
const PRECISION = 1.1;
const MAX_STEPS = 24;
