import type { CanaryPhase, CanaryReason } from "../../core/canary-standing.ts";
import { LATENCY_BUCKETS, LATENCY_BUCKETS_PER_OCTAVE } from "../../core/latency-sketch.ts";
import { JoinedMoments, type RolloutMoment, WorseEvidence } from "./evidence.ts";

/** What one version has done since it was last asked. */
export interface ArmCounts {
  readonly requests: number;
  /** 5xx and attempts without a response. */
  readonly errors: number;
  /** Times to the heads of its good responses, by bucket. */
  readonly times: ArrayLike<number>;
}

/** The settings that it goes by. */
export interface JudgeRules {
  /** Shares in percent, rising. */
  readonly steps: readonly number[];
  readonly everyMs: number;
  readonly errorsRatio: number;
  readonly p99Ratio: number;
  readonly minRequests: number;
}

/** All that is known of a rollout; it can be kept and goes on from there. */
export interface CanaryRecord {
  phase: CanaryPhase;
  /** Percent of the requests that the new version gets while the rollout runs: a step, maybe of a configuration before. */
  share: number;
  inStepMs: number;
  /** Requests of the new version in this step. */
  inStep: number;
  requests: number;
  errors: number;
  oldRequests: number;
  oldErrors: number;
  /** Logarithms of the evidence: more errors, slower. */
  worse: number[];
  slower: number[];
  /** Times of both versions, by bucket. */
  times: number[];
  oldTimes: number[];
}

/** The outcome of a look. */
export interface CanaryDecision {
  readonly action: "none" | "grow" | "promote" | "abort" | "hold";
  readonly reason: CanaryReason;
}

/** A false alarm in two hundred rollouts for each of both tests, at most. */
const ALARM_LOG: number = Math.log(200);
/** With this much evidence the share does not grow, though it is no alarm. */
const HOLD_LOG = Math.log(20);
/** With less than this, which speaks for the new version, it grows at once; between the two after some time. */
const CLEAR_LOG = -1;
/** How long little evidence holds a step, in times that a step lasts. */
const HOLD_TIMES = 4;
/** So many times of the old version tell its slowest hundredth. */
const MIN_TIMES = 100;
/** The least ratio of slow requests that counts as slower. */
const SLOW_RATIO = 1.5;

/** A rollout that has just begun. */
export function newRecord({ steps }: Pick<JudgeRules, "steps">): CanaryRecord {
  return {
    ...{ phase: "running", share: steps[0]!, inStepMs: 0, inStep: 0 },
    ...{ requests: 0, errors: 0, oldRequests: 0, oldErrors: 0 },
    worse: [],
    slower: [],
    times: [],
    oldTimes: [],
  };
}

/** Counts of a rollout that are no evidence yet, since one version has had no requests meanwhile. */
export class PendingCounts {
  readonly errors: JoinedMoments = new JoinedMoments();
  readonly times: JoinedMoments = new JoinedMoments();
}

/** Adds what both versions have done in a moment. @param pending of the same rollout, from moment to moment */
export function noteMoment(
  record: CanaryRecord,
  pending: PendingCounts,
  rules: JudgeRules,
  passedMs: number,
  fresh: ArmCounts,
  old: ArmCounts,
): void {
  const errors = { newAll: fresh.requests, newBad: fresh.errors, oldAll: old.requests, oldBad: old.errors };
  record.worse = logsWith(rules.errorsRatio, record.worse, pending.errors.add(errors));
  noteTimes(record, pending.times, rules, fresh, old);
  record.inStepMs += passedMs;
  record.inStep += fresh.requests;
  record.requests += fresh.requests;
  record.errors += fresh.errors;
  record.oldRequests += old.requests;
  record.oldErrors += old.errors;
}

/**
 * Slow is what took longer than the slowest hundredth of the old version has so far; for the new version, `p99_ratio` times as long: a
 * version that is at most so much slower has no more of it.
 */
function noteTimes(
  record: CanaryRecord,
  pending: JoinedMoments,
  { p99Ratio }: JudgeRules,
  fresh: ArmCounts,
  old: ArmCounts,
): void {
  const bound = slowest(record.oldTimes);
  if (bound >= 0) {
    const further = Math.round(Math.log2(p99Ratio) * LATENCY_BUCKETS_PER_OCTAVE);
    const times = {
      newAll: sumFrom(fresh.times, 0),
      newBad: sumFrom(fresh.times, bound + 1 + further),
      oldAll: sumFrom(old.times, 0),
      oldBad: sumFrom(old.times, bound + 1),
    };
    record.slower = logsWith(SLOW_RATIO, record.slower, pending.add(times));
  }
  record.times = added(record.times, fresh.times);
  record.oldTimes = added(record.oldTimes, old.times);
}

function logsWith(ratio: number, logs: number[], moment: RolloutMoment | null): number[] {
  if (moment === null) return logs;
  const evidence = new WorseEvidence(ratio, logs);
  evidence.note(moment);
  return evidence.logs;
}

/** Decides on a record as it is now. */
export function decide(record: CanaryRecord, rules: JudgeRules): CanaryDecision {
  if (record.phase !== "running") return NOTHING;
  const evidence = [new WorseEvidence(rules.errorsRatio, record.worse), new WorseEvidence(SLOW_RATIO, record.slower)];
  const [worse = 0, slower = 0] = evidence.map(({ log }) => log);
  if (worse >= ALARM_LOG) return { action: "abort", reason: "errors" };
  if (slower >= ALARM_LOG) return { action: "abort", reason: "latency" };
  const next = nextShare(record, rules.steps);
  if (record.inStepMs < rules.everyMs || next === null) return NOTHING;
  if (record.inStep < rules.minRequests) return { action: "hold", reason: "few_requests" };
  const most = Math.max(worse, slower);
  const isUnclear = evidence.some(({ log, isNone }) => !isNone && log > CLEAR_LOG);
  const isHeld = most > HOLD_LOG || (isUnclear && record.inStepMs < HOLD_TIMES * rules.everyMs);
  if (isHeld) return { action: "hold", reason: "evidence" };
  return { action: next === 100 ? "promote" : "grow", reason: "" };
}

/** Carries a decision out. */
export function apply(record: CanaryRecord, { action }: CanaryDecision, { steps }: JudgeRules): void {
  if (action === "abort") record.phase = "aborted";
  if (action === "promote") record.phase = "promoted";
  if (action === "grow") {
    record.share = nextShare(record, steps)!;
    record.inStepMs = 0;
    record.inStep = 0;
  }
}

/** The share of the new version now, in percent: never more than the last step. */
export function canaryShare({ phase, share }: Pick<CanaryRecord, "phase" | "share">, steps: readonly number[]): number {
  if (phase === "promoted") return 100;
  return phase === "aborted" ? 0 : Math.min(share, steps.at(-1)!);
}

/** The share of the next step; null after the last. */
export function nextShare({ share }: Pick<CanaryRecord, "share">, steps: readonly number[]): number | null {
  return steps.find((step) => step > share) ?? null;
}

const NOTHING: CanaryDecision = { action: "none", reason: "" };

/** The bucket in which the slowest hundredth begins; -1 with too few times. */
function slowest(times: readonly number[]): number {
  const all = sumFrom(times, 0);
  if (all < MIN_TIMES) return -1;
  let left = all / 100;
  for (let i = LATENCY_BUCKETS - 1; i >= 0; i--) {
    left -= times[i] ?? 0;
    if (left < 0) return i;
  }
  return 0;
}

function sumFrom(times: ArrayLike<number>, from: number): number {
  let sum = 0;
  for (let i = from; i < times.length; i++) sum += times[i]!;
  return sum;
}

function added(times: readonly number[], more: ArrayLike<number>): number[] {
  return Array.from({ length: LATENCY_BUCKETS }, (_, i) => (times[i] ?? 0) + (more[i] ?? 0));
}
