// docs/cache.md#stale-responses: stale responses, revalidation, invalidation, only-if-cached.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { eventually } from "../harness/eventually.ts";
import type { Reply } from "../harness/raw-client.ts";

const cached = await CachedGateway.start();
afterAll(() => cached.stop());

/** Asks until what was stored is too old: the first answer that is no plain hit. */
async function untilStale(path: string, lines: readonly string[] = []): Promise<Reply> {
  return eventually(async () => {
    const reply = await cached.get(path, lines);
    expect(reply.fields.get("cache-status")).not.toStartWith("edge; hit; ttl=");
    return reply;
  });
}

describe.concurrent("an answer that is too old", () => {
  test("is fetched anew", async () => {
    let count = 0;
    cached.on("/old", (call) => {
      count++;
      call.reply("200 OK", [count === 1 ? "Cache-Control: max-age=1" : "Cache-Control: max-age=60"], `answer ${count}`);
    });
    expect((await cached.get("/old")).text).toBe("answer 1");
    const reply = await untilStale("/old");
    expect([reply.text, reply.fields.get("x-cache")]).toEqual(["answer 2", "MISS"]);
    expect(reply.fields.get("cache-status")).toBe("edge; fwd=stale; stored");
    expect((await cached.get("/old")).fields.get("x-cache")).toBe("HIT");
  });

  test("is asked about with its validators, and a 304 keeps the body and renews the head", async () => {
    const asked: (string | null)[][] = [];
    cached.on("/validators", (call) => {
      const { fields } = call.request;
      asked.push([fields.get("if-none-match"), fields.get("if-modified-since")]);
      const life = asked.length === 1 ? 1 : 60;
      const lines = [`Cache-Control: max-age=${life}`, 'ETag: "v1"', "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT"];
      if (asked.length === 1) call.reply("200 OK", [...lines, "X-Version: 1", "X-Kept: yes"], "the body");
      else call.send(`HTTP/1.1 304 Not Modified\r\n${lines.join("\r\n")}\r\nX-Version: 2\r\n\r\n`);
    });
    await cached.get("/validators");
    const renewed = await untilStale("/validators");
    expect([renewed.status, renewed.text, renewed.fields.get("x-version")]).toEqual([200, "the body", "2"]);
    expect([renewed.fields.get("x-kept"), renewed.fields.get("content-length")]).toEqual(["yes", "8"]);
    expect(renewed.fields.get("cache-status")).toBe("edge; fwd=stale; fwd-status=304; stored");
    const hit = await cached.get("/validators");
    expect([hit.text, hit.fields.get("x-version"), hit.fields.get("x-cache")]).toEqual(["the body", "2", "HIT"]);
    expect(asked).toEqual([
      [null, null],
      ['"v1"', "Wed, 01 Jan 2020 00:00:00 GMT"],
    ]);
  });

  test("a client's own condition goes to the origin as it is, and its 304 renews what is stored", async () => {
    let count = 0;
    cached.on("/clients-own", (call) => {
      count++;
      if (count === 1) call.reply("200 OK", ["Cache-Control: max-age=1", 'ETag: "v1"'], "the body");
      else call.send('HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: "v1"\r\n\r\n');
    });
    await cached.get("/clients-own");
    await eventually(async () => {
      await cached.get("/clients-own", ['If-None-Match: "v1"']);
      expect(count).toBe(2);
    });
    const reply = await cached.get("/clients-own");
    expect([reply.text, reply.fields.get("x-cache"), count]).toEqual(["the body", "HIT", 2]);
  });

  test("gives way where the origin says that nothing may be stored any more", async () => {
    let count = 0;
    cached.on("/private-now", (call) => {
      count++;
      call.reply("200 OK", [count === 1 ? "Cache-Control: max-age=1" : "Cache-Control: private"], `answer ${count}`);
    });
    await cached.get("/private-now");
    await untilStale("/private-now");
    for (let i = 0; i < 2; i++) expect((await cached.get("/private-now")).fields.get("x-cache")).toBe("MISS");
  });
});

describe.concurrent("stale-while-revalidate", () => {
  test("serves what is old while it is fetched anew, once", async () => {
    let count = 0;
    cached.on("/swr", (call) => {
      count++;
      const control = count === 1 ? "max-age=1, stale-while-revalidate=60" : "max-age=60";
      call.reply("200 OK", [`Cache-Control: ${control}`], `answer ${count}`);
    });
    await cached.get("/swr");
    const stale = await untilStale("/swr");
    expect([stale.text, stale.fields.get("x-cache")]).toEqual(["answer 1", "HIT"]);
    expect(stale.fields.get("cache-status")).toMatch(/^edge; hit; detail=stale; ttl=-?\d+$/);
    await eventually(async () => expect((await cached.get("/swr")).text).toBe("answer 2"));
    expect(cached.seen("/swr")).toBe(2);
  });

  test("asks with validators, and not with what only that client wanted", async () => {
    const seen: string[][] = [];
    cached.on("/swr-validated", (call) => {
      seen.push(call.request.fields.names);
      if (call.request.fields.has("if-none-match")) {
        call.send('HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: "v"\r\n\r\n');
      } else call.reply("200 OK", ["Cache-Control: max-age=1, stale-while-revalidate=60", 'ETag: "v"'], "0123456789");
    });
    await cached.get("/swr-validated");
    await eventually(async () => {
      expect((await cached.get("/swr-validated", ["Range: bytes=0-1"])).text).toBe("01");
      expect(seen).toHaveLength(2);
    });
    expect(seen[1]).toContain("if-none-match");
    expect(seen[1]).not.toContain("range");
    await eventually(async () =>
      expect((await cached.get("/swr-validated")).fields.get("cache-status")).toMatch(/^edge; hit; ttl=\d+$/),
    );
  });

  test("is not done where must-revalidate forbids it", async () => {
    cached.answers("/swr-never", "Cache-Control: max-age=1, stale-while-revalidate=60, must-revalidate");
    await cached.get("/swr-never");
    expect((await untilStale("/swr-never")).text).toBe("answer 2");
  });
});

describe.concurrent("stale-if-error", () => {
  function failing(path: string, control: string, fail: (count: number) => string | null): void {
    let count = 0;
    cached.on(path, (call) => {
      count++;
      if (count === 1) call.reply("200 OK", [`Cache-Control: ${control}`], "good");
      else {
        const bytes = fail(count);
        if (bytes === null) call.connection.reset();
        else call.send(bytes);
      }
    });
  }

  const ERROR = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\noops";

  test.each([
    ["an answer of 503", () => ERROR],
    [
      "an answer of 500 in chunks",
      () => "HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n4\r\noops\r\n0\r\n\r\n",
    ],
    ["a cut connection", () => null],
    ["a malformed response", () => "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"],
    [
      "an error with an endless body",
      () => `HTTP/1.1 502 Bad\r\nContent-Length: 9000000\r\n\r\n${"x".repeat(200_000)}`,
    ],
  ])("%s is hidden by the stale answer", async (what, fail) => {
    const path = `/sie-${what.replaceAll(" ", "-")}`;
    failing(path, "max-age=1, stale-if-error=60", fail);
    await cached.get(path);
    const reply = await untilStale(path);
    expect([reply.status, reply.text, reply.fields.get("x-cache")]).toEqual([200, "good", "HIT"]);
    expect(reply.fields.has("set-cookie")).toBe(false);
  });

  test("without it the client sees the error, and later the recovery", async () => {
    failing("/no-sie", "max-age=1", (count) =>
      count === 2 ? ERROR : "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nrecovered",
    );
    await cached.get("/no-sie");
    expect((await untilStale("/no-sie")).status).toBe(503);
    expect((await cached.get("/no-sie")).text).toBe("recovered");
  });

  test("a 404 is an answer, not a failure", async () => {
    failing(
      "/sie-404",
      "max-age=1, stale-if-error=60",
      () => "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone",
    );
    await cached.get("/sie-404");
    expect((await untilStale("/sie-404")).status).toBe(404);
  });
});

describe("methods that change a resource", () => {
  test.each(["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"])("%s takes its stored answers out", async (method) => {
    const path = `/changed-${method.toLowerCase()}`;
    cached.answers(path);
    await cached.get(path);
    await cached.get(path, ["Accept-Encoding: gzip"]);
    await cached.send(`HEAD ${path}`);
    await cached.send(`${method} ${path}`, [], "x");
    for (const lines of [[], ["Accept-Encoding: gzip"]]) {
      expect((await cached.get(path, lines)).fields.get("x-cache")).toBe("MISS");
    }
    expect((await cached.send(`HEAD ${path}`)).fields.get("x-cache")).toBe("MISS");
  });

  test("what fails changes nothing, and what is safe neither", async () => {
    cached.on("/kept", (call) => {
      if (call.request.method === "POST") call.reply("500 Oops", [], "no");
      else call.reply("200 OK", [], "kept");
    });
    await cached.get("/kept");
    await cached.send("POST /kept", [], "x");
    await cached.send("OPTIONS /kept");
    expect((await cached.get("/kept")).fields.get("x-cache")).toBe("HIT");
  });

  test("Location and Content-Location count, on the same host", async () => {
    for (const path of ["/named-1", "/named-2", "/named-3"]) cached.answers(path);
    cached.on("/names", (call) =>
      call.reply("201 Created", ["Location: http://gw.test/named-1", "Content-Location: named-2"], "made"),
    );
    cached.on("/names-other", (call) => call.reply("201 Created", ["Location: http://other.test/named-3"], "made"));
    for (const path of ["/named-1", "/named-2", "/named-3"]) await cached.get(path);
    await cached.send("POST /names", [], "x");
    await cached.send("POST /names-other", [], "x");
    const results = [];
    for (const path of ["/named-1", "/named-2", "/named-3"])
      results.push((await cached.get(path)).fields.get("x-cache"));
    expect(results).toEqual(["MISS", "MISS", "HIT"]);
  });

  test("an answer that was on its way when its resource changed is not stored", async () => {
    let release: () => void = () => {};
    let count = 0;
    cached.on("/raced", async (call) => {
      if (call.request.method === "POST") return call.reply("200 OK", [], "changed");
      count++;
      if (count === 1) {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }
      return call.reply("200 OK", [], `state ${count}`);
    });
    const slow = cached.get("/raced");
    await cached.origin.until("the first request", () => (cached.seen("/raced") === 1 ? true : undefined));
    await cached.send("POST /raced", [], "x");
    release();
    expect((await slow).text).toBe("state 1");
    expect((await cached.get("/raced")).fields.get("x-cache")).toBe("MISS");
  });
});

describe("only-if-cached", () => {
  test("gives 504 without an entry, and never asks the origin", async () => {
    cached.answers("/only");
    const refused = await cached.get("/only", ["Cache-Control: only-if-cached"]);
    expect([refused.status, refused.fields.get("x-cache")]).toEqual([504, "MISS"]);
    expect(cached.seen("/only")).toBe(0);
    await cached.get("/only");
    const reply = await cached.get("/only", ["Cache-Control: only-if-cached"]);
    expect([reply.status, reply.text]).toEqual([200, "answer 1"]);
  });
});
