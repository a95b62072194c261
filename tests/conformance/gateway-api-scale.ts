// 5,000 HTTPRoutes, 20,000 endpoints and 100 changes a second on a real API server: how long a change takes, and what becomes of requests.
// bun tests/conformance/gateway-api-scale.ts [SECONDS] after scripts/conformance-gateway-api has built the control plane.
import { readFileSync } from "node:fs";
import { AdminApi } from "./kube/api.ts";
import { build, ControlPlane, HOME } from "./kube/control-plane.ts";
import { rights, startGateway } from "./kube/gateway.ts";

const ROUTES = Number(process.env.ROUTES ?? 5000);
const SERVICES = ROUTES;
const ENDPOINTS = 4;
const CHANGES_A_SECOND = 100;
const CLIENTS = 4;
const NS = "scale";
const GATEWAY = "gateway.networking.k8s.io/v1";
const [seconds = "60", pid = ""] = process.argv.slice(2);

if (pid === "") {
  build(HOME);
  const plane = new ControlPlane(HOME);
  try {
    await plane.start("standard", rights());
    const gateway = startGateway(plane);
    const child = plane.spawn([process.execPath, import.meta.path, seconds, String(gateway.pid)]);
    process.exitCode = await child.exited;
    console.log(await Bun.file(plane.lastLog).text());
  } finally {
    await plane.stop();
  }
} else await inside(Number(seconds) * 1000);

async function inside(ms: number): Promise<void> {
  const api = new AdminApi(HOME);
  const servers = [3000, 3001].map((port) =>
    Bun.serve({ hostname: "0.0.0.0", port, fetch: () => new Response(String(port)) }),
  );
  await furnish(api);
  const at = await settled(api);
  const started = performance.now();
  const end = started + ms;
  const before = cpuOf();
  const load = { good: 0, bad: [] as string[] };
  const times: Record<"route" | "endpoint", number[]> = { route: [], endpoint: [] };
  let changes = 0;
  await Promise.all([
    ...Array.from({ length: CLIENTS }, () => ask(at, end, load)),
    changing(api, end, () => changes++),
    probing(api, at, end, times),
  ]);
  const lasted = (performance.now() - started) / 1000;
  const shown = Object.entries(times).map(([name, all]) => {
    all.sort((a, b) => a - b);
    const at = (share: number) => Math.round(all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? -1);
    return `${name}: ${all.length} probes, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`;
  });
  console.log(`${ROUTES} HTTPRoutes, ${SERVICES * ENDPOINTS} endpoints, ${Math.round(lasted)} s`);
  console.log(`${changes} changes, ${Math.round(changes / lasted)} a second`);
  for (const line of shown) console.log(line);
  console.log(`${load.good} requests, ${load.bad.length} lost ${load.bad.slice(0, 3)}`);
  console.log(`gateway: ${memoryOf()} MiB, ${(cpuOf() - before).toFixed(1)} s of processor time`);
  for (const one of servers) await one.stop(true);
}

function slice(i: number, salt: number) {
  return {
    ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
    metadata: { name: `s${i}-1`, namespace: NS, labels: { "kubernetes.io/service-name": `s${i}` } },
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: i === 0 ? 3000 + (salt % 2) : 3000 }],
    endpoints: Array.from({ length: ENDPOINTS }, (_, k) => ({
      addresses: [`10.92.${i >> 5}.${(i & 31) * 8 + ((k + (i === 0 ? 0 : salt)) % 7) + 1}`],
      conditions: { ready: true },
    })),
  };
}

function route(i: number, salt: number) {
  const value = String(salt);
  return {
    ...{ apiVersion: GATEWAY, kind: "HTTPRoute", metadata: { name: `r${i}`, namespace: NS } },
    spec: {
      parentRefs: [{ name: "gateway" }],
      hostnames: [`h${i}.example`],
      rules: [
        {
          backendRefs: [{ name: `s${i % SERVICES}`, port: 80 }],
          filters: [{ type: "ResponseHeaderModifier", responseHeaderModifier: { set: [{ name: "X-V", value }] } }],
        },
      ],
    },
  };
}

async function furnish(api: AdminApi): Promise<void> {
  const core = `/api/v1/namespaces/${NS}`;
  const make = async (path: string, body: object): Promise<void> => {
    const { status, body: said } = await api.call("POST", path, body);
    if (status >= 300) throw new Error(`${path}: ${status} ${said.message}`);
  };
  await make("/api/v1/namespaces", { metadata: { name: NS } });
  await make(`/apis/${GATEWAY}/namespaces/${NS}/gateways`, {
    ...{ apiVersion: GATEWAY, kind: "Gateway", metadata: { name: "gateway" } },
    spec: { gatewayClassName: "edge", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
  });
  const work: (() => Promise<void>)[] = [];
  for (let i = 0; i < SERVICES; i++) {
    const spec = { ports: [{ name: "http", port: 80 }] };
    work.push(() => make(`${core}/services`, { metadata: { name: `s${i}` }, spec }));
    work.push(() => make(`/apis/discovery.k8s.io/v1/namespaces/${NS}/endpointslices`, slice(i, 0)));
  }
  for (let i = 0; i < ROUTES; i++) work.push(() => make(`/apis/${GATEWAY}/namespaces/${NS}/httproutes`, route(i, 0)));
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      for (let next = work.shift(); next !== undefined; next = work.shift()) await next();
    }),
  );
}

/** @returns the address of the Gateway, as soon as every route serves and has its status */
async function settled(api: AdminApi): Promise<string> {
  const path = `/apis/${GATEWAY}/namespaces/${NS}`;
  for (;;) {
    await Bun.sleep(1000);
    const { body } = await api.call("GET", `${path}/gateways/gateway`);
    const [listener] = body.status?.listeners ?? [];
    const address = body.status?.addresses?.[0]?.value;
    const { body: last } = await api.call("GET", `${path}/httproutes/r${ROUTES - 1}`);
    if (listener?.attachedRoutes === ROUTES && last.status?.parents !== undefined) return address;
  }
}

async function ask(at: string, end: number, load: { good: number; bad: string[] }): Promise<void> {
  while (performance.now() < end) {
    const Host = `h${Math.floor(Math.random() * ROUTES)}.example`;
    try {
      const reply = await fetch(`http://${at}/`, { headers: { Host } });
      const text = await reply.text();
      if (reply.status === 200 && text.startsWith("300")) load.good++;
      else load.bad.push(String(reply.status));
    } catch (error) {
      load.bad.push((error as { code?: string }).code ?? String(error));
    }
  }
}

/** Nine of ten changes are those of endpoints. The first route and its Service are left alone. */
async function changing(api: AdminApi, end: number, onChange: () => void): Promise<void> {
  const started = performance.now();
  let sent = 0;
  const open = new Set<Promise<void>>();
  while (performance.now() < end) {
    const due = Math.floor(((performance.now() - started) / 1000) * CHANGES_A_SECOND);
    for (; sent < due && open.size < 32; sent++) {
      const one = change(api, sent).then(() => {
        onChange();
        open.delete(one);
      });
      open.add(one);
    }
    await Bun.sleep(5);
  }
  await Promise.all(open);
}

async function change(api: AdminApi, n: number): Promise<void> {
  if (n % 10 === 0) {
    const i = 1 + (n % (ROUTES - 1));
    const { spec } = route(i, n);
    await api.patch(`/apis/${GATEWAY}/namespaces/${NS}/httproutes/r${i}`, { spec });
  } else {
    const i = 1 + (n % (SERVICES - 1));
    const { endpoints, ports } = slice(i, n);
    const path = `/apis/discovery.k8s.io/v1/namespaces/${NS}/endpointslices/s${i}-1`;
    await api.patch(path, { endpoints, ports });
  }
}

async function probing(api: AdminApi, at: string, end: number, times: Record<"route" | "endpoint", number[]>) {
  for (let n = 1; performance.now() < end; n++) {
    const kind = n % 2 === 0 ? "route" : "endpoint";
    const from = performance.now();
    if (kind === "route") {
      const { spec } = route(0, n);
      await api.patch(`/apis/${GATEWAY}/namespaces/${NS}/httproutes/r0`, { spec });
    } else {
      const { ports } = slice(0, (n + 1) / 2);
      await api.patch(`/apis/discovery.k8s.io/v1/namespaces/${NS}/endpointslices/s0-1`, { ports });
    }
    const wanted = kind === "route" ? String(n) : String(3000 + (((n + 1) / 2) % 2));
    for (;;) {
      const reply = await fetch(`http://${at}/`, { headers: { Host: "h0.example" } });
      const text = await reply.text();
      if ((kind === "route" ? reply.headers.get("x-v") : text) === wanted) break;
      if (performance.now() - from > 60_000) throw new Error(`the ${kind} has not changed for a minute`);
      await Bun.sleep(5);
    }
    times[kind].push(performance.now() - from);
    await Bun.sleep(100);
  }
}

/** Seconds of the gateway. */
function cpuOf(): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function memoryOf(): number {
  const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}
