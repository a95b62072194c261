import type { ConsolidatedReport } from "./consolidated-report.ts";
import { successPercent } from "./consolidated-report.ts";
import type { SaturationReport } from "./saturation-report.ts";

/** One figure of two runs. */
export interface ComparedFigure {
  readonly name: string;
  readonly before: number;
  readonly now: number;
}

/** The figures of two runs. @param before an earlier one of the same kind */
export function compareRuns(before: SaturationReport, now: SaturationReport): readonly ComparedFigure[] {
  return FIGURES.map(([name, figure]) => ({ name, before: figure(before), now: figure(now) }));
}

/** As lines of a table: the figure, before, now, and by how much they differ. */
export function comparisonRows(
  figures: readonly ComparedFigure[],
): readonly (readonly [string, string, string, string])[] {
  return figures.map(({ name, before, now }) => [name, String(before), String(now), changeText(before, now)]);
}

/** For the terminal. */
export function comparisonText(figures: readonly ComparedFigure[]): string {
  const rows = [["", "before", "now", ""], ...comparisonRows(figures)];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map(
      ([name = "", before = "", now = "", change = ""]) =>
        `  ${name.padEnd(widths[0]!)}  ${before.padStart(widths[1]!)}  ${now.padStart(widths[2]!)}  ${change}`.trimEnd() +
        "\n",
    )
    .join("");
}

/**
 * The report of a tier in a file that `--json` has written.
 * @returns null if the text is no such report, or has no tier of that name and duration
 */
export function earlierReport(text: string, now: SaturationReport | null): SaturationReport | null {
  let read: SaturationReport | ConsolidatedReport;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  const tiers = "tiers" in read && Array.isArray(read.tiers) ? read.tiers : [read as SaturationReport];
  const reports = tiers.filter((one) => typeof one?.benign_stream?.latencies_ms?.p99 === "number");
  if (now === null || reports.length === 1) return reports[0] ?? null;
  return (
    reports.find((one) => one.duration_tier === now.duration_tier && one.duration_seconds === now.duration_seconds) ??
    null
  );
}

function changeText(before: number, now: number): string {
  if (before === now) return "the same";
  if (before === 0) return "";
  const percent = (100 * (now - before)) / before;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;
}

const FIGURES: readonly (readonly [string, (report: SaturationReport) => number])[] = [
  ["requests a second", (one) => one.total_actual_rps],
  ["benign success, %", successPercent],
  ["p50, ms", (one) => one.benign_stream.latencies_ms.p50],
  ["p90, ms", (one) => one.benign_stream.latencies_ms.p90],
  ["p99, ms", (one) => one.benign_stream.latencies_ms.p99],
  ["max, ms", (one) => one.benign_stream.latencies_ms.max],
  ["service p99, ms", (one) => one.benign_stream.service_time_ms.p99],
  ["attacks refused, %", (one) => one.active_defense_rate_pct],
  ["heap growth, MB a minute", (one) => one.gc_telemetry.heap_metrics_mb.heap_growth_slope_mb_per_min],
];
