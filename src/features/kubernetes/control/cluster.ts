import { hostname } from "node:os";
import { formatFault } from "../../../config/config-fault.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { plainLine } from "../../../core/printable.ts";
import type { UnservedObject } from "../../../core/unserved-object.ts";
import type { BesideFiles } from "../../../loading/load-config.ts";
import type { RouteFile } from "../../../loading/route-folder.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { KUBERNETES_EVENTS } from "../events.ts";
import { ObjectStore } from "../object-store.ts";
import type { ObjectChange, ObjectEvent, StatusPatch } from "../objects.ts";
import type { KubernetesConfig } from "../settings.ts";
import { apiAccess } from "./api-access.ts";
import { ApiClient } from "./api-client.ts";
import { CertificateFolder } from "./certificate-folder.ts";
import type { ClusterLists } from "./cluster-lists.ts";
import { KindWatch, type WatchState } from "./kind-watch.ts";
import { LeaseElection } from "./lease.ts";
import { StatusWriter } from "./status-writer.ts";
import { type ClusterResult, clusterResult, type OwnPlace, ownPlaces, settingsFor } from "./translations.ts";
import { unservedObjects } from "./unserved-objects.ts";
import { KINDS, KINDS_BY_NAME } from "./watched-kinds.ts";

/** The gateway, as the source uses it. */
export interface KubernetesPorts {
  readonly lists: ClusterLists;
  /** The result of the last reading of the lists. */
  beside(): BesideFiles;
  /** Takes up the lists, without reading config.yaml and routes.yaml again. */
  reload(): Promise<{ readonly ok: boolean; readonly faults: readonly string[] }>;
  /** Where certificates of Secrets are kept while they serve. */
  readonly stateFolder: string;
  /** Something of the cluster cannot be had. @param name the resource */
  unavailable(name: string, reason: string): void;
  readonly event: EventWriter<typeof KUBERNETES_EVENTS>;
}

/** Milliseconds in which changes gather before edge takes them up, at least and at most. */
const QUIET_MS = 10;
const LONGEST_MS = 1000;
/** After so long edge serves without the kinds that have not come yet. */
const PATIENCE_MS = 20_000;
const RETRY_MS = 15_000;
const LEASE = "edge-gateway";

/** One cluster, from its first list to the end. */
export class Cluster {
  private readonly config: KubernetesConfig;
  private readonly ports: KubernetesPorts;
  private readonly store: ObjectStore = new ObjectStore();
  private readonly certificates: CertificateFolder;
  private watches: readonly KindWatch[] = [];
  private writer: StatusWriter | null = null;
  private election: LeaseElection | null = null;
  private quiet: Timer | null = null;
  private retry: Timer | null = null;
  /** How long the last turn took, and until when. */
  private tookMs = 0;
  private tookUntilMs = 0;
  private isBusy = false;
  private isAsked = false;
  private isStopped = false;
  private readonly startedMs: number = performance.now();
  /** The lists now, and the listeners as text. */
  private served: { readonly listeners: string; readonly files: readonly RouteFile[] } | null = null;
  /** The last result that serves; null if all objects are to be translated. */
  private result: ClusterResult | null = null;
  /** By object, the statuses as they are wanted. */
  private statuses: Map<string, StatusPatch> = new Map();
  /** Those of them that name faults of routes. */
  private faulted: ReadonlyMap<string, StatusPatch> = NO_STATUSES;
  private events: readonly ObjectEvent[] = [];
  /** Null until it is asked for. */
  private unserved: readonly UnservedObject[] | null = null;
  /** Addresses of the gateway's own, and those of the cluster's streams. */
  private own: readonly OwnPlace[] = [];
  private streams: ReadonlySet<string> = new Set();
  /** The last line of the log about each trouble. */
  private readonly said: Map<string, string> = new Map();
  /** By namespace, the kinds that may not be read, with the API server's reasons. */
  private readonly refused: Map<string, Map<string, string>> = new Map();

  constructor(config: KubernetesConfig, ports: KubernetesPorts) {
    this.config = config;
    this.ports = ports;
    this.certificates = new CertificateFolder(ports.stateFolder);
  }

  start(): void {
    try {
      const { controller, ingressClass } = this.config;
      // As long as a name of a manager may be.
      const manager = `edge ${controller} ${ingressClass}`.slice(0, 128);
      this.begin(new ApiClient(apiAccess(this.config, process.env), manager));
      this.say("kubernetes", "");
    } catch (error) {
      this.say("kubernetes", messageOf(error));
      this.retry = setTimeout(() => this.start(), RETRY_MS);
    }
  }

  /** Takes the addresses that the configuration opens by itself: nothing of the cluster gets one of them. */
  noteOwn(config: RuntimeConfig): void {
    const own = ownPlaces(config, this.streams);
    if (JSON.stringify(own) === JSON.stringify(this.own)) return;
    this.own = own;
    this.result = null;
    this.changed();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    for (const timer of [this.quiet, this.retry]) if (timer !== null) clearTimeout(timer);
    for (const watch of this.watches) watch.stop();
    this.ports.lists.findUnserved = () => [];
    this.writer?.stop();
    this.certificates.remove();
    await this.election?.stop();
  }

  private begin(client: ApiClient): void {
    this.ports.lists.findUnserved = () => this.allUnserved();
    this.store.onChange(() => this.changed());
    const onState = (watch: KindWatch, state: WatchState, reason: string) => this.noted(watch, state, reason);
    const { namespaces } = this.config;
    this.watches = KINDS.flatMap((kind) => {
      const places = kind.isClusterWide === true || namespaces.length === 0 ? [""] : namespaces;
      return places.map((place) => new KindWatch(client, this.store, kind, place, { onState }));
    });
    for (const watch of this.watches) watch.start();
    if (!this.config.publish) return;
    const writer = new StatusWriter(client, this.store, KINDS_BY_NAME, ({ kind }, reason) =>
      this.say(`status of ${kind}`, reason),
    );
    this.writer = writer;
    const identity = `${process.env.POD_NAME ?? hostname()}_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
    this.election = new LeaseElection(client, LEASE, identity, {
      onLeader: (isLeader) => {
        this.ports.event("kubernetes_leader", { leader: isLeader, identity });
        writer.activate(isLeader);
      },
      onTrouble: (reason) => this.say(`lease ${LEASE}`, reason),
    });
    this.election.start();
  }

  private noted(watch: KindWatch, state: WatchState, reason: string): void {
    if (state === "away") this.say("API server", reason);
    else this.noteRefusal(watch, state === "refused" ? reason : "");
    if (state === "synced") this.say("API server", "");
    this.changed();
  }

  /** One line for all kinds of a namespace, or of the whole cluster, that may not be read. */
  private noteRefusal({ namespace, kind: { plural } }: KindWatch, reason: string): void {
    const refused = this.refused.get(namespace) ?? new Map<string, string>();
    this.refused.set(namespace, refused);
    if (reason === "") refused.delete(plural);
    else refused.set(plural, reason);
    const isWaiting = this.watches.some((one) => one.namespace === namespace && one.state === "waiting");
    if (isWaiting && performance.now() - this.startedMs <= PATIENCE_MS) return;
    const [first, ...others] = [...refused.keys()].sort();
    const name = namespace === "" ? "cluster" : `namespace ${namespace}`;
    const all = [first, ...others].join(", ");
    this.say(name, first === undefined ? "" : `edge may not read ${all}: ${refused.get(first)}`);
  }

  /** One line of the log for each trouble, and none while it stays the same. */
  private say(name: string, reason: string): void {
    const line = plainLine(reason);
    if ((this.said.get(name) ?? "") === line) return;
    this.said.set(name, line);
    if (line !== "") this.ports.unavailable(name, line);
  }

  /** Changes gather for a moment, after a long turn for as long as that took: at least half of the time is others'. */
  private changed(): void {
    if (this.isStopped || this.quiet !== null) return;
    const sinceMs = performance.now() - this.tookUntilMs;
    const wait = Math.max(QUIET_MS, Math.min(LONGEST_MS, this.tookMs) - sinceMs);
    this.quiet = setTimeout(() => {
      this.quiet = null;
      void this.take();
    }, wait);
  }

  private async take(): Promise<void> {
    this.isAsked = true;
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      while (this.isAsked && !this.isStopped) {
        this.isAsked = false;
        if (!this.isComplete()) continue;
        const beganMs = performance.now();
        await this.serve();
        this.tookUntilMs = performance.now();
        this.tookMs = this.tookUntilMs - beganMs;
      }
    } finally {
      this.isBusy = false;
    }
  }

  /** Until each kind has come, or is known not to, edge would take half of the objects for all. */
  private isComplete(): boolean {
    if (this.served !== null) return true;
    if (this.watches.some(({ state }) => state === "synced") && this.watches.every(({ state }) => state !== "waiting"))
      return true;
    return this.store.version > 0 && performance.now() - this.startedMs > PATIENCE_MS;
  }

  private async serve(): Promise<void> {
    const { own } = this;
    const changes = this.store.takeChanges();
    const renewed = this.renewed(changes);
    const result = renewed?.result ?? this.translated();
    this.result = null;
    if (result === null) return;
    const listeners = renewed === null ? JSON.stringify(result.listeners) : this.served!.listeners;
    const isSame = listeners === this.served?.listeners && isSameLists(result.files, this.served.files);
    this.ports.lists.files = result.files;
    if (listeners !== this.served?.listeners) this.ports.lists.listeners = result.listeners;
    if (!isSame) {
      this.streams = new Set([...this.streams, ...result.streams]);
      const { ok } = await this.ports.reload();
      if (!ok) {
        this.retry ??= setTimeout(() => {
          this.retry = null;
          this.changed();
        }, RETRY_MS);
        // Classes are not about what serves.
        const isClass = ({ object }: StatusPatch): boolean => object.kind === "GatewayClass";
        this.writer?.use(new Map([...result.statuses].filter(([, patch]) => isClass(patch))), []);
        return;
      }
      this.streams = result.streams;
      if (renewed === null) this.certificates.keepOnly(result.certificates);
    }
    // The same lists in other objects count, too: the next changes continue this result.
    this.served = { listeners, files: result.files };
    if (own === this.own) this.result = result;
    this.tell(result, renewed?.statuses ?? null);
  }

  /** Writes statuses and events. @param changed keys of the statuses that are others; null if all may be */
  private tell(result: ClusterResult, changed: readonly string[] | null): void {
    const before = this.faulted;
    this.faulted = this.faultsOf(result);
    this.unserved = null;
    this.events = result.events;
    if (changed === null) {
      this.statuses = new Map([...result.statuses, ...this.faulted]);
      this.writer?.use(this.statuses, result.events);
      return;
    }
    const keys = [...changed, ...before.keys(), ...this.faulted.keys()];
    for (const key of keys) {
      const patch = this.faulted.get(key) ?? result.statuses.get(key);
      if (patch !== undefined) this.statuses.set(key, patch);
    }
    this.writer?.renew(keys);
  }

  /** The result after some changes; null if all objects are to be translated. */
  private renewed(changes: readonly ObjectChange[]): ReturnType<ClusterResult["renewed"]> {
    const { result } = this;
    if (result === null || this.served === null || this.served.files !== result.files) return null;
    const { service } = this.config;
    if (changes.some(({ kind, namespace, name }) => kind === "Service" && `${namespace}/${name}` === service))
      return null;
    try {
      return result.renewed(changes);
    } catch (error) {
      this.say("objects", messageOf(error));
      return null;
    }
  }

  /** What becomes of all objects; null if that fails: the last good routes serve. */
  private translated(): ClusterResult | null {
    try {
      const settings = settingsFor(this.config, this.store, this.own);
      const result = clusterResult(this.store, settings, this.certificates);
      this.say("objects", "");
      return result;
    } catch (error) {
      this.say("objects", messageOf(error));
      return null;
    }
  }

  /** Objects whose routes the gateway has left out say so in their status. */
  private faultsOf({ faulted }: ClusterResult): ReadonlyMap<string, StatusPatch> {
    const left = this.ports.beside().left.filter(({ source }) => source === "kubernetes");
    if (left.length === 0) return NO_STATUSES;
    return faulted(new Map(left.map(({ name, faults: all }) => [name, all.map(formatFault).join("; ")])));
  }

  private allUnserved(): readonly UnservedObject[] {
    this.unserved ??= unservedObjects(this.statuses.values(), this.events, this.config.controller);
    return this.unserved;
  }
}

const NO_STATUSES: ReadonlyMap<string, StatusPatch> = new Map();

/** Whether lists are the same, in the same order. */
function isSameLists(some: readonly RouteFile[], others: readonly RouteFile[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i] || isSameText(one, others[i]!));
}

function isSameText({ file: a }: RouteFile, { file: b }: RouteFile): boolean {
  return a.path === b.path && a.bytes !== undefined && b.bytes !== undefined && Buffer.compare(a.bytes, b.bytes) === 0;
}
