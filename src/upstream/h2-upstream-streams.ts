import { Fault } from "../core/fault.ts";
import { H2_HEADER_TABLE_BYTES, H2_ORIGIN_STREAMS } from "../core/limits.ts";
import type { Exchange } from "../message/exchange.ts";
import { ReplyHead } from "../message/reply-head.ts";
import type { UpstreamCaller } from "../message/upstream.ts";
import { ErrorCode } from "../proto/h2/frame.ts";
import { openAll } from "../proto/h2/outflow.ts";
import { ResponseHeadReader } from "../proto/h2/response-head-reader.ts";
import type { SessionOwner } from "../proto/h2/session.ts";
import { TrailerReader } from "../proto/h2/trailer-reader.ts";
import { TurnQueue } from "../proto/h2/turn-queue.ts";
import { HpackDecoder } from "../proto/hpack/decoder.ts";
import { HpackEncoder } from "../proto/hpack/encoder.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import type { H2UpstreamConnection } from "./h2-upstream-connection.ts";
import type { H2UpstreamStream } from "./h2-upstream-stream.ts";

/** Streams are numbered up to here. RFC 9113 §5.1.1. */
const MAX_STREAM_ID = 0x7fffffff;

/** The streams of one connection to an origin: what frames do to them. */
export class H2UpstreamStreams implements SessionOwner {
  readonly encoder: HpackEncoder = new HpackEncoder();
  readonly heads: ResponseHeadReader = new ResponseHeadReader();
  private readonly connection: H2UpstreamConnection;
  private readonly decoder: HpackDecoder = new HpackDecoder(H2_HEADER_TABLE_BYTES);
  private readonly trailers: TrailerReader = new TrailerReader();
  private readonly byId: Map<number, H2UpstreamStream> = new Map();
  /** Those that wait for the connection. */
  private readonly waiting: Set<H2UpstreamStream> = new Set();
  /** Those whose answer has begun in the bytes that are being read. */
  private readonly begun: H2UpstreamStream[] = [];
  private readonly queue: TurnQueue = new TurnQueue();
  private nextId = 1;

  constructor(connection: H2UpstreamConnection) {
    this.connection = connection;
  }

  get size(): number {
    return this.byId.size + this.waiting.size;
  }

  /** How many there may be. */
  get limit(): number {
    const { session } = this.connection;
    const allowed = session === undefined ? H2_ORIGIN_STREAMS : session.peer.maxConcurrentStreams;
    return this.nextId > MAX_STREAM_ID ? 0 : Math.min(H2_ORIGIN_STREAMS, allowed);
  }

  /** Takes an exchange. */
  add(ex: Exchange, caller: UpstreamCaller, isOpen: boolean): void {
    const stream = this.connection.pool.takeStream();
    stream.begin(this.connection, ex, caller);
    if (isOpen) this.openOne(stream, this.nextId > 1);
    else this.waiting.add(stream);
  }

  /** The connection is open: what has waited begins. */
  openAll(): void {
    for (const stream of [...this.waiting]) if (this.waiting.delete(stream)) this.openOne(stream, false);
  }

  private openOne(stream: H2UpstreamStream, reused: boolean): void {
    const id = this.nextId;
    this.nextId += 2;
    this.byId.set(id, stream);
    stream.open(id, reused);
  }

  /** The stream is over. */
  forget(stream: H2UpstreamStream): void {
    if (!this.waiting.delete(stream)) this.byId.delete(stream.id);
    this.connection.pool.giveStream(stream);
    this.connection.settle();
  }

  /** Holds an answer's head until `announceAll`. */
  hold(stream: H2UpstreamStream): void {
    this.begun.push(stream);
  }

  /** All that has come is read: the answers that have begun in it, and are in order so far, go on to their clients. */
  announceAll(): void {
    const { begun } = this;
    for (let i = 0; i < begun.length; i++) begun[i]!.announce();
    begun.length = 0;
  }

  /** The connection is gone. */
  failAll(fault: Fault, sent: boolean): void {
    for (const stream of [...this.waiting, ...this.byId.values()]) stream.fail(fault, sent);
    this.queue.clear();
  }

  serveQueue(): void {
    this.queue.serve(this.connection, this.byId);
  }

  enqueue(stream: H2UpstreamStream): void {
    this.queue.add(stream);
  }

  isIdle(streamId: number): boolean {
    return streamId >= this.nextId || (streamId & 1) === 0;
  }

  onHeaderBlock(streamId: number, isEnd: boolean, bytes: Uint8Array, from: number, to: number): void {
    const { session } = this.connection;
    if (this.isIdle(streamId)) return session.fail(ErrorCode.ProtocolError);
    this.decoder.begin(bytes, from, to);
    const stream = this.byId.get(streamId);
    if (stream === undefined) {
      // We have given the stream up: its block is read for the table's sake.
      this.heads.read(this.decoder, new LineBuffer(), new ReplyHead());
      if (this.heads.isBroken) session.fail(ErrorCode.CompressionError);
    } else if (stream.awaitsHead) {
      const isGood = this.heads.read(this.decoder, stream.lines, stream.ex!.reply);
      if (this.heads.isBroken) session.fail(ErrorCode.CompressionError);
      else stream.onHead(isGood, isEnd);
    } else {
      const fault = this.trailers.read(this.decoder, stream.lines);
      if (this.trailers.isBroken) session.fail(ErrorCode.CompressionError);
      else stream.onTrailers(fault === Fault.None && isEnd, this.trailers.trailers);
    }
  }

  onData(streamId: number, bytes: Uint8Array, from: number, to: number, flowBytes: number, isEnd: boolean): void {
    const { session } = this.connection;
    // Each stream's own window bounds what is kept of it: a client that does not read must not hold up the others.
    session.credit(flowBytes);
    this.byId.get(streamId)?.onData(bytes, from, to, flowBytes, isEnd);
  }

  onStreamReset(streamId: number, code: ErrorCode): void {
    this.byId.get(streamId)?.onReset(code);
  }

  onStreamWindow(streamId: number, increment: number): void {
    const stream = this.byId.get(streamId);
    if (stream === undefined) return;
    if (stream.out.open(increment)) stream.onWindow();
    else this.connection.session.fail(ErrorCode.FlowControlError);
  }

  onConnectionWindow(): void {
    this.serveQueue();
  }

  onInitialWindow(delta: number): boolean {
    return openAll(this.byId, delta);
  }

  onPeerSettings(): void {
    this.encoder.setPeerTableSize(this.connection.session.peer.headerTableBytes);
  }

  /** RFC 9113 §6.8: streams beyond the last one have not been looked at, and may go elsewhere. */
  onGoAway(lastStreamId: number): void {
    this.connection.retire();
    for (const stream of [...this.byId.values()]) {
      if (stream.id > lastStreamId) stream.fail(Fault.UpstreamUnavailable, false);
    }
  }

  onSessionFault(code: ErrorCode): void {
    this.connection.onSessionFault(code);
  }
}
