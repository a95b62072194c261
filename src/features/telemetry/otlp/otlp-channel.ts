import { readFileSync } from "node:fs";
import { messageOf } from "../../../core/error-text.ts";
import { spreadWait } from "../../../core/spread-wait.ts";
import { trimmedEnd } from "../../../core/trimming.ts";
import { VERSION } from "../../../core/version.ts";
import { type OutboundResponse, outboundRequest } from "../../../net/outbound-request.ts";
import { readCertificates } from "../../../proto/pem/pem-text.ts";
import type { TelemetryConfig } from "../settings.ts";
import { rejectedOf } from "./messages.ts";

/** The items for a collector. */
export type OtlpSignal = "traces" | "metrics" | "logs";

/** How many items were sent, and how many were not. */
export interface ChannelTally {
  sent: number;
  dropped: number;
}

/** What a channel reports to. */
interface ChannelListener {
  readonly tally: ChannelTally;
  onFailed(signal: OtlpSignal, error: string): void;
}

/**
 * Sends one signal to the collector over HTTP, with at most four calls under way: what comes beyond that is dropped and counted. A call that
 * finds no collector, or a collector that asks for patience, is repeated within its time-out. docs/tracing.md#a-collector-that-is-away
 */
export class OtlpChannel {
  private readonly signal: OtlpSignal;
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly ca: string;
  private readonly timeoutMs: number;
  private readonly compresses: boolean;
  private readonly listener: ChannelListener;
  private readonly running: Set<Promise<void>> = new Set();

  /**
   * @param otlp whose endpoint is the base of the collector
   * @throws if the file of authorities cannot be read
   */
  constructor(signal: OtlpSignal, otlp: TelemetryConfig["otlp"], listener: ChannelListener) {
    this.signal = signal;
    this.listener = listener;
    this.url = `${trimmedEnd(otlp.endpoint, "/")}/v1/${signal}`;
    this.ca = otlp.caFile === "" ? "" : readCertificates(readFileSync(otlp.caFile)).pem;
    this.timeoutMs = otlp.timeoutMs;
    this.compresses = otlp.compression === "gzip";
    this.headers = {
      "User-Agent": `edge/${VERSION}`,
      ...Object.fromEntries(otlp.headers),
      "Content-Type": "application/x-protobuf",
      ...(this.compresses ? { "Content-Encoding": "gzip" } : {}),
    };
  }

  /**
   * Sends a request.
   * @param encode makes its message, if there is a call for it; the bytes may be used again afterwards
   * @param count how many items there are in it
   */
  send(encode: () => Uint8Array, count: number): void {
    if (this.running.size >= MAX_CALLS) {
      return this.dropped(count, `the collector is away or slow: ${MAX_CALLS} calls wait for it`);
    }
    const message = encode();
    // At the level that takes a fifth of the time of the usual one.
    const body = this.compresses ? Bun.gzipSync(message as Uint8Array<ArrayBuffer>, { level: 1 }) : message.slice();
    const call = this.call(body, count).finally(() => this.running.delete(call));
    this.running.add(call);
  }

  /** Resolves when what is under way has arrived or was given up. */
  async flush(): Promise<void> {
    await Promise.all(this.running);
  }

  private async call(body: Uint8Array, count: number): Promise<void> {
    try {
      const { count: rejected, why } = rejectedOf((await this.repeated(body)).body);
      const lost = Math.min(count, Math.max(0, rejected));
      this.listener.tally.sent += count - lost;
      if (lost > 0 || why !== "") this.dropped(lost, `the collector has not taken all: ${why}`);
    } catch (error) {
      this.dropped(count, messageOf(error));
    }
  }

  /** The collector's response to a request that it has taken. @throws why it has not */
  private async repeated(body: Uint8Array): Promise<OutboundResponse> {
    const untilMs = performance.now() + this.timeoutMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= PAUSE_GROWTH) {
      let wantedMs = 0;
      let reason: string;
      try {
        const response = await this.once(body, Math.max(1, untilMs - performance.now()));
        if (response.status >= 200 && response.status < 300) return response;
        reason = `the collector responds with HTTP status ${response.status}`;
        if (!REPEATED.has(response.status)) throw new RangeError(reason);
        wantedMs = 1000 * Number(response.headers.get("retry-after") ?? 0);
      } catch (error) {
        if (error instanceof RangeError) throw error;
        reason = messageOf(error);
      }
      const waitMs = wantedMs > 0 ? wantedMs : spreadWait(pauseMs, JITTER);
      if (performance.now() + waitMs > untilMs) throw new Error(reason);
      await Bun.sleep(waitMs);
    }
  }

  private once(body: Uint8Array, timeoutMs: number): Promise<OutboundResponse> {
    const { url, headers, ca } = this;
    return outboundRequest({
      url,
      method: "POST",
      headers,
      body,
      ca,
      timeoutMs,
      maxBytes: MAX_RESPONSE_BYTES,
      isDirect: true,
    });
  }

  private dropped(count: number, reason: string): void {
    this.listener.tally.dropped += count;
    this.listener.onFailed(this.signal, reason);
  }
}

/** Calls under way at a time. */
const MAX_CALLS = 4;
/** Of the response to a call, which is a number and one sentence at most. */
const MAX_RESPONSE_BYTES = 65_536;
/** A collector takes the same request later: the "Retryable Response Codes" of OTLP over HTTP. */
const REPEATED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Before a call is repeated for the first time, and by how much each further pause is longer. */
const FIRST_PAUSE_MS = 1000;
const PAUSE_GROWTH = 1.5;
const JITTER = 0.2;
