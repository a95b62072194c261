import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import type { Product } from "../../src/tools/convert/convert.ts";
import { freePorts, ServerProcess } from "../bench/server-process.ts";
import { convert } from "../harness/conversions.ts";
import { type Gateway, type Settings, startGateway } from "../harness/gateway.ts";

/** A request, as both gateways get it. */
export interface Probe {
  readonly method: string;
  readonly host: string;
  /** With its query. */
  readonly target: string;
  /** Lines of the head. */
  readonly fields: readonly string[];
}

/** How a gateway has answered. */
interface Answer {
  /** 0 where the connection ends without a response, -1 where there is none. */
  readonly status: number;
  /** Whether a file of the site has been sent. */
  readonly isFile: boolean;
}

/** A request that the other gateway refuses and edge does not. */
export interface Opened {
  readonly probe: Probe;
  readonly there: number;
  readonly here: number;
}

const COMMANDS = {
  nginx: (path: string) => ["nginx", "-p", dirname(path), "-e", "error.log", "-c", path],
  haproxy: (path: string) => ["haproxy", "-f", path],
  caddy: (path: string) => ["caddy", "run", "--adapter", "caddyfile", "--config", path],
} as const;
const NOT_FOUND = 404;
const FILES = { nginx: "nginx.conf", haproxy: "haproxy.cfg", caddy: "Caddyfile" } as const;
const PATH = `${process.env.PATH}:/usr/sbin`;

/** Whether the product is on this machine. */
export function isInstalled(product: keyof typeof COMMANDS): boolean {
  const isThere = Bun.which(product, { PATH }) !== null;
  if (!isThere) console.log(`skipped: ${product} is not installed (scripts/install-peers)`);
  return isThere;
}

/** What a run has found; `fault` where the other gateway does not take the configuration. */
export interface RefusalRun {
  readonly opened: readonly Opened[];
  readonly refused: number;
  /** Requests that the two answer with different statuses. */
  readonly differs: readonly Opened[];
  readonly isWellFormed: boolean;
  readonly routes: string;
}

/** A gateway that others make with a configuration of its own, and one with what `edge convert` has made of that. */
export interface Beside {
  /** Of the other. */
  readonly port: number;
  readonly gateway: Gateway;
  readonly routes: string;
  stop(): Promise<void>;
}

/**
 * Starts both. PORT, ORIGIN and SITE stand for a port, the port of the origin, and a folder of files.
 * @returns the last words of the other if it does not take the configuration
 * @throws if the converter does not take it
 */
export async function startBeside(
  product: keyof typeof COMMANDS,
  text: string,
  origin: number,
): Promise<Beside | string> {
  const folder = mkdtempSync(join(tmpdir(), "edge-refusal-"));
  chmodSync(folder, 0o755);
  const [port = 0] = freePorts(1);
  const site = join(folder, "site");
  writeSite(site);
  const words = { PORT: String(port), ORIGIN: String(origin), SITE: site, FOLDER: folder };
  const whole = text.replace(/PORT|ORIGIN|SITE|FOLDER/g, (word) => words[word as keyof typeof words]);
  const file = join(folder, FILES[product]);
  writeFileSync(file, whole);
  const [command = "", ...args] = COMMANDS[product](file);
  const peer = new ServerProcess([Bun.which(command, { PATH })!, ...args], folder, join(folder, "peer.log"));
  const end = async (): Promise<void> => {
    await peer.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    if (!(await isListening(peer, port))) {
      const said = peer.lastWords();
      await end();
      return said;
    }
    const { code, config, routes, err } = convert(product as Product, FILES[product], whole);
    if (code !== 0) throw new Error(`${err}\n${whole}`);
    const gateway = await startGateway(settingsOf(config, routes, port));
    const stop = async (): Promise<void> => {
      await gateway.stop();
      await end();
    };
    return { port, gateway, routes, stop };
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * Runs a configuration in the gateway that it is written for, and what `edge convert` makes of it beside that, and asks both the same.
 * @param isCompared whether what both let in is compared, too
 */
export async function runBeside(
  product: keyof typeof COMMANDS,
  text: string,
  probes: readonly Probe[],
  isCompared = false,
): Promise<RefusalRun> {
  const origin = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("origin") });
  const both = await startBeside(product, text, origin.port!);
  if (typeof both === "string") {
    origin.stop(true);
    return { opened: [], differs: [], refused: 0, isWellFormed: false, routes: both };
  }
  const { port, gateway, routes } = both;
  try {
    const opened: Opened[] = [];
    const differs: Opened[] = [];
    let refused = 0;
    for (const probe of probes) {
      const there = await askedOf(port, probe);
      if (!isRefusal(there) && !isCompared) continue;
      const here = await askedOf(gateway.port, probe);
      if (there.status !== here.status) differs.push({ probe, there: there.status, here: here.status });
      if (!isRefusal(there)) continue;
      refused++;
      // A file that is not there is no refusal, but that is no reason to send it here.
      if (here.status >= 300 || isRefusal(here) || (there.status === NOT_FOUND && !here.isFile)) continue;
      // What only its spelling keeps out there comes in under its own name anyway.
      const plain = await askedOf(port, { ...probe, target: plainTarget(probe.target) });
      if (isRefusal(plain)) opened.push({ probe, there: there.status, here: here.status });
    }
    return { opened, differs, refused, isWellFormed: true, routes };
  } finally {
    await both.stop();
    origin.stop(true);
  }
}

/** The converted files for a gateway on a port of its own: of several listeners, what is served at this port. */
function settingsOf(config: string, routes: string, port: number): { config: Settings; routes: Settings[] } {
  const { server, ...sections } = parse(config) as Settings;
  const { port: _port, host: _host, access_log: _log, tls: _tls, acme: _acme, listeners, ...rest } = server as Settings;
  const all = (parse(routes) as { routes: Settings[] }).routes;
  const places = (listeners ?? []) as readonly { readonly name: string; readonly address: string }[];
  const asked = places.find(({ address }) => address.endsWith(`:${port}`))?.name ?? "";
  const served = all.flatMap(({ listeners: own, ...route }) =>
    places.length === 0 || own === undefined || (own as string[]).includes(asked) ? [route as Settings] : [],
  );
  return { config: { server: rest, ...sections }, routes: served };
}

/** A connection that is closed without a response is a refusal, too. */
function isRefusal({ status }: Answer): boolean {
  return status === 0 || status >= 400;
}

/** The target in the form in which a gateway looks for its route. */
function plainTarget(target: string): string {
  const [path = "", query] = target.split("?");
  const parts: string[] = [];
  for (const part of decodeURIComponent(path).replaceAll("\\", "/").split("/").slice(1)) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  const end = /\/\.?$/.test(path) && parts.length > 0 ? "/" : "";
  return `/${parts.join("/")}${end}${query === undefined ? "" : `?${query}`}`;
}

async function isListening(peer: ServerProcess, port: number): Promise<boolean> {
  for (const end = performance.now() + 10_000; performance.now() < end && peer.isAlive; ) {
    const { status } = await askedOf(port, { method: "GET", host: "none.test", target: "/", fields: [] });
    if (status > -1) return true;
    await Bun.sleep(10);
  }
  return false;
}

/** Sends a request on a connection of its own. */
async function askedOf(port: number, { method, host, target, fields }: Probe): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  let text = "";
  const socket = createConnection({ host: "127.0.0.1", port });
  socket.setTimeout(5000, () => socket.destroy(new Error("time out")));
  socket.on("error", () => resolve({ status: socket.bytesWritten === 0 ? -1 : 0, isFile: false }));
  socket.on("close", () => {
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
    resolve({ status, isFile: text.includes("\r\n\r\nfile ") });
  });
  socket.on("connect", () => {
    const lines = [
      `${method} ${target} HTTP/1.1`,
      `Host: ${host}`,
      "Connection: close",
      "Content-Length: 0",
      ...fields,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  });
  socket.on("data", (data: Buffer) => {
    if (text.length < MAX_READ) text += data.toString("latin1");
  });
  return await promise;
}

const MAX_READ = 8192;

/** Files whose names the generated configurations speak of. */
function writeSite(site: string): void {
  const names = [
    "index.html",
    "b",
    "a/x",
    "a/b/y",
    "a/z.php",
    "c.php",
    "c.py",
    "A/x",
    "ax",
    "secret/k",
    "pub/x",
    "d.bak",
  ];
  for (const name of names) {
    mkdirSync(dirname(join(site, name)), { recursive: true });
    if (!names.some((other) => other.startsWith(`${name}/`))) writeFileSync(join(site, name), `file ${name}`);
  }
}

const PATHS: readonly string[] = [
  "/",
  "/a",
  "/a/",
  "/a/x",
  "/ax",
  "/A/x",
  "/a/b",
  "/a/b/y",
  "/A/B/y",
  "/a/z.php",
  "/a/Z.PHP",
  "/b",
  "/B",
  "/b/",
  "/b/x",
  "/c.php",
  "/c.py",
  "/c.php/x",
  "/d.bak",
  "/pub",
  "/pub/",
  "/pub/x",
  "/Pub/x",
  "/pubx",
  "/secret/k",
  "/SECRET/k",
  "//a/x",
  "/pub/../a/x",
  "/pub/..%2fa/x",
  "/%61/x",
  "/a/./x",
  "/r",
  "/index.html",
];

/** Requests for hosts: each path plainly, and with what the conditions ask for. */
export function probesFor(hosts: readonly string[]): Probe[] {
  const ways: readonly Omit<Probe, "host" | "target">[] = [
    { method: "GET", fields: [] },
    { method: "POST", fields: [] },
    { method: "GET", fields: ["X-Key: 1"] },
    { method: "GET", fields: ["X-Key: 2", "Cookie: k=1"] },
  ];
  return hosts.flatMap((host) =>
    PATHS.flatMap((path) => ways.map((way, i) => ({ ...way, host, target: i === 3 ? `${path}?k=1` : path }))),
  );
}
