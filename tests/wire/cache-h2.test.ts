// HTTP/2 requests share the entries of the cache.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { H2Client, head } from "../harness/h2-client.ts";

const cached = await CachedGateway.start();
afterAll(() => cached.stop());

/** A GET for the host that the other clients of these tests ask for. */
function get(path: string, ...more: readonly (readonly [string, string])[]) {
  const fields = head("GET", path).map(([name, value]) => (name === ":authority" ? [name, "gw.test"] : [name, value]));
  return [...fields, ...more] as (readonly [string, string])[];
}

describe("a hit over HTTP/2", () => {
  test("is what HTTP/1.1 stored, and the other way round", async () => {
    for (const path of ["/one", "/two"]) cached.answers(path, 'ETag: "v"', "Set-Cookie: a=b");
    const client = await H2Client.connect(cached.gateway.port);
    await cached.get("/one");
    const hit = await client.request(get("/one"));
    expect([hit.status, hit.text, hit.fields.get("x-cache")]).toEqual([200, "answer 1", "HIT"]);
    expect([hit.fields.get("age"), hit.fields.get("cache-status"), hit.fields.has("set-cookie")]).toEqual([
      "0",
      "edge; hit; ttl=60",
      false,
    ]);
    const miss = await client.request(get("/two"));
    expect([miss.text, miss.fields.get("x-cache"), miss.fields.get("set-cookie")]).toEqual(["answer 1", "MISS", "a=b"]);
    expect((await cached.get("/two")).fields.get("x-cache")).toBe("HIT");
    expect((await client.request(get("/two", ["if-none-match", '"v"']))).status).toBe(304);
    expect((await client.request(get("/two", ["range", "bytes=0-2"]))).text).toBe("ans");
    client.close();
  });

  test("stays whole although its stream stands still while the entry goes", async () => {
    const body = Buffer.alloc(900_000);
    for (let i = 0; i < body.length; i++) body[i] = (i * 31 + (i >> 9)) & 255;
    cached.on("/large", (call) => call.reply("200 OK", [], body));
    await cached.get("/large");
    // Nobody opens a window: 65,535 bytes come, the rest waits.
    const client = await H2Client.connect(cached.gateway.port, [], false);
    const id = client.headers(get("/large"));
    await client.until("the first window", () => (client.seen(id).body.byteLength >= 65_535 ? true : undefined));
    await cached.send("DELETE /large");
    for (let i = 0; i < 10; i++) {
      cached.on(`/filler-${i}`, (call) => call.reply("200 OK", [], Buffer.alloc(900_000, "f")));
      await cached.get(`/filler-${i}`);
    }
    const window = Buffer.alloc(4);
    window.writeUInt32BE(2_000_000);
    client.frame(8, 0, 0, window);
    client.frame(8, 0, id, window);
    expect(sha256((await client.reply(id)).body)).toBe(sha256(body));
    client.close();
  });

  test("many streams that miss one key reach the origin once", async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    cached.on("/streams", async (call) => {
      await held;
      call.reply("200 OK", [], "for all");
    });
    const client = await H2Client.connect(cached.gateway.port);
    const replies = Array.from({ length: 50 }, () => client.request(get("/streams")));
    await cached.origin.until("the request", () => (cached.seen("/streams") === 1 ? true : undefined));
    release();
    expect(new Set((await Promise.all(replies)).map((reply) => reply.text))).toEqual(new Set(["for all"]));
    expect(cached.seen("/streams")).toBe(1);
    client.close();
  });
});
