// Whom nginx refuses, the gateway that `edge convert` has made of its configuration refuses as well, and no file or origin is reached that
// nginx did not reach for the same request: both run, with generated sites and requests. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { freePorts, ServerProcess } from "../bench/server-process.ts";
import { convert } from "../harness/conversions.ts";
import { type Gateway, type Settings, startGateway } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { type GeneratedSite, SITE_FILES, SITES, type SiteRequest } from "./nginx-sites.ts";

const PATH = `${process.env.PATH}:/usr/sbin`;
const nginx = Bun.which("nginx", { PATH });
if (nginx === null) console.log("skipped: nginx is not installed (scripts/install-peers)");
/** Sites of one pair of gateways, and how many pairs. */
const TOGETHER = 40;
const ROUNDS = IS_LONG ? 25 : 2;

/** What came of a request. */
interface Outcome {
  readonly status: number;
  /** The file or the origin that the body is of; "" for none. */
  readonly from: string;
}

describe.skipIf(nginx === null)("generated sites of nginx", () => {
  for (let round = 0; round < ROUNDS; round++) {
    const seed = Number(process.env.EDGE_SITES_SEED ?? 0) + round;
    test(
      `what is refused stays refused: sites ${seed}`,
      () => run(fc.sample(SITES, { numRuns: TOGETHER, seed })),
      120_000,
    );
  }
});

async function run(sites: readonly GeneratedSite[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "edge-refusals-"));
  chmodSync(folder, 0o755);
  writeSite(folder);
  const origins = ["ONE", "TWO"].map(startOrigin);
  const [port = 0] = freePorts(1);
  const words: Readonly<Record<string, string>> = {
    FOLDER: folder,
    SITE: join(folder, "site"),
    PORT: String(port),
    ONE: String(origins[0]!.port),
    TWO: String(origins[1]!.port),
  };
  const text = whole(sites).replace(/FOLDER|SITE|PORT|ONE|TWO/g, (word) => words[word]!);
  const file = join(folder, "nginx.conf");
  writeFileSync(file, text);
  const peer = new ServerProcess([nginx!, "-c", file], folder, join(folder, "peer.log"));
  let gateway: Gateway | null = null;
  try {
    const { code, config, routes, err } = convert("nginx", "nginx.conf", text);
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    if (!(await peer.isReady(port, "/ready"))) throw new Error(`nginx did not start: ${peer.lastWords()}`);
    const { server, ...sections } = parse(config) as Settings;
    const { port: _port, host: _host, access_log: _log, ...rest } = server as Settings;
    gateway = await startGateway({
      config: { server: rest, ...sections },
      routes: (parse(routes) as { routes: Settings[] }).routes,
    });
    const wrong: string[] = [];
    let open = 0;
    let alike = 0;
    for (const [i, { text: site, requests }] of sites.entries()) {
      for (const one of requests) {
        const there = await ask(port, `s${i}.test`, one);
        const here = await ask(gateway.port, `s${i}.test`, one);
        if (there.status < 300) open++;
        if (there.status < 300 && here.status < 300) alike++;
        if (isOpened(there, here, site))
          wrong.push(
            `${JSON.stringify(one)}\n  nginx ${JSON.stringify(there)}, edge ${JSON.stringify(here)}\n  s${i}: ${site}`,
          );
      }
    }
    if (process.env.EDGE_SITES_SHOWN !== undefined) console.log(`${alike} of ${open} that nginx answers are answered`);
    if (wrong.length > 0 && process.env.EDGE_SITES_KEEP !== undefined)
      writeFileSync(process.env.EDGE_SITES_KEEP, routes);
    expect(wrong.slice(0, 5).join("\n")).toBe("");
  } finally {
    await gateway?.stop();
    await peer.stop();
    for (const one of origins) one.stop(true);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether the gateway gives what nginx does not. */
function isOpened(there: Outcome, here: Outcome, site: string): boolean {
  if (here.status >= 300) return false;
  // Noted: with a named location files are not looked up first, of which nginx refuses other methods than GET.
  const isFile = there.status === 405 || there.from.startsWith("FILE");
  if (isFile && here.from.startsWith("ORIGIN") && site.includes("@named;")) return false;
  if (there.status >= 400 || there.status === 0) return true;
  return here.from !== "" && here.from !== there.from && there.status < 300;
}

function whole(sites: readonly GeneratedSite[]): string {
  const servers = sites.map(({ text }, i) => `server { listen 127.0.0.1:PORT; server_name s${i}.test; ${text} }`);
  return `daemon off; pid FOLDER/nginx.pid; error_log FOLDER/error.log; worker_processes 1; events { }
http { access_log off; default_type text/plain; client_max_body_size 1m;
client_body_temp_path FOLDER/t1; proxy_temp_path FOLDER/t2; fastcgi_temp_path FOLDER/t3; uwsgi_temp_path FOLDER/t4; scgi_temp_path FOLDER/t5;
geo $inside { default no; 127.0.0.1 yes; }
map $http_x_key $mapped { default 0; 2 1; }
server { listen 127.0.0.1:PORT default_server; location = /ready { return 200 "ready"; } location / { proxy_pass http://127.0.0.1:ONE; } }
${servers.join("\n")} }`;
}

function writeSite(folder: string): void {
  for (const path of SITE_FILES) {
    const file = join(folder, "site", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `FILE:/${path};\n`);
  }
  writeFileSync(join(folder, "site", ".hidden"), "FILE:/.hidden;\n");
  // The password is p.
  writeFileSync(join(folder, "users"), "u:{SHA}UWuQRmUM8QyvHxIeSLhrNXFvDR4=\n");
}

function startOrigin(name: string): Bun.Server<undefined> {
  return Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(`ORIGIN:${name};\n`) });
}

/** Sends one request as it is written. */
function ask(port: number, host: string, { method, path, from, fields }: SiteRequest): Promise<Outcome> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ host: "127.0.0.1", port, localAddress: from });
    const body = method === "POST" ? ["Content-Length: 0"] : [];
    socket.setEncoding("latin1");
    socket.write(
      `${[`${method} ${path} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...body, ...fields].join("\r\n")}\r\n\r\n`,
    );
    socket.on("data", (part) => {
      text += part;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
      resolve({ status, from: /(FILE|ORIGIN):[^;]*/.exec(text)?.[0] ?? "" });
    });
  });
}
