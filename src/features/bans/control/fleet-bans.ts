import type { Ban } from "../ban-table.ts";

/** The store of the fleet: one command on one key. */
export interface FleetStorePort {
  call(name: string, command: string, ...words: readonly string[]): Promise<unknown>;
}

/** The bans of this gateway. */
interface OwnBans {
  /** Those that it made itself. */
  own(): readonly Ban[];
  banned(address: string, untilMs: number): void;
  lifted(address: string): void;
}

/**
 * Shares bans with the fleet: a sorted set of addresses by the time of their end, and one of lifts by their time.
 * Each gateway tells its own and takes those of others, every two seconds while the store is there. docs/bans.md#in-a-fleet
 */
export class FleetBans {
  private readonly bans: OwnBans;
  /** Bans that the store has, by their end. */
  private readonly known: Map<string, number> = new Map();
  private lifts: string[] = [];
  private liftsSeenMs: number = Date.now();

  constructor(bans: OwnBans) {
    this.bans = bans;
  }

  /** A ban was lifted here. */
  lift(address: string): void {
    this.known.delete(address);
    if (this.lifts.length < MAX_TOLD) this.lifts.push(address);
  }

  async beat(store: FleetStorePort): Promise<void> {
    const nowMs = Date.now();
    try {
      await this.tell(store, nowMs);
      await this.takeLifts(store, nowMs);
      await this.takeBans(store, nowMs);
    } catch {
      // The store is away, as the log says already; bans of this gateway stay.
    }
    for (const [address, untilMs] of this.known) if (untilMs <= nowMs) this.known.delete(address);
  }

  private async tell(store: FleetStorePort, nowMs: number): Promise<void> {
    const { lifts } = this;
    if (lifts.length > 0) {
      await store.call(BANS, "ZREM", ...lifts);
      await store.call(LIFTS, "ZADD", ...lifts.flatMap((address) => [String(nowMs), address]));
      this.lifts = this.lifts.slice(lifts.length);
    }
    const news = this.bans.own().filter(({ address, untilMs }) => this.known.get(address) !== untilMs);
    if (news.length === 0) return;
    const told = news.slice(0, MAX_TOLD);
    await store.call(BANS, "ZADD", ...told.flatMap(({ address, untilMs }) => [String(untilMs), address]));
    for (const { address, untilMs } of told) this.known.set(address, untilMs);
  }

  private async takeLifts(store: FleetStorePort, nowMs: number): Promise<void> {
    await store.call(LIFTS, "ZREMRANGEBYSCORE", "-inf", String(nowMs - LIFTS_KEPT_MS));
    const lifted = await store.call(LIFTS, "ZRANGEBYSCORE", String(this.liftsSeenMs - SKEW_MS), "+inf");
    this.liftsSeenMs = nowMs;
    for (const address of lifted as string[]) {
      if (!this.known.delete(address)) continue;
      this.bans.lifted(address);
    }
  }

  private async takeBans(store: FleetStorePort, nowMs: number): Promise<void> {
    await store.call(BANS, "ZREMRANGEBYSCORE", "-inf", String(nowMs));
    const range = [String(nowMs), "+inf", "WITHSCORES", "LIMIT", "0", String(MAX_TAKEN)];
    const found = pairsOf(await store.call(BANS, "ZRANGEBYSCORE", ...range));
    for (const [address, untilMs] of found) {
      if ((this.known.get(address) ?? 0) >= untilMs) continue;
      this.known.set(address, untilMs);
      this.bans.banned(address, untilMs);
    }
  }
}

/** Members with their scores, flat or in pairs, as the store's protocol has them. */
function pairsOf(found: unknown): readonly (readonly [string, number])[] {
  const flat = (found as unknown[]).flat();
  const pairs: [string, number][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([String(flat[i]), Number(flat[i + 1])]);
  return pairs;
}

const BANS = "bans";
const LIFTS = "bans:lifted";
/** In one beat. */
const MAX_TOLD = 1000;
const MAX_TAKEN = 20_000;
/** Gateways whose clocks differ by less see each other's lifts. */
const SKEW_MS = 10_000;
const LIFTS_KEPT_MS = 3_600_000;
