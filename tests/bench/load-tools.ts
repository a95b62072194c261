// Runs wrk, ab and h2load for a bounded time and reads what they say.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "./figures.ts";
import { isSecure } from "./peer-configs.ts";
import type { Scenario, Tool } from "./scenarios.ts";

/** What one run of a load tool has seen. */
export interface Load {
  readonly requests: number;
  /** Answers other than 2xx, and failed connections. */
  readonly errors: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Where a load goes, and how much of it. */
export interface LoadPlan {
  readonly scenario: Scenario;
  readonly port: number;
  readonly seconds: number;
  readonly connections: number;
  readonly threads: number;
  /** A folder for scripts and result files. */
  readonly dir: string;
  /** Connections and streams in each, for h2load. */
  readonly h2?: { readonly connections: number; readonly streams: number };
}

const POST_BODY_BYTES = 4096;
const MANY_PATHS = 500;
const AB_MOST_CONNECTIONS = 32;
const H2_CONNECTIONS = 16;
const H2_STREAMS = 16;
const HTTP3_CONNECTIONS = 8;
/** Past its time by this much, a tool is ended. */
const GRACE_MS = 20_000;

/** The program behind each kind of load. */
const PROGRAM: Readonly<Record<Tool, "wrk" | "ab" | "h2load" | "bun">> = {
  wrk: "wrk",
  "wrk-post": "wrk",
  "wrk-chunked": "wrk",
  "wrk-many": "wrk",
  ab: "ab",
  h2load: "h2load",
  // Debian builds its h2load without HTTP/3.
  "http3-load": "bun",
};

/** Whether this machine has the program that makes the load. */
export function hasTool(tool: Tool): boolean {
  return tool === "http3-load" || Bun.which(PROGRAM[tool]) !== null;
}

/** Puts the load of a scenario on one server. */
export async function runLoad(plan: LoadPlan): Promise<Load> {
  const tls = isSecure(plan.scenario.setting);
  const url = `${tls ? "https://localhost" : "http://127.0.0.1"}:${plan.port}${plan.scenario.path}`;
  const program = PROGRAM[plan.scenario.tool];
  const run = { wrk: runWrk, ab: runAb, h2load: runH2load, bun: runHttp3 }[program];
  const load = await run(plan, url);
  // A server that speaks another protocol gives the tools nothing to count, not even an error.
  return load.requests === 0 ? { ...load, errors: Math.max(1, load.errors) } : load;
}

/** What wrk printed, as figures. */
export function readWrk(text: string): Load {
  const [, count, seconds] = /(\d+) requests in ([\d.]+\w+)/.exec(text) ?? [];
  const socketErrors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text);
  const sockets = socketErrors?.slice(1).reduce((sum, n) => sum + Number(n), 0) ?? 0;
  const requests = Number(count ?? 0);
  return {
    requests,
    errors: sockets + Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0),
    requestsPerSecond: requests === 0 ? 0 : requests / (milliseconds(seconds ?? "") / 1000),
    p50Ms: milliseconds(/\s50%\s+(\S+)/.exec(text)?.[1] ?? ""),
    p99Ms: milliseconds(/\s99%\s+(\S+)/.exec(text)?.[1] ?? ""),
  };
}

/** What ab printed, and its CSV file of percentiles, as figures. */
export function readAb(text: string, csv: string): Load {
  const requests = Number(/Complete requests:\s+(\d+)/.exec(text)?.[1] ?? 0);
  const failed = Number(/Failed requests:\s+(\d+)/.exec(text)?.[1] ?? 0);
  const at = (percent: number) => Number(new RegExp(`^${percent},([\\d.]+)`, "m").exec(csv)?.[1] ?? Number.NaN);
  return {
    requests,
    errors: failed + Number(/Non-2xx responses:\s+(\d+)/.exec(text)?.[1] ?? 0),
    requestsPerSecond: Number(/Requests per second:\s+([\d.]+)/.exec(text)?.[1] ?? 0),
    p50Ms: at(50),
    p99Ms: at(99),
  };
}

/** What h2load printed, and its log (start, status, microseconds in a line), as figures. */
export function readH2load(text: string, log: string): Load {
  const requests = Number(/status codes: (\d+) 2xx/.exec(text)?.[1] ?? 0);
  const times: number[] = [];
  for (const line of log.split("\n")) {
    const micros = line.split("\t")[2];
    if (micros !== undefined) times.push(Number(micros) / 1000);
  }
  return {
    requests,
    // `failed` counts 4xx and 5xx in.
    errors: Number(/ (\d+) failed/.exec(text)?.[1] ?? 0),
    requestsPerSecond: Number(/finished in [^,]+, ([\d.]+) req\/s/.exec(text)?.[1] ?? 0),
    p50Ms: percentile(times, 50),
    p99Ms: percentile(times, 99),
  };
}

async function runWrk(plan: LoadPlan, url: string): Promise<Load> {
  return readWrk(await output(["wrk", ...wrkArgs(plan), url], plan.seconds));
}

function wrkArgs(plan: LoadPlan): string[] {
  const args = [`-t${plan.threads}`, `-c${plan.connections}`, `-d${plan.seconds}s`, "--latency"];
  if (plan.scenario.encoding !== undefined) args.push("-H", `Accept-Encoding: ${plan.scenario.encoding}`);
  for (const line of plan.scenario.fields ?? []) args.push("-H", line);
  if (plan.scenario.tool === "wrk") return args;
  const script = join(plan.dir, `${plan.scenario.tool}.lua`);
  writeFileSync(script, SCRIPTS[plan.scenario.tool]!(plan.scenario.path));
  return [...args, "-s", script];
}

const SCRIPTS: Readonly<Partial<Record<Tool, (path: string) => string>>> = {
  "wrk-post": postScript,
  "wrk-chunked": chunkedScript,
  "wrk-many": manyScript,
};

/** One path after the other; each thread begins at another one. */
function manyScript(path: string): string {
  return `local next = math.random(0, ${MANY_PATHS - 1})
function request()
  next = (next + 1) % ${MANY_PATHS}
  return wrk.format(nil, "${path}/" .. next)
end
`;
}

function postScript(): string {
  return `wrk.method = "POST"
wrk.headers["Content-Type"] = "application/octet-stream"
wrk.body = string.rep("b", ${POST_BODY_BYTES})
`;
}

// wrk cannot chunk a body itself: the whole request is given to it as bytes.
function chunkedScript(): string {
  const size = POST_BODY_BYTES.toString(16);
  return `local bytes
function init()
  bytes = "POST " .. wrk.path .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Type: application/octet-stream\\r\\n" ..
    "Transfer-Encoding: chunked\\r\\n\\r\\n${size}\\r\\n" .. string.rep("b", ${POST_BODY_BYTES}) .. "\\r\\n0\\r\\n\\r\\n"
end
function request() return bytes end
`;
}

// A connection a request. -t must come before -n, for it sets a small number of requests of its own.
async function runAb(plan: LoadPlan, url: string): Promise<Load> {
  const csv = join(plan.dir, "ab.csv");
  const connections = Math.min(plan.connections, AB_MOST_CONNECTIONS);
  const args = ["-q", "-r", "-t", plan.seconds, "-n", 100_000_000, "-c", connections, "-e", csv, url].map(String);
  writeFileSync(csv, "");
  return readAb(await output(["ab", ...args], plan.seconds), readFileSync(csv, "utf8"));
}

async function runH2load(plan: LoadPlan, url: string): Promise<Load> {
  const log = join(plan.dir, "h2load.log");
  writeFileSync(log, "");
  const { connections, streams } = plan.h2 ?? { connections: H2_CONNECTIONS, streams: H2_STREAMS };
  const args = [`-t${plan.threads}`, `-c${connections}`, `-m${streams}`, `-D${plan.seconds}`, `--log-file=${log}`];
  return readH2load(await output(["h2load", ...args, url], plan.seconds), readFileSync(log, "utf8"));
}

// The client shares the machine and costs more than either server: the CPU time of the server is the figure.
async function runHttp3({ scenario, port, seconds }: LoadPlan): Promise<Load> {
  const args = [port, scenario.path, seconds, HTTP3_CONNECTIONS, H2_STREAMS].map(String);
  const text = await output([process.execPath, join(import.meta.dir, "http3-load.ts"), ...args], seconds);
  const done = JSON.parse(text === "" ? '{"requests":0,"failed":1,"seconds":1}' : text);
  const { requests, failed: errors } = done;
  return { requests, errors, requestsPerSecond: requests / done.seconds, p50Ms: Number.NaN, p99Ms: Number.NaN };
}

async function output(command: string[], seconds: number): Promise<string> {
  const timeout = seconds * 1000 + GRACE_MS;
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "ignore", timeout });
  const end = () => child.kill();
  process.on("exit", end);
  const text = await new Response(child.stdout).text();
  await child.exited;
  process.off("exit", end);
  return text;
}

// wrk's way to write a time: 3.00s, 812.00us, 1.20ms, 1.01m.
function milliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(us|ms|s|m|h)$/.exec(text) ?? [];
  const perMinute = { us: 60e6, ms: 60e3, s: 60, m: 1, h: 1 / 60 }[unit ?? ""];
  return perMinute === undefined ? Number.NaN : (Number(number) * 60e3) / perMinute;
}
