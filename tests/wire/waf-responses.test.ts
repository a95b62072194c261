// docs/waf.md#responses
import { afterAll, describe, expect, test } from "bun:test";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const TRACE = 'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in <module>\nKeyError: 1\n';
const SQL = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version";
const KEY = `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEowIBAAKCAQEA".repeat(4)}\n-----END RSA PRIVATE KEY-----`;
const LISTING = "<html><title>Index of /files</title>";
const FINE = "<p>A page about java.lang.NullPointerException, -----BEGIN PRIVATE KEY----- and SQL syntax</p>";
const HTML = "Content-Type: text/html";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const origin = ScriptedOrigin.start();
const files = { "a.pem": certificate.cert, "a.key": certificate.key };
const waf = { enabled: true };
const watching = await startGateway({
  config: { server: { waf: { ...waf, responses: "detection" }, compression: {} } },
  routes: [upstream("/", origin)],
});
const enforcing = await startGateway({
  config: {
    server: {
      cache: { enabled: true },
      compression: {},
      waf: { ...waf, responses: "enforce", exclusions: [{ rule: "LEAK-*", path: "/manual" }] },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/", origin, { strip_prefix: false }),
    upstream("/only-logged", origin, { strip_prefix: false, waf: { responses: "detection" } }),
    upstream("/off", origin, { strip_prefix: false, waf: "off" }),
    upstream("/mode", origin, { strip_prefix: false, waf: "detection" }),
  ],
  files,
});
const off = await startGateway({ config: { server: { waf } }, routes: [upstream("/", origin)] });
afterAll(() => stopAll(watching, enforcing, off, origin));

let count = 0;
/** A path that no other test asks for, where the origin responds so. */
function path(script: (call: OriginCall) => void | Promise<void>, prefix = ""): string {
  const name = `${prefix}/${++count}`;
  origin.on(name, script);
  return name;
}

const says = (body: string | Uint8Array, ...lines: string[]) => path((call) => call.reply("200 OK", lines, body));
const piece = (text: string | Uint8Array) => {
  const bytes = Buffer.from(text as string);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
};
const CHUNKED_HEAD = `HTTP/1.1 200 OK\r\n${HTML}\r\nTransfer-Encoding: chunked\r\n\r\n`;
const WITHHELD = { error: "502 Bad Gateway", message: "the response of the upstream was withheld" };

describe("detection", () => {
  test.each([
    [`<p>${"x".repeat(8000)}</p>${TRACE}`, "LEAK-001"],
    [SQL, "LEAK-002"],
    [KEY, "LEAK-003"],
    [LISTING, "LEAK-004"],
  ])("%# is logged, and passes whole", async (body, rule) => {
    const target = says(body, HTML);
    const reply = await watching.once(request(`GET ${target}`));
    expect([reply.status, reply.text]).toEqual([200, body]);
    const line = await watching.log("waf_detect", (one) => one.event === "waf_detect" && one.path === target);
    expect(line).toMatchObject({ rule_id: rule, category: "leak", location: "response", action: "logged" });
  });

  test.each(["gzip", "br", "zstd"])("compressed by the origin or by the gateway: %s", async (coding) => {
    const pack = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync }[coding]!;
    const body = `<p>${"word ".repeat(400)}</p>${TRACE}`;
    for (const target of [says(pack(body), HTML, `Content-Encoding: ${coding}`), says(body, HTML)]) {
      const reply = await watching.once(request(`GET ${target}`, [`Accept-Encoding: ${coding}`]));
      expect(reply.fields.get("content-encoding")).toBe(coding);
      await watching.log("waf_detect", (one) => one.event === "waf_detect" && one.path === target);
    }
  });

  test("what leaks nothing, is no text, or is not looked at, is not logged", async () => {
    const fine = says(FINE, HTML);
    const image = says(TRACE, "Content-Type: image/png");
    for (const target of [fine, image]) expect((await watching.once(request(`GET ${target}`))).status).toBe(200);
    expect((await off.once(request(`GET ${says(SQL, HTML)}`))).status).toBe(200);
    await watching.once(request(`GET ${says(SQL, HTML)}`));
    const found = watching.logs.json.filter((one) => one.event === "waf_detect").map((one) => one.path);
    expect([found.includes(fine), found.includes(image)]).toEqual([false, false]);
    expect(off.logs.json.some((one) => one.event === "waf_detect")).toBe(false);
  });
});

describe("enforce: 502 in the place of", () => {
  const chunks = (...pieces: string[]) =>
    path((call) =>
      call.send(Buffer.concat([Buffer.from(CHUNKED_HEAD), ...pieces.map(piece), Buffer.from("0\r\n\r\n")])),
    );
  const slowly = (...pieces: string[]) =>
    path(async (call) => {
      call.send(CHUNKED_HEAD);
      for (const text of pieces) {
        await Bun.sleep(20);
        call.send(piece(text));
      }
      call.send("0\r\n\r\n");
    });

  test.each([
    ["a stack trace", () => says(TRACE, HTML)],
    ["an error of a database, with 500", () => path((call) => call.reply("500 Internal Server Error", [HTML], SQL))],
    ["a key as a download", () => says(KEY, "Content-Type: application/octet-stream")],
    ["a key without a type", () => says(KEY)],
    ["the rest of a key, as a range", () => says(KEY.slice(40), "Content-Range: bytes 40-200/201")],
    ["a trace in JSON", () => says(JSON.stringify({ error: TRACE }), "Content-Type: application/problem+json")],
    ["one at the end of what is looked at", () => says(`${"x".repeat(16_000)}\n${TRACE}${"y".repeat(50_000)}`, HTML)],
    ["chunks", () => chunks("<p>", TRACE.slice(0, 30), TRACE.slice(30))],
    ["pieces that come one by one", () => slowly("<p>", TRACE.slice(0, 10), TRACE.slice(10, 40), TRACE.slice(40))],
    [
      "a body that ends with the connection",
      () => path((call) => call.sendAndFinish(`HTTP/1.1 200 OK\r\n${HTML}\r\n\r\n${TRACE}`)),
    ],
    ["a field of the head", () => says("", `X-Error: ${SQL}`)],
  ])("%s", async (_what, make) => {
    const target = make();
    const before = await enforcing.metric("gateway_waf_blocked_requests_total", { category: "leak" });
    const reply = await enforcing.once(request(`GET ${target}`));
    expect([reply.status, JSON.parse(reply.text)]).toEqual([502, WITHHELD]);
    expect(reply.fields.get("x-error")).toBeNull();
    const line = await enforcing.log("waf_block", (one) => one.event === "waf_block" && one.path === target);
    expect(line).toMatchObject({ category: "leak", location: "response", action: "blocked" });
    expect(await enforcing.metric("gateway_waf_blocked_requests_total", { category: "leak" })).toBe(before + 1);
  });

  test.each(["gzip", "br", "zstd"])("a compressed one: %s", async (coding) => {
    const pack = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync }[coding]!;
    const body = `<p>${"word ".repeat(400)}</p>${TRACE}${"more ".repeat(40_000)}`;
    for (const target of [says(pack(body), HTML, `Content-Encoding: ${coding}`), says(body, HTML)])
      expect((await enforcing.once(request(`GET ${target}`, [`Accept-Encoding: ${coding}`]))).status).toBe(502);
  });

  test("one over HTTP/2 and HTTP/3; the connections serve on", async () => {
    const fine = says(FINE, HTML);
    const h2 = await H2Client.connect(enforcing.port);
    const replies = await Promise.all([says(TRACE, HTML), fine].map((target) => h2.request(head("GET", target))));
    expect(replies.map(({ status }) => status)).toEqual([502, 200]);
    h2.close();
    const h3 = await H3Client.connect(port);
    expect((await h3.ask("GET", says(TRACE, HTML))).status).toBe(502);
    expect((await h3.ask("GET", fine)).body.toString()).toBe(FINE);
    h3.close();
  });

  test("one that the cache would store, and of one that it fetches again by itself", async () => {
    const target = says(TRACE, HTML, "Cache-Control: max-age=60");
    for (let i = 0; i < 2; i++) expect((await enforcing.once(request(`GET ${target}`))).status).toBe(502);
    expect(origin.requestsFor(target)).toHaveLength(2);
    // The background fetch has a handler, and no phases.
    const stale = says(FINE, HTML, "Cache-Control: max-age=1, stale-while-revalidate=600");
    expect((await enforcing.once(request(`GET ${stale}`))).text).toBe(FINE);
    origin.on(stale, (call) => call.reply("200 OK", [HTML, "Cache-Control: max-age=60"], TRACE));
    // Until it is stale and fetched again, and after that.
    await eventually(async () => {
      const { status, text } = await enforcing.once(request(`GET ${stale}`));
      expect([status, text]).toEqual([200, FINE]);
      expect(enforcing.logs.json.some((one) => one.event === "waf_block" && one.path === stale)).toBe(true);
    });
    expect((await enforcing.once(request(`GET ${stale}`))).text).toBe(FINE);
  });

  test("no more than that: the client's connection is kept", async () => {
    const client = await RawClient.connect(enforcing.port);
    expect((await client.exchange(request(`GET ${says(SQL, HTML)}`))).status).toBe(502);
    expect((await client.exchange(request(`GET ${says(FINE, HTML)}`))).text).toBe(FINE);
    client.close();
  });
});

describe("enforce lets pass", () => {
  test.each([
    ["a page about such things", FINE],
    ["what is long", `${FINE}${"word ".repeat(50_000)}`],
    ["a listing, which is logged alone", LISTING],
    ["nothing", ""],
  ])("%s", async (_what, body) => {
    const reply = await enforcing.once(request(`GET ${says(body, HTML)}`));
    expect([reply.status, reply.body.toString()]).toEqual([200, body]);
  });

  test("chunks with trailers, HEAD, 304, an interim response before", async () => {
    const trailed = path((call) =>
      call.send(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${CHUNKED_HEAD}3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n`),
    );
    const reply = await enforcing.once(request(`GET ${trailed}`, ["TE: trailers"]));
    expect([reply.text, reply.trailers.get("x-sum"), reply.interim.map(({ status }) => status)]).toEqual([
      "abc",
      "1",
      [103],
    ]);
    const target = path((call) =>
      call.request.method === "HEAD"
        ? call.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nContent-Length: 9\r\n\r\n`)
        : call.send('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'),
    );
    expect((await enforcing.once(request(`HEAD ${target}`))).fields.get("content-length")).toBe("9");
    expect((await enforcing.once(request(`GET ${target}`, ['If-None-Match: "a"']))).status).toBe(304);
  });

  test("what an exclusion, the route, or its mode says", async () => {
    for (const prefix of ["/manual", "/only-logged", "/off", "/mode"]) {
      const target = path((call) => call.reply("200 OK", [HTML], TRACE), prefix);
      expect([prefix, (await enforcing.once(request(`GET ${target}`))).text]).toEqual([prefix, TRACE]);
    }
    const logged = (prefix: string) =>
      enforcing.logs.json.some((one) => one.event === "waf_detect" && String(one.path).startsWith(prefix));
    await enforcing.log("the last one", () => logged("/mode"));
    expect(["/manual", "/only-logged", "/off"].map(logged)).toEqual([false, true, false]);
  });
});

describe("enforce, of bodies that cannot be held", () => {
  test("events go out as they come, and a leak cuts the response", async () => {
    let send: (text: string) => void = () => {};
    const target = path((call) => {
      call.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
      send = (text) => call.send(piece(text));
      send("data: 1\n\n");
    });
    const client = await RawClient.connect(enforcing.port);
    client.send(request(`GET ${target}`));
    const text = () => client.peek().toString();
    await client.until("the first event", () => (text().includes("data: 1") ? true : undefined));
    send("data: 2\n\n");
    await client.until("the second event", () => (text().includes("data: 2") ? true : undefined));
    send(`data: ${KEY}\n\n`);
    await client.ended();
    expect(text()).not.toContain("MIIEow");
    expect(text()).not.toContain("0\r\n\r\n");
  });

  test("a slow body goes out after a while, and is looked at on its way", async () => {
    let send: (text: string) => void = () => {};
    const target = path((call) => {
      call.send(CHUNKED_HEAD);
      send = (text) => call.send(piece(text));
      send("<p>begins</p>");
    });
    const client = await RawClient.connect(enforcing.port);
    client.send(request(`GET ${target}`));
    const text = () => client.peek().toString();
    await client.until("the beginning", () => (text().includes("begins") ? true : undefined));
    send(TRACE.slice(0, 20));
    await client.until("the next piece", () => (text().includes(TRACE.slice(0, 20)) ? true : undefined));
    send(TRACE.slice(20));
    await client.ended();
    expect(text()).not.toContain("KeyError");
  });

  test("a client that leaves while a body is held frees the origin", async () => {
    const target = path((call) => call.send(CHUNKED_HEAD + piece("<p>").toString()));
    const client = await RawClient.connect(enforcing.port);
    client.send(request(`GET ${target}`));
    const seen = await origin.until("the request", () => origin.requestsFor(target)[0]);
    client.close();
    await origin.until("the end", () => (origin.connections[seen.connection]!.isClosed ? true : undefined));
  });
});
