import type { LoadBalancingConfig } from "../../config/route-config.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { TargetChoice } from "../../message/target.ts";
import { BalancedTarget, type TargetInit } from "./balanced-target.ts";
import { ClientKey, CookieKey, type HashKey, HeaderKey, TargetKey } from "./hash-key.ts";
import { LeastConnections } from "./least-connections.ts";
import type { Policy, RandomNumber } from "./policy.ts";
import { Rendezvous } from "./rendezvous.ts";
import { SmoothRoundRobin } from "./smooth-round-robin.ts";
import { TwoChoices, WeightedRandom } from "./weighted-random.ts";

/** Makes the choice among a route's targets. Decisions, "Routing and upstreams": load_balancing. */
export function targetChoice(
  settings: LoadBalancingConfig,
  inits: readonly TargetInit[],
  random: RandomNumber,
): TargetChoice {
  const targets = inits.map((init, index) => new BalancedTarget(init, index));
  const primary = targets.filter((_, i) => !inits[i]!.backup);
  const backup = targets.filter((_, i) => inits[i]!.backup);
  if (primary.length === 1 && backup.length === 0) return new SingleTarget(primary[0]!);
  return new Balancer(policyFor(settings, primary, random), policyFor(settings, backup, random));
}

/** The choice where there is none: 34 ns a request with breaker, health and the counting of its answer. */
class SingleTarget implements TargetChoice {
  private readonly target: BalancedTarget;

  constructor(target: BalancedTarget) {
    this.target = target;
  }

  choose(ex: Exchange): BalancedTarget | null {
    const { target } = this;
    return target.node.isUsable() && target.enter(ex) ? target : null;
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): BalancedTarget | null {
    return onlyAnother ? null : this.choose(ex);
  }
}

/** The choice among several targets: backups only where no other may be used. */
class Balancer implements TargetChoice {
  private readonly primary: Policy;
  private readonly backup: Policy;

  constructor(primary: Policy, backup: Policy) {
    this.primary = primary;
    this.backup = backup;
  }

  choose(ex: Exchange): BalancedTarget | null {
    return this.chooseBut(ex, 0);
  }

  chooseAgain(ex: Exchange, onlyAnother: boolean): BalancedTarget | null {
    const another = this.chooseBut(ex, ex.triedTargets);
    return another !== null || onlyAnother ? another : this.chooseBut(ex, 0);
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
