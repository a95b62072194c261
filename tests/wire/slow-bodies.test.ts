// `server.min_body_rate`: a body that trickles is ended, one that a slow origin holds back is not.
// docs/security.md#resources-of-one-client
import { afterAll, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { crowdFrom } from "../harness/crowd.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const h2Origin = await H2EchoOrigin.start();
const { cert, key } = await makeCertificate();
const quicPort = freePort();
const tls = { port: quicPort, cert_file: "a.pem", key_file: "a.key" };
const gateway = await startGateway({
  config: { server: { min_body_rate: 2000, tls, http3: { enabled: true } } },
  routes: [
    upstream("/node", origin),
    upstream("/through", origin, { inbound_chunked_mode: "passthrough" }),
    upstream("/held-call", h2Origin),
    upstream("/call", h2Origin, { inbound_chunked_mode: "passthrough" }),
  ],
  files: { "a.pem": cert, "a.key": key },
});
/** Does not read for a while what comes on a connection, and then answers. */
const reading = { isOn: false, goOn: (): void => {} };
const lazy = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    data(socket) {
      if (!reading.isOn) {
        socket.pause();
        reading.goOn = () => socket.resume();
      } else socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    },
  },
});
const slowOrigin = await startGateway({
  config: { server: { min_body_rate: 100_000 } },
  routes: [upstream("/lazy", { url: `http://127.0.0.1:${lazy.port}` }, { max_body_bytes: "64MiB" })],
});
afterAll(async () => {
  lazy.stop(true);
  await slowOrigin.stop();
  await stopAll(gateway, origin, h2Origin);
});

/** Calls `send` now and then until `isOver` says so. */
async function trickle(send: () => void, isOver: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !isOver(); i++) {
    send();
    await Bun.sleep(150);
  }
}

test.concurrent("a body that trickles is 408 over HTTP/1.1, HTTP/2 and HTTP/3", async () => {
  const start = request("POST /node/echo", ["Transfer-Encoding: chunked"]);
  const through = request("POST /through/echo", ["Transfer-Encoding: chunked"]);
  const framed = request("POST /node/echo", ["Content-Length: 1000000"]);
  const http1 = (
    await Promise.all([start, through, framed].map((one) => crowdFrom("127.0.0.2", gateway.port, 1, one)))
  ).flat();
  const http2 = await H2Client.connect(gateway.port);
  const stream = http2.headers(head("POST", "/node/echo"), false);
  const http3 = await H3Client.connect(quicPort);
  let isOver3 = false;
  async function* pieces(): AsyncIterable<Uint8Array> {
    for (let i = 0; i < 200 && !isOver3; i++) {
      yield Buffer.from("x");
      await Bun.sleep(150);
    }
  }
  const onHead = (): void => {
    isOver3 = true;
  };
  const answer3 = http3.ask("POST", "/node/echo", {}, { pieces: pieces(), onHead });
  await Promise.all([
    ...http1.map((one, i) =>
      trickle(
        () => one.send(i === 2 ? "x" : "1\r\nx\r\n"),
        () => one.statuses.length > 0,
      ),
    ),
    trickle(
      () => http2.data(stream, "x"),
      () => http2.seen(stream).status > 0,
    ),
    answer3,
  ]);
  for (const one of http1) expect(await one.status()).toBe(408);
  expect((await http2.reply(stream)).status).toBe(408);
  expect((await answer3).status).toBe(408);
  const line = await gateway.log("the reason", ({ event }) => event === "limit_reject");
  expect([line.reason, line.key]).toEqual(["body_too_slow", "server.min_body_rate"]);
  for (const one of http1) one.close();
  http2.close();
  http3.close();
}, 60_000);

test.concurrent("a body above the rate passes, however long it takes", async () => {
  const client = await gateway.connect();
  const pieces = 60;
  client.send(request("POST /node/echo", [`Content-Length: ${pieces * 1000}`]));
  for (let i = 0; i < pieces; i++) {
    client.send("x".repeat(1000));
    await Bun.sleep(200);
  }
  expect(json<{ length: number }>(await client.reply()).length).toBe(pieces * 1000);
  client.close();
}, 60_000);

test.concurrent("time in which the gateway does not read is not the client's", async () => {
  const bytes = 32 * 1024 * 1024;
  const client = await slowOrigin.connect();
  client.send(request("POST /lazy/up", [`Content-Length: ${bytes}`]));
  client.send(Buffer.alloc(bytes));
  await Bun.sleep(13_000);
  expect(client.receivedBytes).toBe(0);
  reading.isOn = true;
  reading.goOn();
  expect((await client.reply()).status).toBe(200);
  client.close();
}, 60_000);

test.concurrent.each(["application/connect+json", "application/grpc"])(
  "a stream of %s that goes on as it comes may trickle, over HTTP/1.1 and HTTP/2",
  async (type) => {
    const fields = ["Transfer-Encoding: chunked", `Content-Type: ${type}`];
    const [through, held] = await Promise.all([gateway.connect(), gateway.connect()]);
    through.send(request("POST /call/echo", fields));
    held.send(request("POST /held-call/echo", fields));
    const http2 = await H2Client.connect(gateway.port);
    const stream = http2.headers(head("POST", "/held-call/echo", [["content-type", type]]), false);
    const refused = held.reply();
    let count = 0;
    await trickle(
      () => {
        for (const one of [through, held]) one.send("1\r\nx\r\n");
        http2.data(stream, "x");
      },
      () => ++count > 90,
    );
    through.send("0\r\n\r\n");
    http2.data(stream, "", true);
    expect((await through.reply()).status).toBe(200);
    expect((await http2.reply(stream)).status).toBe(200);
    expect((await refused).status).toBe(408);
    through.close();
    held.close();
    http2.close();
  },
  60_000,
);
