import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { expectCanary, expectJsonError, expectRefused } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { max_body_bytes: 2000 } },
  routes: [
    upstream("/node", origin),
    upstream("/small", origin, { max_body_bytes: 100 }),
    upstream("/through", origin, { max_body_bytes: 100, inbound_chunked_mode: "passthrough" }),
    upstream("/large", origin, { max_body_bytes: 10_000_000 }),
    upstream("/unlimited", origin, { max_body_bytes: "unlimited" }),
    upstream("/unchunked", origin, { inbound_chunked_mode: "reject" }),
  ],
});
afterAll(() => stopAll(gateway, origin));

const CHUNKED = "Transfer-Encoding: chunked";
const LIMITS = [
  ["/node", 2000],
  ["/small", 100],
] as const;

describe.each(LIMITS)("the body limit of %s (%d bytes)", (prefix, limit) => {
  test("lets a body of exactly the limit pass", async () => {
    const framed = await gateway.once(request(`POST ${prefix}/echo`, [], "x".repeat(limit)));
    expect(json<Echo>(framed).length).toBe(limit);
    const inChunks = await gateway.once(request(`POST ${prefix}/echo`, [CHUNKED], chunked("x".repeat(limit), 7)));
    expect(json<Echo>(inChunks).length).toBe(limit);
  });

  test("refuses a declared body one byte over it", async () => {
    const bytes = request(`POST ${prefix}/echo`, [`Content-Length: ${limit + 1}`]);
    const reply = await expectRefused(gateway, origin, { name: "declared", bytes, status: 413 });
    const message = `request body exceeds ${limit} bytes`;
    expect(json(reply)).toEqual({ error: "413 Payload Too Large", message });
  });

  test.each([1, 50, 100_000])("refuses a chunked body one byte over it, in chunks of %d", async (size) => {
    const bytes = request(`POST ${prefix}/echo`, [CHUNKED], chunked("x".repeat(limit + 1), size));
    const reply = await expectRefused(gateway, origin, { name: "counted", bytes, status: 413 });
    expectJsonError(reply);
  });

  test("refuses a chunk whose size alone is over it, before its data", async () => {
    const bytes = request(`POST ${prefix}/echo`, [CHUNKED], `${(limit + 1).toString(16)}\r\n`);
    await expectRefused(gateway, origin, { name: "announced", bytes, status: 413 });
  });
});

describe("a declared body over the server's limit that no route takes", () => {
  test.each(["/health", "/nothing/there"])("is 413 on %s (ADV-08), not 405 or 404", async (path) => {
    const reply = await gateway.once(request(`POST ${path}`, ["Content-Length: 104857600"]));
    expect([reply.status, reply.fields.get("connection")]).toEqual([413, "close"]);
    expectJsonError(reply);
  });

  test("leaves smaller ones to what the path says", async () => {
    expect((await gateway.once(request("POST /health", [], "x"))).status).toBe(405);
    expect((await gateway.once(request("POST /nothing/there", [], "x"))).status).toBe(404);
  });
});

describe("in passthrough mode", () => {
  test("a chunked body of exactly the limit passes", async () => {
    const reply = await gateway.once(request("POST /through/echo", [CHUNKED], chunked("x".repeat(100), 9)));
    expect(json<Echo>(reply).length).toBe(100);
  });

  test("one byte more is 413, and the origin never gets a complete request", async () => {
    let isComplete = false;
    origin.on("/counted", async (call) => {
      await call.body();
      isComplete = true;
      call.reply("200 OK");
    });
    const client = await gateway.connect();
    const reply = await client.exchange(request("POST /through/counted", [CHUNKED], chunked("x".repeat(101), 9)));
    expect(reply.status).toBe(413);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
    await expectCanary(gateway, origin.sequence + 1);
    expect(isComplete).toBe(false);
  });

  test("a framing fault on the way is 400, and the origin never gets a complete request", async () => {
    let isComplete = false;
    origin.on("/faulty", async (call) => {
      await call.body();
      isComplete = true;
      call.reply("200 OK");
    });
    const client = await gateway.connect();
    client.send(request("POST /through/faulty", [CHUNKED], "5\r\nhello\r\n"));
    await origin.until("the request", () => origin.requestsFor("/faulty")[0]);
    client.send("xyz\r\n");
    expect((await client.reply()).status).toBe(400);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
    await expectCanary(gateway, origin.sequence + 1);
    expect(isComplete).toBe(false);
  });
});

describe("a refused body", () => {
  test("does not keep a client that goes on sending from reading the answer", async () => {
    const body = Buffer.alloc(2 * 1024 * 1024, "x");
    for (const bytes of [
      request("POST /node/echo", [], body),
      request("POST /node/echo", [CHUNKED], chunked(body, 65536)),
    ]) {
      const client = await gateway.connect();
      client.send(bytes);
      const reply = await client.reply();
      expect([reply.status, json(reply).error]).toEqual([413, "413 Payload Too Large"]);
      client.close();
    }
  });

  test("of one route is within the limit of another", async () => {
    const reply = await gateway.once(request("POST /large/echo", [], Buffer.alloc(5_000_000, "x")));
    expect(json<Echo>(reply).length).toBe(5_000_000);
  });
});

describe("a route without a limit", () => {
  const body = Buffer.alloc(3_000_000, "y");

  test.each([
    ["a declared body", []],
    ["a chunked body", [CHUNKED]],
  ])("takes %s beyond the server's limit", async (_what, headers) => {
    const bytes = headers.length === 0 ? body : chunked(body.toString(), 65536);
    expect(json<Echo>(await gateway.once(request("POST /unlimited/echo", headers, bytes))).length).toBe(body.length);
  });

  test("is listed as one", async () => {
    const { stdout } = await runEdge(["check", "--print", "--config", "config.yaml"], {
      config: { server: { max_body_bytes: 0 } },
      routes: [upstream("/a", origin, { max_body_bytes: "unlimited" })],
    });
    expect(stdout.match(/max_body_bytes: unlimited/g)).toHaveLength(2);
  });
});

describe("a route that takes no chunked bodies", () => {
  test("answers 501 with its text and closes", async () => {
    const bytes = request("POST /unchunked/echo", [CHUNKED], chunked("hello"));
    const reply = await expectRefused(gateway, origin, { name: "reject mode", bytes, status: 501 });
    expect(reply.text).toBe("Inbound chunked transfer encoding is disabled");
    expect(reply.fields.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  test("does so without waiting for the body, and takes bodies with a length", async () => {
    const bytes = request("POST /unchunked/echo", [CHUNKED], "5\r\nhel");
    await expectRefused(gateway, origin, { name: "reject mode", bytes, status: 501 });
    expect(json<Echo>(await gateway.once(request("POST /unchunked/echo", [], "hello"))).length).toBe(5);
  });
});
