// The gateway beside its peers: CPU time per request, on one machine, within one run.
//
// CPU time (user and system, all threads, from the kernel) is the figure to compare: on a machine that the load
// generator shares, throughput says more about the generator than about the server. Every round starts every server afresh,
// on the same origin, and lets them take turns in each scenario, a second each: a shared machine is faster now than in a
// minute. Even rounds take the servers in the opposite order: what is measured first comes out 2 to 3 % dearer. The tables show
// medians of the rounds. Where the host of a virtual machine gives its processors to others meanwhile, caches go cold and what
// was measured is the host: such a turn is taken again.
import { fixed, inTurn, median, table } from "./figures.ts";
import { type Lab, makeCertificate } from "./lab.ts";
import { hasTool, runLoad } from "./load-tools.ts";
import type { Options } from "./options.ts";
import { isSecure, type Setting } from "./peer-configs.ts";
import { residentMb } from "./process-stats.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, installedPeers, type RunningServer, type ServerSpec, startServer } from "./servers.ts";
import { calmTurn, MOST_STOLEN, planOf, type Sample, sampleOf, TURN_SECONDS, type Turn } from "./turns.ts";

/** All samples: scenario, then server, then one sample a round. */
export type Samples = Map<string, Map<string, Sample[]>>;

const WARM_UP_SECONDS = 1;
const SETTINGS: readonly Setting[] = ["plain", "tls", "http3", "cache", "cache-disk", "compression", "auth", "fastcgi"];
const GATEWAY = "edge";
/** The gateway as it was, from --before. */
const BEFORE = "before";
/** The peers that the gateway is held against; the ratio to the better of them is the one to watch. */
const YARDSTICKS = ["nginx", "haproxy"];

/** Runs the chosen scenarios. */
export async function comparePeers(options: Options, lab: Lab): Promise<Section> {
  const scenarios = chosenScenarios(options.only, lab);
  const before = options.before === null ? [] : [edgeServer(options.before, BEFORE)];
  const servers = [edgeServer(options.edge), ...before, ...installedPeers(options.peers)];
  const samples: Samples = new Map();
  const broken = new Set<string>();
  for (let round = 1; round <= options.rounds; round++) {
    for (const setting of SETTINGS) {
      const todo = scenarios.filter((s) => s.setting === setting);
      if (todo.length > 0) await runRound(todo, inTurn(servers, round), broken, { options, lab, round, samples });
    }
  }
  const names = servers.map((s) => s.name).filter((name) => [...samples.values()].some((row) => row.has(name)));
  return {
    name: "peers",
    markdown: [costTable(samples, names), latencyTable(samples, names), memoryTable(samples, names)].join("\n\n"),
    data: Object.fromEntries([...samples].map(([name, row]) => [name, Object.fromEntries(row)])),
    failed: [...broken].some((id) => id.startsWith(GATEWAY)) || gatewayErrors(samples) > 0,
  };
}

interface Round {
  readonly options: Options;
  readonly lab: Lab;
  readonly round: number;
  readonly samples: Samples;
}

/** Starts the servers afresh, and lets them take turns in one scenario after the other: what the machine does by the minute meets all. */
async function runRound(todo: readonly Scenario[], servers: readonly ServerSpec[], broken: Set<string>, at: Round) {
  const { setting } = todo[0]!;
  const running = new Map<string, RunningServer>();
  try {
    for (const server of servers) {
      const id = `${server.name} (${setting})`;
      if (broken.has(id) || !todo.some((s) => suits(s, server.name))) continue;
      const started = await startServer(server, at.lab, setting);
      if (started === null) broken.add(id);
      else running.set(server.name, started);
    }
    for (const scenario of todo) {
      const suited = [...running].filter(([name]) => suits(scenario, name));
      await takeTurns(scenario, new Map(suited), at);
    }
  } finally {
    for (const server of running.values()) await server.process.stop();
  }
}

/** All servers in one scenario: warmed up, then a turn each, again and again. */
async function takeTurns(scenario: Scenario, servers: ReadonlyMap<string, RunningServer>, at: Round): Promise<void> {
  const turns = new Map<string, Turn[]>();
  const dose = { connections: at.options.connections, threads: 1, dir: at.lab.dir };
  for (const server of servers.values()) await runLoad({ ...planOf(scenario, server, dose), seconds: WARM_UP_SECONDS });
  for (let second = 0; second < at.options.seconds; second += TURN_SECONDS) {
    for (const [name, server] of servers) {
      turns.set(name, [...(turns.get(name) ?? []), await calmTurn(scenario, server, dose)]);
    }
  }
  for (const [name, server] of servers) {
    keepSample(scenario, name, sampleOf(turns.get(name)!, residentMb(server.process.pids)), at);
  }
}

function keepSample(scenario: Scenario, name: string, sample: Sample, at: Round): void {
  const row = at.samples.get(scenario.name) ?? new Map<string, Sample[]>();
  row.set(name, [...(row.get(name) ?? []), sample]);
  at.samples.set(scenario.name, row);
  const cost = fixed(sample.cpuMicrosPerRequest, 2).padStart(8);
  const rate = fixed(sample.requestsPerSecond, 0).padStart(7);
  progress(
    `round ${at.round} ${scenario.name.padEnd(18)} ${name.padEnd(8)} ${cost} us/request ${rate}/s` +
      `${sample.stolen > MOST_STOLEN ? ` (${fixed(100 * sample.stolen, 0)} % stolen)` : ""}` +
      `${sample.errors > 0 ? ` ${sample.errors} errors` : ""}`,
  );
}

function suits(scenario: Scenario, name: string): boolean {
  return name === GATEWAY || name === BEFORE || scenario.peers.includes(name);
}

function chosenScenarios(only: readonly string[], lab: Lab): Scenario[] {
  const unknown = only.filter((name) => !SCENARIOS.some((s) => s.name === name));
  if (unknown.length > 0) throw new Error(`no such scenario: ${unknown.join(", ")}`);
  const wanted = SCENARIOS.filter((s) => only.length === 0 || only.includes(s.name));
  const tls = wanted.some((s) => isSecure(s.setting)) && makeCertificate(lab.dir);
  const left = wanted.filter((s) => hasTool(s.tool) && (tls || !isSecure(s.setting)));
  if (left.length < wanted.length) {
    const names = wanted.filter((s) => !left.includes(s)).map((s) => s.name);
    console.error(`left out, their tools are not installed: ${names.join(", ")} (scripts/install-peers)`);
  }
  return left;
}

function gatewayErrors(samples: Samples): number {
  return [...samples.values()].flatMap((row) => row.get(GATEWAY) ?? []).reduce((sum, sample) => sum + sample.errors, 0);
}

function costTable(samples: Samples, names: readonly string[]): string {
  const peers = names.filter((name) => name !== GATEWAY);
  const rows = [...samples].map(([scenario, row]) => {
    const cost = (name: string) => median((row.get(name) ?? []).map((s) => s.cpuMicrosPerRequest));
    const ratio = (other: number) => fixed(cost(GATEWAY) / other, 2);
    const best = Math.min(...YARDSTICKS.map(cost).filter((value) => !Number.isNaN(value)));
    return [
      scenario,
      ...names.map((name) => fixed(cost(name), 2) + errorNote(row.get(name))),
      ...peers.map((name) => ratio(cost(name))),
      Number.isFinite(best) ? ratio(best) : "-",
    ];
  });
  const head = ["CPU µs per request", ...names, ...peers.map((p) => `${GATEWAY}/${p}`), `${GATEWAY}/best of two`];
  const note = "`best of two`: the cheaper of nginx and HAProxy in that row. Below 1.00 the gateway is cheaper.";
  return `${table(head, rows)}\n\n${note}`;
}

function errorNote(samples: readonly Sample[] | undefined): string {
  const errors = (samples ?? []).reduce((sum, sample) => sum + sample.errors, 0);
  return errors === 0 ? "" : ` (${errors} errors)`;
}

function latencyTable(samples: Samples, names: readonly string[]): string {
  const rows = [...samples].map(([scenario, row]) => [
    scenario,
    ...names.map((name) => {
      const of = row.get(name);
      if (of === undefined) return "-";
      const [p50, p99] = [median(of.map((s) => s.p50Ms)), median(of.map((s) => s.p99Ms))];
      return `${fixed(p50, 2)} / ${fixed(p99, 2)} / ${fixed(median(of.map((s) => s.requestsPerSecond)), 0)}`;
    }),
  ]);
  return table(["p50 ms / p99 ms / requests a second", ...names], rows);
}

function memoryTable(samples: Samples, names: readonly string[]): string {
  const rows = [...samples].map(([scenario, row]) => [
    scenario,
    ...names.map((name) => fixed(median((row.get(name) ?? []).map((s) => s.residentMb)), 1)),
  ]);
  return table(["resident MiB after the load", ...names], rows);
}
