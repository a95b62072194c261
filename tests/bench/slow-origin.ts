// An origin that gets slower the more requests it has at once, under twice its capacity: edge without a limit, with fixed limits and with
// `auto`, beside HAProxy's maxconn and queue and Envoy's adaptive concurrency. docs/pressure.md#measured. Run by scripts/compare-pressure.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../harness/ports.ts";

/** Requests that the origin works on at once without slowing down, and how long each takes then. */
const WIDTH = 4;
const CALM_MS = 10;
const SLOWEST_MS = 400;
const CAPACITY = (WIDTH * 1000) / CALM_MS;
/** Offered: this many times the capacity. */
const LOAD = 2;
/** A response that takes longer is of no use to its client. */
const USEFUL_MS = 100;
const PATIENCE_MS = 1000;
const SECONDS = Number(process.argv[2] ?? 10);
const EDGE = process.env.EDGE_BINARY ?? join(import.meta.dir, "../../edge");

interface Figures {
  readonly name: string;
  /** Useful responses a second. */
  readonly goodput: number;
  readonly p50: number;
  readonly p99: number;
  readonly refused: number;
}

let now = 0;
const origin = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch() {
    now++;
    // Beyond its width it shares its capacity, and loses some to the sharing.
    const load = Math.max(1, now / WIDTH);
    await Bun.sleep(Math.min(SLOWEST_MS, CALM_MS * load ** 1.5));
    now--;
    return new Response("ok");
  },
});

/** Sends requests at an even pace, whatever comes of them. @param load times the capacity */
async function offer(name: string, port: number, load: number): Promise<Figures> {
  const times: number[] = [];
  let [refused, isCounted] = [0, false];
  const one = async (): Promise<void> => {
    const from = performance.now();
    try {
      const response = await fetch(`http://127.0.0.1:${port}/api/x`, { signal: AbortSignal.timeout(PATIENCE_MS) });
      await response.text();
      if (!isCounted) return;
      if (response.status === 200) times.push(performance.now() - from);
      else refused++;
    } catch {
      // It has given up.
    }
  };
  const running: Promise<void>[] = [];
  const from = performance.now();
  const warmS = 3;
  for (let sent = 0; ; ) {
    const passedS = (performance.now() - from) / 1000;
    if (passedS > SECONDS + warmS) break;
    isCounted = passedS > warmS;
    for (; sent < passedS * CAPACITY * load; sent++) running.push(one());
    await Bun.sleep(2);
  }
  await Promise.all(running);
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  const useful = times.filter((ms) => ms <= USEFUL_MS).length;
  return { name, goodput: useful / SECONDS, p50: at(0.5), p99: at(0.99), refused: refused / SECONDS };
}

interface Server {
  readonly name: string;
  readonly cmd: readonly string[];
  readonly port: number;
}

async function withProcess({ name, cmd, port }: Server, load: number): Promise<Figures> {
  const child = Bun.spawn([...cmd], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  try {
    for (let i = 0; i < 200; i++) {
      const isThere = await fetch(`http://127.0.0.1:${port}/api/x`).then(
        () => true,
        () => false,
      );
      if (isThere) break;
      await Bun.sleep(25);
    }
    return await offer(name, port, load);
  } finally {
    child.kill();
    await child.exited;
  }
}

function edge(name: string, concurrency: object | null, load = LOAD): Promise<Figures> {
  const port = freePort();
  const limit = concurrency === null ? "" : `, concurrency: ${JSON.stringify(concurrency)}`;
  writeFileSync(
    join(folder, "config.yaml"),
    `server: {port: ${port}, host: 127.0.0.1, workers: 1, access_log: {enabled: false}}\n`,
  );
  writeFileSync(
    join(folder, "routes.yaml"),
    `- {type: upstream, prefix: /api, target: "http://127.0.0.1:${origin.port}", retries: {attempts: 0}${limit}}\n`,
  );
  return withProcess({ name, cmd: [EDGE, "serve"], port }, load);
}

function haproxy(maxconn: number): Promise<Figures> {
  const port = freePort();
  const lines = [
    "defaults",
    "  mode http",
    "  timeout connect 1s",
    "  timeout client 5s",
    "  timeout server 5s",
    "  timeout queue 50ms",
    "frontend in",
    `  bind 127.0.0.1:${port}`,
    "  default_backend out",
    "backend out",
    `  server one 127.0.0.1:${origin.port} maxconn ${maxconn}`,
    "",
  ];
  writeFileSync(join(folder, "haproxy.cfg"), lines.join("\n"));
  return withProcess(
    { name: `HAProxy maxconn ${maxconn}, queue 50 ms`, cmd: ["haproxy", "-f", "haproxy.cfg"], port },
    LOAD,
  );
}

/** Its adaptive concurrency, with the values of its documentation. */
function envoy(command: string): Promise<Figures> {
  const port = freePort();
  const at = "type.googleapis.com/envoy.extensions";
  const address = (number: number) => ({ socket_address: { address: "127.0.0.1", port_value: number } });
  const adaptive = {
    "@type": `${at}.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency`,
    gradient_controller_config: {
      sample_aggregate_percentile: { value: 90 },
      concurrency_limit_params: { concurrency_update_interval: "0.1s" },
      min_rtt_calc_params: { jitter: { value: 10 }, interval: "30s", request_count: 50 },
    },
    enabled: { default_value: true, runtime_key: "adaptive_concurrency.enabled" },
  };
  const manager = {
    "@type": `${at}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "in",
    route_config: {
      virtual_hosts: [{ name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "out" } }] }],
    },
    http_filters: [
      { name: "envoy.filters.http.adaptive_concurrency", typed_config: adaptive },
      { name: "envoy.filters.http.router", typed_config: { "@type": `${at}.filters.http.router.v3.Router` } },
    ],
  };
  const listener = {
    address: address(port),
    filter_chains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] }],
  };
  const cluster = {
    name: "out",
    type: "STATIC",
    load_assignment: {
      cluster_name: "out",
      endpoints: [{ lb_endpoints: [{ endpoint: { address: address(Number(origin.port)) } }] }],
    },
  };
  writeFileSync(
    join(folder, "envoy.json"),
    JSON.stringify({ static_resources: { listeners: [listener], clusters: [cluster] } }),
  );
  const options = ["--concurrency", "1", "--log-level", "off", "--disable-hot-restart"];
  return withProcess(
    { name: "Envoy, adaptive concurrency", cmd: [command, "-c", "envoy.json", ...options], port },
    LOAD,
  );
}

const folder = mkdtempSync(join(tmpdir(), "edge-pressure-"));
const queue = { queue: 20, queue_timeout: "50ms" };
const found: Figures[] = [await edge("edge, no limit", null)];
for (const limit of [2, 4, 8, 16]) found.push(await edge(`edge, limit ${limit}`, { limit, ...queue }));
found.push(await edge("edge, auto", { limit: "auto", ...queue }));
const calm = await edge("edge, auto, half of the capacity", { limit: "auto", ...queue }, 0.5);
found.push(calm);
if (Bun.which("haproxy") !== null) for (const maxconn of [4, 8]) found.push(await haproxy(maxconn));
const envoyCommand = process.env.ENVOY ?? Bun.which("envoy");
if (envoyCommand !== null) found.push(await envoy(envoyCommand));
rmSync(folder, { recursive: true, force: true });
await origin.stop(true);

console.log(`Capacity ${CAPACITY}/s, offered ${CAPACITY * LOAD}/s; useful within ${USEFUL_MS} ms.\n`);
console.log("| | useful responses/s | p50 | p99 | refused/s |\n|---|---:|---:|---:|---:|");
for (const { name, goodput, p50, p99, refused } of found)
  console.log(
    `| ${name} | ${Math.round(goodput)} | ${p50.toFixed(1)} ms | ${p99.toFixed(1)} ms | ${Math.round(refused)} |`,
  );
const best = Math.max(...found.filter(({ name }) => /edge, limit/.test(name)).map(({ goodput }) => goodput));
const auto = found.find(({ name }) => name === "edge, auto")!;
const [ofBest, ofNone] = [auto.goodput / best, auto.goodput / Math.max(1, found[0]!.goodput)];
const slower = auto.p99 / calm.p99;
console.log(
  `\nauto / best fixed: ${ofBest.toFixed(2)} (at least 0.9); auto / none: ${ofNone.toFixed(1)} (at least 3); p99 / calm: ${slower.toFixed(2)} (at most 2)`,
);
process.exitCode = ofBest >= 0.9 && ofNone >= 3 && slower <= 2 ? 0 : 1;
