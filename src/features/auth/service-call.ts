import { EMPTY_BYTES } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../core/timer-wheel.ts";
import {
  Exchange,
  ExchangeState,
  type IdleExchangePorts,
  type ResponseSink,
  type Upstream,
  type UpstreamCaller,
} from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import type { NowMs, TunnelEnd } from "../../message/ports.ts";
import type { Method } from "../../message/request-head.ts";
import type { UpstreamFailure, UpstreamTimes } from "../../message/upstream.ts";
import { dropTable } from "../../proto/h1/response-encoder.ts";
import type { ServiceRequest } from "./service-request.ts";

/** Bytes of the body of an authentication service's response: a longer one is none. */
const MAX_AUTH_REPLY_BYTES = 65_536;

/** A response of an authentication service. */
export interface ServiceReply {
  readonly status: number;
  /** End-to-end fields, one character a byte. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Empty where the body does not matter. */
  readonly body: Buffer;
}

/** Who learns how a call ended: once, later. */
interface CallListener {
  onResponse(response: ServiceReply): void;
  /** There is no response that could be used. */
  onFailed(reason: Fault | "timeout" | "body"): void;
}

/** What all calls to one service share. */
export interface CallSettings {
  readonly upstream: Upstream;
  readonly request: ServiceRequest;
  readonly method: Method;
  readonly times: UpstreamTimes;
  /** For the whole response. */
  readonly timeoutMs: number;
  readonly idle: IdleExchangePorts;
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  /** Whether the body of a response with this status matters; false ends the call with its head. */
  readonly wantsBody: (status: number) => boolean;
  /** Names in lower case of the fields that matter then; where the body matters, all do. */
  readonly wanted: readonly Uint8Array[];
  /** A call is over, and may be used for the next one. */
  readonly onOver: (call: ServiceCall) => void;
}

/** One question to an authentication service, over its pool: no body goes, and a bounded one comes. */
export class ServiceCall implements ResponseSink, UpstreamCaller, TimerOwner {
  readonly returnsBytes = true;
  readonly times: UpstreamTimes;
  private readonly settings: CallSettings;
  private readonly own: Exchange;
  private asking: Exchange;
  private listener: CallListener;
  private readonly timer: TimerNode = new TimerNode(this);
  private response: ServiceReply | null = null;
  private readonly kept: KeptBytes = new KeptBytes();
  private bytes = 0;
  private isSettled = false;
  private isRepeated = false;

  constructor(settings: CallSettings) {
    this.settings = settings;
    this.times = settings.times;
    this.own = new Exchange(settings.idle);
    this.asking = this.own;
    this.listener = NO_LISTENER;
  }

  /** Sends one; the call before must be over. @param asking whose client waits */
  start(asking: Exchange, listener: CallListener): void {
    const { own, settings } = this;
    const { idle, upstream, wheel, turn, timeoutMs } = settings;
    this.asking = asking;
    this.listener = listener;
    this.response = null;
    this.bytes = 0;
    this.isSettled = false;
    this.isRepeated = false;
    own.reset(idle);
    own.request.reset(EMPTY_BYTES);
    own.request.method = settings.method;
    // A connection that a server would take for its user's is no other's.
    const { headers } = asking.request;
    const credentials = headers.find(HeaderId.Authorization);
    if (credentials >= 0) own.request.headers.add("Authorization", headers.valueText(credentials));
    own.bodyDone = true;
    own.open(this, idle.flow, asking.client, idle.pipeline);
    wheel.arm(this.timer, turn.nowMs + timeoutMs);
    upstream.send(own, this);
  }

  /** The client of `asking` has left: the listener is told nothing more. */
  cancel(asking: Exchange): void {
    // It may be under way for another by now.
    if (this.asking !== asking) return;
    this.isSettled = true;
    this.stop();
  }

  // ── the request ───────────────────────────────────────────────────────────────────────────────────────────────

  requestBound(): number {
    return this.settings.request.bound(this.asking);
  }

  encodeRequest(_own: Exchange, out: Buffer, at: number): number {
    return this.settings.request.write(this.asking, out, at);
  }

  // ── the response ──────────────────────────────────────────────────────────────────────────────────────────────

  onResponseHead(own: Exchange): void {
    const { status } = own.response;
    own.state = ExchangeState.Replying;
    const { wanted, wantsBody } = this.settings;
    const isWhole = wantsBody(status);
    this.response = { status, fields: isWhole ? fieldsOf(own) : fieldsNamed(own, wanted), body: NO_BODY };
    // The rest is read all the same, so that the connection can be used again.
    if (!isWhole) this.settle(this.response);
  }

  body(own: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.bytes += to - from;
    if (this.bytes > MAX_AUTH_REPLY_BYTES) {
      this.fail("body");
      if (own.state !== ExchangeState.Finished) this.stop();
    } else if (!this.isSettled) this.kept.keep(bytes, from, to);
    return true;
  }

  end(): void {
    const { response } = this;
    if (response !== null) this.settle({ ...response, body: this.kept.takeWhole() });
    this.finish();
  }

  abort(_own: Exchange, fault: Fault): void {
    this.fail(fault);
    this.finish();
  }

  onFailure(own: Exchange, failure: UpstreamFailure): void {
    const { fault, answered, reused } = failure;
    const isLeftOut = own.attempt.noteLeftOut(failure);
    // A kept connection may have been closed meanwhile, which says nothing of the service.
    if ((isLeftOut || (reused && !answered && !this.isRepeated)) && !this.isSettled) {
      if (!isLeftOut) this.isRepeated = true;
      this.settings.upstream.sendFresh(own, this);
      return;
    }
    this.fail(fault);
    this.finish();
  }

  onTimer(): void {
    this.fail(this.settings.upstream.awaitsName === true ? Fault.NameUnresolved : "timeout");
    this.stop();
  }

  // It is asked for none of these.
  onInterim(): void {}
  interim(): void {}
  wantBody(): void {}
  fixed(): void {}
  head(): void {}

  onUpgrade(_own: Exchange, origin: TunnelEnd): TunnelEnd {
    return this.upgrade(_own, origin);
  }

  upgrade(_own: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.fail("body");
    this.finish();
    return tunnel;
  }

  // ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────

  private settle(response: ServiceReply): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const { listener } = this;
    // Once what is under way on the service's connection is done, and as a turn of its own.
    queueMicrotask(() => listener.onResponse(response));
  }

  private fail(reason: Fault | "timeout" | "body"): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const { listener } = this;
    queueMicrotask(() => listener.onFailed(reason));
  }

  /** Ends it on the connection, too. */
  private stop(): void {
    const { own } = this;
    if (own.state === ExchangeState.Finished) return;
    own.source.onCancelled(own);
    this.finish();
  }

  private finish(): void {
    const { own } = this;
    if (own.state === ExchangeState.Finished) return;
    own.state = ExchangeState.Finished;
    this.settings.wheel.disarm(this.timer);
    this.kept.drop();
    own.release();
    this.asking = own;
    this.listener = NO_LISTENER;
    this.settings.onOver(this);
  }
}

/** Without what belongs to the connection and to the body's framing, and what the gateway says itself. */
function fieldsOf({ response: { headers } }: Exchange): [string, string][] {
  const fields: [string, string][] = [];
  for (let i = 0; i < headers.count; i++) {
    if (DROPPED[headers.ids[i]!] !== 1) fields.push([headers.nameText(i), headers.valueText(i)]);
  }
  return fields;
}

function fieldsNamed({ response: { headers } }: Exchange, names: readonly Uint8Array[]): [string, string][] {
  const fields: [string, string][] = [];
  for (let i = 0; i < headers.count; i++) {
    if (DROPPED[headers.ids[i]!] === 1) continue;
    if (names.some((name) => headers.isNamed(i, name))) fields.push([headers.nameText(i), headers.valueText(i)]);
  }
  return fields;
}

const NO_LISTENER: CallListener = { onResponse() {}, onFailed() {} };
const NO_BODY = Buffer.alloc(0);
const DROPPED: Uint8Array = dropTable([...HOP_BY_HOP, HeaderId.Date, HeaderId.Server, HeaderId.XRequestId]);
