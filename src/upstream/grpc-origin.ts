import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from "node:http2";
import { isIP } from "node:net";
import { Fault } from "../core/fault.ts";
import {
  GRPC_WINDOW_BYTES,
  H2_ORIGIN_CHURN_BURST,
  H2_ORIGIN_CHURN_PER_SECOND,
  H2_ORIGIN_EARLY_CANCEL_BURST,
  H2_ORIGIN_RESET_BURST,
  H2_ORIGIN_RESETS_PER_SECOND,
  H2_ORIGIN_REST_MS,
  MAX_GRPC_CONNECTIONS,
  MAX_GRPC_STREAMS,
  MAX_H2_ORIGIN_WAITING,
  MAX_UPSTREAM_CONNECTION_MS,
} from "../core/limits.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import type { GrpcCall, GrpcListener, GrpcRequest, GrpcUpstream } from "../message/grpc-upstream.ts";
import type { NameResolver } from "../net/name-resolver.ts";
import { timeoutText } from "../proto/grpc/grpc-status.ts";
import { frameMessage } from "../proto/grpc/message-frames.ts";
import { Allowance } from "../proto/h2/allowance.ts";
import { CancelRation } from "./cancel-ration.ts";
import { GrpcStream, type StreamEnd, type StreamOwner } from "./grpc-stream.ts";
import { failureCode, type UpstreamContext, type UpstreamTls } from "./origin-socket.ts";

/** How to reach an origin that speaks gRPC. */
export interface GrpcOriginSettings {
  readonly originKey: string;
  readonly hostname: string;
  readonly port: number;
  readonly authority: string;
  /** Put before the path of each call: "" or `/api`. */
  readonly basePath: string;
  readonly tls: UpstreamTls | null;
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/**
 * The HTTP/2 connections of one worker to one gRPC upstream. Calls share a connection until it takes no more; one that is
 * old, that the upstream has announced to close, or on which calls end badly, serves out its calls and gets no new ones.
 * What finds no room waits in order; its deadline bounds the wait. docs/security.md#connections-to-origins
 */
export class GrpcOrigin implements GrpcUpstream, TimerOwner {
  readonly settings: GrpcOriginSettings;
  readonly context: UpstreamContext;
  readonly label: string;
  /** Calls that a new connection will take, as far as is known. */
  expected = MAX_GRPC_STREAMS;
  private connections: GrpcConnection[] = [];
  private readonly waiting: Set<Attempt> = new Set();
  private readonly churn = new Allowance(H2_ORIGIN_CHURN_BURST, H2_ORIGIN_CHURN_PER_SECOND);
  private readonly moves = new Allowance(H2_ORIGIN_CHURN_BURST, H2_ORIGIN_CHURN_PER_SECOND);
  private readonly timer: TimerNode = new TimerNode(this);
  /** Until then no connection is made, since the last ones were turned away. */
  private restUntilMs = 0;
  private isClosed = false;

  constructor(settings: GrpcOriginSettings, context: UpstreamContext) {
    this.settings = settings;
    this.context = context;
    this.label = settings.originKey;
  }

  call(request: GrpcRequest, listener: GrpcListener): GrpcCall {
    const attempt = new Attempt(this, request, listener);
    this.place(attempt);
    return attempt;
  }

  /** Begins a call on a connection with room, or lets it wait for one. */
  place(attempt: Attempt): void {
    const free = this.connections.find((one) => one.takesCalls());
    if (free !== undefined) attempt.start(free);
    else if (this.waiting.size >= MAX_H2_ORIGIN_WAITING) attempt.fail(Fault.OriginQueueFull);
    else {
      this.waiting.add(attempt);
      this.grow();
    }
  }

  /** The call does not wait any more. */
  leave(attempt: Attempt): void {
    this.waiting.delete(attempt);
  }

  /** There may be room: what has waited longest begins first; for the rest connections are made. */
  serve(): void {
    for (const attempt of this.waiting) {
      const free = this.connections.find((one) => one.takesCalls());
      if (free === undefined) return this.grow();
      this.waiting.delete(attempt);
      attempt.start(free);
    }
  }

  /** The rest is over. */
  onTimer(): void {
    this.serve();
  }

  /** Whether a connection that does no good may be left; bounds how many are. */
  mayLeave(): boolean {
    return this.churn.spend(this.context.turn.nowMs);
  }

  /** Whether a connection may be left on which we have reset much; the upstream is not blamed. */
  mayMoveOn(): boolean {
    return this.moves.spend(this.context.turn.nowMs);
  }

  /** The upstream did not want a connection: where that goes on, a rest comes before the next one. */
  noteTurnedAway(): void {
    if (!this.mayLeave()) this.restUntilMs = this.context.turn.nowMs + H2_ORIGIN_REST_MS;
  }

  forget(connection: GrpcConnection): void {
    this.connections = this.connections.filter((one) => one !== connection);
  }

  /** No connection could be made: where there is no other, what waits will not get one. */
  onConnectFailed(fault: Fault): void {
    if (this.connections.length > 0) return this.serve();
    for (const attempt of [...this.waiting]) if (this.waiting.delete(attempt)) attempt.fail(fault);
  }

  /** Closes connections as soon as they have no call. */
  close(): void {
    this.isClosed = true;
    for (const connection of [...this.connections]) connection.retire();
    this.serve();
  }

  /** Whether new connections are to be closed again after their call. */
  get isRetired(): boolean {
    return this.isClosed;
  }

  /** Makes connections for what waits, as far as they are not on their way already. */
  private grow(): void {
    const { context, expected, waiting } = this;
    if (waiting.size === 0) return;
    let taking = this.connections.filter((one) => !one.isLeaving).length;
    // An upstream that takes no calls for the time being is not helped by another connection.
    if (expected === 0 && taking > 0) return;
    if (context.turn.nowMs < this.restUntilMs) return context.wheel.arm(this.timer, this.restUntilMs);
    const each = expected === 0 ? waiting.size : expected;
    let coming = this.connections.filter((one) => one.isComing).length;
    for (; coming * each < waiting.size; coming++) {
      if (taking < MAX_GRPC_CONNECTIONS) taking++;
      else {
        const deserted = this.connections.find((one) => one.isDeserted);
        if (deserted === undefined) return;
        deserted.retire();
      }
      this.connections.push(new GrpcConnection(this));
    }
  }
}

/** A call, made again once on another connection where the upstream has not looked at it. */
class Attempt implements GrpcCall {
  private readonly origin: GrpcOrigin;
  private readonly request: GrpcRequest;
  private readonly listener: GrpcListener;
  private current: GrpcCall | null = null;
  private isRepeated = false;
  private isOver = false;

  constructor(origin: GrpcOrigin, request: GrpcRequest, listener: GrpcListener) {
    this.origin = origin;
    this.request = request;
    this.listener = listener;
  }

  start(connection: GrpcConnection): void {
    try {
      this.current = connection.start(this.request, this.listener, () => this.repeat());
    } catch (error) {
      // The library refuses a connection that has just gone, and fields that it does not like.
      this.origin.context.onException(error);
      connection.retire();
      this.fail(Fault.UpstreamUnavailable);
    }
  }

  fail(fault: Fault): void {
    this.isOver = true;
    this.listener.onFailure(fault);
  }

  pause(): void {
    this.current?.pause();
  }

  resume(): void {
    this.current?.resume();
  }

  cancel(): void {
    this.isOver = true;
    this.origin.leave(this);
    this.current?.cancel();
  }

  /** RFC 9113 §8.7: a refused stream has not been processed. @returns whether the call goes on */
  private repeat(): boolean {
    if (this.isRepeated || this.isOver) return false;
    this.isRepeated = true;
    this.current = null;
    this.origin.place(this);
    return true;
  }
}

/** Streams are numbered up to here. RFC 9113 §5.1.1. */
const MAX_STREAM_ID = 0x7fffffff;

/** One HTTP/2 connection. */
class GrpcConnection implements StreamOwner, TimerOwner {
  /** Whether it gets no more calls. */
  isLeaving = false;
  private lost: Fault = Fault.None;
  private readonly origin: GrpcOrigin;
  private readonly session: ClientHttp2Session;
  private readonly timer: TimerNode;
  private readonly keptUntilMs: number;
  private readonly repeats: Map<GrpcStream, () => boolean> = new Map();
  private readonly ration = new CancelRation();
  private readonly resets = new Allowance(H2_ORIGIN_RESET_BURST, H2_ORIGIN_RESETS_PER_SECOND);
  private isConnected = false;
  /** Whether the upstream has said how many streams it takes. */
  private isSettled = false;
  /** The last stream that the upstream has looked at, once it says so. RFC 9113 §6.8. */
  private lastStreamId = MAX_STREAM_ID;

  constructor(origin: GrpcOrigin) {
    const { context, settings } = origin;
    this.origin = origin;
    this.timer = new TimerNode(this);
    // Spread over a fifth, so that those made in one moment do not end in one.
    this.keptUntilMs = context.turn.nowMs + MAX_UPSTREAM_CONNECTION_MS * (1 - Math.random() / 5);
    context.wheel.arm(this.timer, context.turn.nowMs + settings.connectTimeoutMs);
    this.session = connect(urlOf(settings), connectOptions(settings, context.names));
    const turn = (work: () => void): void => this.inTurn(work, () => {});
    this.session.on("connect", () => turn(() => this.onConnect()));
    this.session.on("remoteSettings", () => turn(() => this.onSettings()));
    this.session.on("goaway", (code, lastStreamId) => turn(() => this.onGoAway(code, lastStreamId)));
    // What becomes of the calls is told by the close of each.
    this.session.on("error", (error) => {
      if (!this.isConnected) {
        context.onConnectFailed(settings.originKey, failureCode(error));
        // For the next connection: the name may have moved.
        if (isIP(settings.hostname) === 0) context.names.refresh(settings.hostname, () => {});
      }
      turn(() => this.lose(Fault.UpstreamUnavailable));
    });
    this.session.on("close", () => turn(() => this.lose(Fault.UpstreamUnavailable)));
  }

  /** Whether it is not known yet how many calls it will take. */
  get isComing(): boolean {
    return !this.isSettled && !this.isLeaving;
  }

  /** Whether it holds nothing but calls that were given up, and not just a few of those that it may have. */
  get isDeserted(): boolean {
    if (!this.isSettled || this.isLeaving || this.repeats.size === 0) return false;
    return this.repeats.size >= Math.min(H2_ORIGIN_EARLY_CANCEL_BURST, this.limit) && this.holdsOnlyLeftAlone();
  }

  /** Whether another call may begin here: not before the upstream has said how many streams it takes. */
  takesCalls(): boolean {
    if (!this.isSettled || this.isLeaving || this.session.destroyed || this.session.closed) return false;
    return this.origin.context.turn.nowMs < this.keptUntilMs && this.repeats.size < this.limit;
  }

  start(request: GrpcRequest, listener: GrpcListener, repeat: () => boolean): GrpcCall {
    this.origin.context.wheel.disarm(this.timer);
    const http = this.session.request(headersOf(request, this.origin.settings), { endStream: false });
    const stream = new GrpcStream(this, http, listener, this.origin.context.wheel);
    this.repeats.set(stream, repeat);
    http.end(frameMessage(request.message));
    return stream;
  }

  /** A connection that either side is closing may take its last calls with it. */
  get lostBy(): Fault {
    const isClosing = this.session.destroyed || this.session.closed;
    return this.lost === Fault.None && isClosing ? Fault.UpstreamUnavailable : this.lost;
  }

  streamOver(stream: GrpcStream, { id, code, isUntouched, isOurs }: StreamEnd): void {
    const repeat = this.repeats.get(stream);
    this.repeats.delete(stream);
    const isRefused = isUntouched && (code === constants.NGHTTP2_REFUSED_STREAM || id > this.lastStreamId);
    if (isRefused) this.isLeaving = true;
    else if (!isOurs && code !== constants.NGHTTP2_NO_ERROR) this.noteReset(code);
    if (isRefused && repeat?.() === true) stream.takeListener();
    if (this.repeats.size === 0) this.rest();
    else if (this.isLeaving) this.endDeserted();
    this.origin.serve();
  }

  mayReset(isEarly: boolean): boolean {
    if (this.ration.spend(this.nowMs, isEarly)) return true;
    if (this.ration.isSpent && !this.isLeaving && this.origin.mayMoveOn()) this.isLeaving = true;
    return false;
  }

  onLeftAlone(): void {
    if (this.isLeaving) this.endDeserted();
  }

  get nowMs(): number {
    return this.origin.context.turn.nowMs;
  }

  /** Calls that were given up end with the connection, where it has no others and gets none. */
  private endDeserted(): void {
    if (this.holdsOnlyLeftAlone() && !this.session.destroyed) this.session.destroy();
  }

  private holdsOnlyLeftAlone(): boolean {
    for (const stream of this.repeats.keys()) if (!stream.isLeftAlone) return false;
    return true;
  }

  /** Takes no more calls, and closes after the last. */
  retire(): void {
    this.isLeaving = true;
    if (this.repeats.size === 0) this.rest();
    else this.endDeserted();
  }

  inTurn(work: () => void, onException: () => void): void {
    const { context } = this.origin;
    context.turn.begin();
    try {
      work();
    } catch (error) {
      context.onException(error);
      onException();
    }
    context.writers.flushAll();
  }

  onTimer(): void {
    if (this.isSettled) {
      if (this.repeats.size === 0) this.leave();
      return;
    }
    this.lost = Fault.UpstreamTimeout;
    this.origin.context.onConnectFailed(this.origin.settings.originKey, "timeout");
    this.session.destroy();
    this.lose(Fault.UpstreamTimeout);
  }

  private get limit(): number {
    return Math.min(this.session.remoteSettings?.maxConcurrentStreams ?? MAX_GRPC_STREAMS, MAX_GRPC_STREAMS);
  }

  private onConnect(): void {
    this.isConnected = true;
  }

  private onSettings(): void {
    this.isSettled = true;
    this.origin.context.wheel.disarm(this.timer);
    this.origin.expected = this.limit;
    this.ration.limit(this.limit);
    this.origin.serve();
    if (this.repeats.size === 0) this.rest();
  }

  private onGoAway(code: number, lastStreamId: number): void {
    this.isLeaving = true;
    this.lastStreamId = lastStreamId;
    if (code !== constants.NGHTTP2_NO_ERROR) this.origin.noteTurnedAway();
    this.origin.serve();
  }

  /** The upstream has reset a call: where it does so often, or wants calm, new calls go over another connection. */
  private noteReset(code: number): void {
    if (this.isLeaving) return;
    const isBad = code === constants.NGHTTP2_ENHANCE_YOUR_CALM || !this.resets.spend(this.nowMs);
    if (isBad && this.origin.mayLeave()) this.isLeaving = true;
  }

  /** Without a call: closes now or when it has been idle for long enough. */
  private rest(): void {
    const { context, settings } = this.origin;
    const isOld = this.isLeaving || this.session.closed || context.turn.nowMs >= this.keptUntilMs;
    if (isOld || this.origin.isRetired) this.leave();
    else if (this.isSettled) context.wheel.arm(this.timer, context.turn.nowMs + settings.idleTimeoutMs);
  }

  private leave(): void {
    this.isLeaving = true;
    if (!this.session.destroyed) this.session.close();
    this.forget();
  }

  private lose(fault: Fault): void {
    const isFirst = this.lost === Fault.None;
    if (isFirst) this.lost = fault;
    const wasLeaving = this.isLeaving;
    this.isLeaving = true;
    this.forget();
    if (!this.isSettled) this.origin.onConnectFailed(this.lost);
    else if (!wasLeaving) this.origin.serve();
  }

  private forget(): void {
    this.origin.context.wheel.remove(this.timer);
    this.origin.forget(this);
  }
}

function urlOf({ tls, authority }: GrpcOriginSettings): string {
  return `${tls === null ? "http" : "https"}://${authority}`;
}

function connectOptions({ hostname, port, tls }: GrpcOriginSettings, names: NameResolver): object {
  const settings = { enablePush: false, initialWindowSize: GRPC_WINDOW_BYTES };
  const lookup = lookupBy(names);
  if (tls === null) return { host: hostname, port, settings, lookup };
  const { serverName, ca, cert, key, rejectUnauthorized } = tls;
  return {
    host: hostname,
    port,
    servername: serverName,
    ca,
    cert,
    key,
    rejectUnauthorized,
    minVersion: "TLSv1.2",
    settings,
    lookup,
  };
}

type LookupDone = (error: Error | null, addresses: { address: string; family: number }[]) => void;

/** The library's way to ask for the addresses of a name; it tries all that it gets. */
function lookupBy(names: NameResolver) {
  return (hostname: string, _options: object, done: LookupDone): void => {
    names.resolve(hostname, (addresses, code) => {
      const error = addresses.length > 0 ? null : Object.assign(new Error(code), { code });
      done(
        error,
        addresses.map((address) => ({ address, family: isIP(address) })),
      );
    });
  };
}

function headersOf(request: GrpcRequest, { authority, basePath, tls }: GrpcOriginSettings): OutgoingHttpHeaders {
  // Clients may name a field `constructor`: the object has no member but its own.
  const headers: Record<string, string | string[]> = Object.assign(Object.create(null), {
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_SCHEME]: tls === null ? "http" : "https",
    [constants.HTTP2_HEADER_AUTHORITY]: authority,
    [constants.HTTP2_HEADER_PATH]: basePath + request.path,
    te: "trailers",
    "content-type": request.contentType,
    "grpc-timeout": timeoutText(request.timeoutMs),
    "grpc-accept-encoding": "identity",
  });
  for (const [name, value] of request.metadata) {
    const other = headers[name];
    if (other === undefined) headers[name] = value;
    else if (Array.isArray(other)) other.push(value);
    else headers[name] = [other, value];
  }
  return headers;
}
