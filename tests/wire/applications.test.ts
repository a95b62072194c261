// docs/uwsgi.md on the binary: applications of uWSGI and SCGI, raw ones that say anything, and real ones.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApplicationOrigin } from "../harness/application-origin.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-applications-"));
const uwsgi = ApplicationOrigin.start("uwsgi");
const scgi = ApplicationOrigin.start("scgi", join(folder, "app.sock"));
const spare = ApplicationOrigin.start("uwsgi");
const origins = { uwsgi, scgi } as const;
type Protocol = keyof typeof origins;
const PROTOCOLS: readonly Protocol[] = ["uwsgi", "scgi"];

/** Where real servers are; "" without one. */
const UWSGI = Bun.which("uwsgi") ?? "";
if (UWSGI === "")
  console.log("skipped: uWSGI itself needs uwsgi (Debian: apt install uwsgi-core uwsgi-plugin-python3)");
const hasFlup =
  Bun.which("python3") !== null && Bun.spawnSync(["python3", "-c", "import flup.server.scgi"]).exitCode === 0;
if (!hasFlup) console.log("skipped: a server of SCGI itself needs flup (pip install flup)");
const [realUwsgi, realScgi] = [freePort(), freePort()];

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const quick = { retries: { attempts: 0 }, circuit_breaker: { enabled: false } };
const dead = `uwsgi://127.0.0.1:${freePort()}`;
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      max_header_bytes: "256KiB",
      waf: { enabled: false },
      debug_header: true,
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
    },
  },
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
  routes: [
    {
      type: "upstream",
      prefix: "/uwsgi",
      target: uwsgi.url,
      uwsgi: { env: { APP_ENV: "test" }, modifier1: 5, modifier2: 7 },
      timeouts: { response_header: "500ms" },
      ...quick,
    },
    {
      type: "upstream",
      prefix: "/scgi",
      target: scgi.url,
      scgi: { env: { APP_ENV: "test" } },
      timeouts: { response_header: "500ms" },
      ...quick,
    },
    { type: "upstream", prefix: "/whole", target: uwsgi.url, strip_prefix: false, ...quick },
    { type: "upstream", prefix: "/moved", target: uwsgi.url, rewrite: { path: "/new{rest}" }, ...quick },
    { type: "upstream", prefix: "/pair", targets: [{ url: dead }, { url: spare.url }], retries: { attempts: 1 } },
    {
      type: "upstream",
      prefix: "/counted",
      target: spare.url,
      circuit_breaker: { failure_threshold: 1 },
      health_check: { path: "/ping?full", interval: "100ms", timeout: "100ms" },
    },
    { type: "upstream", prefix: "/real-uwsgi", target: `uwsgi://127.0.0.1:${realUwsgi}`, ...quick },
    { type: "upstream", prefix: "/real-scgi", target: `scgi://127.0.0.1:${realScgi}`, ...quick },
  ],
});
afterAll(async () => {
  await stopAll(gateway, uwsgi, scgi, spare);
  rmSync(folder, { recursive: true, force: true });
  for (const one of [uwsgi, scgi, spare]) expect(one.violations).toEqual([]);
});

const ECHO = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello";
const get = (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));

describe.each(PROTOCOLS)("%s: what an application is told", (protocol) => {
  const origin = origins[protocol];

  test("of path, query, fields and itself", async () => {
    origin.on("/a b/\xc3\xb6", (call) => call.respond(ECHO));
    const lines = [
      "X-A: 1",
      "X-A: 2",
      "Cookie: a=1",
      "Cookie: b=2",
      "Content-Type: x/y",
      "Proxy: evil",
      "X_User: root",
      "X.User: root",
    ];
    expect((await get(`/${protocol}/a%20b/%C3%B6?p=1&q=a%2Fb`, lines)).text).toBe("hello");
    const { variables, modifiers } = origin.last("/a b/\xc3\xb6");
    expect(Object.fromEntries(variables)).toMatchObject({
      SCRIPT_NAME: `/${protocol}`,
      PATH_INFO: "/a b/\xc3\xb6",
      DOCUMENT_URI: `/${protocol}/a b/\xc3\xb6`,
      REQUEST_URI: `/${protocol}/a%20b/%C3%B6?p=1&q=a%2Fb`,
      QUERY_STRING: "p=1&q=a%2Fb",
      REQUEST_METHOD: "GET",
      SERVER_PROTOCOL: "HTTP/1.1",
      SERVER_NAME: "gw.test",
      SERVER_PORT: String(gateway.port),
      REMOTE_ADDR: "127.0.0.1",
      REQUEST_SCHEME: "http",
      CONTENT_TYPE: "x/y",
      CONTENT_LENGTH: protocol === "scgi" ? "0" : "",
      HTTP_HOST: "gw.test",
      HTTP_X_A: "1, 2",
      HTTP_COOKIE: "a=1; b=2",
      APP_ENV: "test",
    });
    for (const name of ["HTTP_PROXY", "HTTP_X_USER", "HTTP_X.USER", "HTTP_CONNECTION", "HTTPS"])
      expect(variables.has(name)).toBe(false);
    if (protocol === "uwsgi") expect(modifiers).toEqual([5, 7]);
  });

  test("of HTTP/2 over TLS, with a body without a length", async () => {
    origin.on("/put", async (call) => call.respond(`Status: 201 Made\r\n\r\n${(await call.body()).length}`));
    const client = await H2Client.connectTls(tlsPort);
    const fields = head("POST", `/${protocol}/put`).map(
      ([name, value]) => [name, name === ":scheme" ? "https" : value] as const,
    );
    const stream = client.headers(fields, false);
    client.data(stream, Buffer.alloc(10_000, "x"));
    client.data(stream, Buffer.alloc(10_000, "x"), true);
    const reply = await client.reply(stream);
    expect([reply.status, reply.text]).toEqual([201, "20000"]);
    expect(Object.fromEntries(origin.last("/put").variables)).toMatchObject({
      HTTPS: "on",
      SERVER_PROTOCOL: "HTTP/2.0",
      CONTENT_LENGTH: "20000",
    });
    client.close();
  });

  test("of bodies, with a length and in chunks", async () => {
    const body = Buffer.alloc(200_000, "0123456789");
    origin.on("/post", async (call) => {
      const taken = await call.body();
      call.respond(`Content-Type: text/plain\r\n\r\n${taken.equals(body)}`);
    });
    const chunks = Buffer.concat([request(`POST /${protocol}/post`, ["Transfer-Encoding: chunked"]), chunked(body)]);
    for (const one of [request(`POST /${protocol}/post`, [], body), chunks])
      expect((await gateway.once(one)).text).toBe("true");
    expect(origin.last("/post").variables.has("HTTP_TRANSFER_ENCODING")).toBe(false);
  });
});

describe("paths", () => {
  test("are whole without strip_prefix, and those of a rewrite", async () => {
    for (const path of ["/whole/x", "/new/x", "/"]) uwsgi.on(path, (call) => call.respond(ECHO));
    expect((await get("/whole/x")).status).toBe(200);
    expect(uwsgi.last("/whole/x").variables.get("SCRIPT_NAME")).toBe("");
    expect((await get("/moved/x?a")).status).toBe(200);
    expect(uwsgi.last("/new/x").variables.get("REQUEST_URI")).toBe("/moved/x?a");
    expect((await get("/uwsgi")).status).toBe(200);
  });

  test("that no application must see are refused", async () => {
    const { length } = uwsgi.calls;
    expect((await get("/uwsgi/a%00b")).status).toBe(400);
    expect((await get("/uwsgi/../../etc")).status).not.toBe(200);
    expect(uwsgi.calls).toHaveLength(length);
  });
});

/** Heads, and what clients get: status and body, or a fault in the log. */
const HEADS: readonly (readonly [name: string, output: string, status: number, text: string])[] = [
  ["a status line", "HTTP/1.0 404 Gone away\r\n\r\nx", 404, "x"],
  ["a field of status", "Status: 418 Short\r\n\r\nx", 418, "x"],
  ["the same in both", "HTTP/1.1 418 Teapot\r\nStatus: 418 Teapot\r\n\r\nx", 418, "x"],
  ["no status", "Content-Type: a/b\r\n\r\nx", 200, "x"],
  ["a redirect", "Location: /x\r\n\r\n", 302, ""],
  ["bare line feeds", "HTTP/1.1 201 OK\nX-A: 1\n\nx", 201, "x"],
  ["a length below the body", "Content-Length: 1\r\n\r\nxyz", 200, "x"],
  [
    "framing of its own",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: upgrade\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    200,
    "1\r\nx\r\n0\r\n\r\n",
  ],
  ["two that differ", "HTTP/1.1 200 OK\r\nStatus: 404 x\r\n\r\nx", 502, ""],
  ["two fields", "Status: 200\r\nStatus: 200\r\n\r\nx", 502, ""],
  ["three", "HTTP/1.1 200 OK\r\nStatus: 200\r\nStatus: 200\r\n\r\nx", 502, ""],
  ["an interim one", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx", 502, ""],
  ["a switch", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 502, ""],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\nx", 502, ""],
  ["another version", "HTTP/2.0 200 OK\r\n\r\nx", 502, ""],
  ["two lengths", "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", 502, ""],
  ["a length that is none", "Content-Length: 1, 2\r\n\r\nx", 502, ""],
  ["a name with a space", "HTTP/1.1 200 OK\r\nX A: 1\r\n\r\nx", 502, ""],
  ["a value with a NUL", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\nx", 502, ""],
  ["no head", "hello", 502, ""],
  ["nothing", "", 502, ""],
  ["half of a head", "HTTP/1.1 200 OK\r\nX-A", 502, ""],
  ["a head without end", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(70_000)}`, 502, ""],
];

describe.each(PROTOCOLS)("%s: what an application says", (protocol) => {
  test.each(HEADS)("%s", async (name, output, status, text) => {
    const path = `/head/${name.replaceAll(" ", "-")}`;
    origins[protocol].on(path, (call) => call.respond(output));
    const reply = await get(`/${protocol}${path}`);
    expect(reply.status).toBe(status);
    if (status !== 502) expect([reply.text, reply.fields.has("status")]).toEqual([text, false]);
    else expect(reply.fields.get("x-edge-fault")).not.toBe("internal_error");
  });

  test("HEAD has no body, whatever the application sends", async () => {
    origins[protocol].on("/h", (call) => call.respond("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
    const client = await gateway.connect();
    for (const method of ["HEAD", "GET"]) {
      const reply = await client.exchange(request(`${method} /${protocol}/h`), method);
      expect([reply.status, reply.text, reply.fields.get("content-length")]).toEqual([
        200,
        method === "GET" ? "hello" : "",
        "5",
      ]);
    }
    client.close();
  });

  test("streams, and is cut if it ends before its length", async () => {
    const go = Promise.withResolvers<void>();
    origins[protocol].on("/flow", async (call) => {
      call.send("HTTP/1.1 200 OK\r\n\r\nfirst ");
      await go.promise;
      call.respond("second");
    });
    const client = await gateway.connect();
    client.send(request(`GET /${protocol}/flow`));
    await client.until("the first part", () => (client.peek().includes("first ") ? true : undefined));
    go.resolve();
    expect((await client.reply()).text).toBe("first second");
    client.close();
    origins[protocol].on("/cut", (call) => call.respond("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"));
    await expect(get(`/${protocol}/cut`)).rejects.toThrow();
    const line = await gateway.log("the cut", (one) => one.event === "access" && one.path === `/${protocol}/cut`);
    expect(line.fault_detail).toBe("closed_in_body");
  });

  test("is 504 if it says nothing, and the client's end ends its connection", async () => {
    origins[protocol].on("/silent", () => {});
    const reply = await get(`/${protocol}/silent`);
    expect([reply.status, reply.fields.get("x-edge-fault")]).toEqual([504, "first_byte_timeout"]);
    const call = origins[protocol].last("/silent");
    await call.until("the end", () => (call.ending === "open" ? undefined : true));
  });
});

describe("heads that a packet has no room for", () => {
  const lines = Array.from({ length: 9 }, (_, i) => `X-${i}: ${"v".repeat(8000)}`);

  test("are 431 before uWSGI, and no failure of the target; SCGI has room", async () => {
    uwsgi.on("/big", (call) => call.respond(ECHO));
    scgi.on("/big", (call) => call.respond(ECHO));
    spare.on("/big", (call) => call.respond(ECHO));
    expect((await get("/uwsgi/big", lines)).status).toBe(431);
    expect((await get("/uwsgi/big", lines.slice(2))).status).toBe(200);
    expect((await get("/scgi/big", lines)).status).toBe(200);
    for (const status of [431, 200, 431, 200])
      expect((await get("/counted/big", status === 431 ? lines : [])).status).toBe(status);
  });
});

describe("several targets", () => {
  test("a dead one gives way to the next", async () => {
    spare.on("/x", (call) => call.respond(ECHO));
    for (let i = 0; i < 4; i++) expect((await get("/pair/x")).text).toBe("hello");
  });

  test("are probed as they are asked", async () => {
    spare.on("/ping", (call) => call.respond("HTTP/1.1 204 No Content\r\n\r\n"));
    await eventually(() => spare.last("/ping"));
    expect(Object.fromEntries(spare.last("/ping").variables)).toMatchObject({
      REQUEST_METHOD: "GET",
      REQUEST_URI: "/ping?full",
      QUERY_STRING: "full",
      HTTP_USER_AGENT: "edge-health-check",
    });
  });
});

const APP = `
def application(env, start):
    n = int(env.get('CONTENT_LENGTH') or 0)
    body = env['wsgi.input'].read(n) if n else b''
    start('202 Taken', [('Content-Type', 'text/plain')])
    return [('%s %s %s %s ' % (env['REQUEST_METHOD'], env['SCRIPT_NAME'], env['PATH_INFO'], env['QUERY_STRING'])).encode(), body]
`;

describe("a real server", () => {
  writeFileSync(join(folder, "app.py"), APP);
  writeFileSync(
    join(folder, "serve.py"),
    `from flup.server.scgi import WSGIServer\nfrom app import application\nWSGIServer(application, bindAddress=('127.0.0.1', ${realScgi})).run()\n`,
  );
  const commands: readonly (readonly [name: string, isThere: boolean, command: readonly string[]])[] = [
    [
      "uwsgi",
      UWSGI !== "",
      [
        UWSGI,
        "--plugin",
        "python3",
        "--socket",
        `127.0.0.1:${realUwsgi}`,
        "--wsgi-file",
        "app.py",
        "--need-app",
        "--die-on-term",
      ],
    ],
    ["scgi", hasFlup, ["python3", "serve.py"]],
  ];
  for (const [name, isThere, command] of commands)
    test.skipIf(!isThere)(name, async () => {
      const child = Bun.spawn([...command], { cwd: folder, stdout: "ignore", stderr: "ignore" });
      try {
        await eventually(async () => expect((await get(`/real-${name}/up`)).status).toBe(202));
        const body = "b".repeat(100_000);
        const reply = await gateway.once(request(`POST /real-${name}/a%20b?q=1`, [], body));
        expect([reply.status, reply.reason]).toEqual([202, "Taken"]);
        expect(reply.text).toBe(`POST /real-${name} /a b q=1 ${body}`);
      } finally {
        child.kill("SIGKILL");
        await child.exited;
      }
    });
});
