import { MAX_HELD_BACK, type NodeTable } from "../shared/node-table.ts";
import type { BreakerWatchPorts } from "./breaker-watch.ts";
import type { NodeList } from "./node-list.ts";

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
    const slot = this.list.slotOf(key);
    if (slot < 0 || this.durationOf(slot) === 0) return;
    const isGrowing = this.sinceMs.has(key);
    this.sinceMs.set(key, this.ports.now());
    if (isGrowing) this.table.holdBack(slot, MAX_HELD_BACK);
    else this.grow(key);
  }

  /** Takes over what a worker has held back and did not live to tell. */
  adopt(): void {
    this.list.nodes.forEach(({ key }, slot) => {
      if (this.table.heldBack(slot) > 0 && !this.sinceMs.has(key)) this.begin(key);
    });
  }

  private grow(key: string): void {
    const slot = this.list.slotOf(key);
    const since = this.sinceMs.get(key);
    const durationMs = slot < 0 ? 0 : this.durationOf(slot);
    const left = since === undefined || durationMs === 0 ? 0 : 1 - (this.ports.now() - since) / durationMs;
    if (slot >= 0) this.table.holdBack(slot, Math.ceil(MAX_HELD_BACK * Math.max(0, left)));
    if (left > 0) this.ports.after(Math.max(MIN_STEP_MS, durationMs / STEPS), () => this.grow(key));
    else this.sinceMs.delete(key);
  }

  private durationOf(slot: number): number {
    return this.list.nodes[slot]!.route.circuitBreaker.slowStartMs;
  }
}

const STEPS = 100;
const MIN_STEP_MS = 20;
