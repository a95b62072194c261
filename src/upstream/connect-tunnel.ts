import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import type { TimerOwner } from "../core/timer-wheel.ts";
import { type Exchange, ExchangeState, type ResponseSource } from "../message/exchange.ts";
import type { TunnelEnd } from "../message/ports.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import {
  type ConnectFailure,
  connectSocket,
  type OriginSettings,
  UpstreamLink,
  type UpstreamSocketOwner,
  type UpstreamSocketPorts,
} from "./origin-socket.ts";

/** How long a tunnel may take to be made, and may be silent. */
interface TunnelTimes {
  readonly connectMs: number;
  readonly idleMs: number;
}

/** The server's end of a tunnel that a CONNECT has asked for: a connection, and then bytes as they come. RFC 9110 §9.3.6, RFC 9113 §8.5 */
export class ConnectTunnel implements UpstreamSocketOwner, TunnelEnd, TimerOwner, ResponseSource {
  readonly requestId: string;
  readonly pool: UpstreamSocketOwner["pool"];
  private readonly ex: Exchange;
  private readonly link: UpstreamLink;
  private readonly times: TunnelTimes;
  private client: TunnelEnd | null = null;
  private isOver = false;

  constructor(ex: Exchange, settings: OriginSettings, context: UpstreamSocketPorts, times: TunnelTimes) {
    this.ex = ex;
    this.times = times;
    this.pool = { settings, context };
    this.link = new UpstreamLink(context, this);
    this.requestId = ex.response.requestId();
  }

  /** Begins; the client's bytes wait for the connection. */
  start(): void {
    const { ex, link, pool } = this;
    ex.source = this;
    if (!ex.bodyDone) ex.flow.pauseBody(ex);
    ex.attempt.upstreamLabel = pool.settings.originKey;
    link.arm(this.times.connectMs);
    link.dial = connectSocket(pool.settings, this);
  }

  onTimer(): void {
    if (this.client !== null) return this.closeBoth();
    this.fail({ fault: Fault.UpstreamTimeout, detail: FaultDetail.ConnectTimeout });
  }

  onNaming(isWaiting: boolean): void {
    this.link.arm(isWaiting ? 0 : this.times.connectMs);
  }

  onReached(): void {}

  onConnectFailed(failure: ConnectFailure): void {
    this.fail(failure);
  }

  onOpen(socket: ByteSocket): void {
    const { ex, link } = this;
    if (this.isOver) return void socket.terminate();
    link.open(socket, false);
    ex.response.status = 200;
    ex.response.withoutBody = true;
    this.client = ex.sink.upgrade(ex, this);
    this.touch();
    this.client.tunnelStart();
  }

  onData(chunk: Uint8Array): void {
    if (this.isOver || this.client === null) return;
    this.touch();
    if (!this.client.tunnelWrite(chunk, 0, chunk.length)) this.link.hold(chunk.length);
  }

  onEnd(): void {
    this.client?.tunnelEnd();
  }

  onDrain(): void {
    if (this.link.onDrain()) this.client?.tunnelWritable();
  }

  onClose(): void {
    if (this.client === null) return;
    const isNews = !this.isOver;
    this.isOver = true;
    this.link.close(true);
    if (isNews) this.client.tunnelClose();
  }

  onException(error: unknown): void {
    this.pool.context.onException(error);
    this.closeBoth();
  }

  // ── the client ──────────────────────────────────────────────────────────────────────────────────────

  tunnelStart(): void {}

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.isOver) return true;
    this.touch();
    return this.link.writer!.write(bytes, from, to);
  }

  tunnelEnd(): void {
    if (!this.isOver) this.link.endWriting();
  }

  tunnelWritable(): void {
    if (this.link.release()) this.touch();
  }

  tunnelClose(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.link.close(false);
  }

  onWritable(): void {}

  /** The client has left before there was a tunnel. */
  onCancelled(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.link.close(true);
  }

  private fail({ fault, detail }: ConnectFailure): void {
    if (this.isOver) return;
    this.isOver = true;
    this.link.close(true);
    const { ex } = this;
    if (ex.state !== ExchangeState.Open) return;
    ex.attempt.detail = detail;
    ex.sink.abort(ex, fault);
  }

  private closeBoth(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.link.close(false);
    this.client?.tunnelClose();
  }

  private touch(): void {
    if (!this.link.held) this.link.arm(this.times.idleMs);
  }
}
