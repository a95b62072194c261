// What a function and a hook cost at 20,000 requests a second, beside Bun.serve behind the same route, and what one thread's hooks can do.
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { fixed, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { type Load, runLoad } from "./load-tools.ts";
import type { Options } from "./options.ts";
import { runPaced } from "./paced-run.ts";
import { cpuSeconds, threadCpuMicros, threadsNamed } from "./process-stats.ts";
import type { Scenario } from "./scenarios.ts";
import { progress, type Section } from "./section.ts";

interface Sample {
  /** Of the gateway, all its threads, and of the origin. */
  readonly cpuMicros: number;
  readonly p99Ms: number;
}

const PER_SECOND = 20_000;
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;
/** Until all of the path is compiled, where the load leaves the compiler little. */
const LONG_WARM_UP_SECONDS = 3;
const MAX_LOAD_SECONDS = 2;
/** Few connections, so that the responses of many streams leave in one write. */
const H2_CONNECTIONS = 4;
const H2_STREAMS = 64;
const ORIGIN = `const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("hello") });
console.log(server.port);`;
/** Paths of the routes, by what they measure. */
const KINDS = {
  respond: "/respond",
  "Bun.serve, proxied": "/proxied",
  "function-hello": "/function",
  "hook, proxied": "/hooked",
} as const;

const HOOK = 'export default { onRequest: (r) => (r.headers.has("x-no") ? new Response("no") : undefined) };\n';

/** As much as h2load asks for: what it has seen, and the CPU time a request. */
interface Saturation extends Load {
  /** Of the gateway, all its threads. */
  readonly cpuMicros: number;
  /** Of its busiest thread, and of the next one: the data worker, and the thread of the hooks where there are any. */
  readonly threadMicros: readonly [number, number];
}

const SATURATED = { "static file": "/plain/a.txt", "static file, hook": "/hooked/a.txt" } as const;

/** CPU time a request of a function and of a hook; hooks a second of one thread. */
export async function measureFunctions(options: Options, lab: Lab): Promise<Section> {
  const samples: Record<string, Sample[]> = {};
  for (let round = 0; round < options.rounds; round++) {
    for (const [name, path] of Object.entries(KINDS)) {
      const sample = await measureOnce(options, path);
      samples[name] = [...(samples[name] ?? []), sample];
      progress(`round ${round + 1} ${name}: ${fixed(sample.cpuMicros, 2)} µs`);
    }
  }
  const of = (name: string, what: keyof Sample) => median((samples[name] ?? []).map((sample) => sample[what]));
  const proxied = of("Bun.serve, proxied", "cpuMicros");
  const rows = Object.keys(samples).map((name) => [
    name,
    fixed(of(name, "cpuMicros"), 2),
    fixed(of(name, "cpuMicros") / proxied, 2),
    fixed(of(name, "p99Ms"), 2),
  ]);
  const head = ["20,000/s", "CPU µs a request, origin included", "of Bun.serve, proxied", "p99 ms"];
  const saturated = await measureSaturated(options, lab);
  const markdown = [table(head, rows), saturationTable(saturated)].join("\n\n").trim();
  return { name: "functions", markdown, data: { ...samples, ...saturated }, failed: false };
}

/**
 * A small file over HTTP/2, as fast as one data worker gives it, and with a hook of one thread before it: where many streams share a connection, the
 * load takes little of the machine, and the thread is asked as often as can be.
 */
async function measureSaturated(options: Options, lab: Lab): Promise<Record<string, Saturation[]>> {
  const samples: Record<string, Saturation[]> = {};
  if (Bun.which("h2load") === null) {
    console.error("hooks at saturation left out, its tool is not installed: h2load (scripts/install-peers)");
    return samples;
  }
  const gateway = await startGateway({
    config: { server: { workers: 1, access_log: { enabled: false } } },
    routes: [
      { type: "static", prefix: "/plain", dir: "site" },
      { type: "static", prefix: "/hooked", dir: "site", hooks: "./hook.ts" },
    ],
    files: { "site/a.txt": "hello", "hook.ts": HOOK },
    binary: options.edge,
  });
  try {
    for (let round = 0; round < options.rounds; round++) {
      for (const [name, path] of Object.entries(SATURATED)) {
        const warmUp = round === 0 ? LONG_WARM_UP_SECONDS : 1;
        const sample = await saturate(gateway, path, warmUp, options, lab);
        samples[name] = [...(samples[name] ?? []), sample];
        progress(`round ${round + 1} ${name}: ${fixed(sample.requestsPerSecond, 0)}/s`);
      }
    }
  } finally {
    await gateway.stop();
  }
  return samples;
}

async function saturate(
  gateway: Gateway,
  path: string,
  warmUpSeconds: number,
  options: Options,
  lab: Lab,
): Promise<Saturation> {
  const scenario: Scenario = { name: path, path, tool: "h2load", setting: "plain", peers: [] };
  const h2 = { connections: H2_CONNECTIONS, streams: H2_STREAMS };
  const plan = { scenario, port: gateway.port, connections: CONNECTIONS, threads: 1, dir: lab.dir, h2 };
  await runLoad({ ...plan, seconds: warmUpSeconds });
  const threads = threadsNamed(gateway.pid, "Worker");
  const micros = () => threads.map((thread) => threadCpuMicros(gateway.pid, thread));
  const [before, cpuBefore] = [micros(), cpuSeconds([gateway.pid])];
  const load = await runLoad({ ...plan, seconds: Math.min(options.seconds, MAX_LOAD_SECONDS) });
  const cpuMicros = ((cpuSeconds([gateway.pid]) - cpuBefore) * 1e6) / load.requests;
  const used = micros().map((now, i) => (now - before[i]!) / load.requests);
  const [first = 0, second = 0] = used.sort((a, b) => b - a);
  return { ...load, cpuMicros, threadMicros: [first, second] };
}

function saturationTable(samples: Readonly<Record<string, readonly Saturation[]>>): string {
  if (Object.keys(samples).length === 0) return "";
  const rows = Object.entries(samples).map(([name, all]) => {
    const of = (pick: (sample: Saturation) => number, digits: number) => fixed(median(all.map(pick)), digits);
    return [
      name,
      of((sample) => sample.requestsPerSecond, 0),
      of(({ threadMicros: [, second] }) => second, 2),
      of((sample) => sample.cpuMicros, 2),
      of((sample) => sample.p99Ms, 2),
      of((sample) => sample.errors, 0),
    ];
  });
  const head = ["at saturation, HTTP/2", "requests a second", "µs of the hooks' thread", "CPU µs of the gateway"];
  return table([...head, "p99 ms", "errors"], rows);
}

async function measureOnce(options: Options, path: string): Promise<Sample> {
  const origin = Bun.spawn([process.execPath, "-e", ORIGIN], { stdout: "pipe", stderr: "ignore" });
  const url = `http://127.0.0.1:${await firstLine(origin.stdout)}`;
  const gateway = await startGateway({
    config: { server: { workers: 1, access_log: { enabled: false } } },
    routes: [
      { type: "respond", prefix: "/respond", body: "hello" },
      { type: "upstream", prefix: "/proxied", target: url },
      { type: "upstream", prefix: "/hooked", target: url, hooks: "./hook.ts" },
      { type: "function", prefix: "/function", module: "./hello.ts" },
    ],
    files: {
      "hello.ts": 'export default { fetch: () => new Response("hello") };\n',
      "hook.ts": HOOK,
    },
    binary: options.edge,
  });
  try {
    const plan = { port: gateway.port, path, connections: CONNECTIONS, benignPerSecond: PER_SECOND };
    await runPaced({ ...plan, attacksPerSecond: 0, seconds: WARM_UP_SECONDS });
    const pids = [gateway.pid, origin.pid];
    const before = cpuSeconds(pids);
    const tally = await runPaced({ ...plan, attacksPerSecond: 0, seconds: options.seconds });
    const cpuMicros = ((cpuSeconds(pids) - before) * 1e6) / (PER_SECOND * options.seconds);
    return { cpuMicros, p99Ms: tally.latency.percentileMs(99) };
  } finally {
    await gateway.stop();
    origin.kill();
  }
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const piece of output) {
    text += Buffer.from(piece).toString();
    if (text.includes("\n")) break;
  }
  return text.trim();
}
