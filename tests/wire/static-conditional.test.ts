import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const TEXT = "0123456789".repeat(200);
const gateway = await startGateway({
  routes: [
    { type: "static", prefix: "/static", dir: "site", cache_control: "public, max-age=60" },
    { type: "static", prefix: "/spa", dir: "site", spa: true },
    { type: "static", prefix: "/missing", dir: "site", fallback: "404.html" },
  ],
  files: {
    "site/digits.txt": TEXT,
    "site/empty.txt": "",
    "site/index.html": "<h1>app</h1>",
    "site/404.html": "<h1>not here</h1>",
    "site/app.js": "console.log('plain')",
  },
});
writeFileSync(join(gateway.folder, "site/app.js.gz"), Bun.gzipSync(Buffer.from("console.log('packed')")));
afterAll(() => stopAll(gateway));

const get = (path: string, lines: readonly string[] = []) => gateway.once(request(`GET ${path}`, lines));
const first = await get("/static/digits.txt");
const etag = first.fields.get("etag") ?? "";
const modified = first.fields.get("last-modified") ?? "";

test("a file carries a strong ETag, its date, and the mount's Cache-Control", () => {
  expect(etag).toMatch(/^"[^"]+"$/);
  expect(Date.parse(modified)).toBeLessThanOrEqual(Date.now());
  expect(first.fields.get("accept-ranges")).toBe("bytes");
  expect(first.fields.get("cache-control")).toBe("public, max-age=60");
});

describe("304 when", () => {
  test.each([
    ["the ETag is the same", () => [`If-None-Match: ${etag}`]],
    ["the ETag is in the list", () => [`If-None-Match: "other", W/${etag}`]],
    ["any will do", () => ["If-None-Match: *"]],
    ["it has not changed since", () => [`If-Modified-Since: ${modified}`]],
    [
      "the ETag is the same, whatever the date",
      () => [`If-None-Match: ${etag}`, "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"],
    ],
  ])("%s", async (_name, lines) => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /static/digits.txt", lines()));
    expect([reply.status, reply.fields.get("etag")]).toEqual([304, etag]);
    expect((await client.exchange(request("GET /static/empty.txt"))).status).toBe(200);
    client.close();
  });
});

describe("200 when", () => {
  test.each([
    ["the ETag is another", () => ['If-None-Match: "other"']],
    ["the ETag is another, whatever the date", () => ['If-None-Match: "other"', `If-Modified-Since: ${modified}`]],
    ["it has changed since", () => ["If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"]],
    ["the date is none", () => ["If-Modified-Since: yesterday"]],
    ["the ETag that must match does", () => [`If-Match: ${etag}`]],
    ["the range is of another version", () => ["Range: bytes=0-1", 'If-Range: "other"']],
    ["the range's unit is unknown", () => ["Range: lines=0-1"]],
    ["the range is malformed", () => ["Range: bytes=a-b"]],
  ])("%s", async (_name, lines) => {
    const reply = await get("/static/digits.txt", lines());
    expect([reply.status, reply.text]).toEqual([200, TEXT]);
  });
});

test("412 when the ETag that must match does not", async () => {
  expect((await get("/static/digits.txt", ['If-Match: "other"'])).status).toBe(412);
});

describe("206 for", () => {
  test.each([
    ["bytes=0-0", 0, 0],
    ["bytes=5-14", 5, 14],
    ["bytes=1990-", 1990, 1999],
    ["bytes=-5", 1995, 1999],
    ["bytes=1999-999999", 1999, 1999],
    ["bytes=-999999", 0, 1999],
  ])("%s", async (range, from, to) => {
    const reply = await get("/static/digits.txt", [`Range: ${range}`, `If-Range: ${etag}`]);
    expect([reply.status, reply.text]).toEqual([206, TEXT.slice(from, to + 1)]);
    expect(reply.fields.get("content-range")).toBe(`bytes ${from}-${to}/2000`);
  });
});

test.each(["bytes=2000-", "bytes=-0", "bytes=9999-10000"])("416 for %s", async (range) => {
  const reply = await get("/static/digits.txt", [`Range: ${range}`]);
  expect([reply.status, reply.fields.get("content-range")]).toEqual([416, "bytes */2000"]);
});

test("a packed sibling goes to those who take it, with Vary and an ETag of its own", async () => {
  const plain = await get("/static/app.js");
  const packed = await get("/static/app.js", ["Accept-Encoding: gzip"]);
  expect(packed.fields.get("content-encoding")).toBe("gzip");
  expect(Buffer.from(Bun.gunzipSync(new Uint8Array(packed.body))).toString()).toBe("console.log('packed')");
  expect(plain.text).toBe("console.log('plain')");
  for (const reply of [plain, packed]) {
    expect(reply.fields.get("vary")?.toLowerCase()).toContain("accept-encoding");
    expect(reply.fields.get("content-type")).toBe("application/javascript");
  }
  expect(packed.fields.get("etag")).not.toBe(plain.fields.get("etag"));
  expect((await get("/static/app.js", ["Accept-Encoding: gzip;q=0"])).text).toBe("console.log('plain')");
});

describe("a path that is no file", () => {
  test("is the application where spa is set", async () => {
    const reply = await get("/spa/users/7", ["Accept: text/html"]);
    expect([reply.status, reply.text, reply.fields.get("cache-control")]).toEqual([200, "<h1>app</h1>", "no-cache"]);
    expect((await get("/spa/users/7.html", ["Accept: text/html"])).status).toBe(200);
  });

  test("with a file extension is 404 there for those who want no page", async () => {
    expect((await get("/spa/missing.js", ["Accept: */*"])).status).toBe(404);
  });

  test("is the fallback with 404 where only that is set", async () => {
    const reply = await get("/missing/nothing");
    expect([reply.status, reply.text]).toEqual([404, "<h1>not here</h1>"]);
  });
});

test("a file that shrinks while it is sent never gives a clean short body", async () => {
  const path = join(gateway.folder, "site/shrinking.bin");
  const size = 64 * 1024 * 1024;
  writeFileSync(path, Buffer.alloc(size, "x"));
  const client = await gateway.connect();
  client.send(request("GET /static/shrinking.bin"));
  // The file is open once its first bytes are here; most of it is still on the disk then.
  await client.until("the first bytes", () => (client.receivedBytes > 0 ? true : undefined));
  client.hold();
  writeFileSync(path, "short");
  client.release();
  const outcome = await client.reply().catch(() => null);
  // Either the file was read as it had been, or the connection is cut.
  if (outcome !== null) expect(outcome.body.byteLength).toBe(size);
  client.close();
  rmSync(path);
});
