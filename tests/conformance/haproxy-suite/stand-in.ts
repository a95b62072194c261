// Stands in for the haproxy binary in HAProxy's reg-tests: it converts the configuration with `edge convert haproxy` and prints the commands of a shell
// that serve the result with the compiled edge, at the sockets that the suite has opened. Understands -v, -vv, -cc, -c, -D, -W, -Ws, -f and -p.
import { appendFileSync, mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { isHeld } from "./conditions.ts";

const EDGE = process.env.EDGE_BINARY ?? resolve(import.meta.dir, "..", "..", "..", "edge");
const args = process.argv.slice(2);
const wordAfter = (flag: string): string | undefined =>
  args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined;

/** What `-vv` says of the product, as the suite reads it. */
const VERSION = "HAProxy version 3.5-dev4 (edge)\n";
/** Descriptors for the time in which the sockets of the suite change theirs. */
const FREE_FD = 200;
const FIRST_FD = 3;

/** A socket of the suite, and the port at which it listens. */
interface Given {
  readonly fd: number;
  readonly port: number;
}

if (args.includes("-v") || args.includes("-vv")) say(`printf '%s' '${VERSION}'`);
const condition = wordAfter("-cc");
if (condition !== undefined) say(`exit ${isHeld(condition) ? 0 : 1}`);

const source = wordAfter("-f") ?? fail("no -f");
const given: Given[] = [];
const work = join(dirname(resolve(source)), "edge");
rmSync(work, { recursive: true, force: true });
mkdirSync(work);
const config = join(work, "haproxy.cfg");
writeFileSync(config, asServed(readFileSync(source, "latin1")), "latin1");
const out = join(work, "out");
const run = Bun.spawnSync([EDGE, "convert", config, "--from", "haproxy", "--out", out], {
  stdout: "ignore",
  stderr: "pipe",
  timeout: 20_000,
});
if (run.exitCode !== 0) fail(`[ALERT] ${run.stderr.toString()}`);
const routes = readFileSync(join(out, "routes.yaml"), "utf8");
const notes = process.env.EDGE_SUITE_NOTES;
if (notes !== undefined) appendFileSync(notes, routes.slice(routes.lastIndexOf("# Not carried over")));
const check = Bun.spawnSync([EDGE, "check", "--config", join(out, "config.yaml")], { stdout: "pipe", stderr: "pipe" });
if (check.exitCode !== 0) fail(`[ALERT] ${check.stdout.toString()}${check.stderr.toString()}`);
if (args.includes("-c")) say("echo 'Configuration file is valid'");
say(serving());

function say(text: string): never {
  process.stdout.write(`${text}\n`);
  process.exit(0);
}

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

/** The text with the conditions of the start decided, variables of the environment, and the addresses of the sockets that are there. */
function asServed(text: string): string {
  const kept: string[] = [];
  const open: boolean[] = [];
  for (const line of text.split("\n")) {
    const [, word = "", test = ""] = /^\s*\.(if|elif|else|endif)\b(.*)$/.exec(line) ?? [];
    if (word === "if") open.push(isHeld(test));
    else if (word === "elif" || word === "else") open.push(!open.pop()! && (word === "else" || isHeld(test)));
    else if (word === "endif") open.pop();
    else if (open.every(Boolean) && !/^\s*stats socket "/.test(line)) kept.push(withValues(line));
  }
  return kept.join("\n");
}

function withValues(line: string): string {
  const bound = line.replaceAll(/fd@\$\{(\w+)\}/g, (whole, name: string) => {
    const fd = Number(process.env[name] ?? "-1");
    const port = portOf(fd);
    if (port === 0) return whole;
    given.push({ fd, port });
    return `127.0.0.1:${port}`;
  });
  return bound.replaceAll(
    /\$\{(\w+)(?:-([^}]*))?\}/g,
    (whole, name: string, usual?: string) => process.env[name] ?? usual ?? whole,
  );
}

/** The port of a listening socket of TCP; 0 for none. */
function portOf(fd: number): number {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    const row = readFileSync("/proc/net/tcp", "latin1")
      .split("\n")
      .map((one) => one.trim().split(/\s+/))
      .find((cells) => cells[9] === inode);
    return Number.parseInt(row?.[1]?.split(":")[1] ?? "0", 16);
  } catch {
    return 0;
  }
}

/** Commands that put each socket where a service of systemd has it, under the name of its listener, and serve. */
function serving(): string {
  const { server } = parse(readFileSync(join(out, "config.yaml"), "utf8")) as {
    readonly server: {
      readonly port?: number;
      readonly tls?: { readonly port?: number };
      readonly listeners?: unknown;
    };
  };
  const listeners = (server.listeners ?? []) as readonly { readonly name: string; readonly address: string }[];
  const nameOf = (port: number): string => {
    const own = listeners.find(({ address }) => address.endsWith(`:${port}`))?.name;
    if (own !== undefined) return own;
    if (server.port === port) return "http";
    return server.tls?.port === port ? "https" : `tcp-${port}-127.0.0.1`;
  };
  const inOrder = given.filter((one, at) => given.findIndex(({ fd }) => fd === one.fd) === at);
  const away = inOrder.map(({ fd }, at) => `${FREE_FD + at}<&${fd}`).join(" ");
  const back = inOrder.map((_, at) => `${FIRST_FD + at}<&${FREE_FD + at} ${FREE_FD + at}<&-`).join(" ");
  const pidFile = wordAfter("-p");
  const command = `exec '${EDGE}' serve --config '${join(out, "config.yaml")}' --log-format json`;
  const named = inOrder.map(({ port }) => nameOf(port)).join(":");
  const isDaemon = args.includes("-D");
  return [
    ...(inOrder.length === 0 ? [] : [`exec ${away}`, `exec ${back}`]),
    `export LISTEN_FDS=${inOrder.length} LISTEN_FDNAMES='${named}'`,
    `serve() { export LISTEN_PID=$BASHPID; ${pidFile === undefined ? "" : `echo $BASHPID > '${pidFile}'; `}${command}; }`,
    isDaemon ? `serve > '${join(work, "log")}' 2>&1 < /dev/null & exit 0` : "serve",
  ].join("\n");
}
