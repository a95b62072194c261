import type { VectorOutcome } from "./probe-run.ts";

/** Whether a gateway has refused a probe: 400, or an end without a response. docs/tools.md#verdict */
export function isRefused(outcome: VectorOutcome): boolean {
  return outcome.fault === "" && (outcome.status === 400 || (outcome.status === 0 && outcome.reset !== ""));
}
