// What a change in a cluster costs the gateway: processor time of the control thread and of the workers for each change of endpoints and of a route,
// by the number of all routes. bun tests/bench/cluster-changes.ts [ROUTES…], after scripts/build. The API server is that of the tests.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiServer, type ClusterObject } from "../harness/api-server.ts";
import { freePort } from "../harness/ports.ts";

const EDGE = process.env.EDGE_BINARY ?? join(import.meta.dir, "../../edge");
const COMMAND = process.env.EDGE_COMMAND?.split(" ") ?? [EDGE];
const COUNTS = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [100, 1000, 5000];
const CHANGES = Number(process.env.CHANGES ?? 40);
const ENDPOINTS = 4;
const NS = "scale";
const GATEWAY = "gateway.networking.k8s.io/v1";
const LONGEST_MS = 120_000;
/** Kernel ticks a second. */
const TICKS = 100;

function slice(i: number, salt: number, port: number): ClusterObject {
  return {
    ...{ kind: "EndpointSlice", addressType: "IPv4" },
    metadata: { name: `s${i}-1`, namespace: NS, labels: { "kubernetes.io/service-name": `s${i}` } },
    ports: [{ name: "http", protocol: "TCP", port }],
    endpoints: Array.from({ length: i === 0 ? 1 : ENDPOINTS }, (_, k) => ({
      addresses: [i === 0 ? "127.0.0.1" : `10.92.${i >> 5}.${(i & 31) * 8 + ((k + salt) % 7) + 1}`],
      conditions: { ready: true },
    })),
  };
}

function route(i: number, salt: number): ClusterObject {
  const set = [{ name: "X-V", value: String(salt) }];
  return {
    ...{ apiVersion: GATEWAY, kind: "HTTPRoute", metadata: { name: `r${i}`, namespace: NS } },
    spec: {
      parentRefs: [{ name: "gateway" }],
      hostnames: [`h${i}.example`],
      rules: [
        {
          backendRefs: [{ name: `s${i}`, port: 80 }],
          filters: [{ type: "ResponseHeaderModifier", responseHeaderModifier: { set } }],
        },
      ],
    },
  };
}

/** Seconds of the control thread, and of the whole process. */
function cpuOf(pid: number): { readonly control: number; readonly all: number } {
  const seconds = (path: string): number => {
    const fields = readFileSync(path, "utf8").split(") ").at(-1)!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  };
  const all = readdirSync(`/proc/${pid}/task`).reduce((sum, id) => {
    try {
      return sum + seconds(`/proc/${pid}/task/${id}/stat`);
    } catch {
      return sum;
    }
  }, 0);
  return { control: seconds(`/proc/${pid}/task/${pid}/stat`), all };
}

/** The API server with so many routes, their Services and endpoints. The first route alone leads to a server. */
function furnished(routes: number, at: number, port: number): ApiServer {
  const api = new ApiServer(0, 500);
  api.put(
    { kind: "Namespace", metadata: { name: NS } },
    {
      ...{ apiVersion: GATEWAY, kind: "GatewayClass", metadata: { name: "edge" } },
      spec: { controllerName: "edge.dev/gateway" },
    },
    {
      ...{ apiVersion: GATEWAY, kind: "Gateway", metadata: { name: "gateway", namespace: NS } },
      spec: { gatewayClassName: "edge", listeners: [{ name: "http", port: at, protocol: "HTTP" }] },
    },
  );
  for (let i = 0; i < routes; i++)
    api.put(
      {
        ...{ kind: "Service", metadata: { name: `s${i}`, namespace: NS } },
        spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }] },
      },
      slice(i, 0, port),
      route(i, 0),
    );
  return api;
}

/** A gateway that serves its routes. */
function started(folder: string, api: ApiServer, own: number) {
  writeFileSync(join(folder, "kubeconfig"), api.kubeconfig("bench"));
  writeFileSync(
    join(folder, "config.yaml"),
    JSON.stringify({
      server: { port: own, host: "127.0.0.1", workers: 1, access_log: { enabled: false } },
      providers: { kubernetes: { kubeconfig: "kubeconfig", addresses: ["127.0.0.80/30"] } },
    }),
  );
  return Bun.spawn([...COMMAND, "serve"], {
    cwd: folder,
    env: { ...process.env, STATE_DIRECTORY: join(folder, "state") },
    stdio: ["ignore", Bun.file(join(folder, "log")), "inherit"],
  });
}

/** Makes changes one after another. @returns milliseconds of processor time for each, and the median until it serves */
async function costOf(pid: number, change: (n: number) => Promise<void>): Promise<string> {
  const times: number[] = [];
  const before = cpuOf(pid);
  for (let n = 1; n <= CHANGES; n++) {
    const from = performance.now();
    await change(n);
    times.push(performance.now() - from);
    await Bun.sleep(20);
  }
  await Bun.sleep(500);
  const after = cpuOf(pid);
  times.sort((x, y) => x - y);
  const control = ((after.control - before.control) / CHANGES) * 1000;
  const others = ((after.all - before.all) / CHANGES) * 1000 - control;
  return `${control.toFixed(1)} | ${others.toFixed(1)} | ${times[times.length >> 1]!.toFixed(0)}`;
}

async function until(isThere: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await isThere().catch(() => false))) {
    if (performance.now() - began > LONGEST_MS) throw new Error("no change for two minutes");
    await Bun.sleep(10);
  }
}

async function measured(routes: number): Promise<string> {
  const origins = ["a", "b"].map((name) =>
    Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(name) }),
  );
  const [at, own] = [await freePort(), await freePort()];
  const api = furnished(routes, at, origins[0]!.port!);
  const folder = mkdtempSync(join(tmpdir(), "edge-cluster-"));
  const child = started(folder, api, own);
  const ask = async (i: number) => {
    const reply = await fetch(`http://127.0.0.81:${at}/`, { headers: { Host: `h${i}.example` } });
    return { status: reply.status, text: await reply.text(), version: reply.headers.get("x-v") };
  };
  try {
    await until(async () => (await ask(routes - 1)).status !== 404 && (await ask(0)).version === "0");
    await until(async () => api.get("HTTPRoute", `r${routes - 1}`, NS)?.status !== undefined);
    await Bun.sleep(3000);
    const endpoints = await costOf(child.pid, async (n) => {
      api.put(slice(0, n, origins[n % 2]!.port!));
      await until(async () => (await ask(0)).text === "ab"[n % 2]);
    });
    const rules = await costOf(child.pid, async (n) => {
      api.put(route(0, n));
      await until(async () => (await ask(0)).version === String(n));
    });
    const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
    return `| ${routes} | ${endpoints} | ${rules} | ${Math.round(Number(kilobytes) / 1024)} |`;
  } finally {
    child.kill();
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
    await api.away();
    for (const one of origins) await one.stop(true);
  }
}

console.log(
  "| routes | endpoints: control thread, ms | other threads, ms | until it serves, ms | a route: control thread, ms | other threads, ms | until it serves, ms | RSS, MiB |",
);
console.log("|---:|---:|---:|---:|---:|---:|---:|---:|");
for (const count of COUNTS) console.log(await measured(count));
