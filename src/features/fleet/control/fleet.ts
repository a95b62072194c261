import { hostname } from "node:os";
import type { ControlService } from "../../../core/control-service.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import type { Takers } from "../../../core/message-takers.ts";
import { type Metric, single } from "../../../core/metric-row.ts";
import { errorBody } from "../../../core/status.ts";
import { VERSION } from "../../../core/version.ts";
import type { BucketCall, BucketReplies, BucketReply } from "../../../message/bucket-call.ts";
import type { PurgeOrder } from "../../../message/purge-order.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { FLEET_EVENTS } from "../events.ts";
import type { FleetNews, FleetState, FleetWord } from "../fleet-messages.ts";
import { TAKE_SCRIPT } from "../fleet-script.ts";
import type { FleetStore } from "../fleet-store.ts";
import { FLEET_METRICS } from "../metrics.ts";
import { PurgeLog } from "../purge-log.ts";
import type { ClusterConfig } from "../settings.ts";
import { SharedStore } from "../shared-store.ts";
import { FleetRoutes } from "./fleet-routes.ts";
import type { StoreAddress } from "./redis-store.ts";

/** What the fleet asks the control thread for. */
export interface FleetPorts {
  readonly startedAtMs: number;
  /** The number of the configuration that is in use. */
  readonly generation: () => number;
  readonly isEnding: () => boolean;
  /** Tells all workers. */
  readonly publish: (state: FleetState) => void;
  /** Takes responses out of this gateway's cache. */
  readonly purge: (order: PurgeOrder) => void;
  readonly event: EventWriter<typeof FLEET_EVENTS>;
  /** What else this gateway tells of itself. */
  readonly about: () => Pick<FleetNode, "config" | "trial">;
  /** Called every two seconds while the store is there. */
  readonly onBeat: (store: SharedStore, config: ClusterConfig) => Promise<void>;
  /** Called every 300 ms while the store is there: it follows the routes of the fleet. */
  readonly onLook: (routes: FleetRoutes) => Promise<void>;
  /** The gateway ends, and the store is there. */
  readonly onLeave: (store: SharedStore) => Promise<void>;
}

/** A gateway as it tells the others of itself. docs/fleet.md#nodes */
export interface FleetNode {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly generation: number;
  /** Whether it takes requests, or is about to end. */
  readonly state: "serving" | "draining";
  /** The version of a configuration from afar; "" if it came from files. */
  readonly config: string;
  /** Whether one is on trial there, or waits for its trial elsewhere. */
  readonly trial: "" | "canary" | "waiting";
  readonly pid: number;
  readonly started_at: string;
  readonly seen_at: string;
}

/** The control thread's part in a fleet: the store, who is there, and what is purged. docs/fleet.md */
export class Fleet implements ControlService<RuntimeConfig> {
  state: FleetState = ALONE;
  readonly onMessage: Takers<FleetWord, FleetNews> = {
    purged: ({ order }) => this.purges?.tell(order),
    take: ({ id, calls }, _, response) =>
      void this.take(calls).then((responses) => response({ kind: "taken", id, responses: responses })),
  };
  private readonly ports: FleetPorts;
  private readonly id: string = crypto.randomUUID();
  private config: ClusterConfig | null = null;
  private store: FleetStore | null = null;
  private purges: PurgeLog | null = null;
  /** Changes with each configuration: what belongs to another one ends. */
  private run = 0;
  private wake: (() => void) | null = null;
  private calls = 0;
  private failures = 0;

  constructor(ports: FleetPorts) {
    this.ports = ports;
  }

  /** Takes up a configuration; the store is opened if there is one. */
  use({ cluster: config }: Pick<RuntimeConfig, "cluster">): void {
    if (this.config !== null && Bun.deepEquals(config, this.config)) return;
    this.config = config;
    this.leave();
    if (config.enabled) void this.keep(config, ++this.run);
    else this.publish(ALONE);
  }

  /** The store, and how the names of its keys begin; "alone" without a fleet, "away" while it cannot be reached, "ending" with the process. */
  get shared(): { readonly store: FleetStore; readonly prefix: string } | "alone" | "away" | "ending" {
    const { store, config } = this;
    if (this.ports.isEnding()) return "ending";
    if (config?.enabled !== true) return "alone";
    return store === null ? "away" : { store, prefix: config.prefix };
  }

  /** The same for the routes of the fleet; null without a fleet. */
  get routes(): FleetRoutes | "away" | null {
    const { store, config } = this;
    if (config?.enabled !== true) return null;
    return store === null ? "away" : new FleetRoutes(new SharedStore(store, config.prefix, this.id));
  }

  /** Takes tokens for workers. @returns null if the store is away, and for each bucket that it does not answer */
  private async take(calls: readonly BucketCall[]): Promise<BucketReplies> {
    const { store, config } = this;
    if (store === null || config === null) return null;
    this.calls += calls.length;
    // One part of a cluster that is away is not all of it.
    const shared = new SharedStore(store, config.prefix, this.id);
    const taken = await Promise.allSettled(calls.map((call) => this.takeOne(shared, call)));
    return taken.map((one) => {
      if (one.status === "fulfilled") return one.value;
      this.failures++;
      return null;
    });
  }

  /** The response of `/internal/api/nodes`: who is there, longest unseen first. docs/endpoints.md#nodes */
  async listing(): Promise<{ readonly status: number; readonly body: unknown }> {
    const { store, config } = this;
    if (config?.enabled !== true) return listingFault(404, "there is no section cluster in config.yaml");
    if (store === null) return listingFault(503, "the store of the fleet is away");
    try {
      const nodes = await this.nodes(store, config);
      const listed = nodes.map((node) => ({ ...OLDER, ...node, own: node.id === this.id }));
      return { status: 200, body: { total: nodes.length, nodes: listed } };
    } catch (error) {
      return listingFault(503, `the store of the fleet: ${messageOf(error)}`);
    }
  }

  private async nodes(store: FleetStore, config: ClusterConfig): Promise<readonly FleetNode[]> {
    const key = `${config.prefix}:nodes`;
    const seen = (await store.call(key, ["ZRANGEBYSCORE", key, String(Date.now() - FORGET_MS), "+inf"])) as string[];
    const texts = await Promise.all(
      seen.map((id) => store.call(`${config.prefix}:node:${id}`, ["GET", `${config.prefix}:node:${id}`])),
    );
    return texts.filter((text) => typeof text === "string").map((text) => JSON.parse(text) as FleetNode);
  }

  startFields(): { readonly fleet: FleetState } {
    return { fleet: this.state };
  }

  metrics(): readonly Metric[] {
    return [
      single(FLEET_METRICS, "gateway_cluster_store_up", () => (this.state.isUp ? 1 : 0)),
      single(FLEET_METRICS, "gateway_cluster_nodes", () => this.state.nodes),
      single(FLEET_METRICS, "gateway_cluster_calls_total", () => this.calls),
      single(FLEET_METRICS, "gateway_cluster_call_failures_total", () => this.failures),
    ];
  }

  /** The others need not wait until this gateway is forgotten. @param limitMs how long the store has for it */
  async stop(limitMs: number): Promise<void> {
    const { store, config } = this;
    if (store !== null && config !== null) {
      const [nodes, own] = [`${config.prefix}:nodes`, `${config.prefix}:node:${this.id}`];
      const left = this.ports.onLeave(new SharedStore(store, config.prefix, this.id));
      const calls = [left, store.call(nodes, ["ZREM", nodes, this.id]), store.call(own, ["DEL", own])];
      await Promise.race([Promise.allSettled(calls), Bun.sleep(limitMs)]);
    }
    this.leave();
  }

  private leave(): void {
    this.run++;
    this.store?.close();
    this.store = null;
    this.purges = null;
    this.wake?.();
  }

  /** Keeps a connection for as long as the configuration is in use. */
  private async keep(config: ClusterConfig, run: number): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    let isTold = false;
    const purges = new PurgeLog(config.prefix, this.id, this.ports.purge);
    while (this.run === run) {
      const lost = Promise.withResolvers<string>();
      let reason: string;
      try {
        const store = await openFleetStore(config, lost.resolve);
        if (this.run !== run) return store.close();
        this.store = store;
        this.purges = purges;
        await this.beat(store, config);
        await purges.catchUp(store);
        if (isTold) this.ports.event("cluster_store_back", { nodes: this.state.nodes });
        isTold = false;
        pauseMs = FIRST_PAUSE_MS;
        reason = await this.live(store, config, purges, { lost: lost.promise, run });
        store.close();
      } catch (error) {
        reason = messageOf(error);
        this.store?.close();
      }
      if (this.run !== run) return;
      this.store = null;
      this.publish({ ...this.state, isUp: false, timeoutMs: config.timeoutMs });
      if (!isTold) this.ports.event("cluster_store_away", { error: reason });
      isTold = true;
      await this.pause(pauseMs * (0.5 + Math.random()));
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Tells of this gateway and reads of purges, until the store is lost. @returns why */
  private async live(
    store: FleetStore,
    config: ClusterConfig,
    purges: PurgeLog,
    { lost, run }: { readonly lost: Promise<string>; readonly run: number },
  ): Promise<string> {
    let why: string | null = null;
    void lost.then((reason) => {
      why = reason;
      this.wake?.();
    });
    for (let round = 1; why === null && this.run === run; round++) {
      await this.pause(PURGE_LOOK_MS);
      if (why !== null || this.run !== run) break;
      await purges.read(store);
      await this.ports.onLook(new FleetRoutes(new SharedStore(store, config.prefix, this.id)));
      if (round % BEAT_ROUNDS === 0) await this.beat(store, config);
    }
    return why ?? "the configuration has changed";
  }

  private async beat(store: FleetStore, config: ClusterConfig): Promise<void> {
    const nowMs = Date.now();
    const node: FleetNode = {
      id: this.id,
      name: config.node || `${hostname()}/${process.pid}`,
      version: VERSION,
      generation: this.ports.generation(),
      state: this.ports.isEnding() ? "draining" : "serving",
      ...this.ports.about(),
      pid: process.pid,
      started_at: new Date(this.ports.startedAtMs).toISOString(),
      seen_at: new Date(nowMs).toISOString(),
    };
    const nodes = `${config.prefix}:nodes`;
    const own = `${config.prefix}:node:${this.id}`;
    await Promise.all([
      store.call(own, ["SET", own, JSON.stringify(node), "PX", String(FORGET_MS)]),
      store.call(nodes, ["ZADD", nodes, String(nowMs), this.id]),
      store.call(nodes, ["ZREMRANGEBYSCORE", nodes, "-inf", String(nowMs - FORGET_MS)]),
    ]);
    const seen = Number(await store.call(nodes, ["ZCOUNT", nodes, String(nowMs - SEEN_MS), "+inf"]));
    const next = { isUp: true, nodes: Math.max(1, seen), timeoutMs: config.timeoutMs };
    if (!Bun.deepEquals(next, this.state)) this.publish(next);
    await this.ports.onBeat(new SharedStore(store, config.prefix, this.id), config);
  }

  private async takeOne(store: SharedStore, call: BucketCall): Promise<BucketReply> {
    const words = [call.unitUs, call.capacityUs, call.spent, call.want].map(String);
    const found = await store.evaluate(TAKE_SCRIPT, `limit:${call.key}`, words);
    const [granted = 0, left = 0, waitUs = 0] = (found as unknown[]).map(Number);
    return { granted, left, waitMs: waitUs / 1000 };
  }

  private publish(state: FleetState): void {
    this.state = state;
    this.ports.publish(state);
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Opens the store of a fleet; its client is loaded if there is one. @param onLost learns once that the connection is gone */
export async function openFleetStore(config: StoreAddress, onLost: (reason: string) => void): Promise<FleetStore> {
  const { openRedis } = await import("./redis-store.ts");
  return openRedis(config, onLost);
}

function listingFault(status: number, message: string) {
  return { status, body: errorBody(status, message) };
}

/** What gateways of earlier versions do not tell of themselves. */
const OLDER: Pick<FleetNode, "config" | "trial"> = { config: "", trial: "" };

/** Without a fleet. */
export const ALONE: FleetState = { isUp: false, nodes: 1, timeoutMs: 0 };

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
const PURGE_LOOK_MS = 300;
/** Looks until a gateway tells again that it is there. */
const BEAT_ROUNDS = 7;
/** A gateway counts for so long after it was last seen. */
export const SEEN_MS = 10_000;
/** And is listed for so long. */
const FORGET_MS = 60_000;
