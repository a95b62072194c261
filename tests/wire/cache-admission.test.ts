// docs/cache.md#what-is-stored: one test a row.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";

const cached = await CachedGateway.start({ max_payload_size: 1000, default_ttl: "60s" });
afterAll(() => cached.stop());

let paths = 0;

/** A path that answers so. */
function path(status: string, ...lines: readonly string[]): string {
  const name = `/row-${paths++}`;
  cached.answersStatus(name, status, ...lines);
  return name;
}

describe("what is stored", () => {
  test.each([
    ["no Cache-Control at all", "200 OK", []],
    ["Cache-Control without max-age", "200 OK", ["Cache-Control: public"]],
    ["public with max-age", "200 OK", ["Cache-Control: public, max-age=60"]],
    ["max-age alone", "200 OK", ["Cache-Control: max-age=60"]],
    ["directives in any case", "200 OK", ["Cache-Control: PUBLIC, Max-Age=60"]],
    ["s-maxage over max-age=0", "200 OK", ["Cache-Control: max-age=0, s-maxage=60"]],
    ["Expires in the future", "200 OK", [`Expires: ${new Date(Date.now() + 60_000).toUTCString()}`]],
    ["a status of 301", "301 Moved Permanently", ["Location: http://elsewhere.test/"]],
    ["a status of 404", "404 Not Found", []],
    ["Vary: Accept-Encoding", "200 OK", ["Vary: Accept-Encoding"]],
    ["Vary: Accept-Encoding in another case, twice", "200 OK", ["Vary: accept-encoding, ACCEPT-ENCODING"]],
    ["X-Accel-Buffering that is not no", "200 OK", ["X-Accel-Buffering: yes"]],
    ["a content type that only resembles a stream's", "200 OK", ["Content-Type: text/event"]],
  ] as const)("%s", async (_, status, lines) => {
    expect(await cached.isStored(path(status, ...lines))).toBe(true);
  });
});

describe("what is not stored", () => {
  test.each([
    ["no-cache", "200 OK", ["Cache-Control: no-cache"]],
    ["no-cache beside max-age", "200 OK", ["Cache-Control: no-cache, max-age=60"]],
    ["no-cache beside max-age, in two lines", "200 OK", ["Cache-Control: max-age=60", "Cache-Control: no-cache"]],
    ["no-cache with field names", "200 OK", ['Cache-Control: max-age=60, no-cache="set-cookie"']],
    ["no-store", "200 OK", ["Cache-Control: no-store"]],
    ["private", "200 OK", ["Cache-Control: private, max-age=60"]],
    ["private in capitals", "200 OK", ["Cache-Control: PRIVATE"]],
    ["max-age=0", "200 OK", ["Cache-Control: max-age=0"]],
    ["max-age that is no number", "200 OK", ["Cache-Control: max-age=soon"]],
    ["a max-age that its age has used up", "200 OK", ["Cache-Control: max-age=60", "Age: 60"]],
    ["Expires in the past", "200 OK", ["Expires: Thu, 01 Jan 1970 00:00:00 GMT"]],
    ["Expires that is no date", "200 OK", ["Expires: 0"]],
    ["Vary: *", "200 OK", ["Vary: *"]],
    ["Vary: Cookie", "200 OK", ["Vary: Cookie"]],
    ["Vary: Authorization", "200 OK", ["Vary: Authorization"]],
    ["Vary with more than Accept-Encoding", "200 OK", ["Vary: Accept-Encoding, User-Agent"]],
    ["Vary in two lines", "200 OK", ["Vary: Accept-Encoding", "Vary: Origin"]],
    ["text/event-stream", "200 OK", ["Content-Type: text/event-stream"]],
    ["text/event-stream with parameters and capitals", "200 OK", ["Content-Type: Text/Event-Stream; charset=utf-8"]],
    ["X-Accel-Buffering: no", "200 OK", ["X-Accel-Buffering: no"]],
    ["X-Accel-Buffering: NO with blanks", "200 OK", ["X-Accel-Buffering:   NO  "]],
    ["Cache-Control that Connection names", "200 OK", ["Connection: cache-control", "Cache-Control: private"]],
    ["Vary that Connection names", "200 OK", ["Connection: close, Vary", "Vary: Cookie"]],
    [
      "a stream's type that Connection names",
      "200 OK",
      ["Connection: content-type", "Content-Type: text/event-stream"],
    ],
    ["X-Accel-Buffering that Connection names", "200 OK", ["Connection: x-accel-buffering", "X-Accel-Buffering: no"]],
    ["a status of 201", "201 Created", ["Cache-Control: public, max-age=60"]],
    ["a status of 203", "203 Non-Authoritative Information", ["Cache-Control: public, max-age=60"]],
    ["a status of 302", "302 Found", ["Cache-Control: public, max-age=60", "Location: /x"]],
    ["a status of 308", "308 Permanent Redirect", ["Cache-Control: public, max-age=60", "Location: /x"]],
    ["a status of 410", "410 Gone", ["Cache-Control: public, max-age=60"]],
    ["a status of 500", "500 Internal Server Error", ["Cache-Control: public, max-age=60"]],
    ["a status of 503", "503 Service Unavailable", ["Cache-Control: public, max-age=60"]],
  ] as const)("%s", async (_, status, lines) => {
    expect(await cached.isStored(path(status, ...lines))).toBe(false);
  });

  test.each(["POST", "PUT", "DELETE", "PATCH"])("an answer to %s", async (method) => {
    const name = path("200 OK", "Cache-Control: public, max-age=60");
    for (let count = 1; count <= 2; count++) {
      const reply = await cached.send(`${method} ${name}`, [], "x");
      expect([reply.text, reply.fields.get("x-cache")]).toEqual([`answer ${count}`, "MISS"]);
    }
    expect(await cached.isStored(name)).toBe(true);
  });

  test("a body whose length was not announced", async () => {
    let count = 0;
    cached.on("/stream", (call) => {
      const text = `answer ${++count}`;
      call.send(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
      );
    });
    expect(await cached.isStored("/stream")).toBe(false);
  });

  test("a body that runs until the connection ends", async () => {
    let count = 0;
    cached.on("/until-close", (call) => call.sendAndFinish(`HTTP/1.1 200 OK\r\n\r\nanswer ${++count}`));
    expect(await cached.isStored("/until-close")).toBe(false);
  });

  test("an empty body", async () => {
    cached.on("/empty", (call) => call.reply("200 OK", ["Cache-Control: public, max-age=60"]));
    for (let i = 0; i < 2; i++) expect((await cached.get("/empty")).fields.get("x-cache")).toBe("MISS");
    expect(cached.seen("/empty")).toBe(2);
  });

  test("a body above max_payload_size, and one of exactly that size is", async () => {
    cached.on("/large", (call) => call.reply("200 OK", [], "x".repeat(1001)));
    cached.on("/fitting", (call) => call.reply("200 OK", [], "x".repeat(1000)));
    for (const [name, seen] of [["/large", 2] as const, ["/fitting", 1] as const]) {
      for (let i = 0; i < 2; i++) await cached.get(name);
      expect(cached.seen(name)).toBe(seen);
    }
  });

  test("an upgraded connection", async () => {
    cached.on("/socket", (call) => {
      call.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
      call.takeOver();
    });
    for (let i = 1; i <= 2; i++) {
      const client = await cached.gateway.connect();
      client.send("GET /socket HTTP/1.1\r\nHost: gw.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      expect((await client.reply()).status).toBe(101);
      expect((await client.take(5)).toString()).toBe("hello");
      client.close();
      expect(cached.seen("/socket")).toBe(i);
    }
  });
});

describe("requests with Authorization", () => {
  const AUTHORIZED = ["Authorization: Bearer secret"];

  test("are neither looked up nor stored", async () => {
    const name = path("200 OK", "Cache-Control: max-age=60");
    expect((await cached.get(name, AUTHORIZED)).text).toBe("answer 1");
    expect((await cached.get(name)).text).toBe("answer 2");
    expect((await cached.get(name, AUTHORIZED)).text).toBe("answer 3");
    expect((await cached.get(name)).text).toBe("answer 2");
  });

  test("are stored and answered where the origin says public", async () => {
    const name = path("200 OK", "Cache-Control: public, max-age=60");
    expect((await cached.get(name, AUTHORIZED)).text).toBe("answer 1");
    expect((await cached.get(name)).text).toBe("answer 1");
    expect((await cached.get(name, AUTHORIZED)).fields.get("x-cache")).toBe("HIT");
    expect(cached.seen(name)).toBe(1);
  });
});

describe("a client that asks for a fresh answer", () => {
  test.each([
    ["Cache-Control: no-cache", true],
    ["Cache-Control: no-store", false],
    ["Cache-Control: max-age=0", true],
    ["Pragma: no-cache", true],
    ["Cache-Control: foo, NO-CACHE", true],
  ])("with %s gets one", async (line, isStored) => {
    const name = path("200 OK");
    expect((await cached.get(name)).text).toBe("answer 1");
    const forced = await cached.get(name, [line]);
    expect([forced.text, forced.fields.get("x-cache")]).toEqual(["answer 2", "MISS"]);
    expect((await cached.get(name)).text).toBe(isStored ? "answer 2" : "answer 1");
  });

  test.each(["Cache-Control: max-age=10", "Pragma: something", "Cache-Control: x=no-cache"])(
    "but with %s gets what is stored",
    async (line) => {
      const name = path("200 OK");
      await cached.get(name);
      expect((await cached.get(name, [line])).fields.get("x-cache")).toBe("HIT");
    },
  );
});
