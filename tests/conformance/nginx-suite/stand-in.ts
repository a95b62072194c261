// Stands in for the nginx binary in the suite nginx-tests: it converts the configuration with `edge convert nginx` and serves the result
// with the compiled edge. Understands -V, -v, -t, -T, -s, -p, -c, -e and -g, and the signals QUIT, TERM, INT, HUP and USR1.
import { appendFileSync, cpSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { startCommandLine, VERSION_TEXT } from "./command-line.ts";

const EDGE = process.env.EDGE_BINARY ?? resolve(import.meta.dir, "..", "..", "..", "edge");
/** How long a drain may take before its connections are cut. */
const DRAIN_MS = 4_000;

const line = startCommandLine(process.argv.slice(2));
const prefix = resolve(line.prefix);
const inPrefix = (path: string): string => (isAbsolute(path) ? path : join(prefix, path));
const source = inPrefix(line.config);
const errorLog = inPrefix(line.errorLog);
const work = join(prefix, ".edge");

if (line.shows !== null) {
  process.stderr.write(VERSION_TEXT[line.shows]);
  process.exit(0);
}
const text = readFileSync(source, "latin1");
const pidFile = inPrefix(/(?:^|[\s;])pid\s+([^\s;]+)\s*;/.exec(`${line.globals} ${text}`)?.[1] ?? "nginx.pid");
if (line.signal !== null) {
  process.kill(Number(readFileSync(pidFile, "latin1")), line.signal);
  process.exit(0);
}

/** Converts the configuration into a folder of its own; null with the reason in the error log. */
function convert(): string | null {
  const folder = join(work, `${Date.now()}`);
  // nginx has one worker process without a word; edge has one for each core.
  const workers = /\bworker_processes\b/.test(text) ? "" : "worker_processes 1;";
  const copy = `${source}.with-globals`;
  writeFileSync(copy, `${readFileSync(source, "latin1")}\n${line.globals}\n${workers}\n`, "latin1");
  mkdirSync(work, { recursive: true });
  const run = Bun.spawnSync([EDGE, "convert", copy, "--from", "nginx", "--out", folder], {
    cwd: prefix,
    stdout: "ignore",
    stderr: "pipe",
    timeout: 20_000,
  });
  const notes = process.env.EDGE_SUITE_NOTES;
  if (run.exitCode === 0) {
    withFreePort(join(folder, "config.yaml"));
    const routes = readFileSync(join(folder, "routes.yaml"), "utf8");
    if (notes !== undefined && existsSync(notes))
      appendFileSync(notes, routes.slice(routes.lastIndexOf("# Not carried over")));
    return folder;
  }
  appendFileSync(errorLog, `[emerg] ${run.stderr.toString()}`);
  process.stderr.write(`nginx: [emerg] ${run.stderr.toString()}`);
  return null;
}

/** Where no server takes requests of HTTP, the gateway listens for this machine alone, at a port that the test may want for itself. */
function withFreePort(path: string): void {
  const config = readFileSync(path, "utf8");
  if (!config.includes("no server takes requests of HTTP")) return;
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  writeFileSync(path, config.replace(/^ {2}port: \d+$/m, `  port: ${probe.port}`));
  probe.stop(true);
}

/** Puts a new conversion where the gateway reads it. */
function putInPlace(folder: string): string {
  const current = join(work, "current");
  mkdirSync(current, { recursive: true });
  for (const name of ["config.yaml", "routes.yaml"]) cpSync(join(folder, name), join(current, name));
  rmSync(folder, { recursive: true });
  return join(current, "config.yaml");
}

const first = convert();
if (first === null) process.exit(1);
if (line.isTest) {
  if (line.isDump) process.stdout.write(`# configuration file ${source}:\n${text}\n`);
  process.stderr.write(`nginx: the configuration file ${source} syntax is ok\n`);
  process.stderr.write(`nginx: configuration file ${source} test is successful\n`);
  process.exit(0);
}

const log = openSync(errorLog, "a");
const child = Bun.spawn([EDGE, "serve", "--config", putInPlace(first), "--with-parent", "--log-format", "json"], {
  cwd: prefix,
  stdin: "pipe",
  stdout: log,
  stderr: log,
});
let isEnding = false;
const end = (isGraceful: boolean): void => {
  child.kill("SIGTERM");
  if (!isGraceful || isEnding) child.kill("SIGTERM");
  isEnding = true;
  setTimeout(() => child.kill("SIGKILL"), DRAIN_MS);
};
// A test that was cut short leaves nothing behind.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && end(false), 500).unref();
process.on("SIGQUIT", () => end(true));
process.on("SIGTERM", () => end(false));
process.on("SIGINT", () => end(false));
process.on("SIGHUP", () => {
  const next = convert();
  if (next === null) return;
  putInPlace(next);
  child.kill("SIGHUP");
});
process.on("SIGUSR1", () => child.kill("SIGUSR1"));
process.on("SIGUSR2", () => undefined);
process.on("SIGWINCH", () => undefined);

const isReady = async (): Promise<boolean> => {
  while (child.exitCode === null) {
    if (!existsSync(errorLog)) return false;
    if (readFileSync(errorLog, "latin1").includes('"event":"listening"')) return true;
    await Bun.sleep(15);
  }
  return false;
};
if (await isReady()) writeFileSync(pidFile, `${process.pid}\n`);
const code = await child.exited;
rmSync(pidFile, { force: true });
process.exit(isEnding ? 0 : code);
