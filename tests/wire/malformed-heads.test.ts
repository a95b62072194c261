import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { expectJsonError, expectRefused } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";
import { BAD_REQUESTS, OTHER_REFUSALS } from "./malformed-head-rows.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

describe("400 is the answer to", () => {
  test.each(BAD_REQUESTS.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    expectJsonError(await expectRefused(gateway, origin, row));
  });
});

describe("another refusal is the answer to", () => {
  test.each(OTHER_REFUSALS.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    expectJsonError(await expectRefused(gateway, origin, row));
  });
});

describe("a refused head", () => {
  test("is refused as soon as it is certain, not when it is complete", async () => {
    for (const start of [
      "GET /node/can\0",
      "GET  /",
      "G(",
      "GET /node/canary HTTP/1.1\r\nX : 1\r\n",
      "GET / HTTP/1.1\nX",
    ]) {
      const client = await gateway.connect();
      client.send(start);
      expect((await client.reply()).status).toBe(400);
      expect((await client.takeRest()).byteLength).toBe(0);
      client.close();
    }
  });

  test("byte by byte is refused the same", async () => {
    for (const { bytes } of BAD_REQUESTS.filter((_, i) => i % 8 === 0)) {
      const client = await gateway.connect();
      void client.sendPieces(Buffer.from(bytes as string, "latin1").toString("latin1"), 0);
      expect((await client.reply()).status).toBe(400);
      expect((await client.takeRest()).byteLength).toBe(0);
      client.close();
    }
  });

  test.each([
    "HEAD /node/canary HTTP/2.0\r\n",
    "HEAD /node/canary http/1.1\r\n",
    "HEAD /node/canary HTTP/1.1 \r\n",
    "HEAD canary HTTP/1.1\r\n",
    "HEAD /node/can\x01ary HTTP/1.1\r\n",
    "HEAD /node/canary HTTP/1.1\r\nHost: gw.test\r\nX : 1\r\n",
    "HEAD /node/canary HTTP/1.1\r\nHost: gw.test\r\nHost: gw.test\r\n\r\n",
  ])("of HEAD is answered without a body: %j", async (bytes) => {
    const client = await gateway.connect();
    client.send(bytes);
    const reply = await client.reply("HEAD");
    expect([400, 505]).toContain(reply.status);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
  });

  test("tells nothing of its own bytes back", async () => {
    const reply = await gateway.once("GET /<script>secret HTTP/1.1\r\nX-Secret : hunter2\r\n\r\n");
    expect(reply.text).not.toMatch(/secret|hunter2|script/i);
  });
});

describe("what looks odd and is right is served", () => {
  test.each([
    ["a value with bytes above 127", request("GET /node/canary", ["X-A: \xe9\xff"])],
    ["an empty value", request("GET /node/canary", ["X-A:"])],
    ["a value among spaces and tabs", request("GET /node/canary", ["X-A: \t 1 \t "])],
    ["every token character in a name", request("GET /node/canary", ["!#$%&'*+-.^_`|~0aZ: 1"])],
    ["no space behind a colon", request("GET /node/canary", ["X-A:1"])],
    ["Host with a port", request("GET /node/canary", ["Host: gw.test:8080"])],
    ["Host in upper case", request("GET /node/canary", ["Host: GW.TEST"])],
    ["Host as an IPv6 address", request("GET /node/canary", ["Host: [::1]:80"])],
    ["Host among spaces and tabs", request("GET /node/canary", ["Host: \t gw.test \t"])],
    ["Content-Length with a leading zero", request("POST /node/echo", ["Content-Length: 05"], "hello")],
    ["Content-Length among spaces", request("POST /node/echo", ["Content-Length:  5  "], "hello")],
    ["a lower-case name", request("POST /node/echo", ["content-length: 5"], "hello")],
    ["one empty line before", Buffer.concat([Buffer.from("\r\n"), request("GET /node/canary")])],
    [
      "a name that only resembles Content-Length",
      request("GET /node/canary", ["Content_Length: 5", "Content-Length-: 6"]),
    ],
    ["a name that only resembles Transfer-Encoding", request("GET /node/canary", ["Transfer_Encoding: chunked"])],
  ])("(%s)", async (_name, bytes) => {
    const client = await gateway.connect();
    client.send(bytes);
    expect((await client.reply()).status).toBe(200);
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });
});
