import type { Exchange } from "../../message/exchange.ts";
import type { BalancedTarget, Policy } from "./balancer.ts";
import { SmoothRoundRobin } from "./smooth-round-robin.ts";

/**
 * Takes the target with the fewest exchanges under way for its weight, in turn where several have as few. A worker knows
 * its own exchanges; since clients spread over the workers, so do these.
 */
export class LeastConnections implements Policy {
  private readonly targets: readonly BalancedTarget[];
  private readonly turns: SmoothRoundRobin;

  constructor(targets: readonly BalancedTarget[]) {
    this.targets = targets;
    this.turns = new SmoothRoundRobin(targets);
  }

  pick(ex: Exchange, tried: number): BalancedTarget | null {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.targets.length; i++) {
      const target = this.targets[i]!;
      const { load } = target;
      if (load < least && target.isEligible(tried)) least = load;
    }
    // Another worker may have opened the breaker of the least busy one just now.
    return this.turns.pickWithin(tried, least) ?? this.turns.pick(ex, tried);
  }
}
