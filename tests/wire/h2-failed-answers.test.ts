// Answers of HTTP/2 origins that count as failures: docs/security.md#retries
import { afterAll, expect, test } from "bun:test";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

let refused = 0;
const busy = http2.createServer();
busy.on("stream", (stream: http2.ServerHttp2Stream) => {
  refused++;
  stream.on("error", () => {});
  stream.respond({ ":status": 503 });
  stream.end("b".repeat(200_000));
});
await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
const good = await H2EchoOrigin.start();
const gateway = await startGateway({
  routes: [
    {
      type: "upstream",
      prefix: "/failed",
      targets: [{ url: `h2c://127.0.0.1:${(busy.address() as AddressInfo).port}` }, { url: good.url, backup: true }],
      circuit_breaker: { failure_threshold: 100_000, failure_statuses: [503] },
    },
    {
      type: "upstream",
      prefix: "/repeated",
      target: `h2c://127.0.0.1:${(busy.address() as AddressInfo).port}`,
      retries: { attempts: 3, statuses: [503], backoff: "5ms" },
    },
  ],
});
afterAll(async () => {
  await stopAll(gateway, good);
  busy.close();
});

test("a client of HTTP/1.1 gets the other target's answer, its body whole there", async () => {
  for (let i = 0; i < 5; i++) {
    const reply = await gateway.once(request("PUT /failed/echo", [], "a body that is kept"));
    expect([reply.status, json<{ length: number }>(reply).length]).toEqual([200, 19]);
  }
  expect(refused).toBe(5);
});

test("so do twenty streams of one client of HTTP/2, and a POST gets the 503", async () => {
  const client = await H2Client.connect(gateway.port);
  const ids = Array.from({ length: 20 }, () => client.headers(head("GET", "/failed/echo"), true));
  for (const id of ids) expect((await client.reply(id)).status).toBe(200);
  const posted = client.headers(head("POST", "/failed/echo"), true);
  const reply = await client.reply(posted);
  expect([reply.status, reply.body.length]).toEqual([503, 200_000]);
  client.close();
});

test("a status of retries.statuses is asked for again at the same origin, and the last answer is whole", async () => {
  const client = await H2Client.connect(gateway.port);
  const before = refused;
  const ids = Array.from({ length: 5 }, () => client.headers(head("GET", "/repeated/echo"), true));
  for (const id of ids) expect((await client.reply(id)).body.length).toBe(200_000);
  expect(refused - before).toBe(20);
  client.close();
});
