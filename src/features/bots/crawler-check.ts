import type { NowMs } from "../../message/ports.ts";
import { CRAWLERS, type CrawlerName } from "./crawlers.ts";

/** Addresses that a worker verifies as a crawler's at a time, and of those so many of one network. */
const MAX_CRAWLER_LOOKUPS = 64;
const MAX_CRAWLER_LOOKUPS_OF_NETWORK = 8;
/** Requests that wait for that, each worker; further ones are challenged. */
const MAX_CRAWLER_WAITERS = 1024;
/** Verified and refused addresses that a worker remembers, and for how long. */
const MAX_REMEMBERED_CRAWLERS = 4096;
const CRAWLER_MEMORY_MS = 3_600_000;
const CRAWLER_REFUSAL_MEMORY_MS = 300_000;
const CRAWLER_FAILURE_MEMORY_MS = 5000;

/** Asks name servers about addresses. */
export interface ReverseNames {
  /**
   * Finds out whether an address has a name below one of the domains that leads back to it.
   * @param listener called once, never before this returns; `failure` is "" if the name servers have answered
   */
  confirm(address: string, domains: readonly string[], listener: (isConfirmed: boolean, failure: string) => void): void;
}

/** Facts about an address. */
type CrawlerStanding = "verified" | "refused" | "unknown";

interface Known {
  readonly isVerified: boolean;
  readonly untilMs: number;
}

interface Lookup {
  readonly network: string;
  readonly waiting: ((isVerified: boolean) => void)[];
}

/**
 * Verifies crawlers by forward-confirmed reverse DNS, as their operators tell to: the address has a name below the operator's domain,
 * and that name has the address. What was found is remembered; the number of questions under way is bounded, for each network too, so
 * that one client cannot take the room of all. docs/bots.md#crawlers
 */
export class CrawlerCheck {
  private readonly names: ReverseNames;
  private readonly clock: NowMs;
  private readonly onFound: (isVerified: boolean) => void;
  /** By crawler and address; the one that was found longest ago comes first. */
  private readonly known: Map<string, Known> = new Map();
  private readonly lookups: Map<string, Lookup> = new Map();
  private waiters = 0;

  /** @param onFound learns of each address that was looked up */
  constructor(names: ReverseNames, clock: NowMs, onFound: (isVerified: boolean) => void) {
    this.names = names;
    this.clock = clock;
    this.onFound = onFound;
  }

  /** Facts about an address that names itself so. */
  standing(crawler: CrawlerName, address: string): CrawlerStanding {
    const known = this.known.get(`${crawler} ${address}`);
    if (known === undefined || known.untilMs <= this.clock.nowMs) return "unknown";
    return known.isVerified ? "verified" : "refused";
  }

  /**
   * Asks about an address.
   * @param network of the address, for the bound of each
   * @param listener called once, later, where this returns true
   * @returns false where too much is asked already
   */
  ask(crawler: CrawlerName, address: string, network: string, listener: (isVerified: boolean) => void): boolean {
    if (this.waiters >= MAX_CRAWLER_WAITERS) return false;
    const key = `${crawler} ${address}`;
    const running = this.lookups.get(key);
    if (running === undefined && !this.hasRoom(network)) return false;
    this.waiters++;
    if (running !== undefined) {
      running.waiting.push(listener);
      return true;
    }
    const lookup: Lookup = { network, waiting: [listener] };
    this.lookups.set(key, lookup);
    this.names.confirm(address, CRAWLERS[crawler].domains, (isConfirmed, failure) => {
      this.lookups.delete(key);
      this.waiters -= lookup.waiting.length;
      this.remember(key, isConfirmed, failure);
      this.onFound(isConfirmed);
      for (const each of lookup.waiting) each(isConfirmed);
    });
    return true;
  }

  private hasRoom(network: string): boolean {
    if (this.lookups.size >= MAX_CRAWLER_LOOKUPS) return false;
    let same = 0;
    for (const lookup of this.lookups.values()) if (lookup.network === network) same++;
    return same < MAX_CRAWLER_LOOKUPS_OF_NETWORK;
  }

  private remember(key: string, isVerified: boolean, failure: string): void {
    this.known.delete(key);
    if (this.known.size >= MAX_REMEMBERED_CRAWLERS) this.known.delete(this.known.keys().next().value!);
    const refusalMs = failure === "" ? CRAWLER_REFUSAL_MEMORY_MS : CRAWLER_FAILURE_MEMORY_MS;
    this.known.set(key, { isVerified, untilMs: this.clock.nowMs + (isVerified ? CRAWLER_MEMORY_MS : refusalMs) });
  }
}
