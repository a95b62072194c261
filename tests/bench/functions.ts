// What a function and a hook cost at 20,000 requests a second, beside Bun.serve behind the same route.
import { startGateway } from "../harness/gateway.ts";
import { fixed, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { runPaced } from "./paced-run.ts";
import { cpuSeconds } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";

interface Sample {
  /** Of the gateway, all its threads, and of the origin. */
  readonly cpuMicros: number;
  readonly p99Ms: number;
}

const PER_SECOND = 20_000;
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;
const ORIGIN = `const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("hello") });
console.log(server.port);`;
/** Paths of the routes, by what they measure. */
const KINDS = {
  respond: "/respond",
  "Bun.serve, proxied": "/proxied",
  "function-hello": "/function",
  "hook, proxied": "/hooked",
} as const;

/** CPU time a request of a function and of a hook. */
export async function measureFunctions(options: Options, _lab: Lab): Promise<Section> {
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
  return { name: "functions", markdown: table(head, rows), data: samples, failed: false };
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
      "hook.ts": 'export default { onRequest: (r) => (r.headers.has("x-no") ? new Response("no") : undefined) };\n',
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
