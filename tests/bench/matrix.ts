// Every scenario in every circumstance: plain and with everything on, with one worker and two, in the first seconds of a process,
// and beside neighbours that keep the processors busy. A feature that a request does not use must not cost it anything.
import { fixed, inTurn, median, table } from "./figures.ts";
import { type Lab, makeCertificate } from "./lab.ts";
import { hasTool } from "./load-tools.ts";
import { Neighbours } from "./neighbours.ts";
import type { Options } from "./options.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, installedPeers, type RunningServer, type ServerSpec, startServer } from "./servers.ts";
import { calmTurn, takeTurn } from "./turns.ts";

/** What surrounds the servers while they are measured. */
interface Circumstance {
  readonly name: string;
  readonly workers: number;
  /** Whether each scenario meets new processes, and counts from their first request. */
  readonly isYoung?: boolean;
  readonly hasNeighbours?: boolean;
}

const CIRCUMSTANCES: readonly Circumstance[] = [
  { name: "one worker", workers: 1 },
  { name: "two workers", workers: 2 },
  { name: "young, the first two seconds", workers: 1, isYoung: true },
  { name: "beside busy neighbours", workers: 1, hasNeighbours: true },
];
const YOUNG_SECONDS = 2;
/** For all others: until then the gateway's compiler has done its work. */
const WARM_UP_SECONDS = 4;
const PEERS = ["nginx", "haproxy"];
const PLAIN = "plain";
const EVERYTHING = "everything";

/** Microseconds of each round: by circumstance, scenario and server. */
type Costs = Record<string, Record<string, Record<string, number[]>>>;

interface Bench {
  readonly options: Options;
  readonly lab: Lab;
  readonly scenarios: readonly Scenario[];
  readonly servers: readonly ServerSpec[];
  readonly costs: Costs;
}

/** Runs the chosen scenarios of a gateway without further settings. */
export async function measureMatrix(options: Options, lab: Lab): Promise<Section> {
  const hasTls = makeCertificate(lab.dir);
  const scenarios = SCENARIOS.filter(
    ({ name, setting, tool }) =>
      (setting === "plain" || (setting === "tls" && hasTls)) &&
      hasTool(tool) &&
      (options.only.length === 0 || options.only.includes(name)),
  );
  const peers = installedPeers(options.peers.filter((name) => PEERS.includes(name)));
  const servers = [edgeServer(options.edge, PLAIN), edgeServer(options.edge, EVERYTHING), ...peers];
  const bench: Bench = { options, lab, scenarios, servers, costs: {} };
  for (let round = 1; round <= options.rounds; round++) {
    for (const circumstance of CIRCUMSTANCES) await runRound(circumstance, round, bench);
  }
  const tables = CIRCUMSTANCES.map((circumstance) => tableOf(circumstance.name, bench));
  const hasFigure = (name: string) =>
    Object.values(bench.costs).every((rows) => rows[scenarios[0]?.name ?? ""]?.[name]);
  const note = "`best`: the cheaper of nginx and HAProxy in that row and circumstance.";
  return {
    name: "matrix",
    markdown: [...tables, note].join("\n\n"),
    data: bench.costs,
    failed: !hasFigure(PLAIN) || !hasFigure(EVERYTHING),
  };
}

async function runRound(circumstance: Circumstance, round: number, bench: Bench): Promise<void> {
  const neighbours = circumstance.hasNeighbours === true ? new Neighbours() : null;
  try {
    for (const setting of ["plain", "tls"] as const) {
      const scenarios = bench.scenarios.filter((scenario) => scenario.setting === setting);
      const groups = circumstance.isYoung === true ? scenarios.map((scenario) => [scenario]) : [scenarios];
      for (const group of groups) if (group.length > 0) await runGroup(group, circumstance, round, bench);
    }
  } finally {
    await neighbours?.leave();
  }
}

/** Starts the servers for these scenarios, which have one setting, and lets them take turns. */
async function runGroup(group: readonly Scenario[], at: Circumstance, round: number, bench: Bench): Promise<void> {
  const lab = { ...bench.lab, workers: at.workers };
  const running = new Map<ServerSpec, RunningServer>();
  try {
    for (const which of inTurn(bench.servers, round)) {
      if (!group.some((scenario) => suits(scenario, which))) continue;
      const server = await startServer(which, lab, which.name === EVERYTHING ? "everything" : group[0]!.setting);
      if (server === null) continue;
      running.set(which, server);
      // One that waits for its turn would not be young any more.
      if (at.isYoung === true) await measure(group[0]!, which, server, at, bench);
    }
    if (at.isYoung === true) return;
    for (const scenario of group) {
      for (const [which, server] of running)
        if (suits(scenario, which)) await measure(scenario, which, server, at, bench);
    }
  } finally {
    for (const server of running.values()) await server.process.stop();
  }
}

async function measure(
  scenario: Scenario,
  which: ServerSpec,
  server: RunningServer,
  at: Circumstance,
  { options, lab, costs }: Bench,
): Promise<void> {
  const dose = { connections: options.connections, threads: 1, dir: lab.dir };
  // Beside neighbours no turn is calm.
  const isCalm = at.isYoung !== true && at.hasNeighbours !== true;
  if (at.isYoung !== true) await takeTurn(scenario, server, dose, WARM_UP_SECONDS);
  const turn = isCalm
    ? await calmTurn(scenario, server, dose, options.seconds)
    : await takeTurn(scenario, server, dose, at.isYoung === true ? YOUNG_SECONDS : options.seconds);
  const micros = (turn.cpuSeconds / turn.requests) * 1e6;
  costs[at.name] ??= {};
  costs[at.name]![scenario.name] ??= {};
  costs[at.name]![scenario.name]![which.name] ??= [];
  costs[at.name]![scenario.name]![which.name]!.push(micros);
  const failed = turn.errors > 0 ? ` ${turn.errors} errors` : "";
  progress(
    `${at.name.padEnd(30)} ${scenario.name.padEnd(18)} ${which.name.padEnd(10)} ${fixed(micros, 2)} us${failed}`,
  );
}

function suits({ peers }: Scenario, { name }: ServerSpec): boolean {
  return name === PLAIN || name === EVERYTHING || peers.includes(name);
}

function tableOf(name: string, { scenarios, costs }: Bench): string {
  const rows = scenarios.map((scenario) => {
    const cost = (server: string) => median(costs[name]?.[scenario.name]?.[server] ?? []);
    const best = Math.min(...PEERS.map(cost).filter((micros) => !Number.isNaN(micros)));
    const toBest = (server: string) => (Number.isFinite(best) ? fixed(cost(server) / best, 2) : "-");
    return [
      scenario.name,
      ...[cost(PLAIN), cost(EVERYTHING), Number.isFinite(best) ? best : Number.NaN].map((micros) => fixed(micros, 2)),
      fixed(cost(EVERYTHING) / cost(PLAIN), 2),
      toBest(PLAIN),
      toBest(EVERYTHING),
    ];
  });
  const head = [
    `CPU µs per request, ${name}`,
    PLAIN,
    EVERYTHING,
    "best",
    "everything/plain",
    "plain/best",
    "everything/best",
  ];
  return table(head, rows);
}
