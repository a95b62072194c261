// docs/body-rewriting.md on the binary: other texts in bodies, however they come, over each protocol.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-rewriting-"));
mkdirSync(join(folder, "site"));
const PAGE = "<a href='http://app.internal/x'>http://app.internal</a> Http://App.Internal/ ";
writeFileSync(join(folder, "site/small.html"), PAGE);
writeFileSync(join(folder, "site/small.html.br"), "never sent");
writeFileSync(join(folder, "site/large.html"), PAGE.repeat(20_000));
writeFileSync(join(folder, "site/plain.txt"), PAGE);
const NEW = "<a href='https://shop.test/x'>https://shop.test</a> Http://App.Internal/ ";
const rules = [{ find: "http://app.internal", with: "https://shop.test" }];

const origin = EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      cache: { enabled: true },
      waf: { enabled: false },
    },
  },
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
  routes: [
    upstream("/o", origin, { rewrite_body: rules, cache: false, compression: false }),
    upstream("/cached", origin, { rewrite_body: rules, compression: { encodings: ["br"], min_bytes: 1 } }),
    upstream("/once", origin, {
      cache: false,
      rewrite_body: {
        rules: [{ find: "A", with: "1" }, { find: "aB" }],
        types: ["text/*"],
        ignore_case: true,
        once: true,
      },
    }),
    upstream("/grow", origin, { cache: false, rewrite_body: [{ find: "x", with: "y".repeat(1000) }] }),
    { type: "static", prefix: "/s", dir: join(folder, "site"), cache: false, rewrite_body: rules },
    { type: "respond", path: "/r", body: PAGE, content_type: "text/html", rewrite_body: rules },
  ],
});
afterAll(async () => {
  await stopAll(gateway, origin);
  rmSync(folder, { recursive: true, force: true });
});

const HTML = "Content-Type: text/html; charset=utf-8";
const OWN = ['ETag: "a"', "Last-Modified: Fri, 27 Nov 2026 00:00:00 GMT", "Accept-Ranges: bytes", "Digest: sha-256=x"];
const get = (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));

describe("a body", () => {
  test("has the new text wherever it is split, and no field of the old one", async () => {
    for (let cut = 1; cut < PAGE.length; cut += 3) {
      origin.on("/split", async (call) => {
        call.send(`HTTP/1.1 200 OK\r\n${[HTML, ...OWN].join("\r\n")}\r\nContent-Length: ${PAGE.length}\r\n\r\n`);
        await call.connection.sendPieces([PAGE.slice(0, cut), PAGE.slice(cut)]);
      });
      const reply = await get("/o/split");
      expect([reply.status, reply.text]).toEqual([200, NEW]);
      for (const name of ["etag", "last-modified", "accept-ranges", "digest", "content-length"])
        expect(reply.fields.has(name)).toBe(false);
    }
    expect(origin.requestsFor("/split").at(-1)!.fields.get("accept-encoding")).toBe("identity");
  });

  test("in chunks of one byte, and until the connection ends", async () => {
    origin.on("/bytes", async (call) => {
      call.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      await call.connection.sendPieces([...[...PAGE].map((one) => `1\r\n${one}\r\n`), "0\r\nX-End: 1\r\n\r\n"]);
    });
    const reply = await get("/o/bytes", ["TE: trailers"]);
    expect([reply.text, reply.trailers.get("x-end")]).toEqual([NEW, "1"]);
    origin.on("/close", (call) => {
      call.takeOver();
      call.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nConnection: close\r\n\r\n${PAGE}http://app.inter`);
      call.connection.finish();
    });
    expect((await get("/o/close")).text).toBe(`${NEW}http://app.inter`);
  });

  test("over HTTP/2 and HTTP/3, in HTTP/1.0, and to HEAD", async () => {
    origin.on("/page", (call) => call.reply("200 OK", [HTML, ...OWN], PAGE));
    const h2 = await H2Client.connect(gateway.port);
    const overH2 = await h2.request(head("GET", "/o/page"));
    expect([overH2.text, overH2.fields.has("content-length"), overH2.fields.has("etag")]).toEqual([NEW, false, false]);
    const toHead = await h2.request(head("HEAD", "/o/page"));
    expect([toHead.status, toHead.body.length, toHead.fields.has("content-length")]).toEqual([200, 0, false]);
    h2.close();
    const h3 = await H3Client.connect(tlsPort);
    expect((await h3.ask("GET", "/o/page")).body.toString()).toBe(NEW);
    h3.close();
    expect((await gateway.once(request("GET /o/page HTTP/1.0"))).text).toBe(NEW);
    const reply = await gateway.once(request("HEAD /o/page"), "HEAD");
    expect([reply.status, reply.fields.has("content-length"), reply.fields.has("etag")]).toEqual([200, false, false]);
  });

  test("that its origin says is in no coding", async () => {
    origin.on("/plain", (call) => call.reply("200 OK", [HTML, "Content-Encoding: Identity"], PAGE));
    const response = await get("/o/plain");
    expect([response.text, response.fields.has("content-encoding")]).toEqual([NEW, false]);
  });

  test("goes on before all of it has come", async () => {
    const go = Promise.withResolvers<void>();
    origin.on("/flow", async (call) => {
      call.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nContent-Length: 40\r\n\r\n<p>first http://app.inter`);
      await go.promise;
      call.send("nal/ and so on.");
    });
    const client = await gateway.connect();
    client.send(request("GET /o/flow"));
    await client.until("the first part", () => (client.peek().includes("first ") ? true : undefined));
    expect(client.peek().includes("http://app")).toBe(false);
    go.resolve();
    expect((await client.reply()).text).toBe("<p>first https://shop.test/ and so on.");
    client.close();
  });

  test("that is cut is cut for the client", async () => {
    origin.on("/cut", (call) => {
      call.takeOver();
      call.send(`HTTP/1.1 200 OK\r\n${HTML}\r\nContent-Length: 900\r\n\r\n${PAGE}`);
      call.connection.finish();
    });
    await expect(get("/o/cut")).rejects.toThrow();
  });

  test("that grows a thousandfold waits for its client, and comes whole", async () => {
    origin.on("/x", (call) => call.reply("200 OK", [HTML], "x".repeat(4000)));
    const client = await gateway.connect();
    client.narrow();
    client.hold();
    client.send(request("GET /grow/x"));
    client.release();
    const reply = await client.reply();
    expect(reply.body.length).toBe(4_000_000);
    expect(reply.body.every((byte) => byte === 0x79)).toBe(true);
    client.close();
    // A client that leaves in the midst of it costs its own response alone.
    const other = await gateway.connect();
    other.send(request("GET /grow/x"));
    await other.until("a part", () => (other.receivedBytes > 100_000 ? true : undefined));
    other.reset();
    expect((await get("/o/page")).text).toBe(NEW);
  });
});

describe("what passes as it is", () => {
  const cases: readonly (readonly [name: string, lines: readonly string[], body: string | Uint8Array])[] = [
    ["another type", ["Content-Type: text/plain"], PAGE],
    ["no type", [], PAGE],
    ["a compressed body", [HTML, "Content-Encoding: gzip"], gzipSync(PAGE)],
    ["no-transform", [HTML, "Cache-Control: no-transform"], PAGE],
  ];
  test.each(cases)("%s", async (name, lines, body) => {
    const path = `/${name.replaceAll(" ", "-")}`;
    origin.on(path, (call) => call.reply("200 OK", [...lines, 'ETag: "a"'], body));
    const reply = await get(`/o${path}`);
    expect(reply.body.equals(Buffer.from(body))).toBe(true);
    expect([reply.fields.get("etag"), reply.fields.get("content-length")]).toEqual(['"a"', `${body.length}`]);
  });

  test("304, and a part of it is refused", async () => {
    origin.on("/304", (call) => call.reply("304 Not Modified", ['ETag: "a"'], ""));
    expect((await get("/o/304", ['If-None-Match: "a"'])).status).toBe(304);
    const part = ["Content-Range: bytes 0-9/99", HTML];
    origin.on("/part", (call) => call.reply("206 Partial Content", part, PAGE.slice(0, 10)));
    const reply = await get("/o/part", ["Range: bytes=0-9"]);
    expect([reply.status, reply.text.includes("app.internal")]).toEqual([416, false]);
    expect((await get("/s/small.html", ["Range: bytes=0-9"])).status).toBe(416);
    expect((await get("/s/plain.txt", ["Range: bytes=0-9"])).status).toBe(206);
  });
});

describe("rules", () => {
  test("each once, in either case, the longest of what begins first", async () => {
    origin.on("/t", (call) => call.reply("200 OK", ["Content-Type: text/css"], "xaBaaabab"));
    expect((await get("/once/t")).text).toBe("x1aabab");
  });
});

describe("files and responses of the gateway", () => {
  test("are changed, and precompressed ones are not used", async () => {
    const small = await get("/s/small.html", ["Accept-Encoding: br"]);
    expect([small.text, small.fields.has("etag"), small.fields.get("content-length")]).toEqual([
      NEW,
      false,
      `${NEW.length}`,
    ]);
    expect((await get("/s/large.html")).body.toString()).toBe(NEW.repeat(20_000));
    expect((await get("/s/plain.txt")).text).toBe(PAGE);
    expect((await get("/r")).text).toBe(NEW);
    const toHead = await gateway.once(request("HEAD /s/small.html"), "HEAD");
    expect(toHead.fields.get("content-length") ?? `${NEW.length}`).toBe(`${NEW.length}`);
  });
});

describe("the cache and compression", () => {
  test("take the new body, whatever clients accept", async () => {
    const fresh = [HTML, "Cache-Control: max-age=60", ...OWN];
    origin.on("/c", (call) => call.reply("200 OK", fresh, PAGE));
    const packed = await get("/cached/c", ["Accept-Encoding: br"]);
    expect(packed.fields.get("content-encoding")).toBe("br");
    expect(brotliDecompressSync(packed.body).toString()).toBe(NEW);
    const again = await get("/cached/c", ["Accept-Encoding: br"]);
    expect(brotliDecompressSync(again.body).toString()).toBe(NEW);
    expect((await get("/cached/c")).text).toBe(NEW);
    const part = await get("/cached/c", ["Range: bytes=0-9"]);
    expect(part.text).toBe(part.status === 206 ? NEW.slice(0, 10) : NEW);
    expect(origin.requestsFor("/c").length).toBeLessThan(4);
  });
});
