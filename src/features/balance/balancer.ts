import type { LoadBalancingConfig } from "../../config/route-config.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { TargetChoice } from "../../message/target.ts";
import { BalancedTarget, type TargetInit } from "./balanced-target.ts";
import { ClientKey, CookieKey, type HashKey, HeaderKey, TargetKey } from "./hash-key.ts";
import { LeastConnections } from "./least-connections.ts";
import type { Policy, RandomNumber } from "./policy.ts";
import { Rendezvous } from "./rendezvous.ts";
import { SmoothRoundRobin } from "./smooth-round-robin.ts";
import type { UpstreamNode } from "./upstream-node.ts";
import { TwoChoices, WeightedRandom } from "./weighted-random.ts";

/** Makes the choice among a route's targets. docs/upstreams.md#balancing */
export function targetChoice(
  settings: LoadBalancingConfig,
  inits: readonly TargetInit[],
  random: RandomNumber,
): TargetChoice {
  const nodes = new Map<UpstreamNode, number>();
  inits.forEach(({ node }, index) => void (nodes.has(node) || nodes.set(node, index)));
  const targets = inits.map((init, index) => new BalancedTarget(init, index, nodes.get(init.node)!));
  const primary = targets.filter((_, i) => !inits[i]!.backup);
  const backup = targets.filter((_, i) => inits[i]!.backup);
  if (primary.length === 1 && backup.length === 0) return new SingleTarget(primary[0]!);
  return new Balancer(targets, policyFor(settings, primary, random), policyFor(settings, backup, random));
}

/**
 * The choice where there is none: 34 ns a request with breaker, health and the counting of its answer. A target without
 * which there is none is never taken out.
 */
class SingleTarget implements TargetChoice {
  private readonly target: BalancedTarget;

  constructor(target: BalancedTarget) {
    this.target = target;
  }

  choose(ex: Exchange): BalancedTarget {
    const { target } = this;
    return target.enter(ex) ? target : target.enterAnyway(ex);
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): BalancedTarget | null {
    return onlyAnother ? null : this.choose(ex);
  }
}

/** The choice among several targets: backups only where no other may be used, and all in turn where none may be. */
class Balancer implements TargetChoice {
  private readonly all: AllInTurn;
  private readonly primary: Policy;
  private readonly backup: Policy;

  constructor(targets: readonly BalancedTarget[], primary: Policy, backup: Policy) {
    this.all = new AllInTurn(targets);
    this.primary = primary;
    this.backup = backup;
  }

  choose(ex: Exchange): BalancedTarget | null {
    return this.chooseBut(ex, 0) ?? this.chooseOut(ex, 0);
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): BalancedTarget | null {
    const tried = ex.triedTargets;
    const another = this.chooseBut(ex, tried);
    if (another !== null) return another;
    if (!onlyAnother) return this.chooseBut(ex, 0) ?? this.chooseOut(ex, tried) ?? this.chooseOut(ex, 0);
    return this.all.hasUsable() ? null : this.chooseOut(ex, tried);
  }

  /** One of those that are out. */
  private chooseOut(ex: Exchange, tried: number): BalancedTarget | null {
    return this.all.next(tried)?.enterAnyway(ex) ?? null;
  }

  private chooseBut(ex: Exchange, tried: number): BalancedTarget | null {
    let excluded = tried;
    for (;;) {
      const target = this.primary.pick(ex, excluded) ?? this.backup.pick(ex, excluded);
      if (target === null || target.enter(ex)) return target;
      // Another worker has just taken the trial there.
      excluded |= target.bit;
    }
  }
}

/** Takes every target in turn, whatever is known of it. */
class AllInTurn {
  private readonly targets: readonly BalancedTarget[];
  private turn = 0;

  constructor(targets: readonly BalancedTarget[]) {
    this.targets = targets;
  }

  hasUsable(): boolean {
    return this.targets.some(({ node }) => node.isUsable());
  }

  next(tried: number): BalancedTarget | null {
    const { targets } = this;
    for (let i = 0; i < targets.length; i++) {
      this.turn = (this.turn + 1) % targets.length;
      const target = targets[this.turn]!;
      if ((tried & target.bit) === 0) return target;
    }
    return null;
  }
}

function policyFor(settings: LoadBalancingConfig, targets: readonly BalancedTarget[], random: RandomNumber): Policy {
  if (targets.length === 0) return NOBODY;
  switch (settings.policy) {
    case "round_robin":
      return new SmoothRoundRobin(targets);
    case "random":
      return new WeightedRandom(targets, random);
    case "least_conn":
      return new LeastConnections(targets);
    case "p2c":
      return new TwoChoices(targets, random);
    default:
      return new Rendezvous(targets, hashKeyFor(settings), new SmoothRoundRobin(targets));
  }
}

function hashKeyFor({ policy, keyName }: LoadBalancingConfig): HashKey {
  switch (policy) {
    case "uri_hash":
      return new TargetKey();
    case "header":
      return new HeaderKey(keyName);
    case "cookie":
      return new CookieKey(keyName);
    default:
      return new ClientKey();
  }
}

/** Most routes have no backups. */
const NOBODY: Policy = { pick: () => null };
