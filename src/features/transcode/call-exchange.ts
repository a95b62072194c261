import { Fault } from "../../core/fault.ts";
import { FaultDetail } from "../../core/fault-detail.ts";
import { TimerNode, type TimerOwner } from "../../core/timer-wheel.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { GrpcCall, GrpcListener, GrpcMetadata, GrpcStatus } from "../../message/grpc-upstream.ts";
import { GrpcCode, httpStatusOf } from "../../proto/grpc/grpc-status.ts";
import type { ReadJson } from "../../proto/grpc/json-text.ts";
import type { CodecResult, CodecSourceOf, CodecWaiter } from "./codec-source.ts";
import type { FailedBeside, MessageOwner } from "./large-messages.ts";
import { type LargeText, MessagePump, type MessageSource, type MessageTaker } from "./message-pump.ts";
import type { MethodCodec } from "./method-codec.ts";
import { BadInput, LongMessage, type RequestInput } from "./request-input.ts";
import { requestMetadata } from "./request-metadata.ts";
import type { TranscodedMethod } from "./transcode-services.ts";

/** The request side of one call: from a REST request, or the messages that a client streams, to the upstream. */
export abstract class CallExchange implements GrpcListener, CodecWaiter, TimerOwner, MessageTaker {
  /** Null once the client and the call are done with each other. */
  protected ex: Exchange | null;
  protected readonly handler: TranscodedMethod;
  protected readonly input: RequestInput;
  protected codec: MethodCodec | null = null;
  /** What the codec was made of. */
  protected of: CodecSourceOf | null = null;
  protected call: GrpcCall | null = null;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly startedMs: number;
  private readonly timeoutMs: number;
  private isCounted = false;
  /** For its large messages; null while it has had none. */
  private owner: MessageOwner | null = null;
  /** Moves the messages of a stream of requests; null if there is one request. */
  protected pump: MessagePump | null = null;

  /** @param timeoutMs from now to the end of the response */
  constructor(ex: Exchange, handler: TranscodedMethod, input: RequestInput, timeoutMs: number) {
    this.ex = ex;
    this.handler = handler;
    this.input = input;
    this.startedMs = handler.services.turn.nowMs;
    this.timeoutMs = timeoutMs;
  }

  abstract onMetadata(metadata: GrpcMetadata): void;
  abstract onMessage(message: Uint8Array): void;
  abstract onEnd(status: GrpcStatus, trailers: GrpcMetadata): void;
  /** The deadline. */
  abstract onTimer(): void;
  /** The method is known: the call can begin. */
  protected abstract onMethod(codec: MethodCodec): void;
  protected abstract abort(fault: Fault): void;
  /** The gateway itself says how the call ends. */
  protected abstract endWith(status: GrpcStatus, httpStatus: number): void;

  onCodec(result: CodecResult): void {
    if (this.ex === null) return;
    if (result.kind === "fault") return this.abort(result.fault);
    if (result.kind === "status") return this.endWith(result.status, httpStatusOf(result.status.code));
    this.codec = result.codec;
    this.of = result.of;
    this.onMethod(result.codec);
  }

  onFailure(fault: Fault, detail: FaultDetail = FaultDetail.None): void {
    this.call = null;
    if (this.ex !== null) this.ex.attempt.detail = detail;
    // An upstream that keeps to the deadline resets the stream before the timer here has come round.
    const { nowMs } = this.handler.services.turn;
    if (nowMs - this.startedMs >= this.timeoutMs) this.onTimer();
    else this.abort(fault);
  }

  protected askForCodec(): void {
    const { services, codecs } = this.handler;
    services.wheel.arm(this.timer, this.startedMs + this.timeoutMs);
    const result = codecs.codec(this);
    if (result !== null) this.onCodec(result);
  }

  /** @param message null for a stream */
  protected begin({ contentType }: MethodCodec, message: Uint8Array | null): void {
    const { handler } = this;
    const ex = this.ex!;
    const timeoutMs = this.timeoutMs - (handler.services.turn.nowMs - this.startedMs);
    ex.attempt.upstreamLabel = handler.upstream.label;
    ex.attempt.begin(handler.services.turn.nowMs);
    // A message is there as a whole.
    if (message !== null) ex.attempt.bodyEndedMs = ex.attempt.beganMs;
    const request = {
      path: handler.settings.grpcMethod,
      contentType,
      metadata: requestMetadata(ex),
      message,
      timeoutMs,
    };
    const call = handler.upstream.call(request, this);
    // It may have failed at once.
    if (this.ex === null) call.cancel();
    else this.call = call;
  }

  /** Begins a call whose requests are a stream. The caller runs the pump. */
  protected beginStream(codec: MethodCodec, source: MessageSource): MessagePump {
    const pump = new MessagePump(source, this, this.handler.services.defer);
    this.pump = pump;
    this.begin(codec, null);
    return pump;
  }

  takeMessage({ value, hasOddNumbers }: ReadJson): boolean {
    const { path, query } = this.input;
    return this.call!.send(this.codec!.encode({ path, query, body: value, large: null, hasOddNumbers }));
  }

  /** Whose large messages these are: the rest of them ends with the exchange. */
  get messageOwner(): MessageOwner {
    this.owner ??= { client: this.ex!.clientIp, connection: this.ex!.client };
    return this.owner;
  }

  takeLarge({ bytes }: LargeText): void {
    this.handler.services.large.encode(this.messageOwner, this.of!, bytes, this.input, true, (result) => {
      const { call, pump } = this;
      // The client, or the call, may be gone.
      if (this.ex === null || call === null || pump === null) return;
      if (!result.ok) return this.onLargeFault(result);
      pump.release();
      if (call.send(result.bytes)) this.runPump();
    });
  }

  takeEnd(): void {
    this.call?.endRequests();
  }

  /** Before the call's handle is there, the pump has not begun. */
  onSendable(): void {
    if (this.call !== null) this.runPump();
  }

  /** There is room for messages, in a turn that the client has not begun. */
  protected runPump(): void {
    this.pump?.run();
  }

  /** Another thread could make no message of what the client has sent. */
  protected onLargeFault({ fault, message }: FailedBeside): void {
    if (fault === "input") this.onPumpError(new BadInput(message));
    else this.abort(Fault.BuffersFull);
  }

  /** What the client has sent is no message: the call is given up. */
  onPumpError(error: unknown): void {
    if (this.ex === null) return;
    const [code, httpStatus] =
      error instanceof BadInput ? BAD_INPUT : error instanceof LongMessage ? LONG_MESSAGE : UNEXPECTED;
    if (httpStatus === 0) throw error;
    if (this.call !== null) this.count(httpStatus);
    this.endWith({ code, message: (error as Error).message, details: null }, httpStatus);
  }

  /** The upstream has ended the call: it takes no more messages, though some of its own may still be written. */
  protected endCall(): void {
    this.call = null;
    this.pump?.stop();
  }

  /** Gives the call up whose deadline is over. */
  protected giveUpOverdue(): void {
    this.count(httpStatusOf(GrpcCode.DeadlineExceeded));
    this.call?.cancel(true);
    this.call = null;
  }

  /** Both sides are done with each other. @returns the exchange, the first time */
  protected leave(): Exchange | null {
    const { ex, call, handler } = this;
    this.ex = null;
    this.call = null;
    if (ex === null) return null;
    this.pump?.stop();
    if (this.owner !== null) handler.services.large.leave(this.owner);
    handler.services.wheel.remove(this.timer);
    if (this.codec === null) handler.codecs.leave(this);
    call?.cancel();
    return ex;
  }

  protected count(status: number): void {
    const { ex, handler } = this;
    if (this.isCounted || ex === null || this.codec === null) return;
    this.isCounted = true;
    ex.attempt.upstreamMs = handler.services.turn.nowMs - this.startedMs;
    ex.attempt.end(handler.services.turn.nowMs);
    handler.services.tally.upstreamAnswered(handler.upstream.label, status, ex.attempt.upstreamMs);
  }
}

/** The statuses of gRPC and of HTTP for what a client may get wrong. */
const BAD_INPUT = [GrpcCode.InvalidArgument, 400] as const;
const LONG_MESSAGE = [GrpcCode.ResourceExhausted, 413] as const;
/** None: a mistake of the gateway's own. */
const UNEXPECTED = [GrpcCode.Internal, 0] as const;
