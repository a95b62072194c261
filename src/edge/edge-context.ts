import type { Clock } from "../core/clock.ts";
import type { Fault } from "../core/fault.ts";
import { MAX_FREE_EXCHANGES } from "../core/limits.ts";
import type { TimerWheel, Turn } from "../core/timer-wheel.ts";
import type { IdleExchangePorts, Pipeline } from "../message/exchange.ts";
import type { WriterGroup } from "../net/socket-buffers.ts";
import { FrameBlock } from "../proto/h2/outflow.ts";
import type { HeadRules } from "../proto/h2/request-head-reader.ts";
import type { BodyRoom, PaceSettings } from "./body-intake.ts";
import type { ConnectionGate } from "./connection-gate.ts";
import { H1Request } from "./h1-connection.ts";
import { H2Stream } from "./h2-stream.ts";

/** Times and sizes of client connections, in milliseconds and bytes. */
export interface ConnectionSettings extends PaceSettings {
  readonly headerTimeoutMs: number;
  readonly writeTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** What the answer under way may take once the client has ended its direction; -1 is no limit. */
  readonly halfCloseGraceMs: number;
  readonly maxHeadBytes: number;
  /** Header fields of a request, trailers included. */
  readonly maxFields: number;
  /** Whether clients' addresses are wanted even behind the end of their connections. */
  readonly logsAddresses: boolean;
  /** Peers whose connections begin with a PROXY header; null where nobody's do. */
  readonly proxies: { has(address: string): boolean } | null;
  /** Null where HTTP/2 is switched off. */
  readonly http2: Http2Settings | null;
}

/** What a server says of itself in HTTP/2, and what it refuses. */
export interface Http2Settings extends HeadRules {
  readonly maxConcurrentStreams: number;
}

/** Who counts what the connections see. */
export interface ConnectionObserver {
  onOpen(): void;
  onClose(): void;
  /** A TLS handshake is done. */
  onSecured(isResumed: boolean): void;
  /** A connection is cut before it has become an exchange. */
  onRefused(fault: Fault, address: string): void;
  /** An exception escaped: one connection is lost, and somebody should know. */
  onException(error: unknown): void;
}

/** What all client connections of one worker share. The fields that a reload changes are not readonly. */
export class EdgeContext {
  readonly writers: WriterGroup;
  readonly wheel: TimerWheel;
  readonly clock: Clock;
  readonly turn: Turn;
  readonly observer: ConnectionObserver;
  readonly idlePorts: IdleExchangePorts;
  readonly bodies: BodyRoom;
  readonly gate: ConnectionGate;
  settings: ConnectionSettings;
  pipeline: Pipeline;
  /** Whether the gateway is shutting down: connections close after their current answer. */
  draining = false;
  /** Room for the frames that HTTP/2 connections put together. */
  readonly frameBlock: FrameBlock = new FrameBlock();
  private readonly free: H1Request[] = [];
  private readonly freeStreams: H2Stream[] = [];

  constructor(init: {
    writers: WriterGroup;
    wheel: TimerWheel;
    clock: Clock;
    turn: Turn;
    observer: ConnectionObserver;
    idlePorts: IdleExchangePorts;
    bodies: BodyRoom;
    gate: ConnectionGate;
    settings: ConnectionSettings;
    pipeline: Pipeline;
  }) {
    this.writers = init.writers;
    this.wheel = init.wheel;
    this.clock = init.clock;
    this.turn = init.turn;
    this.observer = init.observer;
    this.idlePorts = init.idlePorts;
    this.bodies = init.bodies;
    this.gate = init.gate;
    this.settings = init.settings;
    this.pipeline = init.pipeline;
  }

  /** A request object, fresh or used before. */
  takeRequest(): H1Request {
    const free = this.free.pop();
    if (free === undefined) return new H1Request(this.idlePorts, this.settings);
    free.exchange.reset(this.idlePorts);
    return free;
  }

  /** Takes a request object back that nobody refers to any more. */
  giveRequest(request: H1Request): void {
    request.exchange.release();
    if (this.free.length < MAX_FREE_EXCHANGES) this.free.push(request);
  }

  /** A stream object, fresh or used before. */
  takeStream(): H2Stream {
    const free = this.freeStreams.pop();
    if (free === undefined) return new H2Stream(this.idlePorts);
    free.exchange.reset(this.idlePorts);
    return free;
  }

  /** Takes a stream object back whose stream is closed. */
  giveStream(stream: H2Stream): void {
    stream.exchange.release();
    if (this.freeStreams.length < MAX_FREE_EXCHANGES) this.freeStreams.push(stream);
  }

  /** Takes new settings and a new pipeline; exchanges in flight keep the ones they began with. */
  reconfigure(settings: ConnectionSettings, pipeline: Pipeline): void {
    this.settings = settings;
    this.pipeline = pipeline;
    // Their parsers have the old limits.
    this.free.length = 0;
  }
}
