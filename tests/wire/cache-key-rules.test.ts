// docs/cache.md#rules-for-the-key: what is in the key, what of it reaches the origin, and that no client can choose by it what
// others get.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { runEdge } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";

function route(prefix: string, key: object): Record<string, unknown> {
  return { type: "upstream", prefix, cache: { key } };
}

const cached = await CachedGateway.start({ cookies: "share" }, {}, [
  route("/drop", { query: { drop: ["utm_*", "gclid"] } }),
  route("/allow", { query: { allow: ["page", "q"], sort: true } }),
  route("/both", { query: { allow: ["a_*"], drop: ["a_2"] } }),
  route("/none", { query: { allow: [] } }),
  route("/sort", { query: { sort: true } }),
  route("/ae", { accept_encoding: "normalize" }),
  route("/field", { headers: ["X-Country", "x-tier"], cookies: ["lang"] }),
]);
afterAll(() => cached.stop());

/** Says what the origin has seen of a request. */
cached.origin.otherwise((call) => {
  const { target, fields } = call.request;
  const vary = fields.has("x-country") ? ["Vary: X-Country, Accept-Encoding, x-tier"] : [];
  const seen = ["x-country", "x-tier", "cookie", "accept-encoding"].map((name) => fields.get(name) ?? "-");
  call.reply("200 OK", ["Cache-Control: max-age=60", ...vary], [target, ...seen].join("|"));
});

const ask = async (target: string, ...lines: string[]): Promise<[string, string | null]> => {
  const reply = await cached.get(target, lines);
  return [reply.text, reply.fields.get("x-cache") ?? null];
};

describe("the query", () => {
  test.each([
    ["/drop?a=1&utm_source=x&b=2", "/drop?a=1&b=2"],
    ["/drop?gclid=1", "/drop"],
    ["/drop?gclid", "/drop"],
    ["/drop?utm_=&x", "/drop?x"],
    ["/drop?gclidx=1&a%20b=%26utm_q", "/drop?gclidx=1&a%20b=%26utm_q"],
    ["/drop?UTM_source=1&utm%5fsource=2", "/drop?UTM_source=1&utm%5fsource=2"],
    ["/drop?a=1;utm_x=2", "/drop?a=1;utm_x=2"],
    ["/drop?", "/drop"],
    ["/drop?a=1#?utm_x=1", "/drop?a=1"],
    ["/allow?q=2&evil=1&page=3&page=1&q=1", "/allow?page=3&page=1&q=2&q=1"],
    ["/allow?pages=1&%70age=2", "/allow"],
    ["/none?a=1&b", "/none"],
    ["/both?a_1=1&a_2=2&b=3", "/both?a_1=1"],
    ["/sort?b=2&a=1&b=1&&a", "/sort?a=1&a&b=2&b=1"],
    ["/plain?utm_source=x&b=2&a=1", "/plain?utm_source=x&b=2&a=1"],
  ])("%s reaches the origin as %s", async (target, expected) => {
    cached.on("/plain", (call) => call.reply("200 OK", [], call.request.target));
    await cached.send("POST /internal/api/cache/purge", [], '{"all":true}');
    const [text] = await ask(target);
    // The prefix does not go on.
    const sent = expected.replace(/^\/(?!plain)\w+\/?/, "/");
    expect(text.split("|")[0]).toBe(sent);
    expect((await ask(target))[1]).toBe("HIT");
    expect((await ask(expected))[1]).toBe("HIT");
  });

  test("is the same over HTTP/2, for HEAD and for PURGE by URL", async () => {
    const client = await H2Client.connect(cached.gateway.port);
    const fields = (path: string): (readonly [string, string])[] =>
      head("GET", path).map(([name, value]) => (name === ":authority" ? [name, "gw.test"] : [name, value]));
    expect((await client.request(fields("/drop/h2?utm_a=1&x=1"))).text).toStartWith("/h2?x=1|");
    expect((await client.request(fields("/drop/h2?x=1&utm_b=2"))).fields.get("x-cache")).toBe("HIT");
    expect((await client.request(fields("/drop/h2?x=1"))).text).toStartWith("/h2?x=1|");
    client.close();
    const purged = await cached.send("POST /internal/api/cache/purge", [], '{"url":"http://gw.test/drop/h2?x=1"}');
    expect(purged.text).toBe('{"purged":1}');
  });

  test("of a request that changes the resource takes out what it is found by, and goes on whole", async () => {
    await ask("/drop/unsafe?a=1");
    await cached.send("POST /drop/unsafe?utm_x=1&a=1", [], "x");
    expect(cached.origin.requestsFor("/unsafe").at(-1)!.target).toBe("/unsafe?utm_x=1&a=1");
    expect((await ask("/drop/unsafe?a=1"))[1]).toBe("MISS");
  });

  test("gives no client a way to choose by what is not in the key", async () => {
    const [poisoned] = await ask("/drop/p?utm_campaign=<script>&id=1");
    expect(poisoned).not.toContain("script");
    expect(await ask("/drop/p?id=1")).toEqual([poisoned, "HIT"]);
  });
});

describe("Accept-Encoding", () => {
  test("that is normalised makes few variants, and the origin sees the same", async () => {
    expect(await ask("/ae", "Accept-Encoding: gzip, deflate, br;q=0.9")).toEqual(["/|-|-|-|br, gzip", "MISS"]);
    for (const value of ["br, gzip", "gzip;q=1.0,br;q=0.1, sdch", "deflate, GZIP, br"])
      expect(await ask("/ae", `Accept-Encoding: ${value}`)).toEqual(["/|-|-|-|br, gzip", "HIT"]);
    expect(await ask("/ae", "Accept-Encoding: gzip", "Accept-Encoding: br")).toEqual(["/|-|-|-|br, gzip", "HIT"]);
    expect(await ask("/ae", "Accept-Encoding: gzip;q=0, x")).toEqual(["/|-|-|-|identity", "MISS"]);
    expect(await ask("/ae", "Accept-Encoding: nonsense")).toEqual(["/|-|-|-|identity", "HIT"]);
    expect(await ask("/ae")).toEqual(["/|-|-|-|-", "MISS"]);
  });
});

describe("fields and cookies in the key", () => {
  test("part the responses, whatever their case and order", async () => {
    expect(await ask("/field", "X-Country: DE")).toEqual(["/|DE|-|-|-", "MISS"]);
    expect(await ask("/field", "x-country: DE", "Cookie: other=1")).toEqual(["/|DE|-|-|-", "HIT"]);
    expect(await ask("/field", "X-Country: FR")).toEqual(["/|FR|-|-|-", "MISS"]);
    expect((await ask("/field", "X-Country: DE", "Cookie: lang=de"))[1]).toBe("MISS");
    expect((await ask("/field", "X-Country: DE", "Cookie: a=b; lang=de; c=d"))[1]).toBe("HIT");
    expect((await ask("/field", "X-Country: DE", "Cookie: lang=de; lang=fr"))[1]).toBe("MISS");
    expect((await ask("/field", "X-Country: DE", "Cookie: xlang=de"))[1]).toBe("HIT");
  });

  test("cannot be mistaken for each other, nor for an encoding", async () => {
    const forms = [
      ["X-Country: a"],
      ["X-Tier: a"],
      ["X-Country: ax-tier=a"],
      ["X-Country: a", "X-Tier: a"],
      ["X-Country: a", "X-Country: a"],
      ["X-Country: a,a"],
      ["X-Country:"],
      ["Cookie: lang=a"],
      ["Cookie: lang="],
      ["X-Country: cookie lang=a"],
      ["Accept-Encoding: x-country=a"],
      ["Accept-Encoding: x-country=a", "X-Country: b"],
      ["Accept-Encoding: x-country=a", "Accept-Encoding: x-tier=a"],
      [],
    ];
    for (const lines of forms) expect((await ask("/field/x", ...lines))[1]).toBe("MISS");
    for (const lines of forms) expect((await ask("/field/x", ...lines))[1]).toBe("HIT");
  });
});

describe("edge check", () => {
  test.each([
    [{ headers: ["Cookie"] }, "cookies"],
    [{ headers: ["authorization"] }, "never in a key"],
    [{ headers: ["Host"] }, "in every key"],
    [{ headers: ["a b"] }, "header name"],
    [{ cookies: ["a=b"] }, "the name of a cookie"],
    [{ query: { drop: ["a&b"] } }, "the name of a parameter"],
    [{ query: { drop: ["*a"] } }, "the name of a parameter"],
    [{ accept_encoding: "none" }, "accept_encoding"],
    [{ parameters: [] }, "parameters"],
  ])("refuses %j", async (key, words) => {
    const routes = [{ ...route("/", key), target: "http://127.0.0.1:1" }];
    const { code, stderr } = await runEdge(["check"], { routes });
    expect([code, stderr.includes(words) || stderr]).toEqual([1, true]);
  });
});
