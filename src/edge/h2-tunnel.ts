import { randomBytes } from "node:crypto";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import type { BodyFlow, BodySink, Exchange, ResponseSource } from "../message/exchange.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import type { TunnelEnd } from "../message/ports.ts";
import { acceptOf } from "../proto/websocket/handshake.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import { TUNNEL_IDLE_MS } from "./limits.ts";

/** A stream that is a tunnel. */
export interface TunnelStream extends BodyFlow {
  readonly connection: { readonly ctx: ClientSocketPorts };
  /** Sends response bytes. @returns false when the source should hold */
  send(bytes: Uint8Array, from: number, to: number, isEnd: boolean): boolean;
  /** The response is complete; what waits goes first. */
  endResponse(): void;
}

/**
 * The client's end of a tunnel that is a stream: its DATA is the request's body, and what the origin sends is the response's.
 * RFC 8441 §5.
 */
export class H2Tunnel implements TunnelEnd, BodySink, ResponseSource, TimerOwner {
  private readonly stream: TunnelStream;
  private readonly ex: Exchange;
  private readonly origin: TunnelEnd;
  private readonly timer: TimerNode = new TimerNode(this);
  private over = false;

  constructor(stream: TunnelStream, ex: Exchange, origin: TunnelEnd) {
    this.stream = stream;
    this.ex = ex;
    this.origin = origin;
    ex.body = this;
    ex.source = this;
    this.touch();
  }

  /** Nothing has gone through for too long. */
  onTimer(): void {
    this.tunnelEnd();
  }

  // ── what the client does ──────────────────────────────────────────────────────────────────────────────────────

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.over) return;
    this.touch();
    if (!this.origin.tunnelWrite(bytes, from, to)) this.stream.pauseBody(ex);
  }

  onBodyEnd(): void {
    if (!this.over) this.origin.tunnelEnd();
  }

  onBodyFault(): void {
    this.lose();
  }

  onWritable(): void {
    if (!this.over) this.origin.tunnelWritable();
  }

  onCancelled(): void {
    this.lose();
  }

  // ── what the origin does ──────────────────────────────────────────────────────────────────────────────────────

  tunnelStart(): void {
    this.stream.resumeBody(this.ex);
  }

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.over || to === from) return true;
    this.touch();
    this.ex.sentBytes += to - from;
    return this.stream.send(bytes, from, to, false);
  }

  /** With one direction gone the other is of no use to the protocols that are tunnelled: both ends close. */
  tunnelEnd(): void {
    this.tunnelClose();
    this.origin.tunnelClose();
  }

  tunnelWritable(): void {
    if (!this.over) this.stream.resumeBody(this.ex);
  }

  tunnelClose(): void {
    if (this.over) return;
    this.stop();
    this.stream.endResponse();
  }

  private lose(): void {
    if (this.over) return;
    this.stop();
    this.origin.tunnelClose();
  }

  private stop(): void {
    this.over = true;
    this.stream.connection.ctx.wheel.remove(this.timer);
  }

  private touch(): void {
    const { wheel, turn } = this.stream.connection.ctx;
    wheel.arm(this.timer, turn.nowMs + TUNNEL_IDLE_MS);
  }
}

/** A fresh value for Sec-WebSocket-Key. RFC 6455 §4.1. */
export function newWebSocketKey(): string {
  return randomBytes(KEY_BYTES).toString("base64");
}

/** Whether an origin's response proves that it has understood the key. RFC 6455 §4.1. */
export function acceptsKey(headers: HeaderBlock, key: string): boolean {
  const wanted = acceptOf(key);
  for (let i = 0; i < headers.count; i++) {
    if (headers.nameText(i).toLowerCase() === "sec-websocket-accept") return headers.valueText(i) === wanted;
  }
  return false;
}

const KEY_BYTES = 16;
