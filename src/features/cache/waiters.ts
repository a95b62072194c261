import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { Held } from "../../message/ports.ts";
import type { CacheFetch } from "./store/cache-lookup.ts";
import { FillResult } from "./store/cache-memory.ts";
import type { CacheStore } from "./store/cache-store.ts";

/** Milliseconds from the beginning of a request for which its look-up tries again if the lock could not be had. */
export const CACHE_LOOKUP_MS = 200;
/** Milliseconds that a request waits for another's fetch of the same response before it is forwarded itself. */
const CACHE_WAIT_MS = 10_000;
/** Milliseconds between two polls of other workers' fetches that exchanges wait for. */
const CACHE_POLL_MS = 4;

/** What an exchange has waited for. */
export const enum Waited {
  Nothing = 0,
  /** Another's fetch. */
  Fetch,
  /** The fetch of the whole response that its own range has begun. */
  OwnFetch,
  /** The disk, from which it or another read the entry. */
  Disk,
}

/** An exchange that has waited. */
export interface Wait {
  readonly what: Waited;
  /** The cookies of a response that was fetched for this very exchange; they are in no stored copy. */
  readonly cookies: readonly CookieField[];
  /** Since when it has tried to get the lock of the cache, in milliseconds; -1 if it does not. */
  readonly triesSinceMs: number;
}

/** A field Set-Cookie or Set-Cookie2. */
export type CookieField = readonly [name: string, value: string];

/** An exchange that has waited for nothing. */
export const NO_WAIT: Wait = { what: Waited.Nothing, cookies: [], triesSinceMs: -1 };
const FETCH_WAIT: Wait = { what: Waited.Fetch, cookies: [], triesSinceMs: -1 };
/** An exchange that has waited for the disk. */
export const DISK_WAIT: Wait = { what: Waited.Disk, cookies: [], triesSinceMs: -1 };

/** Goes on with an exchange that waited for another's fetch. */
interface WaitOwner {
  /**
   * @param mayWait whether it may wait once more, or fetch for others
   * @param mayBeEndless whether it has waited in vain for a response that came without an announced length
   */
  onWaited(ex: Exchange, mayWait: boolean, waited: Wait, mayBeEndless: boolean): void;
}

/** What waiting needs of its worker. */
export interface WaitTime {
  /** Milliseconds. */
  now(): number;
  /** Runs something that is not a socket event as a turn of its own. */
  inTurn(work: () => void): void;
  /** Receives what went wrong with one exchange. */
  onException(error: unknown): void;
}

/**
 * Exchanges that wait for a response that another exchange fetches. A fetch of this worker wakes them at once; for those of
 * others the slots are examined every few milliseconds, while any exchange waits.
 */
export class Waiters {
  private readonly store: CacheStore;
  private readonly owner: WaitOwner;
  private readonly time: WaitTime;
  private readonly waiting: Map<number, Waiter[]> = new Map();
  private poll: ReturnType<typeof setInterval> | null = null;

  constructor(store: CacheStore, owner: WaitOwner, time: WaitTime) {
    this.store = store;
    this.owner = owner;
    this.time = time;
  }

  /** Lets an exchange wait for the end of a fetch. @param ownCookies of a fetch that is its own; null if it is another's */
  add(ex: Exchange, { slot, generation }: CacheFetch, ownCookies: readonly CookieField[] | null = null): void {
    if (ownCookies !== null)
      this.hold(ex, slot, generation, { what: Waited.OwnFetch, cookies: ownCookies, triesSinceMs: -1 });
    else this.hold(ex, slot, generation, this.store.isReading(slot) ? DISK_WAIT : FETCH_WAIT);
  }

  /**
   * Lets an exchange look once more, a few milliseconds later: the lock of the cache could not be had. A thread that holds it may
   * have lost its processor, and a request that did without would be a second one for what another fetches.
   * @param waited what it has waited for before: it still has when it looks again
   * @returns false if it has tried for long enough
   */
  lookAgain(ex: Exchange, waited: Wait): boolean {
    const nowMs = this.time.now();
    const triesSinceMs = waited.triesSinceMs < 0 ? nowMs : waited.triesSinceMs;
    if (nowMs - triesSinceMs > CACHE_LOOKUP_MS) return false;
    this.hold(ex, NO_FETCH, 0, { ...waited, triesSinceMs });
    return true;
  }

  /** A fetch of this worker has ended. Waiting exchanges continue when the current call stack has finished. */
  wake(fill: number): void {
    if (this.waiting.has(fill)) setImmediate(() => this.time.inTurn(() => this.release(fill)));
  }

  private hold(ex: Exchange, fill: number, generation: number, waited: Wait): void {
    const waiter = new Waiter(ex, generation, this.time.now() + CACHE_WAIT_MS, waited);
    ex.cacheUse = waiter;
    const all = this.waiting.get(fill);
    if (all === undefined) this.waiting.set(fill, [waiter]);
    else all.push(waiter);
    this.poll ??= setInterval(() => this.look(), CACHE_POLL_MS);
  }

  private look(): void {
    this.time.inTurn(() => {
      for (const fill of [...this.waiting.keys()]) this.release(fill);
    });
    if (this.waiting.size > 0 || this.poll === null) return;
    clearInterval(this.poll);
    this.poll = null;
  }

  /** Lets those go on whose fetch has ended, and those whose time is over. */
  private release(fill: number): void {
    const all = this.waiting.get(fill);
    if (all === undefined) return;
    const left: Waiter[] = [];
    const gone: Waiter[] = [];
    for (const waiter of all) {
      if (waiter.ex === null) continue;
      const waits =
        fill !== NO_FETCH && this.store.isFilling(fill, waiter.generation) && waiter.untilMs > this.time.now();
      (waits ? left : gone).push(waiter);
    }
    if (left.length === 0) this.waiting.delete(fill);
    else this.waiting.set(fill, left);
    for (const waiter of gone) this.goOn(waiter, fill);
  }

  private goOn(waiter: Waiter, fill: number): void {
    const { ex, generation } = waiter;
    // One that went on before may have ended it.
    if (ex === null) return;
    const isOver = fill === NO_FETCH || !this.store.isFilling(fill, generation);
    const mayWait = fill === NO_FETCH || (isOver && this.store.resultOf(fill, generation) !== FillResult.NotStorable);
    waiter.ex = null;
    ex.cacheUse = null;
    try {
      this.owner.onWaited(ex, mayWait, waiter.waited, !isOver && this.store.isGrowing(fill));
    } catch (error) {
      // The others must not wait on its account.
      this.time.onException(error);
      ex.sink.abort(ex, Fault.InternalError);
    }
  }
}

/** In the place of a slot: for all that wait for no fetch. */
const NO_FETCH = -1;

/** One exchange that waits. */
class Waiter implements Held {
  ex: Exchange | null;
  readonly generation: number;
  readonly untilMs: number;
  readonly waited: Wait;

  constructor(ex: Exchange, generation: number, untilMs: number, waited: Wait) {
    this.waited = waited;
    this.ex = ex;
    this.generation = generation;
    this.untilMs = untilMs;
  }

  /** The exchange is over: the client has left. */
  release(): void {
    this.ex = null;
  }
}
