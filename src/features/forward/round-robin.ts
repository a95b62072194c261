import type { Target, TargetChoice } from "./target-choice.ts";

/** Takes targets in turn, each as often as its weight says, spread out (smooth weighted round robin). */
export class RoundRobin implements TargetChoice {
  private readonly targets: readonly Target[];
  private readonly credits: number[];
  private readonly totalWeight: number;

  constructor(targets: readonly Target[]) {
    this.targets = targets;
    this.credits = targets.map(() => 0);
    this.totalWeight = targets.reduce((sum, target) => sum + target.weight, 0);
  }

  choose(): Target | null {
    const { targets, credits } = this;
    if (targets.length <= 1) return targets[0] ?? null;
    let best = 0;
    for (let i = 0; i < targets.length; i++) {
      credits[i]! += targets[i]!.weight;
      if (credits[i]! > credits[best]!) best = i;
    }
    credits[best]! -= this.totalWeight;
    return targets[best]!;
  }
}
