import { type Exchange, type IdleExchangePorts, type Phase, Pipeline, type ReplyTap } from "../../message/exchange.ts";
import { HeaderBlock } from "../../message/header-block.ts";
import type { CacheStore } from "../../shared/cache-store.ts";
import type { NetworkSet } from "../../shared/cidr.ts";
import { BackgroundFetches } from "./background-fetches.ts";
import { CacheFetches } from "./cache-fetches.ts";
import { CachePhase } from "./cache-phase.ts";
import { type CacheCounter, CacheTap } from "./cache-tap.ts";
import type { CacheTimes } from "./cache-times.ts";
import type { CachePolicy } from "./policy.ts";
import { PurgeRequests } from "./purge-requests.ts";
import { RequestKeys } from "./request-keys.ts";
import { StoredAnswers } from "./stored-answers.ts";
import { StoredHeads } from "./stored-head.ts";
import { signatureOf, tagsOf } from "./tags.ts";
import { UnstorableKeys } from "./unstorable-keys.ts";
import { Waiters, type WaitTime } from "./waiters.ts";

/** What the cache needs of its worker. */
export interface CacheServices {
  readonly times: CacheTimes;
  readonly time: WaitTime;
  readonly idle: IdleExchangePorts;
  readonly counter: CacheCounter;
  /** Who may use the method PURGE. */
  readonly purgers: NetworkSet;
  /** Whether Cache-Status says the key that a response is stored by. */
  readonly showsKeys: boolean;
  /** Gives an exchange its request id, where no origin will see it. */
  readonly nameRequest: (ex: Exchange) => void;
  /** Notified of the end of what is fetched in the background. */
  readonly endTaps: readonly ReplyTap[];
}

/** What is to be taken out of the cache; softly, it is stale from now on. */
export type PurgeOrder = { readonly isSoft: boolean } & (
  | { readonly kind: "all" }
  /** All responses of one resource, or of all whose target begins so; "" as authority stands for any. */
  | { readonly kind: "uri" | "prefix"; readonly authority: string; readonly target: string }
  /** All that have one of these tags. */
  | { readonly kind: "tags"; readonly tags: readonly string[] }
);

/** The response cache of one worker. docs/cache.md */
export class ResponseCache {
  readonly phase: Phase;
  readonly tap: ReplyTap;
  private readonly store: CacheStore;
  private readonly keys: RequestKeys;
  private readonly heads: StoredHeads;
  private readonly times: CacheTimes;

  /**
   * @param policies by the routes' numbers; null for those whose responses are not stored
   * @param dividesByTls whether TLS and cleartext share no entry
   */
  constructor(
    store: CacheStore,
    policies: readonly (CachePolicy | null)[],
    dividesByTls: boolean,
    services: CacheServices,
  ) {
    const { idle, times } = services;
    const heads = new StoredHeads(store);
    const rules = policies.map((policy) => policy?.key ?? null);
    const keys = new RequestKeys(store.memory.seed, dividesByTls, rules.some((one) => one !== null) ? rules : null);
    const showKey = services.showsKeys ? (ex: Exchange) => keys.parameterOf(ex) : null;
    const answers = new StoredAnswers(store, heads, times, idle, showKey);
    const unstorable = new UnstorableKeys();
    const waiters = new Waiters(store, { onWaited: (...waited) => phase.onWaited(...waited) }, services.time);
    const parts = { store, heads, keys, answers, ...times, idle };
    const fetches = new CacheFetches(parts, unstorable, (fill) => waiters.wake(fill));
    const background = new BackgroundFetches(fetches, new Pipeline([], [], [...services.endTaps, RELEASE]));
    const { nameRequest } = services;
    const purges = services.purgers.isEmpty() ? null : new PurgeRequests(services.purgers, this);
    const phase = new CachePhase({ fetches, unstorable, waiters, background, policies, nameRequest, purges });
    this.heads = heads;
    this.times = times;
    this.store = store;
    this.keys = keys;
    this.phase = phase;
    this.tap = new CacheTap(store, keys, services.counter, services.showsKeys);
  }

  /** Takes responses out, or makes them stale. @returns how many */
  purge(order: PurgeOrder): number {
    const staleSinceMs = this.staleSince(order.isSoft);
    if (order.kind === "all") return this.store.purge({ matches: () => true, tags: null, staleSinceMs });
    if (order.kind === "tags") return this.purgeTags(order.tags, staleSinceMs);
    if (order.kind === "uri" && order.authority !== "") {
      return this.store.invalidate(this.keys.ofUri(order.authority, order.target), staleSinceMs);
    }
    const authority = Buffer.from(order.authority.toLowerCase(), "latin1");
    const target = Buffer.from(order.target, "latin1");
    const matches = (uri: Buffer): boolean => {
      const end = uri.indexOf(0);
      if (authority.length > 0 && !authority.equals(uri.subarray(0, end))) return false;
      const own = uri.subarray(end + 1);
      return order.kind === "uri" ? target.equals(own) : target.equals(own.subarray(0, target.length));
    };
    return this.store.purge({ matches, tags: null, staleSinceMs });
  }

  /** The same for all responses of the resource that a request names. */
  purgeResource(ex: Exchange, isSoft: boolean): number {
    return this.store.invalidate(this.keys.of(ex), this.staleSince(isSoft));
  }

  private purgeTags(tags: readonly string[], staleSinceMs: number): number {
    const block = new HeaderBlock();
    const matches = (_uri: Buffer, slot: number): boolean => {
      this.heads.read(slot, block, 0);
      const own = tagsOf(block);
      return tags.some((tag) => own.has(tag));
    };
    return this.store.purge({ matches, tags: tags.map((tag) => signatureOf([tag])), staleSinceMs });
  }

  private staleSince(isSoft: boolean): number {
    return isSoft ? this.times.ages.nowMs : -1;
  }
}

/** What is fetched in the background gives back what it holds. */
const RELEASE: ReplyTap = {
  name: "cacheRelease",
  onHead(): void {},
  onEnd(ex: Exchange): void {
    ex.cacheUse?.release();
    ex.cacheUse = null;
  },
};
