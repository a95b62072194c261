import { Fault } from "../../core/fault.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import {
  type BodyFlow,
  type Exchange,
  ExchangeState,
  type Handler,
  type IdleExchangePorts,
  type Pipeline,
  type ResponseSink,
} from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing } from "../../message/request-head.ts";
import { unattendedCopy } from "../../message/unattended.ts";
import { dropTable } from "../../proto/h1/response-encoder.ts";
import { canonicalise, deeperReadings } from "../../proto/target/canonical-path.ts";
import type { CallSpanPorts, UpstreamSpanPorts } from "./call-spans.ts";
import { writeFields } from "./field-record.ts";
import type { FunctionLink, LinkCall } from "./function-link.ts";
import { askedTarget, withoutPrefix } from "./hooked-request.ts";
import { fieldsFault } from "./response-record.ts";
import { discard, RecordFault, type Records, SendWindow, TakenBytes, WireWord } from "./wire.ts";

/** Where requests of `ctx.upstream()` go. */
export interface UpstreamPorts {
  /** Sends them to the route's target. */
  readonly handler: Handler;
  /** Without phases, with the taps that an exchange under way upstream needs at its end. */
  readonly pipeline: Pipeline;
  readonly idle: IdleExchangePorts;
}

/** A request of `ctx.upstream()` as a thread tells it. */
interface UpstreamRecord {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly length: number;
  readonly mode: string;
  readonly body: Buffer | null;
}

const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;
const DROP: Uint8Array = dropTable(HOP_BY_HOP);

/** One request of `ctx.upstream()` under way: its body comes from the thread, its response goes there. */
export class FunctionUpstream implements LinkCall, BodyFlow, ResponseSink {
  readonly returnsBytes = true;
  readonly copiesBytes = true;
  private readonly link: FunctionLink;
  private readonly id: number;
  private readonly onOver: (call: FunctionUpstream) => void;
  private ex: Exchange | null = null;
  /** The part of the body that has come and is not wanted yet. */
  private readonly held: KeptBytes = new KeptBytes();
  private isPaused = false;
  private isDelivering = false;
  private hasEnded = false;
  /** Bytes of the body that are still to come; infinite where that is not known. */
  private left = Number.POSITIVE_INFINITY;
  private readonly taken: TakenBytes = new TakenBytes();
  private readonly window: SendWindow = new SendWindow();
  private isHeadOut = false;
  private span: UpstreamSpanPorts | null = null;

  /** @param onOver called once, when both sides are done with it */
  constructor(link: FunctionLink, id: number, onOver: (call: FunctionUpstream) => void) {
    this.link = link;
    this.id = id;
    this.onOver = onOver;
    link.attach(id, this);
  }

  /**
   * @param asking the client's exchange, whose request this one is made for
   * @param span of the call that asks; null if it has none
   */
  start(site: UpstreamPorts | null, asking: Exchange, records: Records, span: CallSpanPorts | null): void {
    const record = readUpstream(records);
    const ex = site === null ? null : requestOf(record, asking, site.idle);
    if (site === null || ex === null) return this.refuse();
    this.ex = ex;
    this.span = span === null ? null : span.upstream();
    tellTrace(ex, asking, this.span);
    if (record.mode === "1") this.held.keepOwn(record.body!);
    this.hasEnded = record.mode !== "2";
    if (record.mode === "2" && record.length >= 0) this.left = record.length;
    ex.open(this, this, asking.client, site.pipeline);
    site.handler.handle(ex);
    this.deliver();
  }

  /** The client's exchange is over. */
  cancel(): void {
    if (this.ex === null) return;
    this.link.record(WireWord.Fault, this.id);
    this.stop();
  }

  // ── the thread ────────────────────────────────────────────────────────────────────────────────────────────────

  onRecord(word: WireWord, records: Records): void {
    if (word === WireWord.Body) this.onPiece(records.bytes());
    else if (word === WireWord.End) this.onBodyEnd();
    else if (word === WireWord.Taken) this.onTaken(records.number());
    else if (word === WireWord.Cancel || word === WireWord.Fault) this.stop();
    else throw new RecordFault(`a thread said ${word} of a request of its own`);
  }

  onPiece(bytes: Uint8Array): void {
    if (this.ex === null) return;
    this.left -= bytes.length;
    // Another length than the head has told would let a part of the body be read as a request.
    if (this.left < 0) return this.cancel();
    this.held.keepOwn(bytes);
    this.deliver();
  }

  private onBodyEnd(): void {
    if (this.left > 0 && Number.isFinite(this.left)) return this.cancel();
    this.hasEnded = true;
    this.deliver();
  }

  private onTaken(bytes: number): void {
    const { ex } = this;
    if (this.window.taken(bytes) && ex !== null) ex.source.onWritable(ex);
  }

  onDeath(): void {
    this.stop();
  }

  // ── the request's body ────────────────────────────────────────────────────────────────────────────────────────

  pauseBody(): void {
    this.isPaused = true;
  }

  resumeBody(): void {
    this.isPaused = false;
    this.deliver();
  }

  private deliver(): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    while (!this.isPaused && this.ex !== null && this.held.holds) {
      const { ex } = this;
      const piece = this.held.nextKept()!;
      ex.bodyBytes += piece.length;
      const { length } = piece;
      ex.body.onBody(ex, piece, 0, length);
      if (ex.body.keepsNothing === true) discard(piece);
      this.credit(length);
    }
    this.isDelivering = false;
    const { ex } = this;
    if (ex === null || this.isPaused || !this.hasEnded || this.held.holds || ex.bodyDone) return;
    ex.bodyDone = true;
    if (ex.request.hasBody()) ex.body.onBodyEnd(ex);
  }

  private credit(bytes: number): void {
    this.taken.add(bytes);
    this.taken.tell(this.link, this.id);
  }

  // ── the response ──────────────────────────────────────────────────────────────────────────────────────────────

  head(ex: Exchange): void {
    ex.state = ExchangeState.Replying;
    this.isHeadOut = true;
    const { headers, status, withoutBody, framing } = ex.response;
    const out = this.link.record(WireWord.Response, this.id);
    out.line(status);
    writeFields(out, headers, DROP);
    out.line(withoutBody || framing === Framing.None ? "0" : "2");
  }

  body(_ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.link.body(this.id, bytes, from, to);
    return this.window.sent(to - from);
  }

  end(): void {
    if (this.ex === null) return;
    this.link.record(WireWord.End, this.id);
    this.over();
  }

  /** What the gateway says in the target's place, such as that the request goes round in a loop. */
  fixed(ex: Exchange, response: PrebuiltResponse): void {
    ex.response.status = response.status;
    const out = this.link.record(WireWord.Response, this.id);
    out.line(response.status);
    out.line(response.fields.length);
    for (const [name, value] of response.fields) {
      out.line(name);
      out.line(value);
    }
    out.line("1");
    out.raw(response.body.latin1Slice());
    this.over();
  }

  abort(ex: Exchange, fault: Fault): void {
    ex.fault = fault;
    if (this.isHeadOut) this.link.record(WireWord.Fault, this.id);
    else this.refuse();
    this.over();
  }

  interim(): void {}

  wantBody(): void {}

  /** Nothing of the kind is asked for. */
  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.abort(ex, Fault.Cancelled);
    return tunnel;
  }

  // ── ends ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** There is no response: the thread's promise is rejected. */
  private refuse(): void {
    const out = this.link.record(WireWord.Response, this.id);
    out.line(0);
    out.line(0);
    out.line("0");
    if (this.ex === null) this.leave();
  }

  private stop(): void {
    const { ex } = this;
    if (ex === null) return this.leave();
    ex.fault = Fault.Cancelled;
    ex.body.onBodyFault(ex, Fault.Cancelled);
    ex.source.onCancelled(ex);
    this.over();
  }

  private over(): void {
    const { ex } = this;
    this.ex = null;
    this.held.drop();
    if (ex !== null && ex.state !== ExchangeState.Finished) {
      ex.state = ExchangeState.Finished;
      ex.endedMs = ex.startedMs;
      this.span?.end(ex);
      ex.pipeline.onEnd(ex);
      ex.release();
    }
    this.leave();
  }

  private leave(): void {
    this.link.detach(this.id);
    this.onOver(this);
  }
}

function readUpstream(records: Records): UpstreamRecord {
  const method = records.line();
  const url = records.line();
  const fields = records.fields();
  const length = records.number();
  const mode = records.line();
  return { method, url, fields, length, mode, body: mode === "1" ? records.bytes() : null };
}

/**
 * The request as it goes to the target: method, path and fields of the module, everything about the client as the gateway knows it. Null if it
 * cannot be sent: a module is no better than a client as to what may be in a request.
 */
function requestOf({ method, url, fields, ...sent }: UpstreamRecord, asking: Exchange, idle: IdleExchangePorts) {
  const target = URL.parse(url);
  if (target === null || !METHOD.test(method) || fieldsFault(fields) !== "") return null;
  const asked = askedTarget(asking.request, target);
  const { sanitised, canonical } = canonicalise(asked.path);
  if (asked.isPathNew && deeperReadings(canonical) === null) return null;
  const ex = unattendedCopy(asking, idle);
  const { request } = ex;
  const authority = asking.request.authority();
  request.retarget(method, asked.isPathNew ? sanitised : asked.path, asked.query);
  request.upgrade = false;
  request.expectContinue = false;
  request.headers.resetOwn();
  if (authority !== "") request.headers.add("Host", authority);
  for (const [name, value] of fields) if (!isReplaced(name)) request.headers.add(name, value);
  frame(ex, sent);
  if (asked.isPathNew) {
    ex.prefixLength = -1;
    ex.forwardPath = withoutPrefix(sanitised, ex);
    ex.canonicalPath = "";
  }
  asking.response.requestIdLine.copy(ex.response.requestIdLine, 0, 0, asking.response.requestIdEnd);
  ex.response.requestIdEnd = asking.response.requestIdEnd;
  return ex;
}

/**
 * The target belongs to the trace of the client's request, unless the module has begun another span or trace of its own. docs/tracing.md#functions
 */
function tellTrace(ex: Exchange, asking: Exchange, span: UpstreamSpanPorts | null): void {
  if (asking.trace?.propagates !== true) return;
  const { headers } = ex.request;
  const own = fieldOf(headers, "traceparent");
  const given = fieldOf(asking.request.headers, "traceparent");
  if (own !== "" && own !== given) return;
  if (own === "") {
    const state = fieldOf(asking.request.headers, "tracestate");
    if (state !== "" && fieldOf(headers, "tracestate") === "") headers.add("tracestate", state);
  } else if (span === null) return;
  else
    for (let i = 0; i < headers.count; i++)
      if (isNamed(headers, i, "traceparent")) headers.ids[i] = HeaderId.NamedByConnection;
  headers.add("traceparent", span?.traceparent ?? given);
}

/** The value of a field that goes on; "" if there is none. @param name in lower case */
function fieldOf(headers: HeaderBlock, name: string): string {
  for (let i = 0; i < headers.count; i++) if (isNamed(headers, i, name)) return headers.valueText(i);
  return "";
}

function isNamed(headers: HeaderBlock, index: number, name: string): boolean {
  return headers.ids[index] !== HeaderId.NamedByConnection && headers.nameText(index).toLowerCase() === name;
}

function frame(ex: Exchange, { mode, body, length }: Pick<UpstreamRecord, "mode" | "body" | "length">): void {
  const { request } = ex;
  const known = mode === "1" ? body!.length : mode === "0" ? 0 : length;
  request.framing = known > 0 ? Framing.Length : known === 0 ? Framing.None : Framing.Chunked;
  request.contentLength = Math.max(0, known);
  ex.bodyDone = known === 0;
  ex.bodyBytes = 0;
}

function isReplaced(name: string): boolean {
  return /^(host|connection|content-length|transfer-encoding|expect|upgrade|te|trailer|keep-alive|proxy-connection)$/i.test(
    name,
  );
}
