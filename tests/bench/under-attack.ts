// Under attack: half of the requests are malformed, each on a connection of its own. What the others notice of it, and
// what a refused request costs.
import { AttackTier, outcomeName } from "../../src/tools/loadgen/attack-tier.ts";
import type { LoadTally } from "../../src/tools/loadgen/load-tally.ts";
import { percentOf } from "../../src/tools/loadgen/verdict.ts";
import { fixed, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { runPaced } from "./paced-run.ts";
import { cpuSeconds } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, installedPeers, type RunningServer, type ServerSpec, startServer } from "./servers.ts";

/** One server in one round. */
interface Sample {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The 99th percentile from the write on, without what the generator was late. */
  readonly serviceP99Ms: number;
  /** The 99th percentile of the same stream before the attack begins. */
  readonly calmP99Ms: number;
  readonly successPercent: number;
  readonly refusedPercent: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly cpuMicrosPerAttack: number;
  /** How late the generator itself was, 99th percentile. */
  readonly lateP99Ms: number;
}

const BENIGN_PER_SECOND = 2000;
const ATTACKS_PER_SECOND = 2000;
const PATH = "/p/x";
const PEERS_THAT_REFUSE = ["nginx", "haproxy"];
const WARM_UP_SECONDS = 1;

/** Measures the gateway, nginx and HAProxy in turn, in every round. */
export async function measureUnderAttack(options: Options, lab: Lab): Promise<Section> {
  const peers = installedPeers(options.peers.filter((name) => PEERS_THAT_REFUSE.includes(name)));
  const samples = new Map<string, Sample[]>();
  for (let round = 1; round <= options.rounds; round++) {
    for (const server of [edgeServer(options.edge), ...peers]) {
      const sample = await measureServer(server, lab, options);
      if (sample === null) continue;
      samples.set(server.name, [...(samples.get(server.name) ?? []), sample]);
      const { p99Ms, cpuMicrosPerAttack, refusedPercent } = sample;
      const cost = `${fixed(cpuMicrosPerAttack, 1)} us an attack, ${fixed(refusedPercent, 2)} % refused`;
      progress(`round ${round} attack ${server.name.padEnd(8)} benign p99 ${fixed(p99Ms, 2)} ms, ${cost}`);
    }
  }
  return {
    name: "attack",
    markdown: markdownOf(samples),
    data: Object.fromEntries(samples),
    failed: !samples.has("edge"),
  };
}

async function measureServer(server: ServerSpec, lab: Lab, options: Options): Promise<Sample | null> {
  const running = await startServer(server, lab, "plain");
  if (running === null) return null;
  try {
    await loadFor(running, WARM_UP_SECONDS, 0, options);
    const calmFrom = cpuSeconds(running.process.pids);
    const calm = await loadFor(running, options.seconds, 0, options);
    const attackFrom = cpuSeconds(running.process.pids);
    const attacked = await loadFor(running, options.seconds, ATTACKS_PER_SECOND, options);
    const spent = cpuSeconds(running.process.pids) - attackFrom;
    const perBenign = (attackFrom - calmFrom) / calm.benignTotal;
    return sampleOf(calm, attacked, spent - perBenign * attacked.benignTotal);
  } finally {
    await running.process.stop();
  }
}

function loadFor(running: RunningServer, seconds: number, attacksPerSecond: number, { connections }: Options) {
  const rates = { benignPerSecond: BENIGN_PER_SECOND, attacksPerSecond };
  return runPaced({ port: running.ports.http, path: PATH, connections, seconds, ...rates });
}

function sampleOf(calm: LoadTally, attacked: LoadTally, attackCpuSeconds: number): Sample {
  const outcomes: Record<string, number> = {};
  for (const vector of attacked.vectors) {
    for (const [outcome, count] of vector.outcomes) {
      outcomes[outcomeName(outcome)] = (outcomes[outcomeName(outcome)] ?? 0) + count;
    }
  }
  return {
    p50Ms: attacked.latency.percentileMs(50),
    p99Ms: attacked.latency.percentileMs(99),
    serviceP99Ms: attacked.service.percentileMs(99),
    calmP99Ms: calm.latency.percentileMs(99),
    successPercent: (100 * attacked.benignGood) / attacked.benignTotal,
    refusedPercent: percentOf(attacked.tiers[AttackTier.ActiveDefense], attacked.attackTotal),
    outcomes,
    cpuMicrosPerAttack: (attackCpuSeconds / attacked.attackTotal) * 1e6,
    lateP99Ms: attacked.lateness.percentileMs(99),
  };
}

function markdownOf(samples: ReadonlyMap<string, readonly Sample[]>): string {
  const rows = [...samples].map(([name, of]) => {
    const middle = (pick: (sample: Sample) => number, digits: number) => fixed(median(of.map(pick)), digits);
    return [
      name,
      `${middle((s) => s.p50Ms, 2)} / ${middle((s) => s.p99Ms, 2)}`,
      middle((s) => s.serviceP99Ms, 2),
      middle((s) => s.calmP99Ms, 2),
      middle((s) => s.successPercent, 3),
      middle((s) => s.refusedPercent, 2),
      middle((s) => s.cpuMicrosPerAttack, 1),
      middle((s) => s.lateP99Ms, 2),
      outcomesOf(of),
    ];
  });
  const head = [
    "under attack",
    "benign p50 / p99 ms",
    "p99 ms from the write",
    "p99 ms in calm",
    "benign success %",
    "attacks refused %",
    "CPU µs an attack",
    "generator late p99 ms",
    "what the attacks got",
  ];
  const note =
    `${BENIGN_PER_SECOND} benign requests a second over kept connections, proxied, latency from the time at which each ` +
    `was due; beside them ${ATTACKS_PER_SECOND} a second from the catalogue (ADV-01 to ADV-08), each on a connection of ` +
    "its own. CPU an attack: what the server spends beyond the benign share, connection included.";
  return `${table(head, rows)}\n\n${note}`;
}

/** All rounds together, most frequent first. */
function outcomesOf(samples: readonly Sample[]): string {
  const sums = new Map<string, number>();
  for (const { outcomes } of samples) {
    for (const [outcome, count] of Object.entries(outcomes)) sums.set(outcome, (sums.get(outcome) ?? 0) + count);
  }
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome}: ${count}`)
    .join(", ");
}
