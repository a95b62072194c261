// A static mount on a cached server: hits, and never anything older than the file system. docs/security.md#cache-and-identity
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";

const gateway = await startGateway({
  config: { server: { cache: { enabled: true, default_ttl: "1h" } } },
  routes: [
    { type: "static", prefix: "/site", dir: "site" },
    { type: "static", prefix: "/app", dir: "app", spa: true },
    {
      type: "static",
      prefix: "/stale",
      dir: "stale",
      cache_control: "max-age=1, stale-while-revalidate=600, stale-if-error=600",
    },
    { type: "static", prefix: "/cookie", dir: "site", headers: { response: { set: { "Set-Cookie": "a=b" } } } },
  ],
  files: {
    "site/one.txt": "first one",
    "site/large.bin": "x".repeat(300_000),
    "app/index.html": "<p>first</p>",
    "stale/page.html": "<p>first</p>",
  },
});
afterAll(() => gateway.stop());

/** In whole seconds, so that files can be given exactly the same time. */
const LONG_AGO = new Date(1_700_000_000_000);
const at = (path: string) => join(gateway.folder, path);
const get = (path: string, ...lines: readonly string[]) => gateway.once(request(`GET ${path}`, lines));
const outcome = ({ status, text, fields }: Reply) => [status, text, fields.get("x-cache")];
const cacheOf = async (path: string, ...lines: readonly string[]) => (await get(path, ...lines)).fields.get("x-cache");

test("a file is a hit as long as it is the same, and never older than the disk", async () => {
  expect(outcome(await get("/site/one.txt"))).toEqual([200, "first one", "MISS"]);
  const hit = await get("/site/one.txt");
  expect(outcome(hit)).toEqual([200, "first one", "HIT"]);
  expect([hit.fields.all("age"), hit.fields.all("x-cache"), hit.fields.all("cache-status")]).toEqual([
    ["0"],
    ["HIT"],
    ["edge; hit"],
  ]);
  writeFileSync(at("site/one.txt"), "second, longer");
  expect(outcome(await get("/site/one.txt"))).toEqual([200, "second, longer", "MISS"]);
  expect(outcome(await get("/site/one.txt"))).toEqual([200, "second, longer", "HIT"]);
});

test("a file of the same size that is put in its place, or written with the same time, counts as another", async () => {
  const path = at("site/same.txt");
  writeFileSync(path, "aaaa");
  utimesSync(path, LONG_AGO, LONG_AGO);
  await get("/site/same.txt");
  expect((await get("/site/same.txt")).text).toBe("aaaa");
  writeFileSync(at("site/new.txt"), "bbbb");
  utimesSync(at("site/new.txt"), LONG_AGO, LONG_AGO);
  renameSync(at("site/new.txt"), path);
  expect((await get("/site/same.txt")).text).toBe("bbbb");
  writeFileSync(path, "cccc");
  utimesSync(path, LONG_AGO, LONG_AGO);
  expect((await get("/site/same.txt")).text).toBe("cccc");
});

test("a 404 is a hit until the file is there, and a file is gone when it is gone", async () => {
  expect([(await get("/site/later.txt")).status, await cacheOf("/site/later.txt")]).toEqual([404, "HIT"]);
  writeFileSync(at("site/later.txt"), "here");
  expect(outcome(await get("/site/later.txt"))).toEqual([200, "here", "MISS"]);
  expect(await cacheOf("/site/later.txt")).toBe("HIT");
  rmSync(at("site/later.txt"));
  const gone = await get("/site/later.txt");
  expect([gone.status, gone.fields.get("x-cache")]).toEqual([404, "MISS"]);
  mkdirSync(at("site/later.txt"));
  writeFileSync(at("site/later.txt/index.html"), "a folder");
  const folder = await get("/site/later.txt");
  expect([folder.status, folder.fields.get("location"), folder.fields.get("x-cache")]).toEqual([
    301,
    "/site/later.txt/",
    "MISS",
  ]);
});

test("the page that stands in for missing ones is as fresh, and makes way for a file", async () => {
  const page = ["Accept: text/html"];
  expect(outcome(await get("/app/deep", ...page))).toEqual([200, "<p>first</p>", "MISS"]);
  writeFileSync(at("app/index.html"), "<p>second</p>");
  expect((await get("/app/deep", ...page)).text).toBe("<p>second</p>");
  writeFileSync(at("app/deep"), "a file");
  expect((await get("/app/deep", ...page)).text).toBe("a file");
});

test("a large file is stored and confirmed, and changes count", async () => {
  expect(await cacheOf("/site/large.bin")).toBe("MISS");
  const hit = await get("/site/large.bin");
  expect([hit.text === "x".repeat(300_000), hit.fields.all("x-cache"), hit.fields.all("age")]).toEqual([
    true,
    ["HIT"],
    ["0"],
  ]);
  writeFileSync(at("site/large.bin"), "y".repeat(300_000));
  expect(outcome(await get("/site/large.bin"))).toEqual([200, "y".repeat(300_000), "MISS"]);
  expect(outcome(await get("/site/large.bin"))).toEqual([200, "y".repeat(300_000), "HIT"]);
});

test("conditions and ranges are judged by the file as it is", async () => {
  writeFileSync(at("site/part.txt"), "0123456789");
  const etag = (await get("/site/part.txt")).fields.get("etag")!;
  expect(outcome(await get("/site/part.txt", "Range: bytes=2-4"))).toEqual([206, "234", "HIT"]);
  expect(outcome(await get("/site/part.txt", `If-None-Match: ${etag}`))).toEqual([304, "", "HIT"]);
  const refused = await get("/site/part.txt", "Range: bytes=99-");
  expect([refused.status, refused.fields.get("x-cache")]).toEqual([416, "MISS"]);
  writeFileSync(at("site/part.txt"), "abcdefghij");
  expect(outcome(await get("/site/part.txt", `If-None-Match: ${etag}`))).toEqual([200, "abcdefghij", "MISS"]);
  expect(outcome(await get("/site/part.txt", "Range: bytes=2-4", `If-Range: ${etag}`))).toEqual([
    200,
    "abcdefghij",
    "HIT",
  ]);
  expect((await get("/site/part.txt", "Cache-Control: only-if-cached")).text).toBe("abcdefghij");
});

test("HEAD says what GET would", async () => {
  writeFileSync(at("site/head.txt"), "four");
  const head = () => gateway.once(request("HEAD /site/head.txt"), "HEAD");
  for (const content of ["four", "sixsix"]) {
    writeFileSync(at("site/head.txt"), content);
    for (let i = 0; i < 2; i++) expect((await head()).fields.get("content-length")).toBe(String(content.length));
  }
});

test("a mount's own stale-while-revalidate does not bring old files back", async () => {
  expect((await get("/stale/page.html")).text).toBe("<p>first</p>");
  await Bun.sleep(1200);
  writeFileSync(at("stale/page.html"), "<p>second</p>");
  expect((await get("/stale/page.html")).text).toBe("<p>second</p>");
  // Nor is an expired answer renewed by an entity tag that could not tell.
  for (const text of ["<p>second</p>", "<p>thirds</p>"]) {
    await Bun.sleep(1200);
    writeFileSync(at("stale/page.html"), text);
    utimesSync(at("stale/page.html"), LONG_AGO, LONG_AGO);
    expect((await get("/stale/page.html")).text).toBe(text);
  }
});

test("a hit gives no cookie, and what gives one is no hit", async () => {
  for (let i = 0; i < 2; i++) {
    const { fields } = await get("/cookie/part.txt");
    expect([fields.get("x-cache"), fields.get("set-cookie")]).toEqual(["MISS", "a=b"]);
  }
});

test("with Authorization nothing is looked up or stored", async () => {
  writeFileSync(at("site/auth.txt"), "for anybody");
  for (let i = 0; i < 2; i++) expect(await cacheOf("/site/auth.txt", "Authorization: Basic x")).toBe("MISS");
  expect([await cacheOf("/site/auth.txt"), await cacheOf("/site/auth.txt")]).toEqual(["MISS", "HIT"]);
});

test("files under change: what is sent is what is there", async () => {
  const client = await gateway.connect();
  for (let i = 0; i < 200; i++) {
    writeFileSync(at("site/busy.txt"), `state ${i}`);
    for (let n = 0; n < 2; n++) {
      expect((await client.exchange(request("GET /site/busy.txt"))).text).toBe(`state ${i}`);
    }
  }
  client.close();
});

test("files under change and load: what is sent is what was there when the client asked", async () => {
  const path = at("site/loaded.txt");
  writeFileSync(path, "state 0");
  let isOver = false;
  const clients = await Promise.all(Array.from({ length: 17 }, () => gateway.connect()));
  const [own, ...others] = clients as [(typeof clients)[number], ...typeof clients];
  const load = others.map(async (client) => {
    while (!isOver) await client.exchange(request("GET /site/loaded.txt"));
  });
  for (let i = 1; i <= 200; i++) {
    writeFileSync(at("site/loading.txt"), `state ${i}`);
    renameSync(at("site/loading.txt"), path);
    expect((await own.exchange(request("GET /site/loaded.txt"))).text).toBe(`state ${i}`);
  }
  isOver = true;
  await Promise.all(load);
  for (const client of clients) client.close();
});
