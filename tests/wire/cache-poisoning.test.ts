// Attempts to make the cache give one client what another asked for, or what no origin said.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { request } from "../harness/raw-client.ts";

const cached = await CachedGateway.start({ max_payload_size: 20_000, max_entries: 50 });
afterAll(() => cached.stop());

/** An origin that trusts whatever it is told, and answers with what it was asked by. */
function reflecting(path: string, ...lines: readonly string[]): void {
  cached.on(path, (call) => {
    const { method, target, fields } = call.request;
    call.reply("200 OK", lines, JSON.stringify({ method, target, fields: fields.toObject() }));
  });
}

async function isHit(path: string, lines: readonly string[] = []): Promise<boolean> {
  return (await cached.get(path, lines)).fields.get("x-cache") === "HIT";
}

describe("headers that are no part of the key", () => {
  test.each([
    "X-Forwarded-Host: evil.test",
    "X-Forwarded-Proto: https",
    "X-Forwarded-For: 6.6.6.6",
    "X-Real-IP: 6.6.6.6",
    "X-Request-Id: evil\u0009id",
    "X-Evil: evil-hop\r\nConnection: x-evil",
    "Proxy-Authorization: evil",
    "TE: evil",
    "Via: 1.1 evil",
  ])("%j does not reach others through the cache", async (line) => {
    const path = `/reflect-${Buffer.from(line).toString("hex").slice(0, 24)}`;
    reflecting(path);
    const [name = "", value = ""] = line.split(": ");
    await cached.get(path, line.split("\r\n"));
    const reply = await cached.get(path);
    expect(reply.fields.get("x-cache")).toBe("HIT");
    if (!name.startsWith("Via")) expect(reply.text).not.toContain(value.split("\r\n")[0]);
  });

  test("a request id is each request's own", async () => {
    reflecting("/ids");
    await cached.get("/ids", ["X-Request-Id: first"]);
    const reply = await cached.get("/ids", ["X-Request-Id: second"]);
    expect(reply.fields.all("x-request-id")).toEqual(["second"]);
  });
});

describe("the authority", () => {
  test.each([
    [["Host: a.test", "Host: b.test"], 400],
    [["Host: a.test, b.test"], 400],
    [["Host: user@a.test"], 400],
    [["Host: a.test/x"], 400],
    [["Host: a.test:8x"], 400],
    [["Host: [::1"], 400],
  ] as const)("%j is refused before the cache", async (lines, status) => {
    reflecting("/authority");
    const reply = await cached.gateway.once(`GET /authority HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    expect([reply.status, reply.fields.has("x-cache")]).toEqual([status, false]);
  });

  test("colons and slashes cannot be moved between authority and target", async () => {
    for (const path of ["/b:/c", "/c"]) reflecting(path);
    await cached.get("/c", ["Host: a:80"]);
    expect(await isHit("/c", ["Host: a"])).toBe(false);
    expect(await isHit("/b:/c", ["Host: a"])).toBe(false);
    expect(await isHit("/c", ["Host: a:8"])).toBe(false);
  });

  test("an absolute target does not stand for another host's path", async () => {
    reflecting("/absolute");
    expect((await cached.gateway.once("GET http://evil.test/absolute HTTP/1.1\r\nHost: gw.test\r\n\r\n")).status).toBe(
      400,
    );
    await cached.gateway.once("GET http://evil.test/absolute HTTP/1.1\r\nHost: evil.test\r\n\r\n");
    expect(await isHit("/absolute")).toBe(false);
  });
});

describe("the scheme", () => {
  test("a redirect to the same resource by another scheme is not stored, since the key has no scheme", async () => {
    const redirect = (path: string, location: string) =>
      cached.on(path, (call) => call.reply("301 Moved Permanently", [`Location: ${location}`], "moved"));
    redirect("/https", "https://gw.test/https");
    redirect("/https-port", "https://GW.test:443/https-port");
    redirect("/elsewhere", "https://gw.test/other");
    expect([await isHit("/https"), await isHit("/https")]).toEqual([false, false]);
    expect([await isHit("/https-port"), await isHit("/https-port")]).toEqual([false, false]);
    expect([await isHit("/elsewhere"), await isHit("/elsewhere")]).toEqual([false, true]);
  });
});

describe("bodies and methods", () => {
  test("a GET with a body neither takes from the cache nor puts into it", async () => {
    reflecting("/fat");
    for (let i = 0; i < 2; i++) {
      const reply = await cached.send("GET /fat", [], "evil=1");
      expect(reply.fields.get("cache-status")).toBe("edge; fwd=bypass; detail=request-body");
    }
    expect(await isHit("/fat")).toBe(false);
    expect(await isHit("/fat")).toBe(true);
    expect((await cached.send("GET /fat", ["Transfer-Encoding: chunked"], "0\r\n\r\n")).fields.get("x-cache")).toBe(
      "MISS",
    );
  });

  test("an answer to HEAD is never given to a GET, nor that of an unknown method to anybody", async () => {
    reflecting("/methods");
    await cached.send("HEAD /methods");
    await cached.send("BREW /methods", [], "x");
    expect((await cached.get("/methods")).text).toContain('"method":"GET"');
  });
});

describe("Vary, Authorization and Set-Cookie", () => {
  test.each([
    "Vary: Cookie",
    "Vary: accept-encoding,*",
    "Vary: Accept-Encoding\r\nVary: X-User",
    "Vary: ,Authorization",
  ])("%j keeps an answer out", async (vary) => {
    const path = `/vary-${Buffer.from(vary).toString("hex").slice(0, 40)}`;
    reflecting(path, ...vary.split("\r\n"));
    expect([await isHit(path, ["Cookie: user=1"]), await isHit(path, ["Cookie: user=2"])]).toEqual([false, false]);
  });

  test("nobody gets another's session", async () => {
    let session = 0;
    cached.on("/session", (call) =>
      call.reply("200 OK", [`Set-Cookie: session=${++session}`, "Set-Cookie2: x"], "page"),
    );
    expect((await cached.get("/session")).fields.get("set-cookie")).toBe("session=1");
    for (let i = 0; i < 3; i++) {
      const reply = await cached.get("/session");
      expect([reply.text, reply.fields.has("set-cookie"), reply.fields.has("set-cookie2")]).toEqual([
        "page",
        false,
        false,
      ]);
    }
  });

  test("two Authorization fields, or an empty one, are Authorization", async () => {
    for (const [i, lines] of [["Authorization: "], ["Authorization: a", "Authorization: b"]].entries()) {
      reflecting(`/auth-${i}`, "Cache-Control: max-age=60");
      expect([await isHit(`/auth-${i}`, lines), await isHit(`/auth-${i}`)]).toEqual([false, false]);
    }
  });
});

describe("answers that are not what they say", () => {
  test("a cut answer is never stored, wherever it is cut", async () => {
    let count = 0;
    for (const sent of [0, 1, 4096, 9999]) {
      const path = `/cut-${sent}`;
      cached.on(path, (call) => {
        count++;
        if (count % 2 === 0) return call.reply("200 OK", [], "x".repeat(10_000));
        return call.sendAndFinish(`HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n${"x".repeat(sent)}`);
      });
      const outcome = await cached.get(path).then(
        (reply) => reply.status,
        () => 0,
      );
      expect([0, 502]).toContain(outcome);
      const whole = await cached.get(path);
      expect([whole.body.byteLength, whole.fields.get("x-cache")]).toEqual([10_000, "MISS"]);
    }
  });

  test("bytes behind an answer are no part of it, and no answer of their own", async () => {
    cached.on("/long", (call) => {
      call.sendAndFinish(
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngoodHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
      );
    });
    cached.answers("/next");
    for (let i = 0; i < 2; i++) expect((await cached.get("/long")).text).toBe("good");
    expect((await cached.get("/next")).text).toBe("answer 1");
  });

  test.each([
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nevil!",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A: b\nX-Evil: c\r\n\r\nevil",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A : b\r\n\r\nevil",
  ])("an ambiguous answer is 502 and not stored: %j", async (bytes) => {
    const path = `/ambiguous-${Bun.hash(bytes)}`;
    cached.on(path, (call) => call.sendAndFinish(bytes));
    for (let i = 0; i < 2; i++) expect((await cached.get(path)).status).toBe(502);
    expect(cached.seen(path)).toBe(2);
  });

  test("what is too large goes through whole and is not stored", async () => {
    cached.on("/huge", (call) =>
      call.reply("200 OK", ["Cache-Control: public, max-age=60"], Buffer.alloc(3_000_000, "h")),
    );
    for (let i = 0; i < 2; i++) expect((await cached.get("/huge")).body.byteLength).toBe(3_000_000);
    expect(cached.seen("/huge")).toBe(2);
  });

  test("fields that belong to one connection are not stored", async () => {
    cached.answers("/hop", "Connection: X-Hop, close", "X-Hop: 1", "Keep-Alive: timeout=1", "Proxy-Authenticate: x");
    await cached.get("/hop");
    const { fields } = await cached.get("/hop");
    expect(["connection", "x-hop", "keep-alive", "proxy-authenticate"].filter((name) => fields.has(name))).toEqual([]);
  });
});

test("the entries that were not asked for longest make way, and a flood of targets leaves the cache at its size", async () => {
  cached.on("/flood", (call) => call.reply("200 OK", [], "f"));
  cached.answers("/popular");
  await cached.get("/popular");
  const client = await cached.gateway.connect();
  for (let i = 0; i < 200; i++) {
    await client.exchange(request(`GET /flood?${i}`));
    if (i % 20 === 0) expect((await client.exchange(request("GET /popular"))).fields.get("x-cache")).toBe("HIT");
  }
  const hit = async (i: number) => (await client.exchange(request(`GET /flood?${i}`))).fields.get("x-cache");
  expect([await hit(199), await hit(180), await hit(100)]).toEqual(["HIT", "HIT", "MISS"]);
  const metrics = (await cached.get("/metrics")).text;
  expect(/^gateway_cache_entries 50$/m.test(metrics)).toBe(true);
  expect(Number(/^gateway_cache_evictions_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(150);
  client.close();
});
