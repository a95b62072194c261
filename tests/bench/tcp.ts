// What a forwarded TCP connection costs beside HAProxy and nginx's stream module: for each GiB, and for each short connection.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixed, inTurn, median, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { cpuSeconds } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";
import { freePorts, ServerProcess } from "./server-process.ts";

interface Setup {
  readonly name: string;
  readonly port: number;
  readonly server: ServerProcess;
}

/** CPU time of one turn, in milliseconds a GiB and microseconds a connection. */
interface Sample {
  readonly perGib: number;
  readonly perConnection: number;
}

const STREAMS = 4;
const STREAM_BYTES = 256 * 1024 * 1024;
const GIB = 1024 ** 3;
const PARALLEL = 16;
const CONNECTIONS = 10_000;
const ANSWER_BYTES = 100;
const OWN = "edge";
const READY_MS = 10_000;

/** CPU time of forwarding, all set-ups in turns of one run; those that are not installed are left out. */
export async function measureTcp(options: Options, lab: Lab): Promise<Section> {
  const origin = startOrigin();
  const setups = await startAll(options, lab, origin.port);
  const samples = new Map<string, Sample[]>();
  try {
    for (const setup of setups) await takeTurn(setup);
    for (let round = 1; round <= options.rounds * TURNS_A_ROUND; round++) {
      for (const setup of inTurn(setups, round)) {
        const sample = await takeTurn(setup);
        samples.set(setup.name, [...(samples.get(setup.name) ?? []), sample]);
        progress(`${setup.name}: ${fixed(sample.perGib, 0)} ms/GiB, ${fixed(sample.perConnection, 1)} µs/connection`);
      }
    }
  } finally {
    for (const { server } of setups) await server.stop();
    origin.stop();
  }
  return { name: "tcp", markdown: markdownOf(samples), data: Object.fromEntries(samples), failed: false };
}

const TURNS_A_ROUND = 3;

async function takeTurn({ port, server }: Setup): Promise<Sample> {
  const { pids } = server;
  const before = cpuSeconds(pids);
  await Promise.all(Array.from({ length: STREAMS }, () => exchange(port, STREAM_BYTES)));
  const between = cpuSeconds(pids);
  let left = CONNECTIONS;
  const client = async (): Promise<void> => {
    while (left-- > 0) await exchange(port, ANSWER_BYTES);
  };
  await Promise.all(Array.from({ length: PARALLEL }, client));
  const after = cpuSeconds(pids);
  return {
    perGib: ((between - before) * 1e3 * GIB) / (STREAMS * STREAM_BYTES),
    perConnection: ((after - between) * 1e6) / CONNECTIONS,
  };
}

/** A connection that asks for so many bytes, takes them, and ends. */
async function exchange(port: number, bytes: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let got = 0;
  await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => void socket.write(`${bytes}\n`),
      data(socket, chunk) {
        got += chunk.length;
        // Given back at once: left to the collector it would slow the load down.
        if (chunk.length > 65_536 && chunk.buffer instanceof ArrayBuffer) chunk.buffer.transfer(0);
        if (got >= bytes) socket.end();
      },
      close: () => (got >= bytes ? resolve() : reject(new Error(`only ${got} of ${bytes} bytes came`))),
      error: (_, error) => reject(error),
    },
  });
  return promise;
}

/** Sends as many bytes as it is asked for, and ends when its client does. */
function startOrigin(): { port: number; stop(): void } {
  const piece = Buffer.alloc(262_144, "x");
  const send = (socket: Bun.Socket<{ left: number }>): void => {
    while (socket.data.left > 0) {
      const sent = socket.write(piece, 0, Math.min(piece.length, socket.data.left));
      if (sent <= 0) return;
      socket.data.left -= sent;
    }
  };
  const server = Bun.listen<{ left: number }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { left: 0 };
      },
      data(socket, chunk) {
        socket.data.left += Number(chunk.toString());
        send(socket);
      },
      drain: send,
      error() {},
    },
  });
  return { port: server.port, stop: () => server.stop(true) };
}

async function startAll(options: Options, lab: Lab, origin: number): Promise<Setup[]> {
  const [http, own, haproxy, nginx, closing, bare] = freePorts(6) as [number, number, number, number, number, number];
  const config = put(
    lab,
    "tcp.yaml",
    `server: { host: 127.0.0.1, port: ${http}, workers: 1, access_log: { enabled: false } }\n`,
  );
  const routes = put(
    lab,
    "tcp-routes.yaml",
    `- { type: tcp, listen: "127.0.0.1:${own}", target: "127.0.0.1:${origin}" }\n`,
  );
  const runtime = [process.execPath, join(import.meta.dir, "bare-proxy.ts"), String(bare), String(origin)];
  const setups = [
    await start(lab, OWN, own, [options.edge, "serve", "--config", config, "--routes", routes]),
    await start(lab, "the runtime alone", bare, runtime),
  ];
  if (Bun.which("haproxy") !== null) {
    const file = put(lab, "tcp-haproxy.cfg", haproxyConfig(haproxy, origin));
    setups.push(await start(lab, "HAProxy", haproxy, ["haproxy", "-db", "-f", file]));
  } else console.error("not installed, left out: haproxy (scripts/install-peers)");
  const module = "/usr/lib/nginx/modules/ngx_stream_module.so";
  if (Bun.which("nginx") !== null && existsSync(module)) {
    for (const [name, port, halfClose] of [
      ["nginx stream", nginx, "on"],
      ["nginx stream, no half-close", closing, "off"],
    ] as const) {
      const file = put(lab, `tcp-nginx-${halfClose}.conf`, nginxConfig(lab, module, port, origin, halfClose));
      setups.push(await start(lab, name, port, ["nginx", "-p", lab.dir, "-c", file]));
    }
  } else console.error("not installed, left out: libnginx-mod-stream (scripts/install-peers)");
  return setups;
}

async function start(lab: Lab, name: string, port: number, command: readonly string[]): Promise<Setup> {
  const server = new ServerProcess(command, lab.dir, join(lab.dir, `tcp-${name.replace(/\W/g, "-")}.log`));
  const end = performance.now() + READY_MS;
  while (server.isAlive && performance.now() < end) {
    const isReady = await exchange(port, 1).then(
      () => true,
      () => false,
    );
    if (isReady) return { name, port, server };
    await Bun.sleep(20);
  }
  throw new Error(`${name} did not start: ${server.lastWords()}`);
}

function put(lab: Lab, name: string, text: string): string {
  const file = join(lab.dir, name);
  writeFileSync(file, text);
  return file;
}

const haproxyConfig = (port: number, origin: number): string => `global
  nbthread 1
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen tcp
  bind 127.0.0.1:${port}
  server origin 127.0.0.1:${origin}
`;

/** @param halfClose whether the end of one direction leaves the other, as it does with edge and HAProxy; nginx itself says off */
const nginxConfig = (
  { dir }: Lab,
  module: string,
  port: number,
  origin: number,
  halfClose: "on" | "off",
): string => `load_module ${module};
daemon off; pid ${dir}/tcp-nginx-${halfClose}.pid; error_log stderr; worker_processes 1;
events { worker_connections 4096; }
stream { server { listen 127.0.0.1:${port}; proxy_pass 127.0.0.1:${origin}; proxy_half_close ${halfClose}; } }
`;

function markdownOf(samples: ReadonlyMap<string, readonly Sample[]>): string {
  const of = (name: string, what: keyof Sample) => median((samples.get(name) ?? []).map((sample) => sample[what]));
  const ratio = (name: string, what: keyof Sample) => fixed(of(OWN, what) / of(name, what), 2);
  const rows = [...samples.keys()].map((name) => [
    name,
    fixed(of(name, "perGib"), 0),
    ratio(name, "perGib"),
    fixed(of(name, "perConnection"), 1),
    ratio(name, "perConnection"),
  ]);
  const head = ["TCP forwarded", "CPU ms a GiB", "edge/this one", "CPU µs a connection", "edge/this one"];
  const note =
    `A GiB over ${STREAMS} connections at a time; ${CONNECTIONS} connections of one question and ${ANSWER_BYTES} bytes, ${PARALLEL} at a time, each ended ` +
    "by the client. One worker or thread each, usual settings, no log, medians of turns. Below 1.00 the gateway is cheaper. The runtime alone is tests/bench/bare-proxy.ts, which does nothing but forward. The end of one " +
    "direction leaves the other open (proxy_half_close on) but in the last row, where nginx closes both at once: less work, and what the server " +
    "still had to say is lost.";
  return `${table(head, rows)}\n\n${note}`;
}
