import type { Exchange } from "../../message/exchange.ts";
import type { BalancedTarget, Policy, WeighedNode } from "./balancer.ts";
import { mixed } from "./hash.ts";
import type { HashKey } from "./hash-key.ts";

/**
 * Sends the same key to the same target for as long as that may be used. Each target draws a number from the key, and
 * the highest bid wins (weighted rendezvous hashing): a target that leaves moves its own keys and no others, one that
 * comes takes its share evenly from all, and nothing has to be kept. All workers agree without talking to each other.
 */
export class Rendezvous<E = Exchange, T extends WeighedNode = BalancedTarget> implements Policy<E, T> {
  private readonly targets: readonly T[];
  private readonly key: HashKey<E>;
  private readonly keyless: Policy<E, T>;
  private readonly hasOneWeight: boolean;

  /** @param keyless chooses for requests that have no key */
  constructor(targets: readonly T[], key: HashKey<E>, keyless: Policy<E, T>) {
    this.targets = targets;
    this.key = key;
    this.keyless = keyless;
    this.hasOneWeight = targets.every(({ weight, node }) => weight === targets[0]!.weight && !node.startsSlowly);
  }

  pick(ex: E, tried: number): T | null {
    const key = this.key.hashOf(ex);
    if (key < 0) return this.keyless.pick(ex, tried);
    const { targets } = this;
    let winner: T | null = null;
    let highest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < targets.length; i++) {
      const target = targets[i]!;
      if (!target.isEligible(tried)) continue;
      const bid = this.bid(target, key);
      if (bid > highest) {
        winner = target;
        highest = bid;
      }
    }
    return winner;
  }

  private bid(target: T, key: number): number {
    const draw = mixed(key ^ target.seed);
    // The logarithm makes the chance to win proportional to the weight; among equals the draw alone decides the same.
    return this.hasOneWeight ? draw : -target.share / Math.log((draw + 0.5) / 0x100000000);
  }
}
