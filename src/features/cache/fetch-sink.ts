import { Fault } from "../../core/fault.ts";
import { FaultDetail } from "../../core/fault-detail.ts";
import { CacheNote, CacheResult } from "../../message/cache-result.ts";
import { type Exchange, ExchangeState, type ResponseSink, type ResponseSource } from "../../message/exchange.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { Held, TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method, type ResponseHead } from "../../message/request-head.ts";
import { admit, isEnough, type Terms } from "./admission.ts";
import type { Asked, CacheFetches } from "./cache-fetches.ts";
import { isFailure, isOriginFault } from "./origin-failure.ts";
import type { CachePolicy } from "./policy.ts";
import { hasSameValidator } from "./selection.ts";
import { FillResult, SlotTime } from "./store/cache-memory.ts";
import { type BodyEnd, StoredBody } from "./stored-body.ts";
import { mergeHead } from "./stored-head.ts";

/** Body bytes of a failing origin's response that are read and thrown away when a stale response is sent instead. */
export const MAX_STALE_DRAIN_BYTES = 65_536;

/**
 *   Waiting ──head: not to be stored──▶ Passing
 *      │ ├───head: to be stored──▶ Storing ──end──▶ Over (the client gets the rest out of the memory)
 *      │ │                            └──larger than what is stored──▶ Spilling ──memory sent──▶ Passing
 *      │ ├───304 to our condition──▶ Freshened ──end──▶ Over
 *      │ └───failure, and stale may be sent──▶ Draining ──end──▶ Over (the stale response is sent)
 */
const enum Stage {
  Waiting = 0,
  Passing,
  Storing,
  Spilling,
  Freshened,
  Draining,
  Over,
}

/**
 * Stands between a handler and the client's sink while a response is fetched. A response that may be stored is written into
 * the shared memory as fast as the origin gives it, and goes to the client out of that memory, as fast as the client takes
 * it: so a slow client does not delay others that wait for the response.
 */
export class FetchSink extends PassingSink implements ResponseSource, Held, BodyEnd {
  private readonly fetches: CacheFetches;
  private readonly policy: CachePolicy;
  private sender: StoredBody | null = null;
  /** The slot of the fetch, -1 if there is none (any more). */
  private fill: number;
  /** An entry that is too old, pinned; -1 if there is none. */
  private stale: number;
  /** Whether our own conditions went with the request. */
  private readonly isConditional: boolean;
  private readonly asked: Asked | null;
  private stage: Stage = Stage.Waiting;
  private terms: Terms | null = null;
  /** The head as it is stored: its bytes, after which the body begins, and its fields. */
  private stored: { length: number; fieldCount: number } = NOTHING_STORED;
  private written = 0;
  /** Whether the length of the body is known at its end alone. */
  private grows = false;
  /** What came of a body that turned out too large, while the client has not had what was stored of it. */
  private readonly spilled: Piece[] = [];
  private spillEnded = false;
  private spillBegins = false;
  private takesMore = true;
  private drained = 0;
  /** What waiting exchanges are told if this exchange ends before the fetch. */
  private outcome: FillResult = FillResult.GivenUp;
  /** What holds the entry whose body is sent; -1 for none. */
  private pinned = -1;
  private origin: ResponseSource;

  constructor(
    fetches: CacheFetches,
    policy: CachePolicy,
    inner: ResponseSink,
    begun: { fill: number; stale: number; isConditional: boolean; asked: Asked | null },
  ) {
    super(inner);
    this.fetches = fetches;
    this.policy = policy;
    this.fill = begun.fill;
    this.stale = begun.stale;
    this.isConditional = begun.isConditional;
    this.asked = begun.asked;
    this.origin = fetches.idle.source;
  }

  /** What is not passed on has been copied into the memory, or dropped. */
  override get returnsBytes(): boolean {
    return this.stage !== Stage.Passing || super.returnsBytes;
  }

  protected override get passesBody(): boolean {
    return this.stage === Stage.Passing;
  }

  override head(ex: Exchange): void {
    const { status } = ex.response;
    if (this.stale >= 0 && status === 304 && this.takesNotModified(ex)) return;
    if (isFailure(status) && this.maySendStale()) {
      this.stage = Stage.Draining;
      this.intercept(ex);
      return;
    }
    const terms = this.admit(ex, ex.response);
    if (terms !== null && this.beginStoring(ex, terms)) return;
    if (this.stale >= 0 && status < 500 && status !== 304) this.fetches.store.remove(this.stale);
    this.pass(ex);
    this.inner.head(ex);
  }

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    this.storeFixed(ex, response);
    this.pass(ex);
    this.inner.fixed(ex, response);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.stage === Stage.Passing) return this.inner.body(ex, bytes, from, to);
    if (this.stage === Stage.Spilling) {
      this.spilled.push({ bytes, from, to });
      return false;
    }
    if (this.stage === Stage.Storing) {
      const { store } = this.fetches;
      const length = this.grows ? to - from : Math.min(to - from, ex.response.contentLength - this.written);
      if (this.grows && !this.makeRoomFor(length)) return this.spill(ex, { bytes, from, to });
      store.write(this.fill, this.stored.length + this.written, bytes, from, from + length);
      this.written += length;
      this.sender!.grow(ex, length);
    } else if (this.stage === Stage.Draining) {
      this.drained += to - from;
      if (this.drained > MAX_STALE_DRAIN_BYTES) {
        this.origin.onCancelled(ex);
        this.sendStale(ex);
      }
    }
    return true;
  }

  override end(ex: Exchange): void {
    if (this.stage === Stage.Passing) this.inner.end(ex);
    else if (this.stage === Stage.Draining) this.sendStale(ex);
    else if (this.stage === Stage.Spilling) this.endSpill(ex);
    else if (this.stage === Stage.Storing) {
      if (this.grows) this.endGrown(ex);
      else if (this.written < this.expectedBytes(ex)) {
        ex.attempt.detail = FaultDetail.BadLength;
        this.abort(ex, Fault.UpstreamMalformed);
      } else {
        this.commit(ex, ex.response.status, ex.response.contentLength);
        this.finish(ex);
      }
    } else if (this.stage === Stage.Freshened) this.finish(ex);
  }

  override abort(ex: Exchange, fault: Fault): void {
    if (ex.state === ExchangeState.Open && isOriginFault(fault) && this.maySendStale()) {
      this.sendStale(ex);
      return;
    }
    this.stage = Stage.Over;
    this.sender?.stop();
    ex.cacheNote = CacheNote.None;
    // A client that leaves makes way for another fetch; where the origin fails, all go on by themselves.
    if (fault !== Fault.Cancelled) this.outcome = FillResult.NotStorable;
    this.inner.abort(ex, fault);
    this.release();
  }

  override upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.pass(ex);
    return this.inner.upgrade(ex, tunnel);
  }

  /** The client takes bytes again: they come out of the memory. */
  onWritable(ex: Exchange): void {
    this.sender?.onWritable(ex);
  }

  onCancelled(ex: Exchange): void {
    this.sender?.stop();
    this.origin.onCancelled(ex);
  }

  onBodySent(ex: Exchange): void {
    if (this.stage === Stage.Spilling) {
      this.onSpilled(ex);
      return;
    }
    this.dropStale();
    this.unpin();
    if (ex.state === ExchangeState.Finished) return;
    ex.cacheUse = null;
    this.inner.end(ex);
  }

  /** The exchange is over, however it ended. */
  release(): void {
    this.stage = Stage.Over;
    this.sender?.stop();
    this.endFill(this.outcome);
    this.dropStale();
    this.unpin();
  }

  /**
   * A 304: what is stored holds on, under the terms of the new head. RFC 9111 §4.3.4.
   * @returns whether it answers our own conditions, so that the client gets the stored body
   */
  private takesNotModified(ex: Exchange): boolean {
    const { fetches, stale } = this;
    const head = fetches.storedHead(stale);
    if (!this.isConditional && !hasSameValidator(head.headers, ex.response.headers)) return false;
    mergeHead(head.headers, ex.response.headers);
    const terms = this.admit(ex, head);
    if (terms === null) fetches.store.remove(stale);
    else this.storeFreshened(ex, head, terms);
    this.endFill(FillResult.NotStorable);
    ex.cacheResult = CacheResult.Revalidated;
    if (!this.isConditional) return false;
    this.sendFreshened(ex, head);
    return true;
  }

  private storeFreshened(ex: Exchange, head: ResponseHead, terms: Terms): void {
    const { fetches, stale } = this;
    const bodyBytes = fetches.bodyBytesOf(stale);
    fetches.heads.encode(head, fetches.clock.dateBytes);
    if (!this.reserve(ex, bodyBytes)) return;
    this.terms = terms;
    fetches.copyBody(stale, this.fill, this.stored.length, bodyBytes);
    this.commit(ex, head.status, head.contentLength);
    this.unpin();
  }

  /** The client gets the stored body below the new head. */
  private sendFreshened(ex: Exchange, head: ResponseHead): void {
    const { stale } = this;
    const bodyBytes = head.withoutBody ? 0 : this.fetches.bodyBytesOf(stale);
    this.stage = Stage.Freshened;
    this.stale = -1;
    this.pinned = stale;
    ex.response.takeOver(head);
    this.intercept(ex);
    this.inner.head(ex);
    this.beginSending(stale, bodyBytes, bodyBytes).grow(ex, 0);
  }

  /** @returns null if a response may not be stored: `ex.cacheNote` says why */
  private admit(ex: Exchange, response: ResponseHead): Terms | null {
    const { asked, fetches, policy } = this;
    const terms = admit(ex, response, policy, fetches);
    if (terms === null || asked === null) return terms;
    const { uriHash, variantHash } = fetches.keys.of(ex);
    if (uriHash !== asked.uriHash || variantHash !== asked.variantHash) ex.cacheNote = CacheNote.RequestChanged;
    else if (!isEnough(terms.flags, asked.needed)) ex.cacheNote = CacheNote.Identity;
    else return terms;
    return null;
  }

  private beginStoring(ex: Exchange, terms: Terms): boolean {
    const { heads, clock } = this.fetches;
    heads.encode(ex.response, clock.dateBytes);
    if (!this.reserve(ex, this.expectedBytes(ex))) return false;
    this.stage = Stage.Storing;
    this.terms = terms;
    this.grows = ex.response.framing === Framing.Chunked;
    if (this.grows) this.fetches.store.noteGrowing(this.fill);
    // Whether a body fits whose length is not announced is known at its end.
    if (!this.grows) ex.cacheNote = CacheNote.Stored;
    this.intercept(ex);
    this.inner.head(ex);
    this.beginSending(this.fill, this.grows ? Number.POSITIVE_INFINITY : this.expectedBytes(ex), 0);
    return true;
  }

  private makeRoomFor(bytes: number): boolean {
    const length = this.written + bytes;
    return length <= this.policy.maxPayloadBytes && this.fetches.store.extend(this.fill, length);
  }

  /** A body whose length was not announced is complete: its stored head gets the length. */
  private endGrown(ex: Exchange): void {
    const { fetches, written } = this;
    if (written === 0) this.endFill(FillResult.NotStorable);
    else {
      fetches.heads.writeLength(this.fill, this.stored, written);
      this.commit(ex, ex.response.status, written);
    }
    this.finish(ex);
  }

  /**
   * A body whose length was not announced is too large, or there is no room for it: all who wait go on by themselves, and the
   * client gets what is in the memory, then the rest as it comes.
   */
  private spill(ex: Exchange, first: Piece): boolean {
    const { fetches, fill } = this;
    this.stage = Stage.Spilling;
    this.pinned = fill;
    fetches.store.pin(fill);
    fetches.noteUnstorable(ex);
    ex.cacheNote = CacheNote.TooLarge;
    this.endFill(FillResult.NotStorable);
    this.dropStale();
    this.spilled.push(first);
    // All of it may go out at once: then the origin is told by what this returns.
    this.spillBegins = true;
    this.sender!.complete(ex);
    this.spillBegins = false;
    return (this.stage as Stage) === Stage.Passing && this.takesMore;
  }

  /** The client has the stored data: what came since goes out, and everything passes from now on. */
  private onSpilled(ex: Exchange): void {
    this.unpin();
    this.stage = Stage.Passing;
    if (ex.state === ExchangeState.Finished) return;
    ex.source = this.origin;
    for (const { bytes, from, to } of this.spilled) this.takesMore = this.inner.body(ex, bytes, from, to);
    this.spilled.length = 0;
    if (this.spillEnded) this.inner.end(ex);
    else if (this.takesMore && !this.spillBegins) this.origin.onWritable(ex);
  }

  private endSpill(ex: Exchange): void {
    this.spillEnded = true;
    this.origin = this.fetches.idle.source;
    ex.deadline?.release();
    ex.source = this;
  }

  /** Makes room for what `heads` holds and a body, and writes the former. */
  private reserve(ex: Exchange, bodyBytes: number): boolean {
    const { store, heads, keys } = this.fetches;
    // The slot is taken now where the fetch was not announced.
    if (this.fill < 0) this.fill = store.claim(keys.of(ex));
    const { fill } = this;
    if (fill < 0 || !store.reserve(fill, keys.of(ex), heads.length, bodyBytes)) {
      ex.cacheNote = CacheNote.NoRoom;
      return false;
    }
    store.write(fill, 0, heads.bytes, 0, heads.length);
    this.stored = { length: heads.length, fieldCount: heads.fieldCount };
    return true;
  }

  private commit(ex: Exchange, status: number, contentLength: number): void {
    const { fill, terms, stored } = this;
    const { fieldCount } = stored;
    const storedAtMs = this.fetches.ages.nowMs;
    this.fill = -1;
    this.pinned = fill;
    const isStored = this.fetches.store.commit(fill, { ...terms!, status, fieldCount, contentLength, storedAtMs });
    ex.cacheNote = isStored ? CacheNote.Stored : CacheNote.NoRoom;
    this.fetches.fetched(ex, fill);
  }

  /** A prebuilt response of the gateway's own: it is stored at once, and sent as it is. */
  private storeFixed(ex: Exchange, response: PrebuiltResponse): void {
    const { heads, clock, store } = this.fetches;
    this.fetches.describeFixed(ex, response);
    const terms = this.admit(ex, ex.response);
    if (terms === null) return;
    heads.encode(ex.response, clock.dateBytes);
    const bodyBytes = ex.request.method === Method.Head ? 0 : response.body.length;
    if (!this.reserve(ex, bodyBytes)) return;
    this.terms = terms;
    store.write(this.fill, this.stored.length, response.body, 0, bodyBytes);
    this.commit(ex, ex.response.status, ex.response.contentLength);
    this.unpin();
  }

  private expectedBytes({ response }: Exchange): number {
    return response.framing === Framing.Length ? response.contentLength : 0;
  }

  /** Nothing will be stored: all who wait go on at once, and everything passes. */
  private pass(ex: Exchange): void {
    this.stage = Stage.Passing;
    if (this.fill >= 0 && ex.response.status < 500) this.fetches.noteUnstorable(ex);
    this.endFill(FillResult.NotStorable);
    this.dropStale();
  }

  private maySendStale(): boolean {
    const { store, ages } = this.fetches;
    if (this.stale < 0) return false;
    return ages.nowMs < store.memory.times[this.stale * SlotTime.Count + SlotTime.StaleErrorUntil]!;
  }

  /** RFC 5861 §4. The origin has failed, and nothing of that has been sent. */
  private sendStale(ex: Exchange): void {
    const { stale } = this;
    this.stale = -1;
    this.stage = Stage.Over;
    this.endFill(FillResult.NotStorable);
    ex.deadline?.release();
    // Of the failed response, what was to go to this client with it.
    ex.response.extra = null;
    ex.sink = this.inner;
    ex.cacheUse = null;
    this.fetches.answers.answer(ex, this.inner, stale, CacheResult.Stale);
  }

  /** The client's events come here from now on. */
  private intercept(ex: Exchange): void {
    this.origin = ex.source;
    ex.source = this;
  }

  /** The origin is done with the exchange: the client gets the rest, and then its end. */
  private finish(ex: Exchange): void {
    this.stage = Stage.Over;
    this.origin = this.fetches.idle.source;
    ex.deadline?.release();
    ex.source = this;
    if (this.grows) this.sender!.complete(ex);
    else this.sender!.finish(ex);
  }

  private endFill(result: FillResult): void {
    const { fill } = this;
    if (fill < 0) return;
    this.fill = -1;
    this.fetches.gaveUp(fill, result);
  }

  private beginSending(slot: number, length: number, available: number): StoredBody {
    const sender = new StoredBody(this.fetches.store, this.fetches.idle);
    sender.begin(this.inner, slot, 0, length, available, this);
    this.sender = sender;
    return sender;
  }

  private dropStale(): void {
    if (this.stale >= 0) this.fetches.store.unpin(this.stale);
    this.stale = -1;
  }

  private unpin(): void {
    if (this.pinned >= 0) this.fetches.store.unpin(this.pinned);
    this.pinned = -1;
  }
}

/** Bytes of a body on their way. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

const NOTHING_STORED = { length: 0, fieldCount: 0 } as const;
