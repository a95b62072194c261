import { LatencySketch } from "../../../core/latency-sketch.ts";
import { type Metric, metricOf, type Sample } from "../../../core/metric-row.ts";
import type { CallCounts } from "../call-counts.ts";
import { FUNCTION_METRICS } from "../metrics.ts";
import { moduleNames } from "./function-modules.ts";

/** A module's threads as they are now. */
export interface ThreadFacts {
  /** Absolute path. */
  readonly module: string;
  readonly threads: number;
  readonly heapBytes: number;
}

/** The known facts of one module. */
interface ModuleCounts {
  readonly calls: Map<string, number>;
  seconds: number;
  /** Of the last seconds: it fades. */
  readonly latency: LatencySketch;
  fadedMs: number;
  /** By data worker. */
  readonly queued: Map<number, number>;
  readonly ends: Map<string, number>;
}

/** How a module fares, as the dashboard shows it (see LiveModule). */
export interface ModuleStanding {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly latency: ReturnType<LatencySketch["percentiles"]>;
  readonly queued: number;
  readonly threads: number;
  readonly ends: number;
  readonly heap: number;
}

/** What is known of calls and threads of modules: totals of all data workers. docs/metrics.md */
export class FunctionMetrics {
  /** By the absolute paths of modules. */
  private readonly counts: Map<string, ModuleCounts> = new Map();
  private readonly nowMs: () => number;

  /** @param nowMs milliseconds of a monotonic clock */
  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  /** Adds what a data worker has counted. */
  add(worker: number, counts: readonly CallCounts[]): void {
    for (const { module, outcomes, seconds, latency, queued } of counts) {
      const own = this.of(module);
      for (const [outcome, count] of Object.entries(outcomes)) grow(own.calls, outcome, count);
      own.seconds += seconds;
      this.fade(own);
      own.latency.merge(latency);
      own.queued.set(worker, queued);
    }
  }

  /** A thread has ended otherwise than by a reload. */
  ended(module: string, reason: string): void {
    grow(this.of(module).ends, reason, 1);
  }

  /** What waited there waits no longer. */
  workerDied(worker: number): void {
    for (const { queued } of this.counts.values()) queued.delete(worker);
  }

  /** The modules that are in use, for the dashboard. */
  live(threads: readonly ThreadFacts[]): ModuleStanding[] {
    const names = this.names(threads);
    return threads.map((facts) => {
      const own = this.of(facts.module);
      this.fade(own);
      const { calls } = own;
      return {
        name: names.get(facts.module)!,
        calls: sum(calls.values()),
        failed: sum(FAILURES.map((outcome) => calls.get(outcome) ?? 0)),
        latency: own.latency.percentiles(),
        queued: sum(own.queued.values()),
        threads: facts.threads,
        ends: sum(own.ends.values()),
        heap: facts.heapBytes,
      };
    });
  }

  /** @param threads asked at each scrape */
  metrics(threads: () => readonly ThreadFacts[]): readonly Metric[] {
    const each = (samples: (own: ModuleCounts, module: string) => Sample[]) => (): Sample[] => {
      const names = this.names(threads());
      return [...this.counts].flatMap(([path, own]) => samples(own, names.get(path)!));
    };
    const ofThreads = (value: (facts: ThreadFacts) => number) => (): Sample[] => {
      const all = threads();
      const names = this.names(all);
      return all.map((facts) => ({ value: value(facts), labels: { module: names.get(facts.module)! } }));
    };
    return [
      metricOf(
        FUNCTION_METRICS,
        "gateway_function_calls_total",
        each(({ calls }, module) => [...calls].map(([outcome, value]) => ({ value, labels: { module, outcome } }))),
      ),
      metricOf(
        FUNCTION_METRICS,
        "gateway_function_seconds_total",
        each(({ seconds }, module) => [{ value: seconds, labels: { module } }]),
      ),
      metricOf(
        FUNCTION_METRICS,
        "gateway_function_queued",
        each(({ queued }, module) => [{ value: sum(queued.values()), labels: { module } }]),
      ),
      metricOf(
        FUNCTION_METRICS,
        "gateway_function_thread_ends_total",
        each(({ ends }, module) => [...ends].map(([reason, value]) => ({ value, labels: { module, reason } }))),
      ),
      metricOf(
        FUNCTION_METRICS,
        "gateway_function_threads",
        ofThreads((facts) => facts.threads),
      ),
      metricOf(
        FUNCTION_METRICS,
        "gateway_function_heap_bytes",
        ofThreads((facts) => facts.heapBytes),
      ),
    ];
  }

  /** Names of all modules that have been counted or have threads: no two have the same. */
  private names(threads: readonly ThreadFacts[]): ReadonlyMap<string, string> {
    return moduleNames([...this.counts.keys(), ...threads.map(({ module }) => module)]);
  }

  private of(module: string): ModuleCounts {
    let own = this.counts.get(module);
    if (own === undefined) {
      const latency = new LatencySketch();
      own = { calls: new Map(), seconds: 0, latency, fadedMs: this.nowMs(), queued: new Map(), ends: new Map() };
      this.counts.set(module, own);
    }
    return own;
  }

  private fade(own: ModuleCounts): void {
    const nowMs = this.nowMs();
    own.latency.fade(KEPT_A_SECOND ** ((nowMs - own.fadedMs) / 1000));
    own.fadedMs = nowMs;
  }
}

function grow(values: Map<string, number>, key: string, by: number): void {
  values.set(key, (values.get(key) ?? 0) + by);
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Outcomes that a client sees as an error. */
const FAILURES = ["error", "timeout", "gone", "busy"] as const;
/** Share of what was seen that is left a second later, as the dashboard keeps of routes. */
const KEPT_A_SECOND = 0.8;
