import type { MultihopReport, ResultRecord } from "./report.ts";

/** The report for people: verdict, the table of scenarios, and what was found. */
export function markdownReport(report: MultihopReport): string {
  const lines = [
    `# Multi-hop report: ${report.overall_verdict}`,
    "",
    `${report.passed_scenarios} of ${report.planned_scenarios} scenarios passed against \`${report.target_edge}\``,
    `(${report.execution_mode}, ${report.timestamp}${report.interrupted ? ", **interrupted**" : ""}).`,
    "",
    `Desynchronization detected: **${yesNo(report.desynchronization_detected)}**. ` +
      `Pool poisoning detected: **${yesNo(report.pool_poisoning_detected)}**.`,
    "",
    "| Backend | Parser | Prefix | Tested | Passed |",
    "|---|---|---|---:|---:|",
    ...report.backends.map(
      (each) =>
        `| ${each.runtime} | ${each.parser_engine} | \`${each.prefix}\` | ` +
        `${each.scenarios_tested} | ${each.scenarios_passed} |`,
    ),
    "",
    "| Vector | Protocol | Input | Backend | Required | Stage 1 | Stage 2 | Sequence | Desync | Pool | |",
    "|---|---|---|---|---|---|---|---:|---|---|---|",
    ...report.results.map(markdownRow),
  ];
  const failed = report.results.filter(({ passed }) => !passed);
  if (failed.length > 0) lines.push("", "## Found", "", ...failed.flatMap(foundIn));
  return `${lines.join("\n")}\n`;
}

/** The summary for the terminal: one line a vector, one word a backend, and what was found. */
export function summaryText(report: MultihopReport): string {
  const backends = report.backends.map(({ prefix }) => prefix.slice(1));
  const ids = [...new Set(report.results.map(({ vector_id }) => vector_id))];
  const lines = [`${"".padEnd(ID_WIDTH)}${backends.map((name) => name.padEnd(WORD_WIDTH)).join("")}`];
  for (const id of ids) {
    const row = report.results.filter(({ vector_id }) => vector_id === id);
    const words = backends.map((name) => {
      const result = row.find(({ backend }) => backend === name);
      return (result === undefined ? "" : result.passed ? "pass" : "FAIL").padEnd(WORD_WIDTH);
    });
    lines.push(`${id.padEnd(ID_WIDTH)}${words.join("")}${row[0]!.name}`);
  }
  for (const { vector_id, backend, passed, evidence } of report.results) {
    if (passed) continue;
    lines.push("", `${vector_id} ${backend}:`, ...evidence.findings.map((text) => `  ${text}`));
  }
  const cut = report.interrupted ? ` (interrupted, ${report.total_scenarios} of ${report.planned_scenarios} run)` : "";
  lines.push(
    "",
    `${report.passed_scenarios} of ${report.planned_scenarios} passed, desynchronization ` +
      `${yesNo(report.desynchronization_detected)}, pool poisoning ${yesNo(report.pool_poisoning_detected)}: ` +
      `${report.overall_verdict}${cut}`,
  );
  return `${lines.join("\n")}\n`;
}

function markdownRow(result: ResultRecord): string {
  const { stage1, stage2 } = result;
  const first = stage1.status ?? stage1.reset ?? "no response";
  const second = `${stage2.status ?? "no response"} ${stage2.body_status ?? ""}`.trim();
  const cells = [result.vector_id, result.protocol, result.name, result.backend, result.expected, first, second];
  cells.push(stage2.sequence ?? "none", yesNo(result.desync), yesNo(result.pool_poisoned));
  return `| ${cells.map((cell) => plain(`${cell}`)).join(" | ")} | ${result.passed ? "pass" : "**FAIL**"} |`;
}

function foundIn({ vector_id, backend, evidence }: ResultRecord): string[] {
  return [`- ${vector_id}, ${backend}`, ...evidence.findings.map((text) => `  - ${plain(text)}`)];
}

/** Without what Markdown or a terminal would take for more than text: gateways and origins have a say in it. */
function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").replace(/[|<]/g, (char) => (char === "|" ? "\\|" : "&lt;"));
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}

const ID_WIDTH = 11;
const WORD_WIDTH = 8;
