// What limits cost at 10,000 requests a second: none, those of one gateway, those of a fleet on Redis.
import { startGateway } from "../harness/gateway.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { fixed, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { runPaced } from "./paced-run.ts";
import { cpuSeconds } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";

interface Sample {
  /** Of the whole process, the control thread with its connection to the store among it. */
  readonly cpuMicros: number;
  readonly p99Ms: number;
  /** Of a thousand requests. */
  readonly calls: number;
  readonly waits: number;
}

const PER_SECOND = 10_000;
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;
const limit = (scope: string, key: string, requests: number) => ({ requests, window: "1s", scope, key });
/** No limit refuses anything: refusals cost less than what they spare. */
const KINDS: Readonly<Record<string, object>> = {
  "limit-none": {},
  "limit-local": { rate_limit: limit("node", "route", 30_000) },
  "limit-cluster": { rate_limit: limit("cluster", "route", 30_000) },
  "limit-cluster, by client": { rate_limit: limit("cluster", "client_ip", 30_000) },
  "limit-cluster, near it": { rate_limit: limit("cluster", "route", 9_000) },
};

/** CPU time a request with and without limits. Needs redis-server. */
export async function measureFleetLimits(options: Options, _lab: Lab): Promise<Section> {
  const samples: Record<string, Sample[]> = {};
  const redis = REDIS === null ? null : await RedisServer.start();
  for (let round = 0; round < options.rounds && redis !== null; round++) {
    for (const [name, more] of Object.entries(KINDS)) {
      const sample = await measureOnce(options, redis, more);
      samples[name] = [...(samples[name] ?? []), sample];
      progress(`round ${round + 1} ${name}: ${fixed(sample.cpuMicros, 2)} µs`);
    }
  }
  await redis?.stop();
  const of = (name: string, what: keyof Sample) => median((samples[name] ?? []).map((sample) => sample[what]));
  const rows = Object.keys(samples).map((name) => [
    name,
    fixed(of(name, "cpuMicros"), 2),
    fixed(of(name, "cpuMicros") - of("limit-none", "cpuMicros"), 2),
    fixed(of(name, "p99Ms"), 2),
    fixed(of(name, "calls"), 2),
    fixed(of(name, "waits"), 2),
  ]);
  const head = ["10,000/s", "CPU µs a request", "above none", "p99 ms", "calls of 1,000", "waits of 1,000"];
  return { name: "limits", markdown: table(head, rows), data: samples, failed: redis === null };
}

async function measureOnce(options: Options, redis: RedisServer, more: object): Promise<Sample> {
  const gateway = await startGateway({
    config: { server: { workers: 1 }, cluster: { store: redis.url } },
    routes: [{ type: "respond", path: "/x", body: "x", ...more }],
    binary: options.edge,
  });
  try {
    const plan = { port: gateway.port, path: "/x", connections: CONNECTIONS, benignPerSecond: PER_SECOND };
    await runPaced({ ...plan, attacksPerSecond: 0, seconds: WARM_UP_SECONDS });
    const metric = (name: string) => gateway.metric(name);
    const read = async () => [await metric("gateway_cluster_calls_total"), await metric("gateway_cluster_waits_total")];
    const [calls = 0, waits = 0] = await read();
    const before = cpuSeconds([gateway.pid]);
    const tally = await runPaced({ ...plan, attacksPerSecond: 0, seconds: options.seconds });
    const cpuMicros = ((cpuSeconds([gateway.pid]) - before) * 1e6) / (PER_SECOND * options.seconds);
    const [callsAfter = 0, waitsAfter = 0] = await read();
    const thousands = (PER_SECOND * options.seconds) / 1000;
    return {
      cpuMicros,
      p99Ms: tally.latency.percentileMs(99),
      calls: (callsAfter - calls) / thousands,
      waits: (waitsAfter - waits) / thousands,
    };
  } finally {
    await gateway.stop();
  }
}
