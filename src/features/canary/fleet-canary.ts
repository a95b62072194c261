import type { CanaryPhase } from "../../core/canary-standing.ts";
import type { CanaryRecord } from "./canary-judge.ts";

/** The store of a fleet, as rollouts use it. All of it throws if the store is away. */
export interface CanaryStore {
  evaluate(
    script: { readonly text: string; readonly sha1: string },
    name: string,
    words: readonly string[],
  ): Promise<unknown>;
}

/** Numbers of evidence of one kind. */
const LOGS = 7;
/** Counts that gateways add up: requests and errors of both versions, then the logarithms of both kinds of evidence. */
const COUNTS = 4 + 2 * LOGS;

/**
 * A rollout of a fleet, as the store keeps it: a hash to which every gateway adds its counts. Evidence adds up, since the
 * gateways see different requests. docs/pressure.md#canaries-of-a-fleet
 *
 *     report  counts since the last report, COUNTS numbers
 *     move    the number of the last move, phase, step
 *
 *     → number of the last move, phase, step, milliseconds in the step, requests in it, COUNTS numbers
 *
 * While no gateway reports, as when the store is away, no time passes.
 */
const TEXT = `
local key, op = KEYS[1], ARGV[1]
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
if redis.call('EXISTS', key) == 0 then
  redis.call('HSET', key, 'rev', 0, 'phase', 'running', 'step', 0, 'ms', 0, 'in', 0, 'beat', now)
end
redis.call('PEXPIRE', key, ${90 * 86_400_000})
if op == 'report' then
  local gap = now - tonumber(redis.call('HGET', key, 'beat'))
  if gap > 0 and gap < 10000 then redis.call('HINCRBY', key, 'ms', gap) end
  redis.call('HSET', key, 'beat', now)
  redis.call('HINCRBY', key, 'in', ARGV[2])
  for i = 1, ${COUNTS} do redis.call('HINCRBYFLOAT', key, 'c' .. i, ARGV[i + 1]) end
elseif redis.call('HGET', key, 'rev') == ARGV[2] then
  redis.call('HINCRBY', key, 'rev', 1)
  redis.call('HSET', key, 'phase', ARGV[3], 'step', ARGV[4], 'ms', 0, 'in', 0)
end
local found = redis.call('HMGET', key, 'rev', 'phase', 'step', 'ms', 'in')
for i = 1, ${COUNTS} do found[#found + 1] = redis.call('HGET', key, 'c' .. i) or '0' end
return found`;

const SCRIPT = { text: TEXT, sha1: new Bun.CryptoHasher("sha1").update(TEXT).digest("hex") };

/** What gateways add up of a record. */
export function countsOf({ requests, errors, oldRequests, oldErrors, worse, slower }: CanaryRecord): number[] {
  const logs = [worse, slower].flatMap((all) => Array.from({ length: LOGS }, (_, i) => all[i] ?? 0));
  return [requests, errors, oldRequests, oldErrors, ...logs];
}

/** The same record with these counts added. */
export function withCounts<R extends Omit<CanaryRecord, "times" | "oldTimes">>(
  record: R,
  counts: readonly number[],
): R {
  const [requests = 0, errors = 0, oldRequests = 0, oldErrors = 0, ...logs] = counts;
  return {
    ...record,
    requests: record.requests + requests,
    errors: record.errors + errors,
    oldRequests: record.oldRequests + oldRequests,
    oldErrors: record.oldErrors + oldErrors,
    worse: logs.slice(0, LOGS).map((log, i) => log + (record.worse[i] ?? 0)),
    slower: logs.slice(LOGS).map((log, i) => log + (record.slower[i] ?? 0)),
  };
}

/** A rollout of the fleet. */
export interface FleetView {
  /** The number of the last move. */
  readonly rev: string;
  /** What all gateways together know; times are each gateway's own. */
  readonly record: Omit<CanaryRecord, "times" | "oldTimes">;
}

/** Adds the counts since the last report. */
export async function report(store: CanaryStore, key: string, counted: readonly number[]): Promise<FleetView> {
  return viewOf(await store.evaluate(SCRIPT, `rollout:${key}`, ["report", ...counted.map(String)]));
}

/** Carries a decision out, unless another gateway was faster. */
export async function move(
  store: CanaryStore,
  key: string,
  rev: string,
  { phase, step }: Pick<CanaryRecord, "phase" | "step">,
): Promise<FleetView> {
  return viewOf(await store.evaluate(SCRIPT, `rollout:${key}`, ["move", rev, phase, String(step)]));
}

function viewOf(reply: unknown): FleetView {
  const words = (reply as readonly unknown[]).map(String);
  const [rev = "", phase = "", step = "", ms = "", inStep = "", ...rest] = words;
  const counts = rest.map(Number);
  const [requests = 0, errors = 0, oldRequests = 0, oldErrors = 0] = counts;
  return {
    rev,
    record: {
      phase: phase as CanaryPhase,
      step: Number(step),
      inStepMs: Number(ms),
      inStep: Number(inStep),
      ...{ requests, errors, oldRequests, oldErrors },
      worse: counts.slice(4, 4 + LOGS),
      slower: counts.slice(4 + LOGS),
    },
  };
}
