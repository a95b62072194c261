import type { ShownAddresses } from "../../core/address-mask.ts";
import type { SpanWriter } from "../../memory/span-ring.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { TelemetryConfig } from "./settings.ts";
import { Tracer } from "./tracer.ts";

/** Of a configuration what traces go by. */
type TracedConfig = { readonly telemetry: TelemetryConfig };

/** Whether spans of requests are recorded. */
export function recordsSpans({ telemetry: { enabled, otlp } }: TracedConfig): boolean {
  return enabled && otlp.enabled && otlp.traces.enabled;
}

/** Whether requests belong to traces. */
export function hasTraces(config: TracedConfig): boolean {
  return recordsSpans(config) || (config.telemetry.enabled && config.telemetry.propagate);
}

/**
 * What finds the traces of requests; null if there are none.
 * @param spans where spans go; null if nothing takes them
 * @param trusts whether the trace that a client tells of goes on
 * @param addresses how addresses are shown
 */
export function tracerOf(
  config: TracedConfig,
  spans: SpanWriter | null,
  trusts: (ex: Exchange) => boolean,
  addresses: ShownAddresses,
): Tracer | null {
  if (!hasTraces(config)) return null;
  const { propagate, otlp } = config.telemetry;
  const recorded = recordsSpans(config) ? spans : null;
  const settings = { sample: recorded === null ? 0 : otlp.traces.sample, propagates: propagate };
  return new Tracer(settings, { spans: recorded, random: Math.random, addresses }, trusts);
}
