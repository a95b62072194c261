import { EMPTY_BYTES } from "../core/ascii.ts";
import { Fault } from "../core/fault.ts";
import { CacheResult } from "./cache-result.ts";
import { type ClientPeer, NO_CLIENT } from "./client.ts";
import { IDLE_PIPELINE, type Phase, type Pipeline } from "./pipeline.ts";
import type { BodyFlow, BodySink, Held, RepeatableBody, ReplySink, ReplySource } from "./ports.ts";
import { ReplyHead } from "./reply-head.ts";
import { RequestHead } from "./request-head.ts";
import type { Route } from "./route.ts";
import type { Target } from "./target.ts";

/** Where an exchange stands. */
export const enum ExchangeState {
  /** The head is being read. */
  Head = 0,
  /** The request is on its way down; nothing has been answered. */
  Open,
  /** The reply's head is out. */
  Replying,
  /** The reply is complete or cut. */
  Finished,
}

/** A request and its reply. Pooled a worker: `reset`, never made anew. */
export class Exchange {
  readonly request: RequestHead = new RequestHead();
  readonly reply: ReplyHead = new ReplyHead();
  sink: ReplySink;
  flow: BodyFlow;
  body: BodySink;
  source: ReplySource;
  pipeline: Pipeline;
  client: ClientPeer = NO_CLIENT;
  /** Whether the connection comes from a trusted proxy, so that its X-Forwarded-* fields are believed. */
  fromTrustedProxy = false;
  /** The client that a trusted proxy told of, UNKNOWN_CLIENT where it told of none readably; "" where there is none. */
  forwardedIp = "";
  route: Route | null = null;
  /** The way down: chosen when it begins. */
  phases: readonly Phase[] = NO_PHASES;
  /** The phase that comes next. */
  step = 0;
  state: ExchangeState = ExchangeState.Head;
  /** Why the exchange was refused or cut, if it was. */
  fault: Fault = Fault.None;
  /** When the turn of its first byte began, in milliseconds of `performance.now()`. */
  startedMs = 0;
  /** When the turn of its end began, likewise. */
  endedMs = 0;
  /** Bytes of the path that the matched prefix takes; -1 when the path must be rewritten (`forwardPath`). */
  prefixLength = 0;
  /** The sanitised path to forward, where it differs from the raw one; "" otherwise. */
  forwardPath = "";
  /** The canonical, decoded path that routing used, where it differs from the raw one; "" otherwise. */
  canonicalPath = "";
  /** Largest request body for this request in bytes; 0 means no limit. */
  maxBodyBytes = 0;
  /** Request body bytes seen so far, decoded. */
  bodyBytes = 0;
  /** Reply body bytes written so far. */
  sentBytes = 0;
  /** Whether the whole request body has been read. */
  bodyDone = false;
  /** Bytes of the body where a phase holds it whole and hands it on as one that came so; -1 where none does. */
  wholeBodyBytes = -1;
  wafScore = 0;
  /** Extra detail of a refusal for its body (an allowed method list, a path); "" where there is none. */
  detail = "";
  upstreamLabel = "";
  /** Milliseconds from the request's head to the answer's; -1 where there was none. */
  upstreamMs = -1;
  /** Whether the origin is asked for consent before the client is (Expect: 100-continue). */
  asksOrigin = false;
  /** How often the request has been sent upstream, this time included. */
  attempts = 1;
  /** The target that the exchange is under way to; null before it is sent and after an attempt has failed. */
  target: Target | null = null;
  /** Bits of the targets that have failed this exchange; see BalancedTarget. */
  triedTargets = 0;
  /** Bits of the nodes whose breakers this exchange has counted as a failure: it counts once however often it is tried. */
  blamedNodes = 0;
  /** When the attempt began that has had no answer yet, in milliseconds of `performance.now()`; -1 where there is none. */
  attemptedMs = -1;
  /** Whether the attempt is the one trial of a half-open circuit breaker. */
  isTrial = false;
  /** Whether the attempt goes to a target that is out, since all are. */
  isForced = false;
  /** What must be stopped when the exchange is over: its time limit; null where it has none. */
  deadline: Held | null = null;
  /** The body as it is kept for a second attempt; null where it is not. */
  replay: RepeatableBody | null = null;
  /** What must be given back when the exchange is over; null when there is nothing. */
  held: Held | null = null;
  /** What the cache did for the exchange. */
  cacheResult: CacheResult = CacheResult.None;
  /** Whether the answer goes into the cache. */
  cacheStored = false;
  /** What the cache holds for the exchange: a place in a queue, a fetch, an entry; null where it holds nothing. */
  cacheUse: Held | null = null;

  constructor(idle: IdleExchangePorts) {
    this.sink = idle.sink;
    this.flow = idle.flow;
    this.body = idle.body;
    this.source = idle.source;
    this.pipeline = idle.pipeline;
  }

  /** The request is about to go down: who it came from and where its answer goes. */
  open(sink: ReplySink, flow: BodyFlow, client: ClientPeer, pipeline: Pipeline): void {
    this.state = ExchangeState.Open;
    this.sink = sink;
    this.flow = flow;
    this.client = client;
    this.pipeline = pipeline;
  }

  /**
   * The address of the client, without a port: what a trusted proxy told, else where the connection comes from. What is
   * judged on the TCP peer asks `client.socketAddress`.
   */
  get clientIp(): string {
    return this.forwardedIp === "" ? this.client.address : this.forwardedIp;
  }

  /**
   * Lets go of everything: held resources are given back, received chunks do not outlive their request, and an exchange that
   * waits to be used again does not keep a configuration that has been replaced meanwhile.
   */
  release(): void {
    if (this.held !== null) this.held.release();
    this.held = null;
    this.target = null;
    this.pipeline = IDLE_PIPELINE;
    this.phases = NO_PHASES;
    this.route = null;
    this.request.bytes = EMPTY_BYTES;
    this.request.headers.reset(EMPTY_BYTES);
    this.reply.headers.reset(EMPTY_BYTES);
    this.reply.trailers = null;
  }

  /** Makes the exchange ready for the next request. The request's head is reset by whoever reads it. */
  reset(idle: IdleExchangePorts): void {
    this.reply.reset();
    this.sink = idle.sink;
    this.flow = idle.flow;
    this.body = idle.body;
    this.source = idle.source;
    this.pipeline = idle.pipeline;
    this.client = NO_CLIENT;
    this.fromTrustedProxy = false;
    this.forwardedIp = "";
    this.route = null;
    this.step = 0;
    this.state = ExchangeState.Head;
    this.fault = Fault.None;
    this.startedMs = 0;
    this.endedMs = 0;
    this.prefixLength = 0;
    this.forwardPath = "";
    this.canonicalPath = "";
    this.maxBodyBytes = 0;
    this.bodyBytes = 0;
    this.sentBytes = 0;
    this.bodyDone = false;
    this.wholeBodyBytes = -1;
    this.wafScore = 0;
    this.detail = "";
    this.upstreamLabel = "";
    this.upstreamMs = -1;
    this.asksOrigin = false;
    this.attempts = 1;
    this.target = null;
    this.triedTargets = 0;
    this.blamedNodes = 0;
    this.attemptedMs = -1;
    this.isTrial = false;
    this.isForced = false;
    this.deadline = null;
    this.replay = null;
    this.cacheResult = CacheResult.None;
    this.cacheStored = false;
    this.cacheUse = null;
  }
}

const NO_PHASES: readonly Phase[] = [];

/** What an exchange points at while nobody uses it. */
export interface IdleExchangePorts {
  readonly sink: ReplySink;
  readonly flow: BodyFlow;
  readonly body: BodySink;
  readonly source: ReplySource;
  readonly pipeline: Pipeline;
}

/**
 * The exchange is over, answered or cut: the taps hear of it. Every protocol's way to end one, called once.
 * @param nowMs the turn's time
 */
export function finishExchange(ex: Exchange, nowMs: number): void {
  ex.state = ExchangeState.Finished;
  ex.endedMs = nowMs;
  ex.pipeline.onEnd(ex);
}

/** The client is gone or gives the request up: whoever works on it stops. Nothing happens where it is over already. */
export function cancelExchange(ex: Exchange, nowMs: number): void {
  if (ex.state !== ExchangeState.Open && ex.state !== ExchangeState.Replying) return;
  ex.fault = Fault.Cancelled;
  ex.body.onBodyFault(ex, Fault.Cancelled);
  ex.source.onCancelled(ex);
  finishExchange(ex, nowMs);
}
