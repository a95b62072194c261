import { Fault } from "../../core/fault.ts";
import type { Exchange, Pipeline } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { ResponseHead } from "../../message/request-head.ts";
import { UnattendedSink, unattendedCopy } from "../../message/unattended.ts";
import type { CacheFetches } from "./cache-fetches.ts";
import { FetchSink, MAX_STALE_DRAIN_BYTES } from "./fetch-sink.ts";
import type { CachePolicy } from "./policy.ts";
import { FillResult } from "./store/cache-memory.ts";

/** Responses that a worker fetches anew in the background at a time. */
const MAX_BACKGROUND_FETCHES = 64;

/** Fetches responses again in the background: stale-while-revalidate. RFC 5861 §3. */
export class BackgroundFetches {
  private readonly fetches: CacheFetches;
  private readonly pipeline: Pipeline;
  private active = 0;

  /** @param pipeline the way from the look-up on: phases that see each request to an origin, its handler, and taps of the end */
  constructor(fetches: CacheFetches, pipeline: Pipeline) {
    this.fetches = fetches;
    this.pipeline = pipeline;
  }

  /**
   * Fetches what a request asked for.
   * @param fill the slot of the fetch, which has been claimed
   * @param entry what is too old, pinned by the caller; -1 if nothing is stored
   * @param onHead is given the head of the response, before anything of it is stored
   */
  start(ex: Exchange, policy: CachePolicy, fill: number, entry: number, onHead: OnHead | null = null): void {
    const { store, idle } = this.fetches;
    if (this.active >= MAX_BACKGROUND_FETCHES) {
      this.fetches.gaveUp(fill, FillResult.NotStorable);
      return;
    }
    this.active++;
    if (entry >= 0) store.pin(entry);
    const own = unattendedCopy(ex, idle);
    for (const id of NOT_FOR_ALL) own.request.headers.removeAll(id);
    const asked = this.fetches.asked(ex, policy);
    const isConditional = entry >= 0 && this.fetches.addConditions(own.request, entry);
    const inner = new ShortDrainSink(() => {
      this.active--;
    }, onHead);
    own.open(inner, idle.flow, ex.client, this.pipeline);
    const sink = new FetchSink(this.fetches, policy, inner, { fill, stale: entry, isConditional, asked });
    own.sink = sink;
    own.cacheUse = sink;
    try {
      this.pipeline.start(own);
    } catch (error) {
      own.sink.abort(own, Fault.InternalError);
      throw error;
    }
  }
}

/** Receives the head of a response. */
type OnHead = (response: ResponseHead) => void;

/** Takes the body of a response that is not stored, and gives a long one up: it is of no use. */
class ShortDrainSink extends UnattendedSink {
  private readonly onHead: OnHead | null;
  private drained = 0;

  constructor(done: () => void, onHead: OnHead | null) {
    super(done);
    this.onHead = onHead;
  }

  override head(ex: Exchange): void {
    this.onHead?.(ex.response);
    super.head(ex);
  }

  override body(ex: Exchange, _bytes: Uint8Array, from: number, to: number): boolean {
    this.drained += to - from;
    if (this.drained <= MAX_STALE_DRAIN_BYTES) return true;
    ex.source.onCancelled(ex);
    this.abort(ex, Fault.Cancelled);
    return false;
  }
}

/** What only the client that happened to come wanted. */
const NOT_FOR_ALL = [HeaderId.IfNoneMatch, HeaderId.IfModifiedSince, HeaderId.IfRange, HeaderId.Range] as const;
