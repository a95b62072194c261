import { EMPTY_BYTES } from "../core/bytes.ts";
import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import type { AiUse } from "./ai-use.ts";
import { CacheNote, CacheResult } from "./cache-result.ts";
import { type AuthIdentity, type ClientPeer, NO_CLIENT } from "./client-peer.ts";
import type { HeaderBlock } from "./header-block.ts";
import { type ClientPlaces, type Held, NO_PLACES, type RepeatableBody, type TunnelEnd } from "./ports.ts";
import type { PrebuiltResponse } from "./prebuilt-response.ts";
import { RequestHead, ResponseHead } from "./request-head.ts";
import { requestScheme } from "./request-scheme.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { RouteInitOf, RouteOf } from "./route.ts";
import type { RuleState } from "./rule-state.ts";
import type { ScriptCall } from "./script-call.ts";
import { isOfFunction, isOfSize, named } from "./shown-refusal.ts";
import type { UpstreamFailure, UpstreamTimes } from "./upstream.ts";

/** The state of an exchange. */
export const enum ExchangeState {
  /** The head is being read. */
  Head = 0,
  /** The request is on its way down; nothing has been answered. */
  Open,
  /** The response's head is out. */
  Replying,
  /** The response is complete or cut. */
  Finished,
}

/** A request and its response. Pooled a worker: `reset`, never made anew. */
export class Exchange {
  readonly request: RequestHead = new RequestHead(this);
  readonly response: ResponseHead = new ResponseHead();
  /** Facts about attempts at targets: the one under way and the failed ones. */
  readonly attempt: Attempt = new Attempt();
  sink!: ResponseSink;
  flow!: BodyFlow;
  body!: BodySink;
  source!: ResponseSource;
  pipeline!: Pipeline;
  /** Of a copy, the way of the request: see `facts`. Null for all others. */
  original!: Pipeline | null;
  client!: ClientPeer;
  /** Whether the connection comes from a trusted proxy, so that its X-Forwarded-* fields are believed. */
  fromTrustedProxy!: boolean;
  /** The client that a trusted proxy told of, UNKNOWN_CLIENT if it told of none readably; "" if there is none. */
  forwardedIp!: string;
  route!: Route | null;
  /** The way down: chosen when it begins. */
  phases!: readonly Phase[];
  /** The phase that comes next. */
  step!: number;
  state!: ExchangeState;
  /** Why the exchange was refused or cut, if it was. */
  fault!: Fault;
  /** When the turn of its first byte began, in milliseconds of `performance.now()`. */
  startedMs!: number;
  /** When the turn of its end began, likewise. */
  endedMs!: number;
  /** Bytes of the path that the matched prefix takes; -1 when the path must be rewritten (`forwardPath`). */
  prefixLength!: number;
  /** The sanitised path to forward, if it differs from the raw path; "" otherwise. */
  forwardPath!: string;
  /** The canonical, decoded path that routing used, if it differs from the raw path; "" otherwise. */
  canonicalPath!: string;
  /** The matches of the groups of the route's expression, from 1 on; null without groups. */
  captures!: readonly (string | undefined)[] | null;
  /** Who the client has shown to be (`auth`); null if it was not asked. */
  identity!: AuthIdentity | null;
  /** See `agentName`; null before the first question. */
  agent!: string | null;
  /** The script that a FastCGI origin is to run; null if there is none. */
  script!: ScriptCall | null;
  /** The trace that the request belongs to; null if it is neither recorded nor told of. */
  trace!: RequestTrace | null;
  /** Largest request body for this request in bytes; 0 means no limit. */
  maxBodyBytes!: number;
  /** Request body bytes seen so far, decoded. */
  bodyBytes!: number;
  /** Response body bytes written so far. */
  sentBytes!: number;
  /** Whether the whole request body has been read. */
  bodyDone!: boolean;
  /** Bytes of the body if a phase buffers it and hands it on whole; -1 if none does. */
  wholeBodyBytes!: number;
  wafScore!: number;
  /** How many requests the exchange has served: a waiting caller compares it to see whether the exchange is still its own. */
  uses = 0;
  /** Extra detail of a refusal for its body (an allowed method list, a path); "" if there is none. */
  detail!: string;
  /** What must be stopped when the exchange is over: its time limit; null if it has none. */
  deadline!: Held | null;
  /** The body as it is kept for a second attempt; null if it is not. */
  replay!: RepeatableBody | null;
  /** What must be given back when the exchange is over; null when there is nothing. */
  held!: Held | null;
  /** The cache's result for the exchange. */
  cacheResult!: CacheResult;
  /** Whether the response goes into the cache, and why not. */
  cacheNote!: CacheNote;
  /** The cache's hold for the exchange: a place in a queue, a fetch, an entry; null without one. */
  cacheUse!: Held | null;
  /** The slots of `concurrency` that it has; null without any. */
  admission!: Held | null;
  /** What rules of `waf.rules` have found and set; null if there are none. */
  rules!: RuleState | null;
  /** The request to a language model; null for all others. */
  ai!: AiUse | null;

  constructor(idle: IdleExchangePorts) {
    this.clear(idle);
  }

  /** The request is about to go down: who it came from and where its response goes. */
  open(sink: ResponseSink, flow: BodyFlow, client: ClientPeer, pipeline: Pipeline): void {
    this.state = ExchangeState.Open;
    this.sink = sink;
    this.flow = flow;
    this.client = client;
    this.pipeline = pipeline;
  }

  /** The address of the client, without a port: from a trusted proxy, else of the connection; `client.socketAddress` is the TCP peer's. */
  get clientIp(): string {
    return this.forwardedIp === "" ? this.client.address : this.forwardedIp;
  }

  /** The scheme that the client used, as a trusted proxy says, else as the connection is. */
  get scheme(): "https" | "http" {
    return requestScheme(this);
  }

  /** The name of the listener that it came by; "" for none. */
  get listenerName(): string {
    return this.client.listener.name;
  }

  /** The way whose maps, places, agents and names count: copies of a request say the same of it. */
  get facts(): Pipeline {
    return this.original ?? this.pipeline;
  }

  /** The client's country, two capital letters; "" if it is not known. docs/guards.md#countries-and-networks */
  get country(): string {
    return this.facts.places.countryOf(this.clientIp);
  }

  /** The agent that has signed the request, in lower case; "" without one. docs/agents.md */
  get agentName(): string {
    this.agent ??= this.facts.agents?.nameOf(this) ?? "";
    return this.agent;
  }

  /** The number of the autonomous system that the client is in; 0 if it is not known. */
  get asn(): number {
    return this.facts.places.asnOf(this.clientIp);
  }

  /** Lets go of everything: no held resource, received chunk or configuration that was replaced meanwhile outlives the request. */
  release(): void {
    if (this.held !== null) this.held.release();
    this.held = null;
    this.attempt.target = null;
    this.rules = null;
    this.script = null;
    this.original = null;
    this.pipeline = IDLE_PIPELINE;
    this.phases = NO_PHASES;
    this.route = null;
    this.request.bytes = EMPTY_BYTES;
    this.request.headers.reset(EMPTY_BYTES);
    this.response.headers.reset(EMPTY_BYTES);
    this.response.trailers = null;
  }

  /** Makes the exchange ready for the next request, after `release`. The request's head is reset by its reader. */
  reset(idle: IdleExchangePorts): void {
    this.uses++;
    this.response.reset();
    this.attempt.reset();
    this.clear(idle);
  }

  /** What every field is for a request of which nothing is known yet; declared above, it has its value from here alone. */
  private clear(idle: IdleExchangePorts): void {
    this.sink = idle.sink;
    this.flow = idle.flow;
    this.body = idle.body;
    this.source = idle.source;
    this.pipeline = idle.pipeline;
    this.original = null;
    this.client = NO_CLIENT;
    this.fromTrustedProxy = false;
    this.forwardedIp = "";
    this.route = null;
    this.phases = NO_PHASES;
    this.step = 0;
    this.state = ExchangeState.Head;
    this.fault = Fault.None;
    this.startedMs = 0;
    this.endedMs = 0;
    this.prefixLength = 0;
    this.forwardPath = "";
    this.canonicalPath = "";
    this.captures = null;
    this.identity = null;
    this.agent = null;
    this.script = null;
    this.trace = null;
    this.maxBodyBytes = 0;
    this.bodyBytes = 0;
    this.sentBytes = 0;
    this.bodyDone = false;
    this.wholeBodyBytes = -1;
    this.wafScore = 0;
    this.detail = "";
    this.deadline = null;
    this.replay = null;
    this.held = null;
    this.cacheResult = CacheResult.None;
    this.cacheNote = CacheNote.None;
    this.cacheUse = null;
    this.admission = null;
    this.rules = null;
    this.ai = null;
  }
}

/**
 * An exchange's record of the targets that it tries. One object for all its attempts: a failure leaves its mark for the
 * next.
 */
export class Attempt {
  upstreamLabel!: string;
  /** Milliseconds from the request's head to the response's; -1 if there was none. */
  upstreamMs!: number;
  /** The SPIFFE id of the server that has responded to a sidecar; "" for none. */
  serverId!: string;
  /** Whether the gateway gets the origin's consent before the client's body (Expect: 100-continue). */
  asksOrigin!: boolean;
  /** How often the request has been sent upstream, this time included. */
  count!: number;
  /** How often it was left out at no attempt; see `noteLeftOut`. */
  leftOuts!: number;
  /** Why the last attempt failed; FaultDetail.None if it did not, or its fault has no finer cause. */
  detail!: FaultDetail;
  /** The target that the exchange is under way to; null before it is sent and after an attempt has failed. */
  target!: Target | null;
  /** Bits of the targets that have failed this exchange; see BalancedTarget. */
  triedTargets!: number;
  /** Bits of the nodes whose breakers this exchange has counted as a failure: it counts once however often it is tried. */
  blamedNodes!: number;
  /** When the attempt began that has had no response yet, in milliseconds of `performance.now()`; -1 if there is none. */
  attemptedMs!: number;
  /** Whether the attempt is the one trial of a half-open circuit breaker. */
  isTrial!: boolean;
  /** Whether the attempt goes to a target that is out, since all are. */
  isForced!: boolean;
  /** Whether the exchange goes to the new version of a route with a canary. */
  isFresh!: boolean;
  /** When the attempt under way, or the last one, was begun, likewise. */
  beganMs!: number;
  /** When the end of the request's body went to the origin, likewise; 0 if it has not, or there is none. */
  bodyEndedMs!: number;
  /** Whether the response is that of a gRPC call which has failed by its grpc-status, as 5xx of HTTP are failures. */
  grpcFailed!: boolean;
  /** Milliseconds of each, to the head of its response or to its failure; -1 before either. */
  readonly times: Float64Array = new Float64Array(MAX_ATTEMPTS);

  constructor() {
    this.reset();
  }

  /** The request goes out. */
  begin(nowMs: number): void {
    this.detail = FaultDetail.None;
    this.beganMs = nowMs;
    this.times[this.count - 1] = -1;
  }

  /** How often the request was sent to a target; 0 if it was not. */
  get sent(): number {
    return this.upstreamLabel === "" ? 0 : this.count;
  }

  /** The milliseconds of each attempt, for the log; of an attempt that the end of the exchange cut off, the time until then. */
  timesUntil(endedMs: number): number[] {
    const times: number[] = [];
    for (let i = 0; i < Math.min(this.sent, MAX_ATTEMPTS); i++) {
      const ms = this.times[i]!;
      times.push(Math.round((ms < 0 ? endedMs - this.beganMs : ms) * 1000) / 1000);
    }
    return times;
  }

  /** The head of the response has come, or the attempt has failed. */
  end(nowMs: number): void {
    this.times[this.count - 1] = nowMs - this.beganMs;
  }

  /** Makes it ready for the next request. */
  reset(): void {
    this.upstreamLabel = "";
    this.upstreamMs = -1;
    this.serverId = "";
    this.asksOrigin = false;
    this.count = 1;
    this.leftOuts = 0;
    this.detail = FaultDetail.None;
    this.target = null;
    this.triedTargets = 0;
    this.blamedNodes = 0;
    this.attemptedMs = -1;
    this.isTrial = false;
    this.isForced = false;
    this.isFresh = false;
    this.beganMs = 0;
    this.bodyEndedMs = 0;
    this.grpcFailed = false;
  }

  /**
   * Notes a failure. A request that crosses the GOAWAY of a connection may cross that of the next one too: up to a bound, that is
   * no attempt, and true.
   */
  noteLeftOut(failure: UpstreamFailure): boolean {
    if (failure.leftOut !== true || this.leftOuts >= MAX_LEFT_OUTS) return false;
    this.leftOuts++;
    return true;
  }
}

/** Attempts whose times are kept: as many as there can be, by `retries.attempts` and MAX_LEFT_OUTS. */
const MAX_ATTEMPTS = 16;

/** How often a request moves to another connection if its origin retires connections without serving it. */
const MAX_LEFT_OUTS = 4;

const NO_PHASES: readonly Phase[] = [];

/** An unused exchange points at this. */
export interface IdleExchangePorts {
  readonly sink: ResponseSink;
  readonly flow: BodyFlow;
  readonly body: BodySink;
  readonly source: ResponseSource;
  readonly pipeline: Pipeline;
}

/**
 * The exchange is over, answered or cut: the taps are notified of it. Every protocol's way to end one, called once.
 * @param nowMs the turn's time
 */
export function finishExchange(ex: Exchange, nowMs: number): void {
  ex.state = ExchangeState.Finished;
  ex.endedMs = nowMs;
  ex.pipeline.onEnd(ex);
}

/** The client is gone or gives the request up: the handler stops. Nothing happens if the exchange is over already. */
export function cancelExchange(ex: Exchange, nowMs: number): void {
  if (ex.state !== ExchangeState.Open && ex.state !== ExchangeState.Replying) return;
  ex.fault = Fault.Cancelled;
  ex.body.onBodyFault(ex, Fault.Cancelled);
  ex.source.onCancelled(ex);
  finishExchange(ex, nowMs);
}

/**
 * Where a response goes: one implementation a protocol. Before a sink writes a response, other than an interim one or a 101, it
 * shows it to `ex.pipeline.onHead` or `onFixed`, and writes the fields of `ex.response.extra` with it.
 */
export interface ResponseSink {
  /**
   * Whether bytes that were given to `body` may be overwritten once it has returned true, or once `onWritable` was called
   * after it had returned false. For a sink that does not say so, bytes that are lent are copied.
   */
  readonly returnsBytes?: boolean;
  /** Whether `body` copies: bytes may be overwritten as soon as it has returned, whatever it has returned. */
  readonly copiesBytes?: boolean;
  /** Writes a whole prebuilt response. Nothing else may be written for this exchange. */
  fixed(ex: Exchange, response: PrebuiltResponse): void;
  /** Writes an interim response (102, 103) with these fields. */
  interim(ex: Exchange, status: number, headers: HeaderBlock): void;
  /** Writes the head in `ex.response`. */
  head(ex: Exchange): void;
  /**
   * Writes body bytes; they must stay unchanged, since they may be kept until the client takes them.
   * @returns false when the source should hold until its `onWritable`
   */
  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean;
  /**
   * Sends bytes of an open file as they are there.
   * @returns how many have left. If they are fewer than asked for, bytes that are given to `body` say why, and ask for `onWritable`.
   * -1 if all of them are to be given to `body`, since a sink changes or keeps bodies, or writes them over TLS
   */
  file?(ex: Exchange, fd: number, from: number, to: number): number;
  /** Ends the response. The exchange must not be touched by the caller after this. */
  end(ex: Exchange): void;
  /** Answers with the fault's status, or cuts the response when its head is out. The exchange is over for the caller. */
  abort(ex: Exchange, fault: Fault): void;
  /** Tells the client to send its body if it announced one with Expect: 100-continue. */
  wantBody(ex: Exchange): void;
  /** Whether the client waits for `wantBody` and has sent nothing of its body; without it, that is not known. */
  awaitsConsent?(ex: Exchange): boolean;
  /** After a 101: every byte from the client goes to `tunnel` until one side closes. */
  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd;
}

/** Where the request body comes from: it can be stopped and restarted. */
export interface BodyFlow {
  /** No `onBody` after this, but for bytes that are being handed over. */
  pauseBody(ex: Exchange): void;
  /** The same, but a little is read on, so that the client's end is seen; without it, that is seen anyway. */
  holdBody?(ex: Exchange): void;
  resumeBody(ex: Exchange): void;
}

/** Who takes the request body. */
export interface BodySink {
  /** Whether the bytes of the last `onBody` may be overwritten: they have left, or were copied. */
  readonly keepsNothing?: boolean;
  /** The bytes must stay unchanged: they may be kept until the consumer takes them. */
  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void;
  onBodyEnd(ex: Exchange): void;
  /** The body will not be completed; the caller sees to the response. */
  onBodyFault(ex: Exchange, fault: Fault): void;
}

/** Who makes the response, if that takes time. */
export interface ResponseSource {
  /** Names a body that is the same whenever it is given again, as that of a file in one state; absent for all others. */
  readonly contentKey?: string;
  /** The client takes bytes again. */
  onWritable(ex: Exchange): void;
  /** The client is gone; nothing may be written any more. */
  onCancelled(ex: Exchange): void;
}

/** One destination of a route's requests. An exchange holds its current target in `ex.attempt.target`. */
export interface Target {
  readonly upstream: Upstream;
  /** Put before the forwarded path: empty, or `/api`. */
  readonly basePath: Buffer;
  /** Its bit in `triedTargets`; left out if there is no other. */
  readonly bit?: number;
  /** The response's head has come. */
  onAnswer(ex: Exchange, status: number): void;
  /** Another target has taken the exchange over, although this one has answered. */
  onReplaced(ex: Exchange): void;
  /** The attempt has ended without a response; the exchange is no longer under way to this target. */
  onFailure(ex: Exchange, failure: UpstreamFailure): void;
  /** The exchange is over, answered, refused or given up by the client. */
  onOver(ex: Exchange): void;
}

/** One origin to which exchanges can be sent. */
export interface Upstream {
  readonly label: string;
  /** The authority to send as Host in place of the client's. */
  readonly authority: string;
  /** Starts the exchange on a kept connection, or on a new one. */
  send(ex: Exchange, caller: UpstreamCaller): void;
  /** Starts the exchange on a new connection, for a retry after a kept one failed. */
  sendFresh(ex: Exchange, caller: UpstreamCaller): void;
  /** Whether a lookup of the origin's name is under way without an earlier address: the delay is not the origin's. */
  readonly awaitsName?: boolean;
}

/** Who asked for the exchange: it writes the request's head and is notified of the response's. */
export interface UpstreamCaller {
  readonly times: UpstreamTimes;
  /** The fault of a stream that the origin resets; Fault.UpstreamUnavailable by default. */
  readonly resetFault?: Fault;
  /**
   * Whether it sends an exchange once more from `ex.replay`, which the upstream sets where the origin has not looked at the request and
   * what is gone of its body is still there.
   */
  readonly repeatsBodies?: boolean;
  /** Bytes that `encodeRequest` may write at most. */
  requestBound(ex: Exchange): number;
  /** Writes the request's head. @returns the offset after it */
  encodeRequest(ex: Exchange, out: Buffer, at: number): number;
  /** The response's head is in `ex.response`; the body follows by itself into `ex.sink`. */
  onResponseHead(ex: Exchange): void;
  /** An interim response that passes (102, 103). */
  onInterim(ex: Exchange, status: number, headers: HeaderBlock): void;
  /** The origin has agreed to leave HTTP; `origin` is its end of the tunnel. @returns the client's end */
  onUpgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd;
  /** Nothing of a response has been handed over: the caller may try again or refuse. */
  onFailure(ex: Exchange, failure: UpstreamFailure): void;
}

/** A phase's verdict on a request. */
export const enum Verdict {
  /** Go on to the next phase. */
  Next = 0,
  /** The response has been given or begun, or the exchange is refused. */
  Done,
  /** The phase waits for something and will call `pipeline.resume`. */
  Wait,
}

/** One step of the way down. */
export interface Phase {
  readonly name: string;
  /** Whether the phase is about the request's body, so that a request without one passes it by. */
  readonly needsBody?: boolean;
  run(ex: Exchange): Verdict;
}

/** The end of the way down: it makes the response. */
export interface Handler {
  readonly name: string;
  handle(ex: Exchange): Verdict;
}

/** A route of one configuration. */
export type Route = RouteOf<Handler>;
export type RouteInit = RouteInitOf<Handler>;

/** A look at the response on its way up. */
export interface ResponseTap {
  readonly name: string;
  /** Before the head in `ex.response` is written: fields may still be removed, and added (`ex.response.addExtra`). */
  onHead(ex: Exchange): void;
  /** Before the head of a response by which the connection leaves HTTP is written. */
  onUpgrade?(ex: Exchange): void;
  /** Before a prebuilt response is written: only `ex.response.addExtra` has an effect. */
  onFixed?(ex: Exchange, response: PrebuiltResponse): void;
  /** After the exchange is over, answered or cut. */
  onEnd(ex: Exchange): void;
}

/** Looks at trailers that follow a request whose head has gone on already, or goes on without them. */
export interface TrailerGate {
  /** @returns Fault.None, or why the request is refused; the caller refuses it */
  judgeTrailers(ex: Exchange, trailers: HeaderBlock): Fault;
}

/** Looks at messages of a client that come after its request, over a WebSocket that ends here. */
export interface MessageGate {
  /** @returns Fault.None, or why the message is refused; the caller ends the exchange */
  judgeMessage(ex: Exchange, message: Uint8Array): Fault;
}

/** Shows the gateway's own refusals to people. docs/pages.md */
export interface RefusalPages {
  /** A refusal as this client is to get it: a page with the same status, or the response as it is. */
  shown(ex: Exchange, response: PrebuiltResponse): PrebuiltResponse;
}

/** Gives requests the ids by which the log names them. */
export interface RequestNamer {
  /** The id of a request, which gets one if it has none yet: a valid one of the client's, or a new one. */
  idOf(ex: Exchange): string;
}

type FixedTap = ResponseTap & Required<Pick<ResponseTap, "onFixed">>;

/** Gives a request's values of maps. docs/routing.md#maps */
export interface MapValues {
  /** One character a byte. @param name of the map */
  valueOf(name: string, ex: Exchange): string;
}

/** The phases in their order and the taps. */
export class Pipeline {
  private readonly phases: readonly Phase[];
  private readonly phasesWithoutBody: readonly Phase[];
  private readonly headTaps: readonly ResponseTap[];
  private readonly fixedTaps: readonly FixedTap[];
  private readonly endTaps: readonly ResponseTap[];
  /** Null where trailers are not wanted. */
  readonly trailerGate: TrailerGate | null;
  /** Null if no rule judges messages. The wiring sets it. */
  messages: MessageGate | null = null;
  /** The maps of the configuration. Set with the way. */
  maps: MapValues | null = null;
  /** Says once a request which agent has signed it; null without `agents`. Set with the way. */
  agents: { nameOf(ex: Exchange): string } | null = null;
  /** Locates clients. The wiring sets it. */
  places: ClientPlaces = NO_PLACES;
  private readonly names: RequestNamer | null;
  private readonly pages: RefusalPages | null;

  /**
   * @param phases in the order of the way down
   * @param headTaps called by the sink when a response's head is about to be written, prebuilt or not
   * @param endTaps called when the exchange is over
   * @param trailerGate asked by the protocol engines before trailers follow a head
   * @param names gives ids to requests; null if they have none
   * @param pages what browsers get in place of a refusal; null if all clients are programs
   */
  constructor(
    phases: readonly Phase[],
    headTaps: readonly ResponseTap[],
    endTaps: readonly ResponseTap[],
    trailerGate: TrailerGate | null = null,
    names: RequestNamer | null = null,
    pages: RefusalPages | null = null,
  ) {
    this.phases = phases;
    this.phasesWithoutBody = phases.filter((phase) => phase.needsBody !== true);
    this.headTaps = headTaps;
    this.fixedTaps = headTaps.filter((tap): tap is FixedTap => tap.onFixed !== undefined);
    this.endTaps = endTaps;
    this.trailerGate = trailerGate;
    this.names = names;
    this.pages = pages;
  }

  /** The id of a request, which gets one if it has none yet; "" where requests have none. */
  nameOf(ex: Exchange): string {
    return this.names === null ? "" : this.names.idOf(ex);
  }

  /**
   * The same way down and up with other phases in place of these, in their order: for a request that is explained and not served, so
   * that looking at phases costs those that are nothing.
   */
  traced(instead: (phase: Phase) => Phase): Pipeline {
    const pipeline = new Pipeline(this.phases.map(instead), this.headTaps, this.endTaps, this.trailerGate);
    pipeline.places = this.places;
    pipeline.maps = this.maps;
    pipeline.agents = this.agents;
    return pipeline;
  }

  /** Sends a request down from the first phase. */
  start(ex: Exchange): void {
    ex.step = 0;
    ex.phases = ex.request.hasBody() ? this.phases : this.phasesWithoutBody;
    this.resume(ex);
  }

  /** Goes on after the phase that waited. */
  resume(ex: Exchange): void {
    const { phases } = ex;
    let verdict = Verdict.Next;
    while (verdict === Verdict.Next && ex.step < phases.length) verdict = phases[ex.step++]!.run(ex);
  }

  /** Lets the taps see and amend the head. For sinks, which call it once a response. */
  onHead(ex: Exchange): void {
    for (let i = 0; i < this.headTaps.length; i++) this.headTaps[i]!.onHead(ex);
  }

  /** Lets the taps see and amend the head of a response by which the connection leaves HTTP. For sinks, likewise. */
  onUpgrade(ex: Exchange): void {
    for (let i = 0; i < this.headTaps.length; i++) this.headTaps[i]!.onUpgrade?.(ex);
  }

  /** Lets the taps add to a prebuilt response. For sinks, likewise. @returns the response to write */
  onFixed(ex: Exchange, response: PrebuiltResponse): PrebuiltResponse {
    const shown = response.isRefusal ? this.refusalFor(ex, response) : response;
    for (let i = 0; i < this.fixedTaps.length; i++) this.fixedTaps[i]!.onFixed(ex, shown);
    return shown;
  }

  /** Before the first phase the head's facts may be wrong: the refusal is about them, unless it is about size. */
  private refusalFor(ex: Exchange, response: PrebuiltResponse): PrebuiltResponse {
    if (ex.step === 0 && !isOfSize(ex.fault)) return response;
    const shown = this.pages === null ? response : this.pages.shown(ex, response);
    return isOfFunction(ex.fault) ? named(shown, this.nameOf(ex)) : shown;
  }

  /** Tells the taps that the exchange is over. */
  onEnd(ex: Exchange): void {
    for (let i = 0; i < this.endTaps.length; i++) this.endTaps[i]!.onEnd(ex);
  }
}

/** An empty pipeline, for places without requests. */
export const IDLE_PIPELINE: Pipeline = new Pipeline([], [], []);

/** Whether a response may still be given. */
export function mayRespond(ex: Exchange): boolean {
  return ex.state === ExchangeState.Open || ex.state === ExchangeState.Replying;
}

/** The last phase: the route's handler makes the response. */
export class DispatchPhase implements Phase {
  readonly name = "dispatch";

  run(ex: Exchange): Verdict {
    return ex.route!.handler.handle(ex);
  }
}
