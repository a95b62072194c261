import { AttackTier, outcomeName } from "./attack-tier.ts";
import type { GcTelemetry } from "./gc-telemetry.ts";
import type { LoadResult } from "./load-run.ts";

/** What a run has shown. */
interface LoadVerdict {
  readonly verdict: "PASS" | "FAIL";
  readonly zeroStarvation: boolean;
  /** Why it is FAIL, one text a rule; empty for PASS. */
  readonly reasons: readonly string[];
}

/** Benign health under load, heap growth under soak. docs/tools.md#verdict-of-a-load */
const BENIGN_SUCCESS_PER_MILLE = 999;
const BENIGN_P99_BELOW_MS = 10;
const SOAK_SLOPE_MB_PER_MIN = 1.0;

/**
 * PASS only when the benign stream was not starved and every attack was actively refused; in the soak tier, also when the
 * heap did not grow. A run that did not last its time is no proof. docs/tools.md#verdict-of-a-load
 */
export function judgeLoad(result: LoadResult, gc: GcTelemetry): LoadVerdict {
  const starvation = starvationReasons(result);
  const reasons = [...starvation, ...attackReasons(result), ...growthReasons(result, gc)];
  if (result.wasInterrupted) reasons.push("the run was interrupted");
  if (result.failure !== "") reasons.push(`a generator thread has failed: ${result.failure}`);
  return { verdict: reasons.length === 0 ? "PASS" : "FAIL", zeroStarvation: starvation.length === 0, reasons };
}

function starvationReasons({ tally, machineBusyPercent }: LoadResult): string[] {
  const { benignGood: good, benignTotal: total } = tally;
  const reasons: string[] = [];
  if (total === 0) reasons.push("no benign request was sent, so nothing shows that clients are served");
  if (good * 1000 < total * BENIGN_SUCCESS_PER_MILLE) {
    reasons.push(`benign success is ${percentText(good, total)}, below 99.9 %: ${failuresText(tally)}`);
  }
  const p99Ms = tally.latency.percentileMs(99);
  if (p99Ms >= BENIGN_P99_BELOW_MS) {
    reasons.push(
      `benign p99 is ${p99Ms.toFixed(2)} ms, not under 10 ms${slownessText(tally, p99Ms, machineBusyPercent)}`,
    );
  }
  return reasons;
}

/** How the others ended, most first: `31 answered 404, 5 timeout`. */
function failuresText({ benignFailures }: LoadResult["tally"]): string {
  const named = [...benignFailures].sort(([, a], [, b]) => b - a);
  return named
    .map(
      ([outcome, count]) =>
        `${count} ${outcome >= 100 ? `answered ${outcome}` : outcomeName(outcome).replace("_", " ")}`,
    )
    .join(", ");
}

/** Whose time it was: this machine's, that of too few connections, or the gateway's. */
function slownessText(tally: LoadResult["tally"], p99Ms: number, machineBusyPercent: number): string {
  const ownMs = tally.ownDelay.percentileMs(99);
  if (isGeneratorBusy(tally)) {
    return `; this generator itself was ${ownMs.toFixed(2)} ms late (p99): the machine is busy, and the gateway need not be slow`;
  }
  if (machineBusyPercent >= SATURATED_PERCENT) {
    return `; the processors of this machine are ${machineBusyPercent} % busy, and the gateway need not be slow`;
  }
  const serviceMs = tally.service.percentileMs(99);
  if (serviceMs * 2 >= p99Ms) {
    const took = `; responses took ${serviceMs.toFixed(2)} ms (p99) from the write: the gateway is slow`;
    return machineBusyPercent < CROWDED_PERCENT
      ? took
      : `${took}, or waits for a processor: those of this machine are ${machineBusyPercent} % busy`;
  }
  return `; responses took ${serviceMs.toFixed(2)} ms (p99), the rest is waiting for one of the connections`;
}

/** Whether the generator did not get its turn in time, so that latencies say little about the gateway. */
export function isGeneratorBusy({ ownDelay, latency }: LoadResult["tally"]): boolean {
  const ownMs = ownDelay.percentileMs(99);
  return ownMs >= BUSY_MS && ownMs * 2 >= latency.percentileMs(99);
}

const BUSY_MS = 2;
const SATURATED_PERCENT = 95;
/** From here on what else runs on the machine is worth a look: moments of a full machine are within such a mean. */
const CROWDED_PERCENT = 70;

function attackReasons({ tally: { tiers } }: LoadResult): string[] {
  const counts = [
    [tiers[AttackTier.RouteMiss], "answered 404 (route miss)"],
    [tiers[AttackTier.Bypassed], "answered 200 (bypass)"],
    [tiers[AttackTier.Unhandled], "not handled (neither refused nor 404 nor 200)"],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${count === 1 ? "attack was" : "attacks were"} ${what}`);
}

function growthReasons({ plan }: LoadResult, gc: GcTelemetry): string[] {
  const slope = gc.heap_metrics_mb.heap_growth_slope_mb_per_min;
  if (plan.tier !== "soak" || slope <= SOAK_SLOPE_MB_PER_MIN) return [];
  return [`the heap grows by ${slope.toFixed(2)} MB a minute, more than ${SOAK_SLOPE_MB_PER_MIN.toFixed(1)}`];
}

/** `part` of `whole` in percent, cut (not rounded) to two decimals, so that 100 means all; 100 if there is no whole. */
export function percentOf(part: number, whole: number): number {
  return whole === 0 ? 100 : Math.floor((part / whole) * 10_000) / 100;
}

function percentText(part: number, whole: number): string {
  return `${percentOf(part, whole).toFixed(2)} %`;
}
