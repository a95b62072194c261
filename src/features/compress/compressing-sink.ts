import { Fault } from "../../core/fault.ts";
import { TimerNode, type TimerOwner } from "../../core/timer-wheel.ts";
import { type Exchange, ExchangeState, type ResponseSink, type ResponseSource } from "../../message/exchange.ts";
import { HeaderBlock } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method } from "../../message/request-head.ts";
import type { Coding } from "../../proto/semantics/accept-encoding.ts";
import { dropPlainFields } from "../../proto/semantics/transformed-head.ts";
import { streamBytes, wholeBytes } from "./codecs.ts";
import { CompressedStream } from "./compressed-stream.ts";
import {
  addVary,
  Compressible,
  describeCompressed,
  describeNotModified,
  isEventStream,
  judgeCompressible,
} from "./compressible.ts";
import type { CompressingSinkPorts } from "./compression-services.ts";

/** Longest file whose compressed form is kept. docs/compression.md#files */
const MAX_KEPT_FILE_BYTES = 4 * 1024 * 1024;
/** Milliseconds for which a response waits until its body is complete; then what there is goes out, and the rest as it comes. */
const COMPRESSION_HOLD_MS = 250;
/** The same where the cache would store it, which it can only with a length. */
const COMPRESSION_HOLD_STORED_MS = 2000;

/**
 *   Waiting ──head──▶ Passing: as it is
 *      ├─────────────▶ Whole: the body is held, compressed at once, and sent with its length
 *      │                 └──it takes too long──▶ Stream
 *      └─────────────▶ Stream: it is compressed as it comes; the head waits for its length where the cache would store it
 */
const enum Stage {
  Waiting = 0,
  Passing,
  Whole,
  Stream,
  Over,
}

/**
 * Compresses the response of one exchange, if it is one to be compressed. Until all that the handler gave has left, it
 * is the client's source. docs/compression.md
 */
export class CompressingSink extends PassingSink implements ResponseSource, TimerOwner {
  private readonly coding: Coding;
  private readonly parts: CompressingSinkPorts;
  private stage: Stage = Stage.Waiting;
  private ex: Exchange | null = null;
  private origin: ResponseSource;
  /** The body, where it is held, and how much of it has come; null if all of it came in one piece. */
  private held: Buffer | null = null;
  private heldBytes = 0;
  private wholeLength = 0;
  private packed: Uint8Array | null = null;
  private stream: CompressedStream | null = null;
  private headHeld = false;
  /** Whether the exchange is over for the handler: its client has left, or something on the way gave another response. */
  private isCancelled = false;
  private timer: TimerNode | null = null;
  /** By which the compressed form is kept; "" if it is not. */
  private keptKey = "";
  private keptPieces: Uint8Array[] = [];
  /** Whether a faster level was used than the settings say. */
  private isHurried = false;
  /** Room that was taken of the worker's. */
  private reserved = 0;

  constructor(inner: ResponseSink, coding: Coding, parts: CompressingSinkPorts) {
    super(inner);
    this.coding = coding;
    this.parts = parts;
    this.origin = parts.services.idle.source;
  }

  /** What is compressed is copied first. */
  override get returnsBytes(): boolean {
    return this.stage > Stage.Passing || super.returnsBytes;
  }

  protected override get passesBody(): boolean {
    return this.stage === Stage.Passing;
  }

  override fixed(ex: Exchange, reply: PrebuiltResponse): void {
    const { fixed, services } = this.parts;
    this.stage = Stage.Over;
    const { response, isCompressed } = fixed.of(reply, this.coding);
    if (isCompressed) services.codecs.counter.compressed(this.coding, reply.body.length, response.body.length);
    this.inner.fixed(ex, response);
  }

  override head(ex: Exchange): void {
    const { policy, services } = this.parts;
    const judged = judgeCompressible(ex, this.coding, policy);
    if (judged === Compressible.Yes && ex.request.method !== Method.Head && (this.sendKept(ex) || this.begin(ex)))
      return;
    this.stage = Stage.Passing;
    if (judged === Compressible.NotModified) describeNotModified(ex);
    else if (judged === Compressible.Yes && ex.request.method === Method.Head) {
      describeCompressed(ex.response, this.coding);
      // RFC 9110 §9.3.2: the length if it is known without compressing.
      const kept = this.findKept(ex);
      ex.response.lengthWithoutBody = kept !== null;
      if (kept !== null) ex.response.contentLength = kept.length;
    } else if (judged !== Compressible.No) addVary(ex.response.headers);
    if (judged === Compressible.Yes && ex.request.method !== Method.Head) services.codecs.counter.compressionSkipped();
    this.inner.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.stage === Stage.Passing) return this.inner.body(ex, bytes, from, to);
    if (this.stage === Stage.Stream) return this.stream!.write(ex, bytes, from, to);
    if (this.stage === Stage.Whole) this.hold(bytes, from, to);
    return true;
  }

  override end(ex: Exchange): void {
    if (this.stage === Stage.Passing) {
      this.stage = Stage.Over;
      this.inner.end(ex);
      return;
    }
    if (this.stage !== Stage.Whole && this.stage !== Stage.Stream) return;
    // The handler is done with the exchange: the client's events are for this sink alone.
    this.origin = this.parts.services.idle.source;
    ex.source = this;
    keepTrailers(ex);
    if (this.stage === Stage.Stream) this.stream!.finish(ex);
    else if (this.packed === null) this.abort(ex, Fault.UpstreamMalformed);
    else this.sendWhole(ex, this.packed);
  }

  override abort(ex: Exchange, fault: Fault): void {
    this.release();
    this.inner.abort(ex, fault);
  }

  override upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.stage = Stage.Over;
    return this.inner.upgrade(ex, tunnel);
  }

  onWritable(ex: Exchange): void {
    if (this.stage === Stage.Stream) this.stream!.onWritable(ex);
    else if (this.stage === Stage.Whole || this.stage === Stage.Passing) this.origin.onWritable(ex);
  }

  onCancelled(ex: Exchange): void {
    const { origin } = this;
    this.isCancelled = true;
    this.release();
    origin.onCancelled(ex);
  }

  /** The body takes too long to be waited for: what there is goes out. */
  onTimer(): void {
    const { ex } = this;
    if (ex === null || ex.state === ExchangeState.Finished) return;
    if (this.stage === Stage.Whole) this.turnIntoStream(ex);
    else if (this.stage === Stage.Stream && this.headHeld) this.sendHead(ex);
  }

  onException(error: unknown): void {
    this.fail(error);
  }

  // ── what the stream asks for ──────────────────────────────────────────────────────────────────────────────────

  /** A compressed piece. @returns whether the client takes more */
  give(ex: Exchange, packed: Uint8Array): boolean {
    if (this.keptKey !== "") this.keptPieces.push(packed);
    return this.inner.body(ex, packed, 0, packed.length);
  }

  /** More may be written. */
  wantMore(ex: Exchange): void {
    this.origin.onWritable(ex);
  }

  /** The stream is complete. @param pieces all of it, if the head is held: its length is known now */
  complete(ex: Exchange, pieces: readonly Uint8Array[], bytesIn: number, bytesOut: number): void {
    const { inner, coding } = this;
    this.parts.services.codecs.counter.compressed(coding, bytesIn, bytesOut);
    const { headHeld } = this;
    if (this.keptKey !== "") this.keep(Buffer.concat([...this.keptPieces, ...pieces], bytesOut));
    this.release();
    if (headHeld) {
      ex.response.framing = Framing.Length;
      ex.response.contentLength = bytesOut;
      inner.head(ex);
      for (const piece of pieces) if (this.mayGoOn(ex)) inner.body(ex, piece, 0, piece.length);
    }
    if (this.mayGoOn(ex)) inner.end(ex);
  }

  /** Compression has failed, or the code around it. */
  fail(error: unknown): void {
    const { ex, origin } = this;
    this.parts.services.onException(error);
    if (this.stage === Stage.Over || ex === null) return;
    this.release();
    origin.onCancelled(ex);
    this.inner.abort(ex, Fault.InternalError);
  }

  // ── what is kept of files ─────────────────────────────────────────────────────────────────────────────────────

  /** Sends the form that was made for an earlier request; nothing of the file is read. @returns false if there is none */
  private sendKept(ex: Exchange): boolean {
    const form = this.findKept(ex);
    if (form === null) return false;
    ex.source.onCancelled(ex);
    this.origin = this.parts.services.idle.source;
    ex.source = this;
    this.wholeLength = ex.response.contentLength;
    describeCompressed(ex.response, this.coding);
    this.sendWhole(ex, form);
    return true;
  }

  private findKept({ source, response: reply }: Exchange): Uint8Array | null {
    const { contentKey } = source;
    if (contentKey === undefined || reply.contentLength > MAX_KEPT_FILE_BYTES) return null;
    this.keptKey = `${contentKey} ${this.coding} ${this.parts.policy.levels[this.coding]}`;
    return this.parts.services.packed.find(this.keptKey);
  }

  /** Unless it was made in a hurry. */
  private keep(form: Uint8Array): void {
    if (this.isHurried || this.keptKey === "") return;
    this.parts.services.packed.put(this.keptKey, form);
    this.keptKey = "";
  }

  private level(): number {
    const { policy, services } = this.parts;
    const level = services.codecs.levelOf(this.coding, policy);
    this.isHurried = level !== policy.levels[this.coding];
    return level;
  }

  // ── the beginning ─────────────────────────────────────────────────────────────────────────────────────────────

  /** @returns false if there is no room */
  private begin(ex: Exchange): boolean {
    const { response: reply } = ex;
    const { policy, services } = this.parts;
    const length = reply.framing === Framing.Length ? reply.contentLength : Number.POSITIVE_INFINITY;
    const isEvents = isEventStream(reply.headers);
    const isWhole = !isEvents && length <= wholeBytes(this.coding, policy);
    const isStored = !isEvents && length <= policy.storedBytes && ex.request.method === Method.Get;
    const isHeld = isStored || this.keptKey !== "";
    const room = isWhole ? length : streamBytes(this.coding) + (isHeld ? length : 0);
    if (!services.codecs.reserve(room)) return false;
    this.reserved = room;
    this.ex = ex;
    this.origin = ex.source;
    ex.source = this;
    describeCompressed(reply, this.coding);
    if (isWhole) {
      this.stage = Stage.Whole;
      this.wholeLength = length;
      return true;
    }
    this.stage = Stage.Stream;
    this.stream = this.newStream(!isStored);
    this.headHeld = isStored;
    if (isStored) this.limitHold();
    else this.sendHead(ex);
    return true;
  }

  private newStream(flushes: boolean): CompressedStream {
    return new CompressedStream(this, this.parts.services, this.coding, this.level(), flushes);
  }

  private hold(bytes: Uint8Array, from: number, to: number): void {
    const { wholeLength: length } = this;
    if (to === from || this.packed !== null) return;
    if (to - from === length) {
      this.pack(bytes.subarray(from, to));
      return;
    }
    this.held ??= Buffer.allocUnsafeSlow(length);
    const taken = Math.min(to - from, length - this.heldBytes);
    this.held.set(bytes.subarray(from, from + taken), this.heldBytes);
    this.heldBytes += taken;
    if (this.heldBytes === length) this.pack(this.held);
    else if (this.timer === null) this.limitHold();
  }

  private pack(body: Uint8Array): void {
    this.packed = this.parts.services.codecs.whole(this.coding, this.level(), body);
    this.keep(this.packed);
  }

  private sendWhole(ex: Exchange, packed: Uint8Array): void {
    const { inner } = this;
    this.parts.services.codecs.counter.compressed(this.coding, this.wholeLength, packed.length);
    this.release();
    ex.response.framing = Framing.Length;
    ex.response.contentLength = packed.length;
    inner.head(ex);
    if (this.mayGoOn(ex)) inner.body(ex, packed, 0, packed.length);
    if (this.mayGoOn(ex)) inner.end(ex);
  }

  // ── slow bodies ───────────────────────────────────────────────────────────────────────────────────────────────

  private limitHold(): void {
    const { policy, services } = this.parts;
    const timer = new TimerNode(this);
    this.timer = timer;
    services.wheel.arm(
      timer,
      services.turn.nowMs + (policy.storedBytes > 0 ? COMPRESSION_HOLD_STORED_MS : COMPRESSION_HOLD_MS),
    );
  }

  private turnIntoStream(ex: Exchange): void {
    const { held, heldBytes } = this;
    if (this.packed !== null || held === null) return;
    this.held = null;
    this.stage = Stage.Stream;
    this.stream = this.newStream(true);
    this.sendHead(ex);
    if (this.ex !== null) this.stream.write(ex, held, 0, heldBytes);
  }

  private sendHead(ex: Exchange): void {
    const { response: reply } = ex;
    this.headHeld = false;
    // Whether the end of the connection is the end of the body, or a cut, is not known: the cache asks for that.
    if (reply.framing !== Framing.UntilClose) reply.framing = Framing.Chunked;
    reply.contentLength = 0;
    this.inner.head(ex);
    if (this.mayGoOn(ex)) this.stream?.giveHeld(ex);
    else this.release();
  }

  private mayGoOn(ex: Exchange): boolean {
    return !this.isCancelled && ex.state !== ExchangeState.Finished;
  }

  /** Lets go of everything: the exchange is over, or out of these hands. */
  private release(): void {
    const { services } = this.parts;
    this.stage = Stage.Over;
    this.ex = null;
    this.origin = services.idle.source;
    this.held = null;
    this.packed = null;
    this.keptPieces = [];
    this.stream?.close();
    this.stream = null;
    if (this.timer !== null) services.wheel.remove(this.timer);
    this.timer = null;
    services.codecs.release(this.reserved);
    this.reserved = 0;
  }
}

/** The handler may use its block again; digests of the plain content are left out. RFC 9530 §6 */
function keepTrailers({ response: reply }: Exchange): void {
  if (reply.trailers === null) return;
  const own = new HeaderBlock();
  own.copyFrom(reply.trailers);
  dropPlainFields(own);
  reply.trailers = own;
}
