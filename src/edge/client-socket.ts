import type { Clock } from "../core/clock.ts";
import type { Fault } from "../core/fault.ts";
import { MAX_FREE_EXCHANGES, MIN_PROGRESS_BYTES } from "../core/limits.ts";
import { TimerNode, type TimerOwner, type TimerWheel, type Turn } from "../core/timer-wheel.ts";
import { type ClientListener, NO_LISTENER } from "../message/client-listener.ts";
import type { Exchange, IdleExchangePorts, Pipeline } from "../message/exchange.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { SocketWriter, type UnsentOwner, type WriterGroup, type WriterOwner } from "../net/socket-buffers.ts";
import { acknowledgedOn } from "../net/system-socket.ts";
import { holdLastSegment } from "../net/tcp-options.ts";
import { isTlsError } from "../net/tls-error.ts";
import type { HeadRules } from "../proto/h2/request-head-reader.ts";
import { FrameBlock } from "../proto/h2/send-flow.ts";
import type { BodyRoom, PaceSettings } from "./body-intake.ts";
import type { ClientConnection, ClientSocket } from "./client-connection.ts";
import type { ConnectionGate, IdleConnection, IdleSource } from "./connection-gate.ts";
import { MAX_IDLE_LOOKS, MIN_IDLE_CLOSED_MS } from "./limits.ts";

/** Milliseconds that a refused connection is read and discarded so that the client can read the response. */
export const LINGER_MS = 1000;
/** Bytes discarded from a refused connection before it is cut. */
export const LINGER_BYTES = 8 * 1024 * 1024;

/**
 *   Open ──last response written──▶ Closing ──flushed──▶ Lingering ──client closes or time is up──▶ Closed
 */
export const enum LifeState {
  Open = 0,
  Closing,
  Lingering,
  Closed,
}

/** The socket of one client connection from accept to close: its way out, its one timer, its flow, its end. */
export class ClientLink implements WriterOwner, UnsentOwner {
  readonly socket: ByteSocket;
  readonly writer: SocketWriter;
  state: LifeState = LifeState.Open;
  /** The client has ended its direction. */
  clientEnded = false;
  private readonly ctx: ClientSocketPorts;
  private readonly timer: TimerNode;
  readonly hasTls: boolean;
  private paused = false;
  private lingerBytes = 0;
  /** Until when a client that has ended its direction waits for the response under way; 0 if there is no limit. */
  private leaveMs = 0;
  /** Whether the end of the written bytes waits for the FIN. */
  private holdsLast = false;
  /** Whether the timer is that of a client that does not read. */
  private isStall = false;
  /** Bytes that the client had acknowledged when it was set. */
  private acknowledged = -1;
  /** Memory that received bytes keep while reading is stopped. */
  private kept = 0;

  /**
   * @param holder is notified of the timer while the connection is open; `onTimer` here takes over after that
   * @param hasTls whether TLS needs a closing alert, too
   */
  constructor(socket: ByteSocket, ctx: ClientSocketPorts, holder: TimerOwner, hasTls: boolean) {
    this.socket = socket;
    this.hasTls = hasTls;
    this.ctx = ctx;
    this.writer = new SocketWriter(socket, ctx.writers, this);
    this.timer = new TimerNode(holder);
  }

  /** Sets the one timer of the connection. An earlier deadline of `limitAnswer` comes first. */
  arm(ms: number): void {
    const deadlineMs = this.ctx.turn.nowMs + ms;
    const { leaveMs } = this;
    this.isStall = false;
    this.ctx.wheel.arm(this.timer, leaveMs === 0 || deadlineMs < leaveMs ? deadlineMs : leaveMs);
  }

  /** The client has ended its direction: the response under way has `half_close_grace` from now on. */
  limitAnswer(): void {
    const { halfCloseGraceMs } = this.ctx.settings;
    if (this.leaveMs > 0 || halfCloseGraceMs < 0) return;
    this.leaveMs = this.ctx.turn.nowMs + halfCloseGraceMs;
    const { deadlineMs } = this.timer;
    if (deadlineMs === 0 || deadlineMs > this.leaveMs) this.ctx.wheel.arm(this.timer, this.leaveMs);
  }

  /** The response is complete: the client takes it in its own time. */
  freeAnswer(): void {
    this.leaveMs = 0;
  }

  /** Whether the client has left before its response was complete; `onTimer` asks. */
  get hasLeft(): boolean {
    return this.leaveMs > 0 && this.ctx.turn.nowMs >= this.leaveMs;
  }

  /** When the timer of the connection is due, on the clock of turns. */
  get deadlineMs(): number {
    return this.timer.deadlineMs;
  }

  disarm(): void {
    if (this.leaveMs > 0) this.ctx.wheel.arm(this.timer, this.leaveMs);
    else this.ctx.wheel.disarm(this.timer);
  }

  /** The kernel takes no bytes: the client has so long to read MIN_PROGRESS_BYTES. */
  armWriteStall(): void {
    this.arm(this.ctx.settings.writeTimeoutMs);
    this.isStall = true;
    this.acknowledged = acknowledgedOn(this.socket.fd);
  }

  /**
   * The timer is due. The kernel takes bytes again when a third of its buffer is free, megabytes after a fast beginning, so that it is
   * asked what the client has read meanwhile.
   * @returns whether the client reads, if slowly: it has more time
   */
  goesOn(): boolean {
    if (!this.isStall || !this.writer.blocked || this.hasLeft || this.acknowledged < 0) return false;
    if (acknowledgedOn(this.socket.fd) - this.acknowledged < MIN_PROGRESS_BYTES) return false;
    this.ctx.writers.unsent.progressed(this.writer);
    this.armWriteStall();
    return true;
  }

  /** An earlier deadline stays: back-pressure must not extend it. */
  onBlocked(): void {
    const { deadlineMs } = this.timer;
    const stallMs = this.ctx.turn.nowMs + this.ctx.settings.writeTimeoutMs;
    if (this.state !== LifeState.Closed && (deadlineMs === 0 || deadlineMs > stallMs)) this.armWriteStall();
  }

  /**
   * Stops reading: the kernel buffers further bytes.
   * @param keptBytes memory that the received data already keeps
   */
  pause(keptBytes = 0): void {
    if (this.paused || this.state === LifeState.Closed) return;
    this.paused = true;
    this.socket.pause();
    this.kept = keptBytes;
    if (keptBytes > 0) this.ctx.writers.unsent.add(this, keptBytes);
  }

  resume(): void {
    if (!this.paused || this.state === LifeState.Closed) return;
    this.paused = false;
    this.keepNothing();
    this.socket.resume();
  }

  /**
   * The kernel takes bytes again.
   * @returns whether all is sent and the connection goes on
   */
  onDrain(): boolean {
    if (!this.writer.onDrain()) {
      this.armWriteStall();
      return false;
    }
    if (this.state === LifeState.Closing) this.endWriting();
    return this.state === LifeState.Open;
  }

  /**
   * Nothing will be written any more: the gathered data goes out, then the connection ends. RFC 9112 §9.6.
   * @param linger whether the client may still be sending, so that closing at once would destroy the response
   */
  startClosing(linger: boolean): void {
    if (this.state !== LifeState.Open) return;
    this.state = LifeState.Closing;
    this.lingerBytes = linger && !this.clientEnded ? LINGER_BYTES : 0;
    const { writer } = this;
    if (this.lingerBytes === 0 && !this.hasTls && !writer.isEmpty() && !writer.blocked) {
      this.holdsLast = holdLastSegment(this.socket.fd);
    }
    writer.flushTurn();
    if (writer.blocked) this.armWriteStall();
    else this.endWriting();
  }

  /** Bytes that come after the last response are thrown away, but not without bound. */
  onLateData(length: number): void {
    if (this.state !== LifeState.Lingering) return;
    this.lingerBytes -= length;
    if (this.lingerBytes <= 0) this.reset();
  }

  /** The client has closed: nothing is left to wait for. */
  onLateEnd(): void {
    if (this.state === LifeState.Lingering) this.close();
  }

  /** Closes in order; written bytes still arrive. */
  close(): void {
    if (this.state === LifeState.Closed) return;
    this.writer.flushTurn();
    if (this.hasTls) this.socket.end();
    else this.socket.close();
    this.markClosed();
  }

  /** Aborts the connection, so that the client does not take a cut response for complete. */
  reset(): void {
    if (this.state === LifeState.Closed) return;
    this.markClosed();
    this.socket.terminate();
  }

  /** Detaches: another owner takes the socket over. Nothing has been written. */
  handOver(): void {
    this.state = LifeState.Closed;
    this.writer.close();
    this.ctx.wheel.remove(this.timer);
  }

  /** The socket is gone. */
  markClosed(): void {
    if (this.state === LifeState.Closed) return;
    this.state = LifeState.Closed;
    this.writer.close();
    this.keepNothing();
    this.ctx.wheel.remove(this.timer);
    this.ctx.observer.onClose();
  }

  /** Too much waits: the connection learns of the socket's end as of any other. */
  abandon(): void {
    this.reset();
  }

  private keepNothing(): void {
    if (this.kept === 0) return;
    this.ctx.writers.unsent.remove(this, this.kept);
    this.kept = 0;
  }

  private endWriting(): void {
    if (this.lingerBytes === 0 || this.clientEnded) {
      // Before the close: that throws unsent bytes away where received ones are unread.
      if (this.holdsLast) this.socket.shutdown();
      this.close();
      return;
    }
    this.state = LifeState.Lingering;
    this.socket.shutdown();
    this.resume();
    this.arm(LINGER_MS);
  }
}

/** All client connections of one listener of a worker, each with its place written down, so that adding and deleting cost a store. */
export class ConnectionSet {
  private readonly connections: ClientConnection[] = [];
  /** Position at which the last search for an idle connection ended. */
  private looked = 0;

  add(connection: ClientConnection): void {
    connection.place = this.connections.push(connection) - 1;
  }

  /** Takes a connection out; no-op if it is absent. */
  delete(connection: ClientConnection | undefined): void {
    if (connection === undefined || connection.place < 0) return;
    const last = this.connections.pop()!;
    if (last !== connection) {
      this.connections[connection.place] = last;
      last.place = connection.place;
    }
    connection.place = -1;
  }

  /** Hands a socket on: another connection is in charge of it from now on. */
  replace(socket: ClientSocket, connection: ClientConnection): void {
    this.delete(socket.data);
    socket.data = connection;
    this.add(connection);
  }

  /** Tells every connection to close once it has nothing more to answer. */
  drain(): void {
    // From the end, since a connection that closes at once gives its place to the last.
    for (let i = this.connections.length - 1; i >= 0; i--) this.connections[i]?.drain();
  }

  /** Ends the remaining connections as if their peers had gone: there is no time left. @returns how many there were */
  cutAll(): number {
    const cut = this.connections.length;
    for (let connection = this.connections.at(-1); connection !== undefined; connection = this.connections.at(-1)) {
      this.delete(connection);
      if (connection.endNow === undefined) connection.onClose();
      else connection.endNow();
    }
    return cut;
  }

  /**
   * The connection that has been idle longest, of the next MAX_IDLE_LOOKS in turn; null if none of them has been
   * for a while: the next request of a client that asks all the time would run into the close.
   * @param nowMs on the clock of turns
   */
  longestIdle(nowMs: number): ClientConnection | null {
    const { length } = this.connections;
    let longest: ClientConnection | null = null;
    let longestMs = MIN_IDLE_CLOSED_MS;
    for (let i = Math.min(length, MAX_IDLE_LOOKS); i > 0; i--) {
      this.looked = this.looked + 1 < length ? this.looked + 1 : 0;
      const connection = this.connections[this.looked]!;
      const idleMs = connection.idleMs(nowMs);
      if (idleMs <= longestMs) continue;
      longest = connection;
      longestMs = idleMs;
    }
    return longest;
  }

  get size(): number {
    return this.connections.length;
  }
}

/** The connections of several listeners. */
export class ConnectionSets implements IdleSource {
  private readonly sets: Set<ConnectionSet>;

  constructor(...sets: readonly ConnectionSet[]) {
    this.sets = new Set(sets);
  }

  /** One set more. */
  add(set: ConnectionSet): void {
    this.sets.add(set);
  }

  /** Takes a set out that has no connection any more; no-op while it has. */
  deleteEmpty(set: ConnectionSet): void {
    if (set.size === 0) this.sets.delete(set);
  }

  drain(): void {
    for (const set of this.sets) set.drain();
  }

  /** @returns how many there were */
  cutAll(): number {
    let cut = 0;
    for (const set of this.sets) cut += set.cutAll();
    return cut;
  }

  longestIdle(nowMs: number): IdleConnection | null {
    let longest: IdleConnection | null = null;
    for (const set of this.sets) {
      const idle = set.longestIdle(nowMs);
      if (idle !== null && (longest === null || idle.idleMs(nowMs) > longest.idleMs(nowMs))) longest = idle;
    }
    return longest;
  }

  get size(): number {
    let sum = 0;
    for (const set of this.sets) sum += set.size;
    return sum;
  }
}

/** The events of a client's socket, each a turn: they go to the connection that is in charge of it. */
export function connectionEvents(ctx: ClientSocketPorts, connections: ConnectionSet) {
  const { turn, writers } = ctx;
  return {
    data(socket: ClientSocket, chunk: Buffer): void {
      turn.begin();
      socket.data.onData(chunk);
      writers.flushAll();
    },
    drain(socket: ClientSocket): void {
      turn.begin();
      socket.data.onDrain();
      writers.flushAll();
    },
    end(socket: ClientSocket): void {
      turn.begin();
      socket.data.onEnd();
      writers.flushAll();
    },
    close(socket: ClientSocket, reason?: unknown): void {
      turn.begin();
      connections.delete(socket.data);
      ctx.gate.closed(socket);
      if (socket.data !== undefined) socket.data.onClose(reason);
      writers.flushAll();
    },
    error(socket: ClientSocket, error: unknown): void {
      turn.begin();
      // Without `data` it was `open` that failed.
      if (socket.data === undefined) ctx.observer.onException(error);
      else if (!isTlsError(error)) socket.data.onException(error);
      socket.terminate();
      writers.flushAll();
    },
  };
}

/** Times and sizes of client connections, in milliseconds and bytes. */
export interface ConnectionSettings extends PaceSettings {
  readonly headerTimeoutMs: number;
  readonly writeTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Time for the response under way once the client has ended its direction; -1 is no limit. */
  readonly halfCloseGraceMs: number;
  readonly maxHeadBytes: number;
  /** Header fields of a request, trailers included. */
  readonly maxFields: number;
  /** Whether clients' addresses are wanted even after the end of their connections. */
  readonly logsAddresses: boolean;
  /** Peers whose connections begin with a PROXY header; null if none do. */
  readonly proxies: { has(address: string): boolean } | null;
  /** Whether the ClientHello is kept for its fingerprint. */
  readonly keepsHello?: boolean;
  /** Whether the beginning of HTTP/2 connections is noted for its fingerprint. */
  readonly notesOpening?: boolean;
  /** Null where HTTP/2 is switched off. */
  readonly http2: Http2Settings | null;
}

/** A server's settings and limits of HTTP/2. */
export interface Http2Settings extends HeadRules {
  readonly maxConcurrentStreams: number;
}

/** The counters of the connections. */
export interface ConnectionObserver {
  onOpen(): void;
  onClose(): void;
  /** A TLS handshake is done. @param group by which keys were exchanged; see `keyGroup` */
  onSecured(isResumed: boolean, group: string): void;
  /** A connection is cut before it has become an exchange. */
  onRefused(fault: Fault, address: string): void;
  /** An exception escaped: one connection is lost, and it is reported. */
  onException(error: unknown): void;
}

/** What all client connections of one listener share. The fields that a reload changes are not readonly. */
export class ClientSocketPorts {
  readonly writers: WriterGroup;
  readonly wheel: TimerWheel;
  readonly clock: Clock;
  readonly turn: Turn;
  readonly observer: ConnectionObserver;
  readonly idlePorts: IdleExchangePorts;
  readonly bodies: BodyRoom;
  readonly gate: ConnectionGate;
  readonly listener: ClientListener;
  settings: ConnectionSettings;
  pipeline: Pipeline;
  /** Whether the gateway is shutting down, or the listener is gone: connections close after their current response. */
  draining = false;
  /** Room for the frames that HTTP/2 connections put together. */
  readonly frameBlock: FrameBlock = new FrameBlock();
  /** Objects that an HTTP/1 connection needs for one request. */
  readonly requests: ExchangePool;
  /** Objects that an HTTP/2 stream needs. */
  readonly streams: ExchangePool;

  constructor(init: {
    writers: WriterGroup;
    wheel: TimerWheel;
    clock: Clock;
    turn: Turn;
    observer: ConnectionObserver;
    idlePorts: IdleExchangePorts;
    bodies: BodyRoom;
    gate: ConnectionGate;
    /** By default NO_LISTENER. */
    listener?: ClientListener;
    settings: ConnectionSettings;
    pipeline: Pipeline;
  }) {
    this.writers = init.writers;
    this.wheel = init.wheel;
    this.clock = init.clock;
    this.turn = init.turn;
    this.observer = init.observer;
    this.idlePorts = init.idlePorts;
    this.requests = new ExchangePool(init.idlePorts);
    this.streams = new ExchangePool(init.idlePorts);
    this.bodies = init.bodies;
    this.gate = init.gate;
    this.listener = init.listener ?? NO_LISTENER;
    this.settings = init.settings;
    this.pipeline = init.pipeline;
  }

  /** Takes new settings and a new pipeline; exchanges in flight keep the ones they began with. */
  reconfigure(settings: ConnectionSettings, pipeline: Pipeline): void {
    this.settings = settings;
    this.pipeline = pipeline;
    // Their parsers have the old limits.
    this.requests.clear();
  }
}

/** What holds an exchange. */
interface ExchangeHolder {
  readonly exchange: Exchange;
}

/** Objects of one class that each hold an exchange, kept for reuse: an idle connection has none of them. */
class ExchangePool {
  private readonly free: ExchangeHolder[] = [];
  private readonly idlePorts: IdleExchangePorts;

  constructor(idlePorts: IdleExchangePorts) {
    this.idlePorts = idlePorts;
  }

  /** A used object, made ready; undefined without one. `T` is its class. */
  take<T extends ExchangeHolder>(): T | undefined {
    const used = this.free.pop();
    used?.exchange.reset(this.idlePorts);
    return used as T | undefined;
  }

  /** Takes one back that nothing refers to any more. */
  give(used: ExchangeHolder): void {
    used.exchange.release();
    if (this.free.length < MAX_FREE_EXCHANGES) this.free.push(used);
  }

  clear(): void {
    this.free.length = 0;
  }
}
