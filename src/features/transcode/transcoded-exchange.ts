import { Fault } from "../../core/fault.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import type { Exchange, ResponseSource } from "../../message/exchange.ts";
import type { GrpcMetadata, GrpcStatus } from "../../message/grpc-upstream.ts";
import { GrpcCode, httpStatusOf } from "../../proto/grpc/grpc-status.ts";
import { CallExchange } from "./call-exchange.ts";
import { errorJson, give, mediaType, prepareHead, trailersFor } from "./json-response.ts";
import type { FailedBeside } from "./large-messages.ts";
import type { MessageSource } from "./message-pump.ts";
import { ArrayElements, type BodyLines, GivenMessages, LARGE_MESSAGE_BYTES } from "./message-sources.ts";
import { type BytesResponse, type MethodCodec, UndecodableResponse } from "./method-codec.ts";
import type { RequestInput } from "./request-input.ts";
import { ResponseMessages, type ResponseTaker } from "./response-messages.ts";
import { isStreamOnly, PLAIN_BYTES, type StreamFormat, streamFormatOf } from "./stream-format.ts";
import type { TranscodedMethod } from "./transcode-services.ts";

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
export class TranscodedExchange extends CallExchange implements ResponseSource, ResponseTaker {
  private readonly format: StreamFormat;
  private metadata: GrpcMetadata = [];
  private trailers: GrpcMetadata = [];
  /** The message that waits for the status, if the response is one message. */
  private message: Uint8Array | null = null;
  /** The messages of a stream, and how it has ended while some of them waited. */
  private responses: ResponseMessages | null = null;
  private lateEnd: GrpcStatus | null = null;
  /** Whether the client takes nothing more for now. */
  private isFull = false;
  private isStreaming = false;
  private records = 0;
  private readonly lines: BodyLines | null;

  /**
   * @param timeoutMs from now to the end of the response
   * @param lines the body, if it is a stream of messages
   */
  constructor(
    ex: Exchange,
    handler: TranscodedMethod,
    input: RequestInput,
    timeoutMs: number,
    lines: BodyLines | null = null,
  ) {
    super(ex, handler, input, timeoutMs);
    this.lines = lines;
    this.format = streamFormatOf(ex);
  }

  start(): void {
    this.ex!.source = this;
    this.askForCodec();
  }

  protected onMethod(codec: MethodCodec): void {
    const { lines, input } = this;
    if (lines !== null && codec.takesStream === false) return this.refuse(NOT_JSON, UNSUPPORTED_TYPE);
    if (lines !== null || codec.takesStream === true) {
      if (lines === null && input.large !== null) return this.splitLarge(codec, input.large);
      const pump = this.beginStream(codec, lines ?? givenMessages(input, this.ex!.bodyBytes));
      lines?.begin(() => pump.run());
      return pump.run();
    }
    if (input.large !== null) return this.encodeLarge(codec, input.large);
    let message: Uint8Array;
    try {
      message = codec.encode(input);
    } catch (error) {
      return this.onPumpError(error);
    }
    this.begin(codec, message);
  }

  /** Sends the messages of a large body, once all of it is known to be JSON. */
  private splitLarge(codec: MethodCodec, body: Uint8Array): void {
    this.handler.services.large.split(this.messageOwner, this.of!, body, (result) => {
      if (this.ex === null) return;
      if (!(result instanceof Uint32Array)) return this.onLargeFault(result);
      const source: MessageSource = new ArrayElements(body, result);
      this.beginStream(codec, source).run();
    });
  }

  private encodeLarge(codec: MethodCodec, body: Uint8Array): void {
    this.handler.services.large.encode(this.messageOwner, this.of!, body, this.input, false, (result) => {
      if (this.ex === null) return;
      if (result.ok) this.begin(codec, result.bytes);
      else this.onLargeFault(result);
    });
  }

  protected endWith(status: GrpcStatus, httpStatus: number): void {
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
    this.responses ??= new ResponseMessages(this.handler.services, this.of!, this);
    if (this.message !== null) this.responses.add(this.message);
    this.message = null;
    this.responses.add(message);
  }

  onEnd(status: GrpcStatus, trailers: GrpcMetadata): void {
    const { ex } = this;
    if (ex === null) return;
    this.trailers = trailers;
    this.endCall();
    this.count(httpStatusOf(status.code));
    if (status.code === GrpcCode.Unimplemented) this.handler.codecs.onUnimplemented();
    if (this.isStreaming) this.endStream(status);
    else if (status.code !== GrpcCode.Ok) this.refuse(status);
    else if (this.codec!.isStreaming === true || (this.message === null && isStreamOnly(this.format))) {
      this.startEmpty();
      this.endStream(status);
    } else this.answer();
  }

  onWritable(): void {
    this.isFull = false;
    if (this.responses?.isBehind !== true) this.call?.resume();
  }

  onCancelled(): void {
    this.count(CLIENT_CLOSED_STATUS);
    this.leave();
  }

  /** The deadline. */
  onTimer(): void {
    const { ex } = this;
    if (ex === null) return;
    this.giveUpOverdue();
    this.endWith(OVERDUE, httpStatusOf(OVERDUE.code));
  }

  // ── one message ───────────────────────────────────────────────────────────────────────────────────────────────

  private answer(): void {
    if (this.codec!.bytesOf !== undefined) return this.answerBytes();
    if (this.message !== null && this.message.length > LARGE_MESSAGE_BYTES) {
      return this.handler.services.large.decode(this.messageOwner, this.of!, this.message, (result) => {
        if (this.ex === null) return;
        if (result.ok) this.give(200, JSON_TYPE, Buffer.from(result.bytes));
        else this.onUnwritten(result);
      });
    }
    const json = this.message === null ? "{}" : this.decoded(this.message);
    if (json !== null) this.give(200, JSON_TYPE, Buffer.from(json, "utf8"));
  }

  private answerBytes(): void {
    const response = this.message === null ? NO_BODY : this.bytesOf(this.message);
    if (response !== null) this.give(200, mediaType(response.contentType), Buffer.from(response.data));
  }

  private refuse(status: GrpcStatus, httpStatus: number = httpStatusOf(status.code)): void {
    const json = errorJson(status, this.codec?.details(status) ?? []);
    this.give(httpStatus, JSON_TYPE, Buffer.from(json, "utf8"));
  }

  private give(status: number, contentType: string, body: Buffer): void {
    const { metadata } = this;
    const ex = this.leave();
    if (ex !== null) give(ex, status, contentType, body, metadata, this.trailers);
  }

  // ── many ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private startStream(contentType: string, opening: string): void {
    const { ex } = this;
    if (ex === null) return;
    this.isStreaming = true;
    const withBody = prepareHead(ex, 200, contentType, -1, this.metadata);
    ex.sink.head(ex);
    if (!withBody) this.endResponse();
    else if (opening !== "") this.write(opening);
  }

  /** A stream without a message has ended well. */
  private startEmpty(): void {
    if (this.codec!.bytesOf === undefined) this.startStream(this.format.contentType, this.format.opening);
    else this.startStream(NO_BODY.contentType, "");
  }

  /** A stream of bodies is one body, piece by piece; the first says its type. */
  private streamBytes(message: Uint8Array): void {
    const response = this.ex === null ? null : this.bytesOf(message);
    if (response === null) return;
    if (!this.isStreaming) this.startStream(mediaType(response.contentType), "");
    if (response.data.length > 0) this.writeBytes(response.data);
  }

  get isGone(): boolean {
    return this.ex === null;
  }

  onBehind(): void {
    this.call?.pause();
  }

  onCaughtUp(): void {
    if (this.lateEnd !== null) this.endStream(this.lateEnd);
    else if (!this.isFull) this.call?.resume();
  }

  writeMessage(message: Uint8Array): void {
    const json = this.ex === null ? null : this.decoded(message);
    if (json !== null) this.write(this.before() + json + this.format.after);
  }

  writeJson(json: Uint8Array): void {
    this.writeBytes(Buffer.concat([Buffer.from(this.before()), json, Buffer.from(this.format.after)]));
  }

  onUnwritten({ fault }: FailedBeside): void {
    if (fault === "busy") this.abort(Fault.BuffersFull);
    else this.onUnreadable(fault === "reply");
  }

  private before(): string {
    return this.records++ === 0 ? this.format.beforeFirst : this.format.before;
  }

  private endStream(status: GrpcStatus): void {
    if (this.ex === null) return;
    this.lateEnd ??= status;
    if (this.responses?.isBehind === true) return;
    const format = this.codec!.bytesOf === undefined ? this.format : PLAIN_BYTES;
    const last =
      status.code === GrpcCode.Ok ? format.closing : format.error(errorJson(status, this.codec!.details(status)));
    // Never a clean end of a short body. docs/wire.md#after-a-refusal
    if (last === null) {
      return this.abort(status.code === GrpcCode.DeadlineExceeded ? Fault.UpstreamTimeout : Fault.UpstreamUnavailable);
    }
    if (last !== "") this.write(last);
    this.endResponse();
  }

  private write(text: string): void {
    this.writeBytes(Buffer.from(text, "utf8"));
  }

  private writeBytes(bytes: Uint8Array): void {
    const { ex } = this;
    if (ex === null) return;
    if (ex.sink.body(ex, bytes, 0, bytes.length)) return;
    this.isFull = true;
    this.call?.pause();
  }

  private endResponse(): void {
    const ex = this.leave();
    if (ex === null) return;
    ex.response.trailers = trailersFor(ex, this.trailers);
    ex.sink.end(ex);
  }

  // ── both ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private decoded(message: Uint8Array): string | null {
    return this.attempt(() => this.codec!.decode(message));
  }

  private bytesOf(message: Uint8Array): BytesResponse | null {
    return this.attempt(() => this.codec!.bytesOf!(message));
  }

  /** @returns null if the message is none of its type, or has no JSON; then the exchange is over */
  private attempt<T>(read: () => T): T | null {
    try {
      return read();
    } catch (error) {
      this.onUnreadable(error instanceof UndecodableResponse);
      return null;
    }
  }

  private onUnreadable(isMalformed: boolean): void {
    if (isMalformed || this.isStreaming) this.abort(Fault.UpstreamMalformed);
    else this.refuse({ code: GrpcCode.Internal, message: "the response cannot be written as JSON", details: null });
  }

  protected abort(fault: Fault): void {
    this.count(FAULT_STATUS);
    const ex = this.leave();
    if (ex !== null) ex.sink.abort(ex, fault);
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

const FAULT_STATUS = 502;
const UNSUPPORTED_TYPE = 415;
const OVERDUE: GrpcStatus = { code: GrpcCode.DeadlineExceeded, message: "deadline exceeded", details: null };
const NOT_JSON: GrpcStatus = {
  code: GrpcCode.InvalidArgument,
  message: "the body must be application/json",
  details: null,
};
const JSON_TYPE = "application/json";
const NO_BODY: BytesResponse = { contentType: "application/octet-stream", data: new Uint8Array() };
