// The micro-benchmarks: nanoseconds per operation of the gateway's parts.
//
// Each is warmed up, then timed in samples long enough for the clock; the median of the samples counts, and the least
// and the 90th percentile stand beside it to show how quiet the machine was.
import { join } from "node:path";
import { fixed, median, percentile, table } from "./figures.ts";
import { benchmarks, type MicroBenchmark } from "./micro-registry.ts";
import { progress, type Section } from "./section.ts";

export { bench } from "./micro-registry.ts";

interface Timing {
  readonly name: string;
  readonly medianNs: number;
  readonly leastNs: number;
  readonly p90Ns: number;
}

const WARM_UP_MS = 300;
const SAMPLE_MS = 20;
const SAMPLES = 21;
const NS_PER_MS = 1e6;

/** Loads every file of tests/bench/micro and times what it registers, or the part whose name holds a word of `only`. */
export async function runMicro(only: readonly string[]): Promise<Section> {
  for (const file of [...new Bun.Glob("micro/*.ts").scanSync(import.meta.dir)].sort()) {
    await import(join(import.meta.dir, file));
  }
  const chosen = benchmarks().filter((b) => only.length === 0 || only.some((word) => b.name.includes(word)));
  const timings = chosen.map((benchmark) => {
    const timing = time(benchmark);
    progress(`${timing.name}: ${fixed(timing.medianNs, 1)} ns`);
    return timing;
  });
  const rows = timings.map((t) => [t.name, fixed(t.medianNs, 1), fixed(t.leastNs, 1), fixed(t.p90Ns, 1)]);
  const empty = "No micro-benchmark is registered in tests/bench/micro.";
  const markdown = rows.length === 0 ? empty : table(["ns per operation", "median", "least", "p90"], rows);
  return { name: "micro", markdown, data: timings, failed: false };
}

/** Times one operation. */
export function time(benchmark: MicroBenchmark): Timing {
  const calls = calibrate(benchmark);
  const samples: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    samples.push((elapsedMs(benchmark, calls) * NS_PER_MS) / (calls * benchmark.operationsPerCall));
  }
  return {
    name: benchmark.name,
    medianNs: median(samples),
    leastNs: Math.min(...samples),
    p90Ns: percentile(samples, 90),
  };
}

// Doubles the calls until a sample is long enough for the clock; all of that is warm-up too.
function calibrate(benchmark: MicroBenchmark): number {
  let calls = 1;
  let warmMs = 0;
  for (;;) {
    const ms = elapsedMs(benchmark, calls);
    warmMs += ms;
    if (ms >= SAMPLE_MS && warmMs >= WARM_UP_MS) return calls;
    if (ms < SAMPLE_MS) calls *= 2;
  }
}

function elapsedMs(benchmark: MicroBenchmark, calls: number): number {
  const { operation } = benchmark;
  let sum = 0;
  const started = performance.now();
  for (let i = 0; i < calls; i++) sum += operation();
  const ms = performance.now() - started;
  // To look at the sum keeps the compiler from leaving the work out.
  if (Number.isNaN(sum)) throw new Error(`${benchmark.name}: the operation must give back a number`);
  return ms;
}
