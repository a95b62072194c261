import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { PATIENCE_MS } from "./byte-socket.ts";
import { eventFaults } from "./event-faults.ts";
import type { LogLine } from "./line-collector.ts";
import { LogFile } from "./log-file.ts";
import { parseMetrics, type Sample, sumOf } from "./metrics-text.ts";
import { freePort } from "./ports.ts";
import { exchangeOnce, RawClient, type Reply } from "./raw-client.ts";
import { type FinishedRun, runProcess } from "./run-process.ts";

export { freePort } from "./ports.ts";
export type { FinishedRun } from "./run-process.ts";

export type Settings = Record<string, unknown>;

/** What a gateway under test is started with. Everything is optional. */
export interface GatewayOptions {
  /** Laid over `DEFAULT_SERVER`; sections of `server` are merged, all else is replaced. */
  readonly config?: Settings;
  readonly routes?: readonly Settings[];
  /** Beside `routes`, in routes.yaml. */
  readonly maps?: Settings;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Files of the working folder, by relative path, beside `config.yaml` and `routes.yaml`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** A free one is taken without it. */
  readonly port?: number;
  /** Without it `EDGE_BINARY`. */
  readonly binary?: string;
  /** What the binary is started by, with its arguments: as another user, for instance. */
  readonly runner?: readonly string[];
}

const PROJECT = join(import.meta.dir, "..", "..");

/** The compiled gateway that the tests run; EDGE_BINARY names another one. */
export const EDGE_BINARY = process.env.EDGE_BINARY ?? join(PROJECT, "edge");

/** The build with the endpoints of `src/worker/test-hooks.ts`, made first where it is not there or too old. */
export function binaryWithHooks(): string {
  const build = Bun.spawnSync([join(PROJECT, "scripts", "build"), "--tests"], { stdout: "ignore", stderr: "pipe" });
  if (build.exitCode !== 0) throw new Error(`scripts/build --tests: ${build.stderr.toString()}`);
  return join(PROJECT, ".bun", "edge-test");
}

/** The exit code of a drain that cut something. */
const DRAIN_CUT = 3;

/** A gateway process that serves on a loopback port of its own. */
export class Gateway {
  constructor(
    readonly port: number,
    readonly folder: string,
    /** What it has written to its standard output, and to its standard error. */
    readonly logs: LogFile,
    readonly errors: LogFile,
    private readonly child: Bun.Subprocess<"ignore", number, number>,
  ) {}

  get pid(): number {
    return this.child.pid;
  }

  get hasExited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Opens a raw connection to the gateway. */
  connect(): Promise<RawClient> {
    return RawClient.connect(this.port);
  }

  /** One request on a connection of its own. */
  once(request: string | Uint8Array, method?: string): Promise<Reply> {
    return exchangeOnce(this.port, request, method);
  }

  /** Its metrics now. */
  async samples(): Promise<Sample[]> {
    return parseMetrics((await this.once("GET /metrics HTTP/1.1\r\nHost: gw.test\r\n\r\n")).text);
  }

  /** The sum of a metric's samples that carry these labels. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return sumOf(await this.samples(), name, labels);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Waits for the process to end; the exit code, or 128 + n after signal n. */
  async exited(patienceMs = PATIENCE_MS): Promise<number> {
    const code = await Promise.race([this.child.exited, Bun.sleep(patienceMs).then(() => null)]);
    if (code === null) throw new Error(`the gateway has not ended; ${this.lastWords()}`);
    return code;
  }

  /** Waits until a log line is there for which `matches` holds. */
  log(what: string, matches: (line: LogLine) => boolean): Promise<LogLine> {
    return this.logs.until(what, matches);
  }

  /** Sends SIGHUP. @returns the line of the reload that it brought; what reloaded before has said so */
  reload(): Promise<LogLine> {
    const seen = this.logs.json.length;
    this.signal("SIGHUP");
    const isNew = (line: LogLine): boolean => line.event === "config_reload" && this.logs.json.indexOf(line) >= seen;
    return this.logs.until("the reload", isNew);
  }

  /** Resident memory now and at its peak, in bytes; null where the system does not tell (other than Linux). */
  memory(): { resident: number; peak: number } | null {
    const path = `/proc/${this.pid}/status`;
    if (!existsSync(path)) return null;
    const text = readFileSync(path, "latin1");
    const read = (name: string): number =>
      1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
    return { resident: read("VmRSS"), peak: read("VmHWM") };
  }

  /** The peak of its memory is that from now on, where the system lets it be reset (Linux). */
  forgetPeak(): void {
    const path = `/proc/${this.pid}/clear_refs`;
    if (existsSync(path)) writeFileSync(path, "5");
  }

  /**
   * Asks for an orderly end and checks that it came: with exit code 0, or with 3 where the test has left something under way, and
   * with nothing but JSON on stdout, whose events have the fields of their rows.
   */
  async stop(): Promise<void> {
    try {
      if (this.hasExited) throw new Error(`the gateway ended by itself; ${this.lastWords()}`);
      this.signal("SIGTERM");
      const code = await this.exited();
      if (code !== 0 && code !== DRAIN_CUT) throw new Error(`the gateway ended with ${code}; ${this.lastWords()}`);
      if (this.logs.stray.length > 0) throw new Error(`not JSON on stdout: ${this.logs.stray.slice(0, 5).join("\n")}`);
      const faults = eventFaults(this.logs.json);
      if (faults.length > 0) throw new Error(`the log: ${faults.slice(0, 5).join("\n")}`);
    } finally {
      this.kill();
    }
  }

  /** Ends the process and all that have taken over from it at once, and removes its folder. */
  kill(): void {
    if (!this.hasExited) this.child.kill("SIGKILL");
    for (const { event, ok, successor } of this.logs.json)
      if (event === "upgrade" && ok === true) end(Number(successor));
    this.logs.close();
    this.errors.close();
    running.delete(this);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The end of both outputs, for messages. */
  lastWords(): string {
    return `stdout: ${this.logs.tail()} stderr: ${this.errors.tail()}`;
  }
}

/** Starts `edge serve` in a folder of its own and waits until it answers. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const binary = options.binary ?? EDGE_BINARY;
  if (!existsSync(binary)) throw new Error(`${binary} is not there: run scripts/build first`);
  const port = options.port ?? freePort();
  return spawnIn(writeFolder(port, options), port, options, binary);
}

/** Ends a gateway in order, and starts another one with its files and its port. */
export async function restartGateway(gateway: Gateway, options: GatewayOptions = {}): Promise<Gateway> {
  gateway.signal("SIGTERM");
  await gateway.exited();
  running.delete(gateway);
  return spawnIn(gateway.folder, gateway.port, options, options.binary ?? EDGE_BINARY);
}

async function spawnIn(folder: string, port: number, options: GatewayOptions, binary: string): Promise<Gateway> {
  const [logs, errors] = [new LogFile(), new LogFile()];
  const child = Bun.spawn(
    [
      ...(options.runner ?? []),
      binary,
      "serve",
      "--config",
      "config.yaml",
      "--routes",
      "routes.yaml",
      ...(options.args ?? []),
    ],
    { cwd: folder, env: environment(options.env), stdin: "ignore", stdout: logs.fd, stderr: errors.fd },
  );
  const gateway = new Gateway(port, folder, logs, errors, child);
  running.add(gateway);
  await untilServing(gateway);
  return gateway;
}

/** Runs any command of the binary to its end, in a fresh folder with the given files or in `inFolder`, which stays. */
export async function runEdge(
  args: readonly string[],
  options: GatewayOptions = {},
  inFolder?: string,
): Promise<FinishedRun> {
  const folder = inFolder ?? writeFolder(freePort(), options);
  try {
    const env = environment(options.env);
    return await runProcess([EDGE_BINARY, ...args], { cwd: folder, env, timeout: PATIENCE_MS });
  } finally {
    if (inFolder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** An upstream route. The breaker stays closed, so that one test's failures are not the next one's 503. */
export function upstream(prefix: string, origin: { readonly url: string }, more: Settings = {}): Settings {
  return { type: "upstream", prefix, target: origin.url, circuit_breaker: { failure_threshold: 100000 }, ...more };
}

/** One worker, so that all connections of a test share one upstream pool. */
const DEFAULT_SERVER: Settings = { host: "127.0.0.1", workers: 1, shutdown_timeout: "2s" };
const START_MS = 45_000;
const running = new Set<Gateway>();

// Nothing outlives the test process, however it ends.
process.on("exit", () => {
  for (const gateway of running) gateway.kill();
});

function writeFolder(port: number, options: GatewayOptions): string {
  const folder = mkdtempSync(join(tmpdir(), "edge-test-"));
  const { server, ...sections } = options.config ?? {};
  const config = { server: { ...DEFAULT_SERVER, port, ...(server as Settings | undefined) }, ...sections };
  const { maps, routes = [] } = options;
  const files = {
    "config.yaml": stringify(config),
    "routes.yaml": stringify(maps === undefined ? routes : { maps, routes }),
    ...options.files,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Only what a process needs, so that nothing of the tester's own settings reaches the gateway. */
function environment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: tmpdir(), ...extra };
}

/** Every worker listens: what a signal meets is never half started. */
async function untilServing(gateway: Gateway): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline && !gateway.hasExited) {
    const isListening = gateway.logs.json.some(({ event }) => event === "listening");
    const reply = isListening
      ? await gateway.once("GET /health HTTP/1.1\r\nHost: gw.test\r\n\r\n").catch(() => null)
      : null;
    if (reply?.status === 200) return;
    await Bun.sleep(5);
  }
  await Bun.sleep(50);
  const words = gateway.lastWords();
  gateway.kill();
  throw new Error(`the gateway did not start; ${words}`);
}

/** It may be gone already. */
function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
