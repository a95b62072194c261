import { Fault } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import { reasonOf } from "../../core/status.ts";
import { type Exchange, ExchangeState, type ResponseSink } from "../../message/exchange.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";

/** Bytes of a probe's response that are read and discarded beyond the kept data. docs/endpoints.md#proxy-test */
const PROBE_DRAIN_BYTES = 65536;

/** What came of a probe. docs/endpoints.md#proxy-test */
interface ProbeResult {
  readonly status_code: number;
  readonly status_text: string;
  readonly latency_ms: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly truncated: boolean;
}

/** Takes the response to a probe, up to a limit, in place of a client. */
export class ProbeSink implements ResponseSink {
  readonly returnsBytes = true;
  private readonly maxBytes: number;
  private readonly done: (result: ProbeResult) => void;
  private readonly keptBytes: KeptBytes = new KeptBytes();
  private readonly headers: Map<string, string> = new Map();
  private kept = 0;
  private beyond = 0;
  private over = false;

  /**
   * @param maxBytes of the body that are kept
   * @param done called once
   */
  constructor(maxBytes: number, done: (result: ProbeResult) => void) {
    this.maxBytes = maxBytes;
    this.done = done;
  }

  fixed(ex: Exchange, response: PrebuiltResponse): void {
    ex.response.status = response.status;
    for (const [name, value] of response.fields) this.addHeader(name, value);
    this.keep(response.body);
    this.finish(ex);
  }

  head(ex: Exchange): void {
    ex.state = ExchangeState.Replying;
    const { headers } = ex.response;
    for (let i = 0; i < headers.count; i++) this.addHeader(headers.nameText(i), headers.valueText(i));
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.keep(bytes.subarray(from, to));
    // A little more is read so that the connection can be kept; then the response is enough as it is. docs/endpoints.md#proxy-test
    if (this.beyond <= PROBE_DRAIN_BYTES) return true;
    const { source } = ex;
    this.finish(ex);
    source.onCancelled(ex);
    return true;
  }

  end(ex: Exchange): void {
    this.finish(ex);
  }

  /** A fault of the upstream is a result, not a failure of the call: it shows as its status. */
  abort(ex: Exchange, fault: Fault): void {
    ex.fault = fault;
    if (ex.state !== ExchangeState.Replying)
      ex.response.status = faultRow(fault).status || faultRow(Fault.UpstreamUnavailable).status;
    this.finish(ex);
  }

  interim(): void {}

  wantBody(): void {}

  /** A probe never asks for an upgrade. */
  upgrade(_ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    return tunnel;
  }

  private addHeader(name: string, value: string): void {
    const key = name.toLowerCase();
    const before = this.headers.get(key);
    this.headers.set(key, before === undefined ? value : `${before}, ${value}`);
  }

  private keep(bytes: Uint8Array): void {
    const room = Math.min(bytes.length, this.maxBytes - this.kept);
    if (room > 0) this.keptBytes.keep(bytes, 0, room);
    this.kept += room;
    this.beyond += bytes.length - room;
  }

  private finish(ex: Exchange): void {
    if (this.over) return;
    this.over = true;
    ex.state = ExchangeState.Finished;
    ex.endedMs = performance.now();
    // The target, the counters and the log are notified of the end of a probe as of that of any request.
    ex.pipeline.onEnd(ex);
    const { status } = ex.response;
    const latency = performance.now() - ex.startedMs;
    this.done({
      status_code: status,
      status_text: reasonOf(status),
      latency_ms: Math.round(latency * 1000) / 1000,
      headers: Object.fromEntries(this.headers),
      body: this.keptBytes.takeWhole().toString("utf8"),
      truncated: this.beyond > 0,
    });
  }
}
