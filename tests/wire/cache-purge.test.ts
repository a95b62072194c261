// docs/cache.md#purge; and what reloads and dying workers do to the cache.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, startGateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";

const cached = await CachedGateway.start({}, { workers: 2 }, [], binaryWithHooks());
afterAll(() => cached.stop());

async function purge(call: unknown): Promise<unknown> {
  const reply = await cached.send("POST /internal/api/cache/purge", [], JSON.stringify(call));
  expect(reply.status).toBe(200);
  return json(reply).purged;
}

async function isHit(path: string, lines: readonly string[] = []): Promise<boolean> {
  return (await cached.get(path, lines)).fields.get("x-cache") === "HIT";
}

describe("purging", () => {
  test("one resource, with all that it answers", async () => {
    for (const path of ["/p/a", "/p/ab"]) cached.answers(path);
    await cached.get("/p/a");
    await cached.get("/p/a", ["Accept-Encoding: gzip"]);
    await cached.send("HEAD /p/a");
    await cached.get("/p/a", ["Host: other.test"]);
    await cached.get("/p/ab");
    expect(await purge({ url: "http://gw.test/p/a" })).toBe(3);
    expect(await isHit("/p/a", ["Host: other.test"])).toBe(true);
    expect(await isHit("/p/ab")).toBe(true);
    expect(await purge({ url: "/p/a" })).toBe(1);
    expect(await purge({ url: "/p/a" })).toBe(0);
  });

  test("a prefix, of one host or of all", async () => {
    for (const path of ["/q/1", "/q/2", "/r/1"]) {
      cached.answers(path);
      await cached.get(path);
      await cached.get(path, ["Host: other.test:81"]);
    }
    expect(await purge({ prefix: "http://OTHER.test:81/q/" })).toBe(2);
    expect(await purge({ prefix: "/q" })).toBe(2);
    expect([await isHit("/r/1"), await isHit("/r/1", ["Host: other.test:81"])]).toEqual([true, true]);
  });

  test("everything", async () => {
    cached.answers("/s/1");
    await cached.get("/s/1");
    expect(await purge({ all: true })).toBeGreaterThan(0);
    expect(await isHit("/s/1")).toBe(false);
    const metrics = (await cached.get("/metrics")).text;
    expect(metrics).toContain("gateway_cache_entries 1\n");
  });

  test.each([
    "",
    "{",
    "[]",
    "null",
    "{}",
    '{"all":false}',
    '{"url":"gw.test/x"}',
    '{"url":"ftp://gw.test/x"}',
    '{"url":"//gw.test/x"}',
    '{"url":"/x","all":true}',
    '{"prefix":7}',
    '{"url":"http://user@gw.test/x"}',
    '{"url":"/x\\n"}',
  ])("a call that is none is 400: %j", async (body) => {
    expect((await cached.send("POST /internal/api/cache/purge", [], body)).status).toBe(400);
  });

  test("is refused to foreign pages, to other methods, in excess", async () => {
    const path = "POST /internal/api/cache/purge";
    expect((await cached.send(path, ["Origin: http://evil.test"], '{"all":true}')).status).toBe(403);
    expect((await cached.send("GET /internal/api/cache/purge")).status).toBe(405);
    expect((await cached.send(path, [], `{"url":"/${"x".repeat(20_000)}"}`)).status).toBe(413);
    const chunks = `4e20\r\n${"x".repeat(20_000)}\r\n0\r\n\r\n`;
    expect((await cached.send(path, ["Transfer-Encoding: chunked"], chunks)).status).toBe(413);
  });

  test("says so where the cache is off", async () => {
    const plain = await startGateway();
    const reply = await plain.once(request("POST /internal/api/cache/purge", [], '{"all":true}'));
    expect([reply.status, json(reply).message]).toEqual([404, "the cache is off"]);
    await plain.stop();
  });
});

test("what is stored outlives a reload, and a reload can switch the cache off", async () => {
  cached.answers("/reloaded");
  await cached.get("/reloaded");
  expect((await cached.gateway.reload()).ok).toBe(true);
  await eventually(async () => expect(await isHit("/reloaded")).toBe(true));
  expect(cached.seen("/reloaded")).toBe(1);
});

test("a worker that dies takes nothing of the cache with it", async () => {
  cached.answers("/survives");
  await cached.get("/survives");
  cached.on("/hanging", (call) => {
    call.takeOver();
  });
  for (let round = 0; round < 2; round++) {
    const waiting = await cached.gateway.connect();
    waiting.send(request("GET /hanging"));
    const victim = await cached.gateway.connect();
    victim.send(request("GET /__test/crash"));
    await eventually(() => {
      const deaths = cached.gateway.logs.json.filter((line) => line.event === "worker_died");
      expect(deaths.length).toBe(round + 1);
    });
    victim.close();
    waiting.close();
  }
  await eventually(async () => expect(await isHit("/survives")).toBe(true));
  await eventually(async () => {
    const client = await cached.gateway.connect();
    expect((await client.exchange(request("GET /survives"))).text).toBe("answer 1");
    client.close();
  });
});
