import type { Exchange } from "../../message/exchange.ts";
import type { BalancedTarget, Policy } from "./balancer.ts";
import { mixed } from "./hash.ts";
import type { HashKey } from "./hash-key.ts";

/**
 * Sends the same key to the same target for as long as that may be used. Each target draws a number from the key, and
 * the highest bid wins (weighted rendezvous hashing): a target that leaves moves its own keys and no others, one that
 * comes takes its share evenly from all, and nothing has to be kept. All workers agree without talking to each other.
 */
export class Rendezvous implements Policy {
  private readonly targets: readonly BalancedTarget[];
  private readonly key: HashKey;
  private readonly keyless: Policy;
  private readonly hasOneWeight: boolean;

  /** @param keyless chooses for requests that have no key */
  constructor(targets: readonly BalancedTarget[], key: HashKey, keyless: Policy) {
    this.targets = targets;
    this.key = key;
    this.keyless = keyless;
    this.hasOneWeight = targets.every(({ weight, node }) => weight === targets[0]!.weight && !node.startsSlowly);
  }

  pick(ex: Exchange, tried: number): BalancedTarget | null {
    const key = this.key.hashOf(ex);
    if (key < 0) return this.keyless.pick(ex, tried);
    const { targets } = this;
    let winner: BalancedTarget | null = null;
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

  private bid(target: BalancedTarget, key: number): number {
    const draw = mixed(key ^ target.seed);
    // The logarithm makes the chance to win proportional to the weight; among equals the draw alone decides the same.
    return this.hasOneWeight ? draw : -target.share / Math.log((draw + 0.5) / 0x100000000);
  }
}
