// docs/cache.md#hits: fields of the response; and what a hit can answer.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { request } from "../harness/raw-client.ts";

const cached = await CachedGateway.start(
  {},
  {
    cors: { enabled: true, allowed_origins: ["https://a.test", "https://b.test"] },
    security_headers: { enabled: true, frame_options: "DENY" },
  },
  [
    { type: "upstream", prefix: "/off", cache: false, strip_prefix: false },
    { type: "upstream", prefix: "/brief", cache: { default_ttl: "1s" }, strip_prefix: false },
    {
      type: "upstream",
      prefix: "/said",
      strip_prefix: false,
      headers: { response: { set: { "X-Said": "{cache.status}" } } },
    },
    { type: "upstream", prefix: "/dead", target: "http://127.0.0.1:1" },
  ],
);
afterAll(() => cached.stop());

describe("a miss and a hit", () => {
  test("X-Cache, Age and Set-Cookie", async () => {
    cached.answers(
      "/fields",
      "Age: 30",
      "Set-Cookie: a=b",
      "Set-Cookie2: c=d",
      "X-Cache: HIT from elsewhere",
      "X-Own: 1",
    );
    const miss = await cached.get("/fields");
    expect(miss.fields.all("x-cache")).toEqual(["MISS"]);
    expect(miss.fields.has("age")).toBe(false);
    expect([miss.fields.get("set-cookie"), miss.fields.get("set-cookie2")]).toEqual(["a=b", "c=d"]);
    const hit = await cached.get("/fields");
    expect(hit.fields.all("x-cache")).toEqual(["HIT"]);
    // Since it was stored, not since it was made.
    expect(hit.fields.get("age")).toMatch(/^\d$/);
    expect(hit.fields.has("set-cookie") || hit.fields.has("set-cookie2")).toBe(false);
    for (const name of ["x-own", "date", "content-length"]) expect(hit.fields.get(name)).toBe(miss.fields.get(name));
  });

  test("a field with {cache.status}", async () => {
    cached.answers("/said");
    const said: unknown[] = [];
    for (let i = 0; i < 2; i++) said.push((await cached.get("/said")).fields.get("x-said"));
    expect(said).toEqual(["MISS", "HIT"]);
  });

  test("Cache-Status says why", async () => {
    cached.answers("/status");
    cached.answers("/status-private", "Cache-Control: private");
    const statusOf = async (start: string, lines: string[] = []) =>
      (await cached.send(start, lines)).fields.get("cache-status");
    expect(await statusOf("GET /status")).toBe("edge; fwd=uri-miss; stored");
    expect(await statusOf("GET /status")).toMatch(/^edge; hit; ttl=(?:59|60)$/);
    expect(await statusOf("GET /status", ["Cache-Control: no-cache"])).toBe("edge; fwd=request; stored");
    expect(await statusOf("GET /status-private")).toBe("edge; fwd=uri-miss; detail=private");
    expect(await statusOf("DELETE /status")).toBe("edge; fwd=method");
  });

  test("Age grows with the time since storage", async () => {
    cached.answers("/ageing");
    await cached.get("/ageing");
    await eventually(async () => {
      expect(Number((await cached.get("/ageing")).fields.get("age"))).toBeGreaterThanOrEqual(2);
    });
    expect(cached.seen("/ageing")).toBe(1);
  });

  test("every answer to a client has a request id of its own, and hits are logged with what the cache did", async () => {
    cached.answers("/logged");
    const ids = [];
    for (let i = 0; i < 2; i++) ids.push((await cached.get("/logged")).fields.get("x-request-id"));
    expect((await cached.get("/logged", ["X-Request-Id: mine"])).fields.get("x-request-id")).toBe("mine");
    for (const [id, result] of [[ids[0], "miss"] as const, [ids[1], "hit"] as const, ["mine", "hit"] as const]) {
      const line = await cached.gateway.log(`the request ${id}`, (l) => l.event === "access" && l.request_id === id);
      expect([line.cache, line.status]).toEqual([result, 200]);
    }
  });

  test("fields of the gateway's own policies are each client's, not the stored answer's", async () => {
    cached.answers("/policies");
    for (const origin of ["https://a.test", "https://b.test", "https://evil.test"]) {
      const reply = await cached.get("/policies", [`Origin: ${origin}`]);
      expect(reply.fields.get("access-control-allow-origin")).toBe(origin.includes("evil") ? null : origin);
      expect(reply.fields.all("x-frame-options")).toEqual(["DENY"]);
    }
    expect(cached.seen("/policies")).toBe(1);
  });

  test("refusals that passed the cache say MISS, and are not stored", async () => {
    for (let i = 0; i < 2; i++) {
      const reply = await cached.get("/dead/x");
      expect([reply.status, reply.fields.all("x-cache")]).toEqual([502, ["MISS"]]);
    }
  });

  test("what does not pass the cache says nothing", async () => {
    cached.answers("/off/x");
    for (const path of ["/off/x", "/off/x", "/health", "/metrics"]) {
      expect((await cached.get(path)).fields.has("x-cache")).toBe(false);
    }
    expect(cached.seen("/off/x")).toBe(2);
  });

  test("a route's own default_ttl counts", async () => {
    cached.answers("/brief/x");
    // Within its second, unless this machine stands still.
    const hit = await eventually(async () => {
      await cached.get("/brief/x");
      const reply = await cached.get("/brief/x");
      expect(reply.fields.get("x-cache")).toBe("HIT");
      return reply;
    });
    await eventually(async () => expect((await cached.get("/brief/x")).text).not.toBe(hit.text));
  });

  test("metrics tell what the cache did and holds", async () => {
    cached.answers("/metered");
    const read = async (name: string) => {
      const line = (await cached.get("/metrics")).text.split("\n").find((each) => each.startsWith(`${name} `));
      return Number(line?.split(" ")[1]);
    };
    const before = await read('gateway_cache_requests_total{result="hit"}');
    const entries = await read("gateway_cache_entries");
    for (let i = 0; i < 3; i++) await cached.get("/metered");
    expect(await read('gateway_cache_requests_total{result="hit"}')).toBe(before + 2);
    expect(await read("gateway_cache_entries")).toBe(entries + 1);
    expect(await read("gateway_cache_bytes")).toBeGreaterThan(0);
  });
});

describe("conditions", () => {
  const MODIFIED = "Wed, 01 Jan 2020 00:00:00 GMT";

  test.each([
    ['If-None-Match: "v1"', 304],
    ['If-None-Match: W/"v1"', 304],
    ['If-None-Match: "v0", "v1"', 304],
    ["If-None-Match: *", 304],
    ['If-None-Match: "v2"', 200],
    ['If-None-Match: "v0,v1"', 200],
    [`If-Modified-Since: ${MODIFIED}`, 304],
    ["If-Modified-Since: Wed, 01 Jan 2025 00:00:00 GMT", 304],
    ["If-Modified-Since: Wed, 01 Jan 2019 00:00:00 GMT", 200],
    ["If-Modified-Since: yesterday", 200],
  ])("%s on a hit gives %d", async (line, status) => {
    cached.answers("/validated", 'ETag: "v1"', `Last-Modified: ${MODIFIED}`, "Content-Type: text/plain", "X-Own: 1");
    await cached.get("/validated");
    const reply = await cached.get("/validated", [line]);
    expect([reply.status, reply.fields.get("x-cache")]).toEqual([status, "HIT"]);
    expect(reply.fields.get("etag")).toBe('"v1"');
    if (status === 304) expect(reply.fields.has("content-type") || reply.fields.has("content-length")).toBe(false);
  });

  test("If-None-Match goes before If-Modified-Since", async () => {
    cached.answers("/precedence", 'ETag: "v1"', `Last-Modified: ${MODIFIED}`);
    await cached.get("/precedence");
    const lines = ['If-None-Match: "v2"', `If-Modified-Since: ${MODIFIED}`];
    expect((await cached.get("/precedence", lines)).status).toBe(200);
  });

  test("on a miss they go to the origin, and its 304 is not stored", async () => {
    cached.on("/conditional", (call) => {
      if (call.request.fields.has("if-none-match")) call.send('HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n');
      else call.reply("200 OK", ['ETag: "v1"'], "whole");
    });
    expect((await cached.get("/conditional", ['If-None-Match: "v1"'])).status).toBe(304);
    expect((await cached.get("/conditional")).text).toBe("whole");
    expect((await cached.get("/conditional", ['If-None-Match: "v1"'])).fields.get("x-cache")).toBe("HIT");
  });

  test.each(['If-Match: "v1"', `If-Unmodified-Since: ${MODIFIED}`])("%s is the origin's business", async (line) => {
    cached.answers("/origins-own", 'ETag: "v1"');
    await cached.get("/origins-own");
    expect((await cached.get("/origins-own", [line])).fields.get("x-cache")).toBe("MISS");
  });
});

describe("ranges of a stored 200", () => {
  test.each([
    ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-2", 206, "89", "bytes 8-9/10"],
    ["bytes=5-100", 206, "56789", "bytes 5-9/10"],
    ["bytes=10-", 416, null, "bytes */10"],
    ["bytes=0-1,3-4", 200, "0123456789", null],
    ["lines=1-2", 200, "0123456789", null],
    ["bytes=4-2", 200, "0123456789", null],
  ])("%s", async (range, status, body, contentRange) => {
    cached.on("/digits", (call) => call.reply("200 OK", ['ETag: "d"'], "0123456789"));
    await cached.get("/digits");
    const reply = await cached.get("/digits", [`Range: ${range}`]);
    expect([reply.status, reply.fields.get("content-range")]).toEqual([status, contentRange]);
    expect(reply.fields.get("x-cache")).toBe("HIT");
    if (body !== null) expect([reply.text, reply.fields.get("content-length")]).toEqual([body, String(body.length)]);
  });

  test("If-Range lets a part through only where it names what is stored", async () => {
    cached.on("/if-range", (call) => call.reply("200 OK", ['ETag: "r"'], "0123456789"));
    await cached.get("/if-range");
    const ask = async (tag: string) => (await cached.get("/if-range", ["Range: bytes=0-1", `If-Range: ${tag}`])).status;
    expect([await ask('"r"'), await ask('"s"'), await ask('W/"r"')]).toEqual([206, 200, 200]);
  });

  test("a part that came from the origin is not stored", async () => {
    cached.on("/part", (call) => {
      if (call.request.fields.has("range")) call.reply("206 Partial Content", ["Content-Range: bytes 0-0/2"], "x");
      else call.reply("200 OK", [], "xy");
    });
    expect((await cached.get("/part", ["Range: bytes=0-0"])).status).toBe(206);
    expect((await cached.get("/part")).text).toBe("xy");
  });
});

describe("bodies", () => {
  test.each([1, 16_383, 16_384, 16_385, 300_000, 1_048_576])(
    "of %d bytes arrive whole, from one read or many",
    async (size) => {
      const body = Buffer.alloc(size);
      for (let i = 0; i < size; i++) body[i] = (i * 7 + (i >> 8)) & 255;
      cached.on(`/size-${size}`, (call) => {
        call.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
        for (let at = 0; at < size; at += 50_000) call.send(body.subarray(at, at + 50_000));
      });
      for (const result of ["MISS", "HIT", "HIT"]) {
        const reply = await cached.get(`/size-${size}`);
        expect([reply.fields.get("x-cache"), sha256(reply.body)]).toEqual([result, sha256(body)]);
      }
    },
  );

  test("hits are answered in order on one connection, to HTTP/1.0 too", async () => {
    cached.answers("/piped");
    await cached.get("/piped");
    const client = await cached.gateway.connect();
    const one = request("GET /piped");
    client.send(Buffer.concat([one, request("HEAD /piped"), one, request("GET /piped", ["Range: bytes=0-0"]), one]));
    expect((await client.reply()).text).toBe("answer 1");
    expect((await client.reply("HEAD")).status).toBe(200);
    expect((await client.reply()).text).toBe("answer 1");
    expect((await client.reply()).text).toBe("a");
    expect((await client.reply()).text).toBe("answer 1");
    client.close();
    const old = await cached.gateway.once("GET /piped HTTP/1.0\r\nHost: gw.test\r\n\r\n");
    expect([old.text, old.fields.get("connection")]).toEqual(["answer 1", "close"]);
  });

  test("a client that reads slowly gets its bytes although the entry has gone meanwhile", async () => {
    const body = Buffer.alloc(1_000_000, "slow");
    cached.on("/slow", (call) => call.reply("200 OK", [], body));
    await cached.get("/slow");
    const clients = await Promise.all(Array.from({ length: 6 }, () => cached.gateway.connect()));
    for (const client of clients) {
      client.hold();
      for (let i = 0; i < 8; i++) client.send(request("GET /slow"));
    }
    await eventually(async () => expect(cached.seen("/slow")).toBe(1));
    await cached.send("DELETE /slow");
    for (let i = 0; i < 20; i++) {
      cached.on(`/filler-${i}`, (call) => call.reply("200 OK", [], Buffer.alloc(900_000, String(i))));
      await cached.get(`/filler-${i}`);
    }
    for (const client of clients) {
      client.release();
      for (let i = 0; i < 8; i++) {
        expect((await client.reply()).body.equals(body)).toBe(true);
      }
      client.close();
    }
  });
});
