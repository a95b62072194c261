import { CacheNote, CacheResult } from "../../message/cache-result.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HeaderId, HeaderIdSet } from "../../message/header-block.ts";
import { Method } from "../../message/request-head.ts";
import { isEnough } from "./admission.ts";
import type { BackgroundFetches } from "./background-fetches.ts";
import type { CacheFetches } from "./cache-fetches.ts";
import { ConfirmingSink } from "./confirming-sink.ts";
import { type RequestDirectives, requestDirectives } from "./directives.ts";
import { type DiskReads, type DiskResponse, isOfUse, OnDisk } from "./disk-reads.ts";
import { FetchSink } from "./fetch-sink.ts";
import { sharingNeeded } from "./identity.ts";
import type { CachePolicy } from "./policy.ts";
import type { PurgeRequests } from "./purge-requests.ts";
import { NOT_STORED } from "./replies.ts";
import { AskedResource } from "./request-keys.ts";
import { isPartOnly, isSelective } from "./selection.ts";
import type { CacheKey } from "./store/cache-key.ts";
import { type CacheFetch, LookupKind, type StaleLookup } from "./store/cache-lookup.ts";
import { FillResult, Slot, SlotFlag, SlotTime } from "./store/cache-memory.ts";
import type { CacheStore } from "./store/cache-store.ts";
import type { UnstorableKeys } from "./unstorable-keys.ts";
import { type CookieField, DISK_WAIT, NO_WAIT, type Wait, Waited, type Waiters } from "./waiters.ts";

/** What the phase is made of. */
interface CachePhasePorts {
  readonly fetches: CacheFetches;
  readonly unstorable: UnstorableKeys;
  readonly waiters: Waiters;
  /** Null if nothing is on disk. */
  readonly disk: DiskReads | null;
  readonly background: BackgroundFetches;
  /** By the routes' numbers; null for those whose responses are not stored. */
  readonly policies: readonly (CachePolicy | null)[];
  /** Names a request that no origin will see. */
  readonly nameRequest: (ex: Exchange) => void;
  /** Null if no client may use PURGE: it is a method of the origin's then. */
  readonly purges: PurgeRequests | null;
}

/** Looks every GET and HEAD up in the cache, and watches over the fetching of what is not there. */
export class CachePhase implements Phase {
  readonly name = "cacheLookup";
  private readonly parts: CachePhasePorts;
  private readonly store: CacheStore;

  constructor(parts: CachePhasePorts) {
    this.parts = parts;
    this.store = parts.fetches.store;
  }

  run(ex: Exchange): Verdict {
    const policy = this.parts.policies[ex.route!.index] ?? null;
    if (policy === null) return Verdict.Next;
    const { method } = ex.request;
    if (method !== Method.Get && method !== Method.Head) {
      const purged = this.parts.purges === null ? null : this.parts.purges.run(ex);
      if (purged !== null) return purged;
      ex.cacheResult = CacheResult.OtherMethod;
      if (policy.mayChange) ex.cacheUse = new AskedResource(this.parts.fetches.keys.of(ex));
      return Verdict.Next;
    }
    if (policy.key !== null) policy.key.rewrite(ex.request);
    return this.lookUp(ex, policy, true, NO_WAIT);
  }

  /** Goes on with an exchange that waited. */
  onWaited(ex: Exchange, mayWait: boolean, waited: Wait, mayBeEndless: boolean): void {
    const policy = this.parts.policies[ex.route!.index]!;
    if (mayBeEndless) this.parts.fetches.noteUnstorable(ex);
    if (this.lookUp(ex, policy, mayWait, waited) === Verdict.Next) ex.pipeline.resume(ex);
  }

  private lookUp(ex: Exchange, policy: CachePolicy, mayWait: boolean, waited: Wait): Verdict {
    const { request } = ex;
    const { headers } = request;
    // A body is no part of the key. The other two conditions are the origin's business (RFC 9111 §4.3.2).
    if (request.hasBody()) return bypass(ex, CacheNote.RequestBody);
    if (request.upgrade) return bypass(ex, CacheNote.Upgrade);
    if (headers.mayHave(ORIGINS_OWN)) return bypass(ex, CacheNote.Precondition);
    const directives = requestDirectives(headers);
    if (directives.refresh) return this.refresh(ex, policy, directives);
    const key = this.parts.fetches.keys.of(ex);
    const needed = sharingNeeded(ex, policy);
    const isRange = !policy.isConfirmed && isSelective(request) && isPartOnly(request);
    const isPlain = needed === 0 && (isRange || !isSelective(request)) && !directives.onlyIfCached;
    const { nowMs } = this.parts.fetches.ages;
    const mayClaim = isPlain && mayWait && !this.parts.unstorable.has(key, nowMs);
    let lookup = this.store.find(key, nowMs, mayClaim);
    let had = waited;
    if (lookup.kind === LookupKind.Nothing || lookup.kind === LookupKind.Filling) {
      const mayAsk = mayWait && waited.what !== Waited.Disk && !policy.isConfirmed;
      const onDisk = mayAsk ? this.readDisk(key, lookup.fetch, needed) : null;
      if (onDisk !== null && onDisk.kind === OnDisk.Reading) return this.waitFor(ex, onDisk.fetch);
      if (onDisk !== null && onDisk.kind === OnDisk.AtHand) {
        had = DISK_WAIT;
        lookup = this.store.find(key, nowMs, mayClaim);
        if (onDisk.entry >= 0) this.store.unpin(onDisk.entry);
      }
    }
    // Another's response is of no use to a request whose own may be for its client alone.
    const mayJoin = mayWait && needed === 0;
    switch (lookup.kind) {
      case LookupKind.Fresh:
        return this.useFresh(ex, policy, lookup.entry, needed, directives, had);
      case LookupKind.Stale:
        return this.useStale(ex, policy, lookup, needed, directives, mayJoin);
      case LookupKind.Busy:
        if (isPlain && mayWait && this.parts.waiters.lookAgain(ex, had)) return Verdict.Wait;
        return this.goWithout(ex, policy, null, directives, mayJoin);
      case LookupKind.Nothing:
        if (isRange && lookup.fetch !== null) return this.fetchWhole(ex, policy, lookup.fetch);
        return this.goWithout(ex, policy, lookup.fetch, directives, mayJoin);
      case LookupKind.Filling:
        return this.goWithout(ex, policy, lookup.fetch, directives, mayJoin);
    }
  }

  private useFresh(
    ex: Exchange,
    policy: CachePolicy,
    entry: number,
    needed: number,
    directives: RequestDirectives,
    waited: Wait,
  ): Verdict {
    if (!this.maySee(entry, needed)) {
      this.store.unpin(entry);
      return this.goWithout(ex, policy, null, directives, false);
    }
    if (policy.isConfirmed) return this.confirm(ex, policy, entry);
    if (directives.minFreshS > 0 && !this.staysFresh(entry, directives.minFreshS)) {
      this.store.unpin(entry);
      return directives.onlyIfCached ? this.notStored(ex) : this.refresh(ex, policy, directives);
    }
    return this.hit(ex, policy, entry, CacheResult.Hit, waited);
  }

  private useStale(
    ex: Exchange,
    policy: CachePolicy,
    { entry, fetch }: StaleLookup,
    needed: number,
    directives: RequestDirectives,
    mayJoin: boolean,
  ): Verdict {
    // That of a file is renewed by nothing but the file.
    if (!policy.isConfirmed && this.maySee(entry, needed)) {
      if (this.mayBeStale(entry, directives.maxStaleS)) {
        if (fetch?.isOwn === true) this.parts.fetches.gaveUp(fetch.slot, FillResult.GivenUp);
        return this.hit(ex, policy, entry, CacheResult.Stale);
      }
      if (this.isServedStale(entry)) {
        this.fetchAnew(ex, policy, entry, fetch);
        return this.hit(ex, policy, entry, CacheResult.Stale);
      }
      if (!directives.onlyIfCached && !(mayJoin && this.isFetchedForAll(ex, fetch))) {
        ex.cacheResult = CacheResult.Expired;
        this.watch(ex, policy, ownSlot(fetch), entry);
        return Verdict.Next;
      }
    }
    this.store.unpin(entry);
    return this.goWithout(ex, policy, fetch, directives, mayJoin);
  }

  /** Whether what is not in memory is on disk, and comes from there. */
  private readDisk(key: CacheKey, known: CacheFetch | null, needed: number): DiskResponse | null {
    const { disk, fetches } = this.parts;
    if (disk === null) return null;
    const { nowMs } = fetches.ages;
    return disk.begin(key, known, (place) => isOfUse(place, nowMs) && isEnough(place.flags, needed));
  }

  /** Nothing that is stored is of use: another's fetch, or the origin. @param fetch another's, or the look-up's own */
  private goWithout(
    ex: Exchange,
    policy: CachePolicy,
    fetch: CacheFetch | null,
    { onlyIfCached }: RequestDirectives,
    mayJoin: boolean,
  ): Verdict {
    if (onlyIfCached) return this.notStored(ex);
    if (mayJoin && this.isFetchedForAll(ex, fetch)) return this.waitFor(ex, fetch);
    ex.cacheResult = CacheResult.Miss;
    this.watch(ex, policy, ownSlot(fetch), -1);
    return Verdict.Next;
  }

  private waitFor(ex: Exchange, fetch: CacheFetch): Verdict {
    this.parts.waiters.add(ex, fetch);
    return Verdict.Wait;
  }

  private notStored(ex: Exchange): Verdict {
    ex.cacheResult = CacheResult.Miss;
    ex.sink.fixed(ex, NOT_STORED);
    return Verdict.Done;
  }

  /** docs/cache.md#forced-refresh. RFC 9111 §5.2.1.5: what belongs to a no-store request is not stored. */
  private refresh(ex: Exchange, policy: CachePolicy, directives: RequestDirectives): Verdict {
    ex.cacheResult = CacheResult.Refresh;
    if (directives.noStore) ex.cacheNote = CacheNote.RequestNoStore;
    else this.watch(ex, policy, -1, -1);
    return Verdict.Next;
  }

  /** Revalidates at the origin in the background, unless a fetch is already under way. */
  private fetchAnew(ex: Exchange, policy: CachePolicy, entry: number, fetch: CacheFetch | null): void {
    const { fetches, background } = this.parts;
    const fill = fetch === null ? this.store.claim(fetches.keys.of(ex)) : ownSlot(fetch);
    if (fill >= 0) background.start(ex, policy, fill, entry);
  }

  /** docs/cache.md#ranges: the whole response is fetched for all who ask for parts of it; this exchange waits for it like others. */
  private fetchWhole(ex: Exchange, policy: CachePolicy, fetch: CacheFetch): Verdict {
    const cookies: CookieField[] = [];
    this.parts.background.start(ex, policy, fetch.slot, -1, ({ headers }) => {
      for (let i = 0; i < headers.count; i++)
        if (isCookie(headers.ids[i]!)) cookies.push([headers.nameText(i), headers.valueText(i)]);
    });
    this.parts.waiters.add(ex, fetch, cookies);
    return Verdict.Wait;
  }

  private hit(ex: Exchange, policy: CachePolicy, entry: number, result: CacheResult, waited = NO_WAIT): Verdict {
    if (policy.namesRequests) this.parts.nameRequest(ex);
    this.parts.fetches.answers.answer(ex, ex.sink, entry, result, waited);
    return Verdict.Done;
  }

  /** Lets the handler answer, and find out whether what is stored still holds. */
  private confirm(ex: Exchange, policy: CachePolicy, entry: number): Verdict {
    const { fetches } = this.parts;
    const sink = new ConfirmingSink(fetches, policy, ex.sink, entry, fetches.asked(ex, policy));
    ex.sink = sink;
    ex.cacheUse = sink;
    ex.cacheResult = CacheResult.Expired;
    return Verdict.Next;
  }

  /** Puts a watcher between the handler and the client. */
  private watch(ex: Exchange, policy: CachePolicy, fill: number, stale: number): void {
    const { fetches } = this.parts;
    const asked = fetches.asked(ex, policy);
    // What a client that asks for something other than the whole response gets may be no use to others.
    const isConditional = stale >= 0 && !isSelective(ex.request) && fetches.addConditions(ex.request, stale);
    const sink = new FetchSink(fetches, policy, ex.sink, { fill, stale, isConditional, asked });
    ex.sink = sink;
    ex.cacheUse = sink;
  }

  /** Whether an entry may go to a request that needs it to be shareable. */
  private maySee(slot: number, needed: number): boolean {
    const { memory } = this.store;
    return isEnough(memory.words[memory.at(slot) + Slot.Flags]!, needed);
  }

  /** RFC 9111 §5.2.1.3. */
  private staysFresh(slot: number, seconds: number): boolean {
    return this.freshForMs(slot) >= seconds * 1000;
  }

  /** RFC 9111 §5.2.1.2, §4.2.4: not where the response forbids it. */
  private mayBeStale(slot: number, seconds: number): boolean {
    const { memory } = this.store;
    if (seconds < 0 || (memory.words[memory.at(slot) + Slot.Flags]! & SlotFlag.NeverStale) !== 0) return false;
    return -this.freshForMs(slot) <= seconds * 1000;
  }

  private freshForMs(slot: number): number {
    return this.store.memory.times[slot * SlotTime.Count + SlotTime.FreshUntil]! - this.parts.fetches.ages.nowMs;
  }

  /** Whether another fetches what a request may wait for, as far as is known. */
  private isFetchedForAll(ex: Exchange, fetch: CacheFetch | null): fetch is CacheFetch {
    if (fetch === null || fetch.isOwn) return false;
    const { unstorable, fetches } = this.parts;
    return !unstorable.has(fetches.keys.of(ex), fetches.ages.nowMs);
  }

  private isServedStale(slot: number): boolean {
    const { times } = this.store.memory;
    return this.parts.fetches.ages.nowMs < times[slot * SlotTime.Count + SlotTime.StaleWhileUntil]!;
  }
}

/** The slot of a fetch that the look-up has claimed; -1 for none. */
function ownSlot(fetch: CacheFetch | null): number {
  return fetch?.isOwn === true ? fetch.slot : -1;
}

function isCookie(id: HeaderId): boolean {
  return id === HeaderId.SetCookie || id === HeaderId.SetCookie2;
}

function bypass(ex: Exchange, note: CacheNote): Verdict {
  ex.cacheResult = CacheResult.Bypass;
  ex.cacheNote = note;
  return Verdict.Next;
}

const ORIGINS_OWN = new HeaderIdSet([HeaderId.IfMatch, HeaderId.IfUnmodifiedSince]);
