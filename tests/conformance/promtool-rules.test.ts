// docs/tools.md#grafana-and-alerts
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { alertRules } from "../../src/help/alerts.ts";
import { grafanaDashboard } from "../../src/help/grafana.ts";
import { runEdge } from "../harness/gateway.ts";

const PROMTOOL = process.env.PROMTOOL ?? Bun.which("promtool");
if (PROMTOOL === null) console.error("skipped: there is no promtool here");

const folder = mkdtempSync(join(tmpdir(), "edge-rules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const rules = join(folder, "edge.yml");
writeFileSync(rules, alertRules());

async function promtool(...args: readonly string[]): Promise<string> {
  const child = Bun.spawn([PROMTOOL!, ...args], { stdout: "pipe", stderr: "pipe", timeout: 30_000 });
  const said = (await child.stdout.text()) + (await child.stderr.text());
  expect([said, await child.exited]).toEqual([expect.any(String), 0]);
  return said;
}

test("both commands print what these tests look at", async () => {
  expect((await runEdge(["alerts"])).stdout).toBe(alertRules());
  expect(JSON.parse((await runEdge(["grafana"])).stdout)).toEqual(grafanaDashboard());
});

test.skipIf(PROMTOOL === null)("promtool check rules finds nothing", async () => {
  expect(await promtool("check", "rules", rules)).toContain("SUCCESS");
});

test.skipIf(PROMTOOL === null)("every query of the dashboard is one of Prometheus", async () => {
  const queries = [...JSON.stringify(grafanaDashboard()).matchAll(/"expr":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    JSON.parse(`"${text}"`)
      .replaceAll("$__rate_interval", "5m")
      .replaceAll(/\$(job|instance)/g, ".*"),
  );
  expect(queries.length).toBeGreaterThan(60);
  const file = join(folder, "queries.yml");
  const own = queries.map((expr, i) => ({ record: `query:${i}`, expr }));
  writeFileSync(file, stringify({ groups: [{ name: "dashboard", rules: own }] }));
  expect(await promtool("check", "rules", file)).toContain("SUCCESS");
});

const INSTANCE = 'instance="gw:8080"';

/** What Prometheus sees, and what is to fire then. */
const CASES = {
  evaluation_interval: "1m",
  tests: [
    {
      interval: "1m",
      input_series: [
        { series: `gateway_requests_total{${INSTANCE},code="200",method="GET",path="/a"}`, values: "0+90x20" },
        { series: `gateway_requests_total{${INSTANCE},code="502",method="GET",path="/a"}`, values: "0+0x5 0+10x14" },
      ],
      alert_rule_test: [
        { eval_time: "5m", alertname: "EdgeManyErrors", exp_alerts: [] },
        {
          eval_time: "20m",
          alertname: "EdgeManyErrors",
          exp_alerts: [{ exp_labels: { severity: "critical", instance: "gw:8080" } }],
        },
      ],
    },
    {
      interval: "1m",
      input_series: [
        // Eight days from the beginning of the test: the alert is due after one.
        { series: `gateway_certificate_not_after_seconds{${INSTANCE},domain="a.test"}`, values: "691200+0x2880" },
        { series: `gateway_certificate_not_after_seconds{${INSTANCE},domain="b.test"}`, values: "7776000+0x2880" },
      ],
      alert_rule_test: [
        { eval_time: "20h", alertname: "EdgeCertificateExpires", exp_alerts: [] },
        {
          eval_time: "28h",
          alertname: "EdgeCertificateExpires",
          exp_alerts: [{ exp_labels: { severity: "critical", instance: "gw:8080", domain: "a.test" } }],
        },
      ],
    },
    {
      interval: "1m",
      input_series: [
        { series: `gateway_upstream_healthy{${INSTANCE},upstream="http://a"}`, values: "1+0x3 0+0x10" },
        { series: `gateway_upstream_healthy{${INSTANCE},upstream="http://b"}`, values: "1+0x14" },
      ],
      alert_rule_test: [
        { eval_time: "6m", alertname: "EdgeUpstreamOut", exp_alerts: [] },
        { eval_time: "12m", alertname: "EdgeAllUpstreamsOut", exp_alerts: [] },
        {
          eval_time: "12m",
          alertname: "EdgeUpstreamOut",
          exp_alerts: [{ exp_labels: { severity: "warning", instance: "gw:8080", upstream: "http://a" } }],
        },
      ],
    },
  ],
};

test.skipIf(PROMTOOL === null)("alerts fire when they should, and not before", async () => {
  // Annotations are compared, too: those of the rules, with the values filled in, are not what is tested here.
  const plain = join(folder, "plain.yml");
  writeFileSync(plain, alertRules().replaceAll(/^ +annotations:\n(?: {10,}.*\n)+/gm, ""));
  const file = join(folder, "cases.yml");
  writeFileSync(file, stringify({ ...CASES, rule_files: [plain] }));
  expect(await promtool("test", "rules", file)).toContain("SUCCESS");
});
