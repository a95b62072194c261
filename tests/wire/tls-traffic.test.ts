import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { expectGrowthBelow, residentBytes } from "../harness/memory.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { Relay } from "../harness/relay.ts";
import type { OriginConnection } from "../harness/scripted-origin.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const MIB = 1024 * 1024;
const BODY = Buffer.concat(Array<Buffer>(32).fill(new SeededRandom(7).bytes(MIB)));
const BODY_SHA256 = sha256(BODY);
/** What the gateway's memory may grow by while 64 MiB wait in front of it; much of it is garbage not yet collected. */
const GROWTH_BYTES = 48 * MIB;

/** Decides only when a body that does not go on is called stuck. */
const PASSING_MS = 50_000;

/** More than all socket buffers on the way hold together. */
const PIECES = 5;

const certificate = await makeCertificate();
const port = freePort();
const origin = EchoOrigin.start();
origin.on("/large", (call) => call.reply("200 OK", [], BODY));
origin.on("/chunked", (call) => {
  call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  call.send(chunked(BODY, 100_000));
});
const gateway = await startGateway({
  config: {
    server: {
      max_body_bytes: "40MiB",
      waf: { enabled: true },
      tls: { port, cert_file: "cert.pem", key_file: "cert.key" },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/through", origin, { inbound_chunked_mode: "passthrough" }),
    upstream("/small", origin, { max_body_bytes: 1000 }),
    { type: "static", prefix: "/site", dir: "./site" },
  ],
  files: { "cert.pem": certificate.cert, "cert.key": certificate.key, "site/page.html": "<p>hello</p>" },
});
afterAll(() => stopAll(gateway, origin));

const open = () => TlsClient.open(port);

test("who has agreed on HTTP/1.1 cannot begin with HTTP/2", async () => {
  const client = await TlsClient.open(port, { protocols: ["http/1.1"] });
  expect((await client.exchange("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET")).status).toBe(505);
  expect((await client.takeRest()).byteLength).toBe(0);
  client.close();
});

const UPGRADE = ["Connection: Upgrade", "Upgrade: websocket"];

describe("over TLS", () => {
  test("requests follow each other on one connection, pipelined as well", async () => {
    const client = await open();
    for (const path of ["/health", "/node/canary", "/site/page.html", "/api/status"]) {
      expect((await client.exchange(request(`GET ${path}`))).status).toBe(200);
    }
    client.send(Buffer.concat(Array.from({ length: 20 }, (_, i) => request(`GET /node/echo?${i}`))));
    for (let i = 0; i < 20; i++) expect(json<Echo>(await client.reply()).target).toBe(`/echo?${i}`);
    expect((await client.exchange(request("HEAD /node/canary"))).status).toBe(200);
    client.close();
  });

  test.each(["/node/large", "/node/chunked"])("a large answer arrives whole: %s", async (path) => {
    const client = await open();
    for (let i = 0; i < 2; i++) {
      const reply = await client.exchange(request(`GET ${path}`));
      expect(sha256(reply.body)).toBe(BODY_SHA256);
    }
    client.close();
  });

  test.each([
    ["with its length", "/node/echo", () => request("POST /node/echo", [], BODY)],
    ["in chunks, normalised", "/node/echo", () => chunkedRequest("/node/echo")],
    ["in chunks, passed through", "/through/echo", () => chunkedRequest("/through/echo")],
  ])("a large request body arrives whole %s", async (_name, _path, bytes) => {
    const client = await open();
    client.send(bytes());
    const echo = json<Echo>(await client.reply("POST", PASSING_MS));
    expect([echo.length, echo.sha256]).toEqual([BODY.length, BODY_SHA256]);
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("a client that does not read holds the origin, not the gateway's memory", async () => {
    const before = residentBytes(gateway);
    const client = await open();
    client.hold();
    client.send(Buffer.concat([request("GET /node/large"), request("GET /node/large")]));
    await Bun.sleep(500);
    await expectGrowthBelow(gateway, before, GROWTH_BYTES);
    client.release();
    for (let i = 0; i < 2; i++) expect(sha256((await client.reply("GET", PASSING_MS)).body)).toBe(BODY_SHA256);
    client.close();
  });

  test("an origin that does not read holds the client", async () => {
    let held: OriginConnection | undefined;
    origin.on("/deaf", (call) => {
      held = call.takeOver();
      held.hold();
    });
    const client = await open();
    client.send(request("POST /through/deaf", ["Transfer-Encoding: chunked"]));
    const piece = Buffer.concat([Buffer.from(`${BODY.length.toString(16)}\r\n`), BODY, Buffer.from("\r\n")]);
    for (let i = 0; i < PIECES; i++) client.send(piece);
    await origin.until("the request", () => held);
    await eventually(async () => {
      const { sentBytes } = client;
      await Bun.sleep(200);
      expect(client.sentBytes).toBe(sentBytes);
    }, 60_000);
    expect(client.sentBytes).toBeLessThan(PIECES * piece.length);
    client.reset();
    await eventually(() => {
      held!.release();
      expect(held!.ending).not.toBe("open");
    });
  });

  test("an answer still comes when the client has ended its direction", async () => {
    const client = await open();
    origin.on("/late", async (call) => {
      await Bun.sleep(50);
      call.reply("200 OK", [], "late");
    });
    client.send(request("GET /node/late"));
    client.finish();
    expect((await client.reply()).text).toBe("late");
    expect(await client.ended()).toBe("fin");
    client.close();
  });

  test("a refusal reaches a client that is still sending", async () => {
    for (const [path, status] of [
      ["/small/echo", 413],
      ["/site/..%2f..%2fetc/passwd", 403],
    ] as const) {
      const client = await open();
      client.send(request(`POST ${path}`, [], BODY.subarray(0, 4 * MIB)));
      const reply = await client.reply("POST");
      expect([path, reply.status, reply.fields.get("connection")]).toEqual([path, status, "close"]);
      client.close();
    }
  });

  test("a malformed head gets its 400 and an orderly end", async () => {
    const client = await open();
    const reply = await client.exchange("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    expect([reply.status, reply.fields.get("connection")]).toEqual([400, "close"]);
    expect(await client.ended()).toBe("fin");
    client.close();
  });

  test("a tunnel carries bytes both ways, until one side ends", async () => {
    const client = await open();
    expect((await client.exchange(request("GET /node/socket", UPGRADE))).status).toBe(101);
    const bytes = BODY.subarray(0, 3 * MIB);
    client.send(bytes);
    expect(sha256(await client.take(bytes.length))).toBe(sha256(bytes));
    client.finish();
    await client.ended();
    client.close();
  });

  test("a WebSocket of a browser's kind works", async () => {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (incoming, own) => (own.upgrade(incoming) ? undefined : new Response("no")),
      websocket: { message: (socket, text) => void socket.send(`got ${text}`) },
    });
    const far = await startGateway({
      config: { server: { tls: { port: farPort, cert_file: "cert.pem", key_file: "cert.key" } } },
      routes: [upstream("/ws", { url: `http://127.0.0.1:${server.port}` })],
      files: { "cert.pem": certificate.cert, "cert.key": certificate.key },
    });
    const socket = new WebSocket(`wss://127.0.0.1:${farPort}/ws/`, { tls: { rejectUnauthorized: false } } as never);
    const answer = Promise.withResolvers<string>();
    socket.onopen = () => socket.send("hello");
    socket.onmessage = (event) => answer.resolve(String(event.data));
    socket.onerror = () => answer.reject(new Error("no WebSocket"));
    expect(await answer.promise).toBe("got hello");
    socket.close();
    await far.stop();
    await server.stop(true);
  });

  test.each([
    ["a record that was tampered with", Buffer.concat([Buffer.of(23, 3, 3, 0, 40), Buffer.alloc(40, 1)])],
    ["clear text", Buffer.from("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")],
    ["a false alert", Buffer.of(21, 3, 3, 0, 2, 2, 40)],
  ])("%s ends the connection, and is nobody's exception", async (_name, forged) => {
    let isForging = false;
    const relay = Relay.to(port, (bytes) => [isForging ? forged : bytes]);
    const client = await TlsClient.open(relay.port);
    expect((await client.exchange(request("GET /health"))).status).toBe(200);
    isForging = true;
    client.send(request("GET /health"));
    await client.ended();
    expect(client.unread).toBe(0);
    client.close();
    relay.stop();
    expect((await gateway.once(request("GET /health"))).status).toBe(200);
    expect(gateway.logs.tail()).not.toContain("exception");
  });

  test("connections that clients drop leave nothing behind", async () => {
    for (let i = 0; i < 10; i++) {
      const client = await open();
      client.send(request("GET /node/large"));
      await client.take(1000);
      if (i % 2 === 0) client.reset();
      else client.close();
    }
    await eventually(async () => {
      const samples = await gateway.samples();
      expect(sumOf(samples, "gateway_active_tcp_connections")).toBe(1);
      expect(sumOf(samples, "gateway_requests_in_flight")).toBe(1);
    }, 60_000);
  });
});

const farPort = freePort();

function chunkedRequest(path: string): Buffer {
  return request(`POST ${path}`, ["Transfer-Encoding: chunked"], chunked(BODY, 60_000));
}
