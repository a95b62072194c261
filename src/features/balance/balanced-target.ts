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

  /** @param index among all targets of the route */
  constructor(init: TargetInit, index: number) {
    this.upstream = init.upstream;
    // Most targets have none, and there may be a hundred thousand of them.
    this.basePath = init.basePath === "" ? NO_PATH : Buffer.from(init.basePath, "latin1");
    this.node = init.node;
    this.weight = init.weight;
    this.seed = hashText(init.name);
    this.bit = 1 << (index & 31);
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

  onAnswer(ex: Exchange, status: number): void {
    this.node.onAnswer(ex, status);
  }

  onFailure(ex: Exchange, failure: UpstreamFailure): void {
    ex.target = null;
    ex.triedTargets |= this.bit;
    this.node.onFailure(ex, failure);
  }

  onOver(ex: Exchange): void {
    ex.target = null;
    this.node.leave(ex);
  }
}

const NO_PATH: Buffer = Buffer.alloc(0);
