import type { Exchange } from "../../message/exchange.ts";
import type { Target } from "../../message/target.ts";
import type { Upstream, UpstreamFailure } from "../../message/upstream.ts";
import { hashText } from "./hash.ts";
import type { UpstreamNode } from "./upstream-node.ts";

/** What a target is made of. */
export interface TargetInit {
  readonly upstream: Upstream;
  readonly node: UpstreamNode;
  /** 1 and up: a target of weight 0 is left out. */
  readonly weight: number;
  readonly backup: boolean;
  /** `/api`, or "". */
  readonly basePath: string;
  /** Tells it from the other targets of its route; hashing goes by it, so that their order does not matter. */
  readonly name: string;
}

/** A target with what balancing knows of it. */
export class BalancedTarget implements Target {
  readonly upstream: Upstream;
  readonly basePath: Buffer;
  readonly node: UpstreamNode;
  readonly weight: number;
  /** Hash of its name. */
  readonly seed: number;
  /** Its bit in `ex.triedTargets`; from 32 targets on some share one. */
  readonly bit: number;
  /** The bit in `ex.blamedNodes` of its node, which several targets may share. */
  private readonly nodeBit: number;

  /**
   * @param index among all targets of the route
   * @param nodeIndex the first target's with the same node
   */
  constructor(init: TargetInit, index: number, nodeIndex: number) {
    this.upstream = init.upstream;
    // Most targets have none, and there may be a hundred thousand of them.
    this.basePath = init.basePath === "" ? NO_PATH : Buffer.from(init.basePath, "latin1");
    this.node = init.node;
    this.weight = init.weight;
    this.seed = hashText(init.name);
    this.bit = 1 << (index & 31);
    this.nodeBit = 1 << (nodeIndex & 31);
  }

  /** Its weight as it counts now: less for a while after it has recovered, where its route says so. */
  get share(): number {
    return this.node.startsSlowly ? this.weight * this.node.share() : this.weight;
  }

  /** How busy it is for its weight: exchanges under way from this worker a unit of weight. */
  get load(): number {
    const { node, weight } = this;
    const load = node.inFlight / weight;
    if (!node.startsSlowly) return load;
    // One that is idle since it has just come back would otherwise be given everything.
    const share = node.share();
    return share === 1 ? load : (node.inFlight + 1) / (weight * share) - 1 / weight;
  }

  /** Whether it may be chosen. @param tried bits of the targets that may not */
  isEligible(tried: number): boolean {
    return (tried & this.bit) === 0 && this.node.isUsable();
  }

  /** Puts the exchange on its way. @returns false when somebody else took the only place */
  enter(ex: Exchange): boolean {
    if (!this.node.enter(ex)) return false;
    ex.target = this;
    return true;
  }

  /** Puts the exchange on its way although the target is out. */
  enterAnyway(ex: Exchange): this {
    this.node.enterAnyway(ex);
    ex.target = this;
    return this;
  }

  onAnswer(ex: Exchange, status: number): void {
    if (!this.node.onAnswer(ex, status, (ex.blamedNodes & this.nodeBit) !== 0)) return;
    ex.triedTargets |= this.bit;
    ex.blamedNodes |= this.nodeBit;
  }

  onReplaced(): void {
    this.node.inFlight--;
  }

  onFailure(ex: Exchange, failure: UpstreamFailure): void {
    ex.target = null;
    ex.triedTargets |= this.bit;
    if (this.node.onFailure(ex, failure, (ex.blamedNodes & this.nodeBit) !== 0)) ex.blamedNodes |= this.nodeBit;
  }

  onOver(ex: Exchange): void {
    ex.target = null;
    this.node.leave(ex);
  }
}

const NO_PATH: Buffer = Buffer.alloc(0);
