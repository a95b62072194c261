// `server.half_close_grace`: a client that has ended its direction gets its answer within a second, or the origin is told.
// docs/operations.md#clients-that-leave
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { SHOP_FILE } from "../harness/grpc-shop.ts";
import { Code, H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { RawGrpcServer } from "../harness/raw-grpc-server.ts";
import type { OriginCall, OriginConnection } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const origin = EchoOrigin.start();
const calls: { ended: boolean }[] = [];
const grpc = await RawGrpcServer.start(({ socket }) => {
  const call = { ended: false };
  calls.push(call);
  const seen = (chunk: Buffer) => {
    // RST_STREAM of the first stream.
    if (chunk.includes(Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 1]))) call.ended = true;
  };
  socket.on("data", seen).on("close", () => {
    call.ended = true;
  });
});
const { cert, key } = await makeCertificate();
const tlsPort = freePort();
const tls = { port: tlsPort, cert_file: "a.pem", key_file: "a.key" };
const gateway = await startGateway({
  config: {
    server: { tls, http3: { enabled: true } },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [
        { http_method: "GET", http_path: "/items/:id", grpc_method: "/shop.Shop/GetItem", upstream_url: grpc.url },
      ],
    },
  },
  routes: [upstream("/node", origin), upstream("/through", origin, { inbound_chunked_mode: "passthrough" })],
  files: { "a.pem": cert, "a.key": key },
});
const patient = await startGateway({
  config: { server: { half_close_grace: "serve" } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, patient, grpc, origin));

const GRACE_MS = 1000;
const SLACK_MS = 2500;
let number = 0;

/** A path of its own whose call never ends by itself, and its call. */
function silent(begin: (call: OriginCall) => void = () => {}): { path: string; called: Promise<OriginCall> } {
  const path = `/silent-${++number}`;
  const { promise, resolve } = Promise.withResolvers<OriginCall>();
  origin.on(path, (call) => {
    call.takeOver();
    begin(call);
    resolve(call);
  });
  return { path: `/node${path}`, called: promise };
}

/** Answers behind so many milliseconds. */
function slow(ms: number): string {
  const path = `/slow-${++number}`;
  origin.on(path, async (call) => {
    await call.body();
    await Bun.sleep(ms);
    call.reply("200 OK", [], path);
  });
  return `/node${path}`;
}

async function untilCut(connection: OriginConnection, fromMs: number): Promise<number> {
  await connection.ended();
  return performance.now() - fromMs;
}

function expectGrace(ms: number): void {
  expect(ms).toBeGreaterThan(GRACE_MS - 100);
  expect(ms).toBeLessThan(GRACE_MS + SLACK_MS);
}

describe.concurrent("a client that ends its direction while the origin works", () => {
  const begun: [string, (call: OriginCall) => void][] = [
    ["before the answer", () => {}],
    ["within the answer", (call) => call.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome")],
    ["within a stream", (call) => call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")],
  ];
  test.each(begun)("%s has a second, then the origin's request is cancelled", async (_name, begin) => {
    const { path, called } = silent(begin);
    const client = await gateway.connect();
    client.send(request(`GET ${path}`));
    const call = await called;
    const from = performance.now();
    client.finish();
    expectGrace(await untilCut(call.connection, from));
    await client.ended();
    client.close();
  });

  test("in the very packet of the request", async () => {
    const { path, called } = silent();
    const client = await gateway.connect();
    const from = performance.now();
    client.send(request(`GET ${path}`));
    client.finish();
    expectGrace(await untilCut((await called).connection, from));
  });

  test("with HTTP/1.0, and with a whole body", async () => {
    const [old, posted] = [silent(), silent()];
    const clients = [await gateway.connect(), await gateway.connect()];
    const from = performance.now();
    clients[0]!.send(`GET ${old.path} HTTP/1.0\r\n\r\n`);
    clients[1]!.send(request(`POST ${posted.path}`, ["Content-Length: 5"], "hello"));
    for (const client of clients) client.finish();
    for (const { called } of [old, posted]) expectGrace(await untilCut((await called).connection, from));
  });

  test("with another request behind the one that waits: neither is served on", async () => {
    const [first, second] = [silent(), silent()];
    const client = await gateway.connect();
    client.send(request(`GET ${first.path}`));
    const call = await first.called;
    client.send(request(`GET ${second.path}`));
    const from = performance.now();
    client.finish();
    expectGrace(await untilCut(call.connection, from));
    await Bun.sleep(200);
    expect(origin.requestsFor(second.path.slice("/node".length))).toHaveLength(0);
  });

  test("over TLS", async () => {
    const { path, called } = silent();
    const client = await TlsClient.open(tlsPort);
    client.send(request(`GET ${path}`));
    const call = await called;
    const from = performance.now();
    client.finish();
    expectGrace(await untilCut(call.connection, from));
  });

  test("a streamed answer that would never end is cut after the second as well", async () => {
    const { path, called } = silent((call) => {
      call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const ticks = setInterval(
        () => (call.connection.ending === "open" ? call.send("1\r\na\r\n") : clearInterval(ticks)),
        50,
      );
    });
    const client = await gateway.connect();
    client.send(request(`GET ${path}`));
    const call = await called;
    const from = performance.now();
    client.finish();
    expectGrace(await untilCut(call.connection, from));
  });

  test("a transcoded call is cancelled like a proxied one", async () => {
    const client = await gateway.connect();
    client.send(request("GET /items/1"));
    client.finish();
    await origin.until("the call", () => calls[0]);
    await origin.until("the call's end", () => calls[0]!.ended || undefined, GRACE_MS + SLACK_MS);
  });
});

describe.concurrent("a client that ends its direction and waits", () => {
  test.each([
    ["HTTP/1.1", (path: string) => request(`GET ${path}`)],
    ["HTTP/1.0", (path: string) => `GET ${path} HTTP/1.0\r\n\r\n`],
    ["a body", (path: string) => request(`POST ${path}`, ["Content-Length: 5"], "hello")],
    [
      "a chunked body",
      (path: string) => request(`POST ${path}`, ["Transfer-Encoding: chunked"], "5\r\nhello\r\n0\r\n\r\n"),
    ],
  ])("gets an answer within the second: %s", async (_name, write) => {
    const path = slow(300);
    const client = await gateway.connect();
    client.send(write(path));
    client.finish();
    expect((await client.reply()).text).toBe(path.slice("/node".length));
    await client.ended();
  });

  test("gets the answers to all its pipelined requests", async () => {
    const paths = [slow(400), slow(400), slow(400), slow(400)];
    const client = await gateway.connect();
    client.send(paths.map((path) => request(`GET ${path}`)).join(""));
    client.finish();
    for (const path of paths) expect((await client.reply()).text).toBe(path.slice("/node".length));
  });

  test("gets what has been sent of a whole answer, however slowly it reads", async () => {
    const client = await gateway.connect();
    origin.on("/large", (call) => call.reply("200 OK", [], "x".repeat(300_000)));
    client.hold();
    client.send(request("GET /node/large"));
    client.finish();
    await Bun.sleep(GRACE_MS + 500);
    client.release();
    expect((await client.reply()).body.length).toBe(300_000);
  });

  test("is served to the end with half_close_grace: serve", async () => {
    const path = slow(2500);
    const client = await RawClient.connect(patient.port);
    client.send(request(`GET ${path}`));
    client.finish();
    expect((await client.reply()).text).toBe(path.slice("/node".length));
  });

  test("a connection that stays open is not hurried", async () => {
    const path = slow(2000);
    expect((await gateway.once(request(`GET ${path}`))).text).toBe(path.slice("/node".length));
  });
});

describe("HTTP/2", () => {
  test("END_STREAM is no leave, RST_STREAM is one at once", async () => {
    const [stays, leaves] = [slow(1800), silent()];
    const client = await H2Client.connect(gateway.port);
    const [first, second] = [client.headers(head("GET", stays)), client.headers(head("GET", leaves.path))];
    const call = await leaves.called;
    const from = performance.now();
    client.frame(Type.reset, 0, second, uint32(Code.cancel));
    expect(await untilCut(call.connection, from)).toBeLessThan(GRACE_MS);
    expect((await client.reply(first)).status).toBe(200);
    client.close();
  });

  test("the end of the connection gives the streams under way a second", async () => {
    const [quick, leaves] = [slow(300), silent()];
    const client = await H2Client.connect(gateway.port);
    const [first] = [client.headers(head("GET", quick)), client.headers(head("GET", leaves.path))];
    const call = await leaves.called;
    const from = performance.now();
    client.finish();
    expectGrace(await untilCut(call.connection, from));
    expect(client.seen(first).text).toBe(quick.slice("/node".length));
  });

  test("over TLS as well, the connection being closed", async () => {
    const { path, called } = silent();
    const client = await H2Client.connectTls(tlsPort);
    client.headers(head("GET", path));
    const call = await called;
    const from = performance.now();
    client.close();
    expect(await untilCut(call.connection, from)).toBeLessThan(GRACE_MS + SLACK_MS);
  });
});

describe("HTTP/3", () => {
  test.each([
    ["STOP_SENDING", false],
    ["the end of the connection", true],
  ])("%s cancels the origin's request, a finished request does not", async (_name, isAll) => {
    const [stays, leaves] = [slow(1500), silent()];
    const other = await H3Client.connect(tlsPort);
    const kept = other.ask("GET", stays);
    const client = await H3Client.connect(tlsPort);
    const stream = await client.begin(leaves.path);
    const call = await leaves.called;
    const from = performance.now();
    if (isAll) client.leave();
    else (stream as unknown as { stopSending(code: bigint): void }).stopSending(0x10cn);
    expect(await untilCut(call.connection, from)).toBeLessThan(GRACE_MS + SLACK_MS);
    expect((await kept).status).toBe(200);
    other.close();
    client.close();
  });
});
