import type { NetworkSet } from "../../core/network-set.ts";
import {
  DispatchPhase,
  type Exchange,
  type IdleExchangePorts,
  type Phase,
  Pipeline,
  type ResponseTap,
} from "../../message/exchange.ts";
import type { PurgeOrder } from "../../message/purge-order.ts";
import { BackgroundFetches } from "./background-fetches.ts";
import { CacheFetches } from "./cache-fetches.ts";
import { CachePhase } from "./cache-phase.ts";
import { type CacheCounter, CacheTap, type InvalidationNote } from "./cache-tap.ts";
import type { CacheTimes } from "./cache-times.ts";
import { type DiskReadPorts, DiskReads } from "./disk-reads.ts";
import type { CachePolicy } from "./policy.ts";
import { type PurgeNote, PurgeRequests } from "./purge-requests.ts";
import { type DiskPurge, purgeRule } from "./purge-rule.ts";
import { RequestKeys } from "./request-keys.ts";
import type { CacheStore } from "./store/cache-store.ts";
import { StoredHeads } from "./stored-head.ts";
import { StoredResponses } from "./stored-responses.ts";
import { UnstorableKeys } from "./unstorable-keys.ts";
import { Waiters, type WaitTime } from "./waiters.ts";

/** What the cache needs of its worker. */
interface CachePorts {
  readonly times: CacheTimes;
  readonly time: WaitTime;
  readonly idle: IdleExchangePorts;
  readonly counter: CacheCounter;
  /** Who may use the method PURGE. */
  readonly purgers: NetworkSet;
  /** Whether Cache-Status says the key that a response is stored by. */
  readonly showsKeys: boolean;
  /** Reads what the kernel has of a file in its memory; see DiskReadPorts. */
  readonly readNow: DiskReadPorts["readNow"];
  /** Takes out what is on disk and not in memory, or makes it stale. */
  readonly purgeDisk: (purge: DiskPurge, done: (purged: number) => void) => void;
  /** Is told of what the method PURGE has taken out. */
  readonly onPurged: PurgeNote;
  /** Is told of what requests that change a resource have taken out; null if no other gateway is to know. */
  readonly onInvalidated: InvalidationNote | null;
  /** Gives an exchange its request id, if no origin will see it. */
  readonly nameRequest: (ex: Exchange) => void;
  /** Between the look-up and the handler: a fetch in the background passes them as a request does. */
  readonly fetchPhases: readonly Phase[];
  /** Notified of the end of what is fetched in the background. */
  readonly endTaps: readonly ResponseTap[];
}

/** The response cache of one worker. docs/cache.md */
export class ResponseCache {
  readonly phase: Phase;
  readonly tap: ResponseTap;
  private readonly store: CacheStore;
  private readonly keys: RequestKeys;
  private readonly heads: StoredHeads;
  private readonly times: CacheTimes;
  private readonly purgeDisk: CachePorts["purgeDisk"];

  /**
   * @param policies by the routes' numbers; null for those whose responses are not stored
   * @param dividesByTls whether TLS and cleartext share no entry
   */
  constructor(
    store: CacheStore,
    policies: readonly (CachePolicy | null)[],
    dividesByTls: boolean,
    services: CachePorts,
  ) {
    const { idle, times } = services;
    const heads = new StoredHeads(store);
    const rules = policies.map((policy) => policy?.key ?? null);
    const keys = new RequestKeys(store.memory.seed, dividesByTls, rules.some((one) => one !== null) ? rules : null);
    const showKey = services.showsKeys ? (ex: Exchange) => keys.parameterOf(ex) : null;
    const responses = new StoredResponses(store, heads, times, idle, showKey);
    const unstorable = new UnstorableKeys();
    const waiters = new Waiters(store, { onWaited: (...waited) => phase.onWaited(...waited) }, services.time);
    const parts = { store, heads, keys, answers: responses, ...times, idle };
    const fetches = new CacheFetches(parts, unstorable, (fill) => waiters.wake(fill));
    const disk = diskReads(store, services, waiters);
    const way = new Pipeline([...services.fetchPhases, new DispatchPhase()], [], [...services.endTaps, RELEASE]);
    const background = new BackgroundFetches(fetches, way);
    const { nameRequest } = services;
    const purges = services.purgers.isEmpty() ? null : new PurgeRequests(services.purgers, this, services.onPurged);
    const phase = new CachePhase({ fetches, unstorable, waiters, disk, background, policies, nameRequest, purges });
    this.purgeDisk = services.purgeDisk;
    this.heads = heads;
    this.times = times;
    this.store = store;
    this.keys = keys;
    this.phase = phase;
    this.tap = new CacheTap(store, keys, services.counter, services.showsKeys, services.onInvalidated);
  }

  /**
   * Takes responses out, or makes them stale.
   * @param done learns how many, now or later
   */
  purge(order: PurgeOrder, done: (purged: number) => void): void {
    if (order.kind === "uri" && order.authority !== "") {
      done(this.store.invalidate(this.keys.ofUri(order.authority, order.target), this.staleSince(order.isSoft)));
      return;
    }
    const purged = this.purgeMemory(order);
    if (this.store.disk === null) {
      done(purged);
      return;
    }
    this.purgeDisk({ order, staleSinceMs: this.staleSince(order.isSoft) }, (onDisk) => {
      // What was being read meanwhile is not stored.
      this.purgeMemory(order);
      done(purged + onDisk);
    });
  }

  /** The same for all responses of the resource that a request names. */
  purgeResource(ex: Exchange, isSoft: boolean): number {
    return this.store.invalidate(this.keys.of(ex), this.staleSince(isSoft));
  }

  private purgeMemory(order: PurgeOrder): number {
    const { tags, matches } = purgeRule(order);
    return this.store.purge({
      matches: (uri, slot) => matches(uri, (block) => this.heads.read(slot, block, 0)),
      tags,
      staleSinceMs: this.staleSince(order.isSoft),
    });
  }

  private staleSince(isSoft: boolean): number {
    return isSoft ? this.times.ages.nowMs : -1;
  }
}

function diskReads(
  store: CacheStore,
  { time, times, counter, readNow }: CachePorts,
  waiters: Waiters,
): DiskReads | null {
  if (store.disk === null) return null;
  return new DiskReads(store, store.disk, {
    readNow,
    inTurn: (work) => time.inTurn(work),
    onEnded: (fill) => waiters.wake(fill),
    originMs: () => times.ages.nowMs - times.clock.nowMs,
    counted: (isSound) => counter.diskRead(isSound),
  });
}

/** What is fetched in the background gives back what it holds. */
const RELEASE: ResponseTap = {
  name: "cacheRelease",
  onHead(): void {},
  onEnd(ex: Exchange): void {
    ex.cacheUse?.release();
    ex.cacheUse = null;
  },
};
