import type { Metric as PromMetric, Registry } from "prom-client";
import type { Metric } from "./metric.ts";

/** The one content type of the text format. docs/endpoints.md#metrics */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4";

/**
 * The Prometheus text of a control thread: the metrics it is given, and `process_*`. prom-client is loaded at the first
 * scrape, which keeps 10 ms off the start.
 */
export class Exposition {
  private readonly metrics: readonly Metric[];
  private registry: Promise<Registry> | null = null;

  /** @param metrics in the order in which they are shown; names must be unique */
  constructor(metrics: readonly Metric[]) {
    this.metrics = metrics;
  }

  /** Reads everything now and gives the text. */
  async text(): Promise<string> {
    this.registry ??= buildRegistry(this.metrics);
    return (await this.registry).metrics();
  }
}

async function buildRegistry(metrics: readonly Metric[]): Promise<Registry> {
  const client = await import("prom-client");
  const registry = new client.Registry();
  for (const metric of metrics) registry.registerMetric(adapted(metric));
  addProcessMetrics(client, registry);
  return registry;
}

/**
 * A metric as a registry wants it. Its own Counter and Histogram cannot be set to numbers that were counted elsewhere;
 * a registry needs the name and `get` alone.
 */
function adapted(metric: Metric): PromMetric {
  const { name, help, type } = metric;
  const shown = { name, help, type, get: async () => ({ name, help, type, aggregator: "sum", values: metric.read() }) };
  return shown as unknown as PromMetric;
}

function addProcessMetrics(client: typeof import("prom-client"), registry: Registry): void {
  // The loop's delay is not shown: sampled once an hour it costs nothing.
  client.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 3_600_000 });
  // What is left out is about another engine, and breaks the naming rules (gauges that end in _total).
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith("nodejs_")) registry.removeSingleMetric(name);
  }
  // prom-client counts CPU time from now on; the process lives longer.
  const { user, system } = process.cpuUsage();
  addSeconds(registry, "process_cpu_user_seconds_total", user);
  addSeconds(registry, "process_cpu_system_seconds_total", system);
  addSeconds(registry, "process_cpu_seconds_total", user + system);
}

function addSeconds(registry: Registry, counter: string, microseconds: number): void {
  const metric = registry.getSingleMetric(counter);
  if (metric !== undefined && "inc" in metric) metric.inc(microseconds / 1e6);
}
