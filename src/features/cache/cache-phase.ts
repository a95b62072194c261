import { CacheNote, CacheResult } from "../../message/cache-result.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HeaderId, HeaderIdSet } from "../../message/header-block.ts";
import { Method } from "../../message/request-head.ts";
import type { CacheKey } from "../../shared/cache-key.ts";
import { FillResult, Slot, SlotFlag, SlotTime } from "../../shared/cache-memory.ts";
import { CacheLookup, type CacheStore } from "../../shared/cache-store.ts";
import { isEnough } from "./admission.ts";
import type { BackgroundFetches } from "./background-fetches.ts";
import type { CacheFetches } from "./cache-fetches.ts";
import { ConfirmingSink } from "./confirming-sink.ts";
import { type RequestDirectives, requestDirectives } from "./directives.ts";
import { DiskAnswer, type DiskReads, isOfUse } from "./disk-reads.ts";
import { FetchSink } from "./fetch-sink.ts";
import { sharingNeeded } from "./identity.ts";
import type { CachePolicy } from "./policy.ts";
import type { PurgeRequests } from "./purge-requests.ts";
import { NOT_STORED } from "./replies.ts";
import { isPartOnly, isSelective } from "./selection.ts";
import type { UnstorableKeys } from "./unstorable-keys.ts";
import { type CookieField, DISK_WAIT, NO_WAIT, type Wait, Waited, type Waiters } from "./waiters.ts";

/** What the phase is made of. */
export interface CachePhaseParts {
  readonly fetches: CacheFetches;
  readonly unstorable: UnstorableKeys;
  readonly waiters: Waiters;
  /** Null where nothing is on disk. */
  readonly disk: DiskReads | null;
  readonly background: BackgroundFetches;
  /** By the routes' numbers; null for those whose responses are not stored. */
  readonly policies: readonly (CachePolicy | null)[];
  /** Names a request that no origin will see. */
  readonly nameRequest: (ex: Exchange) => void;
  /** Null where no client may use PURGE: it is a method of the origin's then. */
  readonly purges: PurgeRequests | null;
}

/** Looks every GET and HEAD up in the cache, and watches over the fetching of what is not there. */
export class CachePhase implements Phase {
  readonly name = "cacheLookup";
  private readonly parts: CachePhaseParts;
  private readonly store: CacheStore;

  constructor(parts: CachePhaseParts) {
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
    const found = this.store.find(key, nowMs, mayClaim);
    if (this.store.entry >= 0 && !this.mayHave(this.store.entry, needed, policy, found)) this.dropEntry();
    else if (found === CacheLookup.Fresh) {
      if (policy.isConfirmed) return this.confirm(ex, policy, this.store.entry);
      if (directives.minFreshS > 0 && !this.staysFresh(this.store.entry, directives.minFreshS)) {
        this.dropEntry();
        return directives.onlyIfCached ? this.notStored(ex) : this.refresh(ex, policy, directives);
      }
      return this.hit(ex, policy, this.store.entry, CacheResult.Hit, waited);
    } else if (found === CacheLookup.Stale && this.mayBeStale(this.store.entry, directives.maxStaleS)) {
      if (this.store.claimed) this.parts.fetches.gaveUp(this.store.fill, FillResult.GivenUp);
      return this.hit(ex, policy, this.store.entry, CacheResult.Stale);
    }
    const asksDisk = found === CacheLookup.Nothing && mayWait && waited.what !== Waited.Disk && !policy.isConfirmed;
    const onDisk = asksDisk ? this.readDisk(ex, key, needed) : DiskAnswer.None;
    if (onDisk === DiskAnswer.Reading) return Verdict.Wait;
    if (onDisk === DiskAnswer.Read) {
      const verdict = this.lookUp(ex, policy, mayWait, DISK_WAIT);
      this.parts.disk!.letGo();
      return verdict;
    }
    if (found === CacheLookup.Busy && isPlain && mayWait && this.parts.waiters.lookAgain(ex)) return Verdict.Wait;
    if (isRange && found === CacheLookup.Nothing && this.store.claimed) return this.fetchWhole(ex, policy);
    // Another's response is of no use to a request whose own may be for its client alone.
    return this.goWithout(ex, policy, mayWait && !directives.onlyIfCached && needed === 0, directives.onlyIfCached);
  }

  /** Whether what is not in memory is on disk, and comes from there; an exchange that must wait for that waits. */
  private readDisk(ex: Exchange, key: CacheKey, needed: number): DiskAnswer {
    const { disk, fetches, waiters } = this.parts;
    if (disk === null) return DiskAnswer.None;
    const { nowMs } = fetches.ages;
    const answer = disk.begin(key, (place) => isOfUse(place, nowMs) && isEnough(place.flags, needed));
    if (answer === DiskAnswer.Reading) waiters.add(ex, disk.fill, disk.generation);
    return answer;
  }

  /** Nothing fresh: the stale response, another's fetch, or the origin. */
  private goWithout(ex: Exchange, policy: CachePolicy, mayWait: boolean, onlyIfCached: boolean): Verdict {
    const { entry, fill, claimed, fillGeneration } = this.store;
    if (entry >= 0 && this.isServedStale(entry)) {
      this.fetchAnew(ex, policy, entry);
      return this.hit(ex, policy, entry, CacheResult.Stale);
    }
    if (onlyIfCached) {
      if (entry >= 0) this.dropEntry();
      return this.notStored(ex);
    }
    if (!claimed && fill >= 0 && mayWait && !this.isKnownUnstorable(ex)) {
      if (entry >= 0) this.dropEntry();
      this.parts.waiters.add(ex, fill, fillGeneration);
      return Verdict.Wait;
    }
    ex.cacheResult = entry >= 0 ? CacheResult.Expired : CacheResult.Miss;
    this.watch(ex, policy, claimed ? fill : -1, entry);
    return Verdict.Next;
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
  private fetchAnew(ex: Exchange, policy: CachePolicy, entry: number): void {
    const { fetches, background } = this.parts;
    let { fill, claimed } = this.store;
    if (fill < 0) {
      fill = this.store.claim(fetches.keys.of(ex));
      claimed = fill >= 0;
    }
    if (claimed) background.start(ex, policy, fill, entry);
  }

  /** docs/cache.md#ranges: the whole response is fetched for all who ask for parts of it; this exchange waits for it like others. */
  private fetchWhole(ex: Exchange, policy: CachePolicy): Verdict {
    const { fill, fillGeneration } = this.store;
    const cookies: CookieField[] = [];
    this.parts.background.start(ex, policy, fill, -1, ({ headers }) => {
      for (let i = 0; i < headers.count; i++)
        if (isCookie(headers.ids[i]!)) cookies.push([headers.nameText(i), headers.valueText(i)]);
    });
    this.parts.waiters.add(ex, fill, fillGeneration, { what: Waited.OwnFetch, cookies });
    return Verdict.Wait;
  }

  private hit(ex: Exchange, policy: CachePolicy, entry: number, result: CacheResult, waited = NO_WAIT): Verdict {
    if (policy.namesRequests) this.parts.nameRequest(ex);
    this.parts.fetches.answers.answer(ex, ex.sink, entry, result, waited);
    return Verdict.Done;
  }

  /** Lets the handler answer, and find out whether what is stored still holds. */
  private confirm(ex: Exchange, policy: CachePolicy, entry: number): Verdict {
    const sink = new ConfirmingSink(this.parts.fetches, policy, ex.sink, entry);
    ex.sink = sink;
    ex.cacheUse = sink;
    ex.cacheResult = CacheResult.Expired;
    return Verdict.Next;
  }

  /** Puts a watcher between the handler and the client. */
  private watch(ex: Exchange, policy: CachePolicy, fill: number, stale: number): void {
    const { fetches } = this.parts;
    // What a client that asks for something other than the whole response gets may be no use to others.
    const isConditional = stale >= 0 && !isSelective(ex.request) && fetches.addConditions(ex.request, stale);
    const sink = new FetchSink(fetches, policy, ex.sink, { fill, stale, isConditional });
    ex.sink = sink;
    ex.cacheUse = sink;
  }

  /** Whether an entry is of use to a request. That of a file is renewed by nothing but the file. */
  private mayHave(slot: number, needed: number, policy: CachePolicy, found: CacheLookup): boolean {
    const { memory } = this.store;
    if (policy.isConfirmed && found !== CacheLookup.Fresh) return false;
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

  private isKnownUnstorable(ex: Exchange): boolean {
    const { unstorable, fetches } = this.parts;
    return unstorable.has(fetches.keys.of(ex), fetches.ages.nowMs);
  }

  private isServedStale(slot: number): boolean {
    const { times } = this.store.memory;
    return this.parts.fetches.ages.nowMs < times[slot * SlotTime.Count + SlotTime.StaleWhileUntil]!;
  }

  private dropEntry(): void {
    this.store.unpin(this.store.entry);
    this.store.entry = -1;
  }
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
