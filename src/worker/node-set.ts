import { type NodePorts, UpstreamNode } from "../features/balance/balancer.ts";
import { NodeTable } from "../memory/node-table.ts";
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

/**
 * The upstream nodes of one worker, made when a route first asks for them. A node that a new configuration has too goes on,
 * with what is under way to it.
 */
export class NodeSet {
  private readonly surroundings: NodePorts;
  private readonly nodes: Map<string, UpstreamNode> = new Map();
  private current: ConfiguredNodes | null = null;

  constructor(surroundings: NodePorts) {
    this.surroundings = surroundings;
  }

  /** The nodes of a configuration and the table that belongs to it, before the runtime is made. */
  prepare(config: RuntimeConfig, buffer: SharedArrayBuffer): PreparedNodes {
    const list = new NodeList(config);
    const table = new NodeTable(buffer);
    const fresh = new Map<string, UpstreamNode>();
    const nodesOf = (route: NodeOwner): readonly UpstreamNode[] =>
      nodeKeys(route).map((key, i) => this.nodes.get(key) ?? fresh.get(key) ?? make(key, route, i));
    const make = (key: string, route: NodeOwner, target: number): UpstreamNode => {
      const label = route.targets[target]!.originKey;
      const node = new UpstreamNode(key, label, breakerRules(route), this.surroundings, table, list.slotOf(key));
      // A request may come to a route of the configuration before this one, after this one is there.
      if (this.current === prepared) this.nodes.set(key, node);
      else fresh.set(key, node);
      return node;
    };
    const commit = (): void => {
      for (const [key, node] of this.nodes) {
        const slot = list.slotOf(key);
        if (slot < 0) this.nodes.delete(key);
        else node.moveTo(table, slot);
      }
      for (const [key, node] of fresh) this.nodes.set(key, node);
      fresh.clear();
      this.current = prepared;
    };
    const drainOf = (originKey: string): (() => boolean) => {
      const slot = list.otherSlotOf(originKey);
      return slot < 0 ? () => false : () => table.isDrained(slot);
    };
    const prepared: PreparedNodes = { nodesOf, drainOf, commit };
    return prepared;
  }
}
