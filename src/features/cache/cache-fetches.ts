import type { Clock } from "../../core/clock.ts";
import type { Exchange, IdleExchangePorts } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { NowMs } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method, type RequestHead, ResponseHead } from "../../message/request-head.ts";
import { sharingNeeded } from "./identity.ts";
import type { CachePolicy } from "./policy.ts";
import type { RequestKeys } from "./request-keys.ts";
import { BlockCursor } from "./store/cache-blocks.ts";
import type { CacheKey } from "./store/cache-key.ts";
import { type FillResult, Slot, SlotFlag, SlotTime } from "./store/cache-memory.ts";
import type { CacheStore } from "./store/cache-store.ts";
import type { StoredHeads } from "./stored-head.ts";
import type { StoredResponses } from "./stored-responses.ts";
import type { UnstorableKeys } from "./unstorable-keys.ts";

interface StoredResponse {
  readonly slot: number;
  readonly generation: number;
}

/**
 * A request as its look-up saw it. Its response goes to others by this alone: hooks, which come later, may send another one, or take
 * the client's credentials off. docs/security.md#one-key
 */
export interface Asked extends Pick<CacheKey, "uriHash" | "variantHash"> {
  /** See `sharingNeeded`. */
  readonly needed: number;
}

/** What all fetches of one worker share. */
export class CacheFetches {
  readonly store: CacheStore;
  readonly heads: StoredHeads;
  readonly keys: RequestKeys;
  readonly answers: StoredResponses;
  readonly clock: Clock;
  readonly ages: NowMs;
  readonly idle: IdleExchangePorts;
  private readonly unstorable: UnstorableKeys;
  private readonly onEnded: (fill: number) => void;
  private readonly merged: ResponseHead = new ResponseHead();
  private readonly cursor: BlockCursor;
  /** The entries that prebuilt responses were found to be; weakly, for a file that changes gets another response. */
  private readonly stored: WeakMap<PrebuiltResponse, StoredResponse> = new WeakMap();

  /** @param onEnded is notified that a fetch has ended, so that waiting exchanges continue */
  constructor(
    parts: Pick<CacheFetches, "store" | "heads" | "keys" | "answers" | "clock" | "ages" | "idle">,
    unstorable: UnstorableKeys,
    onEnded: (fill: number) => void,
  ) {
    this.store = parts.store;
    this.heads = parts.heads;
    this.keys = parts.keys;
    this.answers = parts.answers;
    this.clock = parts.clock;
    this.ages = parts.ages;
    this.idle = parts.idle;
    this.unstorable = unstorable;
    this.onEnded = onEnded;
    this.cursor = new BlockCursor(this.store.memory);
  }

  /** A request at its look-up; null if nothing changes it afterwards. */
  asked(ex: Exchange, policy: CachePolicy): Asked | null {
    if (!policy.mayChange) return null;
    const { uriHash, variantHash } = this.keys.of(ex);
    return { uriHash, variantHash, needed: sharingNeeded(ex, policy) };
  }

  /** A fetch has been committed. */
  fetched(ex: Exchange, fill: number): void {
    this.unstorable.remove(this.keys.of(ex));
    this.onEnded(fill);
  }

  /** A fetch stores nothing. */
  gaveUp(fill: number, result: FillResult): void {
    this.store.abandon(fill, result);
    this.onEnded(fill);
  }

  /** The response is not one to be stored: the next requests for it need not wait for each other. */
  noteUnstorable(ex: Exchange): void {
    this.unstorable.add(this.keys.of(ex), this.ages.nowMs);
  }

  /** Length of the body of a pinned entry, in bytes. */
  bodyBytesOf(slot: number): number {
    return this.store.memory.words[this.store.memory.at(slot) + Slot.BodyBytes]!;
  }

  /** The head of a pinned entry, as it would be sent; it holds until the next is asked for. */
  storedHead(slot: number): ResponseHead {
    const { merged } = this;
    const { words, times } = this.store.memory;
    const at = this.store.memory.at(slot);
    merged.reset();
    this.heads.read(slot, merged.headers, 0);
    merged.status = words[at + Slot.Status]!;
    merged.withoutBody = words[at + Slot.BodyBytes] === 0;
    merged.lengthWithoutBody = merged.withoutBody;
    merged.framing = merged.withoutBody ? Framing.None : Framing.Length;
    merged.contentLength = times[slot * SlotTime.Count + SlotTime.ContentLength]!;
    merged.fromUpstream = (words[at + Slot.Flags]! & SlotFlag.FromUpstream) !== 0;
    return merged;
  }

  /** Adds the validators of a pinned entry to a request as conditions. RFC 9111 §4.3.1. @returns whether it has any */
  addConditions(request: RequestHead, slot: number): boolean {
    const { headers } = this.storedHead(slot);
    const etag = headers.valueOf(HeaderId.ETag);
    const modified = headers.valueOf(HeaderId.LastModified);
    if (etag !== "") request.headers.add("If-None-Match", etag);
    if (modified !== "") request.headers.add("If-Modified-Since", modified);
    return etag !== "" || modified !== "";
  }

  /** Copies the body of a pinned entry into a fetch. */
  copyBody(slot: number, fill: number, offset: number, bytes: number): void {
    const { words, data } = this.store.memory;
    const at = this.store.memory.at(slot);
    this.cursor.seek(words[at + Slot.FirstBlock]!, this.store.keyBytesOf(slot) + words[at + Slot.HeadBytes]!);
    for (let done = 0; done < bytes; ) {
      const length = this.cursor.run(bytes - done);
      this.store.write(fill, offset + done, data, this.cursor.from, this.cursor.to);
      done += length;
    }
  }

  /** Whether a prebuilt response has been seen to be what a pinned entry stores: the same objects need no second comparison. */
  isStoredResponse(slot: number, response: PrebuiltResponse): boolean {
    const seen = this.stored.get(response);
    return seen !== undefined && seen.slot === slot && seen.generation === this.store.generationOf(slot);
  }

  /** Notes that a prebuilt response is what a pinned entry stores. */
  noteStoredResponse(slot: number, response: PrebuiltResponse): void {
    this.stored.set(response, { slot, generation: this.store.generationOf(slot) });
  }

  /** Puts what a prebuilt response says into `ex.response`, so that it can be judged and stored like any other. */
  describeFixed(ex: Exchange, { status, fields, body }: PrebuiltResponse): void {
    const { response: reply, request } = ex;
    reply.withoutBody = request.method === Method.Head;
    reply.lengthWithoutBody = reply.withoutBody;
    reply.status = status;
    reply.framing = Framing.Length;
    reply.contentLength = body.length;
    reply.headers.resetOwn();
    for (const [name, value] of fields) reply.headers.add(name, value);
  }
}
