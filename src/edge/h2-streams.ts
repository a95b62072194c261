import { Fault } from "../core/fault.ts";
import { H2_HEADER_TABLE_BYTES } from "../core/limits.ts";
import { isForbiddenTrailer } from "../proto/h1/trailer-names.ts";
import { ErrorCode } from "../proto/h2/frame.ts";
import { RequestHeadReader } from "../proto/h2/request-head-reader.ts";
import { openAll } from "../proto/h2/send-flow.ts";
import type { SessionOwner } from "../proto/h2/session.ts";
import { TrailerReader } from "../proto/h2/trailer-reader.ts";
import { TurnQueue } from "../proto/h2/turn-queue.ts";
import { FieldEvent, HpackDecoder } from "../proto/hpack/decoder.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import type { Http2Settings } from "./client-socket.ts";
import { H2Stream, type H2StreamConnection } from "./h2-stream.ts";

/** Streams that we have reset and whose late frames are passed over. */
const H2_REMEMBERED_RESETS = 64;

/** The connection of the streams. */
export interface H2StreamsConnection extends H2StreamConnection {
  /** Whether no further stream is accepted. */
  readonly isGone: boolean;
  /** The session is over by the client's fault. */
  onSessionFault(code: ErrorCode): void;
  /** The last stream is over. */
  streamsOver(): void;
}

/** The streams of one connection: what frames do to them. RFC 9113 §5.1. */
export class H2Streams implements SessionOwner {
  /** Highest stream ID processed, refused ones included. */
  lastServedId = 0;
  /** The highest stream that has begun; after our GOAWAY none is served any more. */
  private lastId = 0;
  private readonly connection: H2StreamsConnection;
  private readonly maxStreams: number;
  private readonly decoder: HpackDecoder = new HpackDecoder(H2_HEADER_TABLE_BYTES);
  private readonly headReader: RequestHeadReader;
  private readonly trailerReader: TrailerReader = new TrailerReader(isForbiddenTrailer);
  private readonly byId: Map<number, H2Stream> = new Map();
  /** Streams that wait for the connection's window or for the kernel, in turn. */
  private readonly queue: TurnQueue = new TurnQueue();
  /** Streams that we have reset last. */
  private readonly resets: Int32Array = new Int32Array(H2_REMEMBERED_RESETS);
  private resetCount = 0;

  constructor(connection: H2StreamsConnection, settings: Http2Settings) {
    this.connection = connection;
    this.maxStreams = settings.maxConcurrentStreams;
    this.headReader = new RequestHeadReader(settings);
  }

  get size(): number {
    return this.byId.size;
  }

  isIdle(streamId: number): boolean {
    return streamId > this.lastId || (streamId & 1) === 0;
  }

  onHeaderBlock(streamId: number, isEnd: boolean, bytes: Uint8Array, from: number, to: number): void {
    this.decoder.begin(bytes, from, to);
    const stream = this.byId.get(streamId);
    if (stream !== undefined) this.takeTrailers(stream, isEnd);
    else if ((streamId & 1) === 0) this.fail(ErrorCode.ProtocolError);
    else if (streamId > this.lastId) this.openStream(streamId, isEnd);
    else if (this.remembers(streamId)) this.skipBlock();
    else this.fail(ErrorCode.StreamClosed);
  }

  onData(streamId: number, bytes: Uint8Array, from: number, to: number, flowBytes: number, isEnd: boolean): void {
    const stream = this.byId.get(streamId);
    if (stream === undefined) {
      if (!this.remembers(streamId)) this.fail(ErrorCode.StreamClosed);
    } else if (stream.incoming.isEnded) this.fail(ErrorCode.StreamClosed);
    else stream.onData(bytes, from, to, flowBytes, isEnd);
  }

  onStreamReset(streamId: number, _code: ErrorCode): void {
    const stream = this.byId.get(streamId);
    if (stream === undefined) return;
    stream.onCancelled();
    this.connection.session.noteReset();
  }

  onStreamWindow(streamId: number, increment: number): void {
    const stream = this.byId.get(streamId);
    if (stream === undefined) return;
    if (stream.out.open(increment)) stream.onWindow();
    else {
      stream.cut(ErrorCode.FlowControlError);
      this.connection.session.noteReset();
    }
  }

  onConnectionWindow(): void {
    this.serveQueue();
  }

  onInitialWindow(delta: number): boolean {
    return openAll(this.byId, delta);
  }

  onPeerSettings(): void {
    this.connection.heads.encoder.setPeerTableSize(this.connection.session.peer.headerTableBytes);
  }

  /** The client opens no further streams; those that are there end as ever. */
  onGoAway(): void {}

  onSessionFault(code: ErrorCode): void {
    this.connection.onSessionFault(code);
  }

  /** Sends what waits, each stream in its turn, as far as the connection's window and the kernel let it. */
  serveQueue(): void {
    this.queue.serve(this.connection, this.byId);
  }

  /** The stream waits for its turn. */
  enqueue(stream: H2Stream): void {
    this.queue.add(stream);
  }

  /** We have reset the stream: what the client had sent before it heard of it is passed over. */
  remember(streamId: number): void {
    this.resets[this.resetCount++ % H2_REMEMBERED_RESETS] = streamId;
  }

  /** The stream is closed. */
  forget(stream: H2Stream): void {
    this.byId.delete(stream.id);
    this.connection.ctx.streams.give(stream);
    if (this.byId.size === 0) this.connection.streamsOver();
  }

  /** The client has ended its direction; what can still be answered is. */
  endInput(): void {
    for (const stream of [...this.byId.values()]) if (this.byId.get(stream.id) === stream) stream.onClientEnd();
  }

  /** The client is gone: the handler stops. */
  dropAll(): void {
    for (const stream of [...this.byId.values()]) stream.onCancelled();
    this.queue.clear();
  }

  private openStream(streamId: number, isEnd: boolean): void {
    const { connection } = this;
    const { ctx } = connection;
    this.lastId = streamId;
    if (connection.isGone) {
      this.remember(streamId);
      this.skipBlock();
      return;
    }
    this.lastServedId = streamId;
    if (this.byId.size >= this.maxStreams) {
      this.refuse(streamId);
      return;
    }
    const stream = ctx.streams.take<H2Stream>() ?? new H2Stream(ctx.idlePorts);
    stream.begin(connection, streamId);
    const ex = stream.exchange;
    const fault = this.headReader.read(this.decoder, stream.lines, ex.request, isEnd);
    if (this.headReader.isBroken) {
      ctx.streams.give(stream);
      this.fail(ErrorCode.CompressionError);
      return;
    }
    const { opening } = connection.session;
    if (opening !== null && opening.text === "") opening.onRequest(this.headReader.pseudoPlaces(ex.request));
    this.byId.set(streamId, stream);
    ex.startedMs = ctx.turn.nowMs;
    if (fault === Fault.None && this.headReader.protocolTo > 0) stream.sink.askTunnel(this.headReader);
    stream.start(fault, isEnd);
  }

  /** RFC 9113 §5.1.2: one stream too many. */
  private refuse(streamId: number): void {
    const { session } = this.connection;
    this.skipBlock();
    session.reset(streamId, ErrorCode.RefusedStream);
    this.remember(streamId);
    session.noteReset();
  }

  /** RFC 9113 §8.1: a second block is trailers, and ends the stream. */
  private takeTrailers(stream: H2Stream, isEnd: boolean): void {
    if (stream.incoming.isEnded) return this.fail(ErrorCode.StreamClosed);
    const fault = this.trailerReader.read(this.decoder, stream.lines);
    if (this.trailerReader.isBroken) this.fail(ErrorCode.CompressionError);
    else if (!isEnd) this.fail(ErrorCode.ProtocolError);
    else stream.onTrailers(fault, this.trailerReader.trailers);
  }

  /** Decodes an unwanted block, to keep the table in step. */
  private skipBlock(): void {
    const lines = new LineBuffer();
    let event = this.decoder.next(lines);
    while (event === FieldEvent.Field) event = this.decoder.next(lines);
    if (event === FieldEvent.Failed) this.fail(ErrorCode.CompressionError);
  }

  private remembers(streamId: number): boolean {
    return this.resets.includes(streamId);
  }

  private fail(code: ErrorCode): void {
    this.connection.session.fail(code);
  }
}
