import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { H2_HEADER_TABLE_BYTES } from "../core/limits.ts";
import { ResponseHead } from "../message/request-head.ts";
import { isFramingTrailer } from "../proto/h1/trailer-names.ts";
import { Allowance } from "../proto/h2/allowance.ts";
import { ErrorCode } from "../proto/h2/frame.ts";
import { ResponseHeadReader } from "../proto/h2/response-head-reader.ts";
import { openAll } from "../proto/h2/send-flow.ts";
import type { SessionOwner } from "../proto/h2/session.ts";
import { TrailerReader } from "../proto/h2/trailer-reader.ts";
import { TurnQueue } from "../proto/h2/turn-queue.ts";
import { HpackDecoder } from "../proto/hpack/decoder.ts";
import { HpackEncoder } from "../proto/hpack/encoder.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import { CancelRation } from "./cancel-ration.ts";
import type { H2UpstreamStream, StreamConnection, StreamSiblings } from "./h2-upstream-stream.ts";
import { H2_ORIGIN_STREAMS } from "./limits.ts";
import type { OriginSettings, UpstreamSocketPorts } from "./origin-socket.ts";

/** Milliseconds after which a stream that was given up without a reset is reset as soon as there may be one more. */
export const H2_RUN_OUT_MS = 10_000;
/** Streams that an origin resets on one connection, at once and a second, before new exchanges go over another. */
const H2_ORIGIN_RESET_BURST = 20;
const H2_ORIGIN_RESETS_PER_SECOND = 2;

/** Streams are numbered up to here. RFC 9113 §5.1.1. */
const MAX_STREAM_ID = 0x7fffffff;
const FIRST_STREAM_ID = 1;

/** The connection of the streams. */
export interface StreamsConnection extends StreamConnection {
  readonly nowMs: number;
  readonly pool: StreamsPool;
  /** Streams that were given up are watched, now that one is left alone. */
  armRunOut(): void;
  /** Many streams were given up here: new exchanges go over another connection, at a bounded rate. */
  moveOn(): void;
  /** Streams end badly here: new exchanges go over another connection. */
  wearOut(): void;
  /** A stream is over. */
  settle(): void;
  /** The origin has said what it takes. */
  onSettings(): void;
  /** The origin closes the connection. @param code NoError if nothing is wrong with it */
  onGoAway(code: ErrorCode): void;
  /** The session is over by the origin's fault. */
  onSessionFault(code: ErrorCode): void;
}

/** The connections of an origin, as the streams of one of them see them. */
export interface StreamsPool {
  readonly settings: OriginSettings;
  readonly context: UpstreamSocketPorts;
  /** Streams that a connection is given at most, after the origin has refused more on one a short while ago. */
  readonly learntLimit: number;
  /** The origin has refused a stream beyond so many. */
  learnLimit(streams: number): void;
  /** There may be room for what waits. */
  serve(): void;
}

/** The streams of one connection to an origin: what frames do to them. */
export class H2UpstreamStreams implements SessionOwner, StreamSiblings {
  readonly encoder: HpackEncoder = new HpackEncoder();
  readonly heads: ResponseHeadReader;
  private readonly connection: StreamsConnection;
  private readonly decoder: HpackDecoder = new HpackDecoder(H2_HEADER_TABLE_BYTES);
  private readonly trailers: TrailerReader = new TrailerReader(isFramingTrailer);
  private readonly byId: Map<number, H2UpstreamStream> = new Map();
  /** Those that were given up without a reset: they run out, and keep their places until then. */
  private readonly leftAlone: Map<number, LeftAlone> = new Map();
  private readonly ration = new CancelRation();
  private readonly resets = new Allowance(H2_ORIGIN_RESET_BURST, H2_ORIGIN_RESETS_PER_SECOND);
  /** How many the origin takes at a time, since it has refused another. */
  private ceiling = H2_ORIGIN_STREAMS;
  /** Those whose response has begun in the bytes that are being read. */
  private readonly begun: H2UpstreamStream[] = [];
  private readonly queue: TurnQueue = new TurnQueue();
  private nextId = FIRST_STREAM_ID;
  endsInOrder = false;

  constructor(connection: StreamsConnection) {
    this.connection = connection;
    this.heads = new ResponseHeadReader(connection.pool.settings.maxResponseFields);
  }

  /** Streams that have a place: those under way, and those that run out. */
  get size(): number {
    return this.byId.size + this.leftAlone.size;
  }

  /** Whether an exchange is under way on one of them. */
  get isBusy(): boolean {
    return this.byId.size > 0;
  }

  /** How many have been given up without a reset. */
  get running(): number {
    return this.leftAlone.size;
  }

  /** How many there may be. Until the origin's SETTINGS have come it is one, since they may say so. RFC 9113 §5.1.2. */
  get limit(): number {
    const { session, isSettled, pool } = this.connection;
    if (!isSettled) return 1;
    return this.nextId > MAX_STREAM_ID
      ? 0
      : Math.min(this.ceiling, pool.learntLimit, session.peer.maxConcurrentStreams);
  }

  /** Whether any exchange has begun here. */
  get isUsed(): boolean {
    return this.nextId > FIRST_STREAM_ID;
  }

  /** Begins a stream; there is room. */
  begin(stream: H2UpstreamStream): void {
    const id = this.nextId;
    this.nextId += 2;
    this.byId.set(id, stream);
    stream.open(this.connection, id, id > FIRST_STREAM_ID);
  }

  /** The origin has said how many streams it takes, or will not say. */
  onSettled(): void {
    this.ration.limit(this.connection.session.peer.maxConcurrentStreams);
    for (const [id, stream] of [...this.byId]) if (this.byId.get(id) === stream) stream.onSettled();
  }

  /** The stream is over. */
  forget(stream: H2UpstreamStream): void {
    this.byId.delete(stream.id);
  }

  /**
   * Gives up a stream. It is reset; where resets have become so many that the origin may take them for an attack and fail the
   * other streams, it runs out by itself. A request that is not whole never looks as if it were: its end is not sent.
   * docs/security.md#connections-to-origins
   * @param isEarly whether the origin has said nothing of it
   * @param isWhole whether all of the request has been sent
   */
  letGo(streamId: number, code: ErrorCode, isEarly: boolean, isWhole: boolean): void {
    const { connection, ration } = this;
    if (ration.spend(connection.nowMs, isEarly)) return connection.session.reset(streamId, code);
    this.leftAlone.set(streamId, { sinceMs: connection.nowMs, isWhole });
    if (this.leftAlone.size === 1) connection.armRunOut();
    if (ration.isSpent) connection.moveOn();
  }

  /** Resets what should have run out by now, as far as it may. */
  resetLeftAlone(): void {
    const { connection, ration } = this;
    for (const [id, { sinceMs }] of this.leftAlone) {
      if (connection.nowMs - sinceMs < H2_RUN_OUT_MS) return;
      if (!ration.spend(connection.nowMs, false)) return connection.moveOn();
      this.leftAlone.delete(id);
      connection.session.reset(id, ErrorCode.Cancel);
    }
  }

  /** The origin has reset a stream before its response was whole. */
  noteReset(streamId: number, code: ErrorCode): void {
    const { connection } = this;
    // A refusal after a GOAWAY says that the request came too late, and not how many streams the origin takes.
    if (this.endsInOrder && code === ErrorCode.RefusedStream) return;
    const isAngry = code === ErrorCode.EnhanceYourCalm;
    let isRefusing = false;
    if (code === ErrorCode.RefusedStream) {
      // Those that began later had not come yet when it was refused, and may be refused as well.
      const taken = countBelow(this.byId, streamId) + countBelow(this.leftAlone, streamId);
      isRefusing = taken === 0;
      // The first stream of a connection had none beside it: its refusal does not say how many are taken.
      if (streamId > FIRST_STREAM_ID) {
        this.ceiling = Math.max(1, Math.min(this.ceiling, taken));
        connection.pool.learnLimit(this.ceiling);
      }
    }
    if (isAngry || isRefusing || !this.resets.spend(connection.nowMs)) connection.wearOut();
  }

  /** Holds a response's head until `announceAll`. */
  hold(stream: H2UpstreamStream): void {
    this.begun.push(stream);
  }

  /** All that has come is read: the responses that have begun in it, and are in order so far, go on to their clients. */
  announceAll(): void {
    const { begun } = this;
    for (let i = 0; i < begun.length; i++) begun[i]!.announce();
    begun.length = 0;
  }

  /** The connection is gone. @param detailOf why, for a stream with the head of its response or without */
  failAll(fault: Fault, detailOf: (hasHead: boolean) => FaultDetail): void {
    this.leftAlone.clear();
    this.failWhere(
      () => true,
      (stream) => stream.fail(fault, detailOf(stream.hasHead), true),
    );
    this.queue.clear();
  }

  /** What fails may start anew at once, in the same object: what is no longer here is left alone. */
  private failWhere(isLost: (id: number) => boolean, fail: (stream: H2UpstreamStream) => void): void {
    for (const [id, stream] of [...this.byId]) if (isLost(id) && this.byId.get(id) === stream) fail(stream);
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
      if (isEnd) this.onAnswered(streamId);
      // We have given the stream up: its block is read for the table's sake.
      this.heads.read(this.decoder, new LineBuffer(), new ResponseHead());
      if (this.heads.isBroken) session.fail(ErrorCode.CompressionError);
    } else if (stream.awaitsHead) {
      const isGood = this.heads.read(this.decoder, stream.lines, stream.ex!.response);
      if (this.heads.isBroken) session.fail(ErrorCode.CompressionError);
      else stream.onHead(isGood, isEnd);
    } else {
      const fault = this.trailers.read(this.decoder, stream.lines);
      if (this.trailers.isBroken) session.fail(ErrorCode.CompressionError);
      else stream.onTrailers(fault === Fault.None && isEnd, this.trailers.trailers);
    }
  }

  onData(streamId: number, bytes: Uint8Array, from: number, to: number, flowBytes: number, isEnd: boolean): void {
    const stream = this.byId.get(streamId);
    if (stream !== undefined) stream.onData(bytes, from, to, flowBytes, isEnd);
    else if (isEnd) this.onAnswered(streamId);
  }

  onStreamReset(streamId: number, code: ErrorCode): void {
    const stream = this.byId.get(streamId);
    if (stream !== undefined) stream.onReset(code);
    else this.onRunOut(streamId);
  }

  /** A stream that was given up is answered: it is over where the request was whole, else the origin must reset it. */
  private onAnswered(streamId: number): void {
    if (this.leftAlone.get(streamId)?.isWhole === true) this.onRunOut(streamId);
  }

  /** A stream that was given up has ended by itself: its place is free for what waits. */
  private onRunOut(streamId: number): void {
    if (!this.leftAlone.delete(streamId)) return;
    this.connection.settle();
    this.connection.pool.serve();
  }

  onStreamWindow(streamId: number, increment: number): void {
    const stream = this.byId.get(streamId);
    if (stream === undefined) return;
    stream.noteTaken();
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
    const { connection } = this;
    this.encoder.setPeerTableSize(connection.session.peer.headerTableBytes);
    this.ceiling = H2_ORIGIN_STREAMS;
    this.ration.limit(connection.session.peer.maxConcurrentStreams);
    connection.onSettings();
  }

  /** RFC 9113 §6.8: streams beyond the last one have not been examined, and may go elsewhere. */
  onGoAway(lastStreamId: number, code: ErrorCode): void {
    this.connection.onGoAway(code);
    this.endsInOrder = code === ErrorCode.NoError && lastStreamId > 0;
    this.failWhere(
      (id) => id > lastStreamId,
      (stream) => stream.fail(Fault.UpstreamUnavailable, FaultDetail.H2GoAway, false, this.endsInOrder),
    );
    this.connection.pool.serve();
  }

  onSessionFault(code: ErrorCode): void {
    this.connection.onSessionFault(code);
  }
}

/** A stream that was given up and not reset. */
interface LeftAlone {
  readonly sinceMs: number;
  /** Whether the request went out whole. */
  readonly isWhole: boolean;
}

/** How many streams, in the order of their ids, began before this one. */
function countBelow(streams: ReadonlyMap<number, unknown>, streamId: number): number {
  let count = 0;
  for (const id of streams.keys()) if (id < streamId) count++;
  return count;
}
