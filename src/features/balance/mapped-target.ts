import type { Exchange } from "../../message/exchange.ts";
import type { TargetChoice } from "../../message/target.ts";
import { BalancedTarget, SingleTarget, type TargetInit } from "./balancer.ts";

/** Which target a map's value names. */
export interface TargetMap {
  /** Of the map. */
  readonly name: string;
  /** Values, one character a byte, with the number of their target among those of the route. */
  readonly places: readonly (readonly [value: string, target: number])[];
  /** The number of the default's. */
  readonly whenNone: number;
}

/** The choice by a map: each value has one target. docs/routing.md#maps */
export class MappedTarget implements TargetChoice {
  private readonly map: string;
  private readonly byValue: ReadonlyMap<string, SingleTarget>;
  private readonly whenNone: SingleTarget;

  /** @param inits in the order of the route's targets */
  constructor({ name, places, whenNone }: TargetMap, inits: readonly TargetInit[]) {
    const targets = inits.map((init, i) => new SingleTarget(new BalancedTarget(init, i, i), null));
    this.map = name;
    this.byValue = new Map(places.map(([value, target]) => [value, targets[target]!]));
    this.whenNone = targets[whenNone]!;
  }

  choose(ex: Exchange): ReturnType<TargetChoice["choose"]> {
    return this.targetOf(ex).choose(ex);
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): ReturnType<TargetChoice["choose"]> {
    return this.targetOf(ex).chooseAgain(ex, onlyAnother);
  }

  /** A value that has come with another file since is the default's until the configuration knows it. */
  private targetOf(ex: Exchange): SingleTarget {
    return this.byValue.get(ex.facts.maps?.valueOf(this.map, ex) ?? "") ?? this.whenNone;
  }
}
