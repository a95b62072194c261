// docs/cache.md#tags, docs/cache.md#soft-purge, docs/cache.md#the-method-purge
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { json } from "../harness/raw-client.ts";

const cached = await CachedGateway.start(
  { purge_from: ["127.0.0.2", "10.9.8.0/24"], max_entries: 3000 },
  { workers: 2, trusted_proxies: ["127.0.0.1"] },
);
const plain = await CachedGateway.start();
afterAll(async () => {
  await cached.stop();
  await plain.stop();
});

const ALLOWED = "X-Forwarded-For: 10.9.8.7";

async function call(body: unknown): Promise<unknown> {
  const reply = await cached.send("POST /internal/api/cache/purge", [], JSON.stringify(body));
  return reply.status === 200 ? json(reply).purged : reply.status;
}

async function isHit(path: string): Promise<boolean> {
  return (await cached.get(path)).fields.get("x-cache") === "HIT";
}

async function store(path: string, ...lines: readonly string[]): Promise<void> {
  cached.answers(path, ...lines);
  await cached.get(path);
  expect(await isHit(path)).toBe(true);
}

describe("a purge by tag", () => {
  test("takes out what has it, and nothing else", async () => {
    await store("/t/1", "Cache-Tag: product-1, all,  wide tag");
    await store("/t/2", "Surrogate-Key: product-2 all");
    await store("/t/3", "Cache-Tag: product-12", "Cache-Tag: more", "Surrogate-Key: other");
    await store("/t/4");
    expect(await call({ tag: "product-1" })).toBe(1);
    expect([await isHit("/t/1"), await isHit("/t/2"), await isHit("/t/3"), await isHit("/t/4")]).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(await call({ tags: ["wide tag", "other", "absent"] })).toBe(2);
    expect(await call({ tag: "PRODUCT-2" })).toBe(0);
    expect(await call({ tags: ["all"] })).toBe(1);
    expect(await isHit("/t/4")).toBe(true);
  });

  test("finds one among many, whatever their signatures", async () => {
    for (let i = 0; i < 300; i++) {
      cached.answers(`/many/${i}`, `Cache-Tag: item-${i}, group-${i % 7}`);
      await cached.get(`/many/${i}`);
    }
    for (const i of [0, 17, 255, 299]) expect(await call({ tag: `item-${i}` })).toBe(1);
    // 43 have it, two of which (17 and 255) are gone.
    expect(await call({ tag: "group-3" })).toBe(41);
    expect(await call({ tag: "item-3" })).toBe(0);
  });

  test("keeps what is on its way from being stored", async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    cached.on("/on-its-way", async (origin) => {
      await held;
      origin.reply("200 OK", ["Cache-Tag: late"], "x");
    });
    const reply = cached.get("/on-its-way");
    await cached.origin.until("the request", () => (cached.seen("/on-its-way") === 1 ? true : undefined));
    await call({ tag: "late" });
    release();
    expect((await reply).fields.get("cache-status")).toBe("edge; fwd=uri-miss; detail=no-room");
    expect(await isHit("/on-its-way")).toBe(false);
  });

  test.each([
    { tag: "" },
    { tag: 1 },
    { tags: [] },
    { tags: ["a", 2] },
    { tags: "a" },
    { tag: "a\nb" },
    { tag: "a", url: "/x" },
    { tag: "a", soft: "yes" },
    { soft: true },
    { tag: "a", tags: ["b"] },
  ])("that is none is 400: %j", async (body) => {
    expect(await call(body)).toBe(400);
  });
});

describe("a soft purge", () => {
  test.each([{ url: "http://gw.test/soft" }, { url: "/soft" }, { prefix: "/soft" }, { tag: "soft" }, { all: true }])(
    "leaves what is stored to be confirmed: %j",
    async (what) => {
      let count = 0;
      cached.on("/soft", (origin) => {
        count++;
        if (origin.request.fields.get("if-none-match") === '"v"') origin.reply("304 Not Modified", ['ETag: "v"']);
        else origin.reply("200 OK", ['ETag: "v"', "Cache-Tag: soft", "Cache-Control: max-age=600"], "soft");
      });
      await call({ url: "/soft" });
      await cached.get("/soft");
      expect(await call({ ...what, soft: true })).toBeGreaterThan(0);
      const confirmed = await cached.get("/soft");
      expect([confirmed.text, confirmed.fields.get("cache-status"), count]).toEqual([
        "soft",
        "edge; fwd=stale; fwd-status=304; stored",
        2,
      ]);
      expect(await isHit("/soft")).toBe(true);
    },
  );

  test("begins the time in which it may be sent stale", async () => {
    let count = 0;
    cached.on("/soft-swr", (origin) => {
      count++;
      origin.reply("200 OK", ["Cache-Control: max-age=600, stale-while-revalidate=60"], `answer ${count}`);
    });
    await cached.get("/soft-swr");
    expect(await call({ url: "/soft-swr", soft: true })).toBe(1);
    const stale = await cached.get("/soft-swr");
    expect([stale.text, stale.fields.get("cache-status")]).toEqual(["answer 1", "edge; hit; detail=stale; ttl=0"]);
    await cached.origin.until("the fetch", () => (count === 2 ? true : undefined));
    await Bun.sleep(100);
    expect((await cached.get("/soft-swr")).text).toBe("answer 2");
  });
});

describe("PURGE", () => {
  test("takes out all responses of its resource, for clients that may", async () => {
    await store("/purge/1?a=1");
    await store("/purge/1?a=2");
    await cached.send("HEAD /purge/1?a=1");
    const reply = await cached.send("PURGE /purge/1?a=1", [ALLOWED]);
    expect([reply.status, reply.text, reply.fields.get("cache-control")]).toEqual([200, '{"purged":2}', "no-store"]);
    expect([await isHit("/purge/1?a=1"), await isHit("/purge/1?a=2")]).toEqual([false, true]);
    expect(cached.origin.requests.every(({ method }) => method !== "PURGE")).toBe(true);
  });

  test("takes out what has a tag that it names", async () => {
    await store("/purge/2", "Cache-Tag: x1");
    await store("/purge/3", "Surrogate-Key: x2 x3");
    expect((await cached.send("PURGE /", [ALLOWED, "Cache-Tag: x1, x9", "Surrogate-Key: x3"])).text).toBe(
      '{"purged":2}',
    );
    expect([await isHit("/purge/2"), await isHit("/purge/3")]).toEqual([false, false]);
  });

  test.each(["Soft-Purge", "Fastly-Soft-Purge"])("is soft with %s", async (name) => {
    const path = `/purge/${name}`;
    await store(path, 'ETag: "v"');
    expect((await cached.send(`PURGE ${path}`, [ALLOWED, `${name}: 1`])).text).toBe('{"purged":1}');
    expect((await cached.get(path)).fields.get("cache-status")).toBe("edge; fwd=stale; stored");
  });

  test("is over HTTP/2 what it is over HTTP/1.1", async () => {
    cached.answers("/purge/h2");
    const fields = (method: string, path: string): (readonly [string, string])[] => head(method, path);
    const client = await H2Client.connect(cached.gateway.port);
    await client.request(fields("GET", "/purge/h2"));
    const purged = await client.request([...fields("PURGE", "/purge/h2"), ["x-forwarded-for", "10.9.8.7"]]);
    expect([purged.status, purged.text]).toEqual([200, '{"purged":1}']);
    expect((await client.request(fields("PURGE", "/purge/h2"))).status).toBe(403);
    client.close();
  });

  test("is refused to others, and takes nothing out", async () => {
    await store("/purge/5");
    for (const lines of [[], ["X-Forwarded-For: 10.9.9.1"], ["X-Forwarded-For: nonsense"], ["Cache-Tag: x"]]) {
      expect((await cached.send("PURGE /purge/5", lines)).status).toBe(403);
    }
    expect(await isHit("/purge/5")).toBe(true);
    expect((await cached.send("purge /purge/5", [ALLOWED])).status).not.toBe(403);
  });

  test("is the origin's where no client may", async () => {
    plain.on("/x", (origin) => origin.reply("200 OK", [], origin.request.method));
    expect((await plain.send("PURGE /x")).text).toBe("PURGE");
  });
});
