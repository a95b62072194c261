// docs/cache.md#the-key: the key and the authority; and what must not share an entry.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";

const cached = await CachedGateway.start();
afterAll(() => cached.stop());

let paths = 0;

function path(...lines: readonly string[]): string {
  const name = `/key-${paths++}`;
  cached.answers(name, ...lines);
  return name;
}

/** Asks with one request head and then with another: whether the second is answered from the cache. */
async function share(first: string, second: string): Promise<boolean> {
  const before = await cached.gateway.once(first);
  expect(before.fields.get("x-cache")).toBe("MISS");
  const after = await cached.gateway.once(second);
  expect(after.fields.get("x-cache")).toBe(after.text === before.text ? "HIT" : "MISS");
  return after.text === before.text;
}

function head(target: string, ...lines: readonly string[]): string {
  return `GET ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
}

describe("the authority", () => {
  test.each([
    ["Host: a.test", "Host: A.TeSt", true],
    ["Host: a.test", "Host:   a.test  ", true],
    ["Host: a.test", "Host: b.test", false],
    ["Host: a.test", "Host: a.test:8080", false],
    ["Host: a.test:8080", "Host: a.test:8081", false],
    ["Host: a.test:80", "Host: a.test", false],
    ["Host: [::1]:8080", "Host: [::1]:8080", true],
    ["Host: [::1]:8080", "Host: [::1]:8081", false],
    ["Host: [::1]:8080", "Host: [::1]", false],
    ["Host: [FE80::A]", "Host: [fe80::a]", true],
    ["Host: [::1]", "Host: [::2]", false],
  ])("%s and %s", async (one, other, isShared) => {
    const name = path();
    expect(await share(head(name, one), head(name, other))).toBe(isShared);
  });

  test("is empty without Host, which must not fail", async () => {
    const name = path();
    const request = `GET ${name} HTTP/1.0\r\n\r\n`;
    expect((await cached.gateway.once(request)).fields.get("x-cache")).toBe("MISS");
    expect((await cached.gateway.once(request)).fields.get("x-cache")).toBe("HIT");
    expect((await cached.get(name)).fields.get("x-cache")).toBe("MISS");
  });
});

describe("the target", () => {
  test("counts as it came: query, case, encoding, dots", async () => {
    const name = path();
    const targets = [name, `${name}?a=1`, `${name}?a=2`, `${name}?`, `${name}?A=1`, name.replace("key", "%6bey")];
    for (const target of targets) expect((await cached.get(target)).fields.get("x-cache")).toBe("MISS");
    for (const target of targets.slice(0, 5)) expect((await cached.get(target)).fields.get("x-cache")).toBe("HIT");
  });

  test("in absolute form has an entry of its own, and its authority must be that of Host", async () => {
    const name = path();
    const absolute = head(`http://a.test${name}`, "Host: a.test");
    expect(await share(absolute, head(name, "Host: a.test"))).toBe(false);
    expect((await cached.gateway.once(absolute)).fields.get("x-cache")).toBe("HIT");
    expect((await cached.gateway.once(head(`http://b.test${name}`, "Host: a.test"))).status).toBe(400);
  });
});

describe("method and Accept-Encoding", () => {
  test("GET and HEAD have an entry each", async () => {
    const name = path();
    expect((await cached.get(name)).fields.get("x-cache")).toBe("MISS");
    const first = await cached.send(`HEAD ${name}`);
    expect([first.fields.get("x-cache"), first.fields.get("content-length")]).toEqual(["MISS", "7"]);
    const second = await cached.send(`HEAD ${name}`);
    expect([second.fields.get("x-cache"), second.fields.get("content-length")]).toEqual(["HIT", "7"]);
    expect((await cached.get(name)).text).toBe("answer 1");
  });

  test.each([
    [[], ["Accept-Encoding: gzip"], false],
    [["Accept-Encoding: gzip"], ["Accept-Encoding: gzip"], true],
    [["Accept-Encoding: gzip"], ["Accept-Encoding: br"], false],
    [["Accept-Encoding: gzip, br"], ["Accept-Encoding: gzip,br"], false],
    [["Accept-Encoding: "], [], true],
    [["Accept-Encoding: gzip", "Accept-Encoding: br"], ["Accept-Encoding: gzip"], false],
  ] as const)("%j and %j", async (one, other, isShared) => {
    const name = path("Vary: Accept-Encoding");
    expect(await share(head(name, "Host: a.test", ...one), head(name, "Host: a.test", ...other))).toBe(isShared);
  });

  test("a target that looks like a key is not taken for one", async () => {
    const name = path();
    cached.answers(`${name}:ae=gzip`);
    await cached.get(`${name}:ae=gzip`);
    expect((await cached.get(name, ["Accept-Encoding: gzip"])).fields.get("x-cache")).toBe("MISS");
    // What stands behind the port's colon here stands behind the authority's there.
    await cached.gateway.once(head(name, "Host: a.test:80"));
    expect((await cached.gateway.once(head(`/80:${name}`, "Host: a.test"))).fields.get("x-cache")).toBe("MISS");
  });

  test("a flood of encodings does not fill the cache: a resource keeps some of them", async () => {
    const name = path("Vary: Accept-Encoding");
    const other = path();
    await cached.get(other);
    for (let i = 0; i < 100; i++) await cached.get(name, [`Accept-Encoding: x-${i}`]);
    const metrics = (await cached.get("/metrics")).text;
    const entries = Number(/^gateway_cache_entries (\d+)$/m.exec(metrics)?.[1]);
    expect(entries).toBeLessThan(100);
    expect((await cached.get(other)).fields.get("x-cache")).toBe("HIT");
    expect((await cached.get(name, ["Accept-Encoding: x-99"])).fields.get("x-cache")).toBe("HIT");
  });
});
