import type { Fault } from "../../core/fault.ts";
import { CacheResult } from "../../message/cache-result.ts";
import type { Exchange, ResponseSink } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { HeaderId } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { Held, TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { ResponseHead } from "../../message/request-head.ts";
import type { Asked, CacheFetches } from "./cache-fetches.ts";
import { FetchSink } from "./fetch-sink.ts";
import type { CachePolicy } from "./policy.ts";
import { SlotTime } from "./store/cache-memory.ts";

/**
 * Goes between the file handler and the client's sink where a response is stored: the handler answers, so that nothing is
 * older than the file system, and its response is a hit where it is the stored one. Otherwise it takes the entry's place.
 * docs/security.md#cache-and-identity
 */
export class ConfirmingSink extends PassingSink implements Held {
  private readonly fetches: CacheFetches;
  private readonly policy: CachePolicy;
  /** The entry, pinned; -1 when it was let go. */
  private entry: number;
  private readonly asked: Asked | null;

  /** @param entry the stored data, pinned by the caller */
  constructor(fetches: CacheFetches, policy: CachePolicy, inner: ResponseSink, entry: number, asked: Asked | null) {
    super(inner);
    this.fetches = fetches;
    this.policy = policy;
    this.entry = entry;
    this.asked = asked;
  }

  protected override get passesBody(): boolean {
    return true;
  }

  override head(ex: Exchange): void {
    if (this.isStored(ex.response)) {
      this.hit(ex);
      const { headers } = ex.response;
      headers.add("X-Cache", "HIT");
      headers.add("Cache-Status", "edge; hit");
    } else this.miss(ex);
    this.inner.head(ex);
  }

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    if (this.isStoredFixed(ex, response)) this.hit(ex);
    else this.miss(ex);
    this.inner.fixed(ex, response);
  }

  override abort(ex: Exchange, fault: Fault): void {
    this.release();
    this.inner.abort(ex, fault);
  }

  override upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.release();
    return this.inner.upgrade(ex, tunnel);
  }

  /** The exchange is over, or the entry is of no use any more. */
  release(): void {
    if (this.entry >= 0) this.fetches.store.unpin(this.entry);
    this.entry = -1;
  }

  private isStored(response: ResponseHead): boolean {
    return isSame(this.fetches.storedHead(this.entry), response);
  }

  /** The same of a prebuilt response, which is compared once. */
  private isStoredFixed(ex: Exchange, response: PrebuiltResponse): boolean {
    const { fetches, entry } = this;
    if (fetches.isStoredResponse(entry, response)) return true;
    fetches.describeFixed(ex, response);
    const isStored = this.isStored(ex.response);
    if (isStored) fetches.noteStoredResponse(entry, response);
    return isStored;
  }

  private hit(ex: Exchange): void {
    const { store, ages } = this.fetches;
    const ageMs = ages.nowMs - store.memory.times[this.entry * SlotTime.Count + SlotTime.StoredAt]!;
    ex.response.addExtra(ageFields(Math.max(0, Math.floor(ageMs / 1000))));
    ex.cacheResult = CacheResult.Hit;
    this.release();
  }

  private miss(ex: Exchange): void {
    const fetch = new FetchSink(this.fetches, this.policy, this.inner, {
      fill: -1,
      stale: -1,
      isConditional: false,
      asked: this.asked,
    });
    ex.cacheResult = CacheResult.Expired;
    ex.cacheUse = fetch;
    // It stores the new response before the client's sink gets it.
    this.inner = fetch;
    this.release();
  }
}

/** The field Age; most are asked for again and again. */
function ageFields(seconds: number): ExtraFields {
  if (seconds >= KEPT_AGES) return new ExtraFields([["Age", String(seconds)]]);
  AGES[seconds] ??= new ExtraFields([["Age", String(seconds)]]);
  return AGES[seconds];
}

/** Whether a response is the stored one, a part of it, or says that it has not changed. Entity tags of files are strong. */
function isSame(stored: ResponseHead, fresh: ResponseHead): boolean {
  // What gives a cookie is for its client alone.
  if (fresh.headers.find(HeaderId.SetCookie) >= 0 || fresh.headers.find(HeaderId.SetCookie2) >= 0) return false;
  const etag = fresh.headers.valueOf(HeaderId.ETag);
  if (etag !== stored.headers.valueOf(HeaderId.ETag)) return false;
  if (etag !== "" && stored.status === 200 && (fresh.status === 206 || fresh.status === 304)) return true;
  return (
    fresh.status === stored.status &&
    fresh.contentLength === stored.contentLength &&
    fresh.headers.valueOf(HeaderId.Location) === stored.headers.valueOf(HeaderId.Location)
  );
}

const KEPT_AGES = 128;
const AGES: (ExtraFields | undefined)[] = [];
