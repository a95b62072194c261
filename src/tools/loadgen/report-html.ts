import { successPercent } from "./consolidated-report.ts";
import { byRate, type SweepReport } from "./rate-sweep.ts";
import { chart } from "./report-chart.ts";
import { type ComparedFigure, comparisonRows } from "./run-comparison.ts";
import type { SaturationReport } from "./saturation-report.ts";

/** What a page shows. */
export interface ReportPage {
  readonly reports: readonly SaturationReport[];
  readonly sweep: SweepReport | null;
  /** Beside an earlier run, one for each report that has one. */
  readonly compared: readonly (readonly ComparedFigure[] | null)[];
}

/** A page that needs nothing but itself: figures and charts of all runs, light and dark. */
export function reportHtml({ reports, sweep, compared }: ReportPage): string {
  const [first] = reports;
  const isPass = reports.every((report) => report.overall_verdict === "PASS");
  const verdict = sweep === null ? (isPass ? "PASS" : "FAIL") : `${sweep.knee_rps} requests a second`;
  const parts = sweep === null ? reports.map((report, i) => tierPart(report, compared[i] ?? null)) : [sweepPart(sweep)];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Load test: ${verdict}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1 class="${sweep === null && !isPass ? "bad" : "good"}">${verdict}</h1>
<p>${escaped(first!.target_url)}, ${first!.protocol}, ${escaped(first!.timestamp)}, ${first!.concurrency} connections,
${(first!.attack_ratio * 100).toFixed(0)} % attacks</p>
${parts.join("\n")}
</main>
</body>
</html>
`;
}

function tierPart(report: SaturationReport, compared: readonly ComparedFigure[] | null): string {
  const { benign_stream: benign, adversarial_stream: attack, generator, timeline } = report;
  const { p50, p90, p99, max } = benign.latencies_ms;
  const figures = [
    ["requests a second", `${report.total_actual_rps} of ${report.target_rate_rps}`],
    ["benign success", `${successPercent(report).toFixed(2)} %`],
    ["p50, p90, p99, max", `${p50}, ${p90}, ${p99}, ${max} ms`],
    ["attacks refused", `${attack.active_defense_requests} of ${attack.total_requests}`],
    [
      "generator's own delay (p99)",
      `${generator.own_delay_ms.p99} ms${generator.is_busy ? ", this machine is busy" : ""}`,
    ],
    ["processors of this machine", `${generator.machine_cpu_percent} % busy`],
  ];
  const at = (pick: (point: SaturationReport["timeline"][number]) => number) =>
    timeline.map((point): [number, number] => [point.second, pick(point)]);
  return `<section>
<h2>${escaped(report.duration_tier)}, ${report.duration_seconds} s: ${report.overall_verdict}</h2>
${report.verdict_reasons.map((why) => `<p class="bad">${escaped(why)}</p>\n`).join("")}${table([], figures)}
${compared === null ? "" : `<h3>Beside the earlier run</h3>\n${table(["", "before", "now", ""], comparisonRows(compared))}`}
${chart("Latency", "ms, by second", [
  { name: "p50", tone: "a", points: at((point) => point.p50_ms) },
  { name: "p99", tone: "b", points: at((point) => point.p99_ms) },
])}${chart("Requests", "in each second", [
  { name: "benign", tone: "a", points: at((point) => point.requests) },
  { name: "failed", tone: "b", points: at((point) => point.failures) },
  { name: "attacks", tone: "c", points: at((point) => point.attacks) },
])}<h3>Attacks</h3>
${table(
  ["", "", "sent", "refused", "404", "200", "other"],
  attack.vectors.map((one) =>
    [one.id, one.name, one.sent, one.active_defense, one.route_miss, one.bypassed, one.unhandled].map(String),
  ),
)}
</section>`;
}

function sweepPart({ steps, limited_by: limited, knee_rps: knee }: SweepReport): string {
  const sorted = byRate(steps);
  const line = (pick: (step: (typeof steps)[number]) => number) =>
    sorted.map((step): [number, number] => [step.offered_rps, pick(step)]);
  return `<section>
<h2>The knee: ${knee} requests a second</h2>
<p>In the way of more: ${limited}.</p>
${chart("Reached", "requests a second, by the rate that was offered", [
  { name: "offered", tone: "c", points: line((step) => step.offered_rps) },
  { name: "reached", tone: "a", points: line((step) => step.reached_rps) },
])}${chart("Latency", "ms, by the rate that was offered", [
  { name: "p50", tone: "a", points: line((step) => step.p50_ms) },
  { name: "p99", tone: "b", points: line((step) => step.p99_ms) },
])}${table(
  ["offered", "reached", "good %", "p50 ms", "p99 ms", ""],
  sorted.map((step) => [
    ...[step.offered_rps, step.reached_rps, step.benign_success_pct, step.p50_ms, step.p99_ms].map(String),
    `${step.is_good ? "kept" : "not kept"}${step.is_generator_busy ? ", machine busy" : ""}`,
  ]),
)}
</section>`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  const top = head.length === 0 ? "" : `<thead>${line(head, "th")}</thead>`;
  return `<div class="wide"><table>${top}<tbody>${rows.map((row) => line(row, "td")).join("")}</tbody></table></div>`;
}

function escaped(text: string): string {
  return Bun.escapeHTML(text);
}

const STYLE = `
:root { color-scheme: light dark; --paper: light-dark(#fbfaf7, #14181b); --ink: light-dark(#1d2328, #e8e6e1); --soft: light-dark(#5b6670, #9aa5ae);
  --line: light-dark(#dedad0, #2c3439); --a: light-dark(#0b6e5f, #5fd0b8); --b: light-dark(#b3402a, #f0937d); --c: light-dark(#7a6a1f, #d8c25a); }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { margin: 0; font-size: 2.2rem; } h2 { margin: 2.5rem 0 0.5rem; } h3 { margin: 1.5rem 0 0.5rem; }
.good { color: var(--a); } .bad { color: var(--b); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 1.25rem 0.3rem 0; border-bottom: 1px solid var(--line); text-align: left; }
figure { margin: 1.25rem 0; } figcaption small { color: var(--soft); } figcaption span { margin-left: 1rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; } .grid { stroke: var(--line); fill: none; }
g path { fill: none; stroke-width: 1.5; } g.a path { stroke: var(--a); } g.b path { stroke: var(--b); } g.c path { stroke: var(--c); }
g.a circle, span.a::before { fill: var(--a); background: var(--a); } g.b circle, span.b::before { fill: var(--b); background: var(--b); }
g.c circle, span.c::before { fill: var(--c); background: var(--c); }
span::before { content: ""; display: inline-block; width: 0.8em; height: 0.2em; margin-right: 0.4em; vertical-align: middle; }`;
