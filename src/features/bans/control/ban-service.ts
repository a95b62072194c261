import type { ControlService, Prepared } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import type { Takers } from "../../../core/message-takers.ts";
import { labelled, type Metric, single } from "../../../core/metric-row.ts";
import { NetworkSet } from "../../../core/network-set.ts";
import { errorBody } from "../../../core/status.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { BanKey } from "../ban-key.ts";
import { banNetwork } from "../ban-network.ts";
import { BAN_SOURCES, type Ban, type BanSource, BanTable, createBanTable, isInForce } from "../ban-table.ts";
import type { BannedMessage, BansMessage, SharedBans } from "../ban-watch.ts";
import type { BAN_EVENTS } from "../events.ts";
import { BAN_METRICS } from "../metrics.ts";
import { buildNetworkTable, type Intervals, merged, shareFault, sizeOf } from "../network-table.ts";
import type { BansConfig } from "../settings.ts";
import { BanFeeds, type FeedState } from "./ban-feeds.ts";
import { FleetBans, type FleetStorePort } from "./fleet-bans.ts";

/** State that outlives the process. */
interface KeptState {
  read<T>(part: string): T | null;
  write(part: string, value: object): boolean;
  remove(part: string): void;
}

/** The parts of the control thread that bans need. */
interface BanPorts {
  broadcast(message: BansMessage): void;
  readonly event: EventWriter<typeof BAN_EVENTS>;
  readonly state: KeptState;
}

/** A ban as it is kept and listed. */
interface ListedBan {
  readonly address: string;
  readonly source: BanSource;
  readonly since: string;
  readonly until: string;
  readonly count: number;
}

/** `/internal/api/bans`. */
export interface BanListing {
  readonly total: number;
  readonly bans: readonly ListedBan[];
  readonly feeds: readonly FeedState[];
}

/** The response to a call of an operator. */
interface BanResponse {
  readonly status: number;
  readonly body: object;
}

/**
 * The bans, in the control thread: it lists them, keeps them for the next process, shares them with the fleet, and reads the feeds. The
 * workers count, ban and look up by themselves. docs/bans.md
 */
export class BanService implements ControlService<RuntimeConfig> {
  readonly onMessage: Takers<BannedMessage> = { banned: ({ ban }) => this.onBanned(ban) };
  private readonly ports: BanPorts;
  private readonly buffer: SharedArrayBuffer;
  private readonly table: BanTable;
  private readonly feeds: BanFeeds;
  private readonly fleet: FleetBans;
  /** Bans of more than one client, by network. */
  private readonly networks: Map<string, Ban & { readonly intervals: Intervals }> = new Map();
  private memory: SharedArrayBuffer | null = null;
  private config: BansConfig | null = null;
  private spared: NetworkSet = new NetworkSet([]);
  private readonly counts: Map<BanSource, number> = new Map();
  private saving: Timer | null = null;
  private expiring: Timer | null = null;

  constructor(ports: BanPorts) {
    this.ports = ports;
    this.buffer = createBanTable(crypto.getRandomValues(new Int32Array(2)));
    this.table = new BanTable(this.buffer);
    this.feeds = new BanFeeds({ event: ports.event, changed: () => this.rebuild() });
    this.fleet = new FleetBans({
      own: () => this.listed().filter(({ source }) => source !== "fleet"),
      banned: (address, untilMs) => this.put(address, untilMs, "fleet"),
      lifted: (address) => void this.remove(address, "fleet"),
    });
  }

  prepare(): Prepared & { readonly fields: SharedBans } {
    return { fields: this.startFields() };
  }

  startFields(): SharedBans {
    return { bans: { table: this.buffer, networks: this.memory } };
  }

  /** @returns when the feeds that are files are read */
  use({ server: { bans, trustedProxies } }: RuntimeConfig): Promise<void> {
    const isFirst = this.config?.enabled !== true && bans.enabled;
    this.config = bans;
    this.spared = new NetworkSet(bans.enabled ? [...bans.allow, ...trustedProxies] : []);
    if (isFirst) this.restore();
    return this.feeds.use(bans);
  }

  stop(): void {
    if (this.saving !== null) this.save();
    this.feeds.stop();
    if (this.expiring !== null) clearTimeout(this.expiring);
  }

  /** Called while the store of the fleet is there. */
  async beat(store: FleetStorePort): Promise<void> {
    if (this.config?.enabled === true && this.config.reach === "cluster") await this.fleet.beat(store);
  }

  /** The response of `/internal/api/bans`. */
  listing(): BanResponse {
    if (this.config?.enabled !== true) return refusal(404, NO_BANS);
    const bans = this.listed();
    const shown = bans.toSorted((a, b) => b.sinceMs - a.sinceMs).slice(0, MAX_SHOWN);
    const body: BanListing = { total: bans.length, bans: shown.map(written), feeds: this.feeds.states() };
    return { status: 200, body };
  }

  /** The newest bans, for the dashboard. */
  newest(count: number): readonly ListedBan[] {
    if (this.config?.enabled !== true) return [];
    const newest = this.listed().toSorted((a, b) => b.sinceMs - a.sinceMs);
    return newest.slice(0, count).map(written);
  }

  /** An operator bans an address or a network. @param forMs 0 takes that of the configuration */
  add(address: string, forMs: number): BanResponse {
    if (this.config?.enabled !== true) return refusal(404, NO_BANS);
    const network = banNetwork(address);
    if (network === null) return refusal(400, NO_ADDRESS);
    const { isSingle, intervals, name } = network;
    if (isSingle && this.spared.has(address.split("/")[0]!))
      return refusal(409, "bans.allow or trusted_proxies has this address: it is never banned");
    if (sizeOf(intervals) === 0) return refusal(409, "a network of loopback cannot be banned, only single addresses");
    const fault = isSingle ? "" : shareFault(intervals, this.config.maxShare);
    if (fault !== "") return refusal(409, fault);
    if (!isSingle && !this.networks.has(name) && this.networks.size >= MAX_OWN_NETWORKS)
      return refusal(409, `${MAX_OWN_NETWORKS} networks are banned already`);
    const untilMs = Date.now() + (forMs > 0 ? forMs : this.config.forMs);
    return { status: 200, body: written(this.put(name, untilMs, "operator")!) };
  }

  /** An operator lifts a ban. */
  lift(address: string): BanResponse {
    if (this.config?.enabled !== true) return refusal(404, NO_BANS);
    if (banNetwork(address) === null) return refusal(400, NO_ADDRESS);
    const found = this.remove(address, "operator");
    if (found === "") return refusal(404, "it is not banned, or a feed has it");
    this.fleet.lift(found);
    return { status: 200, body: { address: found } };
  }

  metrics(): readonly Metric[] {
    return [
      labelled(BAN_METRICS, "gateway_bans_total", () =>
        BAN_SOURCES.map((label) => ({ label, count: this.counts.get(label) ?? 0 })),
      ),
      single(BAN_METRICS, "gateway_bans_active", () => (this.config?.enabled === true ? this.listed().length : 0)),
      labelled(BAN_METRICS, "gateway_ban_feed_networks", () =>
        this.feeds.states().map(({ feed, networks }) => ({ label: feed, count: networks })),
      ),
      labelled(BAN_METRICS, "gateway_ban_feed_failures_total", () => this.feeds.failures()),
    ];
  }

  private onBanned(ban: Ban): void {
    this.note(ban);
    this.saveSoon();
  }

  private note({ address, source, untilMs, count }: Ban): void {
    this.counts.set(source, (this.counts.get(source) ?? 0) + 1);
    const until = new Date(untilMs).toISOString();
    this.ports.event("client_banned", { client_ip: address, source, until, count });
  }

  /** @returns the ban in force; null for what cannot be banned, as another gateway may say */
  private put(address: string, untilMs: number, source: BanSource): Ban | null {
    const ban = this.insert({ address, source, sinceMs: Date.now(), untilMs, count: 1 });
    if (ban?.untilMs === untilMs && ban.source === source) this.note(ban);
    this.saveSoon();
    return ban;
  }

  /** Bans an address in the table, or a network among the networks. @returns null for what cannot be banned */
  private insert(ban: Ban): Ban | null {
    const nowMs = Date.now();
    const network = banNetwork(ban.address);
    const isNow = isInForce(ban.sinceMs, ban.untilMs, nowMs) && ban.untilMs <= nowMs + LONGEST_BAN_MS;
    if (network === null || !isNow) return null;
    const { name, isSingle, intervals } = network;
    if (isSingle) return key.read(name.split("/")[0]!) ? this.table.ban(key, nowMs, ban) : null;
    if (sizeOf(intervals) === 0 || shareFault(intervals, this.config!.maxShare) !== "") return null;
    const known = this.networks.get(name);
    if (known !== undefined && known.untilMs >= ban.untilMs) return known;
    if (known === undefined && this.networks.size >= MAX_OWN_NETWORKS) return null;
    const kept = { ...ban, address: name };
    this.networks.set(name, { ...kept, intervals });
    this.rebuild();
    return kept;
  }

  /** @returns the lifted address; "" for none */
  private remove(address: string, source: "operator" | "fleet"): string {
    const network = banNetwork(address);
    if (network === null) return "";
    const { name, isSingle } = network;
    const isKey = isSingle && key.read(name.split("/")[0]!);
    const was = isKey ? this.table.lift(key, Date.now()) : this.networks.delete(name);
    if (!was) return "";
    if (!isKey) this.rebuild();
    this.ports.event("ban_lifted", { client_ip: name, source });
    this.saveSoon();
    return name;
  }

  private listed(): Ban[] {
    const nowMs = Date.now();
    const networks = [...this.networks.values()].filter(({ sinceMs, untilMs }) => isInForce(sinceMs, untilMs, nowMs));
    return [...this.table.bans(nowMs), ...networks];
  }

  /** Networks of feeds and operators go to the workers as one table. */
  private rebuild(): void {
    const nowMs = Date.now();
    for (const [network, { sinceMs, untilMs }] of this.networks)
      if (!isInForce(sinceMs, untilMs, nowMs)) this.networks.delete(network);
    const own = [...this.networks.values()];
    const all = merged([...this.feeds.intervals, ...own.map(({ intervals }) => intervals)]);
    this.memory = sizeOf(all) === 0 ? null : buildNetworkTable(all);
    this.ports.broadcast({ kind: "bans", ...this.startFields() });
    if (this.expiring !== null) clearTimeout(this.expiring);
    this.expiring = null;
    const next = Math.min(...own.map(({ untilMs }) => untilMs));
    if (own.length > 0) this.expiring = setTimeout(() => this.rebuild(), Math.min(next - nowMs + 1, LONGEST_TIMER_MS));
  }

  private restore(): void {
    const kept = this.ports.state.read<{ readonly bans?: unknown }>(PART)?.bans;
    for (const one of Array.isArray(kept) ? kept.slice(0, MAX_KEPT) : []) {
      const { address, source, since, until, count } = one as Partial<ListedBan>;
      const [sinceMs, untilMs] = [Date.parse(since ?? ""), Date.parse(until ?? "")];
      if (typeof address !== "string" || !(sinceMs > 0) || !BAN_SOURCES.includes(source!)) continue;
      this.insert({ address, source: source!, sinceMs, untilMs, count: Number(count) || 1 });
    }
  }

  private saveSoon(): void {
    this.saving ??= setTimeout(() => this.save(), SAVE_MS);
  }

  private save(): void {
    if (this.saving !== null) clearTimeout(this.saving);
    this.saving = null;
    const bans = this.listed();
    if (bans.length === 0) this.ports.state.remove(PART);
    else this.ports.state.write(PART, { bans: bans.map(written) });
  }
}

function written({ address, source, sinceMs, untilMs, count }: Ban): ListedBan {
  const [since, until] = [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
  return { address, source, since, until, count };
}

function refusal(status: number, why: string): BanResponse {
  const body = errorBody(status, why);
  return { status, body };
}

const NO_ADDRESS = "expected an IP address, a network such as 10.0.0.0/8, or a range such as 10.0.0.1-10.0.0.9";
const NO_BANS = "there is no section server.bans in config.yaml";
/** The part of the state folder. */
const PART = "bans";
const SAVE_MS = 250;
const MAX_SHOWN = 10_000;
const MAX_KEPT = 50_000;
const MAX_OWN_NETWORKS = 10_000;
/** A year, and what clocks differ. */
const LONGEST_BAN_MS = 366 * 86_400_000;
const LONGEST_TIMER_MS = 2_000_000_000;
const key = new BanKey();
