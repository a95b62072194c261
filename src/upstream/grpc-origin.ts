import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from "node:http2";
import { Fault } from "../core/fault.ts";
import {
  GRPC_WINDOW_BYTES,
  MAX_GRPC_CONNECTIONS,
  MAX_GRPC_STREAMS,
  MAX_UPSTREAM_CONNECTION_MS,
} from "../core/limits.ts";
import { type TimerHolder, TimerNode } from "../core/timer-wheel.ts";
import type { GrpcCall, GrpcListener, GrpcRequest, GrpcUpstream } from "../message/grpc-upstream.ts";
import { timeoutText } from "../proto/grpc/grpc-status.ts";
import { frameMessage } from "../proto/grpc/message-frames.ts";
import { failureCode } from "./connect.ts";
import { GrpcStream, type StreamOwner } from "./grpc-stream.ts";
import type { UpstreamTls } from "./origin-pool.ts";
import type { UpstreamContext } from "./upstream-context.ts";

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
 * old, or that the upstream has announced to close, serves out its calls and gets no new ones.
 */
export class GrpcOrigin implements GrpcUpstream {
  readonly settings: GrpcOriginSettings;
  readonly context: UpstreamContext;
  readonly label: string;
  private connections: GrpcConnection[] = [];
  private isClosed = false;

  constructor(settings: GrpcOriginSettings, context: UpstreamContext) {
    this.settings = settings;
    this.context = context;
    this.label = settings.originKey;
  }

  call(request: GrpcRequest, listener: GrpcListener): GrpcCall {
    const attempt = new Attempt(this, request);
    attempt.start(listener);
    return attempt;
  }

  /** A connection that takes a call now; null when all are full. */
  connection(): GrpcConnection | null {
    const free = this.connections.find((one) => one.takesCalls());
    if (free !== undefined) return free;
    if (this.connections.length >= MAX_GRPC_CONNECTIONS) return null;
    const made = new GrpcConnection(this);
    this.connections.push(made);
    return made;
  }

  forget(connection: GrpcConnection): void {
    this.connections = this.connections.filter((one) => one !== connection);
  }

  /** Closes connections as soon as they have no call. */
  close(): void {
    this.isClosed = true;
    for (const connection of [...this.connections]) connection.retire();
  }

  /** Whether new connections are to be closed again after their call. */
  get isRetired(): boolean {
    return this.isClosed;
  }
}

/** A call, made again once on another connection where the upstream has not looked at it. */
class Attempt implements GrpcCall {
  private readonly origin: GrpcOrigin;
  private readonly request: GrpcRequest;
  private current: GrpcCall | null = null;
  private isRepeated = false;
  private isOver = false;

  constructor(origin: GrpcOrigin, request: GrpcRequest) {
    this.origin = origin;
    this.request = request;
  }

  start(listener: GrpcListener): void {
    const connection = this.origin.connection();
    if (connection === null) {
      listener.onFailure(Fault.NoHealthyTarget);
      return;
    }
    try {
      this.current = connection.start(this.request, listener, () => this.repeat());
    } catch (error) {
      // The library refuses a connection that has just gone, and fields that it does not like.
      this.origin.context.onException(error);
      connection.retire();
      listener.onFailure(Fault.UpstreamUnavailable);
    }
  }

  pause(): void {
    this.current?.pause();
  }

  resume(): void {
    this.current?.resume();
  }

  cancel(): void {
    this.isOver = true;
    this.current?.cancel();
  }

  /** RFC 9113 §8.7: a refused stream has not been processed. @returns whether the call goes on */
  private repeat(): ((listener: GrpcListener) => void) | null {
    if (this.isRepeated || this.isOver) return null;
    this.isRepeated = true;
    return (listener) => this.start(listener);
  }
}

/** One HTTP/2 connection. */
class GrpcConnection implements StreamOwner, TimerHolder {
  private lost: Fault = Fault.None;
  private readonly origin: GrpcOrigin;
  private readonly session: ClientHttp2Session;
  private readonly timer: TimerNode;
  private readonly keptUntilMs: number;
  private readonly repeats: Map<GrpcStream, () => ((listener: GrpcListener) => void) | null> = new Map();
  private isConnected = false;
  private isLeaving = false;

  constructor(origin: GrpcOrigin) {
    const { context, settings } = origin;
    this.origin = origin;
    this.timer = new TimerNode(this);
    // Spread over a fifth, so that those made in one moment do not end in one.
    this.keptUntilMs = context.turn.nowMs + MAX_UPSTREAM_CONNECTION_MS * (1 - Math.random() / 5);
    context.wheel.arm(this.timer, context.turn.nowMs + settings.connectTimeoutMs);
    this.session = connect(urlOf(settings), connectOptions(settings));
    this.session.on("connect", () =>
      this.inTurn(
        () => this.onConnect(),
        () => {},
      ),
    );
    this.session.on("goaway", () => {
      this.isLeaving = true;
    });
    // What becomes of the calls is told by the close of each.
    this.session.on("error", (error) => {
      if (!this.isConnected) origin.context.onConnectFailed(origin.settings.originKey, failureCode(error));
      this.lose(Fault.UpstreamUnavailable);
    });
    this.session.on("close", () => this.lose(Fault.UpstreamUnavailable));
  }

  /** Whether another call may begin here. */
  takesCalls(): boolean {
    if (this.isLeaving || this.session.destroyed || this.session.closed) return false;
    if (this.origin.context.turn.nowMs >= this.keptUntilMs) return false;
    const allowed = this.session.remoteSettings?.maxConcurrentStreams ?? MAX_GRPC_STREAMS;
    return this.repeats.size < Math.min(allowed, MAX_GRPC_STREAMS);
  }

  start(
    request: GrpcRequest,
    listener: GrpcListener,
    repeat: () => ((listener: GrpcListener) => void) | null,
  ): GrpcCall {
    if (this.isConnected) this.origin.context.wheel.disarm(this.timer);
    const http = this.session.request(headersOf(request, this.origin.settings), { endStream: false });
    const stream = new GrpcStream(this, http, listener);
    this.repeats.set(stream, repeat);
    http.end(frameMessage(request.message));
    return stream;
  }

  /** A connection that either side is closing may take its last calls with it. */
  get lostBy(): Fault {
    const isClosing = this.session.destroyed || this.session.closed;
    return this.lost === Fault.None && isClosing ? Fault.UpstreamUnavailable : this.lost;
  }

  streamOver(stream: GrpcStream, refused: boolean): void {
    const repeat = this.repeats.get(stream);
    this.repeats.delete(stream);
    if (refused) this.isLeaving = true;
    const again = refused ? (repeat?.() ?? null) : null;
    const listener = again === null ? null : stream.takeListener();
    if (listener !== null) again!(listener);
    if (this.repeats.size === 0) this.rest();
  }

  /** Takes no more calls, and closes after the last. */
  retire(): void {
    this.isLeaving = true;
    if (this.repeats.size === 0) this.rest();
  }

  inTurn(work: () => void, onException: () => void): void {
    const { context } = this.origin;
    context.beginTurn();
    try {
      work();
    } catch (error) {
      context.onException(error);
      onException();
    }
    context.endTurn();
  }

  onTimer(): void {
    if (this.isConnected) {
      if (this.repeats.size === 0) this.leave();
      return;
    }
    this.lost = Fault.UpstreamTimeout;
    this.origin.context.onConnectFailed(this.origin.settings.originKey, "timeout");
    this.session.destroy();
    this.lose(Fault.UpstreamTimeout);
  }

  private onConnect(): void {
    this.isConnected = true;
    this.origin.context.wheel.disarm(this.timer);
    if (this.repeats.size === 0) this.rest();
  }

  /** Without a call: closes now or when it has been idle for long enough. */
  private rest(): void {
    const { context, settings } = this.origin;
    if (!this.takesCalls() || this.origin.isRetired) this.leave();
    else if (this.isConnected) context.wheel.arm(this.timer, context.turn.nowMs + settings.idleTimeoutMs);
  }

  private leave(): void {
    this.isLeaving = true;
    if (!this.session.destroyed) this.session.close();
    this.forget();
  }

  private lose(fault: Fault): void {
    if (this.lost === Fault.None) this.lost = fault;
    this.isLeaving = true;
    this.forget();
  }

  private forget(): void {
    this.origin.context.wheel.remove(this.timer);
    this.origin.forget(this);
  }
}

function urlOf({ tls, authority }: GrpcOriginSettings): string {
  return `${tls === null ? "http" : "https"}://${authority}`;
}

function connectOptions({ hostname, port, tls }: GrpcOriginSettings): object {
  const settings = { enablePush: false, initialWindowSize: GRPC_WINDOW_BYTES };
  if (tls === null) return { host: hostname, port, settings };
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
