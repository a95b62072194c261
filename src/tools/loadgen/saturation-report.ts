import { attacksOn } from "./attack-catalogue.ts";
import { AttackTier } from "./attack-tier.ts";
import type { GcTelemetry } from "./gc-telemetry.ts";
import type { LatencyRecord } from "./latency-record.ts";
import type { LoadResult } from "./load-run.ts";
import { codesOf, endingsOf, type VectorTally } from "./load-tally.ts";
import type { TimelinePoint } from "./timeline.ts";
import { isGeneratorBusy, judgeLoad, percentOf } from "./verdict.ts";

/** Milliseconds, three decimals. */
interface LatenciesMs {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

interface StreamReport {
  readonly stream_type: string;
  readonly total_requests: number;
  readonly success_requests: number;
  readonly failed_requests: number;
  /** Requests that went out a second. */
  readonly actual_rps: number;
  /** From the time at which a request was due to the end of its response. */
  readonly latencies_ms: LatenciesMs;
}

/** The saturation report of one tier. docs/tools.md#reports-of-a-load */
export interface SaturationReport {
  readonly timestamp: string;
  readonly target_url: string;
  readonly concurrency: number;
  readonly duration_seconds: number;
  readonly duration_tier: string;
  readonly target_rate_rps: number;
  readonly attack_ratio: number;
  readonly total_requests_executed: number;
  readonly total_actual_rps: number;
  readonly zero_starvation_verified: boolean;
  /** Attacks that reached nothing: actively refused, or no such route. */
  readonly invariant_enforcement_rate_pct: number;
  readonly active_defense_rate_pct: number;
  readonly route_miss_rate_pct: number;
  readonly overall_verdict: "PASS" | "FAIL";
  readonly verdict_reasons: readonly string[];
  readonly interrupted: boolean;
  readonly benign_stream: StreamReport & {
    /** From the write to the end of the response. */
    readonly service_time_ms: LatenciesMs;
    /** What the failed ones got: a status, or how they ended without one. */
    readonly failures: Readonly<Record<string, number>>;
  };
  readonly adversarial_stream: StreamReport & {
    readonly active_defense_requests: number;
    readonly route_miss_requests: number;
    readonly bypassed_requests: number;
    readonly unhandled_requests: number;
    readonly status_codes: Readonly<Record<string, number>>;
    /** Those among the status 400 whose connection was torn down without a response. */
    readonly transport_resets: number;
    readonly vectors: readonly VectorReport[];
  };
  readonly gc_telemetry: GcTelemetry;
  readonly generator: {
    readonly threads: number;
    /** How late requests went out: the generator itself, and waiting for a free connection. */
    readonly lateness_ms: LatenciesMs;
    /** Of that, how late this process looked at the clock. */
    readonly own_delay_ms: LatenciesMs;
    readonly cpu_us_per_request: number;
    /** Of this machine's processors, by all processes. */
    readonly machine_cpu_percent: number;
    /** Whether this machine was too busy to measure. */
    readonly is_busy: boolean;
  };
  readonly protocol: "HTTP/1.1" | "HTTP/2" | "HTTP/3";
  readonly timeline: readonly TimelinePoint[];
}

/** What the attacks of one kind got. */
export interface VectorReport {
  readonly id: string;
  readonly name: string;
  readonly expected: number;
  readonly sent: number;
  readonly active_defense: number;
  readonly route_miss: number;
  readonly bypassed: number;
  readonly unhandled: number;
  readonly status_codes: Readonly<Record<string, number>>;
}

/** Makes the report of one tier, verdict included. */
export function saturationReport(result: LoadResult, gc: GcTelemetry): SaturationReport {
  const { plan, tally, elapsedMs } = result;
  const { verdict, zeroStarvation, reasons } = judgeLoad(result, gc);
  const perSecond = (count: number) => digits((count * 1000) / elapsedMs, 1);
  const [active, missed, bypassed, unhandled] = tally.tiers;
  return {
    timestamp: result.startedAt.toISOString(),
    target_url: plan.target.url,
    concurrency: plan.concurrency,
    duration_seconds: digits((result.wasInterrupted ? elapsedMs : plan.durationMs) / 1000, 3),
    duration_tier: plan.tier,
    target_rate_rps: plan.ratePerSecond,
    attack_ratio: plan.attackRatio,
    total_requests_executed: tally.total,
    total_actual_rps: perSecond(tally.total - tally.benignUnsent - tally.attacksUnsent),
    zero_starvation_verified: zeroStarvation,
    invariant_enforcement_rate_pct: percentOf(active + missed, tally.attackTotal),
    active_defense_rate_pct: percentOf(active, tally.attackTotal),
    route_miss_rate_pct: tally.attackTotal === 0 ? 0 : percentOf(missed, tally.attackTotal),
    overall_verdict: verdict,
    verdict_reasons: reasons,
    interrupted: result.wasInterrupted,
    benign_stream: {
      stream_type: "benign",
      total_requests: tally.benignTotal,
      success_requests: tally.benignGood,
      failed_requests: tally.benignTotal - tally.benignGood,
      actual_rps: perSecond(tally.benignTotal - tally.benignUnsent),
      latencies_ms: latencies(tally.latency),
      service_time_ms: latencies(tally.service),
      failures: endingsOf(tally.benignFailures),
    },
    adversarial_stream: {
      stream_type: "adversarial",
      total_requests: tally.attackTotal,
      success_requests: active,
      failed_requests: tally.attackTotal - active,
      actual_rps: perSecond(tally.attackTotal - tally.attacksUnsent),
      latencies_ms: latencies(tally.attackLatency),
      active_defense_requests: active,
      route_miss_requests: missed,
      bypassed_requests: bypassed,
      unhandled_requests: unhandled,
      status_codes: tally.statusCodes(),
      transport_resets: tally.teardowns,
      vectors: tally.vectors.map(vectorReport),
    },
    gc_telemetry: gc,
    generator: {
      threads: result.threads,
      lateness_ms: latencies(tally.lateness),
      own_delay_ms: latencies(tally.ownDelay),
      cpu_us_per_request: digits(tally.total === 0 ? 0 : (result.cpuSeconds * 1e6) / tally.total, 1),
      machine_cpu_percent: result.machineBusyPercent,
      is_busy: isGeneratorBusy(tally),
    },
    protocol: PROTOCOLS[plan.protocol],
    timeline: tally.timeline.points,
  };
}

function vectorReport({ sent, tiers, outcomes }: VectorTally, index: number): VectorReport {
  const { id, name, expected } = CATALOGUE[index]!;
  return {
    id,
    name,
    expected,
    sent,
    active_defense: tiers[AttackTier.ActiveDefense],
    route_miss: tiers[AttackTier.RouteMiss],
    bypassed: tiers[AttackTier.Bypassed],
    unhandled: tiers[AttackTier.Unhandled],
    status_codes: codesOf(outcomes),
  };
}

const PROTOCOLS = { 1: "HTTP/1.1", 2: "HTTP/2", 3: "HTTP/3" } as const;

const CATALOGUE = attacksOn("/", "x");

function latencies(record: LatencyRecord): LatenciesMs {
  const { p50, p90, p99, max } = record.percentiles();
  return { p50: digits(p50, 3), p90: digits(p90, 3), p99: digits(p99, 3), max: digits(max, 3) };
}

function digits(value: number, count: number): number {
  return Number(value.toFixed(count));
}
