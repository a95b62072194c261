// Start time: from spawn to the first 200 on /health.
import { fixed, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, installedPeers, startServer } from "./servers.ts";

const RUNS = 10;
const PEERS_WITH_HEALTH = ["nginx", "haproxy", "caddy"];

/** Starts every server ten times; the median counts. */
export async function measureStartTime(options: Options, lab: Lab): Promise<Section> {
  const peers = installedPeers(options.peers.filter((name) => PEERS_WITH_HEALTH.includes(name)));
  const times: Record<string, number[]> = {};
  let failed = false;
  for (const server of [edgeServer(options.edge), ...peers]) {
    times[server.name] = [];
    for (let run = 0; run < RUNS; run++) {
      const running = await startServer(server, lab, "plain");
      if (running === null) {
        failed ||= server.name === "edge";
        break;
      }
      times[server.name]!.push(running.readyMs);
      await running.process.stop();
    }
    progress(`start ${server.name}: ${fixed(median(times[server.name]!), 0)} ms`);
  }
  const rows = Object.entries(times).map(([name, ms]) => [
    name,
    ...[median(ms), Math.min(...ms), Math.max(...ms)].map((value) => fixed(value, 0)),
  ]);
  return { name: "start", markdown: table(["start, ms", "median", "least", "most"], rows), data: times, failed };
}
