import type { ProbeOutcome } from "./probe-run.ts";

/** Whether a gateway has turned a probe down: 400, or an end without an answer. Spec, table of vectors. */
export function isRefused(outcome: ProbeOutcome): boolean {
  return outcome.fault === "" && (outcome.status === 400 || (outcome.status === 0 && outcome.reset !== ""));
}
