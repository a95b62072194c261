// Growth: what a request costs, how long a start takes and what stays in memory as there are more routes, hosts, and so on. Each
// curve should be flat or logarithmic.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CURVES, type Curve, type Grown } from "./curves.ts";
import { fixed, median, table } from "./figures.ts";
import { type Lab, makeCertificate } from "./lab.ts";
import { hasTool } from "./load-tools.ts";
import type { Options } from "./options.ts";
import { cpuSeconds, residentMb } from "./process-stats.ts";
import type { Scenario } from "./scenarios.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, type RunningServer, type ServerSpec, startServer } from "./servers.ts";
import { calmTurn } from "./turns.ts";

/** What one size has come to. */
interface Point {
  readonly count: number;
  readonly readyMs: number;
  /** Processor time until then. */
  readonly startCpuMs: number;
  readonly cpuMicrosPerRequest: number;
  readonly residentMb: number;
  readonly errors: number;
}

const SETTLE_MS = 1_500;
/** More than any start takes. */
const PATIENCE_MS = 180_000;

/** Runs the chosen curves, each up to `--most`. */
export async function measureGrowth(options: Options, lab: Lab): Promise<Section> {
  const unknown = options.only.filter((name) => !CURVES.some((curve) => curve.name === name));
  if (unknown.length > 0) throw new Error(`no such curve: ${unknown.join(", ")}`);
  const hasTls = makeCertificate(lab.dir);
  const curves = CURVES.filter(({ name, load }) => {
    const isWanted = options.only.length === 0 || options.only.includes(name);
    return isWanted && hasTool(load.tool) && (hasTls || load.setting !== "tls");
  });
  const found: Record<string, Point[]> = {};
  for (const curve of curves) {
    found[curve.name] = [];
    for (const count of curve.sizes.filter((size) => size <= options.most)) {
      const point = await measurePoint(curve, count, options, lab);
      if (point !== null) found[curve.name]!.push(point);
    }
  }
  const tables = Object.entries(found).map(([name, points]) => tableOf(name, points));
  const failed = Object.values(found).some((points) => points.length === 0 || points.some(({ errors }) => errors > 0));
  return { name: "growth", markdown: tables.join("\n\n"), data: found, failed };
}

async function measurePoint(curve: Curve, count: number, options: Options, lab: Lab): Promise<Point | null> {
  const grown = curve.grow(count, lab);
  const server = await startServer(specOf(options.edge, grown), { ...lab, workers: 1 }, "plain", PATIENCE_MS);
  if (server === null) return null;
  let release: (() => void) | undefined;
  try {
    const startCpuMs = cpuSeconds(server.process.pids) * 1000;
    release = await grown.fill?.(server.ports);
    await Bun.sleep(SETTLE_MS);
    const resident = residentMb(server.process.pids);
    const { micros, errors } = await costOf({ ...curve.load, ...grown.load }, server, options, lab);
    const cost = fixed(micros, 2);
    progress(
      `${curve.name} ${count}: start ${fixed(server.readyMs, 0)} ms, ${cost} us/request, ${fixed(resident, 1)} MiB`,
    );
    return { count, readyMs: server.readyMs, startCpuMs, cpuMicrosPerRequest: micros, residentMb: resident, errors };
  } finally {
    release?.();
    await server.process.stop();
  }
}

async function costOf(load: Scenario, server: RunningServer, options: Options, lab: Lab) {
  const dose = { connections: options.connections, threads: 1, dir: lab.dir };
  await calmTurn(load, server, dose);
  const costs: number[] = [];
  let errors = 0;
  for (let round = 0; round < options.rounds; round++) {
    const turn = await calmTurn(load, server, dose, options.seconds);
    costs.push((turn.cpuSeconds / turn.requests) * 1e6);
    errors += turn.errors;
  }
  return { micros: median(costs), errors };
}

function specOf(edge: string, grown: Grown): ServerSpec {
  return {
    ...edgeServer(edge),
    configure(lab, ports) {
      const folder = join(lab.dir, "grown");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "config.yaml"), grown.config(ports));
      writeFileSync(join(folder, "routes.yaml"), grown.routes);
      return ["serve", "--config", join(folder, "config.yaml"), "--routes", join(folder, "routes.yaml")];
    },
  };
}

function tableOf(name: string, points: readonly Point[]): string {
  const first = points[0];
  const rows = points.map((point) => [
    String(point.count),
    fixed(point.readyMs, 0),
    fixed(point.startCpuMs, 0),
    fixed(point.cpuMicrosPerRequest, 2),
    fixed(point.cpuMicrosPerRequest / first!.cpuMicrosPerRequest, 2),
    fixed(point.residentMb, 1),
    point === first ? "-" : fixed(((point.residentMb - first!.residentMb) * 1024) / (point.count - first!.count), 2),
  ]);
  return table(
    [name, "start, ms", "of it CPU ms", "CPU µs per request", "to the first row", "resident MiB", "KiB for one more"],
    rows,
  );
}
