import type { Fault } from "../../core/fault.ts";
import { MAX_MIRRORED_BODY_BYTES, MIRROR_TOTAL_MS } from "../../core/limits.ts";
import { TimerNode, type TimerOwner } from "../../core/timer-wheel.ts";
import { type Exchange, ExchangeState } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { BodySink, ReplySink, TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { Upstream, UpstreamCaller } from "../../message/upstream.ts";
import { Comparison, ResponseDigest } from "./comparison.ts";
import type { Mirror } from "./mirror.ts";

/**
 *   Waiting ──the request goes to a target──▶ Gathering ──its body is complete──▶ Over (the copy is sent)
 *      └──────────────no place, too long, cut, over──────────────────────────────▶ Over
 */
const enum Stage {
  Waiting = 0,
  Gathering,
  Over,
}

/**
 * A request that is mirrored, between its handler and the client's sink: its body is copied as a target takes it, and its
 * response hashed where the two are compared. Nothing of the mirror's comes back here.
 */
export class MirroredExchange implements ReplySink, TimerOwner {
  readonly returnsBytes: boolean;
  private readonly mirror: Mirror;
  private readonly inner: ReplySink;
  private readonly comparison: Comparison | null;
  /** What the client gets; null where that is not compared, or no more. */
  private digest: ResponseDigest | null;
  private readonly timer: TimerNode = new TimerNode(this);
  private stage: Stage = Stage.Waiting;
  private copy: Exchange | null = null;
  private pieces: Buffer[] = [];
  private size = 0;

  constructor(mirror: Mirror, ex: Exchange) {
    this.mirror = mirror;
    this.inner = ex.sink;
    this.returnsBytes = ex.sink.returnsBytes === true;
    const { compares } = mirror.settings;
    const requestId = ex.reply.requestId();
    this.comparison = compares ? new Comparison((found) => mirror.differs(requestId, found)) : null;
    this.digest = compares ? new ResponseDigest() : null;
  }

  // ── the request ───────────────────────────────────────────────────────────────────────────────────────────────

  /** The exchange is about to be sent to a target, for the first time or once more. */
  beforeAttempt(ex: Exchange): void {
    if (this.stage !== Stage.Waiting) return;
    if (!this.mirror.takePlace()) return this.giveUp();
    this.copy = this.mirror.copyOf(ex);
    this.stage = Stage.Gathering;
    if (ex.request.hasBody()) this.mirror.limit(this.timer, MIRROR_TOTAL_MS);
  }

  /** It has been sent: its head at least. */
  afterAttempt(ex: Exchange): void {
    if (this.stage !== Stage.Gathering) return;
    if (!ex.request.hasBody()) return this.send();
    if (ex.state !== ExchangeState.Open || ex.body instanceof BodyTee) return;
    // Each attempt gets the body from its beginning.
    this.pieces = [];
    this.size = 0;
    ex.body = new BodyTee(ex.body, this);
  }

  onBodyPiece(bytes: Uint8Array, from: number, to: number): void {
    if (this.stage !== Stage.Gathering) return;
    this.size += to - from;
    if (this.size > MAX_MIRRORED_BODY_BYTES) this.giveUp();
    else this.pieces.push(Buffer.from(bytes.subarray(from, to)));
  }

  /** @param total bytes of the whole body */
  onBodyComplete(total: number): void {
    if (this.stage !== Stage.Gathering) return;
    if (this.size === total) this.send();
    else this.giveUp();
  }

  /** The mirror gets nothing of the request. */
  giveUp(): void {
    if (this.stage === Stage.Over) return;
    if (this.stage === Stage.Gathering) this.mirror.leavePlace();
    this.mirror.skipped();
    this.digest = null;
    this.settle();
  }

  /** The body does not end. */
  onTimer(): void {
    this.giveUp();
  }

  private send(): void {
    const copy = this.copy!;
    const body = copy.request.hasBody() ? Buffer.concat(this.pieces, this.size) : null;
    this.settle();
    this.mirror.send(copy, body, this.comparison);
  }

  private settle(): void {
    this.stage = Stage.Over;
    this.copy = null;
    this.pieces = [];
    this.mirror.unlimit(this.timer);
  }

  // ── the response ──────────────────────────────────────────────────────────────────────────────────────────────

  fixed(ex: Exchange, reply: PrebuiltResponse): void {
    this.digest = null;
    this.giveUp();
    this.inner.fixed(ex, reply);
  }

  head(ex: Exchange): void {
    if (this.digest !== null) this.digest.status = ex.reply.status;
    this.inner.head(ex);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.digest?.add(bytes, from, to);
    return this.inner.body(ex, bytes, from, to);
  }

  end(ex: Exchange): void {
    // A response before the end of the request's body: the mirror could not be asked the same.
    this.giveUp();
    const { digest } = this;
    this.digest = null;
    this.inner.end(ex);
    if (digest !== null) this.comparison!.complete(digest, false);
  }

  abort(ex: Exchange, fault: Fault): void {
    this.digest = null;
    this.giveUp();
    this.inner.abort(ex, fault);
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    this.inner.interim(ex, status, headers);
  }

  wantBody(ex: Exchange): void {
    this.inner.wantBody(ex);
  }

  awaitsConsent(ex: Exchange): boolean {
    return this.inner.awaitsConsent?.(ex) === true;
  }

  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    return this.inner.upgrade(ex, tunnel);
  }
}

/** Between the source of a request's body and a target's connection, which takes it: what passes is copied. */
class BodyTee implements BodySink {
  private readonly inner: BodySink;
  private readonly mirrored: MirroredExchange;

  constructor(inner: BodySink, mirrored: MirroredExchange) {
    this.inner = inner;
    this.mirrored = mirrored;
  }

  get keepsNothing(): boolean {
    return this.inner.keepsNothing === true;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    this.mirrored.onBodyPiece(bytes, from, to);
    this.inner.onBody(ex, bytes, from, to);
  }

  onBodyEnd(ex: Exchange): void {
    const { bodyBytes } = ex;
    this.inner.onBodyEnd(ex);
    this.mirrored.onBodyComplete(bodyBytes);
  }

  onBodyFault(ex: Exchange, fault: Fault): void {
    this.mirrored.giveUp();
    this.inner.onBodyFault(ex, fault);
  }
}

/** The connections to a target of a route that is mirrored. */
export class MirroredUpstream implements Upstream {
  readonly label: string;
  readonly authority: string;
  private readonly inner: Upstream;

  constructor(inner: Upstream) {
    this.label = inner.label;
    this.authority = inner.authority;
    this.inner = inner;
  }

  send(ex: Exchange, caller: UpstreamCaller): void {
    const mirrored = mirroredOf(ex);
    mirrored?.beforeAttempt(ex);
    this.inner.send(ex, caller);
    mirrored?.afterAttempt(ex);
  }

  sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    const mirrored = mirroredOf(ex);
    mirrored?.beforeAttempt(ex);
    this.inner.sendFresh(ex, caller);
    mirrored?.afterAttempt(ex);
  }
}

function mirroredOf({ sink }: Exchange): MirroredExchange | null {
  return sink instanceof MirroredExchange ? sink : null;
}
