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
 *     report  phase, share, milliseconds in the step, and requests in it, as this gateway knows them;
 *             counts since the last report, COUNTS numbers; all counts, likewise
 *     move    the number of the last move, phase, share
 *     forget
 *
 *     → when it began, number of the last move, phase, share, milliseconds in the step, requests in it, COUNTS numbers
 *
 * A store that knows nothing, since it is new or has lost its data, takes up the state of the gateway that reports first: no rollout begins anew for that.
 * While no gateway reports, as when the store is away, no time passes.
 */
const TEXT = `
local key, op = KEYS[1], ARGV[1]
if op == 'forget' then return redis.call('DEL', key) end
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local isNew = redis.call('EXISTS', key) == 0
if op == 'report' then
  if isNew then
    redis.call('HSET', key, 'id', now, 'rev', 0, 'beat', now)
    redis.call('HSET', key, 'phase', ARGV[2], 'share', ARGV[3], 'ms', math.floor(ARGV[4]), 'in', ARGV[5])
  else
    local gap = now - tonumber(redis.call('HGET', key, 'beat'))
    if gap > 0 and gap < 10000 then redis.call('HINCRBY', key, 'ms', gap) end
    redis.call('HSET', key, 'beat', now)
    redis.call('HINCRBY', key, 'in', ARGV[6])
  end
  local from = isNew and ${5 + COUNTS} or 5
  for i = 1, ${COUNTS} do redis.call('HINCRBYFLOAT', key, 'c' .. i, ARGV[from + i]) end
  redis.call('PEXPIRE', key, ${90 * 86_400_000})
elseif redis.call('HGET', key, 'rev') == ARGV[2] then
  redis.call('HINCRBY', key, 'rev', 1)
  redis.call('HSET', key, 'phase', ARGV[3], 'share', ARGV[4], 'ms', 0, 'in', 0)
end
local found = redis.call('HMGET', key, 'id', 'rev', 'phase', 'share', 'ms', 'in')
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
  /** Tells it from another one of the same targets, before or after it. */
  readonly id: string;
  /** The number of the last move. */
  readonly rev: string;
  /** What all gateways together know; times are each gateway's own. */
  readonly record: Omit<CanaryRecord, "times" | "oldTimes">;
}

/** Adds the counts since the last report. @param own what this gateway knows @param told the counts of the last report */
export async function report(
  store: CanaryStore,
  key: string,
  own: CanaryRecord,
  told: readonly number[],
): Promise<FleetView> {
  const counts = countsOf(own);
  const since = counts.map((count, i) => count - (told[i] ?? 0));
  const words = [own.phase, own.share, own.inStepMs, own.inStep, ...since, ...counts].map(String);
  return viewOf(await store.evaluate(SCRIPT, nameOf(key), ["report", ...words]));
}

/** Carries a decision out, unless another gateway was faster. */
export async function move(
  store: CanaryStore,
  key: string,
  rev: string,
  { phase, share }: Pick<CanaryRecord, "phase" | "share">,
): Promise<FleetView> {
  return viewOf(await store.evaluate(SCRIPT, nameOf(key), ["move", rev, phase, String(share)]));
}

/** The rollout has left the configuration: the next one of the same targets begins anew. */
export async function forget(store: CanaryStore, key: string): Promise<void> {
  await store.evaluate(SCRIPT, nameOf(key), ["forget"]);
}

function nameOf(key: string): string {
  return `rollout:${key}`;
}

const PHASES: ReadonlySet<string> = new Set<CanaryPhase>(["running", "promoted", "aborted"]);

function viewOf(response: unknown): FleetView {
  const words = (response as readonly unknown[]).map(String);
  const [id = "", rev = "", phase = "", share = "", ms = "", inStep = "", ...rest] = words;
  if (!PHASES.has(phase)) throw new Error("the store has just lost a rollout");
  const counts = rest.map(Number);
  const [requests = 0, errors = 0, oldRequests = 0, oldErrors = 0] = counts;
  return {
    id,
    rev,
    record: {
      phase: phase as CanaryPhase,
      share: Number(share),
      inStepMs: Number(ms),
      inStep: Number(inStep),
      ...{ requests, errors, oldRequests, oldErrors },
      worse: counts.slice(4, 4 + LOGS),
      slower: counts.slice(4 + LOGS),
    },
  };
}
