// Two workers: how much more one server does with a second one. The load shares the machine, so the cost stands beside.
import { fixed, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { type Load, runLoad } from "./load-tools.ts";
import type { Options } from "./options.ts";
import { cpuSeconds } from "./process-stats.ts";
import { SCENARIOS } from "./scenarios.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, installedPeers, type ServerSpec, startServer } from "./servers.ts";

interface Sample extends Load {
  readonly cpuMicrosPerRequest: number;
}

const PEERS_WITH_WORKERS = ["nginx", "haproxy"];
const DIRECT = SCENARIOS.find((s) => s.name === "direct")!;

/** Throughput of `direct` with two workers each. */
export async function measureTwoWorkers(options: Options, lab: Lab): Promise<Section> {
  const peers = installedPeers(options.peers.filter((name) => PEERS_WITH_WORKERS.includes(name)));
  const servers = [edgeServer(options.edge), ...peers];
  const samples: Record<string, Sample[]> = {};
  for (let round = 1; round <= options.rounds; round++) {
    for (const server of servers) {
      const sample = await measureOnce(server, options, { ...lab, workers: 2 });
      if (sample === null) continue;
      samples[server.name] = [...(samples[server.name] ?? []), sample];
      progress(`round ${round} two workers ${server.name}: ${fixed(sample.requestsPerSecond, 0)}/s`);
    }
  }
  const rate = (name: string) => median((samples[name] ?? []).map((s) => s.requestsPerSecond));
  const rows = servers.map(({ name }) => [
    name,
    fixed(rate(name), 0),
    fixed(rate("edge") / rate(name), 2),
    fixed(median((samples[name] ?? []).map((s) => s.cpuMicrosPerRequest)), 2),
  ]);
  return {
    name: "workers",
    markdown: table(["two workers, direct", "requests a second", "edge/this one", "CPU µs per request"], rows),
    data: samples,
    failed: samples.edge === undefined,
  };
}

async function measureOnce(server: ServerSpec, options: Options, lab: Lab): Promise<Sample | null> {
  const running = await startServer(server, lab, "plain");
  if (running === null) return null;
  try {
    const { connections, seconds } = options;
    const plan = { scenario: DIRECT, port: running.ports.http, connections, threads: 2, dir: lab.dir };
    await runLoad({ ...plan, seconds: 1 });
    const pids = running.process.pids;
    const before = cpuSeconds(pids);
    const load = await runLoad({ ...plan, seconds });
    return { ...load, cpuMicrosPerRequest: ((cpuSeconds(pids) - before) / load.requests) * 1e6 };
  } finally {
    await running.process.stop();
  }
}
