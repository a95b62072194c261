import type { BreakerChange } from "../features/balance/upstream-node.ts";
import type { EventFields } from "../features/telemetry/event-line.ts";
import type { NodeTable } from "../shared/node-table.ts";
import type { NodeInit, NodeList } from "./node-list.ts";

/** What the watch asks its surroundings for. */
export interface BreakerWatchPorts {
  /** Milliseconds, for durations. */
  now(): number;
  /** Calls back after a time. @returns what keeps it from doing so */
  after(ms: number, act: () => void): () => void;
  event(event: string, fields: EventFields): void;
}

/**
 * Keeps the time of all circuit breakers, on the control thread, whose clock is the only one they need: it ends the time
 * that one is open, takes a trial back that nobody brings to an end, and writes the log.
 */
export class BreakerWatch {
  private readonly ports: BreakerWatchPorts;
  private list: NodeList;
  private table: NodeTable;
  private readonly openedMs: Map<string, number> = new Map();
  private readonly timers: Map<string, () => void> = new Map();

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
    const slot = this.list.slotOf(key);
    if (slot < 0) return;
    const node = this.list.nodes[slot]!;
    if (change === "closed") this.onClosed(node, slot);
    else if (change === "trial") this.later(node, (at) => this.table.returnTrial(at));
    else this.onOpened(node, slot);
  }

  private onOpened(node: NodeInit, slot: number): void {
    this.table.confirmOpen(slot);
    this.later(node, (at) => this.table.halfOpen(at));
    if (this.openedMs.has(node.key)) return;
    this.openedMs.set(node.key, this.ports.now());
    this.ports.event("breaker_open", {
      upstream: node.target.originKey,
      failures: this.table.failures(slot),
      open_ms: node.route.circuitBreaker.openDurationMs,
    });
  }

  private onClosed(node: NodeInit, slot: number): void {
    this.table.confirmClosed(slot);
    const since = this.openedMs.get(node.key);
    this.forget(node.key);
    if (since === undefined) return;
    this.ports.event("breaker_closed", {
      upstream: node.target.originKey,
      open_for_ms: Math.round(this.ports.now() - since),
    });
  }

  /** Acts on the node's slot when open_duration has passed, in place of what was to be done before. */
  private later(node: NodeInit, act: (slot: number) => void): void {
    this.timers.get(node.key)?.();
    const cancel = this.ports.after(node.route.circuitBreaker.openDurationMs, () => {
      this.timers.delete(node.key);
      const slot = this.list.slotOf(node.key);
      if (slot >= 0) act(slot);
    });
    this.timers.set(node.key, cancel);
  }

  private forget(key: string): void {
    this.timers.get(key)?.();
    this.timers.delete(key);
    this.openedMs.delete(key);
  }
}
