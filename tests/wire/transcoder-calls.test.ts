import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE, shopRoute } from "../harness/grpc-shop.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// How calls end: statuses, details, streams, deadlines, clients that leave, servers that come and go.
const shop = await GrpcShop.start();
const movingPort = freePort();
const route = (http_path: string, method: string, more: object = {}) =>
  shopRoute("GET", http_path, method, shop.url, more);
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [
        route("/fail/:code", "Fail"),
        route("/hang", "Fail", { timeout: "300ms" }),
        route("/watch/:count", "Watch"),
        route("/late/:count", "Watch", { timeout: "2s" }),
        route("/moving/:id", "GetItem", { upstream_url: `http://127.0.0.1:${movingPort}` }),
        route("/refused/:id", "GetItem", { upstream_url: `http://127.0.0.1:${freePort()}` }),
        route("/nowhere/:id", "GetItem", { upstream_url: "http://nowhere.invalid:50051" }),
      ],
    },
  },
});
afterAll(() => stopAll(gateway, shop));

const EXPECTED = [200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401];

describe("a status", () => {
  test("of every code has its HTTP status, its message and no details", async () => {
    for (let code = 1; code <= 16; code++) {
      const reply = await gateway.once(request(`GET /fail/${code}?message=${encodeURIComponent(`no é % ${code}`)}`));
      expect([reply.status, json(reply)]).toEqual([EXPECTED[code]!, { code, message: `no é % ${code}`, details: [] }]);
      expect(reply.fields.get("content-type")).toBe("application/json");
    }
  });

  test("shows its details, as bytes where nobody knows their type, and none where they are broken", async () => {
    const details = async (how: string) => {
      const reply = await gateway.once(request(`GET /fail/9?message=m&how=${how}`));
      expect(reply.status).toBe(400);
      return json<{ details: object[] }>(reply).details;
    };
    expect(await details("details")).toEqual([
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "SOLD_OUT",
        domain: "shop.test",
        metadata: { sku: "7" },
      },
    ]);
    expect(await details("unknown-detail")).toMatchObject([{ "@type": "type.googleapis.com/nobody.Knows" }]);
    expect(await details("bad-details")).toEqual([]);
  });
});

describe("a server stream", () => {
  test("is a JSON array, or what Accept asks for", async () => {
    const get = async (target: string, accept: string) => {
      const reply = await gateway.once(request(`GET ${target}`, accept === "" ? [] : [`Accept: ${accept}`]));
      return [reply.status, reply.fields.get("content-type"), reply.text];
    };
    expect(await get("/watch/3", "")).toEqual([200, "application/json", '[{"id":"1"},{"id":"2"},{"id":"3"}]']);
    expect(await get("/watch/0", "*/*")).toEqual([200, "application/json", "[]"]);
    expect(await get("/watch/2", "text/html, application/x-ndjson;q=0.9")).toEqual([
      200,
      "application/x-ndjson",
      '{"id":"1"}\n{"id":"2"}\n',
    ]);
    expect(await get("/watch/2", "text/event-stream")).toEqual([
      200,
      "text/event-stream",
      'data: {"id":"1"}\n\ndata: {"id":"2"}\n\n',
    ]);
    expect(await get("/watch/0", "text/event-stream")).toEqual([200, "text/event-stream", ""]);
  });

  test("that breaks says so, and an array is cut rather than ended", async () => {
    const ndjson = await gateway.once(request("GET /watch/5?failAfter=2", ["Accept: application/x-ndjson"]));
    expect(ndjson.text.split("\n").slice(2)).toEqual([
      '{"error":{"code":10,"message":"the stream broke","details":[]}}',
      "",
    ]);
    const events = await gateway.once(request("GET /watch/5?failAfter=1", ["Accept: text/event-stream"]));
    expect(events.text).toEndWith('event: error\ndata: {"code":10,"message":"the stream broke","details":[]}\n\n');
    const client = await gateway.connect();
    client.send(request("GET /watch/5?failAfter=2"));
    expect(await client.ended()).toBe("reset");
    client.close();
  });

  test("that breaks before its first message is an ordinary error", async () => {
    const reply = await gateway.once(request("GET /watch/1?failAfter=-1"));
    expect([reply.status, json(reply)]).toEqual([409, { code: 10, message: "the stream broke", details: [] }]);
  });

  test("waits for a client that does not read", async () => {
    const client = await gateway.connect();
    client.hold();
    client.send(request("GET /watch/200?padBytes=200000", ["Accept: application/x-ndjson"]));
    await Bun.sleep(300);
    const before = gateway.memory();
    if (before !== null) expect(before.resident).toBeLessThan(400_000_000);
    client.release();
    const reply = await client.reply();
    expect(reply.body.toString("latin1").split("\n").length).toBe(201);
    client.close();
  }, 60_000);
});

describe("a call ends", () => {
  test("at its deadline with 504, and the server hears of it", async () => {
    const reply = await gateway.once(request("GET /hang?how=hang"));
    // The server may have been quicker: it knows the deadline too.
    expect([reply.status, reply.text.toLowerCase()]).toEqual([
      504,
      '{"code":4,"message":"deadline exceeded","details":[]}',
    ]);
    await eventually(() => expect(shop.calls.findLast((call) => call.method === "Fail")!.cancelled).toBe(true));
    expect(shop.calls.findLast((call) => call.method === "Fail")!.metadata["grpc-timeout"]).toBeUndefined();
  });

  test("at its deadline in the middle of a stream by a cut", async () => {
    const client = await gateway.connect();
    client.send(request("GET /late/1?endless=true"));
    expect(await client.ended()).toBe("reset");
    client.close();
  }, 60_000);

  test("when the client goes", async () => {
    const client = await gateway.connect();
    client.send(request("GET /watch/1?endless=true", ["Accept: text/event-stream"]));
    await client.takeUntil('"id":"3"', 30_000);
    const call = shop.calls.at(-1)!;
    expect([call.method, call.cancelled]).toEqual(["Watch", false]);
    client.reset();
    await eventually(() => expect(call.cancelled).toBe(true));
  });
});

describe("an upstream", () => {
  test("that cannot be reached is 502", async () => {
    for (const path of ["/refused/1", "/nowhere/1"]) {
      const reply = await gateway.once(request(`GET ${path}`));
      expect(json(reply)).toEqual({ error: "502 Bad Gateway", message: "upstream unavailable" });
    }
  });

  test("that comes, goes and comes back is found again", async () => {
    expect((await gateway.once(request("GET /moving/1"))).status).toBe(502);
    for (let round = 0; round < 3; round++) {
      const moving = await GrpcShop.start({ port: movingPort });
      await eventually(async () => expect((await gateway.once(request("GET /moving/1"))).status).toBe(200));
      moving.stop();
      await eventually(async () => expect((await gateway.once(request("GET /moving/1"))).status).toBe(502));
    }
  }, 60_000);

  test("that restarts under load costs some calls a 502 and hangs none", async () => {
    let moving = await GrpcShop.start({ port: movingPort });
    await eventually(async () => expect((await gateway.once(request("GET /moving/1"))).status).toBe(200));
    let isOver = false;
    const statuses = new Set<number>();
    let good = 0;
    const client = async () => {
      while (!isOver) {
        const { status } = await gateway.once(request("GET /moving/1"));
        statuses.add(status);
        if (status === 200) good++;
      }
    };
    const served = async () => {
      const before = good;
      await eventually(() => expect(good).toBeGreaterThan(before + 20));
    };
    const clients = Array.from({ length: 4 }, client);
    for (let round = 0; round < 2; round++) {
      await served();
      moving.stop();
      moving = await GrpcShop.start({ port: movingPort });
    }
    await served();
    isOver = true;
    await Promise.all(clients);
    moving.stop();
    expect([...statuses].filter((status) => status !== 200 && status !== 502)).toEqual([]);
    expect(statuses.has(200)).toBe(true);
  }, 60_000);
});
