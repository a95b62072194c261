import type { ValueType } from "@opentelemetry/api";
import type { DataPoint, Histogram, MetricData, ResourceMetrics } from "@opentelemetry/sdk-metrics";
import type { Metric, Sample } from "../metric.ts";
import { type Sender, type SplitTime, splitTime } from "./resource.ts";

/**
 * What `/metrics` shows, under the same names. Sums are cumulative. docs/tracing.md#metrics-and-logs
 * @param startedMs since when is counted, and @param nowMs, in milliseconds since the epoch
 */
export function metricData(
  metrics: readonly Metric[],
  { resource, scope }: Sender,
  startedMs: number,
  nowMs: number,
): ResourceMetrics {
  const times = { startTime: splitTime(startedMs), endTime: splitTime(nowMs) };
  const data = metrics.map((metric) => dataOf(metric, times)).filter(({ dataPoints }) => dataPoints.length > 0);
  return { resource, scopeMetrics: [{ scope, metrics: data }] };
}

/** From when to when a number was counted. */
interface Times {
  readonly startTime: SplitTime;
  readonly endTime: SplitTime;
}

function dataOf(metric: Metric, times: Times): MetricData {
  const samples = metric.read();
  const base = {
    descriptor: { name: metric.name, description: metric.help, unit: unitOf(metric.name), valueType: DOUBLE },
    aggregationTemporality: CUMULATIVE,
  };
  if (metric.type === "histogram") return { ...base, dataPointType: HISTOGRAM, dataPoints: histograms(samples, times) };
  const dataPoints = samples.map(({ value, labels }) => ({ ...times, attributes: labels, value }));
  return metric.type === "gauge"
    ? { ...base, dataPointType: GAUGE, dataPoints }
    : { ...base, dataPointType: SUM, isMonotonic: true, dataPoints };
}

/** The samples of the text format count what is at most `le`; here each bucket counts its own. */
function histograms(samples: readonly Sample[], times: Times): DataPoint<Histogram>[] {
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
    const counts = buckets.map(({ value }, i) => value - (i === 0 ? 0 : buckets[i - 1]!.value));
    const boundaries = buckets.map(({ labels }) => Number(labels.le)).filter(Number.isFinite);
    const value: Histogram = {
      buckets: { boundaries, counts },
      sum: totalOf(own, "_sum"),
      count: totalOf(own, "_count"),
    };
    return { ...times, attributes: JSON.parse(key) as Record<string, string>, value };
  });
}

function totalOf(samples: readonly Sample[], suffix: string): number {
  return samples.find(({ metricName }) => metricName?.endsWith(suffix) === true)?.value ?? 0;
}

/** By the Unified Code for Units of Measure. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return "s";
  return /_bytes(_total)?$/.test(name) ? "By" : "1";
}

/** The library's enumerations as numbers: they are not loaded for that. */
const DOUBLE = 1 as ValueType.DOUBLE;
const CUMULATIVE = 1;
const HISTOGRAM = 0;
const GAUGE = 2;
const SUM = 3;
