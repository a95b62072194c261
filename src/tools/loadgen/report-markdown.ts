import { type ConsolidatedReport, successPercent } from "./consolidated-report.ts";
import { byRate, type SweepReport } from "./rate-sweep.ts";
import type { SaturationReport } from "./saturation-report.ts";

/** The report of one tier as a page. */
export function reportMarkdown(report: SaturationReport): string {
  const title = `# Load test: ${report.overall_verdict}`;
  return [title, "", ...tierSection(report), ""].join("\n");
}

/** All tiers as a page: the comparison first. */
export function consolidatedMarkdown({ overall_verdict: verdict, comparison, tiers }: ConsolidatedReport): string {
  const head = ["tier", "verdict", "req/s", "benign %", "p50 ms", "p99 ms", "attacks refused %", "GC cycles"];
  head.push("GC p99 ms", "heap MB/min");
  const rows = comparison.map((row) => [
    `${row.tier} (${row.duration})`,
    row.verdict,
    String(row.total_actual_rps),
    row.benign_success_pct.toFixed(2),
    row.benign_p50_ms.toFixed(3),
    row.benign_p99_ms.toFixed(3),
    row.active_defense_rate_pct.toFixed(2),
    String(row.gc_cycles),
    row.gc_p99_ms.toFixed(3),
    row.heap_growth_slope_mb_per_min.toFixed(2),
  ]);
  const sections = tiers.flatMap((tier) => [
    `## ${tier.duration_tier}, ${tier.duration_seconds} s: ${tier.overall_verdict}`,
    "",
    ...tierSection(tier),
    "",
  ]);
  return [`# Load test: ${verdict}`, "", ...table(head, rows), "", ...sections].join("\n");
}

/** A sweep as a page. */
export function sweepMarkdown({ knee_rps: knee, limited_by: limited, steps, target_url: url }: SweepReport): string {
  const rows = byRate(steps).map((step) => [
    ...[step.offered_rps, step.reached_rps].map(String),
    step.benign_success_pct.toFixed(2),
    step.p50_ms.toFixed(3),
    step.p99_ms.toFixed(3),
    step.is_good ? "yes" : step.is_generator_busy ? "no, this machine is busy" : "no",
  ]);
  const head = ["offered req/s", "reached", "benign %", "p50 ms", "p99 ms", "kept"];
  const line = `${url}: knee at ${knee} requests a second; in the way of more: ${limited}.`;
  return ["# Load sweep", "", line, "", ...table(head, rows), ""].join("\n");
}

function tierSection(report: SaturationReport): string[] {
  const { benign_stream: benign, adversarial_stream: attack, generator } = report;
  const share = `${(report.attack_ratio * 100).toFixed(0)} % of them attacks`;
  const verdict = report.verdict_reasons.length === 0 ? [] : ["", ...report.verdict_reasons.map((why) => `- ${why}`)];
  const streams = [benign, attack].map((stream) => [
    stream.stream_type,
    String(stream.total_requests),
    String(stream.success_requests),
    String(stream.failed_requests),
    String(stream.actual_rps),
    ...[stream.latencies_ms.p50, stream.latencies_ms.p90, stream.latencies_ms.p99].map((ms) => ms.toFixed(3)),
  ]);
  const service = benign.service_time_ms;
  return [
    `${report.timestamp}, ${report.target_url}, tier ${report.duration_tier}, ${report.duration_seconds} s: ` +
      `${report.target_rate_rps} requests a second, ${share}, ${report.concurrency} kept connections.`,
    ...verdict,
    "",
    ...table(["stream", "requests", "good", "not good", "req/s", "p50 ms", "p90 ms", "p99 ms"], streams),
    "",
    `Latency counts from the time at which a request was due. Counted from the write, the benign stream took ` +
      `${service.p50.toFixed(3)} ms (p50) and ${service.p99.toFixed(3)} ms (p99); requests went out ` +
      `${generator.lateness_ms.p99.toFixed(3)} ms late (p99), ${generator.lateness_ms.max.toFixed(3)} ms at most.`,
    `Benign success ${successPercent(report).toFixed(2)} %, active defence ${report.active_defense_rate_pct.toFixed(2)} %, ` +
      `route misses ${report.route_miss_rate_pct.toFixed(2)} %.`,
    ...(benign.failed_requests > 0 ? ["", `Benign failures: ${codesText(benign.failures)}.`] : []),
    "",
    ...attackTable(report),
    "",
    ...gcLines(report),
  ];
}

function attackTable({ adversarial_stream: { vectors, transport_resets: resets } }: SaturationReport): string[] {
  const head = ["attack", "", "expected", "sent", "refused", "404", "200", "other", "statuses"];
  const rows = vectors.map((vector) => [
    vector.id,
    vector.name,
    String(vector.expected),
    String(vector.sent),
    String(vector.active_defense),
    String(vector.route_miss),
    String(vector.bypassed),
    String(vector.unhandled),
    codesText(vector.status_codes),
  ]);
  const note = resets === 0 ? [] : ["", `${resets} of the 400 are connections closed without a response.`];
  return [...table(head, rows), ...note];
}

function gcLines({ gc_telemetry: gc }: SaturationReport): string[] {
  if (!gc.enabled) return ["No garbage collector log (`-gc-trace`)."];
  const { pause_times_ms: pause, heap_metrics_mb: heap } = gc;
  const times = gc.times === "spread" ? " The log was recorded earlier: its collections are spread over the run." : "";
  return [
    `Collector: ${gc.total_cycles} collections (${gc.full_cycles} full) of ${gc.heaps} heaps, ` +
      `${gc.cycles_per_second} a second, ${gc.gc_cpu_percent} % of the time, ${gc.total_reclaimed_mb} MB reclaimed.${times}`,
    "",
    ...table(
      ["pauses ms: min", "mean", "p50", "p95", "p99", "max", "total", "mark mean", "mark max"],
      [Object.values(pause).map(String)],
    ),
    "",
    ...table(
      ["heap MB: initial", "final", "peak", "mean live", "peak trigger", "growth MB/min"],
      [Object.values(heap).map(String)],
    ),
  ];
}

function codesText(codes: Readonly<Record<string, number>>): string {
  const entries = Object.entries(codes).map(([code, count]) => `${code} × ${count}`);
  return entries.length === 0 ? "none" : entries.join(", ");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}
