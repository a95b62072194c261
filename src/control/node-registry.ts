import { applicationScheme, originOf, speaksHttp2, type TargetConfig, usesTls } from "../config/origin.ts";
import type { ControlService, Prepared } from "../core/control-service.ts";
import { detailLabel } from "../core/fault-detail-rows.ts";
import type { Takers } from "../core/message-takers.ts";
import { trimmedEnd } from "../core/trimming.ts";
import type { WriteEvent } from "../facts/events.ts";
import type { BreakerMessage } from "../features/balance/balancer.ts";
import { NodePlaces, roomFor } from "../memory/node-places.ts";
import { BreakerState, createNodeTable, MAX_HELD_BACK, NodeTable } from "../memory/node-table.ts";
import { type KnownName, type NamedMessage, type NameResolver, threadResolver } from "../net/name-resolver.ts";
import type { TargetStatus } from "../routes/route-type.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { CONNECTED_STATUS } from "../routes/streams/stream-keys.ts";
import type { NodeOwner } from "../routes/upstream/upstream-config.ts";
import { nameDetail } from "../upstream/failure-detail.ts";
import type { ProbeOrigin, ProbeOutcome } from "../upstream/http-probe.ts";
import { ExpectedBody } from "../upstream/probe-body.ts";
import type { ProbeQuestion } from "../upstream/probe-dialog.ts";
import { type HealthCheck, isExpected, Prober } from "../upstream/prober.ts";
import { readUpstreamTls } from "../upstream/tls-files.ts";
import { type NodeInit, NodeList, nodeKey, nodeKeys } from "../worker/node-list.ts";
import type { ChangedNodes } from "../worker/node-set.ts";
import { BreakerWatch, type BreakerWatchPorts } from "./breaker-watch.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** The state of a node, as the internal API says it. docs/upstreams.md#circuit-breaker */
type NodeStatus = "CLOSED" | "OPEN" | "UNREACHABLE";

/** A node with its state, for metrics and the dashboard. */
export interface NodeStanding {
  readonly originKey: string;
  /** What operators call it; "" for no name. */
  readonly name: string;
  /** The first of the routes that lead there. */
  readonly route: NodeOwner;
  readonly failures: number;
  readonly breaker: BreakerState;
  readonly healthy: boolean;
  /** Whether another target takes its requests: one of the same route, or of the old version. */
  readonly hasStandIn: boolean;
}

/** The control thread's side of the upstream nodes: the shared table, the active health checks, the breakers' time. */
export class NodeRegistry implements ControlService<RuntimeConfig> {
  readonly onMessage: Takers<BreakerMessage | NamedMessage> = {
    breaker: ({ key, change }) => {
      if (change === "closed") this.slowStart.begin(key);
      this.watch.onChange(key, change);
    },
    named: ({ known }) => {
      this.names.learn(known);
      this.publish(known);
    },
  };
  /** The addresses of named origins, for the probes. */
  readonly names: NameResolver;
  private list: NodeList;
  private shared: SharedArrayBuffer;
  private table: NodeTable;
  private places: NodePlaces;
  /** The health checks of nodes, by their keys, which tell all settings of a check. */
  private checks: ReadonlyMap<string, HealthCheck> = new Map();
  /** The list by addresses; null until it is asked for. */
  private addresses: AddressIndex | null = null;
  private readonly watch: BreakerWatch;
  private readonly slowStart: SlowStart;
  private readonly prober: Prober;
  /** Tells all workers of the addresses of a name. */
  private readonly publish: (known: KnownName) => void;
  private readonly event: WriteEvent;
  /** Keys of the origins that an operator has drained. A reload keeps them. */
  private readonly drained: Set<string> = new Set();
  /** The same for targets that their source has taken away, until a configuration without them serves. */
  private withheld: ReadonlySet<string> = new Set();
  /** Nodes whose last change came of a probe that got no response at all. */
  private readonly unreachable: Set<string> = new Set();

  constructor(config: RuntimeConfig, workers: Pick<WorkerPool, "broadcast">, event: WriteEvent) {
    this.event = event;
    this.publish = (known) => workers.broadcast({ kind: "names", known });
    const onFailure = (upstream: string, reason: string) =>
      event("upstream_failed", { upstream, reason, fault_detail: detailLabel(nameDetail(reason)) });
    this.names = threadResolver(onFailure, this.publish);
    this.names.use(config.proxy.transport);
    this.list = new NodeList(config);
    this.shared = createNodeTable(roomFor(this.list.size));
    this.places = new NodePlaces(this.list.size);
    this.table = new NodeTable(this.shared);
    const probe = (node: NodeInit, done: (succeeded: boolean) => void) => void this.tries(node).then(done);
    const ports = { now: () => performance.now(), after, event, probe };
    this.watch = new BreakerWatch(ports, this.list, this.table);
    this.slowStart = new SlowStart(ports, this.list, this.table);
    this.prober = new Prober({
      probe: (origin, path, timeoutMs) => probeTarget(origin, path, timeoutMs, this.names),
      random: Math.random,
      after,
      onChange: (key, healthy, outcome) => this.onHealth(key, healthy, outcome),
    });
  }

  /** The table for the workers: one a configuration. */
  get buffer(): SharedArrayBuffer {
    return this.shared;
  }

  startFields(): {
    readonly nodes: SharedArrayBuffer;
    readonly slots: Int32Array;
    readonly names: readonly KnownName[];
  } {
    return { nodes: this.buffer, slots: this.list.slots(), names: this.names.known() };
  }

  /** Begins the active health checks. */
  start(): void {
    this.checks = new Map();
    this.check();
  }

  /** Nodes that were checked before are checked as before. */
  private check(): void {
    const before = this.checks;
    const checks = this.list.nodes.flatMap((node) => before.get(node.key) ?? this.checkOf(node));
    this.checks = new Map(checks.map((check) => [check.key, check]));
    this.prober.use(checks);
  }

  /** Ends them. */
  stop(): void {
    this.prober.stop();
  }

  /** A table for the nodes of a configuration: those that it has too keep their state. */
  prepare(config: RuntimeConfig): Prepared & { readonly fields: { readonly nodes: SharedArrayBuffer } } {
    const list = new NodeList(config);
    const nodes = createNodeTable(roomFor(list.size));
    const takeUp = (): void => {
      this.names.use(config.proxy.transport);
      this.places = new NodePlaces(list.size);
      this.useList(list, nodes);
      this.start();
    };
    return { fields: { nodes }, takeUp };
  }

  /**
   * The same for a configuration in which only targets are others: nodes that stay keep their place in the table, and the table stays as long as it
   * has room.
   */
  prepareTargets(config: RuntimeConfig): Prepared & { readonly fields: ChangedNodes } {
    const { list: before, table } = this;
    const places = this.places.taking(table.size);
    const fresh = new Map<string, number>();
    const list = new NodeList(config, (key) => {
      const known = before.placeOf(key);
      if (known >= 0) return known;
      const slot = places.take();
      fresh.set(key, slot);
      return slot;
    });
    const gone = before.nodes.filter(({ key }) => list.nodeOf(key) === null);
    const after = places.after(gone.map(({ slot }) => slot));
    const nodes = after.size > table.size ? createNodeTable(roomFor(after.size)) : null;
    // No worker looks at them yet.
    if (nodes === null) for (const slot of fresh.values()) table.clear(slot);
    const takeUp = (): void => {
      this.places = after;
      this.useList(list, nodes ?? this.shared);
      this.check();
    };
    const fields = { nodes, slots: fresh, gone: gone.map(({ key }) => key), goneOrigins: originsOnlyIn(gone, list) };
    return { fields, takeUp };
  }

  private useList(list: NodeList, shared: SharedArrayBuffer): void {
    const table = shared === this.shared ? this.table : new NodeTable(shared);
    for (const { key, slot, target } of list.nodes) {
      const before = this.list.slotOf(key);
      if (before >= 0 && table !== this.table) table.copyFrom(this.table, before, slot);
      if (before < 0 || table !== this.table) table.setDrained(slot, this.isOut(target.originKey));
    }
    for (const key of list.others) table.setDrained(list.otherSlotOf(key), this.isOut(key));
    this.list = list;
    this.shared = shared;
    this.table = table;
    this.watch.use(list, table);
    this.slowStart.use(list, table);
    for (const key of this.unreachable) if (list.slotOf(key) < 0) this.unreachable.delete(key);
    this.addresses = null;
  }

  /** The trials that a dead worker held are open to others, and what it did not tell any more is found. */
  workerDied(worker: number): void {
    this.table.returnTrialsOf(worker);
    this.watch.adopt();
    this.slowStart.adopt();
  }

  /** All nodes as they stand. */
  standings(): readonly NodeStanding[] {
    const usable = new Map<NodeOwner, number>();
    for (const { route } of this.list.nodes) if (!usable.has(route)) usable.set(route, this.usableOf(route));
    return this.list.nodes.map(({ target, route, slot }) => ({
      originKey: target.originKey,
      name: target.name ?? "",
      route,
      failures: this.table.failures(slot),
      breaker: this.table.state(slot),
      healthy: this.table.isHealthy(slot),
      hasStandIn: usable.get(route)! > Number(this.table.isUsable(slot)),
    }));
  }

  /** How many targets take requests of a route, those of the old version included. */
  private usableOf(route: NodeOwner): number {
    const old = (route.oldTargets ?? []).map(({ originKey }) => nodeKey(route, originKey));
    const slots = [...nodeKeys(route), ...old].map((key) => this.list.slotOf(key));
    return slots.filter((slot) => slot >= 0 && this.table.isUsable(slot)).length;
  }

  /** Keys of the origins that this gateway has found to be down itself: by a breaker or a health check. */
  down(): readonly string[] {
    const found = this.list.nodes.filter(
      ({ key, slot }) =>
        !this.table.isHealthy(slot) || (this.table.state(slot) === BreakerState.Open && !this.watch.isSuspected(key)),
    );
    return [...new Set(found.map(({ target }) => target.originKey))];
  }

  /**
   * Another gateway says that an origin is down: it is tried by itself before it gets more requests. The only usable target of a route is left
   * as it is. docs/fleet.md#health
   * @returns whether a node was removed for that
   */
  suspect(originKey: string): boolean {
    let isAny = false;
    this.list.nodes.forEach((node) => {
      const { route, target, slot } = node;
      if (target.originKey !== originKey || !route.circuitBreaker.enabled) return;
      const others = nodeKeys(route).map((key) => this.list.slotOf(key));
      if (others.some((other) => other >= 0 && other !== slot && this.table.isUsable(other)))
        isAny = this.watch.suspect(node, slot) || isAny;
    });
    if (isAny) this.event("breaker_hint", { upstream: originKey });
    return isAny;
  }

  /** The breaker of a node, its failures in a row, and the health check's word; null for one that is not there. */
  stateOf(key: string): { isOpen: boolean; failures: number; healthy: boolean; isDrained: boolean } | null {
    const slot = this.list.slotOf(key);
    if (slot < 0) return null;
    const isOpen = this.table.state(slot) !== BreakerState.Closed;
    const { table } = this;
    return {
      isOpen,
      failures: table.failures(slot),
      healthy: table.isHealthy(slot),
      isDrained: table.isDrained(slot),
    };
  }

  /**
   * Takes a target out of service, or back in: no new request goes there from any route, requests under way end.
   * docs/operations.md#draining-a-target
   * @param target its name, which may be that of targets of several routes, or its address as routes.yaml has it, with or without its path
   * @returns the keys of the origins: one for an address, none if no route leads there
   */
  drain(target: string, isDrained: boolean): readonly string[] {
    const named = this.list.originsNamed(target);
    const originKeys = named.length > 0 ? named : this.originsAt(target);
    for (const originKey of originKeys) {
      if (isDrained) this.drained.add(originKey);
      else this.drained.delete(originKey);
      this.mark(originKey);
    }
    return originKeys;
  }

  /** Gives targets of these URLs no new request, whatever operators say, and those of earlier calls theirs again. */
  withhold(urls: ReadonlySet<string>): void {
    if (urls.size === 0 && this.withheld.size === 0) return;
    const before = this.withheld;
    this.withheld = new Set([...urls].flatMap((url) => this.originsAt(url)));
    for (const key of new Set([...before, ...this.withheld])) this.mark(key);
  }

  private isOut(originKey: string): boolean {
    return this.drained.has(originKey) || this.withheld.has(originKey);
  }

  /** Tells the workers whether an origin gets requests. */
  private mark(originKey: string): void {
    const isOut = this.isOut(originKey);
    for (const slot of this.addressIndex().slots.get(originKey) ?? []) this.table.setDrained(slot, isOut);
    const other = this.list.otherSlotOf(originKey);
    if (other >= 0) this.table.setDrained(other, isOut);
  }

  /** The key of the origin at an address; none if no route has it. */
  private originsAt(target: string): readonly string[] {
    const originKey = this.addressIndex().origins.get(comparable(target));
    return originKey === undefined ? [] : [originKey];
  }

  private addressIndex(): AddressIndex {
    this.addresses ??= addressIndexOf(this.list);
    return this.addresses;
  }

  /** Keys of the drained origins that routes lead to. */
  drainedOrigins(): readonly string[] {
    if (this.drained.size === 0) return [];
    const inUse = new Set([...this.list.nodes.map(({ target }) => target.originKey), ...this.list.others]);
    return [...this.drained].filter((key) => inUse.has(key));
  }

  /** Whether an operator has drained an origin. */
  isDrained(originKey: string): boolean {
    return this.drained.has(originKey);
  }

  /** How the target of a route is; of a transcoded one nothing is known. */
  readonly targetStatus: TargetStatus = (originKey, route) =>
    route === null
      ? { status: "CLOSED", drained: false }
      : { status: this.statusOf(nodeKey(route, originKey)), drained: this.isDrained(originKey) };

  /** The state of a node without a question to it. */
  statusOf(key: string): NodeStatus {
    const state = this.stateOf(key);
    if (state?.isOpen) return "OPEN";
    return state !== null && !state.healthy && this.unreachable.has(key) ? "UNREACHABLE" : "CLOSED";
  }

  private onHealth(key: string, healthy: boolean, outcome: ProbeOutcome): void {
    const node = this.list.nodeOf(key);
    if (node === null) return;
    const { slot } = node;
    if (healthy) this.slowStart.begin(key);
    this.table.setHealthy(slot, healthy);
    if (healthy || outcome.statusCode > 0) this.unreachable.delete(key);
    else this.unreachable.add(key);
    const upstream = node.target.originKey;
    if (healthy) this.event("upstream_healthy", { upstream });
    else {
      const { statusCode: status, error, detail } = outcome;
      const cause = detail === undefined ? {} : { fault_detail: detailLabel(detail) };
      this.event("upstream_unhealthy", { upstream, status, error, ...cause });
    }
  }

  /** Whether a node can be reached, or passes its health check if it has one. */
  private async tries(node: NodeInit): Promise<boolean> {
    const { healthCheck, timeouts } = node.route;
    // Nothing says whether a datagram has arrived: the time is all that brings it back.
    if (node.target.scheme === "udp") return false;
    let origin: ProbeOrigin;
    try {
      origin = this.probeOrigin(node);
    } catch {
      return false;
    }
    if (!healthCheck.enabled)
      return (await httpProbe().probeConnection(origin, timeouts.connectMs, this.names)).error === "";
    return isExpected(healthCheck, await probeTarget(origin, healthCheck.path, healthCheck.timeoutMs, this.names));
  }

  private probeOrigin({ route, target, isMesh }: NodeInit): ProbeOrigin {
    // The probe only finds out whether a peer can be reached; requests see who it is.
    if (isMesh) return probeOrigin(route, { ...target, scheme: "http" }, this.list.maxResponseFields);
    return probeOrigin(route, target, this.list.maxResponseFields);
  }

  private checkOf(node: NodeInit): HealthCheck[] {
    const { healthCheck } = node.route;
    if (!healthCheck.enabled) return [];
    try {
      return [{ key: node.key, origin: this.probeOrigin(node), ...healthCheck }];
    } catch (error) {
      this.event("exception", { what: "health_check", error: String(error) });
      return [];
    }
  }
}

/** Nodes by addresses: a source may take thousands of targets away at once. */
interface AddressIndex {
  /** Keys of origins, by their comparable addresses. */
  readonly origins: ReadonlyMap<string, string>;
  /** The slots of the nodes of an origin. */
  readonly slots: ReadonlyMap<string, readonly number[]>;
}

function addressIndexOf({ nodes, others }: NodeList): AddressIndex {
  const origins = new Map<string, string>();
  const slots = new Map<string, number[]>();
  const note = (address: string, originKey: string): void => {
    if (!origins.has(comparable(address))) origins.set(comparable(address), originKey);
  };
  for (const { slot, target } of nodes) {
    const { originKey, url } = target;
    for (const address of [originKey, url]) note(address, originKey);
    const known = slots.get(originKey);
    if (known === undefined) slots.set(originKey, [slot]);
    else known.push(slot);
  }
  for (const key of others) note(key, key);
  return { origins, slots };
}

/** Keys of origins that no node of a list is of any more. */
function originsOnlyIn(gone: readonly NodeInit[], { nodes, others }: NodeList): readonly string[] {
  const left = new Set(gone.map(({ target }) => target.originKey));
  if (left.size > 0) for (const { target } of nodes) left.delete(target.originKey);
  for (const key of others) left.delete(key);
  return [...left];
}

/** The client of probes is loaded at the first of them. */
function httpProbe(): typeof import("../upstream/http-probe.ts") {
  return require("../upstream/http-probe.ts") as typeof import("../upstream/http-probe.ts");
}

/** The client for gRPC is loaded if a target is asked by it. */
function grpcProbe(): typeof import("../upstream/grpc-probe.ts") {
  return require("../upstream/grpc-probe.ts") as typeof import("../upstream/grpc-probe.ts");
}

/** Probes a target: by a call of gRPC, by a request for `path`, or where that is "" by a connection, whose status is CONNECTED_STATUS. */
export async function probeTarget(
  origin: ProbeOrigin,
  path: string,
  timeoutMs: number,
  names: NameResolver,
): Promise<ProbeOutcome> {
  if (origin.grpc !== undefined) return grpcProbe().probeGrpc(origin, origin.grpc, timeoutMs, names);
  if (path !== "") return httpProbe().probeHttp(origin, path, timeoutMs, names);
  const outcome = await httpProbe().probeConnection(origin, timeoutMs, names);
  return outcome.error === "" ? { ...outcome, statusCode: CONNECTED_STATUS } : outcome;
}

/**
 * How to reach a target for a probe.
 * @param maxResponseFields of the head of its response
 * @throws when a file of its TLS settings cannot be read
 */
export function probeOrigin(route: NodeOwner, target: TargetConfig, maxResponseFields: number): ProbeOrigin {
  const check = route.healthCheck;
  const isAsked = check.enabled;
  const port = isAsked && check.port > 0 ? check.port : target.port;
  const authority =
    port === target.port ? target.authority : originOf(target.scheme, target.hostname, port, "").authority;
  return {
    hostname: target.hostname,
    port,
    socketPath: target.socketPath,
    authority: isAsked && check.host !== "" ? check.host : authority,
    tls: usesTls(target.scheme) && route.tls !== null ? readUpstreamTls(route.tls, target.hostname) : null,
    isHttp2: speaksHttp2(target.scheme),
    isLenient: !route.strictOrigins,
    ...(isAsked ? { question: questionOf(check) } : {}),
    ...(route.fastcgi ? { scriptRoot: route.fastcgi.root } : {}),
    ...applicationOf(route, target),
    ...(check.grpc ? { grpc: { basePath: target.basePath, mustTell: true } } : {}),
    maxResponseFields,
  };
}

function applicationOf({ uwsgi }: NodeOwner, { scheme }: TargetConfig): Pick<ProbeOrigin, "application"> {
  const protocol = applicationScheme(scheme);
  return protocol === null
    ? {}
    : { application: { protocol, modifiers: [uwsgi?.modifier1 ?? 0, uwsgi?.modifier2 ?? 0] } };
}

function questionOf({ method, headers, body }: NodeOwner["healthCheck"]): ProbeQuestion {
  return { method, headers, body: body === "" ? null : new ExpectedBody(body) };
}

/** Capitals count in the path of a socket, and not in the name of a host. */
function comparable(target: string): string {
  const plain = trimmedEnd(target, "/");
  return /^unix:/i.test(plain) ? plain : plain.toLowerCase();
}

function after(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/**
 * Lets the shares of recovered nodes grow, on the control thread: a part of the share is held back, less and less of it
 * until `slow_start` is over. The workers read that part from the table. docs/operations.md#failing-targets
 */
export class SlowStart {
  private readonly ports: Pick<BreakerWatchPorts, "now" | "after">;
  private list: NodeList;
  private table: NodeTable;
  /** When each node that has not got its full share yet has recovered. */
  private readonly sinceMs: Map<string, number> = new Map();

  constructor(ports: Pick<BreakerWatchPorts, "now" | "after">, list: NodeList, table: NodeTable) {
    this.ports = ports;
    this.list = list;
    this.table = table;
  }

  /** Takes the nodes of a new configuration; what is held back is in the table already. */
  use(list: NodeList, table: NodeTable): void {
    this.list = list;
    this.table = table;
  }

  /** A node has recovered. */
  begin(key: string): void {
    const node = this.list.nodeOf(key);
    if (node === null || durationOf(node) === 0) return;
    const { slot } = node;
    const isGrowing = this.sinceMs.has(key);
    this.sinceMs.set(key, this.ports.now());
    if (isGrowing) this.table.holdBack(slot, MAX_HELD_BACK);
    else this.grow(key);
  }

  /** Takes over what a worker has held back and did not live to tell. */
  adopt(): void {
    for (const { key, slot } of this.list.nodes)
      if (this.table.heldBack(slot) > 0 && !this.sinceMs.has(key)) this.begin(key);
  }

  private grow(key: string): void {
    const node = this.list.nodeOf(key);
    const since = this.sinceMs.get(key);
    const durationMs = node === null ? 0 : durationOf(node);
    const left = since === undefined || durationMs === 0 ? 0 : 1 - (this.ports.now() - since) / durationMs;
    if (node !== null) this.table.holdBack(node.slot, Math.ceil(MAX_HELD_BACK * Math.max(0, left)));
    if (left > 0) this.ports.after(Math.max(MIN_STEP_MS, durationMs / STEPS), () => this.grow(key));
    else this.sinceMs.delete(key);
  }
}

function durationOf({ route }: NodeInit): number {
  return route.circuitBreaker.slowStartMs;
}

const STEPS = 100;
const MIN_STEP_MS = 20;
