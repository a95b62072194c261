// Converted configurations beside the gateways that they were written for, and the readers beside those of others. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { convertNginx } from "../../src/tools/convert/nginx/nginx.ts";
import { parseNginx } from "../../src/tools/convert/nginx/nginx-parser.ts";
import type { Statement } from "../../src/tools/convert/statement.ts";
import { freePorts, ServerProcess } from "../bench/server-process.ts";
import { convert, EXAMPLES, examples } from "../harness/conversions.ts";
import { type Gateway, runEdge, type Settings, startGateway } from "../harness/gateway.ts";
import { SCENARIOS, type Scenario } from "./side-by-side.ts";

const PATH = `${process.env.PATH}:/usr/sbin`;
const COMMANDS = { nginx: ["-c"], haproxy: ["-f"], caddy: ["run", "--adapter", "caddyfile", "--config"] } as const;

const LIMIT_MS = 60_000;

describe("both gateways answer alike", () => {
  for (const scenario of SCENARIOS) {
    const command = Bun.which(scenario.product, { PATH });
    if (command === null) console.log(`skipped: ${scenario.product} is not installed (scripts/install-peers)`);
    test.skipIf(command === null)(`${scenario.product}: ${scenario.name}`, () => compare(scenario, command!), LIMIT_MS);
  }
});

async function compare({ product, text, requests, ignored = [] }: Scenario, command: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "edge-side-"));
  // Workers of nginx run as another user.
  chmodSync(folder, 0o755);
  const [port = 0] = freePorts(1);
  const origin = startOrigin();
  const site = join(folder, "site");
  writeSite(site);
  const words = { PORT: String(port), ORIGIN: String(origin.port), SITE: site, FOLDER: folder };
  const whole = text.replace(/PORT|ORIGIN|SITE|FOLDER/g, (word) => words[word as keyof typeof words]);
  const file = join(folder, { nginx: "nginx.conf", haproxy: "haproxy.cfg", caddy: "Caddyfile" }[product]);
  writeFileSync(file, whole);
  const peer = new ServerProcess([command, ...COMMANDS[product], file], folder, join(folder, "peer.log"));
  let gateway: Gateway | null = null;
  try {
    const { code, config, routes, err } = convert(product, basename(file), whole);
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    if (!(await peer.isReady(port, "/"))) throw new Error(`${product} did not start: ${peer.lastWords()}`);
    gateway = await startGateway(
      withoutPlace(parse(config) as Settings, (parse(routes) as { routes: Settings[] }).routes),
    );
    const log = join(folder, "requests.log");
    writeFileSync(log, requests.map((one) => `${lineOf(one)}\n`).join(""));
    const urls = [`http://127.0.0.1:${gateway.port}`, `http://127.0.0.1:${port}`] as const;
    const done = await runEdge(
      [
        "replay",
        log,
        "--against",
        urls[0],
        "--compare",
        urls[1],
        "--rate",
        "200",
        "--ignore",
        ["x-content-type-options", ...ignored].join(),
      ],
      {},
      folder,
    );
    expect(done).toMatchObject({ stdout: `${requests.length} requests sent; none differs.\n`, code: 0 });
  } finally {
    await gateway?.stop();
    await peer.stop();
    origin.stop(true);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The converted files for a gateway on a port of its own. */
function withoutPlace({ server, ...sections }: Settings, routes: Settings[]): { config: Settings; routes: Settings[] } {
  const { port: _port, host: _host, access_log: _log, ...rest } = server as Settings;
  return { config: { server: rest, ...sections }, routes };
}

function lineOf(request: string): string {
  const [, method = "GET", host = "site.test", path = "/"] = /^(?:([A-Z]+) )?([^/ ]+)?(\/.*)$/.exec(request)!;
  const [bare, query] = path.split("?");
  return JSON.stringify({ event: "access", method, host, path: bare, ...(query === undefined ? {} : { query }) });
}

/** It tells what it was asked for. */
function startOrigin(): Bun.Server<undefined> {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      const status = Number(/\/status\/(\d+)$/.exec(pathname)?.[1] ?? 200);
      const headers = {
        "X-Origin": "yes",
        "Content-Type": "text/plain",
        "Cache-Control": "max-age=5",
        "Set-Cookie": "a=b",
      };
      if (pathname.endsWith("/redirect"))
        return new Response(null, { status: 302, headers: { ...headers, Location: "/elsewhere?x=1" } });
      const { host } = new URL(`http://${request.headers.get("Host")}`);
      return new Response(
        `${request.method} ${pathname}${search} ${host} ${request.headers.get("X-Team")} ${request.headers.get("Accept")}`,
        { status, headers },
      );
    },
  });
}

function writeSite(site: string): void {
  for (const folder of ["docs", "assets"]) mkdirSync(join(site, folder), { recursive: true });
  for (const [name, text] of [
    ["index.html", "start"],
    ["docs/index.html", "docs"],
    ["assets/app.js", "1;"],
    ["assets/style.css", "b{}"],
  ] as const)
    writeFileSync(join(site, name), text);
}

/** Where scripts/install-peers puts crossplane, a reader of nginx's configurations. */
const PYTHON = join(import.meta.dir, "..", "..", ".bun", "crossplane", "bin", "python");
/** A part of a configuration is read as well, and directives that crossplane does not know. */
const READ = `import crossplane, json, sys
print(json.dumps(crossplane.parse(sys.argv[1], single=True, check_ctx=False, check_args=False)))`;
const hasCrossplane = existsSync(PYTHON);
if (!hasCrossplane)
  console.log("skipped: the other reader of nginx.conf needs crossplane (scripts/install-peers, from PyPI)");

describe.skipIf(!hasCrossplane)("crossplane", () => {
  test("reads the same directives, words and lines", () => {
    for (const { path, text } of examples("nginx")) {
      if (/include parts/.test(text) || /_by_lua_block/.test(text)) continue;
      const done = Bun.spawnSync([PYTHON, "-c", READ, path], { stdout: "pipe", stderr: "pipe" });
      const { config } = JSON.parse(done.stdout.toString()) as { config: { parsed: CrossplaneDirective[] }[] };
      const own = parseNginx(path, text, () => []).statements;
      expect(own.map(plain)).toEqual(config[0]!.parsed.filter(({ directive }) => directive !== "#").map(theirs));
    }
  });
});

interface CrossplaneDirective {
  readonly directive: string;
  readonly line: number;
  readonly args: readonly string[];
  readonly block?: readonly CrossplaneDirective[];
}

interface PlainDirective {
  readonly line: number;
  readonly words: readonly string[];
  readonly block: readonly PlainDirective[];
}

function plain(statement: Statement): PlainDirective {
  return {
    line: statement.line,
    words: wordsIn(statement.name, statement.args),
    block: (statement.block ?? []).map(plain),
  };
}

function theirs({ directive, line, args, block = [] }: CrossplaneDirective): PlainDirective {
  return { line, words: wordsIn(directive, args), block: block.filter((one) => one.directive !== "#").map(theirs) };
}

/** crossplane takes the parentheses of `if` away, and leaves escapes as they are. */
function wordsIn(name: string, args: readonly string[]): string[] {
  if (name === "if") return [name, withoutEscapes(args.join("")).replace(/^\(|\)$/g, "")];
  return [name, ...args.map(withoutEscapes)];
}

function withoutEscapes(word: string): string {
  return word
    .replace(/\\t|\t/g, " ")
    .replace(/\\n|\n/g, " ")
    .replace(/\\/g, "")
    .replace(/^\(\s+|\s+\)$/g, (sign) => sign.trim());
}

const caddy = Bun.which("caddy", { PATH });
if (caddy === null) console.log("skipped: Caddy's own reader needs caddy (scripts/install-peers)");

describe.skipIf(caddy === null)("Caddy's adapter", () => {
  for (const { path, text } of caddy === null ? [] : examples("caddy")) {
    const done = Bun.spawnSync([caddy!, "adapt", "--adapter", "caddyfile", "--config", path], {
      cwd: EXAMPLES,
      stdout: "pipe",
      stderr: "pipe",
    });
    const name = basename(path);
    // Packaged versions are older than some examples, and have no modules.
    const isTaken = done.exitCode === 0;
    if (!isTaken) console.log(`skipped: ${name}: ${done.stderr.toString().trimEnd().split("\n").at(-1)}`);
    test.skipIf(!isTaken)(`${name}: every upstream, host and status is carried over or named`, () => {
      const adapted: unknown = JSON.parse(done.stdout.toString());
      const { routes, config } = convert("caddy", name);
      const words = wordsOf(adapted).filter((word) => text.includes(word));
      expect(words.filter((word) => !`${routes}${config}`.includes(word))).toEqual([]);
    });
  }
});

/** Addresses of upstreams, hosts and statuses in Caddy's JSON. */
function wordsOf(value: unknown, key = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => wordsOf(one, key));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, one]) => wordsOf(one, name));
  if (key === "dial" && typeof value === "string") return [value.replace(/^unix\//, "").replace(/:(80|443)$/, "")];
  return (key === "host" || key === "status_code") && !String(value).includes("{") ? [String(value)] : [];
}

test("a file of nginx that only has locations is one server", () => {
  const plan = convertNginx(parseNginx("x", "location /a/ { proxy_pass http://127.0.0.1:1; }", () => []));
  expect(plan.rules.length).toBe(2);
});
