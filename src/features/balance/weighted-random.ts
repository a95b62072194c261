import type { BalancedTarget, Policy, RandomNumber, WeighedNode } from "./balancer.ts";

/** Takes any target, each with the probability that its weight says. */
export class WeightedRandom<T extends WeighedNode = BalancedTarget> implements Policy<unknown, T> {
  private readonly targets: readonly T[];
  private readonly random: RandomNumber;

  constructor(targets: readonly T[], random: RandomNumber) {
    this.targets = targets;
    this.random = random;
  }

  pick(_ex: unknown, tried: number): T | null {
    return this.draw(tried, null);
  }

  /** Draws one other than `not`. */
  draw(tried: number, not: T | null): T | null {
    const { targets } = this;
    let total = 0;
    for (let i = 0; i < targets.length; i++) {
      if (targets[i] !== not && targets[i]!.isEligible(tried)) total += targets[i]!.share;
    }
    let left = this.random() * total;
    let last: T | null = null;
    for (let i = 0; i < targets.length; i++) {
      const target = targets[i]!;
      if (target === not || !target.isEligible(tried)) continue;
      last = target;
      left -= target.share;
      if (left < 0) break;
    }
    return last;
  }
}

/** Draws two targets and takes the less busy one: nearly as even as asking all, and no herd runs to one target. */
export class TwoChoices<T extends WeighedNode = BalancedTarget> implements Policy<unknown, T> {
  private readonly pool: WeightedRandom<T>;

  constructor(targets: readonly T[], random: RandomNumber) {
    this.pool = new WeightedRandom(targets, random);
  }

  pick(_ex: unknown, tried: number): T | null {
    const first = this.pool.draw(tried, null);
    if (first === null) return null;
    const second = this.pool.draw(tried, first);
    return second !== null && busyness(second) < busyness(first) ? second : first;
  }
}

/** A share that is held back has been heeded in the draw. */
function busyness(target: WeighedNode): number {
  return target.node.inFlight / target.share;
}
