import type { WriteEvent } from "../facts/events.ts";
import type { BreakerChange } from "../features/balance/balancer.ts";
import { BreakerState, type NodeTable } from "../memory/node-table.ts";
import type { NodeInit, NodeList } from "../worker/node-list.ts";

/** What the watch asks its surroundings for. */
export interface BreakerWatchPorts {
  /** Milliseconds, for durations. */
  now(): number;
  /** Calls back after a time. @returns what keeps it from doing so */
  after(ms: number, act: () => void): () => void;
  readonly event: WriteEvent;
  /** Tries a connection to a node, or its health check if it has one. @param done takes whether it succeeded */
  probe(node: NodeInit, done: (succeeded: boolean) => void): void;
}

/** The probes of one open breaker. */
interface Probing {
  isOver: boolean;
  cancel(): void;
}

/**
 * Keeps the time of all circuit breakers, on the control thread, whose clock is the only one they need: it ends the time
 * that one is open, at the latest after open_duration and as soon as a probe succeeds, takes a trial back that is not brought
 * to an end, and writes the log. docs/operations.md#failing-targets
 */
export class BreakerWatch {
  private readonly ports: BreakerWatchPorts;
  private list: NodeList;
  private table: NodeTable;
  private readonly openedMs: Map<string, number> = new Map();
  private readonly timers: Map<string, () => void> = new Map();
  private readonly probings: Map<string, Probing> = new Map();
  private readonly suspected: Set<string> = new Set();
  private running = 0;

  constructor(ports: BreakerWatchPorts, list: NodeList, table: NodeTable) {
    this.ports = ports;
    this.list = list;
    this.table = table;
  }

  /** Takes the nodes of a new configuration; the states that go on are in the table already. */
  use(list: NodeList, table: NodeTable): void {
    this.list = list;
    this.table = table;
    for (const key of [...this.timers.keys(), ...this.openedMs.keys()]) if (list.slotOf(key) < 0) this.forget(key);
  }

  /** A worker has moved a breaker. */
  onChange(key: string, change: BreakerChange): void {
    const node = this.list.nodeOf(key);
    if (node === null) return;
    const { slot } = node;
    if (change === "closed") this.onClosed(node, slot);
    else if (change === "trial") {
      this.endProbing(key);
      this.later(node, (at) => this.table.returnTrial(at));
    } else this.onOpened(node, slot);
  }

  /**
   * Another gateway says that a node is down: it gets no requests until a probe succeeds, for a moment at most. Then one request
   * decides, as after any time that a breaker was open. docs/fleet.md#health
   * @returns whether it was closed
   */
  suspect(node: NodeInit, slot: number): boolean {
    if (this.table.state(slot) !== BreakerState.Closed) return false;
    this.table.confirmOpen(slot);
    this.suspected.add(node.key);
    this.later(
      node,
      (at) => this.endOpen(node.key, at),
      Math.min(SUSPECT_MS, node.route.circuitBreaker.openDurationMs),
    );
    this.beginProbing(node, 0);
    return true;
  }

  /** Whether a node is out for what another gateway says alone. */
  isSuspected(key: string): boolean {
    return this.suspected.has(key);
  }

  /** Takes over what a worker has opened and did not live to tell. */
  adopt(): void {
    for (const node of this.list.nodes) {
      const isOpen = this.table.state(node.slot) === BreakerState.Open;
      if (isOpen && !this.timers.has(node.key)) this.onOpened(node, node.slot);
    }
  }

  private onOpened(node: NodeInit, slot: number): void {
    this.suspected.delete(node.key);
    this.table.confirmOpen(slot);
    this.later(node, (at) => this.endOpen(node.key, at));
    this.beginProbing(node);
    if (this.openedMs.has(node.key)) return;
    this.openedMs.set(node.key, this.ports.now());
    const { requests, failures } = this.table.recent(slot);
    const isCounted = node.route.circuitBreaker.successRate > 0;
    this.ports.event("breaker_open", {
      upstream: node.target.originKey,
      failures: this.table.failures(slot),
      ...(isCounted ? { recent_requests: requests, recent_failures: failures } : {}),
      open_ms: node.route.circuitBreaker.openDurationMs,
    });
  }

  private onClosed(node: NodeInit, slot: number): void {
    this.table.confirmClosed(slot);
    const since = this.openedMs.get(node.key);
    this.forget(node.key);
    if (since !== undefined) {
      const open_for_ms = Math.round(this.ports.now() - since);
      this.ports.event("breaker_closed", { upstream: node.target.originKey, open_for_ms });
    }
    // Another worker has opened it again meanwhile, and told so before.
    if (this.table.state(slot) === BreakerState.Open) this.onOpened(node, slot);
  }

  private endOpen(key: string, slot: number): void {
    this.endProbing(key);
    this.suspected.delete(key);
    this.table.halfOpen(slot);
  }

  /** Asks every second, until one probe succeeds or the breaker is open no more. */
  private beginProbing(node: NodeInit, firstMs: number = PROBE_EVERY_MS): void {
    this.endProbing(node.key);
    const probing: Probing = { isOver: false, cancel: () => {} };
    this.probings.set(node.key, probing);
    const wait = (ms: number): void => {
      probing.cancel = this.ports.after(ms, ask);
    };
    const ask = (): void => {
      if (this.running >= MAX_RUNNING) return wait(PROBE_EVERY_MS);
      this.running++;
      const askedMs = this.ports.now();
      this.ports.probe(node, (succeeded) => {
        this.running--;
        if (probing.isOver) return;
        if (succeeded) this.onReached(node.key);
        else wait(Math.max(0, PROBE_EVERY_MS - (this.ports.now() - askedMs)));
      });
    };
    wait(firstMs);
  }

  private onReached(key: string): void {
    const slot = this.list.slotOf(key);
    this.timers.get(key)?.();
    this.timers.delete(key);
    if (slot >= 0) this.endOpen(key, slot);
  }

  private endProbing(key: string): void {
    const probing = this.probings.get(key);
    if (probing === undefined) return;
    probing.isOver = true;
    probing.cancel();
    this.probings.delete(key);
  }

  /** Acts on the node's slot when open_duration, or another time, has passed, in place of what was to be done before. */
  private later(node: NodeInit, act: (slot: number) => void, ms = node.route.circuitBreaker.openDurationMs): void {
    this.timers.get(node.key)?.();
    const cancel = this.ports.after(ms, () => {
      this.timers.delete(node.key);
      const slot = this.list.slotOf(node.key);
      if (slot >= 0) act(slot);
    });
    this.timers.set(node.key, cancel);
  }

  private forget(key: string): void {
    this.timers.get(key)?.();
    this.timers.delete(key);
    this.endProbing(key);
    this.suspected.delete(key);
    this.openedMs.delete(key);
  }
}

const PROBE_EVERY_MS = 1000;
/** The longest that what another gateway says keeps a target out. */
const SUSPECT_MS = 3000;
/** Probes under way at once; the others wait for another second. */
const MAX_RUNNING = 256;
