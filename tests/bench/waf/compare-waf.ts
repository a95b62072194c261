// The firewall beside Coraza with the OWASP Core Rule Set on the same bytes: scripts/compare-waf [--corpus FILE] [--edge FILE]
// [--out FILE] [--cost]. Sets are GoTestWAF's cases and the regression tests of the Core Rule Set, which Go's modules bring, and a
// corpus that is named.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cpuSeconds } from "../process-stats.ts";
import { runToExit } from "../run-to-exit.ts";
import { corpusCases } from "./corpus-cases.ts";
import { crsCases } from "./crs-cases.ts";
import { goTestWafCases } from "./gotestwaf-cases.ts";
import { requestBytes, type WafCase } from "./waf-case.ts";
import { CORAZA, corazaServer, edgeServer, goParts, type WafServer } from "./waf-servers.ts";
import { type CostRow, type Judged, resultsPage } from "./waf-table.ts";
import { askFirewall, sendMany, startOrigin, type WafVerdict } from "./waf-wire.ts";

const TOP = join(import.meta.dir, "../../..");
const { values } = parseArgs({
  options: {
    corpus: { type: "string" },
    edge: { type: "string", default: join(TOP, "edge") },
    out: { type: "string", default: join(import.meta.dir, "results.md") },
    cost: { type: "boolean", default: false },
  },
});

const LOADS: readonly (readonly [string, Uint8Array])[] = [
  ["plain GET", requestBytes("GET /items?page=2&sort=name", [["Referer", "https://www.example.com/"]])],
  ["4 KiB of JSON", requestBytes("POST /api/users", [["Content-Type", "application/json"]], jsonBody())],
];
const AT_ONE_TIME = 8;
/** CPU seconds, of which the system counts hundredths. */
const WARM_UP_S = 0.3;
const ROUND_S = 0.8;
const BATCH = 40;
const ROUNDS = 3;

await runToExit(main);

async function main(): Promise<void> {
  const parts = await goParts();
  const cases = [
    ...(values.corpus === undefined ? [] : corpusCases(values.corpus)),
    ...(parts?.goTestWaf == null ? [] : goTestWafCases(parts.goTestWaf)),
    ...(parts === null ? [] : crsCases(parts.crsTests)),
  ];
  const origin = startOrigin();
  const edge = (name: string, waf: object) => edgeServer(name, values.edge, origin.url, waf);
  const servers = [
    await edge("edge, level 1", { enabled: true }),
    await edge("edge, level 2", { enabled: true, level: 2 }),
    ...(parts === null ? [] : [await corazaServer("Coraza with CRS", parts.server, "on")]),
  ];
  const judged: Judged[] = [];
  for (const server of servers) judged.push(await judge(server, cases));
  const bare = [await edge("edge", { enabled: false })];
  if (parts !== null) bare.push(await corazaServer("Coraza", parts.server, "off"));
  const costs = values.cost ? await costsOf(servers, bare) : null;
  for (const server of [...servers, ...bare]) await server.stop();
  origin.stop();
  writeFileSync(values.out, resultsPage(cases, judged, costs, CORAZA));
  console.log(`written: ${values.out}`);
}

/** Asks for each request once. */
async function judge(server: WafServer, cases: readonly WafCase[]): Promise<Judged> {
  const verdicts: WafVerdict[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < cases.length) {
      const index = next++;
      verdicts[index] = await askFirewall(server.port, cases[index]!.bytes);
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: AT_ONE_TIME }, work));
  console.log(`${server.name}: ${cases.length} requests in ${Math.round((performance.now() - from) / 1000)} s`);
  return { name: server.name, verdicts };
}

/** CPU time of a request with the firewall, less that of one without. */
async function costsOf(servers: readonly WafServer[], bare: readonly WafServer[]): Promise<CostRow[]> {
  const rows: CostRow[] = [];
  for (const [load, request] of LOADS) {
    const micros = new Map<string, number>();
    for (const server of [...servers, ...bare]) micros.set(server.name, await microsOf(server, request));
    const cells = servers.map(({ name }) => {
      const without = micros.get(name.startsWith("edge") ? "edge" : "Coraza")!;
      return { name, micros: micros.get(name)! - without };
    });
    rows.push({ load, cells });
  }
  return rows;
}

/** The least of several rounds: other programs on the machine only add to it. */
async function microsOf(server: WafServer, request: Uint8Array): Promise<number> {
  await spend(server, request, WARM_UP_S);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) best = Math.min(best, await spend(server, request, ROUND_S));
  return best;
}

/** Sends a request until so much CPU time has gone. @returns microseconds a request */
async function spend(server: WafServer, request: Uint8Array, seconds: number): Promise<number> {
  const from = cpuSeconds([server.pid]);
  for (let count = BATCH; ; count += BATCH) {
    await sendMany(server.port, request, BATCH);
    const gone = cpuSeconds([server.pid]) - from;
    if (gone >= seconds) return (gone * 1e6) / count;
  }
}

/** A list of users, as an API would take one. */
function jsonBody(): Buffer {
  const users = Array.from({ length: 26 }, (_, id) => ({
    id,
    name: `Jo Example ${id}`,
    email: `jo.${id}@example.com`,
    note: "Likes long walks, short queries and tea; call after 5 pm.",
    tags: ["new", "retail"],
  }));
  return Buffer.from(JSON.stringify({ users }));
}
