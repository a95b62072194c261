import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  routes: [upstream("/node", origin), upstream("/through", origin, { inbound_chunked_mode: "passthrough" })],
});
afterAll(() => stopAll(gateway, origin));

const MIB = 1024 * 1024;
const random = new SeededRandom(1);
const SIZES = [0, 1, 2, 1023, 4096, 16383, 16384, 65536, 65537, MIB, 4 * MIB];

describe("a body with a length", () => {
  test.each(SIZES)("of %d bytes arrives exactly", async (size) => {
    const body = random.bytes(size);
    const echo = json<Echo>(await gateway.once(request("POST /node/echo", [], body)));
    expect(echo).toMatchObject({ length: size, sha256: sha256(body), framing: "length" });
    expect(echo.headers["content-length"]).toBe(String(size));
  });

  test("arrives exactly when it comes in odd pieces", async () => {
    const body = random.bytes(100_000);
    const client = await gateway.connect();
    client.send(request("PUT /node/echo", [`Content-Length: ${body.byteLength}`]));
    for (let at = 0; at < body.byteLength; ) {
      const next = at + random.integer(1, 9000);
      client.send(body.subarray(at, next));
      await Bun.sleep(1);
      at = next;
    }
    expect(json<Echo>(await client.reply()).sha256).toBe(sha256(body));
    client.close();
  });

  test.each(["GET", "DELETE", "OPTIONS", "PATCH", "REPORT"])("goes with a %s like any other", async (method) => {
    const client = await gateway.connect();
    const reply = await client.exchange(request(`${method} /node/echo`, [], "hello"), method);
    expect(json<Echo>(reply)).toMatchObject({ method, length: 5 });
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("goes with a HEAD, whose answer has none", async () => {
    const client = await gateway.connect();
    expect((await client.exchange(request("HEAD /node/echo", [], "hello"))).status).toBe(200);
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("is none where the request has no framing", async () => {
    const echo = json<Echo>(await gateway.once(request("GET /node/echo")));
    expect([echo.length, echo.framing]).toEqual([0, "none"]);
  });
});

describe("a chunked body", () => {
  test.each(SIZES)("of %d bytes arrives exactly, with a length", async (size) => {
    const body = random.bytes(size);
    const bytes = request("POST /node/echo", ["Transfer-Encoding: chunked"], chunked(body, Math.max(1, size >> 3)));
    const echo = json<Echo>(await gateway.once(bytes));
    expect(echo).toMatchObject({ length: size, sha256: sha256(body), framing: "length" });
    expect([echo.headers["content-length"], echo.headers["transfer-encoding"]]).toEqual([String(size), undefined]);
  });

  test.each(SIZES)("of %d bytes arrives exactly, still chunked, in passthrough mode", async (size) => {
    const body = random.bytes(size);
    const bytes = request("POST /through/echo", ["Transfer-Encoding: chunked"], chunked(body, Math.max(1, size >> 3)));
    const echo = json<Echo>(await gateway.once(bytes));
    expect(echo).toMatchObject({ length: size, sha256: sha256(body), framing: "chunked" });
    expect(echo.headers["content-length"]).toBeUndefined();
  });

  test.each([1, 2, 7, 16, 4096])("in chunks of %d bytes arrives exactly", async (size) => {
    const body = random.bytes(20_000);
    for (const prefix of ["/node", "/through"]) {
      const bytes = request(`POST ${prefix}/echo`, ["Transfer-Encoding: chunked"], chunked(body, size));
      expect(json<Echo>(await gateway.once(bytes)).sha256).toBe(sha256(body));
    }
  });

  test("reaches the origin in chunks of 32 KB at most in passthrough mode", async () => {
    origin.on("/chunks", async (call) => {
      const { bytes, chunks } = await call.body();
      call.reply("200 OK", [], JSON.stringify({ length: bytes.byteLength, chunks }));
    });
    const body = random.bytes(1024 * 1024);
    const reply = await gateway.once(
      request("POST /through/chunks", ["Transfer-Encoding: chunked"], chunked(body, 1 << 20)),
    );
    const { length, chunks } = json<{ length: number; chunks: number }>(reply);
    expect(length).toBe(1024 * 1024);
    expect(chunks).toBeGreaterThanOrEqual(32);
  });

  test("is judged by its coding's name in any case", async () => {
    const bytes = request("POST /node/echo", ["Transfer-Encoding: CHUNKED"], chunked("hello"));
    expect(json<Echo>(await gateway.once(bytes)).length).toBe(5);
  });

  test("gives its trailers to the origin", async () => {
    const body = chunked("hello", 2, ["X-Sum: 1", "X-Other: two words"]);
    const trailers = { "x-sum": "1", "x-other": "two words" };
    const normal = await gateway.once(request("POST /node/echo", ["Transfer-Encoding: chunked"], body));
    expect(json<Echo>(normal).headers).toMatchObject(trailers);
    const through = json<Echo>(await gateway.once(request("POST /through/echo", ["Transfer-Encoding: chunked"], body)));
    expect({ ...through.headers, ...through.trailers }).toMatchObject(trailers);
  });

  test("is sent on before it is complete in passthrough mode", async () => {
    const started = Promise.withResolvers<void>();
    origin.on("/started", async (call) => {
      started.resolve();
      call.reply("200 OK", [], String((await call.body()).bytes.byteLength));
    });
    const client = await gateway.connect();
    client.send(request("POST /through/started", ["Transfer-Encoding: chunked"], "5\r\nhello\r\n"));
    await started.promise;
    client.send("0\r\n\r\n");
    expect((await client.reply()).text).toBe("5");
    client.close();
  });

  test("reaches the origin only when it is complete in normalize mode", async () => {
    const seen = origin.requests.length;
    const client = await gateway.connect();
    client.send(request("POST /node/echo", ["Transfer-Encoding: chunked"], "5\r\nhello\r\n"));
    await Bun.sleep(50);
    expect(origin.requests.length).toBe(seen);
    client.reset();
    await gateway.once(request("GET /node/canary"));
    expect(origin.requests.length).toBe(seen + 1);
  });
});

describe("what follows a body", () => {
  test("is the next request, whatever the body looks like", async () => {
    const before = origin.sequence;
    const trap = "0\r\n\r\nGET /node/canary HTTP/1.1\r\nHost: gw.test\r\n\r\n";
    const client = await gateway.connect();
    expect(json<Echo>(await client.exchange(request("POST /node/echo", [], trap))).length).toBe(trap.length);
    const inChunks = request("POST /node/echo", ["Transfer-Encoding: chunked"], chunked(trap, 10));
    expect(json<Echo>(await client.exchange(inChunks)).length).toBe(trap.length);
    expect(origin.sequence).toBe(before);
    expect(json(await client.exchange(request("GET /node/canary")))).toMatchObject({ sequence: before + 1 });
    client.close();
  });

  test("is the next request after a body that nobody read", async () => {
    const client = await gateway.connect();
    for (const path of ["/nowhere", "/health"]) {
      const framed = await client.exchange(request(`POST ${path}`, [], "x".repeat(1000)));
      expect([404, 405]).toContain(framed.status);
      const bytes = request(`POST ${path}`, ["Transfer-Encoding: chunked"], chunked("x".repeat(1000)));
      expect([404, 405]).toContain((await client.exchange(bytes)).status);
    }
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });
});
