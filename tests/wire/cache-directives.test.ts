// docs/cache.md#for-this-cache-alone, docs/cache.md#what-clients-may-ask, docs/cache.md#ranges: targeted fields, min-fresh,
// max-stale, and ranges that find nothing stored.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";

const cached = await CachedGateway.start({ default_ttl: "0s", max_payload_size: 100_000 }, { workers: 2 });
const careful = await CachedGateway.start({ cookies: "bypass" });
const shown = await CachedGateway.start({ status_key: true });
afterAll(async () => {
  await cached.stop();
  await shown.stop();
  await careful.stop();
});

let paths = 0;

function path(...lines: readonly string[]): string {
  const name = `/path-${paths++}`;
  cached.answers(name, ...lines);
  return name;
}

const PAST = "Expires: Thu, 01 Jan 1970 00:00:00 GMT";
const soon = `Expires: ${new Date(Date.now() + 600_000).toUTCString()}`;

describe("CDN-Cache-Control", () => {
  test.each([
    ["max-age", ["CDN-Cache-Control: max-age=60"]],
    ["what Cache-Control says to others", ["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"]],
    ["an Expires in the past", ["CDN-Cache-Control: max-age=60", PAST]],
    ["words that are not known", ["CDN-Cache-Control: foo, max-age=60;x=1, bar=(1 2), baz=?0"]],
    ["two lines", ["CDN-Cache-Control: foo", "CDN-Cache-Control: max-age=60"]],
    ["the last of two values", ["CDN-Cache-Control: max-age=0, max-age=60"]],
    ["a very large number", ["CDN-Cache-Control: max-age=99999999999"]],
    ["s-maxage over max-age", ["CDN-Cache-Control: max-age=0, s-maxage=60"]],
    ["false prohibitions", ["CDN-Cache-Control: max-age=60, no-store=?0"]],
  ])("stores: %s", async (_, lines) => {
    expect(await cached.isStored(path(...lines))).toBe(true);
  });

  test.each([
    ["max-age=0", ["CDN-Cache-Control: max-age=0", soon]],
    ["private", ["CDN-Cache-Control: private", "Cache-Control: max-age=60"]],
    ["no-cache", ["CDN-Cache-Control: no-cache", "Cache-Control: max-age=60"]],
    ["no-store", ["CDN-Cache-Control: no-store", "Cache-Control: max-age=60", soon]],
    ["names of fields", ['CDN-Cache-Control: max-age=60, no-cache="set-cookie"', "Cache-Control: max-age=60"]],
    ["an Age beyond it", ["CDN-Cache-Control: max-age=60", "Age: 61"]],
    ["no time at all, though Expires is there", ["CDN-Cache-Control: foo", soon]],
  ])("does not store: %s", async (_, lines) => {
    expect(await cached.isStored(path(...lines))).toBe(false);
  });

  test.each([
    "max-age=60, &&&",
    "max-age = 60",
    "max-age= 60",
    'max-age="60"',
    "max-age=60.0",
    "max-age=-60",
    "max-age=60,",
    "max-age=6\xff0",
    "MAX-AGE=60",
    "max-age=60 public",
    "max-age=1234567890123456",
    "max-age=60, x=:a=k=:",
    'max-age=60, x=%"%ff"',
    'max-age=60;x="a',
    "max-age",
    "",
  ])("that is malformed counts as absent: %s", async (value) => {
    expect(await cached.isStored(path(`CDN-Cache-Control: ${value}`, "Cache-Control: no-store"))).toBe(false);
    expect(await cached.isStored(path(`CDN-Cache-Control: ${value}`, "Cache-Control: max-age=60"))).toBe(true);
  });

  test("goes on to the client, from the cache too", async () => {
    const name = path("CDN-Cache-Control: max-age=60");
    for (let i = 0; i < 2; i++) expect((await cached.get(name)).fields.get("cdn-cache-control")).toBe("max-age=60");
  });

  test("does not open to clients that show who they are what Cache-Control does not open", async () => {
    const secret = ["Authorization: Bearer a"];
    const name = path("CDN-Cache-Control: public, max-age=60", "Cache-Control: private");
    for (const text of ["answer 1", "answer 2"]) expect((await cached.get(name, secret)).text).toBe(text);
    const open = path("CDN-Cache-Control: max-age=60", "Cache-Control: public");
    for (let i = 0; i < 2; i++) expect((await cached.get(open, secret)).text).toBe("answer 1");
  });
});

test.each([
  ["CDN-Cache-Control: max-age=60", false],
  ["CDN-Cache-Control: s-maxage=60", true],
  ["CDN-Cache-Control: public, max-age=60", true],
] as const)("with cookies: bypass, %s shares what involves cookies: %p", async (line, isShared) => {
  for (const [name, asked, given] of [
    ["asked", ["Cookie: a=b"], []],
    ["given", [], ["Set-Cookie: a=b"]],
  ] as const) {
    const target = `/${name}-${line.replace(/\W+/g, "-")}`;
    careful.answers(target, line, ...given);
    expect(await careful.isStored(target, asked)).toBe(isShared);
  }
});

describe("a request's", () => {
  test("min-fresh is served from the cache only where so much time is left", async () => {
    const name = path("Cache-Control: max-age=60");
    await cached.get(name);
    expect((await cached.get(name, ["Cache-Control: min-fresh=30"])).fields.get("x-cache")).toBe("HIT");
    const renewed = await cached.get(name, ["Cache-Control: min-fresh=90"]);
    expect([renewed.text, renewed.fields.get("cache-status")]).toEqual(["answer 2", "edge; fwd=request; stored"]);
    expect((await cached.get(name)).text).toBe("answer 2");
    expect((await cached.get(name, ["Cache-Control: min-fresh=90, only-if-cached"])).status).toBe(504);
  });

  test("max-stale is served what is too old by so much, unless the response forbids it", async () => {
    const name = path("Cache-Control: max-age=1");
    const strict = path("Cache-Control: max-age=1, must-revalidate");
    const shared = path("Cache-Control: s-maxage=1");
    for (const one of [name, strict, shared]) await cached.get(one);
    await Bun.sleep(1200);
    const ask = async (one: string, value: string) => {
      const reply = await cached.get(one, [`Cache-Control: ${value}`]);
      return [reply.text, reply.fields.get("cache-status")?.replace(/-\d+$/, "-n")];
    };
    const stale = ["answer 1", "edge; hit; detail=stale; ttl=-n"];
    expect(await ask(name, "max-stale=100")).toEqual([
      "answer 1",
      expect.stringMatching(/^edge; hit; detail=stale; ttl=-?/),
    ]);
    await Bun.sleep(1000);
    expect(await ask(name, "max-stale")).toEqual(stale);
    expect(await ask(name, "max-stale=60, only-if-cached")).toEqual(stale);
    expect((await ask(name, "max-stale=1"))[0]).toBe("answer 2");
    for (const one of [strict, shared]) expect((await ask(one, "max-stale"))[0]).toBe("answer 2");
  });
});

describe("ranges that find nothing stored", () => {
  const body = Array.from({ length: 5000 }, (_, i) => String(i)).join(",");

  test("fetch the whole response once, over HTTP/1.1 and 2", async () => {
    let whole = 0;
    cached.on("/video", async (call) => {
      whole += call.request.fields.has("range") ? 0 : 1;
      await Bun.sleep(200);
      call.reply("200 OK", ["Cache-Control: max-age=60", 'ETag: "v"'], body);
    });
    const h1 = Array.from({ length: 50 }, (_, i) => cached.get("/video", [`Range: bytes=${i * 10}-${i * 10 + 9}`]));
    const client = await H2Client.connect(cached.gateway.port);
    const fields: (readonly [string, string])[] = head("GET", "/video").map(([name, value]) =>
      name === ":authority" ? [name, "gw.test"] : [name, value],
    );
    const h2 = await client.request([...fields, ["range", "bytes=-3"]]);
    expect([h2.status, h2.text]).toEqual([206, body.slice(-3)]);
    for (const [i, reply] of (await Promise.all(h1)).entries()) {
      expect([reply.status, reply.text]).toEqual([206, body.slice(i * 10, i * 10 + 10)]);
      expect(reply.fields.get("cache-status")).toMatch(/^edge; fwd=uri-miss; (collapsed|stored)$/);
    }
    expect([whole, cached.seen("/video")]).toEqual([1, 1]);
    const beyond = await cached.get("/video", ["Range: bytes=99999999-"]);
    expect(beyond.status).toBe(416);
    client.close();
  });

  test.each([
    ["is too large", ["Cache-Control: max-age=60"], 200_000],
    ["is not to be stored", ["Cache-Control: no-store"], 1000],
  ] as const)("go to the origin as they are where it %s", async (name, lines, size) => {
    const target = `/not-${name.replaceAll(" ", "-")}`;
    const text = "x".repeat(size);
    cached.on(target, (call) => {
      if (!call.request.fields.has("range")) call.reply("200 OK", lines, text);
      else call.reply("206 Partial Content", [...lines, `Content-Range: bytes 0-1/${size}`], "xx");
    });
    for (let i = 0; i < 3; i++) {
      const reply = await cached.get(target, ["Range: bytes=0-1"]);
      expect([reply.status, reply.text]).toEqual([206, "xx"]);
    }
    // The whole was asked for at most once by each worker.
    expect(cached.seen(target)).toBeLessThanOrEqual(5);
  });

  test("of several parts, of other units and with conditions are the origin's", async () => {
    const odd = [["Range: bytes=0-1,3-4"], ["Range: lines=1-2"], ["Range: bytes=0-1", 'If-None-Match: "x"']];
    for (const [i, lines] of odd.entries()) {
      cached.on(`/odd-${i}`, (call) => call.reply("200 OK", [], call.request.fields.get("range") ?? ""));
      expect((await cached.get(`/odd-${i}`, lines)).text).toBe(lines[0]!.slice(7));
    }
  });

  test("get their refusal where the origin fails, and the next ones ask again", async () => {
    let fails = true;
    cached.on("/failing", (call) => {
      if (fails) call.reply("503 Service Unavailable", [], "no");
      else call.reply("200 OK", ["Cache-Control: max-age=60"], "0123456789");
    });
    expect((await cached.get("/failing", ["Range: bytes=0-1"])).status).toBe(503);
    fails = false;
    expect((await cached.get("/failing", ["Range: bytes=0-1"])).status).toBe(206);
  });
});

describe("Cache-Status", () => {
  test("says that a response was fetched for another client", async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    cached.on("/collapsed", async (call) => {
      await held;
      call.reply("200 OK", ["Cache-Control: max-age=60"], "for all");
    });
    const all = [cached.get("/collapsed"), cached.get("/collapsed")];
    await Bun.sleep(200);
    release();
    const statuses = (await Promise.all(all)).map((reply) => reply.fields.get("cache-status")).sort();
    expect(statuses).toEqual(["edge; fwd=uri-miss; collapsed", "edge; fwd=uri-miss; stored"]);
  });

  test("says the key where it is asked to, as a string", async () => {
    shown.answers("/key");
    const status = async (target: string, ...lines: string[]) =>
      (await shown.get(target, lines)).fields.get("cache-status");
    expect(await status('/key?a="b"')).toBe('edge; fwd=uri-miss; stored; key="GET:gw.test:/key?a=%22b%22"');
    expect(await status("/key?x", "Accept-Encoding: gzip")).toBe(
      'edge; fwd=uri-miss; stored; key="GET:gw.test:/key?x:ae=gzip"',
    );
    expect(await status("/key?x", "Accept-Encoding: gzip")).toBe('edge; hit; ttl=60; key="GET:gw.test:/key?x:ae=gzip"');
    expect(await status(`/key?${"x".repeat(2000)}`)).toBe("edge; fwd=uri-miss; stored");
  });
});
