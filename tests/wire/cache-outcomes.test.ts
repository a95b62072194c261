// docs/cache.md#hits: what is a hit and what is a miss, and what each of them has.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { startGateway } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const cached = await CachedGateway.start({ max_payload_size: 50_000 }, { workers: 2 });
const files = await startGateway({
  config: { server: { cache: { enabled: true, default_ttl: "1h" }, compression: { enabled: true } } },
  routes: [{ type: "static", prefix: "/site", dir: "site" }],
  files: { "site/one.txt": "first one", "site/large.bin": "x".repeat(300_000), "site/page.html": "<p>".repeat(2000) },
});
afterAll(async () => {
  await cached.stop();
  await stopAll(files);
});

const FRESH = "Cache-Control: max-age=60";
const outcome = ({ status, fields }: Reply) => [status, fields.get("x-cache"), fields.get("age")];

describe("what came of asking the origin for this very request is a miss", () => {
  test("a range of what is not stored, with the cookies that came for it", async () => {
    cached.answers("/range", FRESH, 'ETag: "v"', "Age: 7", "Set-Cookie: a=1", "Set-Cookie: b=2");
    const filled = await cached.get("/range", ["Range: bytes=0-1"]);
    expect(outcome(filled)).toEqual([206, "MISS", null]);
    expect(filled.fields.all("set-cookie")).toEqual(["a=1", "b=2"]);
    expect(filled.fields.get("cache-status")).toBe("edge; fwd=uri-miss; stored");
    const hit = await cached.get("/range", ["Range: bytes=0-1"]);
    expect(outcome(hit)).toEqual([206, "HIT", "0"]);
    expect(hit.fields.all("set-cookie")).toEqual([]);
    expect(cached.seen("/range")).toBe(1);
  });

  test("a range that the response does not have", async () => {
    cached.answers("/beyond", FRESH, "Set-Cookie: a=1");
    const filled = await cached.get("/beyond", ["Range: bytes=9999-"]);
    expect(outcome(filled)).toEqual([416, "MISS", null]);
    expect(filled.fields.all("set-cookie")).toEqual(["a=1"]);
    expect(outcome(await cached.get("/beyond", ["Range: bytes=9999-"]))).toEqual([416, "HIT", "0"]);
  });

  test("a response that others wait for, whose cookies are for the first alone", async () => {
    cached.on("/many", async (call) => {
      await Bun.sleep(300);
      call.reply("200 OK", [FRESH, "Age: 7", "Set-Cookie: a=1"], "for all");
    });
    const replies = await Promise.all([0, 1, 2, 3].map(() => cached.get("/many")));
    expect(replies.map(outcome)).toEqual(replies.map(() => [200, "MISS", null]));
    expect(replies.flatMap((reply) => reply.fields.all("set-cookie"))).toEqual(["a=1"]);
    expect(replies.map((reply) => reply.fields.get("cache-status")).sort()).toEqual([
      ...[1, 2, 3].map(() => "edge; fwd=uri-miss; collapsed"),
      "edge; fwd=uri-miss; stored",
    ]);
    expect(cached.seen("/many")).toBe(1);
  });
});

describe("Cache-Status says stored", () => {
  test("of no body in chunks, which may turn out too large", async () => {
    for (const size of [10, 60_000]) {
      const path = `/chunks-${size}`;
      cached.on(path, (call) => {
        const body = "x".repeat(size);
        call.send(`HTTP/1.1 200 OK\r\n${FRESH}\r\nTransfer-Encoding: chunked\r\n\r\n`);
        call.send(`${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
      });
      expect((await cached.get(path)).fields.get("cache-status")).toBe("edge; fwd=uri-miss");
      expect((await cached.get(path)).fields.get("x-cache")).toBe(size === 10 ? "HIT" : "MISS");
    }
  });

  test("of a body with a length that is stored, and not of one that is too large", async () => {
    cached.on("/small", (call) => call.reply("200 OK", [FRESH], "small"));
    cached.on("/large", (call) => call.reply("200 OK", [FRESH], "x".repeat(60_000)));
    expect((await cached.get("/small")).fields.get("cache-status")).toBe("edge; fwd=uri-miss; stored");
    expect((await cached.get("/large")).fields.get("cache-status")).toBe("edge; fwd=uri-miss; detail=too-large");
  });
});

test("Age is the whole seconds that have passed, rounded down", async () => {
  cached.answers("/age", FRESH);
  await cached.get("/age");
  await Bun.sleep(700);
  expect((await cached.get("/age")).fields.get("age")).toBe("0");
  await Bun.sleep(500);
  expect((await cached.get("/age")).fields.get("age")).toBe("1");
  await files.once(request("GET /site/one.txt"));
  await Bun.sleep(700);
  expect((await files.once(request("GET /site/one.txt"))).fields.get("age")).toBe("0");
});

test("a part of a stored 200 has one Content-Range, a 304 has none", async () => {
  cached.on("/ranged", (call) =>
    call.reply("200 OK", [FRESH, 'ETag: "v"', "Content-Range: bytes 0-9/10"], "0123456789"),
  );
  await cached.get("/ranged");
  for (const range of ["bytes=2-3", "bytes=-1", "bytes=5-"]) {
    const part = await cached.get("/ranged", [`Range: ${range}`]);
    expect([part.status, part.fields.all("content-range").length]).toEqual([206, 1]);
    expect(part.fields.get("content-range")).toMatch(/^bytes \d-\d\/10$/);
  }
  const unchanged = await cached.get("/ranged", ['If-None-Match: "v"']);
  expect([unchanged.status, unchanged.fields.all("content-range")]).toEqual([304, []]);
});

describe("HEAD of a file becomes a hit as GET does", () => {
  test.each(["/site/one.txt", "/site/large.bin", "/site/page.html", "/site/missing"])("%s", async (path) => {
    for (const lines of [[], ["Accept-Encoding: gzip"]]) {
      const get = await files.once(request(`GET ${path}`, lines));
      const all: Reply[] = [];
      for (let i = 0; i < 3; i++) all.push(await files.once(request(`HEAD ${path}`, lines)));
      expect(all.map(({ fields }) => fields.get("x-cache"))).toEqual(["MISS", "HIT", "HIT"]);
      for (const one of all) {
        expect([one.status, one.text]).toEqual([get.status, ""]);
        for (const name of ["content-length", "etag", "content-type", "content-encoding", "vary"])
          expect(one.fields.get(name)).toBe(get.fields.get(name));
      }
    }
  });
});
