// HTTP/3 beside Caddy's: CPU time and requests. The client shares the machine and costs more than either server, so the
// throughput says little; the CPU time of the server is the figure.
import { join } from "node:path";
import { fixed, median, table } from "./figures.ts";
import { type Lab, makeCertificate } from "./lab.ts";
import type { Options } from "./options.ts";
import { cpuSeconds } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, installedPeers, type ServerSpec, startServer } from "./servers.ts";

interface Sample {
  readonly requests: number;
  readonly failed: number;
  readonly seconds: number;
  readonly cpuMicrosPerRequest: number;
}

const LOAD = join(import.meta.dir, "http3-load.ts");
const PATHS = { "direct, HTTP/3": "/health", "proxy-small, HTTP/3": "/p/x" };
const CONNECTIONS = 8;
const STREAMS = 16;

/** Measures the gateway and Caddy in turn, in every round. */
export async function measureHttp3(options: Options, lab: Lab): Promise<Section> {
  const servers = [edgeServer(options.edge), ...installedPeers(options.peers.filter((name) => name === "caddy"))];
  const samples: Record<string, Record<string, Sample[]>> = {};
  if (!makeCertificate(lab.dir)) throw new Error("HTTP/3 needs a certificate, and openssl to make it");
  for (const [name, path] of Object.entries(PATHS)) {
    for (let round = 1; round <= options.rounds; round++) {
      for (const server of servers) {
        const sample = await measureOnce(server, path, options.seconds, lab);
        if (sample === null) continue;
        samples[name] ??= {};
        samples[name][server.name] = [...(samples[name][server.name] ?? []), sample];
        progress(`round ${round} ${name} ${server.name}: ${fixed(sample.cpuMicrosPerRequest, 1)} us a request`);
      }
    }
  }
  const figure = (of: readonly Sample[] | undefined, pick: (sample: Sample) => number) => median((of ?? []).map(pick));
  const rows = Object.entries(samples).map(([name, by]) => {
    const cost = (server: string) => figure(by[server], (s) => s.cpuMicrosPerRequest);
    const rate = (server: string) => figure(by[server], (s) => s.requests / s.seconds);
    return [
      name,
      fixed(cost("edge"), 1),
      fixed(cost("caddy"), 1),
      fixed(cost("edge") / cost("caddy"), 2),
      `${fixed(rate("edge"), 0)} / ${fixed(rate("caddy"), 0)}`,
    ];
  });
  return {
    name: "http3",
    markdown: table(["CPU µs per request", "edge", "caddy", "edge/caddy", "requests a second"], rows),
    data: samples,
    failed: Object.values(samples).some((by) => by.edge === undefined || by.edge.some((s) => s.failed > 0)),
  };
}

async function measureOnce(server: ServerSpec, path: string, seconds: number, lab: Lab): Promise<Sample | null> {
  const running = await startServer(server, lab, "http3");
  if (running === null) return null;
  try {
    const { pids } = running.process;
    await load(running.ports.tls, path, 1);
    const before = cpuSeconds(pids);
    const done = await load(running.ports.tls, path, seconds);
    return { ...done, cpuMicrosPerRequest: ((cpuSeconds(pids) - before) / done.requests) * 1e6 };
  } finally {
    await running.process.stop();
  }
}

async function load(port: number, path: string, seconds: number): Promise<Omit<Sample, "cpuMicrosPerRequest">> {
  const args = [port, path, seconds, CONNECTIONS, STREAMS].map(String);
  const child = Bun.spawn([process.execPath, LOAD, ...args], { stdout: "pipe", stderr: "ignore" });
  return JSON.parse(await child.stdout.text());
}
