// What watching the dashboard costs a data worker: CPU time of its thread alone, with and without watchers.
import { join } from "node:path";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { EvenLoad } from "./even-load.ts";
import { bootstrapMedian, fixed, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { threadCpuMicros, threadsNamed } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";

/** Two phases: in each of them one of the gateways is watched. CPU time in microseconds a request. */
interface Pair {
  readonly watched: readonly [number, number];
  readonly alone: readonly [number, number];
}

/** A gateway with one worker under load. */
interface Subject {
  readonly gateway: Gateway;
  readonly thread: number;
  readonly load: EvenLoad;
  readonly watchers: WatchingClients;
}

const PER_SECOND = 1000;
const CONNECTIONS = 16;
const WATCHERS = 3;
const ROUTES = 8;
const PAIRS_A_ROUND = 20;
const WARM_UP_MS = 8000;
/** From a change on until a phase begins: the first event of a stream holds the past of the charts, and is sent once. */
const SETTLE_MS = 400;
const WORKER_THREAD = "Worker";
const CONFIDENCE = 95;
/** Share of the requests that were due in a phase; with fewer answered the machine stood still, and the pair is measured again. */
const ENOUGH = 0.9;
const BOUND_PERCENT = 2;

/**
 * Two gateways have the same load at the same time, and take turns in being watched by three clients: what else is on the machine falls
 * on both, and cancels out of their quotient. So does what the watchers and the control threads take from the caches that both use.
 * For a worker a browser with the page open is such a client.
 */
export async function measureWatched(options: Options, lab: Lab): Promise<Section> {
  const subjects: Subject[] = [];
  const pairs: Pair[] = [];
  let again = 0;
  try {
    for (let i = 0; i < 2; i++) subjects.push(await start(options, lab));
    for (const { watchers } of subjects) await watchers.turn(true);
    await Bun.sleep(WARM_UP_MS);
    while (pairs.length < PAIRS_A_ROUND * options.rounds) {
      const pair = await measurePair(subjects, options.seconds * 1000, pairs.length % 2);
      if (pair === null) {
        if (++again > PAIRS_A_ROUND * options.rounds) throw new Error("the machine is too busy for this load");
        continue;
      }
      pairs.push(pair);
      progress(`pair ${pairs.length}: watching costs ${fixed(costPercent(pair), 2)} %`);
    }
  } finally {
    for (const { load, watchers, gateway } of subjects) {
      load.stop();
      watchers.end();
      await gateway.stop();
    }
  }
  const failed = subjects.reduce((sum, { load }) => sum + load.failed, 0);
  return { name: "watched", markdown: markdownOf(pairs, again, failed), data: pairs, failed: failed > 0 };
}

async function start(options: Options, lab: Lab): Promise<Subject> {
  const prefixes = Array.from({ length: ROUTES }, (_, i) => `/route-${i}`);
  const gateway = await startGateway({
    config: { server: { workers: 1, access_log: { enabled: false } } },
    routes: prefixes.map((prefix) => upstream(prefix, { url: `http://127.0.0.1:${lab.originPort}` })),
    binary: options.edge,
  });
  const [thread, ...others] = threadsNamed(gateway.pid, WORKER_THREAD);
  if (thread === undefined || others.length > 0) throw new Error(`not one thread is named ${WORKER_THREAD}`);
  const load = await EvenLoad.start({
    port: gateway.port,
    paths: prefixes.map((prefix) => `${prefix}/x`),
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
  });
  const watchers = new WatchingClients(`http://127.0.0.1:${gateway.port}/internal/api/stream`);
  return { gateway, thread, load, watchers };
}

/** In turns the one or the other is watched first: what drifts falls on both alike. @returns null where the load was not kept up */
async function measurePair(subjects: readonly Subject[], ms: number, first: number): Promise<Pair | null> {
  const watched: [number, number] = [0, 0];
  const alone: [number, number] = [0, 0];
  for (const chosen of [first, 1 - first]) {
    await subjects[1 - chosen]!.watchers.turn(false);
    await subjects[chosen]!.watchers.turn(true);
    await Bun.sleep(SETTLE_MS);
    const [before, answered] = [subjects.map(cpuMicrosOf), subjects.map(({ load }) => load.answered)];
    await Bun.sleep(ms);
    const requests = subjects.map(({ load }, i) => load.answered - answered[i]!);
    if (Math.min(...requests) < (ENOUGH * PER_SECOND * ms) / 1000) return null;
    const micros = subjects.map((one, i) => (cpuMicrosOf(one) - before[i]!) / requests[i]!);
    watched[chosen] = micros[chosen]!;
    alone[1 - chosen] = micros[1 - chosen]!;
  }
  return { watched, alone };
}

function cpuMicrosOf({ gateway, thread }: Subject): number {
  return threadCpuMicros(gateway.pid, thread);
}

/** The geometric mean of what each costs more while it is watched: the noise of a phase is in both its figures. */
function costPercent({ watched, alone }: Pair): number {
  return (Math.sqrt((watched[0] / alone[0]) * (watched[1] / alone[1])) - 1) * 100;
}

function markdownOf(pairs: readonly Pair[], again: number, failed: number): string {
  const costs = pairs.map(costPercent);
  const { low, high } = bootstrapMedian(costs, CONFIDENCE);
  const row = (name: string, of: "watched" | "alone") => [name, fixed(median(pairs.flatMap((pair) => pair[of])), 2)];
  const head = [
    "1,000/s, proxied",
    "CPU µs a request of the worker's thread",
    "more than unwatched",
    `${CONFIDENCE} %`,
  ];
  const tables = table(head, [
    [...row("unwatched", "alone"), "", ""],
    [
      ...row(`${WATCHERS} watchers`, "watched"),
      `${fixed(median(costs), 2)} %`,
      `${fixed(low, 2)} to ${fixed(high, 2)} %`,
    ],
  ]);
  const verdict =
    high <= BOUND_PERCENT ? "shown" : low > BOUND_PERCENT ? "exceeded" : "not shown: more rounds are needed";
  const note = `The median of ${pairs.length} pairs of phases, and where it would be found again (bootstrap); ${again} measured again.`;
  return `${tables}\n\n${note} At most ${BOUND_PERCENT} %: ${verdict}. Failed requests: ${failed}.`;
}

/** Streams of a process of their own, so that what they read takes no time from the load. */
class WatchingClients {
  private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  private readonly lines: AsyncIterator<Uint8Array>;
  private areOpen = false;

  constructor(url: string) {
    const script = join(import.meta.dir, "watching-clients.ts");
    const command = [process.execPath, script, url, String(WATCHERS)];
    this.child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    this.lines = this.child.stdout[Symbol.asyncIterator]();
  }

  /** Resolves when all streams have their first event, or have been ended. */
  async turn(isOn: boolean): Promise<void> {
    if (isOn === this.areOpen) return;
    this.areOpen = isOn;
    this.child.stdin.write(isOn ? "on\n" : "off\n");
    this.child.stdin.flush();
    if ((await this.lines.next()).done === true) throw new Error("the watching clients have ended");
  }

  end(): void {
    this.child.kill();
  }
}
