import type { ShownAddresses } from "../../core/address-mask.ts";
import type { StreamRecord } from "../../memory/stream-record.ts";
import { FIELD_CHARS } from "./line-formats.ts";
import { IsoTime, jsonText, jsonTextOrNull, type LogBatch } from "./log-batch.ts";
import type { LogThreshold } from "./log-level.ts";

/** What it asks its surroundings for; see AccessLogPorts. */
interface StreamLogPorts {
  readonly clock: { readonly nowMs: number };
  readonly random: () => number;
  readonly threshold: LogThreshold;
  readonly isApart: boolean;
  readonly addresses: ShownAddresses;
}

/** One line of JSON for a forwarded connection, event `stream`: where it goes and how many there are is as for `access`. */
export class StreamLog {
  private readonly batch: Pick<LogBatch, "add">;
  private readonly sample: number;
  private readonly ports: StreamLogPorts;
  private readonly isoTime = new IsoTime();

  /** @param sample share of the connections that are logged, 0 to 1 */
  constructor(batch: Pick<LogBatch, "add">, sample: number, ports: StreamLogPorts) {
    this.batch = batch;
    this.sample = sample;
    this.ports = ports;
  }

  write(line: StreamRecord): void {
    const { threshold, isApart, random, clock } = this.ports;
    if (!isApart && threshold.isQuiet) return;
    if (this.sample < 1 && !threshold.isVerbose && random() >= this.sample) return;
    this.batch.add(
      `{"time":"${this.isoTime.text(clock.nowMs)}","event":"stream"` +
        `,"route":${jsonText(line.route, FIELD_CHARS.label)}` +
        `,"protocol":"${line.protocol}"` +
        `,"client_ip":${jsonText(this.ports.addresses.of(line.clientIp), FIELD_CHARS.client_ip)}` +
        `,"host":${jsonTextOrNull(line.host, FIELD_CHARS.host)}` +
        `,"upstream":${jsonTextOrNull(line.target, FIELD_CHARS.label)}` +
        `,"bytes_in":${line.bytesIn},"bytes_out":${line.bytesOut}` +
        `,"duration_ms":${milliseconds(line.durationMs)}` +
        `,"upstream_ms":${line.connectMs < 0 ? "null" : milliseconds(line.connectMs)}` +
        `,"end":"${line.end}"}\n`,
    );
  }
}

function milliseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
