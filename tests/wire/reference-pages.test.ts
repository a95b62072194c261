import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ACCESS_FIELDS } from "../../src/core/access-fields.ts";
import { FAULTS } from "../../src/core/fault.ts";
import { EVENTS, type EventRow } from "../../src/features/telemetry/events.ts";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/reference.md is derived: `scripts/reference` writes it from the tables and from a scrape of the binary.
const PAGE = join(import.meta.dir, "../../docs/reference.md");

const gateway = await startGateway();
afterAll(() => stopAll(gateway));

test("docs/reference.md says what the tables and /metrics say; scripts/reference writes it", async () => {
  const scrape = (await gateway.once(request("GET /metrics"))).text;
  const page = referencePage(scrape);
  if (process.env.EDGE_WRITE_REFERENCE === "1") writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, "utf8")).toBe(page);
});

function referencePage(scrape: string): string {
  return `# Reference

Written by \`scripts/reference\` from the source: do not edit. \`edge help config\` and \`edge help routes\` show every key of
the configuration, [waf.md](waf.md#rules) the rules of the firewall.

## Metrics

Of \`/metrics\` ([endpoints.md](endpoints.md#metrics)), beside the \`process_*\` metrics of every exporter.

${table(["metric", "type", "tells"], metricsOf(scrape))}
## Log events

Each line is a JSON object with \`time\`, \`event\` and \`timestamp\`. Where a bound is named, \`not_logged\` counts the lines of this kind
that were left out before.

${table(["event", "tells", "lines at most"], eventRows())}
## Fields of an access line

${table(
  ["field", "holds"],
  Object.entries(ACCESS_FIELDS).map(([name, text]) => [`\`${name}\``, text]),
)}
## Refusals

What ends a request or a connection: the word in \`fault\`, \`reason\` and metrics, the status of the response, and whether the
connection is closed. \`-\` is no response at all: the connection or the stream is closed.

${table(["reason", "status", "message", "connection"], refusalRows())}`;
}

function metricsOf(scrape: string): string[][] {
  const types = new Map([...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((match) => [match[1]!, match[2]!]));
  return [...scrape.matchAll(/^# HELP (gateway_\S+) (.*)$/gm)]
    .map(([, name, help]) => [`\`${name}\``, types.get(name!)!, help!])
    .sort((a, b) => (a[0]! < b[0]! ? -1 : 1));
}

function eventRows(): string[][] {
  return Object.entries<EventRow>(EVENTS).map(([name, { meaning, perSecond, everyMs }]) => {
    const bound = perSecond === undefined ? "" : `${perSecond} a second and worker`;
    return [`\`${name}\``, meaning, everyMs === undefined ? bound : `1 in ${everyMs / 1000} s`];
  });
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
