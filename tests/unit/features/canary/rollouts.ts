import { LATENCY_BUCKETS, latencyBucket } from "../../../../src/core/latency-sketch.ts";
import {
  type ArmCounts,
  apply,
  canaryShare,
  decide,
  type JudgeRules,
  newRecord,
  noteMoment,
  PendingCounts,
} from "../../../../src/features/canary/canary-judge.ts";

/** A version of a service. */
export interface Version {
  /** Share of its requests that fail. */
  readonly errors: number;
  /** Factor of its times. */
  readonly slowness: number;
}

export const RULES: JudgeRules = {
  steps: [1, 5, 25, 50, 100],
  everyMs: 300_000,
  errorsRatio: 1.5,
  p99Ratio: 1.3,
  minRequests: 200,
};

const MOMENT_MS = 10_000;

/** A rollout in virtual time. @param perSecond requests of both versions @param limitS of virtual time */
export function rollout(
  random: () => number,
  perSecond: number,
  old: Version,
  fresh: Version,
  limitS: number,
): { phase: string; requests: number; hurt: number; seconds: number } {
  const record = newRecord(RULES);
  const pending = new PendingCounts();
  let [requests, hurt] = [0, 0];
  let due = 0;
  for (let ms = 0; ms < limitS * 1000 && record.phase === "running"; ms += MOMENT_MS) {
    due += (perSecond * MOMENT_MS) / 1000;
    const all = Math.floor(due);
    due -= all;
    const own = binomial(random, all, canaryShare(record, RULES.steps) / 100);
    const counts = arm(random, own, fresh);
    requests += all;
    hurt += Math.max(0, counts.errors - own * old.errors);
    noteMoment(record, pending, RULES, MOMENT_MS, counts, arm(random, all - own, old));
    apply(record, decide(record, RULES), RULES);
    if (record.phase !== "running") return { phase: record.phase, requests, hurt, seconds: ms / 1000 };
  }
  return { phase: record.phase, requests, hurt, seconds: limitS };
}

function arm(random: () => number, requests: number, { errors, slowness }: Version): ArmCounts {
  const failed = binomial(random, requests, errors);
  const times = new Array<number>(LATENCY_BUCKETS).fill(0);
  // Log-normal: half take 20 ms, one in a hundred 64 ms.
  for (let i = failed; i < requests; i++) times[latencyBucket(20 * slowness * Math.exp(0.5 * normal(random)))]!++;
  return { requests, errors: failed, times };
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function binomial(random: () => number, trials: number, chance: number): number {
  let hits = 0;
  for (let i = 0; i < trials; i++) if (random() < chance) hits++;
  return hits;
}
