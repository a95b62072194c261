import type { ControlService, Prepared } from "../../../core/control-service.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventRows } from "../../../core/event-row.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { VERSION } from "../../../core/version.ts";
import { createSpanRings, SpanReader, type StoredSpan } from "../../../memory/span-ring.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { EventLog } from "../event-log.ts";
import type { TELEMETRY_EVENTS } from "../events.ts";
import { Exemplars } from "../exemplars.ts";
import { TELEMETRY_METRICS } from "../metrics.ts";
import type { ChannelTally, OtlpChannel, OtlpSignal } from "../otlp/otlp-channel.ts";
import type { OtlpSender } from "../otlp/sender.ts";
import { SpanEncoder } from "../otlp/span-encoder.ts";
import type { TelemetryConfig } from "../settings.ts";
import { recordsSpans } from "../tracing.ts";

/** The part of each configuration's message that is about spans: a ring for each worker; none if nothing records any. */
interface SharedSpans {
  readonly spans: readonly SharedArrayBuffer[];
}

/** What the export asks the control thread for. */
export interface ExportPorts {
  readonly workers: number;
  readonly startedAtMs: number;
  /** All metrics of the gateway. */
  readonly metrics: () => readonly Metric[];
  /** All events of the gateway: lines are sent with their levels. */
  readonly rows: EventRows;
  readonly events: Pick<EventLog<typeof TELEMETRY_EVENTS>, "eventOf">;
}

/** The channels of a configuration; null for what it does not ask for. */
interface Channels {
  readonly sender: OtlpSender;
  readonly traces: TraceChannel | null;
  readonly metrics: OtlpChannel | null;
  readonly logs: OtlpChannel | null;
  readonly messages: Messages;
}

/** Spans on their way to the collector. */
interface TraceChannel {
  readonly channel: OtlpChannel;
  readonly encoder: SpanEncoder;
}

/** What makes messages of metrics and lines. */
interface Messages {
  readonly metricsRequest: typeof import("../otlp/metric-data.ts").metricsRequest;
  readonly logsRequest: typeof import("../otlp/log-data.ts").logsRequest;
}

/** Sends spans, metrics and lines of the log to a collector, from the control thread. docs/tracing.md */
export class TelemetryExport implements ControlService<RuntimeConfig> {
  /** Memory for spans, one ring a worker; none until a configuration asks for it. */
  rings: readonly SharedArrayBuffer[] = [];
  readonly exemplars: Exemplars = new Exemplars();
  private readonly ports: ExportPorts;
  private readonly tallies: Readonly<Record<OtlpSignal, ChannelTally>> = {
    traces: { sent: 0, dropped: 0 },
    metrics: { sent: 0, dropped: 0 },
    logs: { sent: 0, dropped: 0 },
  };
  private readers: readonly SpanReader[] = [];
  private channels: Channels | null = null;
  /** Of the configuration in use; what was opened for another one is closed. */
  private used: TelemetryConfig | null = null;
  private lines: string[] = [];
  private looks = 0;
  /** The look at which spans were last sent. */
  private spansSentAt = 0;
  private takesLines = false;
  private timers: readonly NodeJS.Timeout[] = [];

  constructor(ports: ExportPorts) {
    this.ports = ports;
  }

  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedSpans } {
    return { fields: { spans: this.ringsFor(config) } };
  }

  /** The memory that a configuration needs for spans. */
  private ringsFor(config: RuntimeConfig): readonly SharedArrayBuffer[] {
    if (this.rings.length === 0 && recordsSpans(config)) {
      this.rings = createSpanRings(this.ports.workers);
      this.readers = this.rings.map((ring) => new SpanReader(ring));
    }
    return this.rings;
  }

  /** Takes up a configuration. What makes messages is loaded if it sends anything. */
  use(config: RuntimeConfig): void {
    void this.take(config);
  }

  startFields(): SharedSpans {
    return { spans: this.rings };
  }

  private async take(config: RuntimeConfig): Promise<void> {
    const { telemetry } = config;
    if (this.used !== null && Bun.deepEquals(telemetry, this.used)) return;
    this.used = telemetry;
    this.ringsFor(config);
    this.takesLines = telemetry.enabled && telemetry.otlp.enabled && telemetry.otlp.logs;
    this.close();
    if (!telemetry.enabled || !telemetry.otlp.enabled) return;
    try {
      const channels = await this.open(telemetry);
      if (this.used !== telemetry) return;
      this.channels = channels;
      this.timers = [
        setInterval(() => this.look(), LOOK_MS),
        setInterval(() => this.sendMetrics(), telemetry.otlp.metricsIntervalMs),
      ];
    } catch (error) {
      this.failed("traces", messageOf(error));
    }
  }

  /** Takes lines of the log, each with its line break. */
  addLines(batch: string): void {
    if (!this.takesLines) return;
    const lines = batch.split("\n");
    for (const line of lines) {
      if (line === "") continue;
      if (this.lines.length >= MAX_LINES) this.tallies.logs.dropped++;
      else this.lines.push(line);
    }
  }

  /** What has been sent and what has not, and why. */
  metrics(): readonly Metric[] {
    const rows = () =>
      Object.entries(this.tallies).flatMap(([signal, { sent, dropped }]) => [
        { value: sent, labels: { signal, result: "sent" } },
        { value: dropped, labels: { signal, result: "dropped" } },
      ]);
    return [
      metricOf(TELEMETRY_METRICS, "gateway_telemetry_items_total", () => (this.used?.enabled === true ? rows() : [])),
    ];
  }

  /** Sends what is left. */
  async stop(): Promise<void> {
    const { channels } = this;
    if (channels === null) return;
    this.takeSpans(true);
    this.sendAllLines(true);
    this.sendMetrics();
    const all = [channels.traces?.channel, channels.metrics, channels.logs].map((channel) => channel?.flush());
    await Promise.race([Promise.all(all), new Promise((resolve) => setTimeout(resolve, DRAIN_MS))]);
  }

  private async open({ otlp, serviceName, resource }: TelemetryConfig): Promise<Channels> {
    const [{ OtlpChannel }, { metricsRequest }, { logsRequest }] = await Promise.all([
      import("../otlp/otlp-channel.ts"),
      import("../otlp/metric-data.ts"),
      import("../otlp/log-data.ts"),
    ]);
    const channelOf = (signal: OtlpSignal) =>
      new OtlpChannel(signal, otlp, {
        tally: this.tallies[signal],
        onFailed: (which, error) => this.failed(which, error),
      });
    const sender: OtlpSender = {
      resource: {
        "service.name": serviceName,
        "service.version": VERSION,
        "service.instance.id": crypto.randomUUID(),
        ...Object.fromEntries(resource),
      },
      scope: { name: "edge", version: VERSION },
    };
    return {
      sender,
      traces: otlp.traces.enabled ? { channel: channelOf("traces"), encoder: new SpanEncoder(sender) } : null,
      metrics: otlp.metrics ? channelOf("metrics") : null,
      logs: otlp.logs ? channelOf("logs") : null,
      messages: { metricsRequest, logsRequest },
    };
  }

  private close(): void {
    for (const timer of this.timers) clearInterval(timer);
    this.timers = [];
    const traces = this.channels?.traces ?? null;
    this.channels = null;
    if (traces !== null) this.sendSpans(traces);
  }

  private look(): void {
    this.looks++;
    this.takeSpans(this.looks - this.spansSentAt >= LOOKS_A_SEND);
    this.sendAllLines(this.looks % LOOKS_A_SEND === 0);
  }

  /**
   * Empties the rings. Spans that fill a message go at once, others a second after those before them: a call costs as much as hundreds of spans.
   * @param isDue whether what is left goes now
   */
  private takeSpans(isDue: boolean): void {
    const traces = this.channels?.traces ?? null;
    if (traces === null) return;
    for (const reader of this.readers) {
      this.tallies.traces.dropped += reader.takeDropped();
      reader.each(MAX_LOOK, (span) => this.addSpan(traces, span));
    }
    if (isDue) this.sendSpans(traces);
  }

  private sendAllLines(isDue: boolean): void {
    const { channels } = this;
    if (channels === null) return;
    while (this.lines.length >= (isDue ? 1 : BATCH)) this.sendLines(channels);
  }

  private addSpan(traces: TraceChannel, span: StoredSpan): void {
    this.exemplars.note(span);
    traces.encoder.add(span);
    if (traces.encoder.isFull) this.sendSpans(traces);
  }

  private sendSpans({ encoder, channel }: TraceChannel): void {
    const { count } = encoder;
    if (count === 0) return;
    this.spansSentAt = this.looks;
    const message = encoder.take();
    channel.send(() => message, count);
  }

  private sendLines({ logs, sender, messages }: Channels): void {
    const lines = this.lines.splice(0, BATCH);
    logs?.send(() => messages.logsRequest(lines, sender, this.ports.rows, Date.now()), lines.length);
  }

  private sendMetrics(): void {
    const { channels } = this;
    if (channels === null || channels.metrics === null) return;
    const { metrics, startedAtMs } = this.ports;
    const { sender, messages } = channels;
    channels.metrics.send(() => messages.metricsRequest(metrics(), sender, startedAtMs, Date.now()), 1);
  }

  private failed(signal: OtlpSignal, error: string): void {
    this.ports.events.eventOf(signal, "telemetry_failed", { signal, error, dropped: this.tallies[signal].dropped });
  }
}

/** How long the collector has at the end of the process. */
const DRAIN_MS = 1000;
/** How often rings are emptied. */
const LOOK_MS = 200;
/** Looks until what is less than a message or a batch is sent too. */
const LOOKS_A_SEND = 5;
/** Spans that one look takes from a ring: more than it holds. */
const MAX_LOOK = 1 << 14;
/** Lines of one call. */
const BATCH = 512;
/** Lines that wait for the next look. */
const MAX_LINES = 8192;
