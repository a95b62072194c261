import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { MAX_FREE_EXCHANGES, MAX_GRPC_MESSAGE_BYTES } from "../core/limits.ts";
import { type BodyFlow, Exchange, type ResponseSink, type UpstreamCaller } from "../message/exchange.ts";
import type {
  GrpcCall,
  GrpcListener,
  GrpcMetadata,
  GrpcRequest,
  GrpcStatus,
  GrpcUpstream,
} from "../message/grpc-upstream.ts";
import { type HeaderBlock, HeaderId } from "../message/header-block.ts";
import type { TunnelEnd } from "../message/ports.ts";
import { Framing, Method } from "../message/request-head.ts";
import type { UpstreamFailure, UpstreamTimes } from "../message/upstream.ts";
import { codeOfHttpStatus, GrpcCode, readStatus, timeoutText } from "../proto/grpc/grpc-status.ts";
import { FrameFault, frameMessage, MessageReader } from "../proto/grpc/message-frames.ts";
import { H2OriginPool } from "./h2-origin-pool.ts";
import { MessageUnpacker, type UnpackListener } from "./message-unpacker.ts";
import type { OriginSettings, UpstreamSocketPorts } from "./origin-socket.ts";

/** Connections of one worker to one gRPC upstream; calls that they have no room for wait. */
export const MAX_GRPC_CONNECTIONS = 16;

/** How to reach an origin that speaks gRPC. */
interface GrpcOriginSettings extends OriginSettings {
  /** Put before the path of each call: "" or `/api`. */
  readonly basePath: string;
  /** For how long a connection may be made, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/**
 * One gRPC upstream of one worker: each call is a stream of the HTTP/2 connections that proxied exchanges use, whose rules
 * for connections, resets and waiting apply. docs/security.md#connections-to-origins
 */
export class GrpcOrigin implements GrpcUpstream {
  readonly settings: GrpcOriginSettings;
  readonly context: UpstreamSocketPorts;
  readonly label: string;
  readonly pool: H2OriginPool;
  readonly times: UpstreamTimes;
  private readonly isDrained: () => boolean;
  /** Exchanges that no call uses. */
  private readonly free: Exchange[] = [];

  /** @param isDrained whether calls fail as they do where the origin cannot be reached */
  constructor(settings: GrpcOriginSettings, context: UpstreamSocketPorts, isDrained: () => boolean = () => false) {
    this.settings = settings;
    this.isDrained = isDrained;
    this.context = context;
    this.label = settings.originKey;
    this.pool = new H2OriginPool({ ...settings, isHttp2: true, maxConnections: MAX_GRPC_CONNECTIONS }, context);
    // The call's deadline, which the caller keeps, bounds all else.
    this.times = { connectMs: settings.connectTimeoutMs, responseHeaderMs: 0, idleMs: 0 };
  }

  call(request: GrpcRequest, listener: GrpcListener): GrpcCall {
    const ex = this.free.pop() ?? new Exchange(this.context.idlePorts);
    const call = new OriginCall(this, ex, request, listener);
    if (this.isDrained()) call.onFailure(ex, DRAINED);
    else this.pool.send(ex, call);
    return call;
  }

  /** Takes an exchange back from a call that is over. */
  giveBack(ex: Exchange): void {
    if (this.free.length === MAX_FREE_EXCHANGES) return;
    ex.release();
    ex.reset(this.context.idlePorts);
    this.free.push(ex);
  }

  /** Closes connections as soon as they have no call. */
  close(): void {
    this.pool.close();
  }
}

const DRAINED: UpstreamFailure = {
  fault: Fault.NoHealthyTarget,
  detail: FaultDetail.None,
  sent: false,
  bodyTaken: false,
  answered: false,
  reused: false,
};

/**
 * One call as an exchange with the origin, of which it is both ends: it gives the request and takes the response. The
 * listener gets the status when the stream is over: only then it is certain which is the last. gRPC over HTTP/2, "Responses".
 */
class OriginCall implements GrpcCall, UpstreamCaller, ResponseSink, BodyFlow, UnpackListener {
  readonly times: UpstreamTimes;
  /** The connection is there, so it is this call that was cut. */
  readonly resetFault = Fault.UpstreamMalformed;
  private readonly origin: GrpcOrigin;
  /** Null once the call is over. */
  private ex: Exchange | null;
  private readonly listener: GrpcListener;
  private readonly lines: string;
  /** The one message of the request; null if they stream. */
  private readonly frame: Buffer | null;
  /** Frames of a stream that wait for the upstream to take them. */
  private unsent: Buffer[] = [];
  /** Whether the stream has asked for the request's body, and whether it takes more of it now. */
  private isOpen = false;
  private takesFrames = false;
  /** Whether the last message of a stream has been given, and whether the upstream has learned of the end. */
  private isComplete = false;
  private isEndTold = false;
  private readonly reader: MessageReader = new MessageReader(MAX_GRPC_MESSAGE_BYTES);
  /** Null if no message is compressed. */
  private unpacker: MessageUnpacker | null = null;
  /** What the response's head says of the status; null if it says nothing. */
  private status: GrpcStatus | null = null;
  private isGrpc = false;
  private hasMessages = false;
  /** Whether the response has ended while messages are unpacked. */
  private isWhole = false;
  private isPaused = false;
  /** Whether the stream is handing something over: it looks at the exchange again afterwards. */
  private isHanding = false;
  /** Whether the request has gone out on a stream, and whether that was the second. */
  private isBegun = false;
  private isRepeated = false;

  constructor(origin: GrpcOrigin, ex: Exchange, request: GrpcRequest, listener: GrpcListener) {
    this.origin = origin;
    this.times = origin.times;
    this.ex = ex;
    this.listener = listener;
    this.lines = linesOf(request, origin.settings);
    this.frame = request.message === null ? null : frameMessage(request.message);
    ex.request.method = Method.Post;
    if (this.frame === null) ex.request.framing = Framing.Chunked;
    else {
      ex.request.framing = Framing.Length;
      ex.request.contentLength = this.frame.length;
      ex.bodyBytes = this.frame.length;
      ex.bodyDone = true;
    }
    ex.sink = this;
    ex.flow = this;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    if (this.ex !== null && !this.isHanding && !this.isUnpacking) this.ex.source.onWritable(this.ex);
  }

  send(message: Uint8Array): boolean {
    const { ex } = this;
    if (ex === null || this.isComplete) return true;
    const frame = frameMessage(message);
    if (this.takesFrames) this.sendFrame(ex, frame);
    else this.unsent.push(frame);
    return this.takesFrames || this.ex === null;
  }

  endRequests(): void {
    const { ex } = this;
    if (ex === null || this.isComplete) return;
    this.isComplete = true;
    ex.bodyDone = true;
    if (this.isOpen) this.endStream(ex);
  }

  cancel(isOverdue = false): void {
    const { ex } = this;
    if (ex === null) return;
    this.ex = null;
    if (isOverdue) ex.body.onBodyFault(ex, Fault.UpstreamTimeout);
    ex.source.onCancelled(ex);
    if (!this.isHanding) this.origin.giveBack(ex);
  }

  // ── the request ───────────────────────────────────────────────────────────────────────────────────────────────

  requestBound(): number {
    return this.lines.length;
  }

  encodeRequest(_ex: Exchange, out: Buffer, at: number): number {
    this.isBegun = true;
    return at + out.latin1Write(this.lines, at);
  }

  pauseBody(): void {
    this.takesFrames = false;
  }

  /** One message is handed over at once: what the windows hold back waits in the stream. */
  resumeBody(ex: Exchange): void {
    if (this.frame === null) return this.resumeStream(ex);
    ex.body.onBody(ex, this.frame, 0, this.frame.length);
    ex.body.onBodyEnd(ex);
  }

  private resumeStream(ex: Exchange): void {
    this.isOpen = true;
    this.takesFrames = true;
    while (this.takesFrames && this.ex === ex && this.unsent.length > 0) this.sendFrame(ex, this.unsent.shift()!);
    if (this.ex !== ex) return;
    if (this.isComplete) this.endStream(ex);
    else if (this.takesFrames) this.listener.onSendable?.();
  }

  /** What the windows hold back goes first. */
  private endStream(ex: Exchange): void {
    if (this.unsent.length > 0 || this.isEndTold) return;
    this.isEndTold = true;
    ex.body.onBodyEnd(ex);
  }

  private sendFrame(ex: Exchange, frame: Buffer): void {
    ex.bodyBytes += frame.length;
    ex.body.onBody(ex, frame, 0, frame.length);
  }

  // ── the response ──────────────────────────────────────────────────────────────────────────────────────────────

  onResponseHead(ex: Exchange): void {
    const { headers, status } = ex.response;
    this.isGrpc = status === 200 && GRPC_TYPE.test(headers.valueOf(HeaderId.ContentType));
    this.status = statusIn(headers);
    if (!this.isGrpc) return;
    const coding = fieldIn(headers, "grpc-encoding");
    this.reader.takesPacked = coding === "gzip";
    this.hand(ex, () => this.listener.onMetadata(metadataOf(headers)));
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    // The body of a response that is not gRPC is of no use; its status is.
    if (this.isGrpc) this.hand(ex, () => this.take(bytes.subarray(from, to)));
    return !this.isPaused && !this.isUnpacking;
  }

  end(ex: Exchange): void {
    if (this.isUnpacking) {
      this.isWhole = true;
      return;
    }
    const { status, trailers } = ex.response;
    if (!this.reader.isBetweenMessages) return this.fail(ex, Fault.UpstreamMalformed);
    const last = (trailers === null ? null : statusIn(trailers)) ?? this.status ?? statusOfHttp(status);
    const fields = trailers === null ? [] : metadataOf(trailers);
    // What its messages have brought to the client leaves first: a stream that breaks there is cut, and not taken back.
    if (last.code !== GrpcCode.Ok && this.hasMessages) setImmediate(() => this.endLate(ex, last, fields));
    else this.finish(ex, () => this.listener.onEnd(last, fields));
  }

  private endLate(ex: Exchange, status: GrpcStatus, trailers: GrpcMetadata): void {
    const { turn, writers } = this.origin.context;
    if (this.ex === null) return;
    turn.begin();
    this.finish(ex, () => this.listener.onEnd(status, trailers));
    writers.flushAll();
  }

  abort(ex: Exchange, fault: Fault): void {
    this.fail(ex, this.reader.isBetweenMessages ? fault : Fault.UpstreamMalformed, ex.attempt.detail);
  }

  /** RFC 9113 §8.7: what the origin has not looked at is sent once more. */
  onFailure(ex: Exchange, failure: UpstreamFailure): void {
    const { fault, detail, sent, bodyTaken } = failure;
    const isKept = this.frame !== null || !bodyTaken;
    const isLeftOut = ex.attempt.noteLeftOut(failure);
    if (sent || !this.isBegun || (this.isRepeated && !isLeftOut) || !isKept) return this.fail(ex, fault, detail);
    if (!isLeftOut) this.isRepeated = true;
    this.isOpen = false;
    this.takesFrames = false;
    this.origin.pool.sendFresh(ex, this);
  }

  private take(bytes: Uint8Array): void {
    const fault = this.reader.push(bytes, (message, isPacked) => {
      this.hasMessages = true;
      if (isPacked || this.isUnpacking) this.unpack(message, isPacked);
      else this.listener.onMessage(message);
      return this.ex !== null;
    });
    if (fault !== FrameFault.None) this.breakOff();
  }

  private get isUnpacking(): boolean {
    return this.unpacker?.isBusy === true;
  }

  private unpack(message: Uint8Array, isPacked: boolean): void {
    this.unpacker ??= new MessageUnpacker(MAX_GRPC_MESSAGE_BYTES, this);
    this.unpacker.add(message, isPacked);
  }

  onUnpacked(message: Uint8Array): boolean {
    if (this.ex !== null) this.listener.onMessage(message);
    return this.ex !== null;
  }

  onUnpackFault(): void {
    this.breakOff();
  }

  /** All that had come has been handed on, after a while in which the stream was held. */
  onUnpackedAll(resume: () => void): void {
    const { ex } = this;
    const { turn, writers } = this.origin.context;
    if (ex === null) return;
    turn.begin();
    this.hand(ex, resume);
    if (this.ex === ex && !this.isUnpacking) {
      if (this.isWhole) this.end(ex);
      else if (!this.isPaused) ex.source.onWritable(ex);
    }
    writers.flushAll();
  }

  private breakOff(): void {
    if (this.ex === null) return;
    this.cancel();
    this.listener.onFailure(Fault.UpstreamMalformed);
  }

  /** Hands something to the listener in the midst of the stream. What the listener throws costs its call alone. */
  private hand(ex: Exchange, give: () => void): void {
    this.isHanding = true;
    try {
      give();
    } catch (error) {
      this.origin.context.onException(error);
      const isOver = this.ex === null;
      this.cancel();
      if (!isOver) this.listener.onFailure(Fault.InternalError);
    }
    this.isHanding = false;
    if (this.ex === null) this.origin.giveBack(ex);
  }

  /** The stream is over, and does not look at the exchange any more. */
  private finish(ex: Exchange, tell: () => void): void {
    this.ex = null;
    this.origin.giveBack(ex);
    try {
      tell();
    } catch (error) {
      this.origin.context.onException(error);
      this.listener.onFailure(Fault.InternalError);
    }
  }

  private fail(ex: Exchange, fault: Fault, detail = FaultDetail.None): void {
    this.finish(ex, () => this.listener.onFailure(fault, detail));
  }

  // Nothing of this comes from an origin of HTTP/2, or it means nothing to a call.
  fixed(): void {}
  interim(): void {}
  head(): void {}
  wantBody(): void {}
  onInterim(): void {}
  upgrade(_ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    return tunnel;
  }
  onUpgrade(_ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    return tunnel;
  }
}

/** The request's head in the form of HTTP/1.1, from which its header block is made. gRPC over HTTP/2, "Requests". */
function linesOf(request: GrpcRequest, { basePath, authority }: GrpcOriginSettings): string {
  let head = `POST ${basePath}${request.path} HTTP/1.1\r\nhost: ${authority}\r\nte: trailers\r\n`;
  head += `content-type: ${request.contentType}\r\ngrpc-timeout: ${timeoutText(request.timeoutMs)}\r\n`;
  head += "grpc-accept-encoding: gzip\r\n";
  for (const [name, value] of request.metadata) head += `${name}: ${value}\r\n`;
  return `${head}\r\n`;
}

/** If no grpc-status has come, the HTTP status counts. docs/transcoder.md#errors */
function statusOfHttp(status: number): GrpcStatus {
  return status === 200
    ? { code: GrpcCode.Unknown, message: "the upstream gave no status", details: null }
    : { code: codeOfHttpStatus(status), message: `HTTP status ${status}`, details: null };
}

/** The status in a header or trailer section; null if there is none. */
function statusIn(headers: HeaderBlock): GrpcStatus | null {
  return readStatus((name) => fieldIn(headers, name));
}

/** A field that comes several times counts as its values in a row; of grpc-status that is then no number. */
function fieldIn(headers: HeaderBlock, name: string): string | undefined {
  let text: string | undefined;
  for (let i = 0; i < headers.count; i++) {
    if (headers.nameText(i).toLowerCase() !== name) continue;
    text = text === undefined ? headers.valueText(i) : `${text}, ${headers.valueText(i)}`;
  }
  return text;
}

function metadataOf(headers: HeaderBlock): GrpcMetadata {
  const metadata: [string, string][] = [];
  for (let i = 0; i < headers.count; i++) metadata.push([headers.nameText(i).toLowerCase(), headers.valueText(i)]);
  return metadata;
}

const GRPC_TYPE = /^application\/grpc($|[+;])/i;
