import {
  AllInTurn,
  type NodeAttempt,
  type Policy,
  type RandomNumber,
  type UpstreamNode,
  WeighedNode,
} from "./balancer.ts";
import { ClientHashKey } from "./hash-key.ts";
import { Rendezvous } from "./rendezvous.ts";
import type { StreamPolicy } from "./settings.ts";
import { SmoothRoundRobin } from "./smooth-round-robin.ts";
import { policyAmong } from "./target-choice.ts";

/** A connection that looks for a target. */
interface StreamNodeAttempt extends NodeAttempt {
  /** The client's address. */
  readonly clientIp: string;
  /** Bits of the targets that have taken no connection. */
  triedTargets: number;
}

/** What a target of a stream is made of. @typeParam D how it is reached */
interface StreamTargetInit<D> {
  readonly node: UpstreamNode;
  readonly dial: D;
  /** 1 and up: a target of weight 0 is left out. */
  readonly weight: number;
  readonly backup: boolean;
  readonly name: string;
}

/** A target of a stream. */
class StreamTarget<D> extends WeighedNode {
  readonly dial: D;

  constructor(init: StreamTargetInit<D>, index: number) {
    super(init, index);
    this.dial = init.dial;
  }
}

/**
 * The choice among a stream's targets, by the same policies as for requests: backups only if no other may be used, and if none may
 * be, all that are out in turn. docs/streams.md#targets
 */
export class StreamChoice<D> {
  /** Targets that may be chosen at all. */
  readonly size: number;
  private readonly all: AllInTurn<StreamTarget<D>>;
  private readonly policies: readonly Policy<StreamNodeAttempt, StreamTarget<D>>[];

  constructor(policy: StreamPolicy, inits: readonly StreamTargetInit<D>[], random: RandomNumber) {
    const targets = inits.map((init, index) => new StreamTarget(init, index));
    const groups = [false, true].map((backup) => targets.filter((_, i) => inits[i]!.backup === backup));
    this.size = targets.length;
    this.all = new AllInTurn(targets);
    this.policies = groups.filter((group) => group.length > 0).map((group) => policyFor(policy, group, random));
  }

  /** Puts a connection on its way, to another target than those that have been tried. @returns null if there is none */
  choose(attempt: StreamNodeAttempt): StreamTarget<D> | null {
    let excluded = attempt.triedTargets;
    for (;;) {
      const target = this.pick(attempt, excluded);
      if (target === null) break;
      if (target.node.enter(attempt)) return target;
      // Another worker has just taken the trial there.
      excluded |= target.bit;
    }
    const out = this.all.next(attempt.triedTargets);
    out?.node.enterAnyway(attempt);
    return out;
  }

  private pick(attempt: StreamNodeAttempt, excluded: number): StreamTarget<D> | null {
    for (const policy of this.policies) {
      const target = policy.pick(attempt, excluded);
      if (target !== null) return target;
    }
    return null;
  }
}

function policyFor<D>(
  policy: StreamPolicy,
  targets: readonly StreamTarget<D>[],
  random: RandomNumber,
): Policy<StreamNodeAttempt, StreamTarget<D>> {
  return policyAmong<StreamNodeAttempt, StreamTarget<D>>(
    policy,
    targets,
    random,
    () => new Rendezvous(targets, new ClientHashKey(), new SmoothRoundRobin(targets)),
  );
}
