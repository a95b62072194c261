import type { Metric, Sample } from "../../../core/metric-row.ts";
import { exportRequest, keyValues, unixNano } from "./messages.ts";
import type { OtlpSender } from "./sender.ts";

/**
 * What `/metrics` shows, under the same names. Sums are cumulative. docs/tracing.md#metrics-and-logs
 * @param startedMs since when is counted, and @param nowMs, in milliseconds since the epoch
 */
export function metricsRequest(
  metrics: readonly Metric[],
  sender: OtlpSender,
  startedMs: number,
  nowMs: number,
): Uint8Array {
  const times = { startTimeUnixNano: unixNano(startedMs), timeUnixNano: unixNano(nowMs) };
  const items = metrics.flatMap((metric) => {
    const samples = metric.read();
    return samples.length === 0 ? [] : [messageOf(metric, samples, times)];
  });
  return exportRequest("metrics", sender, items);
}

/** From when to when a number was counted. */
interface Times {
  readonly startTimeUnixNano: bigint;
  readonly timeUnixNano: bigint;
}

function messageOf({ name, help, type }: Metric, samples: readonly Sample[], times: Times): object {
  const base = { name, description: help, unit: unitOf(name) };
  const aggregationTemporality = CUMULATIVE;
  if (type === "histogram") {
    return { ...base, histogram: { dataPoints: histogramPoints(samples, times), aggregationTemporality } };
  }
  const dataPoints = samples.map(({ value, labels }) => ({
    ...times,
    asDouble: value,
    attributes: keyValues(labels),
  }));
  return type === "gauge"
    ? { ...base, gauge: { dataPoints } }
    : { ...base, sum: { dataPoints, aggregationTemporality, isMonotonic: true } };
}

/** The samples of the text format count what is at most `le`; here each bucket counts its own. */
function histogramPoints(samples: readonly Sample[], times: Times): object[] {
  const series = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    const found = series.get(key);
    if (found === undefined) series.set(key, [sample]);
    else found.push(sample);
  }
  return [...series].map(([key, own]) => {
    const buckets = own.filter(({ metricName }) => metricName?.endsWith("_bucket") === true);
    return {
      ...times,
      count: whole(totalOf(own, "_count")),
      sum: totalOf(own, "_sum"),
      bucketCounts: buckets.map(({ value }, i) => whole(value - (i === 0 ? 0 : buckets[i - 1]!.value))),
      explicitBounds: buckets.map(({ labels }) => Number(labels.le)).filter(Number.isFinite),
      attributes: keyValues(JSON.parse(key) as Record<string, string>),
    };
  });
}

/** Counts are read while workers count: a bucket may be ahead of the one after it. */
function whole(count: number): bigint {
  return BigInt(Math.max(0, Math.round(count)));
}

function totalOf(samples: readonly Sample[], suffix: string): number {
  return samples.find(({ metricName }) => metricName?.endsWith(suffix) === true)?.value ?? 0;
}

/** By the Unified Code for Units of Measure. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return "s";
  return /_bytes(_total)?$/.test(name) ? "By" : "1";
}

/** AGGREGATION_TEMPORALITY_CUMULATIVE */
const CUMULATIVE = 2;
