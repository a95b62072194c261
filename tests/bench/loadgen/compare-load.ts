// The load generator turned on the gateway and its peers: which attacks each refuses, and how. scripts/compare-load
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { SaturationReport, VectorReport } from "../../../src/tools/loadgen/saturation-report.ts";
import { fixed, table } from "../figures.ts";
import { type Lab, openLab } from "../lab.ts";
import { edgeServer, installedPeers, type ServerSpec, startServer, versionOf } from "../servers.ts";

const PEERS = ["nginx", "haproxy", "caddy"];
const PATH = "/p/x";
const RESULTS = join(import.meta.dir, "results.md");

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rate: { type: "string", default: "1000" },
    edge: { type: "string", default: join(import.meta.dir, "../../../edge") },
  },
});

const lab = await openLab(1, "echo");
const reports: { server: ServerSpec; report: SaturationReport }[] = [];
try {
  for (const server of [edgeServer(values.edge), ...installedPeers(PEERS)]) {
    const report = await loadOn(server, lab);
    if (report !== null) reports.push({ server, report });
  }
} finally {
  await lab.close();
}
const page = markdown();
writeFileSync(RESULTS, page);
console.log(page);
process.exit(0);

async function loadOn(server: ServerSpec, lab: Lab): Promise<SaturationReport | null> {
  const running = await startServer(server, lab, "plain");
  if (running === null) return null;
  const json = join(lab.dir, "load.json");
  const url = `http://127.0.0.1:${running.ports.http}${PATH}`;
  const flags = ["-d", `${values.seconds}s`, "-rate", values.rate, "-a", "0.2", "-json", json];
  try {
    const child = Bun.spawn([values.edge, "loadgen", "-url", url, ...flags], { stdout: "ignore", stderr: "inherit" });
    if ((await child.exited) > 1) return null;
    return JSON.parse(readFileSync(json, "utf8"));
  } finally {
    await running.process.stop();
  }
}

function markdown(): string {
  const first = reports[0]!.report;
  const names = reports.map(({ server }) => `${server.name} ${versionOf(server)}`);
  const attacks = first.adversarial_stream.vectors.map((vector, index) => [
    `${vector.id} ${vector.name} (${vector.expected})`,
    ...reports.map(({ report }) => cell(report.adversarial_stream.vectors[index]!)),
  ]);
  const sums = (what: string, pick: (report: SaturationReport) => string) => [
    what,
    ...reports.map(({ report }) => pick(report)),
  ];
  const rows = [
    ...attacks,
    sums("refused (tier 1)", (r) => `${fixed(r.active_defense_rate_pct, 2)} %`),
    sums("route misses, bypassed, unhandled (tiers 2 to 4)", ({ adversarial_stream: s }) =>
      [s.route_miss_requests, s.bypassed_requests, s.unhandled_requests].join(", "),
    ),
    sums(
      "benign requests answered 2xx",
      ({ benign_stream: s }) => `${fixed((100 * s.success_requests) / s.total_requests, 2)} %`,
    ),
    sums("verdict on the attacks", (r) => (r.active_defense_rate_pct === 100 ? "PASS" : "FAIL")),
  ];
  return `# The load generator on this gateway and its peers

${first.timestamp.slice(0, 10)}, \`scripts/compare-load\`: ${values.rate} requests a second for ${values.seconds} s, a fifth
of them attacks, on a proxied path. Configurations: [peer-configs.ts](../peer-configs.ts), each the way its manual recommends for
production, bodies up to 64 MiB where there is a setting for it (HAProxy and Caddy have none there). In each cell stands what the
attacks of a kind got; **bold** is not a refusal. The status that the catalogue expects stands in parentheses. Latencies are
left out here: \`scripts/bench attack\` measures them.

${table(["attack", ...names], rows)}

The origin answers 200 to whatever it can read, so that 200 is what was let through; what a peer passes on and the origin
(Bun) cannot read shows the status of the origin.
`;
}

function cell(vector: VectorReport): string {
  const codes = Object.entries(vector.status_codes).map(([code, count]) => `${code}${share(count, vector.sent)}`);
  const text = codes.join(", ");
  return vector.active_defense === vector.sent ? text : `**${text}**`;
}

function share(count: number, of: number): string {
  return count === of ? "" : ` (${Math.round((100 * count) / of)} %)`;
}
