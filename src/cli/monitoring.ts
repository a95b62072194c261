import { alertRules } from "../help/alerts.ts";
import { grafanaDashboard } from "../help/grafana.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";

/** The command as `edge help grafana` shows it. */
export const grafanaCommand = {
  name: "edge grafana",
  page: "tools.md#grafana-and-alerts",
  summary:
    "Prints a dashboard for Grafana, with a panel for each metric: to be imported, or put where Grafana finds it.",
  flags: [],
  notes: ["Example:", "  edge grafana > /var/lib/grafana/dashboards/edge.json"],
} as const;

/** The command as `edge help alerts` shows it. */
export const alertsCommand = {
  name: "edge alerts",
  page: "tools.md#grafana-and-alerts",
  summary: "Prints rules for alerts as a file of Prometheus.",
  flags: [],
  notes: [
    "Example:",
    "  edge alerts > /etc/prometheus/rules/edge.yml",
    "  promtool check rules /etc/prometheus/rules/edge.yml",
  ],
} as const;

/** `edge grafana`. docs/tools.md#grafana-and-alerts */
export function runGrafana(args: readonly string[], io: CommandIo): number {
  return print(startCommand(grafanaCommand, args, io), io, () => `${JSON.stringify(grafanaDashboard(), null, 2)}\n`);
}

/** `edge alerts`. docs/tools.md#grafana-and-alerts */
export function runAlerts(args: readonly string[], io: CommandIo): number {
  return print(startCommand(alertsCommand, args, io), io, alertRules);
}

function print(call: unknown, io: CommandIo, text: () => string): number {
  if (typeof call === "number") return call;
  io.out(text());
  return ExitCode.Done;
}
