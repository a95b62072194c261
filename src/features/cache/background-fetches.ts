import { Fault } from "../../core/fault.ts";
import { MAX_BACKGROUND_FETCHES } from "../../core/limits.ts";
import { Exchange, ExchangeState, type Pipeline } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { ReplySink, TunnelEnd } from "../../message/ports.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { FillResult } from "../../shared/cache-memory.ts";
import type { CacheFetches } from "./cache-fetches.ts";
import { FetchSink } from "./fetch-sink.ts";
import type { CachePolicy } from "./policy.ts";

/** Fetches responses again in the background: stale-while-revalidate. RFC 5861 §3. */
export class BackgroundFetches {
  private readonly fetches: CacheFetches;
  private readonly pipeline: Pipeline;
  private active = 0;

  /** @param pipeline for the exchanges that are made here: they have no phases, and taps only at their end */
  constructor(fetches: CacheFetches, pipeline: Pipeline) {
    this.fetches = fetches;
    this.pipeline = pipeline;
  }

  /**
   * Fetches what a request asked for.
   * @param fill the slot of the fetch, which has been claimed
   * @param entry what is too old, pinned by the caller
   */
  start(ex: Exchange, policy: CachePolicy, fill: number, entry: number): void {
    const { store, idle } = this.fetches;
    if (this.active >= MAX_BACKGROUND_FETCHES) {
      this.fetches.gaveUp(fill, FillResult.NotStorable);
      return;
    }
    this.active++;
    store.pin(entry);
    const own = new Exchange(idle);
    own.request.copyFrom(ex.request);
    for (const id of NOT_FOR_ALL) removeAll(own.request, id);
    own.route = ex.route;
    own.fromTrustedProxy = ex.fromTrustedProxy;
    own.forwardedIp = ex.forwardedIp;
    own.prefixLength = ex.prefixLength;
    own.forwardPath = ex.forwardPath;
    own.canonicalPath = ex.canonicalPath;
    own.bodyDone = true;
    own.startedMs = ex.startedMs;
    const isConditional = this.fetches.addConditions(own.request, entry);
    const inner = new NobodySink(() => {
      this.active--;
    });
    own.open(inner, idle.flow, ex.client, this.pipeline);
    const sink = new FetchSink(this.fetches, policy, inner, { fill, stale: entry, isConditional });
    own.sink = sink;
    own.cacheUse = sink;
    try {
      own.route!.handler.handle(own);
    } catch (error) {
      own.sink.abort(own, Fault.InternalError);
      throw error;
    }
  }
}

/** Takes a response that no client waits for. */
class NobodySink implements ReplySink {
  readonly returnsBytes = true;
  private readonly done: () => void;

  constructor(done: () => void) {
    this.done = done;
  }

  fixed(ex: Exchange): void {
    this.end(ex);
  }

  head(ex: Exchange): void {
    ex.state = ExchangeState.Replying;
  }

  body(): boolean {
    return true;
  }

  end(ex: Exchange): void {
    if (ex.state === ExchangeState.Finished) return;
    ex.state = ExchangeState.Finished;
    ex.endedMs = ex.startedMs;
    ex.pipeline.onEnd(ex);
    ex.release();
    this.done();
  }

  abort(ex: Exchange, fault: Fault): void {
    ex.fault = fault;
    this.end(ex);
  }

  interim(): void {}

  wantBody(): void {}

  /** Nothing of the kind is asked for. */
  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.abort(ex, Fault.Cancelled);
    return tunnel;
  }
}

function removeAll({ headers }: RequestHead, id: HeaderId): void {
  for (let i = headers.find(id); i >= 0; i = headers.find(id, i)) headers.removeAt(i);
}

/** What only the client that happened to come wanted. */
const NOT_FOR_ALL = [HeaderId.IfNoneMatch, HeaderId.IfModifiedSince, HeaderId.IfRange, HeaderId.Range] as const;
