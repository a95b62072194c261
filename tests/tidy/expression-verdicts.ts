// What a match of each expression of the gateway may cost, as the package recheck judges it, in threads.
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** One expression to be judged. */
export interface Judged {
  /** As it is written: `/a+/i`. */
  readonly text: string;
  readonly timeoutMs: number;
}

/** What a match may cost at worst. */
export interface Verdict {
  readonly cost: "linear" | "polynomial" | "exponential" | "unknown";
  /** What shows it; "" for what is linear. */
  readonly attack: string;
  readonly tookMs: number;
}

/** Judges each of these. */
export async function verdictsOn(all: readonly Judged[]): Promise<ReadonlyMap<string, Verdict>> {
  const waiting = [...all];
  const verdicts = new Map<string, Verdict>();
  const judges = Math.min(waiting.length, Math.max(2, availableParallelism()));
  await Promise.all(Array.from({ length: judges }, () => judge(waiting, verdicts)));
  return verdicts;
}

/** A thread that takes what is waiting, one after another. */
async function judge(waiting: Judged[], verdicts: Map<string, Verdict>): Promise<void> {
  const thread = new Worker(join(import.meta.dir, "expression-judge.ts"));
  try {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { text } = next;
      const { promise, resolve, reject } = Promise.withResolvers<Verdict>();
      thread.onmessage = ({ data }) => resolve(data);
      thread.onerror = ({ message }) => reject(new Error(`${text}: ${message}`));
      thread.postMessage(next);
      verdicts.set(text, await promise);
    }
  } finally {
    thread.terminate();
  }
}
