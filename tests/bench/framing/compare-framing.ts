// edge multihop against this gateway and its peers, as they are installed: scripts/compare-framing [--edge FILE] [--out FILE]
// First with the simulated origins behind them, which see what comes through, then with real ones.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MultihopReport } from "../../../src/tools/multihop/report.ts";
import { ORIGIN_NAMES, RealOrigins } from "../../conformance/real-origins.ts";
import { runToExit } from "../run-to-exit.ts";
import { freePorts, ServerProcess } from "../server-process.ts";
import { type FramingGateway, framingGateways } from "./framing-gateways.ts";
import { framingTable, type GatewayReport } from "./framing-table.ts";

const TOP = join(import.meta.dir, "../../..");
const RUN_LIMIT_MS = 300_000;

const { values } = parseArgs({
  options: {
    edge: { type: "string", default: join(TOP, "edge") },
    out: { type: "string", default: join(import.meta.dir, "results.md") },
  },
});

await runToExit(main);

async function main(): Promise<void> {
  const gateways = framingGateways(values.edge);
  const simulated = [];
  for (const gateway of gateways) simulated.push(await tryGateway(gateway, null));
  const origins = await RealOrigins.start();
  const real = [];
  for (const gateway of gateways) real.push(await tryGateway(gateway, origins.urls));
  origins.stop();
  const absent = ORIGIN_NAMES.filter((name) => !origins.urls.has(name));
  writeFileSync(values.out, pageOf(simulated, real, absent, origins.absent));
  console.log(`written: ${values.out}`);
}

/** Starts one gateway and runs the tool; without origins the tool brings its own. */
async function tryGateway(
  gateway: FramingGateway,
  origins: ReadonlyMap<string, string> | null,
): Promise<GatewayReport> {
  const executable = Bun.which(gateway.executable, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
  if (executable === null) return { name: gateway.name, version: "not installed here", report: null };
  const [port = 0, h2Port = 0, ...originPorts] = freePorts(2 + ORIGIN_NAMES.length);
  const leads = ORIGIN_NAMES.flatMap((name, i): [string, number][] => {
    if (origins === null) return [[name, originPorts[i]!]];
    const url = origins.get(name);
    return url === undefined ? [] : [[name, Number(new URL(url).port)]];
  });
  const dir = mkdtempSync(join(tmpdir(), "edge-framing-"));
  const args = gateway.configure({ dir, port, h2Port, origins: new Map(leads) });
  const server = new ServerProcess([executable, ...args], dir, join(dir, "server.log"));
  try {
    if (!(await server.isReady(port, "/health"))) throw new Error(`${gateway.name}: ${server.lastWords()}`);
    const target = ["--edge-addr", `127.0.0.1:${port}`, "--backends", leads.map(([name]) => name).join(",")];
    if (gateway.hasH2Port) target.push("--h2-addr", `127.0.0.1:${h2Port}`);
    if (origins === null) target.push("--origin-ports", originPorts.join(","));
    const report = await runTool(target, join(dir, "report.json"));
    const verdict = `${report.passed_scenarios} of ${report.planned_scenarios}`;
    console.log(`${gateway.name}, ${origins === null ? "simulated" : "real"} origins: ${verdict}`);
    return { name: gateway.name, version: versionOf(executable, gateway.versionArgs), report };
  } finally {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function runTool(target: readonly string[], file: string): Promise<MultihopReport> {
  const args = ["multihop", ...target, "--json", file, "--md", "", "--timeout", "2s"];
  const tool = Bun.spawn([values.edge, ...args], { stdout: "ignore", stderr: "inherit", timeout: RUN_LIMIT_MS });
  const code = await tool.exited;
  // 1 is a FAIL, which is an answer too.
  if (code > 1) throw new Error(`edge multihop ended with ${code}`);
  return JSON.parse(readFileSync(file, "utf8"));
}

function versionOf(executable: string, args: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([executable, ...args]);
  return /\d+\.\d+\.\d+/.exec(`${stdout} ${stderr}`)?.[0] ?? "of unknown version";
}

function pageOf(
  simulated: readonly GatewayReport[],
  real: readonly GatewayReport[],
  absent: readonly string[],
  absence: readonly string[],
): string {
  const versions = simulated.map(({ name, version }) => `${name} ${version}`).join(", ");
  const notes = absence.length === 0 ? "" : `\n${absence.map((line) => `- ${line}`).join("\n")}\n`;
  return `# Framing vectors against this gateway and others

Written by \`scripts/compare-framing\`, ${new Date().toISOString().slice(0, 10)}: ${versions}, each as its manual sets up a
reverse proxy with kept connections to its origins. Every cell speaks of the three backends: node, python, go.

- ✓ the gateway did what the vector requires, ✗ it did not; ᴰ gateway and origin disagreed about requests, ᴾ other clients
  were hurt or a spoilt connection was kept.
- The rows with a dot are the vector's inputs, with the answer: a status, \`closed\` without an answer, \`RST_STREAM\` or
  \`GOAWAY\`; one word where all backends agree, a dash where it was not asked.

The requirements are this project's (400 for every ambiguous message). RFC 9112 leaves some of it open: a server may take a
bare LF for a line end, and may replace a folded line's break by spaces; what matters then is what its origins are given. Refusing
\`:protocol\` and unknown pseudo-headers (VECTOR-08) is what RFC 9113 §8.3 asks for; here they are taken off and the request is
forwarded.

## Before origins that read leniently, and tell what they were given

${framingTable(simulated, [], true)}

## Before real origins

Node.js, Python's http.server and Go's net/http, where an attack that the origin refuses looks refused.
${notes}
${framingTable(real, absent, false)}
`;
}
