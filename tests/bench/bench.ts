// The entry of scripts/bench: runs the parts, prints their tables, writes the files.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { measureFleetLimits } from "./fleet-limits.ts";
import { measureFunctionPeers } from "./function-peers.ts";
import { measureFunctionTrouble } from "./function-trouble.ts";
import { measureFunctions } from "./functions.ts";
import { measureGrowth } from "./growth.ts";
import { measureIdle } from "./idle.ts";
import { type Lab, openLab } from "./lab.ts";
import { describeRun } from "./machine.ts";
import { measureMatrix } from "./matrix.ts";
import { runMicro } from "./micro.ts";
import { type Options, readOptions } from "./options.ts";
import { comparePeers } from "./peers.ts";
import type { Section } from "./section.ts";
import { soak } from "./soak.ts";
import { measureStartTime } from "./start-time.ts";
import { measureTcp } from "./tcp.ts";
import { measureTwoWorkers } from "./two-workers.ts";
import { measureUnderAttack } from "./under-attack.ts";
import { measureWatched } from "./watched.ts";

type Part = (options: Options, lab: Lab) => Promise<Section>;

const PARTS: Readonly<Record<string, Part>> = {
  peers: comparePeers,
  idle: measureIdle,
  start: measureStartTime,
  workers: measureTwoWorkers,
  attack: measureUnderAttack,
  limits: measureFleetLimits,
  functions: measureFunctions,
  "function-peers": measureFunctionPeers,
  "function-trouble": measureFunctionTrouble,
  watched: measureWatched,
  tcp: measureTcp,
  matrix: measureMatrix,
  growth: measureGrowth,
};
/** Parts that run by their name alone. */
const BY_NAME = ["matrix", "growth", "limits", "functions", "function-trouble", "watched", "tcp"];
const RESULTS = join(import.meta.dir, "results.md");

for (const [name, code] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
  // The exit handlers end every process and remove the folder.
  process.on(name, () => process.exit(code));
}

const options = readOptions(process.argv.slice(2));
const sections = await runSections(options);
const run = describeRun(options);
const text = [
  "# Benchmarks of the gateway",
  Object.entries(run)
    .map(([name, value]) => `- ${name}: ${value}`)
    .join("\n"),
  ...sections.map((section) => section.markdown),
].join("\n\n");
process.stdout.write(`${text}\n`);
const markdown = options.markdown ?? (options.section === "all" && options.only.length === 0 ? RESULTS : null);
if (markdown !== null) writeFileSync(markdown, `${text}\n`);
if (options.json !== null) {
  const data = Object.fromEntries(sections.map((section) => [section.name, section.data]));
  writeFileSync(options.json, `${JSON.stringify({ ...run, ...data }, null, 1)}\n`);
}
process.exit(sections.some((section) => section.failed) ? 1 : 0);

async function runSections(options: Options): Promise<Section[]> {
  if (options.section === "micro") return [await runMicro(options.only)];
  const lab = await openLab(options.workers, options.section === "soak" ? "echo" : "nginx");
  try {
    if (options.section === "soak") return [await soak(options, lab)];
    const all = Object.keys(PARTS).filter((name) => !BY_NAME.includes(name));
    const names = options.section === "all" ? all : [options.section];
    const sections: Section[] = [];
    for (const name of names) sections.push(await PARTS[name]!(options, lab));
    return sections;
  } finally {
    await lab.close();
  }
}
