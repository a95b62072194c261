// What a function that says hello costs in this gateway, beside JavaScript and Lua in nginx, and beside runtimes behind a proxy.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixed, inTurn, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { runPaced } from "./paced-run.ts";
import { cpuSeconds } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";
import { freePorts, ServerProcess } from "./server-process.ts";

/** One way to run the function, and all processes that a request of it goes through. */
interface Setup {
  readonly name: string;
  readonly port: number;
  readonly path: string;
  readonly processes: readonly ServerProcess[];
}

/** One turn. */
interface Sample {
  /** Of all processes of the set-up. */
  readonly cpuMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
  readonly failed: number;
}

const PER_SECOND = 10_000;
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;
const TURN_SECONDS = 2;
const OWN = "edge, function";
const WORKERD = join(
  import.meta.dir,
  `../../.bun/workerd/node_modules/@cloudflare/workerd-${process.platform}-${process.arch === "x64" ? 64 : process.arch}/bin/workerd`,
);

/** CPU time and latency of a request of "hello", all of them in turns of one run; those that are not installed are left out. */
export async function measureFunctionPeers(options: Options, lab: Lab): Promise<Section> {
  const setups = await startAll(options, lab);
  const samples = new Map<string, Sample[]>();
  try {
    for (const setup of setups) await load(setup, WARM_UP_SECONDS);
    for (let round = 1; round <= options.rounds; round++) {
      for (let second = 0; second < options.seconds; second += TURN_SECONDS) {
        for (const setup of inTurn(setups, round)) {
          const sample = await takeTurn(setup);
          samples.set(setup.name, [...(samples.get(setup.name) ?? []), sample]);
          progress(`round ${round} ${setup.name}: ${fixed(sample.cpuMicros, 2)} µs, p99 ${fixed(sample.p99Ms, 2)} ms`);
        }
      }
    }
  } finally {
    for (const { processes } of setups) for (const server of processes) await server.stop();
  }
  const failed = [...samples.values()].flat().reduce((sum, sample) => sum + sample.failed, 0);
  return {
    name: "function-peers",
    markdown: markdownOf(samples),
    data: Object.fromEntries(samples),
    failed: failed > 0,
  };
}

async function takeTurn(setup: Setup): Promise<Sample> {
  const pids = setup.processes.flatMap((server) => server.pids);
  const [before, started] = [cpuSeconds(pids), performance.now()];
  const tally = await load(setup, TURN_SECONDS);
  const spent = cpuSeconds(pids) - before;
  return {
    cpuMicros: (spent / tally.benignGood) * 1e6,
    p50Ms: tally.latency.percentileMs(50),
    p99Ms: tally.latency.percentileMs(99),
    perSecond: (tally.benignGood / (performance.now() - started)) * 1000,
    failed: tally.benignTotal - tally.benignGood,
  };
}

function load({ port, path }: Setup, seconds: number) {
  const rates = { benignPerSecond: PER_SECOND, attacksPerSecond: 0 };
  return runPaced({ port, path, connections: CONNECTIONS, seconds, ...rates });
}

// ── the set-ups ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A server that other runtimes are measured in, and what it needs. */
interface Peer {
  /** The package that scripts/install-peers installs. */
  readonly name: string;
  readonly files: readonly string[];
  start(lab: Lab): Promise<Setup[]>;
}

async function startAll(options: Options, lab: Lab): Promise<Setup[]> {
  const setups = await startOwn(options, lab);
  for (const peer of peers()) {
    if (peer.files.every((file) => existsSync(file))) setups.push(...(await peer.start(lab)));
    else console.error(`not installed, left out: ${peer.name} (scripts/install-peers)`);
  }
  return setups;
}

async function startOwn(options: Options, lab: Lab): Promise<Setup[]> {
  const [port, bunPort] = freePorts(2) as [number, number];
  const serve = `Bun.serve({ port: ${bunPort}, hostname: "127.0.0.1", fetch: () => new Response("hello") });`;
  const bun = await start(lab, "bun", bunPort, [process.execPath, "-e", serve]);
  const edge = await start(lab, "edge", port, [
    ...[options.edge, "serve", "--config", put(lab, "functions.yaml", edgeConfig(port))],
    ...["--routes", put(lab, "function-routes.yaml", edgeRoutes(lab, bunPort))],
  ]);
  return [
    { name: OWN, port, path: "/function", processes: [edge] },
    { name: "edge, proxying to Bun.serve", port, path: "/proxied", processes: [edge, bun] },
  ];
}

function peers(): Peer[] {
  const modules = nginxModules();
  const [njs, ndk, lua] = ["ngx_http_js", "ndk_http", "ngx_http_lua"].map((name) =>
    join(modules, `${name}_module.so`),
  ) as [string, string, string];
  return [
    { name: "libnginx-mod-http-js", files: [njs], start: (lab) => startNjs(lab, njs) },
    { name: "libnginx-mod-http-lua", files: [ndk, lua], start: (lab) => startLua(lab, [ndk, lua]) },
    { name: "workerd", files: [WORKERD], start: startWorkerd },
  ];
}

async function startNjs(lab: Lab, module: string): Promise<Setup[]> {
  const [port] = freePorts(1) as [number];
  put(lab, "hello.js", 'export default { hello: (r) => r.return(200, "hello") };\n');
  const http = `js_path ${lab.dir}; js_import hello.js;`;
  const njs = await startNginx(lab, "njs", port, { modules: [module], http, location: "js_content hello.hello;" });
  return [{ name: "nginx with njs", port, path: "/", processes: [njs] }];
}

async function startLua(lab: Lab, modules: readonly string[]): Promise<Setup[]> {
  const [port, front] = freePorts(2) as [number, number];
  const location = 'content_by_lua_block { ngx.print("hello") }';
  const lua = await startNginx(lab, "lua", port, { modules, http: "", location });
  const proxy = await startNginx(lab, "lua-proxy", front, proxyTo(port));
  return [
    { name: "nginx with Lua", port, path: "/", processes: [lua] },
    { name: "nginx, proxying to nginx with Lua", port: front, path: "/", processes: [proxy, lua] },
  ];
}

async function startWorkerd(lab: Lab): Promise<Setup[]> {
  const [port, front] = freePorts(2) as [number, number];
  put(lab, "worker.js", 'export default { fetch: () => new Response("hello") };\n');
  const config = put(lab, "workerd.capnp", workerdConfig(port));
  const workerd = await start(lab, "workerd", port, [WORKERD, "serve", config]);
  const proxy = await startNginx(lab, "workerd-proxy", front, proxyTo(port));
  return [{ name: "nginx, proxying to workerd", port: front, path: "/", processes: [proxy, workerd] }];
}

function startNginx(lab: Lab, name: string, port: number, parts: NginxParts): Promise<ServerProcess> {
  const config = put(lab, `${name}.conf`, nginxConfig(lab, name, port, parts));
  return start(lab, name, port, ["nginx", "-p", lab.dir, "-c", config]);
}

async function start(lab: Lab, name: string, port: number, command: readonly string[]): Promise<ServerProcess> {
  const server = new ServerProcess(command, lab.dir, join(lab.dir, `${name}.log`));
  if (!(await server.isReady(port, name === "edge" ? "/health" : "/")))
    throw new Error(`${name} did not start: ${server.lastWords()}`);
  return server;
}

function put(lab: Lab, name: string, text: string): string {
  const file = join(lab.dir, name);
  writeFileSync(file, text);
  return file;
}

const edgeConfig = (port: number): string => `server:
  host: 127.0.0.1
  port: ${port}
  workers: 1
  access_log: {enabled: false}
`;

function edgeRoutes(lab: Lab, bunPort: number): string {
  put(lab, "hello.ts", 'export default { fetch: () => new Response("hello") };\n');
  return `- {type: function, prefix: /function, module: ${join(lab.dir, "hello.ts")}}
- {type: upstream, prefix: /proxied, target: "http://127.0.0.1:${bunPort}"}
`;
}

const workerdConfig = (port: number): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker.js", esModule = embed "worker.js")],
    compatibilityDate = "2025-01-01",
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;

/** What differs between the nginx processes. */
interface NginxParts {
  /** By their paths. */
  readonly modules: readonly string[];
  readonly http: string;
  readonly location: string;
}

function proxyTo(port: number): NginxParts {
  return {
    modules: [],
    http: `upstream behind { server 127.0.0.1:${port}; keepalive 256; keepalive_requests 1000000000; }`,
    location: `proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;`,
  };
}

function nginxConfig({ dir }: Lab, name: string, port: number, { modules, http, location }: NginxParts): string {
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (k) => `${k}_temp_path ${dir}/${name}-${k};`,
  );
  return `${modules.map((file) => `load_module ${file};`).join("\n")}
daemon off; pid ${dir}/${name}.pid; error_log stderr; worker_processes 1;
events { worker_connections 4096; }
http {
  access_log off; keepalive_timeout 300s; keepalive_requests 1000000000;
  ${folders.join(" ")}
  ${http}
  server { listen 127.0.0.1:${port}; location / { ${location} } }
}
`;
}

/** Where nginx has its modules. */
function nginxModules(): string {
  const said = Bun.spawnSync(["nginx", "-V"]).stderr.toString();
  return /--modules-path=(\S+)/.exec(said)?.[1] ?? "/usr/lib/nginx/modules";
}

// ── the table ───────────────────────────────────────────────────────────────────────────────────────────────────────

function markdownOf(samples: ReadonlyMap<string, readonly Sample[]>): string {
  const of = (name: string, what: keyof Sample) => median((samples.get(name) ?? []).map((sample) => sample[what]));
  const own = of(OWN, "cpuMicros");
  const rows = [...samples.keys()].map((name) => [
    name,
    fixed(of(name, "cpuMicros"), 2),
    fixed(own / of(name, "cpuMicros"), 2),
    fixed(of(name, "p50Ms"), 2),
    fixed(of(name, "p99Ms"), 2),
    fixed(of(name, "perSecond"), 0),
  ]);
  const head = ["hello", "CPU µs a request", "edge/this one", "p50 ms", "p99 ms", "requests a second"];
  const note =
    `${PER_SECOND} requests a second over ${CONNECTIONS} connections, one worker each, latency from the time at which each was ` +
    "due; CPU of all processes that a request goes through. Below 1.00 the function in the gateway is cheaper.";
  return `${table(head, rows)}\n\n${note}`;
}
