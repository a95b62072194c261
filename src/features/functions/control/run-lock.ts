import { createHash } from "node:crypto";
import type { RunLock } from "./scheduled-functions.ts";

/** Where gateways of a fleet keep what they share: the store and how its keys begin, or why it cannot be asked. */
export type SharedPlace =
  | {
      readonly store: { call(key: string, words: readonly string[]): Promise<unknown> };
      readonly prefix: string;
    }
  | "alone"
  | "away"
  | "ending";

/**
 * The lock of the fleet on one run of a job. The time that is due is taken first, so that one gateway makes the run, were the clocks of the
 * others seconds off; then the job, so that no run begins beside the one before, wherever that is. A gateway that is alone has every lock.
 * docs/functions.md#schedules
 * @param id of the job, the same at all gateways
 * @param leaseMs after which the job is free again, where the gateway that runs it has died
 */
export async function lockRun(shared: SharedPlace, id: string, dueMs: number, leaseMs: number): Promise<RunLock> {
  if (shared === "alone") return { isOwn: true, reason: "", release: () => {} };
  if (shared === "away") return STORE_AWAY;
  // The process that takes over makes it.
  if (shared === "ending") return ELSEWHERE;
  const { store, prefix } = shared;
  const job = `${prefix}:run:${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
  const time = `${job}:${dueMs}`;
  const token = crypto.randomUUID();
  const take = async (key: string, forMs: number): Promise<boolean> =>
    (await store.call(key, ["SET", key, token, "NX", "PX", String(forMs)])) !== null;
  try {
    if (!(await take(time, leaseMs + CLOCKS_MS))) return ELSEWHERE;
    if (!(await take(job, leaseMs))) return OVERLAP;
  } catch {
    return STORE_AWAY;
  }
  // A run that was so late that its lease is over must not free another's.
  const release = () => void store.call(job, ["EVAL", FREE_SCRIPT, "1", job, token]).catch(() => {});
  return { isOwn: true, reason: "", release };
}

const FREE_SCRIPT = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
/** How far the clocks of gateways may be apart. */
const CLOCKS_MS = 600_000;

const notOwn = (reason: RunLock["reason"]): RunLock => ({ isOwn: false, reason, release: () => {} });
const ELSEWHERE = notOwn("elsewhere");
const OVERLAP = notOwn("overlap");
const STORE_AWAY = notOwn("store_away");
