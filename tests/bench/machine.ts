// What a reader must know about the machine and the versions to place the figures.
import { cpus, release, totalmem } from "node:os";
import type { Options } from "./options.ts";
import { edgeServer, installedPeers, versionOf } from "./servers.ts";

/** Parts without peers, and parts with a load of the chosen size. */
const ALONE = ["soak", "micro"];
const LOADED = ["all", "peers", "workers", "matrix"];

/** The machine, the versions and the load, as pairs of a name and a text. */
export function describeRun(options: Options): Record<string, string> {
  const processors = cpus();
  const model = processors[0]?.model ?? "CPU";
  const memory = (totalmem() / 2 ** 30).toFixed(1);
  const beside = ALONE.includes(options.section) ? [] : installedPeers(options.peers);
  const servers = options.section === "micro" ? [] : [edgeServer(options.edge), ...beside];
  const facts = {
    date: `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`,
    machine: `${processors.length} × ${model}, ${memory} GiB, ${process.platform} ${release()}`,
    versions: [...servers.map((s) => `${s.name} ${versionOf(s)}`), `Bun ${Bun.version}`].join(", "),
  };
  if (!LOADED.includes(options.section)) return facts;
  const { connections, seconds, rounds } = options;
  const load = `${connections} connections, ${seconds} s after 1 s of warm-up, in turns of 1 s, median of ${rounds} rounds`;
  return { ...facts, load, workers: `${options.workers} in the comparison of cost` };
}
