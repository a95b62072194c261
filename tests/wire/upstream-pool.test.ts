import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  routes: [upstream("/node", origin), upstream("/once", origin, { retries: { attempts: 0 } })],
});
afterAll(() => stopAll(gateway, origin));

/** Answers the first request of each connection and cuts the connection in reaction to the second. */
origin.on("/stale", async (call) => {
  if (call.request.index > 0) return call.takeOver().reset();
  await call.body();
  call.reply("200 OK", [], "fresh");
});

/** Leaves exactly one idle connection in the pool, on which the origin will fail. */
async function leaveStaleConnection(): Promise<void> {
  origin.on("/drop-all", (call) => {
    call.takeOver();
    call.reply("200 OK", ["Connection: close"], "");
    call.connection.finish();
    for (const connection of origin.connections) connection.close();
  });
  await gateway.once(request("GET /node/drop-all"));
  await origin.until("an empty pool", () => origin.openConnections === 0 || undefined);
  expect((await gateway.once(request("GET /node/stale"))).text).toBe("fresh");
}

describe("upstream connections", () => {
  test("are used again", async () => {
    const before = origin.connections.length;
    for (let i = 0; i < 20; i++) await gateway.once(request("GET /node/canary"));
    for (let i = 0; i < 5; i++) await gateway.once(request("POST /node/echo", [], "hello"));
    expect(origin.connections.length).toBeLessThanOrEqual(before + 1);
  });

  test("serve one request at a time", async () => {
    let running = 0;
    let most = 0;
    origin.on("/busy", async (call) => {
      most = Math.max(most, ++running);
      await Bun.sleep(30);
      running--;
      call.reply("200 OK", [], call.request.target);
    });
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, i) => gateway.once(request(`GET /node/busy?n=${i}`))),
    );
    expect(replies.map((reply) => reply.text)).toEqual(Array.from({ length: 30 }, (_, i) => `/busy?n=${i}`));
    expect(most).toBeGreaterThan(1);
  });

  test("that the origin closed while idle are not used", async () => {
    origin.on("/close-later", (call) => {
      call.takeOver();
      call.reply("200 OK", [], "bye");
      call.connection.finish();
    });
    for (let i = 0; i < 5; i++) {
      expect((await gateway.once(request("GET /node/close-later"))).text).toBe("bye");
      await Bun.sleep(20);
      expect((await gateway.once(request("POST /node/echo", [], "x"))).status).toBe(200);
    }
  });
});

describe("a pooled connection that turns out to be stale", () => {
  test.each(["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])("costs a %s one retry", async (method) => {
    await leaveStaleConnection();
    const before = origin.requestsFor("/stale").length;
    const reply = await gateway.once(request(`${method} /node/stale`));
    expect(reply.status).toBe(200);
    expect(origin.requestsFor("/stale").length).toBe(before + 2);
  });

  test("costs a POST that was sent its answer: it is never sent twice", async () => {
    await leaveStaleConnection();
    const before = origin.requestsFor("/stale").length;
    const reply = await gateway.once(request("POST /node/stale", [], "order one pizza"));
    expect(reply.status).toBe(502);
    expect(origin.requestsFor("/stale").length).toBe(before + 1);
  });

  test("costs a GET its answer where a byte of one had come", async () => {
    let calls = 0;
    origin.on("/one-byte", async (call) => {
      calls++;
      call.takeOver();
      call.send("H");
      await Bun.sleep(30);
      call.connection.reset();
    });
    expect((await gateway.once(request("GET /node/one-byte"))).status).toBe(502);
    expect(calls).toBe(1);
  });
});

describe("retries", () => {
  test("end after one", async () => {
    let calls = 0;
    origin.on("/never", (call) => {
      calls++;
      call.takeOver().reset();
    });
    expect((await gateway.once(request("GET /node/never"))).status).toBe(502);
    expect(calls).toBeLessThanOrEqual(2);
    calls = 0;
    expect((await gateway.once(request("POST /node/never", [], "x"))).status).toBe(502);
    expect(calls).toBe(1);
  });

  test("are none where the route says so", async () => {
    let calls = 0;
    origin.on("/never", (call) => {
      calls++;
      call.takeOver().reset();
    });
    expect((await gateway.once(request("GET /once/never"))).status).toBe(502);
    expect(calls).toBe(1);
  });
});

describe("an origin that restarts", () => {
  test("is 502 while it is away, and served again when it is back", async () => {
    const client = await gateway.connect();
    const { port } = origin;
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    origin.stop();
    await Bun.sleep(50);
    for (const bytes of [request("GET /node/canary"), request("POST /node/echo", [], "x")]) {
      const reply = await client.exchange(bytes);
      expect(json(reply)).toEqual({ error: "502 Bad Gateway", message: "upstream unavailable" });
    }
    origin.listen(port);
    expect((await client.exchange(request("POST /node/echo", [], "x"))).status).toBe(200);
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("between two requests is not noticed", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 3; i++) {
      const { port } = origin;
      origin.stop();
      origin.listen(port);
      await Bun.sleep(50);
      expect((await client.exchange(request("POST /node/echo", [], "x"))).status).toBe(200);
      expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    }
    client.close();
  });
});
