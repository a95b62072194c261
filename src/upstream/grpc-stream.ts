import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { constants } from "node:http2";
import { Fault } from "../core/fault.ts";
import { H2_RUN_OUT_MS, MAX_GRPC_MESSAGE_BYTES } from "../core/limits.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../core/timer-wheel.ts";
import type { GrpcCall, GrpcListener, GrpcMetadata, GrpcStatus } from "../message/grpc-upstream.ts";
import { codeOfHttpStatus, GrpcCode, readStatus } from "../proto/grpc/grpc-status.ts";
import { FrameFault, MessageReader } from "../proto/grpc/message-frames.ts";

/** How a stream has ended. */
export interface StreamEnd {
  readonly id: number;
  /** RFC 9113 §7. */
  readonly code: number;
  /** Whether nothing of an answer has come and one is awaited, so that the call may be made again. */
  readonly isUntouched: boolean;
  /** Whether it was given up here. */
  readonly isOurs: boolean;
}

/** Who carries the stream. */
export interface StreamOwner {
  streamOver(stream: GrpcStream, end: StreamEnd): void;
  /**
   * Whether a stream may be reset now: too many resets count as an attack, and cost the other calls.
   * @param isEarly whether the upstream has said nothing of it
   */
  mayReset(isEarly: boolean): boolean;
  /** A call was given up without a reset. */
  onLeftAlone(): void;
  readonly nowMs: number;
  /** Runs what a socket event brings as a turn of its own; what it throws costs the call. */
  inTurn(work: () => void, onException: () => void): void;
  /** Why the connection is gone; Fault.None while it is there. */
  readonly lostBy: Fault;
}

/**
 * One gRPC call as an HTTP/2 stream. What the upstream says is judged when the stream is over: only then it is known
 * whether the trailers have come or the connection went. gRPC over HTTP/2, "Responses".
 */
export class GrpcStream implements GrpcCall, TimerOwner {
  private readonly wheel: TimerWheel;
  /** Only of a call that was given up. */
  private timer: TimerNode | null = null;
  private readonly owner: StreamOwner;
  private readonly stream: ClientHttp2Stream;
  private listener: GrpcListener | null;
  private readonly reader: MessageReader = new MessageReader(MAX_GRPC_MESSAGE_BYTES);
  private httpStatus = 0;
  private isGrpc = false;
  private status: GrpcStatus | null = null;
  /** Whether the status is the last that was said, as it must be: in the trailers, or in a head that is all. */
  private hasEnd = false;

  constructor(owner: StreamOwner, stream: ClientHttp2Stream, listener: GrpcListener, wheel: TimerWheel) {
    this.wheel = wheel;
    this.owner = owner;
    this.stream = stream;
    this.listener = listener;
    const turn = (work: () => void): void => this.owner.inTurn(work, () => this.fail(Fault.InternalError));
    stream.on("response", (headers, flags) => turn(() => this.onResponse(headers, flags)));
    stream.on("data", (bytes: Buffer) => turn(() => this.onData(bytes)));
    stream.on("trailers", (trailers) => turn(() => this.onTrailers(trailers)));
    // What an error means is told by the close that follows.
    stream.on("error", () => {});
    stream.on("close", () => turn(() => this.onClose()));
  }

  pause(): void {
    this.stream.pause();
  }

  resume(): void {
    this.stream.resume();
  }

  /** Whether it was given up, and runs out by itself. */
  get isLeftAlone(): boolean {
    return this.timer !== null;
  }

  cancel(): void {
    this.listener = null;
    this.reset();
  }

  private onResponse(headers: IncomingHttpHeaders & { ":status"?: number }, flags: number): void {
    this.httpStatus = Number(headers[":status"] ?? 0);
    this.isGrpc = GRPC_TYPE.test(headers["content-type"] ?? "");
    this.status = readStatus((name) => textOf(headers[name]));
    this.hasEnd = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (this.listener !== null && this.isGrpc && this.httpStatus === 200) this.listener.onMetadata(metadataOf(headers));
  }

  private onData(bytes: Buffer): void {
    if (this.listener === null) return;
    // The body of an answer that is no gRPC is of no use; its status is.
    if (this.httpStatus !== 0 && !(this.isGrpc && this.httpStatus === 200)) return;
    const fault =
      this.httpStatus === 0
        ? FrameFault.BadFlag
        : this.reader.push(bytes, (message) => {
            this.listener?.onMessage(message);
            return this.listener !== null;
          });
    if (fault !== FrameFault.None) this.fail(Fault.UpstreamMalformed);
  }

  private onTrailers(trailers: IncomingHttpHeaders): void {
    this.status = readStatus((name) => textOf(trailers[name])) ?? this.status;
    this.hasEnd = true;
  }

  private onClose(): void {
    const { listener, stream } = this;
    const code = stream.rstCode ?? constants.NGHTTP2_NO_ERROR;
    if (this.timer !== null) this.wheel.remove(this.timer);
    const isOurs = listener === null;
    this.owner.streamOver(this, { id: stream.id ?? 0, code, isUntouched: this.httpStatus === 0 && !isOurs, isOurs });
    if (this.listener === null) return;
    this.listener = null;
    const isWhole = this.hasEnd || (this.owner.lostBy === Fault.None && code === constants.NGHTTP2_NO_ERROR);
    if (this.status !== null && isWhole && this.reader.isBetweenMessages) listener!.onEnd(this.status);
    else if (!this.reader.isBetweenMessages) listener!.onFailure(Fault.UpstreamMalformed);
    else if (this.owner.lostBy !== Fault.None) listener!.onFailure(this.owner.lostBy);
    // The connection is there, so it is this call that was cut.
    else if (this.httpStatus === 0 || code !== constants.NGHTTP2_NO_ERROR) listener!.onFailure(Fault.UpstreamMalformed);
    else listener!.onEnd(this.statusOfHttp());
  }

  /** Where no grpc-status has come, the HTTP status counts. docs/transcoder.md#errors */
  private statusOfHttp(): GrpcStatus {
    const { httpStatus } = this;
    const code = httpStatus === 200 ? GrpcCode.Unknown : codeOfHttpStatus(httpStatus);
    return {
      code,
      message: httpStatus === 200 ? "the upstream sent no status" : `HTTP status ${httpStatus}`,
      details: null,
    };
  }

  private fail(fault: Fault): void {
    const { listener } = this;
    this.listener = null;
    this.reset();
    listener?.onFailure(fault);
  }

  /** Hands the listener over to another attempt. */
  takeListener(): GrpcListener | null {
    const { listener } = this;
    this.listener = null;
    return listener;
  }

  /** The call has run out of the time that it had after it was given up. */
  onTimer(): void {
    if (this.owner.mayReset(false)) return this.close();
    this.wheel.arm(this.timer!, this.owner.nowMs + H2_RUN_OUT_MS / 10);
    this.owner.onLeftAlone();
  }

  /** Gives the stream up; where resets have become many it runs out by itself, and is reset only where it does not. */
  private reset(): void {
    // What is still in its buffer is discarded.
    this.stream.resume();
    if (this.timer !== null) return;
    if (this.owner.mayReset(this.httpStatus === 0)) return this.close();
    this.timer = new TimerNode(this);
    this.wheel.arm(this.timer, this.owner.nowMs + H2_RUN_OUT_MS);
    this.owner.onLeftAlone();
  }

  private close(): void {
    if (!this.stream.destroyed) this.stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** A field that came several times counts as its values in a row; of grpc-status that is then no number. */
function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

function metadataOf(headers: IncomingHttpHeaders): GrpcMetadata {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    if (name.startsWith(":") || value === undefined) return [];
    return Array.isArray(value) ? value.map((one) => [name, one]) : [[name, value]];
  });
}

const GRPC_TYPE = /^application\/grpc($|[+;])/i;
