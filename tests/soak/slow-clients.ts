import { parseArgs } from "node:util";
import { table } from "../bench/figures.ts";
import { BenignClient, describeBenign, successPercent } from "../conformance/benign-client.ts";
import { attackSlowly, peakMbOf, SHORT_TIMEOUTS, SLOW_MODES, startSlowOrigin } from "../conformance/slow-attack.ts";
import { spoolFilesOf, uploadSlowly } from "../conformance/slow-uploads.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";

// By hand: bun tests/soak/slow-clients.ts [--connections 2000] [--seconds 60] [--uploads 3000] [--budget-mib 256]
// What tests/conformance/slow-http.test.ts checks, at a size of one's choice; ends with 1 when something is not right.
const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "2000" },
    seconds: { type: "string", default: "60" },
    uploads: { type: "string", default: "3000" },
    "budget-mib": { type: "string", default: "256" },
  },
});
const MIB = 1024 * 1024;
const MIN_SUCCESS_PERCENT = 99.9;
const connections = Number(values.connections);
const seconds = Number(values.seconds);
const origin = startSlowOrigin();
const wrong: string[] = [];

try {
  await runModes();
  await runUploads();
} catch (error) {
  // Not thrown on: Bun would end without the exit handlers that end the gateway.
  wrong.push(String(error));
}
origin.stop();
for (const line of wrong) console.log(`wrong: ${line}`);
process.exit(wrong.length === 0 ? 0 : 1);

async function runModes(): Promise<void> {
  if (Bun.which("slowhttptest") === null) {
    console.log("left out: slowhttptest is not installed");
    return;
  }
  const rows: string[][] = [];
  for (const mode of SLOW_MODES) {
    // A gateway of its own, so that the memory is that of this mode.
    const gateway = await start({ server: SHORT_TIMEOUTS });
    const result = await attackSlowly(gateway, mode, { connections, perSecond: connections, seconds });
    const { benign, allCutMs, mostOpen, peakMb, exitStatus } = result;
    const cut = allCutMs === null ? "not all" : (allCutMs / 1000).toFixed(1);
    rows.push([mode.name, String(mostOpen), cut, peakMb?.toFixed(0) ?? "-", describeBenign(benign), exitStatus]);
    if (successPercent(benign) < MIN_SUCCESS_PERCENT) wrong.push(`${mode.name}: ${benign.examples.join("; ")}`);
    if (allCutMs === null) wrong.push(`${mode.name}: connections stayed open`);
    await gateway.stop();
  }
  const head = ["mode", "most open", "all cut after s", "peak MiB", "beside it", "slowhttptest"];
  console.log(`${connections} connections of slowhttptest\n\n${table(head, rows)}\n`);
}

async function runUploads(): Promise<void> {
  const budget = `${values["budget-mib"]}MiB`;
  const gateway = await start({
    server: { access_log: { enabled: false } },
    proxy: { transport: { max_spooled_bytes: budget } },
  });
  const benign = new BenignClient(gateway.port, "/node/canary");
  const plan = { clients: Number(values.uploads), bodyBytes: 4 * MIB, pieceBytes: 16384, pauseMs: 30 };
  const tally = await uploadSlowly(gateway, plan);
  const met = await benign.stop();
  await Bun.sleep(500);
  const left = spoolFilesOf(gateway);
  console.log(
    `${plan.clients} slow uploads of 4 MiB with room for ${budget}: ${tally.completed} completed, ${tally.turnedAway} got ` +
      `503, ${tally.wrong.length} went wrong; ${tally.mostSpoolFiles ?? "-"} spool files at most, ${left ?? "-"} left; ` +
      `peak ${peakMbOf(gateway)?.toFixed(0) ?? "-"} MiB; ${describeBenign(met)}`,
  );
  wrong.push(...tally.wrong.slice(0, 5));
  if (successPercent(met) < MIN_SUCCESS_PERCENT) wrong.push(`uploads: ${met.examples.join("; ")}`);
  if ((left ?? 0) > 0) wrong.push(`${left} spool files were left open`);
  await gateway.stop();
}

function start(config: Record<string, unknown>): Promise<Gateway> {
  return startGateway({
    config,
    routes: [upstream("/node", origin), { type: "static", prefix: "/static", dir: "site" }],
    files: { "site/page.txt": "a line of text\n".repeat(5000) },
  });
}
