import { Fault } from "../../core/fault.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import { TimerNode, type TimerOwner } from "../../core/timer-wheel.ts";
import { type Exchange, ExchangeState } from "../../message/exchange.ts";
import type { GrpcCall, GrpcListener, GrpcMetadata, GrpcStatus } from "../../message/grpc-upstream.ts";
import type { ReplySource } from "../../message/ports.ts";
import { GrpcCode, httpStatusOf } from "../../proto/grpc/grpc-status.ts";
import type { ReadJson } from "../../proto/grpc/json-text.ts";
import type { CodecResult, CodecWaiter } from "./codec-source.ts";
import { errorJson, mediaType, prepareHead } from "./json-reply.ts";
import { MessagePump, type MessageTaker } from "./message-pump.ts";
import { type BodyLines, GivenMessages } from "./message-sources.ts";
import { type BytesReply, type MethodCodec, UndecodableReply } from "./method-codec.ts";
import { BadInput, LongMessage, type RequestInput } from "./request-input.ts";
import { requestMetadata } from "./request-metadata.ts";
import { isStreamOnly, PLAIN_BYTES, type StreamFormat, streamFormatOf } from "./stream-format.ts";
import type { TranscodeHandler } from "./transcode-handler.ts";

/**
 * One REST request on its way through a gRPC method.
 *
 *   Waiting (for the schema) ──▶ Calling ──one message, status──▶ answered
 *                                   └──messages──▶ Streaming ──status──▶ ended
 *
 * Where the method takes a stream, a pump moves its messages to the call meanwhile.
 *
 * It lets go of the exchange, which is pooled, as soon as one of the two is done with the other.
 */
export class TranscodedExchange implements ReplySource, GrpcListener, CodecWaiter, TimerOwner, MessageTaker {
  private ex: Exchange | null;
  private readonly handler: TranscodeHandler;
  private readonly input: RequestInput;
  private readonly format: StreamFormat;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly startedMs: number;
  private readonly timeoutMs: number;
  private codec: MethodCodec | null = null;
  private call: GrpcCall | null = null;
  private metadata: GrpcMetadata = [];
  /** The message that waits for the status, where the response is one message. */
  private message: Uint8Array | null = null;
  private isStreaming = false;
  private records = 0;
  private isCounted = false;
  private readonly lines: BodyLines | null;
  /** Moves the messages of a stream of requests; null where there is one request. */
  private pump: MessagePump | null = null;

  /**
   * @param timeoutMs from now to the end of the response
   * @param lines the body, where it is a stream of messages
   */
  constructor(
    ex: Exchange,
    handler: TranscodeHandler,
    input: RequestInput,
    timeoutMs: number,
    lines: BodyLines | null = null,
  ) {
    this.lines = lines;
    this.ex = ex;
    this.handler = handler;
    this.input = input;
    this.format = streamFormatOf(ex);
    this.startedMs = handler.services.turn.nowMs;
    this.timeoutMs = timeoutMs;
  }

  start(): void {
    const { services, codecs } = this.handler;
    this.ex!.source = this;
    services.wheel.arm(this.timer, this.startedMs + this.timeoutMs);
    const result = codecs.codec(this);
    if (result !== null) this.onCodec(result);
  }

  onCodec(result: CodecResult): void {
    const { ex } = this;
    if (ex === null) return;
    if (result.kind === "fault") return this.abort(result.fault);
    if (result.kind === "status") return this.refuse(result.status);
    const { codec } = result;
    this.codec = codec;
    if (this.lines !== null && codec.takesStream === false) return this.refuse(NOT_JSON, UNSUPPORTED_TYPE);
    if (this.lines !== null || codec.takesStream === true) return this.callWithStream(codec);
    const message = this.encoded(codec);
    if (message !== null) this.begin(codec, message);
  }

  private callWithStream(codec: MethodCodec): void {
    const source = this.lines ?? givenMessages(this.input, this.ex!.bodyBytes);
    const pump = new MessagePump(source, this, this.handler.services.defer);
    this.pump = pump;
    this.begin(codec, null);
    this.lines?.begin(() => pump.run());
    pump.run();
  }

  private encoded(codec: MethodCodec): Uint8Array | null {
    try {
      return codec.encode(this.input);
    } catch (error) {
      this.onPumpError(error);
      return null;
    }
  }

  private begin({ contentType }: MethodCodec, message: Uint8Array | null): void {
    const { handler } = this;
    const ex = this.ex!;
    const timeoutMs = this.timeoutMs - (handler.services.turn.nowMs - this.startedMs);
    ex.upstreamLabel = handler.upstream.label;
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

  // ── a stream of requests ──────────────────────────────────────────────────────────────────────────────────────

  takeMessage({ value, hasOddNumbers }: ReadJson): boolean {
    const { path, query } = this.input;
    return this.call!.send(this.codec!.encode({ path, query, body: value, hasOddNumbers }));
  }

  takeEnd(): void {
    this.call?.endRequests();
  }

  /** What the client has sent is no message: the call is given up. */
  onPumpError(error: unknown): void {
    if (error instanceof BadInput)
      this.endWith({ code: GrpcCode.InvalidArgument, message: error.message, details: null });
    else if (error instanceof LongMessage)
      this.endWith({ code: GrpcCode.ResourceExhausted, message: error.message, details: null }, TOO_LARGE);
    else throw error;
  }

  /** Before the call's handle is there, the pump has not begun. */
  onSendable(): void {
    if (this.call !== null) this.pump?.run();
  }

  private endWith(status: GrpcStatus, httpStatus: number = httpStatusOf(status.code)): void {
    if (this.ex === null) return;
    if (this.call !== null) this.count(httpStatus);
    if (this.isStreaming) this.endStream(status);
    else this.refuse(status, httpStatus);
  }

  // ── what the upstream does ────────────────────────────────────────────────────────────────────────────────────

  onMetadata(metadata: GrpcMetadata): void {
    this.metadata = metadata;
  }

  onMessage(message: Uint8Array): void {
    const streams = this.codec!.isStreaming ?? (this.isStreaming || this.message !== null || isStreamOnly(this.format));
    if (!streams) {
      if (this.message !== null) this.abort(Fault.UpstreamMalformed);
      this.message = message;
      return;
    }
    if (this.codec!.bytesOf !== undefined) return this.streamBytes(message);
    if (!this.isStreaming) this.startStream(this.format.contentType, this.format.opening);
    if (this.message !== null) this.writeMessage(this.message);
    this.message = null;
    this.writeMessage(message);
  }

  onEnd(status: GrpcStatus): void {
    const { ex } = this;
    if (ex === null) return;
    this.call = null;
    this.count(httpStatusOf(status.code));
    if (status.code === GrpcCode.Unimplemented) this.handler.codecs.onUnimplemented();
    if (this.isStreaming) this.endStream(status);
    else if (status.code !== GrpcCode.Ok) this.refuse(status);
    else if (this.codec!.isStreaming === true || (this.message === null && isStreamOnly(this.format))) {
      this.startEmpty();
      this.endStream(status);
    } else this.answer();
  }

  onFailure(fault: Fault): void {
    this.call = null;
    // An upstream that keeps to the deadline resets the stream before the timer here has come round.
    const { nowMs } = this.handler.services.turn;
    if (nowMs - this.startedMs >= this.timeoutMs) this.onTimer();
    else this.abort(fault);
  }

  onWritable(): void {
    this.call?.resume();
  }

  onCancelled(): void {
    this.count(CLIENT_CLOSED_STATUS);
    this.leave();
  }

  /** The deadline. */
  onTimer(): void {
    const { ex } = this;
    if (ex === null) return;
    this.count(httpStatusOf(GrpcCode.DeadlineExceeded));
    this.call?.cancel(true);
    this.call = null;
    if (ex.state === ExchangeState.Replying) this.abort(Fault.UpstreamTimeout);
    else this.refuse({ code: GrpcCode.DeadlineExceeded, message: "deadline exceeded", details: null });
  }

  // ── one message ───────────────────────────────────────────────────────────────────────────────────────────────

  private answer(): void {
    if (this.codec!.bytesOf !== undefined) return this.answerBytes();
    const json = this.message === null ? "{}" : this.decoded(this.message);
    if (json !== null) this.give(200, JSON_TYPE, Buffer.from(json, "utf8"));
  }

  private answerBytes(): void {
    const reply = this.message === null ? NO_BODY : this.bytesOf(this.message);
    if (reply !== null) this.give(200, mediaType(reply.contentType), Buffer.from(reply.data));
  }

  private refuse(status: GrpcStatus, httpStatus: number = httpStatusOf(status.code)): void {
    const json = errorJson(status, this.codec?.details(status) ?? []);
    this.give(httpStatus, JSON_TYPE, Buffer.from(json, "utf8"));
  }

  private give(status: number, contentType: string, body: Buffer): void {
    const ex = this.leave();
    if (ex === null) return;
    // The response is complete as it is given: events of the client no longer matter.
    ex.source = NO_SOURCE;
    const withBody = prepareHead(ex, status, contentType, body.length, this.metadata);
    ex.sink.head(ex);
    if (withBody && isOpen(ex)) ex.sink.body(ex, body, 0, body.length);
    if (isOpen(ex)) ex.sink.end(ex);
  }

  // ── many ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private startStream(contentType: string, opening: string): void {
    const { ex } = this;
    if (ex === null) return;
    this.isStreaming = true;
    const withBody = prepareHead(ex, 200, contentType, -1, this.metadata);
    ex.sink.head(ex);
    if (!withBody) this.endReply();
    else if (opening !== "") this.write(opening);
  }

  /** A stream without a message has ended well. */
  private startEmpty(): void {
    if (this.codec!.bytesOf === undefined) this.startStream(this.format.contentType, this.format.opening);
    else this.startStream(NO_BODY.contentType, "");
  }

  /** A stream of bodies is one body, piece by piece; the first says its type. */
  private streamBytes(message: Uint8Array): void {
    const reply = this.ex === null ? null : this.bytesOf(message);
    if (reply === null) return;
    if (!this.isStreaming) this.startStream(mediaType(reply.contentType), "");
    if (reply.data.length > 0) this.writeBytes(reply.data);
  }

  private writeMessage(message: Uint8Array): void {
    const json = this.ex === null ? null : this.decoded(message);
    if (json !== null) this.write(this.format.record(json, this.records++ === 0));
  }

  private endStream(status: GrpcStatus): void {
    if (this.ex === null) return;
    const format = this.codec!.bytesOf === undefined ? this.format : PLAIN_BYTES;
    const last =
      status.code === GrpcCode.Ok ? format.closing : format.error(errorJson(status, this.codec!.details(status)));
    // Never a clean end of a short body. docs/wire.md#after-a-refusal
    if (last === null) return this.abort(Fault.UpstreamUnavailable);
    if (last !== "") this.write(last);
    this.endReply();
  }

  private write(text: string): void {
    this.writeBytes(Buffer.from(text, "utf8"));
  }

  private writeBytes(bytes: Uint8Array): void {
    const { ex } = this;
    if (ex === null) return;
    if (!ex.sink.body(ex, bytes, 0, bytes.length)) this.call?.pause();
  }

  private endReply(): void {
    const ex = this.leave();
    if (ex !== null) ex.sink.end(ex);
  }

  // ── both ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private decoded(message: Uint8Array): string | null {
    return this.attempt(() => this.codec!.decode(message));
  }

  private bytesOf(message: Uint8Array): BytesReply | null {
    return this.attempt(() => this.codec!.bytesOf!(message));
  }

  /** @returns null where the message is none of its type, or has no JSON; then the exchange is over */
  private attempt<T>(read: () => T): T | null {
    try {
      return read();
    } catch (error) {
      if (error instanceof UndecodableReply || this.isStreaming) this.abort(Fault.UpstreamMalformed);
      else this.refuse({ code: GrpcCode.Internal, message: "the response cannot be written as JSON", details: null });
      return null;
    }
  }

  private abort(fault: Fault): void {
    this.count(FAULT_STATUS);
    const ex = this.leave();
    if (ex !== null) ex.sink.abort(ex, fault);
  }

  /** Both sides are done with each other. @returns the exchange, the first time */
  private leave(): Exchange | null {
    const { ex, call, handler } = this;
    this.ex = null;
    this.call = null;
    if (ex === null) return null;
    this.pump?.stop();
    handler.services.wheel.remove(this.timer);
    if (this.codec === null) handler.codecs.leave(this);
    call?.cancel();
    return ex;
  }

  private count(status: number): void {
    const { ex, handler } = this;
    if (this.isCounted || ex === null || this.codec === null) return;
    this.isCounted = true;
    ex.upstreamMs = handler.services.turn.nowMs - this.startedMs;
    handler.services.tally.upstreamAnswered(handler.upstream.label, status, ex.upstreamMs);
  }
}

/** The messages of a body that came whole: those of an array, else the body; without one, what path and query say. */
function givenMessages({ body, path, query, hasOddNumbers }: RequestInput, bytes: number): GivenMessages {
  const values = Array.isArray(body) ? body : body !== undefined || path.length + query.length > 0 ? [body] : [];
  return new GivenMessages(
    values.map((value) => ({ value: value!, hasOddNumbers })),
    bytes,
  );
}

function isOpen(ex: Exchange): boolean {
  return ex.state === ExchangeState.Open || ex.state === ExchangeState.Replying;
}

const NO_SOURCE: ReplySource = { onWritable(): void {}, onCancelled(): void {} };
const FAULT_STATUS = 502;
const UNSUPPORTED_TYPE = 415;
const TOO_LARGE = 413;
const NOT_JSON: GrpcStatus = {
  code: GrpcCode.InvalidArgument,
  message: "the body must be application/json",
  details: null,
};
const JSON_TYPE = "application/json";
const NO_BODY: BytesReply = { contentType: "application/octet-stream", data: new Uint8Array() };
