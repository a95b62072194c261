import { successPercent } from "./consolidated-report.ts";
import type { LoadTally } from "./load-tally.ts";
import type { SaturationReport } from "./saturation-report.ts";

/** One line of progress: how many requests ended a second, the recent p99, the attacks so far. */
export function progressLine(tally: LoadTally, elapsedMs: number, sinceMs: number): string {
  const { total, p99Ms } = tally.takeInterval();
  const [active, missed, bypassed, unhandled] = tally.tiers;
  const rate = Math.round((total * 1000) / Math.max(1, sinceMs));
  return (
    `${String(Math.round(elapsedMs / 1000)).padStart(4)} s  ${String(rate).padStart(6)} req/s  ` +
    `p99 ${p99Ms.toFixed(2).padStart(7)} ms  attacks ${tally.attackTotal}: ${active} refused, ${missed} route misses, ` +
    `${bypassed} bypassed, ${unhandled} unhandled\n`
  );
}

/** A tier's result for the terminal. */
export function tierSummary(report: SaturationReport): string {
  const { benign_stream: benign, adversarial_stream: attack, gc_telemetry: gc } = report;
  const { p50, p90, p99 } = benign.latencies_ms;
  const lines = [
    `${report.overall_verdict}  ${report.duration_tier}, ${report.duration_seconds} s, ${report.target_url}`,
    `  benign   ${benign.success_requests} of ${benign.total_requests} good${percent(benign.total_requests, successPercent(report))}, ` +
      `${benign.actual_rps}/s, p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms`,
    `  attacks  ${attack.active_defense_requests} of ${attack.total_requests} refused` +
      `${percent(attack.total_requests, report.active_defense_rate_pct)}, ${attack.route_miss_requests} route misses, ` +
      `${attack.bypassed_requests} bypassed, ${attack.unhandled_requests} unhandled`,
  ];
  if (gc.enabled) {
    lines.push(
      `  memory   ${gc.total_cycles} collections, p99 pause ${gc.pause_times_ms.p99} ms, ` +
        `heap ${gc.heap_metrics_mb.final} MB, ${gc.heap_metrics_mb.heap_growth_slope_mb_per_min} MB a minute`,
    );
  }
  for (const why of report.verdict_reasons) lines.push(`  because  ${why}`);
  for (const note of notes(report)) lines.push(`  note     ${note}`);
  return `${lines.join("\n")}\n`;
}

/** A share in parentheses; nothing if there was nothing to take a share of. */
function percent(total: number, share: number): string {
  return total === 0 ? "" : ` (${share.toFixed(2)} %)`;
}

/** What a reader should know before believing the figures. */
function notes(report: SaturationReport): string[] {
  const { adversarial_stream: attack, generator } = report;
  const found: string[] = [];
  const untried = attack.vectors.filter((vector) => vector.sent === 0).length;
  if (report.attack_ratio > 0 && untried > 0)
    found.push(`${untried} of the ${attack.vectors.length} attacks were not tried`);
  const lateMs = generator.lateness_ms.p99;
  if (generator.is_busy) {
    const ownMs = generator.own_delay_ms.p99;
    found.push(
      `this machine is busy (${generator.machine_cpu_percent} % of its processors): the generator was ${ownMs} ms late itself (p99)`,
    );
  } else if (lateMs > LATE_MS) found.push(`requests went out ${lateMs} ms late (p99): all connections were busy`);
  if (!report.interrupted && report.total_actual_rps < report.target_rate_rps * REACHED) {
    found.push(`only ${report.total_actual_rps} of ${report.target_rate_rps} requests a second were reached`);
  }
  return found;
}

const LATE_MS = 5;
const REACHED = 0.99;
