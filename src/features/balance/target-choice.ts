// Which policy chooses among the targets of a route.
import type { Exchange } from "../../message/exchange.ts";
import type { TargetChoice } from "../../message/target.ts";
import {
  BalancedTarget,
  Balancer,
  type Policy,
  type RandomNumber,
  SingleTarget,
  type TargetInit,
  type UpstreamNode,
  type WeighedNode,
} from "./balancer.ts";
import { ClientHashKey, CookieHashKey, type HashKey, HeaderHashKey, TargetHashKey } from "./hash-key.ts";
import { LeastConnections } from "./least-connections.ts";
import { LimitedTarget } from "./limited-target.ts";
import { Rendezvous } from "./rendezvous.ts";
import type { LoadBalancingConfig } from "./settings.ts";
import { SmoothRoundRobin } from "./smooth-round-robin.ts";
import { Sticky, StickyCookie } from "./sticky.ts";
import { TalliedTarget } from "./tallied-target.ts";
import { TwoChoices, WeightedRandom } from "./weighted-random.ts";

/**
 * Makes the choice among a route's targets. docs/upstreams.md#balancing
 * @param cookieKey what sticky cookies are made with where the settings have no secret
 */
export function targetChoice(
  settings: LoadBalancingConfig,
  inits: readonly TargetInit[],
  random: RandomNumber,
  cookieKey = "",
): TargetChoice {
  const nodes = new Map<UpstreamNode, number>();
  inits.forEach(({ node }, index) => void (nodes.has(node) || nodes.set(node, index)));
  const targets = inits.map((init, index) => targetOf(init, index, nodes.get(init.node)!));
  const primary = targets.filter((_, i) => !inits[i]!.backup);
  const backup = targets.filter((_, i) => inits[i]!.backup);
  const { cookie } = settings;
  const sticky = cookie === null ? null : new StickyCookie(cookie, cookie.secret || cookieKey, targets);
  if (primary.length === 1 && backup.length === 0) return new SingleTarget(primary[0]!, sticky);
  const policyAmong = (some: readonly BalancedTarget[]): Policy =>
    sticky === null ? policyFor(settings, some, random) : new Sticky(sticky, some, new SmoothRoundRobin(some));
  return new Balancer(targets, policyAmong(primary), policyAmong(backup), sticky);
}

/** @param index among all targets of the route @param nodeIndex the first target's with the same node */
function targetOf(init: TargetInit, index: number, nodeIndex: number): BalancedTarget {
  const { slots, tally } = init;
  if (tally !== undefined) return new TalliedTarget(init, index, nodeIndex, tally);
  if (slots === undefined) return new BalancedTarget(init, index, nodeIndex);
  return new LimitedTarget(init, index, nodeIndex, slots.gate, slots.lane);
}

function policyFor(settings: LoadBalancingConfig, targets: readonly BalancedTarget[], random: RandomNumber): Policy {
  if (targets.length === 0) return NEVER_PICKS;
  return policyAmong<Exchange, BalancedTarget>(
    settings.policy,
    targets,
    random,
    () => new Rendezvous(targets, hashKeyFor(settings), new SmoothRoundRobin(targets)),
  );
}

/**
 * The policy of a name, among some targets.
 * @param byKey makes all that go by a key of what looks for a target
 */
export function policyAmong<E, T extends WeighedNode>(
  name: LoadBalancingConfig["policy"],
  targets: readonly T[],
  random: RandomNumber,
  byKey: () => Policy<E, T>,
): Policy<E, T> {
  switch (name) {
    case "round_robin":
      return new SmoothRoundRobin(targets);
    case "random":
      return new WeightedRandom(targets, random);
    case "least_conn":
      return new LeastConnections(targets);
    case "p2c":
      return new TwoChoices(targets, random);
    default:
      return byKey();
  }
}

function hashKeyFor({ policy, keyName }: LoadBalancingConfig): HashKey {
  switch (policy) {
    case "uri_hash":
      return new TargetHashKey();
    case "header":
      return new HeaderHashKey(keyName);
    case "cookie":
      return new CookieHashKey(keyName);
    default:
      return new ClientHashKey();
  }
}

/** Most routes have no backups. */
const NEVER_PICKS: Policy = { pick: () => null };
