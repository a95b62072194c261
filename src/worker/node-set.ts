import { type NodePorts, UpstreamNode } from "../features/balance/balancer.ts";
import { createNodeTable, NodeTable } from "../memory/node-table.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { NodeOwner } from "../routes/upstream/upstream-config.ts";
import { breakerRules, NodeList, nodeKeys } from "./node-list.ts";

/** The upstream nodes of one configuration. */
export interface ConfiguredNodes {
  /** The nodes of the targets of one of its routes, in their order. */
  nodesOf(route: NodeOwner): readonly UpstreamNode[];
  /** Says of a mirror, or an upstream of the transcoder, whether an operator has drained it. */
  drainOf(originKey: string): () => boolean;
}

/** Those of a configuration that is not in use yet; without `commit` nothing has changed. */
export interface PreparedNodes extends ConfiguredNodes {
  commit(): void;
}

/** How the nodes of a configuration become others with its targets. */
export interface ChangedNodes {
  /** A larger table; null for the same one. Nodes that stay have the same place in both. */
  readonly nodes: SharedArrayBuffer | null;
  /** The places of new nodes, by their keys. */
  readonly slots: ReadonlyMap<string, number>;
  /** Keys of the nodes that no target is any more. */
  readonly gone: readonly string[];
  /** Keys of the origins that no route leads to any more. */
  readonly goneOrigins: readonly string[];
}

/** The places of the nodes of a configuration. */
interface NodeMap {
  table: NodeTable;
  readonly slots: Map<string, number>;
}

/** Nodes that are being prepared. */
interface Step {
  readonly map: NodeMap;
  readonly table: NodeTable;
  /** Places beside those of the map. */
  slots: ReadonlyMap<string, number>;
  /** New nodes, until they are in use; null from then on. */
  fresh: Map<string, UpstreamNode> | null;
}

const NO_SLOTS: ReadonlyMap<string, number> = new Map();

/**
 * The upstream nodes of one worker, made when a route first asks for them. A node that a new configuration has too goes on,
 * with what is under way to it.
 */
export class NodeSet {
  private readonly surroundings: NodePorts;
  private readonly nodes: Map<string, UpstreamNode> = new Map();
  private current: NodeMap | null = null;

  constructor(surroundings: NodePorts) {
    this.surroundings = surroundings;
  }

  /**
   * The nodes of a configuration and the table that belongs to it, before the runtime is made.
   * @param slots their places in it, if live changes of targets have given them others than their order
   */
  prepare(config: RuntimeConfig, buffer: SharedArrayBuffer, slots: Int32Array | null = null): PreparedNodes {
    const list = slots === null ? new NodeList(config) : new NodeList(config, (_, at) => slots[at]!);
    const map: NodeMap = { table: new NodeTable(buffer), slots: list.slotsByKey() };
    const step: Step = { map, table: map.table, slots: NO_SLOTS, fresh: new Map() };
    const commit = (): void => {
      for (const [key, node] of this.nodes) {
        const slot = list.slotOf(key);
        if (slot < 0) this.nodes.delete(key);
        else node.moveTo(map.table, slot);
      }
      this.current = map;
      this.take(step);
    };
    const drainOf = (originKey: string): (() => boolean) => {
      const slot = list.otherSlotOf(originKey);
      return slot < 0 ? () => false : () => map.table.isDrained(slot);
    };
    return { nodesOf: (route) => this.nodesIn(step, route), drainOf, commit };
  }

  /** The nodes of the configuration in use with other targets. */
  prepareTargets({ nodes: buffer, slots, gone }: ChangedNodes): Pick<PreparedNodes, "nodesOf" | "commit"> {
    const map = this.current!;
    const table = buffer === null ? map.table : new NodeTable(buffer);
    const step: Step = { map, table, slots, fresh: new Map() };
    const commit = (): void => {
      for (const [key, slot] of slots) map.slots.set(key, slot);
      this.forget(map, gone);
      if (table !== map.table) for (const [key, node] of this.nodes) node.moveTo(table, map.slots.get(key)!);
      map.table = table;
      this.take(step);
    };
    return { nodesOf: (route) => this.nodesIn(step, route), commit };
  }

  private nodesIn(step: Step, route: NodeOwner): readonly UpstreamNode[] {
    return nodeKeys(route).map(
      (key, i) => this.nodes.get(key) ?? step.fresh?.get(key) ?? this.make(step, key, route, i),
    );
  }

  private make(step: Step, key: string, route: NodeOwner, target: number): UpstreamNode {
    const { map, fresh } = step;
    const label = route.targets[target]!.originKey;
    const slot = step.slots.get(key) ?? map.slots.get(key);
    const known = fresh === null ? map.table : step.table;
    // A request that was on its way when its target went has a node that nothing else looks at.
    const table = slot === undefined ? new NodeTable(createNodeTable(1)) : known;
    const node = new UpstreamNode(key, label, breakerRules(route), this.surroundings, table, slot ?? 0);
    if (slot === undefined) return node;
    if (fresh !== null) fresh.set(key, node);
    // A request may come to a route of the configuration before this one, after this one is there.
    else if (this.current === map) this.nodes.set(key, node);
    return node;
  }

  private take(step: Step): void {
    for (const [key, node] of step.fresh ?? []) this.nodes.set(key, node);
    step.fresh = null;
    step.slots = NO_SLOTS;
  }

  /** Requests under way to nodes that are gone end on a table of their own: other nodes get their places. */
  private forget(map: NodeMap, keys: readonly string[]): void {
    const made = keys.flatMap((key) => this.nodes.get(key) ?? []);
    const table = made.length === 0 ? null : new NodeTable(createNodeTable(made.length));
    for (const [slot, node] of made.entries()) node.moveTo(table!, slot);
    for (const key of keys) {
      this.nodes.delete(key);
      map.slots.delete(key);
    }
  }
}
