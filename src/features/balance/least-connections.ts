import type { BalancedTarget, Policy, WeighedNode } from "./balancer.ts";
import { SmoothRoundRobin } from "./smooth-round-robin.ts";

/**
 * Takes the target with the fewest exchanges under way for its weight, in turn where several have as few. A worker knows
 * its own exchanges; since clients spread over the workers, so do these.
 */
export class LeastConnections<T extends WeighedNode = BalancedTarget> implements Policy<unknown, T> {
  private readonly targets: readonly T[];
  private readonly turns: SmoothRoundRobin<T>;

  constructor(targets: readonly T[]) {
    this.targets = targets;
    this.turns = new SmoothRoundRobin(targets);
  }

  pick(ex: unknown, tried: number): T | null {
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
