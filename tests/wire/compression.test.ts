// docs/compression.md: which responses are compressed, with what, and what their heads say.
import { afterAll, describe, expect, test } from "bun:test";
import { decoded, sampleJson } from "../harness/decoding.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const BODY = sampleJson(5000);
const JSON_TYPE = "Content-Type: application/json";

const origin = ScriptedOrigin.start();
const gateway = await startGateway({
  config: { server: { compression: {} } },
  routes: [
    upstream("/", origin, { strip_prefix: false }),
    upstream("/off", origin, { strip_prefix: false, compression: false }),
    upstream("/own", origin, {
      strip_prefix: false,
      compression: { encodings: ["gzip"], types: ["application/x-own"], min_bytes: 10 },
    }),
  ],
});
afterAll(() => stopAll(gateway, origin));

/** Lets a path answer 200 with these lines and this body. */
function answers(path: string, lines: readonly string[], body: Uint8Array | string = BODY, status = "200 OK"): void {
  origin.on(path, (call) => {
    if (call.request.method === "HEAD") {
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      call.send(`HTTP/1.1 ${[status, ...lines, length, "", ""].join("\r\n")}`);
    } else call.reply(status, lines, body);
  });
}

const ask = (start: string, ...lines: readonly string[]): Promise<Reply> => gateway.once(request(start, lines));
const encodingOf = (reply: Reply) => reply.fields.get("content-encoding");

describe("negotiation", () => {
  answers("/plain", [JSON_TYPE]);
  // RFC 9110 §12.5.3: what the client sends, what it gets, and what the origin is asked for.
  test.each([
    ["gzip", "gzip", "gzip"],
    ["br", "br", "br"],
    ["zstd", "zstd", "zstd"],
    ["gzip, br, zstd", "zstd", "zstd, br, gzip"],
    ["gzip, deflate, br", "br", "br, gzip"],
    ["gzip;q=1.0, br;q=0.5, zstd;q=0.2", "gzip", "gzip, br, zstd"],
    ["gzip;q=0.5, br;q=0.5", "br", "br, gzip"],
    ["br;q=0, gzip", "gzip", "gzip"],
    ["GZIP", "gzip", "gzip"],
    ["x-gzip", "gzip", "gzip"],
    ["gzip;q=0", null, "identity"],
    ["identity", null, "identity"],
    ["identity;q=1, gzip;q=0.5", null, "identity"],
    ["identity;q=0.5, gzip;q=1", "gzip", "gzip"],
    ["identity;q=0, gzip;q=0.1", "gzip", "gzip"],
    ["deflate", null, "identity"],
    ["*", null, "identity"],
    ["*;q=0", null, "identity"],
    ["identity;q=0, *", "zstd", "zstd, br, gzip"],
    ["*, zstd;q=0, identity;q=0", "br", "br, gzip"],
    ["gzip;q=oops, br", "br", "br"],
    ["gzip;q=1.001", null, "identity"],
    [", ,gzip,,", "gzip", "gzip"],
  ] as const)("%j", async (accepts, encoding, asked) => {
    const reply = await ask("GET /plain", `Accept-Encoding: ${accepts}`);
    expect([reply.status, encodingOf(reply), reply.fields.get("vary")]).toEqual([200, encoding, "Accept-Encoding"]);
    expect(decoded(encoding, reply.body).equals(BODY)).toBe(true);
    expect(origin.requestsFor("/plain").at(-1)!.fields.all("accept-encoding")).toEqual([asked]);
  });

  test("several fields count together, and no other field moves", async () => {
    const lines = ["Accept-Encoding: gzip", "X-One: 1", "Accept-Encoding: br", "Host: gw.test", "X-Two: 2"];
    const reply = await gateway.once(request("GET /plain", lines));
    expect(encodingOf(reply)).toBe("br");
    const { fields } = origin.requestsFor("/plain").at(-1)!;
    expect(["accept-encoding", "host", "x-one", "x-two"].map((name) => fields.all(name))).toEqual([
      ["br, gzip"],
      ["gw.test"],
      ["1"],
      ["2"],
    ]);
  });

  test("a client that says nothing gets the plain form, and its origin hears nothing", async () => {
    const reply = await ask("GET /plain");
    expect([encodingOf(reply), reply.fields.get("vary"), reply.body.equals(BODY)]).toEqual([
      null,
      "Accept-Encoding",
      true,
    ]);
    expect(origin.requestsFor("/plain").at(-1)!.fields.all("accept-encoding")).toEqual([]);
  });

  test("a range is one of the plain form", async () => {
    const reply = await ask("GET /plain", "Accept-Encoding: gzip", "Range: bytes=0-9");
    expect(encodingOf(reply)).toBe(null);
    expect(origin.requestsFor("/plain").at(-1)!.fields.get("accept-encoding")).toBe("identity");
  });

  test("a client may forbid it", async () => {
    const reply = await ask("GET /plain", "Accept-Encoding: gzip", "Cache-Control: no-transform");
    expect(encodingOf(reply)).toBe(null);
  });
});

describe("what is compressed", () => {
  const packed = async (path: string, lines: readonly string[], body?: Uint8Array | string, status?: string) => {
    answers(path, lines, body, status);
    return ask(`GET ${path}`, "Accept-Encoding: gzip");
  };

  test.each([
    "text/html; charset=utf-8",
    "TEXT/CSS",
    "application/json",
    "application/problem+json",
    "application/javascript",
    "image/svg+xml",
    "application/wasm",
    "application/grpc-web-text",
    "application/grpc-web-text+proto",
  ])("%s", async (type) => {
    expect(encodingOf(await packed("/types", [`Content-Type: ${type}`]))).toBe("gzip");
  });

  test.each(["image/png", "application/octet-stream", "application/grpc", "application/grpc+json", "video/mp4", ""])(
    "not %j",
    async (type) => {
      const reply = await packed("/types", type === "" ? [] : [`Content-Type: ${type}`]);
      expect([encodingOf(reply), reply.fields.get("vary"), reply.body.equals(BODY)]).toEqual([null, null, true]);
    },
  );

  test.each([
    ["Content-Encoding: br", "br"],
    ["Content-Encoding: gzip", "gzip"],
    ["Cache-Control: max-age=60, No-Transform", null],
  ])("not with %s", async (line, encoding) => {
    const reply = await packed("/left-alone", [JSON_TYPE, line]);
    expect([encodingOf(reply), reply.body.equals(BODY)]).toEqual([encoding, true]);
  });

  test.each(["404 Not Found", "500 Internal Server Error", "201 Created"])("a %s", async (status) => {
    expect(encodingOf(await packed("/status", [JSON_TYPE], BODY, status))).toBe("gzip");
  });

  test("not what is short, nor what is empty", async () => {
    const short = await packed("/short", [JSON_TYPE], BODY.subarray(0, 1023));
    expect([encodingOf(short), short.fields.get("vary"), short.body.byteLength]).toEqual([
      null,
      "Accept-Encoding",
      1023,
    ]);
    expect(encodingOf(await packed("/enough", [JSON_TYPE], BODY.subarray(0, 1024)))).toBe("gzip");
    const empty = await packed("/empty", [JSON_TYPE], "");
    expect([encodingOf(empty), empty.fields.get("content-length")]).toEqual([null, "0"]);
  });

  test("not a 206, whatever the client asked for", async () => {
    const lines = [JSON_TYPE, "Content-Range: bytes 0-4999/90000", "Accept-Ranges: bytes"];
    const reply = await packed("/part", lines, BODY, "206 Partial Content");
    expect([encodingOf(reply), reply.fields.get("accept-ranges"), reply.fields.get("vary")]).toEqual([
      null,
      "bytes",
      "Accept-Encoding",
    ]);
    expect(reply.body.equals(BODY)).toBe(true);
  });

  test("not a 204", async () => {
    origin.on("/none", (call) => call.send(`HTTP/1.1 204 No Content\r\n${JSON_TYPE}\r\n\r\n`));
    const reply = await ask("GET /none", "Accept-Encoding: gzip");
    expect([reply.status, encodingOf(reply)]).toEqual([204, null]);
  });

  test("a response to a POST", async () => {
    answers("/post", [JSON_TYPE]);
    const reply = await gateway.once(request("POST /post", ["Accept-Encoding: zstd"], "x=1"));
    expect([encodingOf(reply), decoded("zstd", reply.body).equals(BODY)]).toEqual(["zstd", true]);
  });

  test("by the route's own settings, or not at all", async () => {
    answers("/off/a", [JSON_TYPE]);
    const off = await ask("GET /off/a", "Accept-Encoding: gzip, br");
    expect([encodingOf(off), off.fields.get("vary")]).toEqual([null, null]);
    expect(origin.requestsFor("/off/a")[0]!.fields.get("accept-encoding")).toBe("gzip, br");
    answers("/own/a", ["Content-Type: application/x-own"], "short, and still compressed");
    answers("/own/b", [JSON_TYPE]);
    expect(encodingOf(await ask("GET /own/a", "Accept-Encoding: zstd, gzip"))).toBe("gzip");
    expect(encodingOf(await ask("GET /own/b", "Accept-Encoding: zstd, gzip"))).toBe(null);
  });
});

describe("the head of a compressed response", () => {
  const LINES = [
    JSON_TYPE,
    'ETag: "v1"',
    "Vary: Origin",
    "Accept-Ranges: bytes",
    "Content-MD5: abc",
    "Digest: sha-256=abc",
    "Content-Digest: sha-256=:abc:",
    "Repr-Digest: sha-256=:abc:",
    "Last-Modified: Wed, 01 Jan 2020 00:00:00 GMT",
    "X-Kept: yes",
  ];

  test("names what it is, and nothing that is true of the plain form alone", async () => {
    answers("/head", LINES);
    const { fields, body, framing } = await ask("GET /head", "Accept-Encoding: br");
    const gone = ["accept-ranges", "content-md5", "digest", "content-digest", "repr-digest"];
    expect(gone.map((name) => fields.get(name))).toEqual(gone.map(() => null));
    expect([fields.get("etag"), fields.all("vary"), fields.get("x-kept")]).toEqual([
      'W/"v1"',
      ["Origin", "Accept-Encoding"],
      "yes",
    ]);
    expect([fields.all("content-length"), framing]).toEqual([[String(body.byteLength)], "length"]);
    expect(body.byteLength).toBeLessThan(BODY.byteLength / 2);
  });

  test("is the same for HEAD, but for the length that is not known", async () => {
    answers("/head", LINES);
    const get = await ask("GET /head", "Accept-Encoding: br");
    const client = await gateway.connect();
    const head = await client.exchange(request("HEAD /head", ["Accept-Encoding: br"]));
    const names = (reply: Reply) => [...new Set(reply.fields.names)].filter((name) => name !== "content-length").sort();
    expect(names(head)).toEqual(names(get));
    for (const name of ["content-encoding", "etag", "vary", "content-type"]) {
      expect(head.fields.all(name)).toEqual(get.fields.all(name));
    }
    expect(head.fields.all("content-length")).toEqual([]);
    // Nothing follows it on the connection.
    expect((await client.exchange(request("HEAD /head"))).fields.get("content-length")).toBe("5000");
    client.close();
  });

  test("keeps a weak tag, a Vary that says it already, and Vary: *", async () => {
    answers("/weak", [JSON_TYPE, 'ETag: W/"v1"', "Vary: accept-encoding, Origin"]);
    const weak = await ask("GET /weak", "Accept-Encoding: gzip");
    expect([weak.fields.get("etag"), weak.fields.all("vary")]).toEqual(['W/"v1"', ["accept-encoding, Origin"]]);
    answers("/star", [JSON_TYPE, "Vary: *"]);
    expect((await ask("GET /star", "Accept-Encoding: gzip")).fields.all("vary")).toEqual(["*"]);
  });

  test("a plain response keeps its tag and its ranges", async () => {
    answers("/head", LINES);
    const { fields } = await ask("GET /head");
    expect([fields.get("etag"), fields.get("accept-ranges"), fields.get("digest")]).toEqual([
      '"v1"',
      "bytes",
      "sha-256=abc",
    ]);
  });

  test("a 304 names the tag as the client did", async () => {
    origin.on("/condition", (call) => {
      const named = call.request.fields.get("if-none-match") ?? "";
      if (named.includes('"v1"')) call.send('HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\nAccept-Ranges: bytes\r\n\r\n');
      else call.reply("200 OK", [JSON_TYPE, 'ETag: "v1"'], BODY);
    });
    const conditions = ["Accept-Encoding: gzip", 'If-None-Match: W/"v1"'];
    const weak = await ask("GET /condition", ...conditions);
    expect([weak.status, weak.fields.get("etag"), weak.fields.get("vary"), weak.fields.get("accept-ranges")]).toEqual([
      304,
      'W/"v1"',
      "Accept-Encoding",
      null,
    ]);
    const strong = await ask("GET /condition", "Accept-Encoding: gzip", 'If-None-Match: "v1"');
    expect([strong.status, strong.fields.get("etag"), strong.fields.get("vary")]).toEqual([
      304,
      '"v1"',
      "Accept-Encoding",
    ]);
  });
});

test("what was compressed is counted", async () => {
  answers("/counted", [JSON_TYPE]);
  const before = await gateway.metric("gateway_compressed_responses_total", { encoding: "br" });
  const reply = await ask("GET /counted", "Accept-Encoding: br");
  expect(await gateway.metric("gateway_compressed_responses_total", { encoding: "br" })).toBe(before + 1);
  expect(await gateway.metric("gateway_compression_bytes_total", { direction: "in" })).toBeGreaterThanOrEqual(5000);
  expect(await gateway.metric("gateway_compression_bytes_total", { direction: "out" })).toBeGreaterThanOrEqual(
    reply.body.byteLength,
  );
  expect(await gateway.metric("gateway_compression_skipped_total")).toBe(0);
});

describe("clients that are in use", () => {
  test("curl --compressed", async () => {
    answers("/curl", [JSON_TYPE]);
    const { exitCode, stdout } = await curl("--compressed", `http://127.0.0.1:${gateway.port}/curl`);
    expect([exitCode, stdout.equals(BODY)]).toEqual([0, true]);
    const packed = await curl("-H", "Accept-Encoding: gzip", `http://127.0.0.1:${gateway.port}/curl`);
    expect(packed.stdout.length).toBeLessThan(BODY.length / 2);
  });

  test("Python", async () => {
    answers("/python", [JSON_TYPE]);
    const script = [
      "import sys, gzip, urllib.request as u",
      "r = u.urlopen(u.Request(sys.argv[1], headers={'Accept-Encoding': 'gzip'}))",
      "sys.stdout.buffer.write(gzip.decompress(r.read()))",
    ].join("\n");
    const run = Bun.spawn(["python3", "-c", script, `http://127.0.0.1:${gateway.port}/python`]);
    expect(Buffer.from(await new Response(run.stdout).arrayBuffer()).equals(BODY)).toBe(true);
  });

  test("fetch", async () => {
    answers("/fetch", [JSON_TYPE]);
    const response = await fetch(`http://127.0.0.1:${gateway.port}/fetch`);
    expect(Buffer.from(await response.arrayBuffer()).equals(BODY)).toBe(true);
  });
});

async function curl(...args: readonly string[]): Promise<{ exitCode: number; stdout: Buffer }> {
  const run = Bun.spawn(["curl", "-sS", ...args]);
  const stdout = Buffer.from(await new Response(run.stdout).arrayBuffer());
  return { exitCode: await run.exited, stdout };
}
