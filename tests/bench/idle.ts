// Idle memory: what thousands of kept connections, each of which has asked once, add to a server's resident memory.
import { fixed, table } from "./figures.ts";
import type { Lab } from "./lab.ts";
import type { Options } from "./options.ts";
import { clientPorts, openFileLimit, residentMb } from "./process-stats.ts";
import { progress, type Section } from "./section.ts";
import { edgeServer, installedPeers, type ServerSpec, startServer } from "./servers.ts";

interface Idle {
  readonly connections: number;
  readonly residentBeforeMb: number;
  readonly addedMb: number;
}

const PEERS_THAT_KEEP = ["nginx", "haproxy", "caddy"];
const REQUEST = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const BATCH = 200;
/** Descriptors that a process needs beside the connections. */
const SPARE_FILES = 500;
const SETTLE_MS = 1_500;
const OPEN_LIMIT_MS = 10_000;

/** Opens the idle connections to one server after the other. */
export async function measureIdle(options: Options, lab: Lab): Promise<Section> {
  const wanted = Math.min(options.idleConnections, openFileLimit() - SPARE_FILES);
  const peers = installedPeers(options.peers.filter((name) => PEERS_THAT_KEEP.includes(name)));
  const found: Record<string, Idle> = {};
  for (const server of [edgeServer(options.edge), ...peers]) {
    const idle = await measureServer(server, lab, wanted);
    if (idle === null) continue;
    found[server.name] = idle;
    progress(`idle ${server.name}: ${fixed(idle.addedMb, 1)} MiB for ${idle.connections} connections`);
  }
  const rows = Object.entries(found).map(([name, idle]) => [
    name,
    String(idle.connections),
    fixed(idle.residentBeforeMb, 1),
    fixed(idle.addedMb, 1),
    fixed((idle.addedMb / idle.connections) * 1000, 2),
  ]);
  const head = ["idle connections", "open", "resident MiB before", "added MiB", "MiB per 1,000"];
  const failed = found.edge === undefined || found.edge.connections < wanted;
  return { name: "idle", markdown: table(head, rows), data: found, failed };
}

async function measureServer(server: ServerSpec, lab: Lab, wanted: number): Promise<Idle | null> {
  const running = await startServer(server, lab, "plain");
  if (running === null) return null;
  const sockets: Bun.Socket[] = [];
  try {
    // The first requests fill what is not a matter of connections.
    for (let i = 0; i < BATCH; i++) (await openAndAsk(running.ports.http, 0))?.terminate();
    await Bun.sleep(SETTLE_MS);
    const residentBeforeMb = residentMb(running.process.pids);
    await openAll(sockets, running.ports.http, wanted);
    await Bun.sleep(SETTLE_MS);
    const connections = sockets.filter((socket) => socket.readyState > 0).length;
    return { connections, residentBeforeMb, addedMb: residentMb(running.process.pids) - residentBeforeMb };
  } finally {
    // A reset leaves no connection behind that waits for its end.
    for (const socket of sockets) socket.terminate();
    await running.process.stop();
  }
}

/** Opens kept connections, each of which has asked once. @returns what closes them */
export async function openIdle(port: number, wanted: number): Promise<() => void> {
  const sockets: Bun.Socket[] = [];
  await openAll(sockets, port, Math.min(wanted, openFileLimit() - SPARE_FILES));
  return () => {
    for (const socket of sockets) socket.terminate();
  };
}

async function openAll(sockets: Bun.Socket[], port: number, wanted: number): Promise<void> {
  while (sockets.length < wanted) {
    const todo = Math.min(BATCH, wanted - sockets.length);
    const batch = Array.from({ length: todo }, (_, i) => openAndAsk(port, sockets.length + i));
    const opened = (await Promise.all(batch)).filter((socket) => socket !== null);
    sockets.push(...opened);
    if (opened.length < todo) break;
  }
}

// One loopback address has only so many client ports: the connections take turns over as many addresses as they need.
function clientAddress(index: number): string {
  const perAddress = Math.floor(clientPorts() / 2);
  return `127.0.0.${2 + Math.floor(index / perAddress)}`;
}

async function openAndAsk(port: number, index: number): Promise<Bun.Socket | null> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, OPEN_LIMIT_MS, false);
  const no = () => resolve(false);
  const connection = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    // Bun passes it on, although its types do not name it.
    ...{ localAddress: clientAddress(index) },
    socket: {
      open: (socket) => void socket.write(REQUEST),
      data: (_, bytes) => resolve(bytes.latin1Slice(0, 13) === "HTTP/1.1 200 "),
      close: no,
      error: no,
      connectError: no,
    },
  }).catch(() => null);
  const ok = connection !== null && (await promise);
  clearTimeout(timer);
  if (!ok) connection?.terminate();
  return ok ? connection : null;
}
