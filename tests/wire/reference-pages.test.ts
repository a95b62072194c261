import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventRow } from "../../src/core/event-row.ts";
import { FAULTS } from "../../src/core/fault-rows.ts";
import { METRIC_GROUPS, type MetricRow } from "../../src/core/metric-row.ts";
import { EVENTS, type EventName, fieldTexts } from "../../src/facts/events.ts";
import { METRICS, unitOf } from "../../src/facts/metrics.ts";
import { THRESHOLDS, type Threshold } from "../../src/features/dashboard/thresholds.ts";
import { ACCESS_FIELDS } from "../../src/features/telemetry/access-fields.ts";
import { configSchema, routesSchema } from "../../src/loading/json-schema.ts";
import { startGateway } from "../harness/gateway.ts";
import { parseMetrics } from "../harness/metrics-text.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// These pages are derived: `scripts/reference` writes them from the tables and from a scrape of the binary.
const DOCS = join(import.meta.dir, "../../docs");

const gateway = await startGateway({
  config: { server: { cache: { enabled: true, cookies: "bypass", disk: { path: "./stored" } } } },
});
afterAll(() => stopAll(gateway));
const scrape = (await gateway.once(request("GET /metrics"))).text;
const ROWS: Readonly<Record<string, MetricRow>> = METRICS;

const PAGES: [string, () => string][] = [
  ["reference.md", referencePage],
  ["metrics.md", metricsPage],
  ["events.md", eventsPage],
  ["config.schema.json", () => `${JSON.stringify(configSchema())}\n`],
  ["routes.schema.json", () => `${JSON.stringify(routesSchema())}\n`],
];
test.each(PAGES)("docs/%s says what the tables and /metrics say; scripts/reference writes it", (name, text) => {
  const file = join(DOCS, name);
  if (process.env.EDGE_WRITE_REFERENCE === "1") writeFileSync(file, text());
  expect(readFileSync(file, "utf8")).toBe(text());
});

test("every metric that has a row is there, and no other", () => {
  expect(metrics().map(({ name }) => name)).toEqual(Object.keys(ROWS).sort());
});

test("labels are those of the row", () => {
  for (const { name, labels } of parseMetrics(scrape)) {
    const metric = name.replace(/_(bucket|sum|count)$/, "");
    const row = ROWS[metric];
    if (row !== undefined)
      expect([
        metric,
        Object.keys(labels)
          .filter((one) => one !== "le")
          .sort(),
      ]).toEqual([metric, [...row.labels].sort()]);
  }
});

const WRITTEN = "Written by `scripts/reference` from the source: do not edit.";

function referencePage(): string {
  return `# Reference

${WRITTEN} \`edge help config\` and \`edge help routes\` show every key of
the configuration, [waf.md](waf.md#rules) the rules of the firewall.

## Metrics

Of \`/metrics\` ([endpoints.md](endpoints.md#metrics)), beside the \`process_*\` metrics of every exporter; [metrics.md](metrics.md) says what to
do about each.

${table(
  ["metric", "type", "tells"],
  metrics().map(({ name, type, help }) => [`[\`${name}\`](metrics.md#${name})`, type, help]),
)}
## Log events

Each line is a JSON object with \`time\`, \`event\` and \`timestamp\`; [events.md](events.md) says what each tells, and what to do about it.

${table(
  ["event", "level", "lines at most"],
  eventRows().map(([name, row]) => [`[\`${name}\`](events.md#${name})`, row.level ?? "info", boundOf(row)]),
)}
## Fields of an access line

${table(
  ["field", "holds"],
  Object.entries(ACCESS_FIELDS).map(([name, text]) => [`\`${name}\``, text]),
)}
## Refusals

What ends a request or a connection: the word in \`fault\`, \`reason\` and metrics, the status of the response, and whether the
connection is closed. \`-\` is no response at all: the connection or the stream is closed.

${table(["reason", "status", "message", "connection"], refusalRows())}
## Thresholds

From which value on something is not as it should be. The verdict of the [dashboard](dashboard.md), [\`edge status\`](tools.md#status) and
\`edge top\` goes by them, as do the colours of numbers and the [rules of Prometheus](tools.md#grafana-and-alerts).

${table(["threshold", "value", "unit", "live", "in a rule", "meaning"], thresholdRows())}`;
}

function thresholdRows(): string[][] {
  const windowOf = (seconds: number | undefined) => {
    if (seconds === undefined) return "-";
    return seconds === 0 ? "at the moment" : seconds <= 60 ? `last ${seconds} s` : `last ${seconds / 60} min`;
  };
  return Object.entries<Threshold>(THRESHOLDS).map(([name, { value, unit, liveS, alertS, meaning }]) => [
    `\`${name}\``,
    String(value),
    unit,
    windowOf(liveS),
    windowOf(alertS),
    meaning,
  ]);
}

function metricsPage(): string {
  const groups = METRIC_GROUPS.map((group) => {
    const names = Object.keys(ROWS).filter((name) => ROWS[name]!.group === group);
    const own = names.flatMap((name) => metrics().find((metric) => metric.name === name) ?? []);
    return `## ${group}\n\n${own.map(metricText).join("\n")}`;
  });
  return `# Metrics

${WRITTEN} What \`/metrics\` ([endpoints.md](endpoints.md#metrics)) exposes, with the advice for each. \`edge grafana\` prints a dashboard of
them, \`edge alerts\` rules for Prometheus ([tools.md](tools.md#grafana-and-alerts)). Labels of routes and upstreams are bounded: [endpoints.md](endpoints.md#metrics).

${groups.join("\n")}`;
}

function metricText({ name, type, help }: MetricHelp): string {
  const { labels = [], advice = "" } = ROWS[name] ?? {};
  const of = labels.length === 0 ? "no labels" : labels.map((label) => `\`${label}\``).join(", ");
  return `### ${name}\n\n${help}\n\n${type}, ${UNITS[unitOf(name)]}; ${of}.\n\n**What you can do.** ${advice}\n`;
}

const UNITS = { seconds: "in seconds", bytes: "in bytes", count: "a count since the start", number: "a number" };

function eventsPage(): string {
  const texts = eventRows().map(([name, row]) => {
    const bound = boundOf(row);
    const level = row.level === "always" ? "At every level" : `Level ${row.level ?? "info"}`;
    const fields = fieldTexts(row).map((one) => `- ${one}\n`);
    return `## ${name}\n\n${row.meaning}\n\n${level}${bound === "" ? "" : `; at most ${bound}`}. Fields:\n\n${fields.join("")}\n**What you can do.** ${row.advice}\n`;
  });
  return `# Log events

${WRITTEN} Each line of an event is a JSON object with \`time\`, \`event\` and \`timestamp\` ([operations.md](operations.md#log)). Where a bound is
named, \`not_logged\` counts the lines of this kind that were left out before. What a request's own line holds: [reference.md](reference.md#fields-of-an-access-line).

${texts.join("\n")}`;
}

interface MetricHelp {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

function metrics(): MetricHelp[] {
  const types = new Map([...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((match) => [match[1]!, match[2]!]));
  return [...scrape.matchAll(/^# HELP (gateway_\S+) (.*)$/gm)]
    .map(([, name, help]) => ({ name: name!, type: types.get(name!)!, help: help! }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function eventRows(): [EventName, EventRow][] {
  return Object.entries(EVENTS) as [EventName, EventRow][];
}

function boundOf({ perSecond, everyMs }: EventRow): string {
  if (everyMs !== undefined) return `1 in ${everyMs / 1000} s`;
  return perSecond === undefined ? "" : `${perSecond} a second and worker`;
}

function refusalRows(): string[][] {
  return FAULTS.slice(1).map(({ label, status, message, close }) => [
    `\`${label}\``,
    status === 0 ? "-" : String(status),
    message,
    close ? "closed" : "kept",
  ]);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}
