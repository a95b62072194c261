import { createHash } from "node:crypto";
import { join } from "node:path";
import { formatFault } from "../../../config/config-fault.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { withoutCredentials } from "../../../core/secret-name.ts";
import { spreadWait } from "../../../core/spread-wait.ts";
import type { ConfigResult, GivenFiles } from "../../../loading/load-config.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { REMOTE_EVENTS } from "../events.ts";
import { type KeptConfiguration, KeptPair } from "../remote/kept-pair.ts";
import type { SigningKey } from "../remote/minisign.ts";
import {
  checkSignatures,
  isSamePair,
  type RemoteConfiguration,
  RemotePair,
  type RemoteText,
  type SignedTimes,
} from "../remote/remote-pair.ts";
import { besideSource, readSourceAddress, sourceWithSuffix } from "../remote/source-address.ts";
import type { CanaryConfig, ClusterConfig } from "../settings.ts";
import type { CanaryGate } from "./canary-gate.ts";
import { type CanaryPorts, CanaryRollout } from "./canary-rollout.ts";
import { documentAt, type SourceAccess } from "./documents.ts";

/** Where a configuration comes from, and how it is taken. */
export interface RemoteOptions extends SourceAccess {
  /** URLs; the second is "" for routes.yaml beside the first. */
  readonly config: string;
  readonly routes: string;
  readonly pollMs: number;
  /** Null if no signatures are asked for. */
  readonly keys: readonly SigningKey[] | null;
  /** Where the last good configuration is kept; paths in the files count from it. */
  readonly folder: string;
  /** Reads and checks the texts as files are. */
  readonly load: (files: GivenFiles) => ConfigResult;
}

/** Which configuration it is, for the log. */
export interface RemoteFields {
  readonly source: string;
  readonly version: string;
  readonly etag?: string;
}

/** What has been read for a reload: a configuration, or why there is none. */
type RemoteResult =
  | {
      readonly ok: true;
      readonly config: RuntimeConfig;
      readonly fields: RemoteFields;
      /** Called when it is in use everywhere, or why it is not. @param faults none if it is */
      readonly settled: (faults: readonly string[]) => void;
    }
  | { readonly ok: false; readonly faults: readonly string[]; readonly fields?: RemoteFields };

/** What a configuration from afar asks of the control thread, once it serves. */
interface RemotePorts {
  /** Asks for a reload, which calls `read`. */
  reload(): Promise<unknown>;
  /** What the source has cannot be applied. */
  refused(fields: RemoteFields & { readonly faults: readonly string[] }): void;
  readonly event: EventWriter<typeof REMOTE_EVENTS>;
  readonly canary: CanaryGate;
}

/** A configuration that may be applied. */
interface Held {
  readonly remote: RemoteConfiguration;
  readonly signed: SignedTimes;
  readonly takenAtMs: number;
  /** What it says of itself as a member of a fleet; null until it has been read. */
  readonly cluster: ClusterConfig | null;
}

/** What a start begins with. */
type RemoteStart =
  | { readonly ok: true; readonly result: ConfigResult & { readonly ok: true }; readonly notes: readonly string[] }
  | { readonly ok: false; readonly faults: readonly string[] };

/** The source as `/internal/api/status` shows it. docs/endpoints.md#status */
interface RemoteState {
  readonly url: string;
  /** Twelve hexadecimal digits over both texts. */
  readonly version: string;
  /** Of the configuration; "" if the source has none. */
  readonly etag: string;
  readonly taken_at: string;
  /** Whether the source could be asked the last time. */
  readonly reachable: boolean;
  /** A version that waits for its trial on other gateways, or is on trial here; "" for none. */
  readonly waiting: string;
  readonly on_trial: boolean;
}

/** A configuration from a URL: fetched, checked, taken up, kept, and looked after. docs/fleet.md#configuration-from-afar */
export class RemoteConfig {
  /** The same for all gateways with the same source. */
  readonly id: string;
  private readonly options: RemoteOptions;
  private readonly pair: RemotePair;
  private readonly kept: KeptPair;
  private ports: RemotePorts | null = null;
  /** What the source had when it was last asked. */
  private known: RemoteConfiguration | null = null;
  private running: Held | null = null;
  /** What this gateway goes back to: the same as `running`, but while that is on trial. */
  private good: Held | null = null;
  /** What waits for its trial on other gateways. */
  private pending: Held | null = null;
  /** What the next reload takes up. */
  private next: { readonly held: Held; readonly isTrial: boolean } | null = null;
  private failures = 0;
  private readonly polls = { unchanged: 0, taken: 0, refused: 0, failed: 0 };
  private timer: Timer | null = null;
  private isStopped = false;
  private isPolling = false;
  private isWanted = false;

  /** @throws the fault in the addresses */
  constructor(options: RemoteOptions) {
    const { config, keys, folder } = options;
    const routes = options.routes || besideSource(config, "routes.yaml");
    const at = (url: string) => documentAt(readSourceAddress(url), options);
    this.options = options;
    this.id = idOf([config, routes]);
    this.kept = new KeptPair(folder, [config, routes]);
    this.pair = new RemotePair({
      config: at(config),
      routes: at(routes),
      configSignature: keys === null ? null : at(sourceWithSuffix(config, SIGNATURE)),
      routesSignature: keys === null ? null : at(sourceWithSuffix(routes, SIGNATURE)),
    });
  }

  /** The part of this gateway in trials. */
  rollout(ports: Pick<CanaryPorts, "counts" | "event" | "isEnding">): CanaryRollout {
    return new CanaryRollout({ ...ports, source: this.id, remote: this });
  }

  /** Reads the configuration to start with: the source's, or the last good one where that is away or at fault. */
  async start(): Promise<RemoteStart> {
    const faults: string[] = [];
    const kept = this.keptConfiguration(faults);
    const keptResult = kept === null ? null : this.load(kept);
    if (keptResult?.ok === false) faults.push(...keptResult.faults);
    const old = keptResult?.ok ? kept : null;
    try {
      this.known = await this.pair.read(null, 0);
    } catch (error) {
      this.failures = 1;
      faults.unshift(messageOf(error));
      return this.startWith(old, keptResult, faults);
    }
    const found = this.known;
    // What is tried on some gateways first is tried so after a start as well.
    const isTried = keptResult?.ok === true && keptResult.result.config.cluster.canary.enabled;
    if (old !== null && (found.version === old.remote.version || isTried)) {
      if (found.version !== old.remote.version) this.known = null;
      return this.startWith({ ...old, remote: this.known ?? old.remote }, keptResult, []);
    }
    const held = this.verified(found, faults, old);
    const result = held === null ? null : this.load(held);
    if (held !== null && result?.ok) return this.startWith(held, result, []);
    if (result !== null && !result.ok) faults.push(...result.faults);
    this.polls.refused++;
    return this.startWith(old, keptResult, faults);
  }

  /** The gateway serves what `start` has given: it is kept, and the source is asked from now on. */
  begin(ports: RemotePorts): void {
    this.ports = ports;
    this.keep();
    this.later(this.known === null ? 0 : this.waitMs());
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  /** Asks the source now, or once more after what is being asked. */
  hurry(): void {
    if (this.isPolling) this.isWanted = true;
    else this.later(0);
  }

  /**
   * What a reload takes up: what was fetched for it, or what the source has now.
   * @param placed what this gateway makes of a configuration
   */
  async read(placed: (config: RuntimeConfig) => RuntimeConfig): Promise<RemoteResult> {
    const result = await this.readNext();
    return result.ok ? { ...result, config: placed(result.config) } : result;
  }

  private async readNext(): Promise<RemoteResult> {
    const { next } = this;
    this.next = null;
    if (next !== null) return this.resultOf(next.held, next.isTrial);
    try {
      // Who asks for it has finished writing.
      this.known = await this.pair.read(this.known, 0);
    } catch (error) {
      this.onAway(error);
      return { ok: false, faults: [messageOf(error)] };
    }
    this.onBack();
    const found = this.known;
    const running = this.running!;
    if (found.version === running.remote.version) return this.resultOf(running, this.isOnTrial);
    const faults: string[] = [];
    const held = this.verified(found, faults, this.good);
    if (held === null) {
      this.polls.refused++;
      return { ok: false, faults, fields: this.fieldsOf(found) };
    }
    if (!this.mustWait(found.version)) return this.resultOf(held, false);
    this.wait(held);
    return this.resultOf(running, this.isOnTrial);
  }

  /** The trial of the version that waits has come to this gateway. */
  try(version: string): void {
    const { pending } = this;
    if (pending?.remote.version === version) void this.takeUp(pending, true);
  }

  /** A version has passed: it is taken, or kept where it is in use already. */
  accept(version: string): void {
    const { pending, running } = this;
    if (running?.remote.version === version) {
      this.good = running;
      this.keep();
    } else if (pending?.remote.version === version) void this.takeUp(pending, false);
  }

  /** A version has failed: what was in use before goes on. */
  refuse(version: string): void {
    const { running, good } = this;
    if (this.pending?.remote.version === version) this.pending = null;
    if (running?.remote.version !== version || good === null || good === running) return;
    void this.takeUp(good, false);
  }

  /** For `/internal/api/status` and the others of the fleet. */
  state(): RemoteState {
    const { remote, takenAtMs } = this.running!;
    const { tag } = remote.texts.config;
    return {
      url: this.pair.labels.config,
      version: remote.version,
      etag: tag.startsWith("@") ? "" : tag,
      taken_at: new Date(takenAtMs).toISOString(),
      reachable: this.failures === 0,
      waiting: this.pending?.remote.version ?? "",
      on_trial: this.isOnTrial,
    };
  }

  /** Times that the source was asked, by what came of it. */
  get asked(): Readonly<Record<string, number>> {
    return this.polls;
  }

  private get isOnTrial(): boolean {
    return this.running !== this.good;
  }

  private startWith(
    held: Held | null,
    result: ReturnType<RemoteConfig["load"]> | null,
    faults: readonly string[],
  ): RemoteStart {
    if (held === null || result === null || !result.ok) return { ok: false, faults };
    this.running = { ...held, cluster: result.result.config.cluster };
    this.good = this.running;
    const age = ageText(Date.now() - held.takenAtMs);
    const notes = faults.map(
      (fault) => `${fault}; the last good configuration serves (${held.remote.version}, taken ${age} ago)`,
    );
    return { ok: true, result: result.result, notes };
  }

  /** The kept data, verified again: a key may be asked for that it was not asked for before. */
  private keptConfiguration(faults: string[]): Held | null {
    let kept: KeptConfiguration | null;
    try {
      kept = this.kept.load();
    } catch (error) {
      faults.push(`the kept configuration in ${this.options.folder} is unusable: ${messageOf(error)}`);
      return null;
    }
    if (kept === null) return null;
    const { texts, version, takenAtMs, signed } = kept;
    const held = this.verified({ texts, version }, faults, null);
    return held === null ? null : { ...held, signed, takenAtMs };
  }

  /** @param before what was taken before: nothing that was signed earlier is taken */
  private verified(remote: RemoteConfiguration, faults: string[], before: Held | null): Held | null {
    const { keys } = this.options;
    const { labels } = this.pair;
    // A server that holds back a signed document must not take the routes, and what they ask for, away.
    const needsRoutes = keys !== null || this.options.routes !== "" || (before?.remote.texts.routes ?? null) !== null;
    if (remote.texts.routes === null && needsRoutes) {
      faults.push(`${labels.routes}: there is no such document; if you want no routes, let it hold []`);
      return null;
    }
    const newest = before?.signed ?? UNSIGNED;
    const checked = keys === null ? null : checkSignatures(remote.texts, keys, newest);
    for (const { part, message } of checked?.faults ?? []) faults.push(`${labels[part]}: ${message}`);
    if ((checked?.faults.length ?? 0) > 0) return null;
    return { remote, signed: checked?.times ?? newest, takenAtMs: Date.now(), cluster: null };
  }

  private load({ remote: { texts } }: Held) {
    const { folder, load } = this.options;
    const { labels } = this.pair;
    const file = (name: string, label: string, { bytes }: RemoteText) => ({
      name: label,
      path: join(folder, name),
      bytes,
    });
    const result = load({
      config: file("config.yaml", labels.config, texts.config),
      routes: texts.routes === null ? null : file("routes.yaml", labels.routes, texts.routes),
    });
    if (result.ok) return { ok: true, result } as const;
    return { ok: false, faults: result.faults.map((fault) => formatFault(fault)) } as const;
  }

  private resultOf(held: Held, isTrial: boolean): RemoteResult {
    const fields = this.fieldsOf(held.remote);
    const loaded = this.load(held);
    const faults = loaded.ok ? this.movedStore(loaded.result.config.cluster, isTrial) : loaded.faults;
    if (!loaded.ok || faults.length > 0) {
      this.onOutcome(held, isTrial, faults);
      return { ok: false, faults, fields };
    }
    const { config } = loaded.result;
    const read = { ...held, cluster: config.cluster };
    return { ok: true, config, fields, settled: (late) => this.onOutcome(read, isTrial, late) };
  }

  /** Gateways on trial must be heard of by the others: in the same store. */
  private movedStore({ store, master, prefix }: ClusterConfig, isTrial: boolean): readonly string[] {
    const before = this.good?.cluster;
    if (!isTrial || !before) return [];
    const isSame = Bun.deepEquals([store, master, prefix], [before.store, before.master, before.prefix]);
    return isSame
      ? []
      : [`${this.pair.labels.config}: cluster: store, master and prefix cannot change while cluster.canary is on`];
  }

  private fieldsOf({ version, texts }: RemoteConfiguration): RemoteFields {
    const { tag } = texts.config;
    return { source: this.pair.labels.config, version, ...(tag === "" || tag.startsWith("@") ? {} : { etag: tag }) };
  }

  private onOutcome(held: Held, isTrial: boolean, faults: readonly string[]): void {
    const { version } = held.remote;
    const isNew = version !== this.running?.remote.version;
    if (isNew) this.polls[faults.length === 0 ? "taken" : "refused"]++;
    if (faults.length === 0) {
      this.running = held;
      if (this.pending?.remote.version === version) this.pending = null;
      if (!isTrial) {
        this.good = held;
        if (isNew) this.keep();
      }
    } else if (this.pending?.remote.version === version) this.pending = null;
    if (isNew) this.ports?.canary.tried(version, faults[0] ?? "");
  }

  private keep(): void {
    const held = this.good!;
    try {
      this.kept.save(held.remote, held.signed, held.takenAtMs);
    } catch (error) {
      this.ports?.event("config_not_kept", { folder: this.options.folder, reason: messageOf(error) });
    }
  }

  /** The settings by which new configurations are tried: those of the last one that has passed. */
  get canary(): CanaryConfig | null {
    const cluster = this.good?.cluster;
    return cluster?.enabled === true && cluster.canary.enabled ? cluster.canary : null;
  }

  private mustWait(version: string): boolean {
    return this.canary !== null && version !== this.good?.remote.version;
  }

  private wait(held: Held): void {
    this.pending = held;
    this.ports?.canary.found(held.remote.version);
  }

  private async takeUp(held: Held, isTrial: boolean): Promise<void> {
    if (this.next?.held === held) return;
    this.next = { held, isTrial };
    await this.ports?.reload();
  }

  private later(ms: number): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.isStopped) return;
    this.timer = setTimeout(() => void this.poll(), ms);
  }

  private waitMs(): number {
    const { pollMs } = this.options;
    const slower = Math.min(pollMs * 2 ** Math.min(this.failures, MAX_DOUBLINGS), Math.max(pollMs, LONGEST_PAUSE_MS));
    return spreadWait(slower, JITTER);
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    this.isWanted = false;
    const before = this.known;
    try {
      const found = await this.pair.read(before, SETTLE_MS);
      this.onBack();
      this.known = found;
      if (before !== null && isSamePair(found.texts, before.texts)) this.polls.unchanged++;
      else await this.consider(found);
      if (found.version === this.good?.remote.version) this.ports?.canary.none(found.version);
    } catch (error) {
      this.onAway(error);
    }
    this.isPolling = false;
    this.later(this.isWanted ? 0 : this.waitMs());
  }

  /** The source has something new. */
  private async consider(found: RemoteConfiguration): Promise<void> {
    if (found.version !== this.pending?.remote.version) this.pending = null;
    if (found.version === this.running?.remote.version) {
      this.polls.unchanged++;
      return;
    }
    if (found.version === this.good?.remote.version) return this.takeUp(this.good, false);
    const faults: string[] = [];
    const held = this.verified(found, faults, this.good);
    if (held === null) {
      this.polls.refused++;
      this.ports?.refused({ faults, ...this.fieldsOf(found) });
      return;
    }
    if (this.mustWait(found.version)) this.wait(held);
    else await this.takeUp(held, false);
  }

  private onAway(error: unknown): void {
    this.polls.failed++;
    if (this.failures++ > 0 || this.running === null) return;
    const { remote, takenAtMs } = this.running;
    const age_s = Math.round((Date.now() - takenAtMs) / 1000);
    const source = this.pair.labels.config;
    this.ports?.event("config_source_away", { source, error: messageOf(error), version: remote.version, age_s });
  }

  private onBack(): void {
    if (this.failures === 0) return;
    this.failures = 0;
    this.ports?.event("config_source_back", { source: this.pair.labels.config });
  }
}

/** Credentials may differ from gateway to gateway. */
function idOf(addresses: readonly string[]): string {
  return createHash("sha256")
    .update(JSON.stringify(addresses.map(withoutCredentials)))
    .digest("hex")
    .slice(0, 12);
}

function ageText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} d`;
}

const UNSIGNED: SignedTimes = { config: 0, routes: 0 };
const SIGNATURE = ".minisig";
/** A change must have been there for so long before it is taken. */
const SETTLE_MS = 1000;
const JITTER = 0.15;
const MAX_DOUBLINGS = 8;
const LONGEST_PAUSE_MS = 300_000;
