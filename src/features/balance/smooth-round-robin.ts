import type { BalancedTarget, Policy, WeighedNode } from "./balancer.ts";

/**
 * Takes targets in turn, each as often as its weight says, spread out: with weights 5, 1 and 1 it gives a a b a c a a
 * (nginx's smooth weighted round robin). Every worker counts by itself.
 */
export class SmoothRoundRobin<T extends WeighedNode = BalancedTarget> implements Policy<unknown, T> {
  private readonly targets: readonly T[];
  private readonly credits: Float64Array;

  constructor(targets: readonly T[]) {
    this.targets = targets;
    this.credits = new Float64Array(targets.length);
  }

  pick(_ex: unknown, tried: number): T | null {
    return this.pickWithin(tried, Number.POSITIVE_INFINITY);
  }

  /** The same among those whose load is at most `maxLoad`, and all that are idle. */
  pickWithin(tried: number, maxLoad: number): T | null {
    const { targets, credits } = this;
    let best = -1;
    let total = 0;
    for (let i = 0; i < targets.length; i++) {
      const target = targets[i]!;
      if (!target.isEligible(tried) || (target.node.inFlight > 0 && target.load > maxLoad)) continue;
      const { share } = target;
      total += share;
      credits[i]! += share;
      if (best < 0 || credits[i]! > credits[best]!) best = i;
    }
    if (best < 0) return null;
    credits[best]! -= total;
    return targets[best]!;
  }
}
