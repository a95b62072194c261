import type { Clock } from "../../core/clock.ts";
import { CacheNote, CacheResult } from "../../message/cache-result.ts";
import type { Exchange, IdleExchangePorts, ResponseSink } from "../../message/exchange.ts";
import { ExchangeState } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { Held, NowMs } from "../../message/ports.ts";
import { rangeNotSatisfiable } from "../../message/prebuilt-response.ts";
import { Framing, Method } from "../../message/request-head.ts";
import type { CacheTimes } from "./cache-times.ts";
import { isSelective, Selected, Selection } from "./selection.ts";
import { Slot, SlotFlag, SlotTime } from "./store/cache-memory.ts";
import type { CacheStore } from "./store/cache-store.ts";
import { type BodyEnd, StoredBody } from "./stored-body.ts";
import { HitFields, type StoredHeads } from "./stored-head.ts";
import { NO_WAIT, type Wait, Waited } from "./waiters.ts";

/** Responses out of entries. */
export class StoredResponses {
  private readonly store: CacheStore;
  private readonly heads: StoredHeads;
  private readonly clock: Clock;
  private readonly ages: NowMs;
  private readonly idle: IdleExchangePorts;
  private readonly showKey: ((ex: Exchange) => string) | null;
  private readonly selection: Selection = new Selection();
  private readonly free: Sending[] = [];

  /** @param showKey gives the parameter of Cache-Status that says the key of a request; null if it is not said */
  constructor(
    store: CacheStore,
    heads: StoredHeads,
    times: CacheTimes,
    idle: IdleExchangePorts,
    showKey: ((ex: Exchange) => string) | null,
  ) {
    this.showKey = showKey;
    this.store = store;
    this.heads = heads;
    this.clock = times.clock;
    this.ages = times.ages;
    this.idle = idle;
  }

  /**
   * Answers with an entry that the caller has pinned; the pin is given back when all is sent.
   * @param result Hit or Stale
   * @param waited what the exchange has waited for: what the origin was asked for meanwhile is no hit
   */
  answer(ex: Exchange, sink: ResponseSink, slot: number, result: CacheResult, waited: Wait = NO_WAIT): void {
    const { words, times } = this.store.memory;
    const { response, request } = ex;
    const isFetched = waited.what === Waited.Fetch || waited.what === Waited.OwnFetch;
    if (isFetched) noteFetched(ex, waited);
    else ex.cacheResult = result;
    ex.source = this.idle.source;
    const bodyBytes = words[this.store.memory.at(slot) + Slot.BodyBytes]!;
    response.status = words[this.store.memory.at(slot) + Slot.Status]!;
    response.contentLength = times[slot * SlotTime.Count + SlotTime.ContentLength]!;
    response.fromUpstream = (words[this.store.memory.at(slot) + Slot.Flags]! & SlotFlag.FromUpstream) !== 0;
    response.framing = bodyBytes === 0 ? Framing.None : Framing.Length;
    response.withoutBody = request.method === Method.Head;
    response.lengthWithoutBody = response.withoutBody;
    response.trailers = null;
    if (isFetched) this.heads.read(slot, response.headers, PART_BOUND);
    else this.readHead(ex, slot, result === CacheResult.Stale ? STALE : waited.what === Waited.Disk ? FROM_DISK : HIT);
    let selected = Selected.Whole;
    if (response.status === 200 && isSelective(request)) {
      const size = request.method === Method.Get ? bodyBytes : -1;
      selected = this.selection.select(request.headers, response.headers, size, this.clock.nowMs);
    }
    const { range } = this.selection;
    if (selected === Selected.Unsatisfiable) {
      this.store.unpin(slot);
      sink.fixed(ex, rangeNotSatisfiable("response", bodyBytes, isFetched ? [] : [["Age", `${secondsOf.ageS}`]]));
    } else if (selected === Selected.Part) {
      makePart(ex, range.from, range.to, bodyBytes);
      this.send(ex, sink, slot, range.from, range.to);
    } else if (selected === Selected.NotModified) {
      makeNotModified(ex);
      this.send(ex, sink, slot, 0, 0);
    } else this.send(ex, sink, slot, 0, bodyBytes);
  }

  /** Keeps an object for the next response. */
  take(sending: Sending): void {
    if (this.free.length < MAX_FREE_SENDINGS) this.free.push(sending);
  }

  private readHead(ex: Exchange, slot: number, fields: HitFields): void {
    const { headers } = ex.response;
    const { times } = this.store.memory;
    const { nowMs } = this.ages;
    const key = this.showKey === null ? "" : this.showKey(ex);
    const at = this.heads.read(slot, headers, fields.bound + PART_BOUND + key.length);
    secondsOf.ageS = Math.max(0, Math.floor((nowMs - times[slot * SlotTime.Count + SlotTime.StoredAt]!) / 1000));
    secondsOf.leftS = Math.round((times[slot * SlotTime.Count + SlotTime.FreshUntil]! - nowMs) / 1000);
    fields.append(headers, at, secondsOf, key);
  }

  private send(ex: Exchange, sink: ResponseSink, slot: number, from: number, to: number): void {
    sink.head(ex);
    if (ex.state === ExchangeState.Finished) {
      this.store.unpin(slot);
      return;
    }
    const sending = this.free.pop() ?? new Sending(this, this.store, this.idle);
    sending.begin(ex, sink, slot, from, to);
  }
}

/** One response that is being sent: it holds its entry until the client has all of it, or is gone. */
class Sending implements Held, BodyEnd {
  private readonly owner: StoredResponses;
  private readonly store: CacheStore;
  private readonly body: StoredBody;
  private sink: ResponseSink;
  private slot = -1;

  constructor(owner: StoredResponses, store: CacheStore, idle: IdleExchangePorts) {
    this.owner = owner;
    this.store = store;
    this.body = new StoredBody(store, idle);
    this.sink = idle.sink;
  }

  begin(ex: Exchange, sink: ResponseSink, slot: number, from: number, to: number): void {
    this.slot = slot;
    this.sink = sink;
    ex.cacheUse = this;
    ex.source = this.body;
    this.body.begin(sink, slot, from, to - from, to - from, this);
    this.body.finish(ex);
  }

  onBodySent(ex: Exchange): void {
    const { sink } = this;
    if (ex.state === ExchangeState.Finished) return;
    ex.cacheUse = null;
    this.release();
    sink.end(ex);
  }

  /** The exchange is over. */
  release(): void {
    if (this.slot < 0) return;
    this.body.stop();
    this.store.unpin(this.slot);
    this.slot = -1;
    this.owner.take(this);
  }
}

/** The response came of asking the origin: its cookies are for the exchange for which that was done. */
function noteFetched(ex: Exchange, { what, cookies }: Wait): void {
  const isOwn = what === Waited.OwnFetch;
  ex.cacheResult = isOwn ? CacheResult.Miss : CacheResult.Collapsed;
  ex.cacheNote = isOwn ? CacheNote.Stored : CacheNote.None;
  if (cookies.length > 0) ex.response.addExtra(new ExtraFields(cookies));
}

function makePart({ response }: Exchange, from: number, to: number, size: number): void {
  response.status = 206;
  response.contentLength = to - from;
  // An origin may have said one of its 200, where it means nothing.
  response.headers.removeAll(HeaderId.ContentRange);
  response.headers.add("Content-Range", `bytes ${from}-${to - 1}/${size}`);
}

/** RFC 9110 §15.4.5: what describes a body that is not sent is left out. */
function makeNotModified({ response }: Exchange): void {
  response.status = 304;
  response.framing = Framing.None;
  response.withoutBody = true;
  response.lengthWithoutBody = false;
  for (const id of OF_CONTENT) response.headers.removeAll(id);
}

const OF_CONTENT = [
  HeaderId.ContentLength,
  HeaderId.ContentType,
  HeaderId.ContentEncoding,
  HeaderId.ContentRange,
] as const;
const STALE: HitFields = new HitFields("edge; hit; detail=stale");
const HIT: HitFields = new HitFields("edge; hit");
const FROM_DISK: HitFields = new HitFields("edge; hit; detail=disk");
/** Of one response after the other. */
const secondsOf = { ageS: 0, leftS: 0 };
const PART_BOUND = 128;
const MAX_FREE_SENDINGS = 256;
