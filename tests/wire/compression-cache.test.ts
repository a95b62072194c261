// docs/compression.md#the-cache: what the cache keeps is the compressed form, one for each encoding.
import { afterAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { decoded, sampleJson } from "../harness/decoding.ts";
import { eventually } from "../harness/eventually.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";

const BODY = sampleJson(5000);
const JSON_TYPE = "Content-Type: application/json";
const ENCODINGS = ["gzip", "br", "zstd"] as const;

const cached = await CachedGateway.start({}, { compression: {} });
afterAll(() => cached.stop());

const accepting = (encoding: string) => [`Accept-Encoding: ${encoding}`];
const outcome = ({ status, fields, body }: Reply) => [
  status,
  fields.get("x-cache"),
  fields.get("content-encoding"),
  decoded(fields.get("content-encoding"), body).equals(BODY),
];

/** Lets a path answer 200 with these lines, and counts the answers. */
function answers(path: string, lines: readonly string[] = [], body: Uint8Array = BODY): { count: number } {
  const seen = { count: 0 };
  cached.on(path, (call) => {
    seen.count++;
    call.reply("200 OK", [JSON_TYPE, ...lines], body);
  });
  return seen;
}

describe("a hit", () => {
  test.each(ENCODINGS)("in %s is the compressed response of the miss, byte for byte", async (encoding) => {
    const path = `/hit-${encoding}`;
    const seen = answers(path, ['ETag: "v1"']);
    const miss = await cached.get(path, accepting(encoding));
    const compressed = await cached.gateway.metric("gateway_compressed_responses_total");
    const hit = await cached.get(path, accepting(encoding));
    expect(outcome(miss)).toEqual([200, "MISS", encoding, true]);
    expect(outcome(hit)).toEqual([200, "HIT", encoding, true]);
    expect([hit.body.equals(miss.body), hit.fields.get("etag"), hit.fields.all("vary")]).toEqual([
      true,
      'W/"v1"',
      ["Accept-Encoding"],
    ]);
    expect(hit.fields.get("content-length")).toBe(String(miss.body.byteLength));
    expect([seen.count, await cached.gateway.metric("gateway_compressed_responses_total")]).toEqual([1, compressed]);
  });

  test("is one for all who get the same encoding, however they ask for it", async () => {
    const seen = answers("/few");
    const ways = ["gzip", "GZIP", "gzip;q=0.5", "deflate, gzip", "x-gzip;q=1.0", "gzip, br;q=0"];
    const outcomes = [];
    for (const way of ways) outcomes.push(outcome(await cached.get("/few", accepting(way)))[1]);
    expect([outcomes, seen.count]).toEqual([["MISS", "HIT", "HIT", "HIT", "HIT", "HIT"], 1]);
  });

  test("a client without Accept-Encoding has its own, and over HTTP/2 it is the same", async () => {
    answers("/plain");
    expect(outcome(await cached.get("/plain", accepting("br")))).toEqual([200, "MISS", "br", true]);
    expect(outcome(await cached.get("/plain"))).toEqual([200, "MISS", null, true]);
    expect(outcome(await cached.get("/plain"))).toEqual([200, "HIT", null, true]);
    expect(outcome(await cached.get("/plain", accepting("br")))).toEqual([200, "HIT", "br", true]);
    const client = await H2Client.connect(cached.gateway.port);
    const hit = await client.request(head("GET", "/plain", [["accept-encoding", "br"]]));
    expect([hit.fields.get("x-cache"), decoded("br", hit.body).equals(BODY)]).toEqual(["HIT", true]);
    client.close();
  });

  test("what the origin encoded itself is stored as it came", async () => {
    const own = gzipSync(BODY);
    answers("/own", ["Content-Encoding: gzip", "Vary: Accept-Encoding"], own);
    for (const result of ["MISS", "HIT"]) {
      const reply = await cached.get("/own", accepting("zstd, gzip"));
      expect(outcome(reply)).toEqual([200, result, "gzip", true]);
      expect(reply.body.equals(own)).toBe(true);
    }
  });

  test("answers a condition with the weak tag", async () => {
    const seen = answers("/condition", ['ETag: "v1"']);
    await cached.get("/condition", accepting("gzip"));
    for (const tag of ['W/"v1"', '"v1"', "*"]) {
      const reply = await cached.get("/condition", [...accepting("gzip"), `If-None-Match: ${tag}`]);
      expect([reply.status, reply.fields.get("etag"), reply.fields.get("x-cache")]).toEqual([304, 'W/"v1"', "HIT"]);
    }
    expect(seen.count).toBe(1);
  });

  test("a range is never one of the compressed bytes", async () => {
    answers("/range", ['ETag: "v1"']);
    await cached.get("/range", accepting("gzip"));
    expect((await cached.get("/range", accepting("gzip"))).fields.get("x-cache")).toBe("HIT");
    const first = await cached.get("/range", [...accepting("gzip"), "Range: bytes=100-199"]);
    // The whole plain response is fetched, which is stored for the next one.
    expect([first.status, first.fields.get("content-encoding"), first.body.equals(BODY.subarray(100, 200))]).toEqual([
      206,
      null,
      true,
    ]);
    expect(outcome(await cached.get("/range", ["Accept-Encoding: identity"]))).toEqual([200, "HIT", null, true]);
    const part = await cached.get("/range", [...accepting("gzip"), "Range: bytes=100-199"]);
    expect([part.status, part.fields.get("content-encoding"), part.body.equals(BODY.subarray(100, 200))]).toEqual([
      206,
      null,
      true,
    ]);
    const resumed = await cached.get("/range", [...accepting("gzip"), "Range: bytes=100-199", 'If-Range: W/"v1"']);
    expect(outcome(resumed)).toEqual([200, "HIT", null, true]);
  });

  test("HEAD is not stored where its length is not known", async () => {
    cached.on("/head", (call) => call.send(`HTTP/1.1 200 OK\r\n${JSON_TYPE}\r\nContent-Length: 5000\r\n\r\n`));
    for (let i = 0; i < 2; i++) {
      const reply = await cached.send("HEAD /head", accepting("gzip"));
      expect([
        reply.fields.get("x-cache"),
        reply.fields.get("content-encoding"),
        reply.fields.get("content-length"),
      ]).toEqual(["MISS", "gzip", null]);
    }
  });

  test("a body that is too long to be compressed at once is stored too", async () => {
    const long = sampleJson(900_000, 5);
    answers("/long", [], long);
    for (const result of ["MISS", "HIT"]) {
      const { fields, body } = await cached.get("/long", accepting("zstd"));
      expect([fields.get("x-cache"), fields.get("content-length")]).toEqual([result, String(body.byteLength)]);
      expect(decoded("zstd", body).equals(long)).toBe(true);
    }
    const longest = sampleJson(1_048_577, 5);
    answers("/longest", [], longest);
    const reply = await cached.get("/longest", accepting("zstd"));
    expect([reply.framing, decoded("zstd", reply.body).equals(longest)]).toEqual(["chunked", true]);
  });

  test("requests that wait for one fetch get one compressed response", async () => {
    let count = 0;
    cached.on("/together", async (call) => {
      count++;
      await Bun.sleep(200);
      call.reply("200 OK", [JSON_TYPE], BODY);
    });
    const replies = await Promise.all(Array.from({ length: 8 }, () => cached.get("/together", accepting("gzip, br"))));
    expect(replies.every((reply) => outcome(reply)[3] === true)).toBe(true);
    expect(count).toBe(1);
  });
});

describe("what is too old", () => {
  test("is asked about with its weak tag, and a 304 keeps the compressed body", async () => {
    const asked: (string | null)[] = [];
    cached.on("/old", (call) => {
      asked.push(call.request.fields.get("if-none-match"));
      const lines = ['ETag: "v1"', "Accept-Ranges: bytes", `Cache-Control: max-age=${asked.length === 1 ? 1 : 60}`];
      if (asked.length === 1) call.reply("200 OK", [JSON_TYPE, ...lines], BODY);
      else call.send(`HTTP/1.1 304 Not Modified\r\n${lines.join("\r\n")}\r\n\r\n`);
    });
    await cached.get("/old", accepting("br"));
    const renewed = await eventually(async () => {
      const reply = await cached.get("/old", accepting("br"));
      expect(reply.fields.get("cache-status")).not.toStartWith("edge; hit; ttl=");
      return reply;
    });
    expect(renewed.fields.get("cache-status")).toBe("edge; fwd=stale; fwd-status=304; stored");
    for (const reply of [renewed, await cached.get("/old", accepting("br"))]) {
      expect(outcome(reply).slice(2)).toEqual(["br", true]);
      expect([reply.fields.get("etag"), reply.fields.get("accept-ranges"), reply.fields.all("vary")]).toEqual([
        'W/"v1"',
        null,
        ["Accept-Encoding"],
      ]);
    }
    expect(asked).toEqual([null, 'W/"v1"']);
  });

  test("is fetched in the background, and compressed there", async () => {
    let count = 0;
    cached.on("/background", (call) => {
      count++;
      const life = count === 1 ? "max-age=1, stale-while-revalidate=60" : "max-age=60";
      call.reply("200 OK", [JSON_TYPE, `Cache-Control: ${life}`, `X-Count: ${count}`], BODY);
    });
    await cached.get("/background", accepting("zstd"));
    const stale = await eventually(async () => {
      const reply = await cached.get("/background", accepting("zstd"));
      expect(reply.fields.get("cache-status")).toContain("stale");
      return reply;
    });
    expect(outcome(stale)).toEqual([200, "HIT", "zstd", true]);
    const fresh = await eventually(async () => {
      const reply = await cached.get("/background", accepting("zstd"));
      expect(reply.fields.get("x-count")).toBe("2");
      return reply;
    });
    expect(outcome(fresh)).toEqual([200, "HIT", "zstd", true]);
    expect(count).toBe(2);
  });

  test("is sent where the origin ends in the middle", async () => {
    let count = 0;
    cached.on("/failing", (call) => {
      count++;
      if (count === 1) return call.reply("200 OK", [JSON_TYPE, "Cache-Control: max-age=1, stale-if-error=60"], BODY);
      call.sendAndFinish(
        Buffer.concat([
          Buffer.from(`HTTP/1.1 200 OK\r\n${JSON_TYPE}\r\nContent-Length: 5000\r\n\r\n`),
          BODY.subarray(0, 3000),
        ]),
      );
    });
    await cached.get("/failing", accepting("gzip"));
    const stale = await eventually(async () => {
      const reply = await cached.get("/failing", accepting("gzip"));
      expect(reply.fields.get("cache-status")).toContain("stale");
      return reply;
    });
    expect(outcome(stale)).toEqual([200, "HIT", "gzip", true]);
  });
});

test("a purge takes out every encoding of a resource, and so does a method that changes it", async () => {
  answers("/gone");
  for (const encoding of ENCODINGS) await cached.get("/gone", accepting(encoding));
  await cached.get("/gone");
  const purged = await cached.gateway.once(
    request("POST /internal/api/cache/purge", ["Host: 127.0.0.1"], '{"url":"http://gw.test/gone"}'),
  );
  expect(JSON.parse(purged.text)).toEqual({ purged: 4 });
  for (const encoding of ENCODINGS) await cached.get("/gone", accepting(encoding));
  await cached.send("DELETE /gone");
  for (const encoding of ENCODINGS) {
    expect((await cached.get("/gone", accepting(encoding))).fields.get("x-cache")).toBe("MISS");
  }
});
