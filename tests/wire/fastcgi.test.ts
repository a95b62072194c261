import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { FastCgiOrigin } from "../harness/fastcgi-origin.ts";
import { endRecord, record, responseOf, STDERR, STDOUT } from "../harness/fastcgi-records.ts";
import { startGateway } from "../harness/gateway.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { exchangeFrom } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-fastcgi-"));
const root = join(folder, "site");
mkdirSync(join(root, "sub"), { recursive: true });
for (const script of ["index.php", "sub/index.php", "tool.php"]) writeFileSync(join(root, script), "<?php secret();");
writeFileSync(join(root, "style.css"), "body {}");

const origin = FastCgiOrigin.start();
const kept = FastCgiOrigin.start(join(folder, "app.sock"));
const [busy, free] = [FastCgiOrigin.start(), FastCgiOrigin.start()];
const fastcgi = { root };
const quick = { retries: { attempts: 0 }, circuit_breaker: { enabled: false } };
const gateway = await startGateway({
  config: {
    server: { workers: 1, trusted_proxies: ["127.0.0.2/32"], waf: { enabled: false } },
    proxy: { transport: { response_header_timeout: "20s" } },
  },
  routes: [
    { type: "upstream", prefix: "/", target: origin.url, fastcgi: { ...fastcgi, env: { APP_ENV: "test" } }, ...quick },
    { type: "upstream", prefix: "/kept", target: kept.url, fastcgi: { ...fastcgi, keep_connections: 4 }, ...quick },
    {
      type: "upstream",
      prefix: "/pair",
      targets: [{ url: busy.url }, { url: free.url }],
      fastcgi,
      retries: { attempts: 1 },
      circuit_breaker: { enabled: false },
    },
    {
      type: "upstream",
      prefix: "/away",
      target: origin.url,
      fastcgi: { root: "/srv/elsewhere", check_files: false },
      ...quick,
    },
    {
      type: "upstream",
      prefix: "/short",
      target: origin.url,
      fastcgi,
      timeouts: { response_header: "150ms" },
      ...quick,
    },
    {
      type: "upstream",
      prefix: "/inside",
      target: origin.url,
      fastcgi,
      auth: { basic: { users: { "zo\u00eb": Bun.password.hashSync("pass", { algorithm: "bcrypt", cost: 4 }) } } },
      ...quick,
    },
    {
      type: "upstream",
      prefix: "/plain",
      target: origin.url,
      fastcgi: { ...fastcgi, front_controller: false },
      ...quick,
    },
    {
      type: "upstream",
      prefix: "/probed",
      target: free.url,
      fastcgi,
      health_check: { path: "/ping?full", interval: "50ms" },
    },
  ],
});
afterAll(async () => {
  await stopAll(gateway, origin, kept, busy, free);
  rmSync(folder, { recursive: true, force: true });
  for (const one of [origin, kept, busy, free]) expect(one.violations).toEqual([]);
});

const get = (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));
const echo = "Content-Type: text/plain\r\n\r\nhello";

/** The parameters that the application was given for a request. */
async function paramsOf(path: string, lines: readonly string[] = []): Promise<ReadonlyMap<string, string>> {
  // As scripts are told of it: a slash is one, however it is written.
  const own = path.split("?", 1)[0]!.replaceAll("%2F", "/");
  origin.on(own, (call) => call.respond(echo));
  expect((await get(path, lines)).text).toBe("hello");
  const call = origin.callsFor(own).at(-1)!;
  // No name twice: what reads the first one and what reads the last one are told the same.
  expect(new Set(call.pairs.map(([name]) => name)).size).toBe(call.pairs.length);
  return call.params;
}

describe("what a script is told", () => {
  test("of a path that leads to no file", async () => {
    const params = await paramsOf("/2026/a%20post/?p=1&q=a%2Fb", ["Accept: text/html", "Cookie: a=1", "Cookie: b=2"]);
    expect(Object.fromEntries(params)).toMatchObject({
      SCRIPT_FILENAME: `${root}/index.php`,
      SCRIPT_NAME: "/index.php",
      DOCUMENT_ROOT: root,
      DOCUMENT_URI: "/index.php",
      PATH_INFO: "",
      REQUEST_URI: "/2026/a%20post/?p=1&q=a%2Fb",
      QUERY_STRING: "p=1&q=a%2Fb",
      REQUEST_METHOD: "GET",
      SERVER_PROTOCOL: "HTTP/1.1",
      GATEWAY_INTERFACE: "CGI/1.1",
      SERVER_SOFTWARE: "edge",
      SERVER_NAME: "gw.test",
      SERVER_ADDR: "127.0.0.1",
      SERVER_PORT: String(gateway.port),
      REMOTE_ADDR: "127.0.0.1",
      REQUEST_SCHEME: "http",
      CONTENT_LENGTH: "",
      CONTENT_TYPE: "",
      HTTP_HOST: "gw.test",
      HTTP_ACCEPT: "text/html",
      HTTP_COOKIE: "a=1; b=2",
      APP_ENV: "test",
    });
    expect(params.get("REMOTE_PORT")).toMatch(/^\d+$/);
    expect(params.get("HTTP_X_REQUEST_ID")).toMatch(/^[0-9a-f-]{36}$/);
    expect([params.has("HTTPS"), params.has("PATH_TRANSLATED"), params.has("REMOTE_USER")]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("of what comes after a script in a path", async () => {
    const params = await paramsOf("/tool.php/a%20b/c%2Fd/?x");
    expect([params.get("SCRIPT_NAME"), params.get("PATH_INFO")]).toEqual(["/tool.php", "/a b/c/d/"]);
    expect(params.get("PATH_TRANSLATED")).toBe(`${root}/a b/c/d/`);
    expect((await paramsOf("/sub/")).get("SCRIPT_FILENAME")).toBe(`${root}/sub/index.php`);
  });

  test("of a path below a prefix, as clients ask for it", async () => {
    kept.on("/kept/sub/", (call) => call.respond(echo));
    expect((await get("/kept/sub/")).text).toBe("hello");
    const { params } = kept.callsFor("/kept/sub/")[0]!;
    expect([params.get("SCRIPT_NAME"), params.get("SCRIPT_FILENAME")]).toEqual([
      "/kept/sub/index.php",
      `${root}/sub/index.php`,
    ]);
  });

  test("nothing that another spelling of a field would be", async () => {
    const lines = [
      "Proxy: http://evil.test",
      "X_Real_Ip: 9.9.9.9",
      "X.Forwarded.For: 9.9.9.9",
      "Content_Length: 9",
      "X-Ok: 1",
    ];
    const params = await paramsOf("/fields", lines);
    expect([...params.keys()].filter((name) => /PROXY$|UNDER|HTTP_CONTENT/.test(name))).toEqual([]);
    expect([params.get("HTTP_X_REAL_IP"), params.get("HTTP_X_FORWARDED_FOR")]).toEqual(["127.0.0.1", "127.0.0.1"]);
    expect(params.get("HTTP_X_OK")).toBe("1");
  });

  test("of the client that a trusted proxy tells of, and of no other", async () => {
    origin.on("/who", (call) => call.respond(echo));
    const lines = ["X-Forwarded-For: 198.51.100.7", "X-Forwarded-Proto: https", "Connection: close"];
    for (const from of ["127.0.0.2", "127.0.0.3"]) await exchangeFrom(from, gateway.port, request("GET /who", lines));
    const [trusted, other] = origin.callsFor("/who").map(({ params }) => params);
    const shown = (params = trusted!) => ["REMOTE_ADDR", "REQUEST_SCHEME", "HTTPS"].map((name) => params.get(name));
    expect(shown()).toEqual(["198.51.100.7", "https", "on"]);
    expect(trusted!.has("REMOTE_PORT")).toBe(false);
    expect(shown(other)).toEqual(["127.0.0.3", "http", undefined]);
  });

  test("of the user whom the gateway has let in, and not by a client's own word", async () => {
    const user = `Authorization: Basic ${Buffer.from("zo\u00eb:pass").toString("base64")}`;
    origin.on("/inside/x", (call) => call.respond(echo));
    expect((await get("/inside/x", [user, "Remote_User: root"])).text).toBe("hello");
    const { params } = origin.callsFor("/inside/x")[0]!;
    expect(Buffer.from(params.get("REMOTE_USER")!, "latin1").toString()).toBe("zo\u00eb");
    expect([params.has("HTTP_AUTHORIZATION"), params.has("HTTP_REMOTE_USER")]).toEqual([false, false]);
  });

  test("where the files are elsewhere: one script for all", async () => {
    for (const path of ["/away/any/x.php", "/away/style.css", "/away/"]) {
      const params = await paramsOf(path);
      expect([params.get("SCRIPT_FILENAME"), params.get("PATH_INFO")]).toEqual(["/srv/elsewhere/index.php", ""]);
    }
    expect((await paramsOf("/away/index.php/a")).get("PATH_INFO")).toBe("/a");
  });
});

test("files beside scripts are sent, folders get their slash, and no script is ever a file", async () => {
  const style = await get("/style.css");
  expect([style.status, style.text, style.fields.get("content-type")]).toEqual([
    200,
    "body {}",
    "text/css; charset=utf-8",
  ]);
  const moved = await get("/sub?a=1");
  expect([moved.status, moved.fields.get("location")]).toEqual([301, "/sub/?a=1"]);
  const count = origin.calls.length;
  for (const path of ["/none.php", "/style.css/x.php", "/tool.PHP", "/tool.php.", "/plain/none"]) {
    const reply = await get(path);
    expect([path, reply.status, reply.text.includes("secret")]).toEqual([path, 404, false]);
  }
  expect((await gateway.once(request("POST /style.css", [], "x"))).status).toBe(405);
  expect(origin.calls.length).toBe(count);
});

describe("bodies", () => {
  const body = Buffer.alloc(3_000_000, "0123456789abcdef");
  const digest = createHash("sha1").update(body).digest("hex");

  test("whose length is known stream to the script, in records of any number", async () => {
    origin.on("/upload", async (call) => {
      const got = await call.body();
      call.respond(
        `Content-Type: text/plain\r\n\r\n${call.params.get("CONTENT_LENGTH")} ${createHash("sha1").update(got).digest("hex")}`,
      );
    });
    const reply = await gateway.once(request("POST /upload", ["Content-Type: application/x-test"], body));
    expect(reply.text).toBe(`${body.length} ${digest}`);
    expect(origin.callsFor("/upload")[0]!.params.get("CONTENT_TYPE")).toBe("application/x-test");
  });

  test("begin to reach the script before they are complete", async () => {
    origin.on("/begin", async (call) => {
      await call.body();
      call.respond(echo);
    });
    const client = await gateway.connect();
    client.send(`POST /begin HTTP/1.1\r\nHost: gw.test\r\nContent-Length: ${body.length}\r\n\r\n`);
    client.send(body.subarray(0, 1_000_000));
    await eventually(() => expect(origin.callsFor("/begin")[0]?.bodyBytes ?? 0).toBeGreaterThan(900_000));
    client.send(body.subarray(1_000_000));
    expect((await client.reply()).text).toBe("hello");
    client.close();
  });

  test("in chunks get a length first, without a word of chunks", async () => {
    const reply = await gateway.once(
      Buffer.concat([
        Buffer.from("POST /upload HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n"),
        chunked(body.subarray(0, 100_000)),
      ]),
    );
    expect(reply.text).toStartWith("100000 ");
    const { params } = origin.callsFor("/upload").at(-1)!;
    expect([params.get("CONTENT_LENGTH"), params.has("HTTP_TRANSFER_ENCODING")]).toEqual(["100000", false]);
  });
});

describe("responses", () => {
  const cases: readonly (readonly [name: string, output: string, status: number, location: string | null])[] = [
    ["plain", "Content-Type: text/plain\r\n\r\nx", 200, null],
    ["bare line feeds", "Content-Type: text/plain\nX-A: 1\n\nx", 200, null],
    ["a status", "Status: 418 Short and stout\r\n\r\nx", 418, null],
    ["a status without a phrase", "Status: 404\r\n\r\nx", 404, null],
    ["a redirect", "Location: /elsewhere\r\n\r\nx", 302, "/elsewhere"],
    [
      "a redirect with a status",
      "Status: 301 Moved\r\nLocation: https://other.test/\r\n\r\nx",
      301,
      "https://other.test/",
    ],
    ["no fields", "\r\nx", 200, null],
  ];
  for (const [name, output, status, location] of cases) {
    test(`${name}: ${status}`, async () => {
      const path = `/r/${name.replaceAll(" ", "-")}`;
      origin.on(path, (call) => call.respond(output));
      const reply = await get(path);
      expect([reply.status, reply.text, reply.fields.get("location")]).toEqual([status, "x", location]);
      expect(reply.fields.has("status")).toBe(false);
    });
  }

  const phrases: readonly (readonly [sent: string, got: string])[] = [
    ["418 I'm a teapot", "I'm a teapot"],
    ["407 Proxy Authentication Required", "Proxy Authentication Required"],
    ["511 Network Authentication Required", "Network Authentication Required"],
    ["200 All good", "All good"],
    ["599 Own words", "Own words"],
    ["404", "Not Found"],
    ["599", "Unknown"],
  ];
  test.each(phrases)("a status keeps its words: %s", async (sent, got) => {
    const path = `/words/${Buffer.from(sent).toString("hex")}`;
    origin.on(path, (call) => call.respond(`Status: ${sent}\r\nContent-Type: text/plain\r\n\r\nx`));
    const reply = await get(path);
    expect([`${reply.status}`, reply.reason]).toEqual([sent.slice(0, 3), got]);
  });

  test("say nothing of the connection, and are framed by the gateway", async () => {
    const lines =
      "Connection: close\r\nTransfer-Encoding: chunked\r\nKeep-Alive: x\r\nTrailer: X\r\nContent-Type: text/plain";
    origin.on("/framing", (call) => call.respond(`${lines}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`));
    const reply = await get("/framing");
    expect(reply.text).toBe("5\r\nhello\r\n0\r\n\r\n");
    expect(reply.fields.has("keep-alive")).toBe(false);
  });

  test("of any length come through whole, whatever the records", async () => {
    const body = Buffer.alloc(2_000_000, "abcdefghijklmnop");
    origin.on("/long", (call) => {
      const output = Buffer.concat([Buffer.from("Content-Type: text/plain\r\n\r\n"), body]);
      call.send(responseOf(output, Number(call.params.get("QUERY_STRING"))));
      call.connection.finish();
    });
    for (const size of [65_535, 8184, 1000]) expect((await get(`/long?${size}`)).body.equals(body)).toBe(true);
  });

  test("flow as they are made", async () => {
    const go = Promise.withResolvers<void>();
    origin.on("/flow", async (call) => {
      call.send(record(STDOUT, "Content-Type: text/plain\r\n\r\nfirst "));
      await go.promise;
      call.send(record(STDOUT, "second"), record(STDOUT), endRecord());
      call.connection.finish();
    });
    const client = await gateway.connect();
    client.send(request("GET /flow"));
    await client.until("the first part", () => (client.peek().includes("first ") ? true : undefined));
    go.resolve();
    expect((await client.reply()).text).toBe("first second");
    client.close();
  });

  test("to HEAD have no body", async () => {
    origin.on("/head", (call) => call.respond("Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"));
    const client = await gateway.connect();
    client.send(request("HEAD /head"));
    expect((await client.reply("HEAD")).fields.get("content-length")).toBe("5");
    client.send(request("GET /head"));
    expect((await client.reply()).text).toBe("hello");
    client.close();
  });

  test("hold the application while their client does not read", async () => {
    const total = 80_000_000;
    const block = record(STDOUT, Buffer.alloc(65_000, "z"));
    origin.on("/slow-reader", async (call) => {
      call.send(record(STDOUT, "Content-Type: text/plain\r\n\r\n"));
      for (let sent = 0; sent < total; sent += 65_000) call.send(block);
      call.send(record(STDOUT), endRecord());
      await call.connection.flushed();
      call.connection.finish();
    });
    const client = await gateway.connect();
    client.hold();
    client.send(request("GET /slow-reader"));
    const { connection } = await eventually(() => {
      const call = origin.callsFor("/slow-reader")[0];
      expect(call?.connection.sentBytes ?? 0).toBeGreaterThan(100_000);
      return call!;
    });
    let before = -1;
    await eventually(async () => {
      const at = connection.sentBytes;
      const isStill = at === before;
      before = at;
      await Bun.sleep(100);
      expect(isStill).toBe(true);
    });
    expect(before).toBeLessThan(total * 0.7);
    client.release();
    expect((await client.reply()).body.length).toBe(Math.ceil(total / 65_000) * 65_000);
    client.close();
  });
});

describe("what is no response", () => {
  const head = "Content-Type: text/plain\r\n\r\n";
  const cases: Readonly<Record<string, readonly (string | Uint8Array)[]>> = {
    "a connection that closes at once": [],
    "an end without output": [record(STDOUT), endRecord()],
    "a head without its end": [record(STDOUT, "Content-Type: text/plain\r\n"), endRecord()],
    "another request's output": [record(STDOUT, head, { id: 2 }), endRecord()],
    "another version": [record(STDOUT, head, { version: 0 }), endRecord()],
    "a record that nobody asked for": [record(10, head), endRecord()],
    HTTP: ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"],
    "a status that is none": [responseOf("Status: 2000 OK\r\n\r\nx")],
    "an interim status": [responseOf("Status: 101 Switching Protocols\r\nUpgrade: x\r\n\r\nx")],
    "two states": [responseOf("Status: 200 OK\r\nStatus: 404 Not Found\r\n\r\nx")],
    "two lengths": [responseOf("Content-Length: 1\r\nContent-Length: 2\r\n\r\nx")],
    "a name with a space": [responseOf("Content Type: text/plain\r\n\r\nx")],
    "a value with NUL": [responseOf("X-A: a\0b\r\n\r\nx")],
    "a head without an end in sight": [
      record(STDOUT, `X-A: ${"a".repeat(60_000)}`),
      record(STDOUT, "b".repeat(20_000)),
    ],
  };
  for (const [name, data] of Object.entries(cases)) {
    test(`${name}: 502`, async () => {
      const path = `/bad/${encodeURIComponent(name)}`;
      origin.on(path, (call) => {
        call.send(...data);
        call.connection.finish();
      });
      const reply = await get(path);
      expect([reply.status, reply.text.includes("502")]).toEqual([502, true]);
    });
  }

  const cut: Readonly<Record<string, readonly (string | Uint8Array)[]>> = {
    "a connection that ends before the request does": [record(STDOUT, `${head}half`)],
    "a length that is not reached": [responseOf("Content-Length: 10\r\n\r\nhalf")],
    "a record that does not belong": [record(STDOUT, `${head}half`), record(STDOUT, "x", { id: 3 })],
  };
  for (const [name, data] of Object.entries(cut)) {
    test(`${name}: the response is cut, or 502 where none of it has left`, async () => {
      const path = `/cut/${encodeURIComponent(name)}`;
      origin.on(path, async (call) => {
        for (const one of data) {
          call.send(one);
          await Bun.sleep(30);
        }
        call.connection.finish();
      });
      const client = await gateway.connect();
      client.send(request(`GET ${path}`));
      expect(
        await client.reply().then(
          ({ status }) => status,
          () => 502,
        ),
      ).toBe(502);
      client.close();
    });
  }

  test("an application that is too busy: another, even for POST, or 503", async () => {
    busy.on("/pair/x", (call) => call.send(endRecord(2)));
    free.on("/pair/x", (call) => call.respond(echo));
    for (let i = 0; i < 4; i++) expect((await gateway.once(request("POST /pair/x"))).text).toBe("hello");
    expect([busy.calls.length > 0, free.callsFor("/pair/x").length]).toEqual([true, 4]);
    origin.on("/busy", (call) => call.send(endRecord(2)));
    expect((await get("/busy")).status).toBe(503);
  });

  test("one that says nothing: 504", async () => {
    origin.on("/short/never", () => {});
    expect((await get("/short/never")).status).toBe(504);
    await eventually(() => expect(origin.callsFor("/short/never")[0]!.isAborted).toBe(true));
  });
});

test("a script whose client leaves is told", async () => {
  origin.on("/left", (call) => call.send(record(STDOUT, "Content-Type: text/plain\r\n\r\nfirst")));
  const client = await gateway.connect();
  client.send(request("GET /left"));
  await client.until("the first part", () => (client.peek().includes("first") ? true : undefined));
  client.reset();
  const [call] = origin.callsFor("/left");
  await eventually(() => expect([call!.isAborted, call!.connection.ending]).toEqual([true, "fin"]));
});

test("what a script writes of errors is one event, however it comes", async () => {
  origin.on("/errors", async (call) => {
    call.send(record(STDERR, "PHP message: fi"));
    await Bun.sleep(20);
    call.send(record(STDERR, "rst\n\x1b[31m second\r\n"), record(STDERR, "x".repeat(5000)), responseOf(echo));
    call.connection.finish();
  });
  const reply = await get("/errors");
  expect(reply.text).toBe("hello");
  const line = await gateway.log(
    "script_errors",
    ({ event, script }) => event === "script_errors" && script === "/index.php",
  );
  expect(line).toMatchObject({ upstream: origin.url, request_id: reply.fields.get("x-request-id") });
  expect(line.text).toStartWith("PHP message: first [31m second xxx");
  expect(String(line.text).length).toBeLessThan(2100);
  expect(gateway.logs.json.filter(({ event }) => event === "script_errors").length).toBe(1);
});

describe("connections", () => {
  test("serve one request where none are kept", async () => {
    origin.on("/once", (call) => call.send(responseOf(echo)));
    const before = origin.connections.length;
    for (let i = 0; i < 3; i++) expect((await get("/once")).text).toBe("hello");
    const calls = origin.callsFor("/once");
    expect([origin.connections.length - before, calls.some((call) => call.keepsConnection)]).toEqual([3, false]);
    await eventually(() => expect(calls.every(({ connection }) => connection.ending !== "open")).toBe(true));
  });

  test("serve many where they are kept, and none after an end that is not clean", async () => {
    kept.on("/kept/a", (call) => call.respond("Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"));
    kept.on("/kept/more", (call) => call.respond("Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nhello"));
    const client = await gateway.connect();
    const ask = async (path: string): Promise<string> => (await client.exchange(request(`GET ${path}`))).text;
    for (let i = 0; i < 3; i++) expect(await ask("/kept/a")).toBe("hello");
    const [first, second] = kept.callsFor("/kept/a");
    expect([first!.keepsConnection, first!.connection === second!.connection]).toEqual([true, true]);
    // What is more than was announced is nobody's: least of all the next client's.
    expect(await ask("/kept/more")).toBe("he");
    expect(await ask("/kept/a")).toBe("hello");
    const [more] = kept.callsFor("/kept/more");
    expect(kept.callsFor("/kept/a").at(-1)!.connection === more!.connection).toBe(false);
    client.close();
  });
});

test("a health check asks for what the application answers itself", async () => {
  free.on("/ping", (call) => call.respond("Content-Type: text/plain\r\n\r\npong"));
  const params = await eventually(() => {
    const call = free.callsFor("/ping")[0];
    expect(call).toBeDefined();
    return call!.params;
  });
  expect(Object.fromEntries(params)).toMatchObject({
    SCRIPT_NAME: "/ping",
    SCRIPT_FILENAME: `${root}/ping`,
    QUERY_STRING: "full",
    REQUEST_METHOD: "GET",
  });
  await eventually(async () =>
    expect(await gateway.metric("gateway_upstream_healthy", { upstream: free.url })).toBe(1),
  );
});
