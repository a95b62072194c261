import type { Fault } from "../../core/fault.ts";
import { KeptBytes } from "../../core/kept-bytes.ts";
import { TimerNode, type TimerOwner } from "../../core/timer-wheel.ts";
import type { BodyFlow, BodySink, Exchange, Upstream, UpstreamCaller } from "../../message/exchange.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Comparison, ResponseDigest } from "./comparison.ts";
import { MAX_MIRRORED_BODY_BYTES, type Mirror } from "./mirror.ts";

/** Milliseconds that a mirror has in all. */
export const MIRROR_TOTAL_MS = 30_000;

/**
 *   Waiting ──the request goes to a target──▶ Gathering ──its body is complete──▶ Over (the copy is sent)
 *      └──────────────no place, too long, cut, over──────────────────────────────▶ Over
 */
const enum Stage {
  Waiting = 0,
  Gathering,
  Over,
}

/** One mirror of a request. */
interface Copy {
  readonly mirror: Mirror;
  readonly comparison: Comparison | null;
  /** Null before the request goes to a target. */
  exchange: Exchange | null;
}

/**
 * A request that is mirrored, between its handler and the client's sink: its body is copied as a target takes it, and its
 * response hashed if the two are compared. Nothing of a mirror's comes back here.
 */
export class MirroredExchange extends PassingSink implements TimerOwner {
  /** The mirrors that get a copy; at least one until it is over. */
  private copies: readonly Copy[];
  private readonly clock: Mirror;
  /** What the client gets; null if that is not compared, or no more. */
  private digest: ResponseDigest | null;
  private readonly timer: TimerNode = new TimerNode(this);
  private stage: Stage = Stage.Waiting;
  private readonly kept: KeptBytes = new KeptBytes();
  private size = 0;

  /** @param mirrors at least one */
  constructor(mirrors: readonly Mirror[], ex: Exchange) {
    super(ex.sink);
    this.clock = mirrors[0]!;
    const requestId = ex.response.requestId();
    this.copies = mirrors.map((mirror) => {
      const { compares } = mirror.settings;
      const comparison = compares ? new Comparison((found) => mirror.differs(requestId, found)) : null;
      return { mirror, comparison, exchange: null };
    });
    this.digest = this.copies.some(({ comparison }) => comparison !== null) ? new ResponseDigest() : null;
  }

  // ── the request ───────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Lets the exchange be sent to a target, for the first time or once more.
   * @param send sends it; a connection that is there may ask for the body at once
   */
  attempt(ex: Exchange, send: () => void): void {
    if (this.stage === Stage.Waiting) this.begin(ex);
    if (this.stage !== Stage.Gathering) return send();
    if (!ex.request.hasBody()) {
      send();
      // Where it is over already, nothing has been sent.
      if (this.isGathering()) this.send();
      return;
    }
    const flow = new WaitingFlow(ex.flow);
    ex.flow = flow;
    send();
    // An attempt that failed at once has been followed by another.
    if (!this.isGathering() || ex.flow !== flow || ex.body instanceof BodyTee) return flow.leave(ex);
    // Each attempt gets the body from its beginning.
    this.kept.drop();
    this.size = 0;
    ex.body = new BodyTee(ex.body, this);
    flow.leave(ex);
  }

  private begin(ex: Exchange): void {
    this.copies = this.copies.filter(({ mirror }) => mirror.takePlace() || mirror.skipped());
    if (this.copies.length === 0) return this.giveUp();
    for (const one of this.copies) one.exchange = one.mirror.copyOf(ex);
    this.stage = Stage.Gathering;
    if (ex.request.hasBody()) this.clock.limit(this.timer, MIRROR_TOTAL_MS);
  }

  private isGathering(): boolean {
    return this.stage === Stage.Gathering;
  }

  onBodyPiece(bytes: Uint8Array, from: number, to: number): void {
    if (this.stage !== Stage.Gathering) return;
    this.size += to - from;
    if (this.size > MAX_MIRRORED_BODY_BYTES) this.giveUp();
    else this.kept.keep(bytes, from, to);
  }

  /** @param total bytes of the whole body */
  onBodyComplete(total: number): void {
    if (this.stage !== Stage.Gathering) return;
    if (this.size === total) this.send();
    else this.giveUp();
  }

  /** The mirrors get nothing of the request. */
  giveUp(): void {
    if (this.stage === Stage.Over) return;
    for (const { mirror } of this.copies) {
      if (this.stage === Stage.Gathering) mirror.leavePlace();
      mirror.skipped();
    }
    this.digest = null;
    this.settle();
  }

  /** The body does not end. */
  onTimer(): void {
    this.giveUp();
  }

  private send(): void {
    const { copies } = this;
    // The bytes are read alone, so that all copies share them.
    const body = copies[0]!.exchange!.request.hasBody() ? this.kept.takeWhole() : null;
    this.settle();
    for (const { mirror, exchange, comparison } of copies) mirror.send(exchange!, body, comparison);
  }

  private settle(): void {
    this.stage = Stage.Over;
    this.kept.drop();
    this.clock.unlimit(this.timer);
  }

  // ── the response ──────────────────────────────────────────────────────────────────────────────────────────────

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    this.digest = null;
    this.giveUp();
    this.inner.fixed(ex, response);
  }

  override head(ex: Exchange): void {
    if (this.digest !== null) this.digest.status = ex.response.status;
    this.inner.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.digest?.add(bytes, from, to);
    return this.inner.body(ex, bytes, from, to);
  }

  override end(ex: Exchange): void {
    // A response before the end of the request's body: mirrors could not be asked the same.
    this.giveUp();
    const { digest } = this;
    this.digest = null;
    this.inner.end(ex);
    if (digest !== null) for (const { comparison } of this.copies) comparison?.complete(digest, false);
  }

  override abort(ex: Exchange, fault: Fault): void {
    this.digest = null;
    this.giveUp();
    this.inner.abort(ex, fault);
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

/** In the place of a body's source while an exchange is being sent: the body begins when the taker is known. */
class WaitingFlow implements BodyFlow {
  private readonly inner: BodyFlow;
  private isResumed = false;

  constructor(inner: BodyFlow) {
    this.inner = inner;
  }

  pauseBody(ex: Exchange): void {
    this.isResumed = false;
    this.inner.pauseBody(ex);
  }

  resumeBody(): void {
    this.isResumed = true;
  }

  /** Gives the source its place back, if it is still held. */
  leave(ex: Exchange): void {
    if (ex.flow !== this) return;
    ex.flow = this.inner;
    if (this.isResumed) this.inner.resumeBody(ex);
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

  get awaitsName(): boolean {
    return this.inner.awaitsName === true;
  }

  send(ex: Exchange, caller: UpstreamCaller): void {
    const mirrored = mirroredOf(ex);
    if (mirrored === null) this.inner.send(ex, caller);
    else mirrored.attempt(ex, () => this.inner.send(ex, caller));
  }

  sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    const mirrored = mirroredOf(ex);
    if (mirrored === null) this.inner.sendFresh(ex, caller);
    else mirrored.attempt(ex, () => this.inner.sendFresh(ex, caller));
  }
}

function mirroredOf({ sink }: Exchange): MirroredExchange | null {
  return sink instanceof MirroredExchange ? sink : null;
}
