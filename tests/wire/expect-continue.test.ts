import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { expectJsonError } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  routes: [
    upstream("/node", origin),
    upstream("/small", origin, { max_body_bytes: 100 }),
    upstream("/unchunked", origin, { inbound_chunked_mode: "reject" }),
  ],
});
afterAll(() => stopAll(gateway, origin));

const EXPECT = "Expect: 100-continue";

describe("Expect: 100-continue", () => {
  test.each(["100-continue", "100-Continue"])("(%s) gets 100, then the answer to the body", async (value) => {
    const client = await gateway.connect();
    client.send(request("POST /node/echo", [`Expect: ${value}`, "Content-Length: 5"]));
    expect((await client.interim()).status).toBe(100);
    client.send("hello");
    const reply = await client.reply();
    expect([reply.status, json<Echo>(reply).length, reply.interim.length]).toEqual([200, 5, 0]);
    client.close();
  });

  test("gets 100 for a chunked body too", async () => {
    const client = await gateway.connect();
    client.send(request("POST /node/echo", [EXPECT, "Transfer-Encoding: chunked"]));
    expect((await client.interim()).status).toBe(100);
    client.send(chunked("hello"));
    expect(json<Echo>(await client.reply()).length).toBe(5);
    client.close();
  });

  test("with the body already there is answered as usual", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 2; i++) {
      const reply = await client.exchange(request("POST /node/echo", [EXPECT], "hello"));
      expect([reply.status, json<Echo>(reply).length]).toEqual([200, 5]);
    }
    client.close();
  });

  test("of HTTP/1.0 or without a body gets no 100", async () => {
    const old = await gateway.connect();
    old.send(request("POST /node/echo HTTP/1.0", [EXPECT], "hello"));
    expect((await old.reply()).interim).toEqual([]);
    const bodiless = await gateway.connect();
    const reply = await bodiless.exchange(request("GET /node/canary", [EXPECT]));
    expect([reply.status, reply.interim.length]).toEqual([200, 0]);
    old.close();
    bodiless.close();
  });
});

describe("in place of 100", () => {
  test.each([
    ["413, the declared body being over the limit", request("POST /small/echo", [EXPECT, "Content-Length: 101"]), 413],
    [
      "501, chunked bodies being disabled",
      request("POST /unchunked/echo", [EXPECT, "Transfer-Encoding: chunked"]),
      501,
    ],
    ["400, the length being malformed", request("POST /node/echo", [EXPECT, "Content-Length: +5"]), 400],
    ["417, another thing being expected", request("POST /node/echo", ["Expect: a-miracle", "Content-Length: 5"]), 417],
  ])("comes %s", async (_name, bytes, status) => {
    const seen = origin.requests.length;
    const client = await gateway.connect();
    const reply = await client.exchange(bytes);
    expect([reply.status, reply.interim.length]).toEqual([status, 0]);
    expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
    if (status !== 501) expectJsonError(reply);
    expect((await client.takeRest()).byteLength).toBe(0);
    expect(origin.requests.length).toBe(seen);
    client.close();
  });

  test("comes 404 where no route is, and the body that was not sent is not awaited for ever", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("POST /nowhere", [EXPECT, "Content-Length: 5"]));
    expect([reply.status, reply.interim.length]).toEqual([404, 0]);
    client.close();
  });
});
