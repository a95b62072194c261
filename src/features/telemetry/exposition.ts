import type { Metric as PromMetric, Registry } from "prom-client";
import type { Metric, Sample } from "../../core/metric-row.ts";
import { heapBytes } from "../../memory/process-memory.ts";
import { Exemplars, REQUEST_SECONDS } from "./exemplars.ts";

/** The content type of the text format. docs/endpoints.md#metrics */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4";
/** That of OpenMetrics, whose buckets have exemplars. docs/tracing.md#exemplars */
const OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/**
 * The Prometheus text of a control thread: the metrics it is given, and `process_*`. prom-client is loaded at the first
 * scrape, which keeps 10 ms off the start.
 */
export class Exposition {
  readonly metrics: readonly Metric[];
  private readonly exemplars: Exemplars | null;
  private registry: Promise<Registry> | null = null;
  private openRegistry: Promise<Registry> | null = null;

  /** @param metrics in the order in which they are shown; names must be unique @param exemplars null if there are none */
  constructor(metrics: readonly Metric[], exemplars: Exemplars | null = null) {
    this.metrics = metrics;
    this.exemplars = exemplars;
  }

  /** The text with its content type. @param format `openmetrics` where a scraper would rather have that */
  async shown(format: string): Promise<{ readonly contentType: string; readonly text: string }> {
    return format === "openmetrics" && this.exemplars?.hasAny === true
      ? { contentType: OPENMETRICS_TYPE, text: await this.openMetrics() }
      : { contentType: EXPOSITION_TYPE, text: await this.text() };
  }

  /** Reads everything now and gives the text. */
  async text(): Promise<string> {
    this.registry ??= buildRegistry(this.metrics, null);
    return (await this.registry).metrics();
  }

  /** The same as OpenMetrics, with exemplars. */
  private async openMetrics(): Promise<string> {
    this.openRegistry ??= buildRegistry(this.metrics, this.exemplars ?? new Exemplars());
    return (await this.openRegistry).metrics();
  }
}

async function buildRegistry(metrics: readonly Metric[], exemplars: Exemplars | null): Promise<Registry> {
  const client = await import("prom-client");
  const registry = new client.Registry();
  // The type of a registry says its format, which is known only here.
  if (exemplars !== null) registry.setContentType(OPENMETRICS_TYPE as never);
  for (const metric of metrics) registry.registerMetric(adapted(metric, exemplars));
  addProcessMetrics(client, registry);
  return registry;
}

/**
 * A metric as a registry wants it. Its own Counter and Histogram cannot be set to numbers that were counted elsewhere;
 * a registry needs the name and `get` alone.
 */
function adapted(metric: Metric, exemplars: Exemplars | null): PromMetric {
  const { help, type } = metric;
  // OpenMetrics names a counter without the end of its samples' names, which the registry appends.
  const name = exemplars !== null && type === "counter" ? metric.name.replace(/_total$/, "") : metric.name;
  const read = () => (name === REQUEST_SECONDS ? withExemplars(metric.read(), exemplars) : metric.read());
  const shown = { name, help, type, get: async () => ({ name, help, type, aggregator: "sum", values: read() }) };
  return shown as unknown as PromMetric;
}

/** The samples of a histogram begin with its buckets. */
function withExemplars(samples: readonly Sample[], exemplars: Exemplars | null): readonly object[] {
  if (exemplars === null) return samples;
  return samples.map((sample, bucket) => {
    const found = exemplars.of(bucket);
    if (found === null) return sample;
    const { traceId, seconds, atSeconds } = found;
    return { ...sample, exemplar: { labelSet: { trace_id: traceId }, value: seconds, timestamp: atSeconds } };
  });
}

function addProcessMetrics(client: typeof import("prom-client"), registry: Registry): void {
  // The loop's delay is not shown: sampled once an hour it costs nothing.
  client.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 3_600_000 });
  // What is left out is about another engine, and breaks the naming rules (gauges that end in _total).
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith("nodejs_")) registry.removeSingleMetric(name);
  }
  // prom-client gives the addresses that are reserved for data (VmData): gigabytes, of which hardly any is used.
  registry.removeSingleMetric(HEAP.name);
  if (heapBytes() >= 0) registry.registerMetric(adapted(HEAP, null));
  // prom-client counts CPU time from now on; the process lives longer.
  const { user, system } = process.cpuUsage();
  addSeconds(registry, "process_cpu_user_seconds_total", user);
  addSeconds(registry, "process_cpu_system_seconds_total", system);
  addSeconds(registry, "process_cpu_seconds_total", user + system);
}

const HEAP: Metric = {
  name: "process_heap_bytes",
  help: "Resident memory of the heaps of all threads in bytes, and of memory beside them.",
  type: "gauge",
  read: () => [{ value: heapBytes(), labels: {} }],
};

function addSeconds(registry: Registry, counter: string, microseconds: number): void {
  const metric = registry.getSingleMetric(counter);
  if (metric !== undefined && "inc" in metric) metric.inc(microseconds / 1e6);
}
