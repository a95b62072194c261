// Directives of nginx that need nothing: each with a value that is not the default, edge beside nginx. A directive of the table without such a
// value must not be there. docs/migrate-nginx.md#what-needs-nothing
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parse } from "yaml";
import { STANDARD } from "../../src/tools/convert/nginx/nginx-directives.ts";
import { freePorts, ServerProcess } from "../bench/server-process.ts";
import { convert } from "../harness/conversions.ts";
import { type Gateway, type Settings, startGateway } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";

const nginx = Bun.which("nginx", { PATH: `${process.env.PATH}:/usr/sbin` });
if (nginx === null) console.log("skipped: nginx is not installed (scripts/install-peers)");

const VALUES = STANDARD.flatMap(({ compared = [] }) => compared);
/** Blocks, which have no value. */
const BLOCKS = ["events", "http"];

describe("directives that need nothing", () => {
  for (const { names, values, compared = [] } of STANDARD)
    test(names.replaceAll(/\s+/g, " "), () => {
      for (const name of names.split(/\s+/).filter((one) => !BLOCKS.includes(one))) {
        const own = compared
          .map((one) => one.replace(/^(top|events|upstream): /, ""))
          .filter((one) => one.split(" ")[0] === name);
        // Gateways of other builds know brotli; what has one value that needs nothing has that one compared by another name of its row.
        if (own.length > 0) expect(own.every((one) => values?.test(one.slice(name.length + 1)) ?? true)).toBe(true);
        else expect(["brotli_static", "daemon", "sub_filter_last_modified"]).toContain(name);
      }
    });
});

describe.skipIf(nginx === null)("both gateways answer alike", () => {
  test("with no value, so that the requests themselves are compared", () => compare([]), 60_000);
  test("with all values together", () => compare(VALUES), 60_000);
  for (const value of IS_LONG ? VALUES : []) test(value, () => compare([value]), 60_000);
});

async function compare(values: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "edge-values-"));
  chmodSync(folder, 0o755);
  writeSite(join(folder, "site"));
  const origin = startOrigin();
  const [port = 0] = freePorts(1);
  const text = configurationOf(values, origin.port!).replace(
    /FOLDER|SITE|PORT/g,
    (word) => ({ FOLDER: folder, SITE: join(folder, "site"), PORT: String(port) })[word]!,
  );
  const file = join(folder, "nginx.conf");
  writeFileSync(file, text);
  const peer = new ServerProcess([nginx!, "-c", file], folder, join(folder, "peer.log"));
  let gateway: Gateway | null = null;
  try {
    const { code, config, routes } = convert("nginx", "nginx.conf", text);
    expect(code).toBe(0);
    for (const one of values)
      expect(`${one}: ${routes.includes(`| ${one.replace(/^\w+: /, "")}`)}`).toBe(`${one}: false`);
    if (!(await peer.isReady(port, "/"))) throw new Error(`nginx did not start: ${peer.lastWords()}`);
    const { server, ...sections } = parse(config) as Settings;
    const { port: _port, host: _host, workers: _workers, access_log: _log, ...rest } = server as Settings;
    gateway = await startGateway({
      config: { server: rest, ...sections },
      routes: (parse(routes) as { routes: Settings[] }).routes,
    });
    const wanted: object[] = [];
    const found: object[] = [];
    for (const request of REQUESTS) {
      wanted.push({ request, ...(await ask(port, request)) });
      found.push({ request, ...(await ask(gateway.port, request)) });
    }
    expect(found).toEqual(wanted);
  } finally {
    await gateway?.stop();
    await peer.stop();
    origin.stop(true);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A configuration with these values. */
function configurationOf(values: readonly string[], origin: number): string {
  const of = (place: string): string =>
    values
      .filter((one) => one.startsWith(`${place}: `))
      .map((one) => `${one.slice(place.length + 2)};`)
      .join(" ");
  const plain = values.filter((one) => !/^(top|events|upstream): /.test(one));
  const has = (name: string): boolean => plain.some((one) => one.startsWith(`${name} `));
  const temporary = [
    "client_body_temp_path",
    "proxy_temp_path",
    "fastcgi_temp_path",
    "uwsgi_temp_path",
    "scgi_temp_path",
  ];
  return `daemon off; pid FOLDER/nginx.pid; error_log FOLDER/error.log; ${of("top")} events { ${of("events")} }
http { access_log off; ${plain.map((one) => `${one};`).join("\n")}
${temporary
  .filter((name) => !has(name))
  .map((name, i) => `${name} FOLDER/u${i};`)
  .join(" ")}
${has("max_ranges") ? "" : "max_ranges 1;"} ${has("if_modified_since") ? "" : "if_modified_since before;"}
types { text/html html; text/css css; text/plain txt; } default_type application/octet-stream;
gzip on; gzip_types text/css; gzip_min_length 100; ${has("gzip_vary") ? "" : "gzip_vary on;"} ${has("gzip_proxied") ? "" : "gzip_proxied any;"}
${has("gzip_http_version") ? "" : "gzip_http_version 1.0;"} ${has("proxy_http_version") ? "" : "proxy_http_version 1.1;"}
upstream app { ${of("upstream")} server 127.0.0.1:${origin}; }
server { listen 127.0.0.1:PORT; root SITE; location / { } location /app/ { proxy_pass http://app; proxy_set_header Host $host; }
location /to/ { proxy_pass http://app/; } } }`;
}

/** Request line and fields; a body behind an empty one. */
const REQUESTS: readonly string[] = [
  "GET /",
  "GET /style.css\nAccept-Encoding: gzip",
  "GET /style.css\nAccept-Encoding: gzip\nVia: 1.1 proxy",
  "GET /small.txt\nRange: bytes=1-3",
  "GET /small.txt\nRange: bytes=1-2,4-5",
  "GET /small.txt\nIf-Modified-Since: Fri, 01 Jan 2038 00:00:00 GMT",
  "GET /small.txt\nIf-Modified-Since: Thu, 01 Jan 1998 00:00:00 GMT",
  "HEAD /small.txt",
  "GET /none.txt",
  "GET //small.txt",
  "POST /small.txt\n\nbody",
  "GET /data.bin",
  "GET /ready.txt\nAccept-Encoding: gzip",
  "GET /app/echo?x=1\nX-Own: a",
  "GET /app/echo\nConnection: keep-alive",
  "POST /app/echo\n\nbody of a request",
  `POST /app/echo\n\n${"long ".repeat(20_000)}`,
  "GET /app/gzip\nAccept-Encoding: gzip",
  "GET /app/css\nAccept-Encoding: gzip",
  "GET /app/css",
  "GET /app/stream",
  "GET /app/status",
  "GET /app/redirect",
  "GET /app/large",
  "GET /to/echo",
  "GET /to?x=1",
  "HEAD /app/css",
];

const COMPARED = ["content-type", "content-range", "content-encoding", "vary", "x-own", "location"];

interface Answer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

function ask(port: number, request: string): Promise<Answer> {
  const [head = "", body = ""] = request.split("\n\n");
  const [line = "", ...fields] = head.split("\n");
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect({ host: "127.0.0.1", port });
    const length = body === "" ? [] : [`Content-Length: ${body.length}`];
    const lines = [
      `${line} HTTP/1.1`,
      "Host: site.test",
      "Connection: close",
      ...fields.filter((one) => !one.startsWith("Connection")),
      ...length,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
    socket.on("data", (part: Buffer) => parts.push(part));
    socket.on("error", () => {});
    socket.on("close", () => resolve(answerOf(Buffer.concat(parts).toString("latin1"), line)));
  });
}

function answerOf(text: string, line: string): Answer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const fields = lines
    .map((one) => [one.slice(0, one.indexOf(":")).toLowerCase(), one.slice(one.indexOf(":") + 1).trim()] as const)
    .map(
      ([name, value]) =>
        [
          name,
          name === "content-type"
            ? value.replace(/; *charset=utf-8/, "")
            : value.replace(/^http:\/\/site\.test(:\d+)?\//, "/"),
        ] as const,
    );
  const status = Number(first.split(" ")[1] ?? 0);
  let body = rest.join("\r\n\r\n");
  if (fields.some(([name]) => name === "transfer-encoding")) body = body.replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, "");
  const isCoded = fields.some(([name]) => name === "content-encoding");
  return {
    status,
    // The pages of errors, and what compression makes, are each gateway's own.
    fields: fields
      .filter(([name]) => COMPARED.includes(name) && !(status >= 300 && name !== "location"))
      .map(([name, value]) => `${name}: ${value}`)
      .sort(),
    body: status >= 300 || isCoded || line.startsWith("HEAD") ? "" : body.trim().slice(0, 2000),
  };
}

function writeSite(site: string): void {
  mkdirSync(join(site, "folder"), { recursive: true });
  writeFileSync(join(site, "index.html"), `<p>start</p>${" ".repeat(200)}`);
  writeFileSync(join(site, "style.css"), "b { color: red }\n".repeat(100));
  writeFileSync(join(site, "small.txt"), "0123456789");
  writeFileSync(join(site, "data.bin"), "binary");
  writeFileSync(join(site, "ready.txt"), "ready");
}

function startOrigin(): Bun.Server<undefined> {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const path = new URL(request.url).pathname.replace(/^\/app/, "");
      const plain = { "Content-Type": "text/plain" };
      if (path === "/gzip")
        return new Response(gzipSync("zipped"), {
          headers: { ...plain, "Content-Encoding": "gzip", Vary: "Accept-Encoding" },
        });
      if (path === "/css") return new Response("a { }\n".repeat(200), { headers: { "Content-Type": "text/css" } });
      if (path === "/large") return new Response("x".repeat(300_000), { headers: plain });
      if (path === "/status") return new Response("gone", { status: 410, headers: plain });
      if (path === "/redirect") return new Response(null, { status: 302, headers: { Location: "/elsewhere?x=1" } });
      if (path === "/stream") {
        const parts = ["one ", "two ", "three"];
        return new Response(
          new ReadableStream({
            async pull(controller) {
              const next = parts.shift();
              if (next === undefined) return controller.close();
              controller.enqueue(new TextEncoder().encode(next));
              await Bun.sleep(5);
            },
          }),
          { headers: plain },
        );
      }
      const body = await request.text();
      const { pathname, search } = new URL(request.url);
      return new Response(
        `${request.method} ${pathname}${search} ${request.headers.get("X-Own")} ${body.length} ${body.slice(0, 50)}`,
        {
          headers: { ...plain, "X-Own": "b" },
        },
      );
    },
  });
}
