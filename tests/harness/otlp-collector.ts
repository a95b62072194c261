import { gunzipSync } from "node:zlib";
import protobuf from "protobufjs";
import { eventually } from "./eventually.ts";

/** A span as it arrived; ids in hexadecimal. */
export interface ArrivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly name: string;
  /** 2 server, 3 client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  /** 0 unset, 2 error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A number of a metric as it arrived. */
export interface ArrivedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly kind: "sum" | "gauge" | "histogram";
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
  readonly buckets: readonly number[];
}

/** A line of the log as it arrived. */
export interface ArrivedLine {
  readonly event: string;
  readonly severity: string;
  readonly traceId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** How a collector responds; it can be changed at any time. */
export type CollectorMood = "well" | "refuses" | "silent";

/**
 * Takes OTLP over HTTP and decodes it by another package than the gateway's, from field numbers written here.
 */
export class OtlpCollector {
  readonly spans: ArrivedSpan[] = [];
  readonly points: ArrivedPoint[] = [];
  readonly lines: ArrivedLine[] = [];
  readonly requests: { readonly path: string; readonly headers: Headers }[] = [];
  mood: CollectorMood = "well";
  private readonly server: Bun.Server<undefined>;

  constructor(port = 0) {
    this.server = Bun.serve({ port, hostname: "127.0.0.1", idleTimeout: 60, fetch: (request) => this.take(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  get port(): number {
    return this.server.port!;
  }

  /** Waits for spans for which `matches` holds. @param count how many there must be */
  spansOf(matches: (span: ArrivedSpan) => boolean, count: number): Promise<ArrivedSpan[]> {
    return eventually(() => {
      const found = this.spans.filter(matches);
      if (found.length < count) throw new Error(`${found.length} of ${count} spans have come`);
      return found;
    });
  }

  stop(): void {
    void this.server.stop(true);
  }

  private async take(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.requests.push({ path: pathname, headers: request.headers });
    if (this.mood === "silent") await new Promise(() => {});
    if (this.mood === "refuses") return new Response("no", { status: 400 });
    const sent = new Uint8Array(await request.arrayBuffer());
    const bytes = request.headers.get("content-encoding") === "gzip" ? gunzipSync(sent) : sent;
    if (pathname === "/v1/traces") this.takeSpans(bytes);
    else if (pathname === "/v1/metrics") this.takeMetrics(bytes);
    else if (pathname === "/v1/logs") this.takeLines(bytes);
    else return new Response("", { status: 404 });
    return new Response(new Uint8Array(0), { headers: { "Content-Type": "application/x-protobuf" } });
  }

  private takeSpans(bytes: Uint8Array): void {
    for (const { resource, scopes } of decode("Traces", bytes).resources as Decoded[]) {
      for (const span of scopes.flatMap(({ spans }: Decoded) => spans) as Decoded[]) {
        this.spans.push({
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentId: hex(span.parentId),
          name: span.name,
          kind: span.kind,
          startNs: BigInt(span.start),
          endNs: BigInt(span.end),
          status: span.status?.code ?? 0,
          attributes: named(span.attributes),
          resource: named(resource.attributes),
        });
      }
    }
  }

  private takeMetrics(bytes: Uint8Array): void {
    for (const { scopes } of decode("Metrics", bytes).resources as Decoded[]) {
      for (const { name, unit, ...kinds } of scopes.flatMap(({ metrics }: Decoded) => metrics) as Decoded[]) {
        const kind = (["sum", "gauge", "histogram"] as const).find((one) => kinds[one] !== null)!;
        for (const point of kinds[kind].points as Decoded[]) {
          const value = kind === "histogram" ? Number(point.count) : Number(point.double ?? point.int ?? 0);
          const buckets = (point.buckets ?? []).map(Number);
          this.points.push({ metric: name, unit, kind, attributes: named(point.attributes), value, buckets });
        }
      }
    }
  }

  private takeLines(bytes: Uint8Array): void {
    for (const { scopes } of decode("Logs", bytes).resources as Decoded[]) {
      for (const line of scopes.flatMap(({ lines }: Decoded) => lines) as Decoded[]) {
        this.lines.push({
          event: line.event,
          severity: line.severity,
          traceId: hex(line.traceId),
          attributes: named(line.attributes),
        });
      }
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a decoder gives has the fields of the schema below.
type Decoded = any;

function decode(name: string, bytes: Uint8Array): Decoded {
  const type = SCHEMA.lookupType(name);
  return type.toObject(type.decode(bytes), { longs: String, defaults: true, arrays: true, oneofs: true });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function named(attributes: readonly Decoded[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: Decoded): unknown {
  const { kind, text, flag, integer, double, list } = value;
  if (kind === "text") return text;
  if (kind === "flag") return flag;
  if (kind === "integer") return Number(integer);
  if (kind === "double") return double;
  return kind === "list" ? list.values.map(plain) : null;
}

/** Field numbers and types of OTLP 1.x, as far as they are looked at. */
const SCHEMA = protobuf.parse(`
  syntax = "proto3";
  message Value { oneof kind { string text = 1; bool flag = 2; int64 integer = 3; double double = 4; List list = 5; } }
  message List { repeated Value values = 1; }
  message Attribute { string key = 1; Value value = 2; }
  message Resource { repeated Attribute attributes = 1; }
  message Traces { repeated TraceResource resources = 1; }
  message TraceResource { Resource resource = 1; repeated TraceScope scopes = 2; }
  message TraceScope { repeated Span spans = 2; }
  message Span {
    bytes traceId = 1; bytes spanId = 2; bytes parentId = 4; string name = 5; int32 kind = 6; fixed64 start = 7; fixed64 end = 8;
    repeated Attribute attributes = 9; Status status = 15;
  }
  message Status { int32 code = 3; }
  message Metrics { repeated MetricResource resources = 1; }
  message MetricResource { Resource resource = 1; repeated MetricScope scopes = 2; }
  message MetricScope { repeated Metric metrics = 2; }
  message Metric { string name = 1; string unit = 3; Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
  message Gauge { repeated Number points = 1; }
  message Sum { repeated Number points = 1; int32 temporality = 2; bool monotonic = 3; }
  message Number { oneof value { double double = 4; sfixed64 int = 6; } repeated Attribute attributes = 7; }
  message Histogram { repeated Bucketed points = 1; }
  message Bucketed { fixed64 count = 4; double sum = 5; repeated fixed64 buckets = 6; repeated double bounds = 7; repeated Attribute attributes = 9; }
  message Logs { repeated LogResource resources = 1; }
  message LogResource { Resource resource = 1; repeated LogScope scopes = 2; }
  message LogScope { repeated Line lines = 2; }
  message Line {
    string severity = 3; Value body = 5; repeated Attribute attributes = 6; bytes traceId = 9; string event = 12;
  }
`).root;
