import type { UpstreamRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { type NodeSurroundings, UpstreamNode } from "../features/balance/upstream-node.ts";
import { NodeTable } from "../shared/node-table.ts";
import { failureThreshold, NodeList, nodeKeys } from "./node-list.ts";

/** The upstream nodes of one worker. A node that a new configuration has too goes on, with what is under way to it. */
export class NodeSet {
  private readonly surroundings: NodeSurroundings;
  private nodes: Map<string, UpstreamNode> = new Map();

  constructor(surroundings: NodeSurroundings) {
    this.surroundings = surroundings;
  }

  /** Takes a configuration and the table that belongs to it, before the graph is made. */
  use(config: RuntimeConfig, buffer: SharedArrayBuffer): void {
    const table = new NodeTable(buffer);
    const before = this.nodes;
    const now = new Map<string, UpstreamNode>();
    new NodeList(config).nodes.forEach(({ key, route, target }, slot) => {
      const known = before.get(key);
      known?.moveTo(table, slot);
      const { surroundings } = this;
      now.set(
        key,
        known ?? new UpstreamNode(key, target.originKey, failureThreshold(route), surroundings, table, slot),
      );
    });
    this.nodes = now;
  }

  /** The nodes of a route's targets, in their order. */
  nodesOf(route: UpstreamRouteConfig): readonly UpstreamNode[] {
    return nodeKeys(route).map((key) => this.nodes.get(key)!);
  }
}
