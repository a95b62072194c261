import type { CanaryResult, SweepResult } from "./benign-client.ts";
import type { Scenario } from "./catalogue.ts";
import { Concern, type Discrepancy } from "./finding.ts";
import type { VectorOutcome } from "./probe-run.ts";
import type { OriginSight } from "./witness.ts";

/** One probe with the benign requests after it. */
export interface ProbeRound {
  readonly outcome: VectorOutcome;
  /** The token of the probe's own request. */
  readonly token: string;
  /** The token of the request that goes before an HTTP/2 probe. */
  readonly control: string;
  readonly sweep: readonly SweepResult[];
}

/** Everything that was seen of a scenario. */
export interface ScenarioSight {
  readonly rounds: readonly ProbeRound[];
  readonly canary: CanaryResult;
  /** What the canary's sequence should be; null if it is not known. */
  readonly expectedSequence: number | null;
  /** The origin's number of the canary before this scenario; 0 if it gives none. */
  readonly originRequestBefore: number;
  /** Null if the origin is not observed. */
  readonly origin: OriginSight | null;
}

/** A scenario with its verdict. */
export interface ScenarioResult extends ScenarioSight {
  readonly scenario: Scenario;
  readonly findings: readonly Discrepancy[];
  readonly durationMs: number;
}

/** Whether nothing speaks against the gateway. */
export function hasPassed(result: ScenarioResult): boolean {
  return result.findings.length === 0;
}

/** Whether gateway and origin disagreed about requests. */
export function hasDesync(result: ScenarioResult): boolean {
  return result.findings.some(({ concern }) => concern === Concern.Desync);
}

/** Whether benign requests were hurt, or a spoilt connection kept. */
export function hasPoisonedPool(result: ScenarioResult): boolean {
  return result.findings.some(({ concern }) => concern === Concern.Pool);
}
