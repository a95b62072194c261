import { readFileSync } from "node:fs";
import type { IExporterMetricsHelper, ISerializer } from "@opentelemetry/otlp-transformer";
import type { TelemetryConfig } from "../../../config/telemetry-settings.ts";
import { messageOf } from "../../../core/error-text.ts";
import { trimmedEnd } from "../../../core/trimming.ts";
import { readCertificates } from "../../../proto/pem/pem-text.ts";

/** What is sent to a collector. */
export type Signal = "traces" | "metrics" | "logs";

/** How often something was sent, and how often it was not. */
export class ChannelTally {
  sent = 0;
  dropped = 0;
}

/** Who sends one signal to the collector, at most four calls at a time: what comes beyond that is dropped and counted. */
export interface Channel<T> {
  /** @param count how many items there are in it */
  send(items: T, count: number): void;
  /** Resolves when what is under way has arrived or was given up. */
  flush(): Promise<void>;
  close(): void;
}

/** What a channel reports to. */
export interface ChannelListener {
  readonly tally: ChannelTally;
  onFailed(signal: Signal, error: string): void;
}

/**
 * Opens a channel.
 * @param otlp whose endpoint is the base of the collector
 * @throws where the packages cannot be loaded
 */
export async function openChannel<T>(
  signal: Signal,
  otlp: TelemetryConfig["otlp"],
  { tally, onFailed }: ChannelListener,
): Promise<Channel<T>> {
  const { createOtlpHttpExportDelegate, httpAgentFactoryFromOptions } = await import(
    "@opentelemetry/otlp-exporter-base/node-http"
  );
  const isTraces = signal === "traces";
  const [serializer, helper] = await (isTraces ? spanCodec(otlp.compression) : codecOf(signal));
  const headers: Record<string, string> = Object.fromEntries(otlp.headers);
  if (isTraces && otlp.compression === "gzip") headers["Content-Encoding"] = "gzip";
  const options = {
    url: `${trimmedEnd(otlp.endpoint, "/")}/v1/${signal}`,
    headers: async () => ({ ...headers, "Content-Type": "application/x-protobuf" }),
    timeoutMillis: otlp.timeoutMs,
    concurrencyLimit: MAX_CALLS,
    compression: isTraces ? "none" : otlp.compression,
    agentFactory: httpAgentFactoryFromOptions({
      keepAlive: true,
      ...(otlp.caFile === "" ? {} : { ca: readCertificates(readFileSync(otlp.caFile)).pem }),
    }),
    userAgent: "edge",
  };
  const delegate = createOtlpHttpExportDelegate<T, unknown>(
    options,
    serializer as ISerializer<T, unknown>,
    `otlp_http_${signal}`,
    helper as IExporterMetricsHelper<T>,
    undefined,
  );
  return {
    send(items, count) {
      delegate.export(items, ({ code, error }) => {
        if (code === SUCCESS) tally.sent += count;
        else {
          tally.dropped += count;
          onFailed(signal, reasonOf(messageOf(error ?? "the collector did not take it")));
        }
      });
    },
    flush: () => delegate.forceFlush(),
    close: () => void delegate.shutdown(),
  };
}

/** The package's word for calls beyond MAX_CALLS says nothing of the collector, for which the others wait. */
function reasonOf(error: string): string {
  return error === "Concurrent export limit reached"
    ? `the collector is away or slow: ${MAX_CALLS} calls wait for it`
    : error;
}

async function codecOf(signal: Signal): Promise<readonly [unknown, unknown]> {
  const library = await import("@opentelemetry/otlp-transformer");
  if (signal === "metrics") return [library.ProtobufMetricsSerializer, library.MetricsExporterMetricsHelper];
  return [library.ProtobufLogsSerializer, library.LogsExporterMetricsHelper];
}

/**
 * Spans come as the bytes of their message (`SpanEncoder`), which the next one takes the place of: what is sent is a copy. It is compressed
 * here at the level that takes a fifth of the time of the exporter's own.
 */
async function spanCodec(compression: string): Promise<readonly [unknown, unknown]> {
  const { ProtobufTraceSerializer: library, TraceExporterMetricsHelper: helper } = await import(
    "@opentelemetry/otlp-transformer"
  );
  const serializer: ISerializer<Uint8Array, unknown> = {
    serializeRequest: (bytes) =>
      compression === "gzip" ? Bun.gzipSync(bytes as Uint8Array<ArrayBuffer>, { level: 1 }) : bytes.slice(),
    deserializeResponse: (bytes) => library.deserializeResponse(bytes),
  };
  return [serializer, { name: helper.name, countItems: () => 1 }];
}

/** Calls under way at a time. */
const MAX_CALLS = 4;
const SUCCESS = 0;
