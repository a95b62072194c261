import { equalsBytes } from "../../core/ascii.ts";
import type { RouteNode } from "./route-node.ts";

/**
 * Route paths by their hash: open addressing, at most half full, made once and never changed. A hit is verified byte
 * for byte. The paths are the operator's, so nobody else can choose which of them collide.
 */
export class RouteTable {
  /** Length in bytes of the longest path. */
  readonly maxLength: number;
  private readonly nodes: readonly RouteNode[];
  /** Index in `nodes` of each slot; -1 where it is free. */
  private readonly slots: Int32Array;
  private readonly hashes: Int32Array;
  private readonly mask: number;
  /** 1 at each length that some path has. */
  private readonly lengths: Uint8Array;

  /** @param nodes with paths that differ from each other */
  constructor(nodes: readonly RouteNode[]) {
    let size = 8;
    while (size < nodes.length * 2) size *= 2;
    this.nodes = nodes;
    this.slots = new Int32Array(size).fill(FREE);
    this.hashes = new Int32Array(size);
    this.mask = size - 1;
    this.maxLength = nodes.reduce((longest, node) => Math.max(longest, node.path.length), 0);
    this.lengths = new Uint8Array(this.maxLength + 1);
    nodes.forEach((node, index) => {
      this.insert(node, index);
    });
  }

  /** Whether some path has this length in bytes. */
  hasLength(length: number): boolean {
    return length <= this.maxLength && this.lengths[length] === 1;
  }

  /**
   * The node whose path is `bytes[from, to)`, or null.
   * @param hash of these bytes, see `hashStep`
   */
  find(hash: number, bytes: Uint8Array, from: number, to: number): RouteNode | null {
    for (let slot = slotOf(hash, this.mask); ; slot = (slot + 1) & this.mask) {
      const index = this.slots[slot]!;
      if (index === FREE) return null;
      if (this.hashes[slot] !== hash) continue;
      const node = this.nodes[index]!;
      if (equalsBytes(bytes, from, to, node.path)) return node;
    }
  }

  private insert(node: RouteNode, index: number): void {
    const hash = hashOf(node.path, 0, node.path.length);
    let slot = slotOf(hash, this.mask);
    while (this.slots[slot] !== FREE) slot = (slot + 1) & this.mask;
    this.slots[slot] = index;
    this.hashes[slot] = hash;
    this.lengths[node.path.length] = 1;
  }
}

/** The hash of no bytes. */
export const HASH_SEED = 0x811c9dc5 | 0;

/** The hash of some bytes and one more behind them (FNV-1a, 32 bits). */
export function hashStep(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}

/** The hash of `bytes[from, to)`. */
export function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = HASH_SEED;
  for (let at = from; at < to; at++) hash = hashStep(hash, bytes[at]!);
  return hash;
}

function slotOf(hash: number, mask: number): number {
  return (hash ^ (hash >>> 15)) & mask;
}

const FREE = -1;
