import type { QuicSession, QuicStream } from "node:quic";
import type { Fault } from "../core/fault.ts";
import { type ClientPeer, NO_CLIENT } from "../message/client-peer.ts";
import type { Exchange } from "../message/exchange.ts";
import type { RequestHead } from "../message/request-head.ts";
import { endSession, leaveSession, refuseSession } from "../net/quic.ts";
import type { RequestHeadReader } from "../proto/h2/request-head-reader.ts";
import type { TrailerReader } from "../proto/h2/trailer-reader.ts";
import type { FieldDictionary, FieldRecord } from "../proto/h3/field-dictionary.ts";
import type { LineBuffer } from "../proto/hpack/line-buffer.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import { GateVerdict, type IdleConnection } from "./connection-gate.ts";
import { H3HeadWait, H3Stream, type H3StreamSession } from "./h3-stream.ts";
import { IDLE_NEWCOMER_MS } from "./limits.ts";

/** For how long further first requests of an HTTP/3 connection may still be coming after one, and how long such connections are waited for at most. */
export const H3_FRESH_MS = 50;

/** How long an HTTP/3 connection counts as beginning, whose first request may be on its way. */
const H3_BEGINNING_MS = 150;
/** How long a handshake may take that is under way as the connection is left. */
const H3_LAST_HANDSHAKE_MS = 1000;

/** All connections of the port, as one of them sees them. */
export interface H3SessionEndpoint {
  readonly ctx: ClientSocketPorts;
  readonly headReader: RequestHeadReader;
  readonly trailerReader: TrailerReader;
  readonly dictionary: FieldDictionary;
  readonly observer: { onStreamOpen(): void; onStreamClose(): void };
  /** Names that have no HTTP/3 here; null if there are none. */
  readonly passed: { isPassed(name: string, listener: string): boolean } | null;
  /** The connection is over. */
  forget(session: H3Session): void;
  takeExchange(): Exchange;
  giveExchange(exchange: Exchange): void;
  /** Who is at the other end of a connection whose handshake is done; null if that may not be served. */
  peerOf(session: QuicSession): ClientPeer | null;
}

/** One HTTP/3 connection: its client and its requests. RFC 9114. */
export class H3Session implements IdleConnection, H3StreamSession {
  readonly endpoint: H3SessionEndpoint;
  readonly ctx: ClientSocketPorts;
  /** Known from the first request on. */
  peer: ClientPeer = NO_CLIENT;
  /** What requests wait for before they begin; null for nothing. */
  held: Promise<void> | null = null;
  private readonly session: QuicSession;
  private readonly streams: Set<H3Stream> = new Set();
  private beganMs: number;
  /** Whether the handshake is still under way. */
  private isShaking = true;
  private hasAsked = false;
  /** Since when there is no request; it counts if there is none. */
  private idleSinceMs: number;
  /** Whether the client has been told with GOAWAY. */
  private hasLeft = false;
  /** Whether it is refused as soon as its handshake is done. */
  private isRefused = false;
  private release: () => void = IGNORE;

  constructor(endpoint: H3SessionEndpoint, session: QuicSession) {
    this.endpoint = endpoint;
    this.ctx = endpoint.ctx;
    this.session = session;
    this.beganMs = this.ctx.turn.nowMs;
    this.idleSinceMs = this.beganMs;
    session.onstream = (stream) => this.onStream(stream);
    // What becomes of it is told by `closed`; without a listener the runtime reports an unhandled error.
    session.onerror = IGNORE;
    session.opened.then(({ servername }) => this.onOpened(servername), IGNORE);
    session.closed.catch(IGNORE).then(() => this.onClosed());
  }

  /**
   * Takes no further request; those that are there are answered, then the connection closes. RFC 9114 §5.2. One that has just
   * been made has time for its first request, which may be on its way; one whose handshake is under way is refused when that is done,
   * since the client may have no keys by which it could be told before.
   */
  leave(): void {
    if (this.isShaking) {
      if (!this.isRefused) setTimeout(() => this.close(), H3_LAST_HANDSHAKE_MS);
      this.isRefused = true;
    } else if (!this.hasAsked && this.isBeginning(this.ctx.turn.nowMs)) setTimeout(() => this.close(), H3_BEGINNING_MS);
    else this.close();
  }

  /**
   * Makes what comes from now on wait for `leave`. What a client sends before it has GOAWAY is rejected by the runtime, which knows
   * only the one that says where the requests end. A client that asks again when it has a response has nothing on its way then.
   */
  hold(): void {
    if (this.held !== null || this.hasLeft) return;
    this.held = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  idleMs(nowMs: number): number {
    if (this.isShaking || this.streams.size > 0) return -1;
    const idleMs = nowMs - this.idleSinceMs;
    return this.hasAsked || idleMs >= IDLE_NEWCOMER_MS ? idleMs : -1;
  }

  /** Its place is wanted: it is free at once, so that the next search finds another one. */
  closeIdle(): void {
    this.end();
    this.endpoint.forget(this);
  }

  /** Whether a request is in progress. */
  get isAnswering(): boolean {
    return this.streams.size > 0;
  }

  /** Whether the connection is in use: has a request, or is about to. */
  isBusy(nowMs: number): boolean {
    return this.isAnswering || this.isBeginning(nowMs);
  }

  /** Whether its handshake is under way, or the first request may be on its way. */
  isBeginning(nowMs: number): boolean {
    return this.isShaking || (!this.hasAsked && nowMs - this.beganMs < H3_BEGINNING_MS);
  }

  /** Whether it was made a moment ago, so that of its first requests only some may have come. */
  isFresh(nowMs: number): boolean {
    return nowMs - this.beganMs < H3_FRESH_MS;
  }

  /** Ends it at once, and tells the client, who would otherwise wait for responses until its own time is over. */
  end(): void {
    this.cut();
    endSession(this.session);
  }

  /** Ends its requests as if the client had gone. */
  cut(): void {
    for (const stream of this.streams) this.inTurn(stream, () => stream.onLost());
  }

  /** A stream is over. */
  forget(stream: H3Stream): void {
    if (!this.streams.delete(stream)) return;
    this.idleSinceMs = this.ctx.turn.nowMs;
    this.endpoint.giveExchange(stream.exchange);
    this.endpoint.observer.onStreamClose();
  }

  readHead(fields: FieldRecord, lines: LineBuffer, head: RequestHead, isEnd: boolean): Fault {
    const { dictionary, headReader } = this.endpoint;
    dictionary.begin(fields);
    const fault = headReader.read(dictionary, lines, head, isEnd);
    head.major = 3;
    return fault;
  }

  /** One event of the runtime: a turn. What escapes from it costs the stream. */
  inTurn(stream: H3Stream, work: () => void): void {
    const { turn, writers } = this.ctx;
    turn.begin();
    try {
      work();
    } catch (error) {
      stream.onException(error);
    }
    writers.flushAll();
  }

  /** Before the handshake is done, the runtime tells neither the address nor the name. */
  private onOpened(serverName: unknown): void {
    this.ctx.turn.begin();
    this.isShaking = false;
    this.beganMs = this.ctx.turn.nowMs;
    if (this.isRefused) return this.close();
    if (
      typeof serverName === "string" &&
      this.endpoint.passed?.isPassed(serverName.toLowerCase(), this.ctx.listener.name) === true
    )
      return refuseSession(this.session);
    const address = this.session.path?.remote.address ?? "";
    if (this.ctx.gate.takesAddress(this.session, address) !== GateVerdict.Taken) refuseSession(this.session);
  }

  private close(): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    // Its GOAWAY would leave the first request in, which may be on its way.
    if (!this.hasAsked) refuseSession(this.session);
    else void leaveSession(this.session, this.streams.size === 0);
    this.release();
    this.held = null;
  }

  private onStream(stream: QuicStream): void {
    stream.closed.catch(IGNORE);
    stream.onerror = IGNORE;
    // The runtime itself serves the control and QPACK streams.
    if (stream.direction !== "bidi") return;
    this.ctx.turn.begin();
    const wait = new H3HeadWait(this.ctx, stream);
    stream.closed.catch(IGNORE).then(() => wait.end());
    let request: H3Stream | null = null;
    stream.onheaders = (fields) => {
      wait.end();
      if (this.knowsPeer()) request = this.onRequest(stream, fields);
    };
    stream.ontrailers = (fields) => {
      if (request !== null) request.trailers = fields;
    };
  }

  /** @returns whether the client may be served; if not, its connection is closed */
  private knowsPeer(): boolean {
    if (this.peer !== NO_CLIENT) return true;
    const peer = this.endpoint.peerOf(this.session);
    if (peer === null) endSession(this.session);
    else this.peer = peer;
    return peer !== null;
  }

  private onRequest(stream: QuicStream, fields: FieldRecord): H3Stream {
    const request = new H3Stream(this, stream, this.endpoint.takeExchange());
    this.streams.add(request);
    this.hasAsked = true;
    this.endpoint.observer.onStreamOpen();
    const lost = () => this.inTurn(request, () => request.onLost());
    stream.onreset = lost;
    stream.closed.catch(IGNORE).then(lost);
    void request.receive(fields);
    return request;
  }

  private onClosed(): void {
    this.cut();
    this.ctx.gate.closed(this.session);
    this.endpoint.forget(this);
  }
}

const IGNORE = (): void => {};
