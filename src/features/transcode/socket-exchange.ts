import { Fault } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import { TimerNode } from "../../core/timer-wheel.ts";
import type { Exchange, ResponseSource } from "../../message/exchange.ts";
import type { GrpcStatus } from "../../message/grpc-upstream.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import { GrpcCode, httpStatusOf, nameOfStatus } from "../../proto/grpc/grpc-status.ts";
import { CloseCode, encodeClose, encodeWebSocketFrame, Opcode } from "../../proto/websocket/frames.ts";
import { acceptOf } from "../../proto/websocket/handshake.ts";
import { CallExchange } from "./call-exchange.ts";
import { errorJson, give } from "./json-response.ts";
import type { FailedBeside } from "./large-messages.ts";
import type { MethodCodec } from "./method-codec.ts";
import { RefusedMessage, type RequestInput } from "./request-input.ts";
import { ResponseMessages, type ResponseTaker } from "./response-messages.ts";
import { type SocketListener, SocketMessages } from "./socket-messages.ts";
import type { TranscodedMethod } from "./transcode-services.ts";

/** Milliseconds that a client has to close a WebSocket after the gateway has. */
const SOCKET_CLOSE_MS = 5000;

/**
 * A call whose messages go over a WebSocket, a JSON text each way. docs/transcoder.md#websockets
 *
 *   Waiting (for the schema) ──▶ Open ──status, fault, deadline──▶ Closing ──the client closes, or takes too long──▶ (over)
 *                                  └──the client closes or leaves──▶ (over)
 */
export class SocketExchange extends CallExchange implements TunnelEnd, ResponseSource, SocketListener, ResponseTaker {
  private readonly key: string;
  private readonly messages: SocketMessages;
  /** The client's end; null before the handshake, and when all is over. */
  private tunnel: TunnelEnd | null = null;
  /** Whether the client is stopped, since there is something that has not been read. */
  private isHolding = false;
  private isClosing = false;
  private pong: Uint8Array | null = null;
  /** The upstream's messages, and how it has ended while some of them waited. */
  private responses: ResponseMessages | null = null;
  private lateEnd: GrpcStatus | null = null;
  /** Whether the client takes nothing more for now. */
  private isFull = false;
  private readonly closing: TimerNode = new TimerNode({ onTimer: () => this.shut() });

  /** @param key of the handshake. For the others see CallExchange */
  constructor(ex: Exchange, handler: TranscodedMethod, input: RequestInput, timeoutMs: number, key: string) {
    super(ex, handler, input, timeoutMs);
    this.key = key;
    this.messages = new SocketMessages(ex, handler.settings.maxMessageBytes, this);
  }

  start(): void {
    this.ex!.source = this;
    this.askForCodec();
  }

  protected onMethod(codec: MethodCodec): void {
    if (codec.takesStream === false) return this.endWith(NO_STREAM, 400);
    const ex = this.ex!;
    const { response } = ex;
    response.status = 101;
    response.headers.resetOwn();
    response.headers.add("Upgrade", "websocket");
    response.headers.add("Sec-WebSocket-Accept", acceptOf(this.key));
    response.framing = Framing.None;
    this.tunnel = ex.sink.upgrade(ex, this);
    this.beginStream(codec, this.messages);
    // What the client has sent since its handshake comes now.
    this.tunnel?.tunnelStart();
  }

  // ── what the client does ──────────────────────────────────────────────────────────────────────────────────────

  tunnelStart(): void {}

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.tunnel === null) return true;
    this.messages.push(bytes, from, to);
    this.isHolding = false;
    this.read();
    this.isHolding = !this.messages.isEmpty;
    return !this.isHolding;
  }

  /** Without its direction a client cannot close in order: it has left. */
  tunnelEnd(): void {
    this.onLeft();
    this.shut();
  }

  tunnelWritable(): void {
    this.isFull = false;
    if (this.responses?.isBehind !== true) this.call?.resume();
  }

  tunnelClose(): void {
    this.tunnel = null;
    this.handler.services.wheel.remove(this.closing);
    this.onLeft();
  }

  onWritable(): void {}

  onCancelled(): void {
    this.tunnelClose();
  }

  onPing(payload: Uint8Array): void {
    // The last of several is answered. RFC 6455 §5.5.3.
    this.pong = payload;
  }

  onPeerClose(code: CloseCode | number): void {
    if (!this.isClosing) this.write(encodeClose(code === CloseCode.None ? CloseCode.Normal : code, ""));
    this.isClosing = true;
    this.onLeft();
    this.shut();
  }

  /** Anything after it means nothing: nothing is waited for. RFC 6455 §7.1.7. */
  onProtocolFault(code: CloseCode | number): void {
    this.onLeft();
    if (!this.isClosing) this.write(encodeClose(code, ""));
    this.isClosing = true;
    this.shut();
  }

  onDrained(): void {
    if (!this.isHolding) return;
    this.isHolding = false;
    this.tunnel?.tunnelWritable();
  }

  protected override runPump(): void {
    this.read();
  }

  private read(): void {
    if (this.ex !== null && !this.messages.isOver) this.pump!.run();
    if (this.ex !== null && this.messages.isOver && !this.messages.isEmpty) this.readRest();
    // After a close of our own the client's is waited for, and what comes before it is dropped.
    if (this.ex === null && this.tunnel !== null) this.messages.dropRest();
    const { pong } = this;
    this.pong = null;
    if (pong !== null && !this.isClosing) this.write(encodeWebSocketFrame(Opcode.Pong, pong));
  }

  private readRest(): void {
    try {
      this.messages.readRest();
    } catch (error) {
      this.onPumpError(error);
    }
  }

  private onLeft(): void {
    this.count(CLIENT_CLOSED_STATUS);
    this.leave();
  }

  // ── what the upstream does ────────────────────────────────────────────────────────────────────────────────────

  onMetadata(): void {}

  onMessage(message: Uint8Array): void {
    this.responses ??= new ResponseMessages(this.handler.services, this.of!, this);
    this.responses.add(message);
  }

  get isGone(): boolean {
    return this.ex === null;
  }

  writeMessage(message: Uint8Array): void {
    let json: string;
    try {
      json = this.codec!.decode(message);
    } catch {
      return this.abort(Fault.UpstreamMalformed);
    }
    this.writeJson(Buffer.from(json, "utf8"));
  }

  writeJson(json: Uint8Array): void {
    if (this.write(encodeWebSocketFrame(Opcode.Text, json))) return;
    this.isFull = true;
    this.call?.pause();
  }

  onUnwritten({ fault }: FailedBeside): void {
    this.abort(fault === "busy" ? Fault.BuffersFull : Fault.UpstreamMalformed);
  }

  onBehind(): void {
    this.call?.pause();
  }

  onCaughtUp(): void {
    if (this.lateEnd !== null) this.end(this.lateEnd);
    else if (!this.isFull) this.call?.resume();
  }

  onEnd(status: GrpcStatus): void {
    if (this.ex === null) return;
    this.endCall();
    this.count(httpStatusOf(status.code));
    if (status.code === GrpcCode.Unimplemented) this.handler.codecs.onUnimplemented();
    if (this.responses?.isBehind === true) this.lateEnd = status;
    else this.end(status);
  }

  /** The deadline. */
  onTimer(): void {
    if (this.ex === null) return;
    this.giveUpOverdue();
    this.endWith({ code: GrpcCode.DeadlineExceeded, message: "deadline exceeded", details: null }, 504);
  }

  override onPumpError(error: unknown): void {
    if (!(error instanceof RefusedMessage)) return super.onPumpError(error);
    if (this.ex !== null) this.ex.fault = error.fault;
    this.end({ code: GrpcCode.PermissionDenied, message: "refused by the firewall", details: null }, CloseCode.Refused);
  }

  protected abort(fault: Fault): void {
    const { ex } = this;
    if (ex === null) return;
    const row = faultRow(fault);
    this.count(row.status);
    if (this.tunnel === null) {
      this.leave();
      ex.sink.abort(ex, fault);
      return;
    }
    ex.fault = fault;
    const code = fault === Fault.UpstreamTimeout ? GrpcCode.DeadlineExceeded : GrpcCode.Unavailable;
    this.end({ code, message: row.label, details: null });
  }

  protected endWith(status: GrpcStatus, httpStatus: number): void {
    if (this.tunnel !== null) return this.end(status);
    const details = this.codec?.details(status) ?? [];
    const ex = this.leave();
    if (ex !== null) give(ex, httpStatus, "application/json", Buffer.from(errorJson(status, details), "utf8"), []);
  }

  /** Says how the call has ended: by the last message if it has failed, and by the code and reason of the close. */
  private end(status: GrpcStatus, code: CloseCode | number = closeCodeOf(status)): void {
    if (this.ex === null) return;
    const details = this.codec!.details(status);
    this.leave();
    if (status.code === GrpcCode.Ok) return this.close(code, "OK");
    const json = `{"error":${errorJson(status, details)}}`;
    this.write(encodeWebSocketFrame(Opcode.Text, Buffer.from(json, "utf8")));
    this.close(code, `${nameOfStatus(status.code)}: ${status.message}`);
  }

  /** @returns false when the upstream should hold */
  private write(frame: Buffer): boolean {
    return this.tunnel === null || this.tunnel.tunnelWrite(frame, 0, frame.length);
  }

  /** RFC 6455 §7.1.1: the client's close is waited for, though not for long. */
  private close(code: CloseCode | number, reason: string): void {
    this.isClosing = true;
    this.write(encodeClose(code, reason));
    const { wheel, turn } = this.handler.services;
    if (this.tunnel === null) return;
    wheel.arm(this.closing, turn.nowMs + SOCKET_CLOSE_MS);
    this.messages.dropRest();
    this.onDrained();
  }

  /** Closes the connection. */
  private shut(): void {
    const { tunnel } = this;
    this.tunnel = null;
    this.handler.services.wheel.remove(this.closing);
    tunnel?.tunnelClose();
  }
}

function closeCodeOf({ code }: GrpcStatus): number {
  return code === GrpcCode.Ok ? CloseCode.Normal : APPLICATION_CODES + Math.min(code, 999);
}

/** The codes that the protocol leaves to applications begin here. RFC 6455 §7.4.2. */
const APPLICATION_CODES = 4000;
const NO_STREAM: GrpcStatus = {
  code: GrpcCode.InvalidArgument,
  message: "the method takes one message: it needs no WebSocket",
  details: null,
};
