import type { Takers } from "../../core/message-takers.ts";
import { NetworkSet } from "../../core/network-set.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import type { NowMs } from "../../message/ports.ts";
import { BanKey } from "./ban-key.ts";
import { type Ban, type BanRules, BanTable } from "./ban-table.ts";
import { NetworkTable } from "./network-table.ts";
import type { BansConfig } from "./settings.ts";

/** Memory of the bans that all threads share. */
interface BanBuffers {
  /** Of single clients; see BanTable. */
  readonly table: SharedArrayBuffer;
  /** Of feeds and operators; see NetworkTable. Null for none. */
  readonly networks: SharedArrayBuffer | null;
}

/** The part of each configuration's message that is about them. */
export interface SharedBans {
  readonly bans: BanBuffers;
}

/** From the control thread: other networks. */
export interface BansMessage extends SharedBans {
  readonly kind: "bans";
}

/** To the control thread: a client was banned for its blocks. */
export interface BannedMessage {
  readonly kind: "banned";
  readonly ban: Ban;
}

/** The settings that count for bans. */
interface BansOfServer {
  readonly server: { readonly bans: BansConfig; readonly trustedProxies: ConstructorParameters<typeof NetworkSet>[0] };
}

/**
 * The bans, in one worker; it outlives configurations. A ban that any worker writes counts in all at once. docs/bans.md
 */
export class BanWatch implements WorkerService<BansOfServer> {
  readonly onMessage: Takers<BansMessage> = { bans: (message) => this.share(message) };
  private readonly clock: NowMs;
  private readonly post: (message: BannedMessage) => void;
  private readonly count: () => void;
  private table: BanTable | null = null;
  private networks: NetworkTable | null = null;
  private buffers: BanBuffers | null = null;
  private rules: BanRules | null = null;
  private spared: NetworkSet = NO_NETWORKS;

  /** @param clock milliseconds since the epoch @param count counts a refused request */
  constructor(clock: NowMs, post: (message: BannedMessage) => void, count: () => void) {
    this.count = count;
    this.clock = clock;
    this.post = post;
  }

  share({ bans: buffers }: SharedBans): void {
    if (buffers.table !== this.buffers?.table) this.table = new BanTable(buffers.table);
    if (buffers.networks !== this.buffers?.networks)
      this.networks = buffers.networks === null ? null : new NetworkTable(buffers.networks);
    this.buffers = buffers;
  }

  use({ server: { bans, trustedProxies } }: BansOfServer): void {
    const { enabled, after, forMs, maxMs, allow } = bans;
    this.rules = enabled ? { ...after, forMs, maxMs } : null;
    // A proxy speaks for many: what its clients do is no fault of its own.
    this.spared = enabled ? new NetworkSet([...allow, ...trustedProxies]) : NO_NETWORKS;
  }

  /** Whether a client is banned. @param address other texts are never */
  isBanned(address: string): boolean {
    const { rules, table, networks } = this;
    if (rules === null || !key.read(address)) return false;
    const isOwn = table !== null && table.untilMs(key, this.clock.nowMs) > 0;
    const isListed = isOwn || networks?.has(key) === true;
    return isListed && !this.spared.has(address);
  }

  /** A request of a banned client is refused. */
  refused(): void {
    this.count();
  }

  /** A request of this client was refused as a block. */
  blocked(address: string): void {
    const { rules, table } = this;
    if (rules === null || table === null || !key.read(address) || this.spared.has(address)) return;
    const ban = table.blocked(key, this.clock.nowMs, rules);
    if (ban !== null) this.post({ kind: "banned", ban });
  }
}

const NO_NETWORKS = new NetworkSet([]);
/** One for all, since nothing waits in between. */
const key = new BanKey();
