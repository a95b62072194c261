import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { schemaOfTable } from "../../../proto/grpc/compact-proto.ts";
import type { OtlpSender } from "./sender.ts";

/**
 * Messages of OTLP 1.x as far as the gateway uses them: opentelemetry/proto/common, resource, trace, metrics, logs and collector. Enumerations
 * are numbers here, and the messages of one package are beside those of another, which does not matter to the wire.
 */
const OTLP = schemaOfTable("otlp", [], {
  AnyValue: [
    "string_value?: string = 1",
    "bool_value?: bool = 2",
    "int_value?: int64 = 3",
    "double_value?: double = 4",
    "array_value: otlp.ArrayValue = 5",
    "kvlist_value: otlp.KeyValueList = 6",
  ],
  ArrayValue: ["values: otlp.AnyValue[] = 1"],
  KeyValueList: ["values: otlp.KeyValue[] = 1"],
  KeyValue: ["key: string = 1", "value: otlp.AnyValue = 2"],
  InstrumentationScope: ["name: string = 1", "version: string = 2"],
  Resource: ["attributes: otlp.KeyValue[] = 1"],

  ExportTraceServiceRequest: ["resource_spans: otlp.ResourceSpans[] = 1"],
  ResourceSpans: ["resource: otlp.Resource = 1", "scope_spans: otlp.ScopeSpans[] = 2"],
  ScopeSpans: ["scope: otlp.InstrumentationScope = 1", "spans: otlp.Span[] = 2"],
  Span: [
    "trace_id: bytes = 1",
    "span_id: bytes = 2",
    "parent_span_id: bytes = 4",
    "name: string = 5",
    "kind: int32 = 6",
    "start_time_unix_nano: fixed64 = 7",
    "end_time_unix_nano: fixed64 = 8",
    "attributes: otlp.KeyValue[] = 9",
    "status: otlp.Status = 15",
    "flags: fixed32 = 16",
  ],
  Status: ["code: int32 = 3"],

  ExportMetricsServiceRequest: ["resource_metrics: otlp.ResourceMetrics[] = 1"],
  ResourceMetrics: ["resource: otlp.Resource = 1", "scope_metrics: otlp.ScopeMetrics[] = 2"],
  ScopeMetrics: ["scope: otlp.InstrumentationScope = 1", "metrics: otlp.Metric[] = 2"],
  Metric: [
    "name: string = 1",
    "description: string = 2",
    "unit: string = 3",
    "gauge: otlp.Gauge = 5",
    "sum: otlp.Sum = 7",
    "histogram: otlp.Histogram = 9",
  ],
  Gauge: ["data_points: otlp.NumberDataPoint[] = 1"],
  Sum: ["data_points: otlp.NumberDataPoint[] = 1", "aggregation_temporality: int32 = 2", "is_monotonic: bool = 3"],
  Histogram: ["data_points: otlp.HistogramDataPoint[] = 1", "aggregation_temporality: int32 = 2"],
  NumberDataPoint: [
    "start_time_unix_nano: fixed64 = 2",
    "time_unix_nano: fixed64 = 3",
    "as_double?: double = 4",
    "attributes: otlp.KeyValue[] = 7",
  ],
  HistogramDataPoint: [
    "start_time_unix_nano: fixed64 = 2",
    "time_unix_nano: fixed64 = 3",
    "count: fixed64 = 4",
    "sum?: double = 5",
    "bucket_counts: fixed64[] = 6",
    "explicit_bounds: double[] = 7",
    "attributes: otlp.KeyValue[] = 9",
  ],

  ExportLogsServiceRequest: ["resource_logs: otlp.ResourceLogs[] = 1"],
  ResourceLogs: ["resource: otlp.Resource = 1", "scope_logs: otlp.ScopeLogs[] = 2"],
  ScopeLogs: ["scope: otlp.InstrumentationScope = 1", "log_records: otlp.LogRecord[] = 2"],
  LogRecord: [
    "time_unix_nano: fixed64 = 1",
    "severity_number: int32 = 2",
    "severity_text: string = 3",
    "body: otlp.AnyValue = 5",
    "attributes: otlp.KeyValue[] = 6",
    "trace_id: bytes = 9",
    "observed_time_unix_nano: fixed64 = 11",
    "event_name: string = 12",
  ],

  // Of traces, metrics and logs: the number of spans, data points or records has the same field.
  ExportServiceResponse: ["partial_success: otlp.PartialSuccess = 1"],
  PartialSuccess: ["rejected: int64 = 1", "error_message: string = 2"],
});
const RESPONSE: DescMessage = OTLP.registry.getMessage("otlp.ExportServiceResponse")!;
const PARTIAL: DescMessage = OTLP.registry.getMessage("otlp.PartialSuccess")!;

/** The requests by signal: their type, and what its fields are called. */
const REQUESTS = {
  traces: ["ExportTraceServiceRequest", "resourceSpans", "scopeSpans", "spans"],
  metrics: ["ExportMetricsServiceRequest", "resourceMetrics", "scopeMetrics", "metrics"],
  logs: ["ExportLogsServiceRequest", "resourceLogs", "scopeLogs", "logRecords"],
} as const;

/** A request to a collector with all items of one sender. @param items messages as the table has them, their fields in camel case */
export function exportRequest(
  signal: keyof typeof REQUESTS,
  { resource, scope }: OtlpSender,
  items: readonly object[],
): Uint8Array {
  const [type, outer, inner, field] = REQUESTS[signal];
  const message = OTLP.registry.getMessage(`otlp.${type}`)!;
  const init = { [outer]: [{ resource: { attributes: keyValues(resource) }, [inner]: [{ scope, [field]: items }] }] };
  return toBinary(message, create(message, init as never));
}

/** Attributes; those without a value are left out. */
export function keyValues(fields: Readonly<Record<string, unknown>>): object[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => ({ key, value: anyValue(value) }));
}

/** A value of JSON. What is nested too deep is its text. */
export function anyValue(value: unknown, depth = 0): object {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "number":
      return Number.isSafeInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
  }
  if (value === null || typeof value !== "object") return {};
  if (depth === MAX_DEPTH) return { stringValue: JSON.stringify(value) };
  if (Array.isArray(value)) return { arrayValue: { values: value.map((one) => anyValue(one, depth + 1)) } };
  const values = Object.entries(value).map(([key, one]) => ({ key, value: anyValue(one, depth + 1) }));
  return { kvlistValue: { values } };
}

/** A time. @param ms milliseconds since the epoch, with fractions */
export function unixNano(ms: number): bigint {
  const seconds = Math.floor(ms / 1000);
  return BigInt(seconds) * 1_000_000_000n + BigInt(Math.round((ms - seconds * 1000) * 1e6));
}

/** What a collector has not taken of a request that it took; 0 and "" if it says nothing of the kind. */
export function rejectedOf(response: Uint8Array): { readonly count: number; readonly why: string } {
  try {
    const field = RESPONSE.field.partialSuccess!;
    const outer = reflect(RESPONSE, fromBinary(RESPONSE, response));
    if (!outer.isSet(field)) return NOTHING_REJECTED;
    const inner = outer.get(field) as ReturnType<typeof reflect>;
    return {
      count: Number(inner.get(PARTIAL.field.rejected!)),
      why: String(inner.get(PARTIAL.field.errorMessage!)),
    };
  } catch {
    return NOTHING_REJECTED;
  }
}

const NOTHING_REJECTED = { count: 0, why: "" };
/** Levels of lists and objects in one attribute. */
const MAX_DEPTH = 8;
