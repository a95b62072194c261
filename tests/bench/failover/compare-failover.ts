// Requests lost while origins fail, beside nginx and HAProxy in one run: scripts/compare-failover [--edge FILE] [--out FILE]
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../figures.ts";
import { runToExit } from "../run-to-exit.ts";
import { type FailoverGateway, failoverGateways } from "./failover-gateways.ts";
import type { FailoverCount } from "./failover-load.ts";
import { runFailover } from "./failover-run.ts";
import { FAILOVER_SCENARIOS } from "./failover-scenarios.ts";

const { values } = parseArgs({
  options: {
    edge: { type: "string", default: join(import.meta.dir, "../../../edge") },
    out: { type: "string", default: join(import.meta.dir, "results.md") },
  },
});

/** Load beyond which a machine is called busy. */
const BUSY_LOAD = 2;

await runToExit(main);

async function main(): Promise<void> {
  const gateways = failoverGateways(values.edge).filter((one) => executableOf(one) !== null);
  const loadBefore = loadavg()[0]!;
  const rows: string[][] = [];
  for (const scenario of FAILOVER_SCENARIOS) {
    const row = [scenario.name];
    for (const gateway of gateways) {
      const count = await runFailover({ ...gateway, executable: executableOf(gateway)! }, scenario);
      row.push(cell(count));
      console.log(`${scenario.name}: ${gateway.name}: ${cell(count)}`);
    }
    rows.push(row);
  }
  writeFileSync(values.out, pageOf(gateways, rows, Math.max(loadBefore, loadavg()[0]!)));
  console.log(`written: ${values.out}`);
}

function executableOf({ executable }: FailoverGateway): string | null {
  return Bun.which(executable, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
}

function cell({ answered, lost, losses }: FailoverCount): string {
  const kinds = [...losses].map(([what, count]) => `${count} × ${what}`).join(", ");
  return `${lost} of ${answered + lost}${kinds === "" ? "" : ` (${kinds})`}`;
}

function versionOf(gateway: FailoverGateway): string {
  const { stdout, stderr } = Bun.spawnSync([executableOf(gateway)!, ...gateway.versionArgs]);
  return /\d+\.\d+\.\d+/.exec(`${stdout} ${stderr}`)?.[0] ?? "of unknown version";
}

function pageOf(gateways: readonly FailoverGateway[], rows: readonly string[][], load: number): string {
  const versions = gateways.map((one) => `${one.name} ${versionOf(one)}`);
  const state = load > BUSY_LOAD ? "the machine was busy otherwise, so that the figures are rough" : "an idle machine";
  return `# Requests lost while origins fail

Written by \`scripts/compare-failover\`, ${new Date().toISOString().slice(0, 10)}, load ${load.toFixed(1)} (${state}).
Twelve clients ask on kept connections (GET, 5 ms between answer and request); in the last row a new client comes every 20 ms
besides. Each gateway is started afresh for each row. Lost is what was not answered 200: of all requests, unless the row says
otherwise. Settings, all with two workers:

${gateways.map((one) => `- ${one.name}: ${one.settings}`).join("\n")}

${table(["lost", ...versions], rows)}

What the peers lose they lose to leaving all servers out at once. Tried by hand on 2026-11-22: nginx with \`max_fails=0\` lost
none in the second row, HAProxy without \`check\` and \`observe\` none in the second, third and last; both then go on asking an
origin that is away.
`;
}
