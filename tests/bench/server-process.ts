// Starts the servers under test and ends them again, by process id, whatever way the benchmark ends.
import { closeSync, openSync, readFileSync } from "node:fs";
import { processTree } from "./process-stats.ts";

const READY_LIMIT_MS = 10_000;
/** Short, for it is part of a measured start time. */
const READY_PAUSE_MS = 2;
const STOP_LIMIT_MS = 5_000;
const PROBE_LIMIT_MS = 1_000;
// Below the range that the kernel hands out to clients, so that thousands of connections cannot take a server's port.
const FIRST_PORT = 10_000;
const PORT_SPAN = 20_000;

const running = new Set<ServerProcess>();
process.on("exit", () => {
  for (const server of running) server.kill();
});

/** One server process with everything that it started. */
export class ServerProcess {
  readonly #child: Bun.Subprocess;
  readonly #logFile: string;

  /** Starts `command` in `cwd`; what it prints goes to `logFile`. */
  constructor(command: readonly string[], cwd: string, logFile: string) {
    const log = openSync(logFile, "w");
    this.#logFile = logFile;
    // A server that keeps files in its user's home (Caddy) keeps them in the temporary folder instead.
    const env = { ...process.env, HOME: cwd, XDG_CONFIG_HOME: cwd, XDG_DATA_HOME: cwd };
    // A process group of its own: it can be ended whole, even when its first process has died and left others behind.
    const files = { stdin: "ignore", stdout: log, stderr: log } as const;
    this.#child = Bun.spawn([...command], { cwd, env, detached: true, ...files });
    closeSync(log);
    running.add(this);
  }

  /** The process and its descendants, as they are now. */
  get pids(): number[] {
    return processTree(this.#child.pid);
  }

  /** False once the process has ended by itself. */
  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The end of what it printed, to explain a failed start. */
  lastWords(): string {
    return readFileSync(this.#logFile, "utf8").trim().split("\n").slice(-5).join("\n");
  }

  /** Waits until GET `path` is answered 200; false when that does not happen in time or the process ends. */
  async isReady(port: number, path: string, patienceMs: number = READY_LIMIT_MS): Promise<boolean> {
    const end = performance.now() + patienceMs;
    while (performance.now() < end && this.isAlive) {
      if (await answersOk(port, path)) return true;
      await Bun.sleep(READY_PAUSE_MS);
    }
    return false;
  }

  /** Asks the whole tree to end, and makes it after five seconds. */
  async stop(): Promise<void> {
    const tree = this.#targets();
    for (const target of tree) signal(target, "SIGTERM");
    await Promise.race([this.#child.exited, Bun.sleep(STOP_LIMIT_MS)]);
    for (const target of tree) signal(target, "SIGKILL");
    await this.#child.exited;
    running.delete(this);
  }

  /** Ends the whole tree at once, without waiting. */
  kill(): void {
    for (const target of this.#targets()) signal(target, "SIGKILL");
  }

  // Children before parents, and the group for those that have lost their parent.
  #targets(): number[] {
    return [...this.pids.reverse(), -this.#child.pid];
  }
}

/** Ports of 127.0.0.1 on which nobody listens now. */
export function freePorts(count: number): number[] {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORT_SPAN);
    if (ports.includes(port)) continue;
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      ports.push(port);
    } catch {
      // Taken: try another.
    }
  }
  return ports;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended already.
  }
}

// A bare connection instead of fetch: no pool that would hold a connection to a server that is about to be measured.
async function answersOk(port: number, path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, PROBE_LIMIT_MS, false);
  const no = () => resolve(false);
  const socket = {
    open: (s: Bun.Socket) => void s.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`),
    data: (_: Bun.Socket, bytes: Buffer) => resolve(bytes.latin1Slice(0, 13) === "HTTP/1.1 200 "),
    close: no,
    error: no,
    connectError: no,
  };
  const connection = await Bun.connect({ hostname: "127.0.0.1", port, socket }).catch(() => null);
  const ok = await promise;
  clearTimeout(timer);
  connection?.terminate();
  return ok;
}
