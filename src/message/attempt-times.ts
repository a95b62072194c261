import type { Exchange } from "./exchange.ts";

/** How often a request was sent to a target. */
export function attemptsOf({ attempt }: Exchange): number {
  return attempt.upstreamLabel === "" ? 0 : attempt.count;
}

/** The milliseconds of each attempt; of one which the end of the exchange has cut off, those until then. */
export function attemptTimes(ex: Exchange): number[] {
  const { attempt } = ex;
  const count = Math.min(attemptsOf(ex), attempt.times.length);
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const ms = attempt.times[i]!;
    times.push(Math.round((ms < 0 ? ex.endedMs - attempt.beganMs : ms) * 1000) / 1000);
  }
  return times;
}
