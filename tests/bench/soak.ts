// The soak: mixed load for minutes, with clients that vanish. It looks for two things: errors that no client caused, and
// memory that keeps growing.
import { fixed, slope, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { openFiles, residentMb } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, type RunningServer, startServer } from "./servers.ts";
import { BEHAVIOURS, type Behaviour, runOnce } from "./soak-clients.ts";

interface Sample {
  readonly seconds: number;
  readonly residentMb: number;
  readonly heapUsedMb: number | null;
  readonly openFiles: number;
}

interface Tally {
  exchanges: number;
  readonly faults: Map<string, number>;
  /** The first fault of each kind, word for word. */
  readonly examples: Map<string, string>;
}

const SAMPLE_EVERY_MS = 5_000;
const STATUS_LIMIT_MS = 1_000;
const REST_MS = 2_000;
/** The first minute, or a quarter of a shorter run, is start-up: caches fill and code is compiled. */
const WARM_UP_SECONDS = 60;
/** After a fault a client waits, so that a dead gateway costs no full processor. */
const AFTER_FAULT_MS = 50;
const BYTES_PER_MB = 2 ** 20;

/** Runs the mixture against the gateway for the chosen minutes. */
export async function soak(options: Options, lab: Lab): Promise<Section> {
  const gateway = await startServer(edgeServer(options.edge), lab, "plain");
  if (gateway === null) return { name: "soak", markdown: "The gateway did not start.", data: null, failed: true };
  try {
    return await loadAndWatch(gateway, options.minutes * 60);
  } finally {
    await gateway.process.stop();
  }
}

async function loadAndWatch(gateway: RunningServer, seconds: number): Promise<Section> {
  const started = performance.now();
  const end = started + seconds * 1000;
  const isOver = () => performance.now() >= end || !gateway.process.isAlive;
  const tallies = new Map<string, Tally>(BEHAVIOURS.map((b) => [b.name, newTally()]));
  const clients = BEHAVIOURS.flatMap((behaviour) =>
    Array.from({ length: behaviour.clients }, () =>
      keepRunning(behaviour, gateway.ports.http, isOver, tallies.get(behaviour.name)!),
    ),
  );
  const samples: Sample[] = [];
  while (!isOver()) {
    await Bun.sleep(Math.min(SAMPLE_EVERY_MS, Math.max(0, end - performance.now())));
    const sample = await takeSample(gateway, (performance.now() - started) / 1000);
    samples.push(sample);
    const exchanges = [...tallies.values()].reduce((sum, tally) => sum + tally.exchanges, 0);
    const heap = sample.heapUsedMb === null ? "" : `, heap ${fixed(sample.heapUsedMb, 1)} MiB`;
    const resident = `${fixed(sample.residentMb, 1)} MiB resident${heap}`;
    progress(`${fixed(sample.seconds, 0)} s: ${exchanges} exchanges, ${countFaults(tallies)} faults, ${resident}`);
  }
  await Promise.all(clients);
  await Bun.sleep(REST_MS);
  const atRest = await takeSample(gateway, (performance.now() - started) / 1000);
  return report(tallies, samples, atRest, gateway.process.isAlive);
}

async function keepRunning(behaviour: Behaviour, port: number, isOver: () => boolean, tally: Tally): Promise<void> {
  while (!isOver()) {
    const fault = await runOnce(behaviour, port);
    if (fault === null) {
      tally.exchanges += behaviour.exchanges;
      continue;
    }
    tally.faults.set(fault.kind, (tally.faults.get(fault.kind) ?? 0) + 1);
    if (!tally.examples.has(fault.kind)) tally.examples.set(fault.kind, fault.text);
    await Bun.sleep(AFTER_FAULT_MS);
  }
}

async function takeSample(gateway: RunningServer, seconds: number): Promise<Sample> {
  const pids = gateway.process.pids;
  const heapUsedMb = await heapUsed(gateway.ports.http);
  return { seconds, residentMb: residentMb(pids), heapUsedMb, openFiles: openFiles(pids) };
}

// Null while the gateway has no status page, or is too busy to answer in time.
async function heapUsed(port: number): Promise<number | null> {
  try {
    const signal = AbortSignal.timeout(STATUS_LIMIT_MS);
    const reply = await fetch(`http://127.0.0.1:${port}/internal/api/status`, { signal, keepalive: false });
    const status = (await reply.json()) as { runtime?: { memory?: { heap_used_bytes?: number } } };
    const bytes = status.runtime?.memory?.heap_used_bytes;
    return typeof bytes === "number" ? bytes / BYTES_PER_MB : null;
  } catch {
    return null;
  }
}

function newTally(): Tally {
  return { exchanges: 0, faults: new Map(), examples: new Map() };
}

function countFaults(tallies: ReadonlyMap<string, Tally>): number {
  return [...tallies.values()].flatMap((tally) => [...tally.faults.values()]).reduce((sum, n) => sum + n, 0);
}

// The slope in MiB per minute of one series, after the warm-up; null with fewer than three samples.
function slopePerMinute(samples: readonly Sample[], value: (sample: Sample) => number | null): number | null {
  const warmUp = Math.min(WARM_UP_SECONDS, (samples.at(-1)?.seconds ?? 0) / 4);
  const points = samples.flatMap((sample) => {
    const y = value(sample);
    return sample.seconds < warmUp || y === null ? [] : [{ x: sample.seconds / 60, y }];
  });
  return points.length < 3 ? null : slope(points);
}

function report(
  tallies: ReadonlyMap<string, Tally>,
  samples: readonly Sample[],
  atRest: Sample,
  isAlive: boolean,
): Section {
  const faults = countFaults(tallies);
  const residentSlope = slopePerMinute(samples, (s) => s.residentMb);
  const heapSlope = slopePerMinute(samples, (s) => s.heapUsedMb);
  const rows = [...tallies].map(([name, tally]) => [
    name,
    String(tally.exchanges),
    [...tally.faults].map(([reason, n]) => `${n} × ${reason}`).join(", ") || "none",
  ]);
  const perMinute = (value: number | null) => (value === null ? "not known" : `${fixed(value, 2)} MiB a minute`);
  const facts = [
    `- errors that no client caused: ${faults}${isAlive ? "" : "; **the gateway has ended**"}`,
    `- resident memory: ${perMinute(residentSlope)}; heap: ${perMinute(heapSlope)} (least squares, after the warm-up)`,
    `- at rest afterwards: ${fixed(atRest.residentMb, 1)} MiB resident, ${atRest.openFiles} open files`,
  ];
  const perBehaviour = Object.fromEntries(
    [...tallies].map(([name, { exchanges, faults, examples }]) => [
      name,
      { exchanges, faults: Object.fromEntries(faults), examples: Object.fromEntries(examples) },
    ]),
  );
  return {
    name: "soak",
    markdown: `${table(["soak", "exchanges", "faults"], rows)}\n\n${facts.join("\n")}`,
    data: {
      faults,
      resident_mb_per_minute: residentSlope,
      heap_mb_per_minute: heapSlope,
      behaviours: perBehaviour,
      samples,
      at_rest: atRest,
    },
    failed: faults > 0 || !isAlive,
  };
}
