import { basename } from "node:path";
import type { CallCounts } from "../features/functions/call-counts.ts";
import type { Metric, Sample } from "../features/telemetry/metric.ts";

/** A module's threads as they are now. */
export interface ThreadFacts {
  /** Absolute path. */
  readonly module: string;
  readonly threads: number;
  readonly heapBytes: number;
}

/** What is known of calls and threads of modules: totals of all data workers. docs/metrics.md */
export class FunctionMetrics {
  private readonly calls: Map<string, number> = new Map();
  private readonly seconds: Map<string, number> = new Map();
  private readonly queued: Map<string, Map<number, number>> = new Map();
  private readonly ends: Map<string, number> = new Map();

  /** Adds what a data worker has counted. */
  add(worker: number, counts: readonly CallCounts[]): void {
    for (const { module, outcomes, seconds, queued } of counts) {
      for (const [outcome, count] of Object.entries(outcomes)) grow(this.calls, keyOf({ module, outcome }), count);
      grow(this.seconds, keyOf({ module }), seconds);
      const own = this.queued.get(module) ?? new Map<number, number>();
      this.queued.set(module, own.set(worker, queued));
    }
  }

  /** A thread has ended otherwise than by a reload. */
  ended(module: string, reason: string): void {
    grow(this.ends, keyOf({ module, reason }), 1);
  }

  /** @param threads asked at each scrape */
  metrics(threads: () => readonly ThreadFacts[]): readonly Metric[] {
    const labelled = (values: ReadonlyMap<string, number>): Sample[] =>
      [...values].map(([labels, value]) => ({ value, labels: JSON.parse(labels) }));
    const ofThreads = (value: (facts: ThreadFacts) => number): Sample[] =>
      threads().map((facts) => ({ value: value(facts), labels: { module: basename(facts.module) } }));
    return [
      {
        name: "gateway_function_calls_total",
        help: "Calls of functions and hooks, by how they have ended.",
        type: "counter",
        read: () => labelled(this.calls),
      },
      {
        name: "gateway_function_seconds_total",
        help: "Time from calls to the heads of their responses, added up.",
        type: "counter",
        read: () => labelled(this.seconds),
      },
      {
        name: "gateway_function_queued",
        help: "Calls that waited for a place in a thread when they were last counted.",
        type: "gauge",
        read: () =>
          [...this.queued].map(([module, own]) => ({
            value: [...own.values()].reduce((sum, one) => sum + one, 0),
            labels: { module: basename(module) },
          })),
      },
      {
        name: "gateway_function_thread_ends_total",
        help: "Threads of modules that have ended otherwise than by a reload, by reason.",
        type: "counter",
        read: () => labelled(this.ends),
      },
      {
        name: "gateway_function_threads",
        help: "Threads that serve calls of a module.",
        type: "gauge",
        read: () => ofThreads((facts) => facts.threads),
      },
      {
        name: "gateway_function_heap_bytes",
        help: "Memory of the heaps of a module's threads.",
        type: "gauge",
        read: () => ofThreads((facts) => facts.heapBytes),
      },
    ];
  }
}

function grow(values: Map<string, number>, key: string, by: number): void {
  values.set(key, (values.get(key) ?? 0) + by);
}

/** The labels as a text, the module by the name of its file. */
function keyOf({ module, ...labels }: { readonly module: string } & Readonly<Record<string, string>>): string {
  return JSON.stringify({ module: basename(module), ...labels });
}
