// docs/proof.md#advisories-of-others: requests by which other gateways were passed or stopped in 2026, and what they do here.
import { afterAll, describe, expect, test } from "bun:test";
import { zstdCompressSync } from "node:zlib";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { FastCgiOrigin } from "../harness/fastcgi-origin.ts";
import { responseOf } from "../harness/fastcgi-records.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { encode, frameBytes, H2Client, head, Type } from "../harness/h2-client.ts";
import { residentBytes } from "../harness/memory.ts";
import { json, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const MIB = 1024 * 1024;
const origin = EchoOrigin.start();
const service = ScriptedOrigin.start();
service.otherwise((call) => call.reply("200 OK", ["X-Ok: 1"], ""));
const php = FastCgiOrigin.start();
php.on("/php/p.php", (call) =>
  call.send(responseOf(`Content-Type: text/plain\r\n\r\n${call.params.get("HTTP_PROXY") ?? "none"}`)),
);
const gateway = await startGateway({
  config: {
    server: {
      waf: { mode: "enforce" },
      cache: { enabled: true },
      access_log: { enabled: false },
      rate_limit: { requests: 1_000_000, window: "1s" },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/signed", origin, { auth: { forward: { url: service.url, response_headers: ["Remote-User"] } } }),
    { type: "upstream", prefix: "/php", target: php.url, fastcgi: { root: "./php" } },
    { type: "respond", prefix: "/admin", status: 403, body: "closed" },
    { type: "respond", regex: "^/api/private(/|$)", status: 403, body: "closed" },
    { type: "respond", prefix: "/api", match: { header: { "X-Role": "guest" } }, status: 403, body: "guests" },
    upstream("/api", origin, { strip_prefix: false }),
    upstream("/old", origin, { rewrite: { regex: "^/old/(.*)$", to: "/new/{match.1}" } }),
    upstream("/kept", origin, { strip_prefix: false, cache: { default_ttl: "60s" } }),
    upstream("/", origin),
  ],
  files: { "php/p.php": "<?php" },
});
afterAll(() => stopAll(gateway, origin, service, php));

const get = (target: string, fields: readonly string[] = []) => gateway.once(request(`GET ${target}`, fields));
const isAlive = async () => expect((await get("/health")).status).toBe(200);

describe("another path behind the decision", () => {
  // Caddy: an encoded slash passed a URL pattern, a backslash passed path_regexp, an escaped path matched too much.
  test.each([
    "/admin%2fx",
    "/admin%2Fx",
    "/admin\\x",
    "/%61dmin/x",
    "//admin/x",
    "/x/../admin/x",
    "/x/%2e%2e/admin",
    "/x/..%2fadmin/x",
    "/admin/.",
    "/api/private%2fx",
    "/api/%70rivate",
    "/api//private",
    "/api/x/..%5cprivate",
    "/api/private;a=b",
    "/api\\private",
  ])("%s reaches no origin in the place of a refusal", async (target) => {
    const before = origin.requests.length;
    const { status } = await get(target);
    const sent = origin.requests
      .slice(before)
      .map(({ target: path }) => decodeURIComponent(path).replaceAll("\\", "/"));
    expect(sent.filter((path) => /^\/+(?:x\/+\.\.\/+)?(admin|api\/+private)(\/|$)/.test(path))).toEqual([]);
    expect(status).toBeGreaterThanOrEqual(200);
  });
});

describe("fields that are not the client's to say", () => {
  // Caddy GHSA-7r4p-vjf4-gxv4: identity fields of the client stayed if the service set none.
  test.each(["Remote-User: root", "remote_user: root", "REMOTE.USER: root"])(
    "%s of a client goes to no origin",
    async (field) => {
      const { fields } = json<Echo>(await get("/signed/a", [field]));
      expect(fields.filter(([name]) => /remote.user/i.test(name))).toEqual([]);
    },
  );

  // Caddy: Proxy became HTTP_PROXY of scripts.
  test.each(["Proxy: http://evil.test", "PROXY: x"])("%s is no variable of a script", async (field) => {
    expect((await get("/php/p.php", [field])).text).toBe("none");
  });

  // Envoy CVE-2026-26308: of several lines of one field, a rule saw them joined and did not fit.
  test.each([
    [["X-Role: guest", "X-Role: admin"]],
    [["X-Role: admin", "X-Role: guest"]],
    [["X-Role: a", "X-Role: guest", "X-Role: b"]],
  ])("one line of %j is enough for a rule", async (fields) => {
    expect((await get("/api/a", fields)).status).toBe(403);
  });

  // Pingora: the host of the request was no part of the cache's key.
  test("a response of one host is not another host's", async () => {
    origin.on("/kept/a", (call) => call.reply("200 OK", [], `for ${call.request.fields.get("host")}`));
    const of = async (host: string) => (await gateway.once(`GET /kept/a HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).text;
    expect([await of("evil.test"), await of("good.test"), await of("evil.test")]).toEqual([
      "for evil.test",
      "for good.test",
      "for evil.test",
    ]);
  });
});

describe("framing", () => {
  // Pingora: lengths that are no numbers, bytes behind a refused upgrade, CONNECT.
  test.each([["+5"], ["0x5"], ["5, 6"], ["5 5"], [""], ["18446744073709551616"], ["-1"]])(
    "Content-Length: %s is refused",
    async (length) => {
      const reply = await gateway.once(
        `POST /node/a HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\nhello`,
      );
      expect(reply.status).toBe(400);
    },
  );

  test("a response of an origin with such a length is 502", async () => {
    origin.on("/bad", (call) => void call.send("HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"));
    expect((await get("/node/bad")).status).toBe(502);
  });

  test("a request behind a refused upgrade is read as one, once", async () => {
    const client = await gateway.connect();
    const upgrade = request(
      "GET /node/none",
      ["Connection: Upgrade", "Upgrade: websocket", "Content-Length: 3"],
      "abc",
    );
    client.send(upgrade);
    client.send(request("GET /node/second"));
    expect((await client.reply()).status).toBeLessThan(500);
    const second = await client.reply().catch(() => null);
    if (second !== null) expect(json<Echo>(second).target).toBe("/second");
    client.close();
  });

  test("CONNECT is refused", async () => {
    const reply = await gateway.once("CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n");
    expect([400, 405, 501]).toContain(reply.status);
  });

  // nginx takes Connection and TE over HTTP/2 as malformed since 1.31.
  test.each([
    ["connection", "keep-alive"],
    ["te", "gzip"],
    ["transfer-encoding", "chunked"],
    ["keep-alive", "1"],
    ["proxy-connection", "x"],
    ["upgrade", "h2c"],
  ])("%s: %s over HTTP/2 is refused", async (name, value) => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("GET", "/node/a", [[name, value]])).catch(() => ({ status: 400 }));
    expect(reply.status).toBe(400);
    client.close();
  });
});

describe("a little that becomes much", () => {
  // Envoy CVE-2026-48044: a zstd body of kilobytes grew without bound.
  test("compressed bodies are inspected within a bound of memory", async () => {
    const bomb = zstdCompressSync(Buffer.alloc(64 * MIB));
    const before = residentBytes(gateway);
    for (let i = 0; i < 8; i++) {
      const fields = ["Content-Encoding: zstd", "Content-Type: text/plain", `Content-Length: ${bomb.length}`];
      const reply = await gateway.once(Buffer.concat([Buffer.from(request("POST /node/a", fields)), bomb]));
      expect(reply.status).toBeGreaterThanOrEqual(200);
    }
    expect(residentBytes(gateway) - before).toBeLessThan(256 * MIB);
    await isAlive();
  });

  // Varnish 9.0.1: pipelined requests stopped it.
  test("ten thousand pipelined requests of a client that leaves cost others nothing", async () => {
    const client = await gateway.connect();
    client.send(request("GET /node/a").toString("latin1").repeat(10_000));
    await client.take(1000);
    client.reset();
    await isAlive();
  });

  // nginx CVE-2026-42945: an expression of the rewrite module and a long path with escapes.
  test.each(["%2b".repeat(2000), "+".repeat(6000), "%".padEnd(3000, "%25"), "a?".repeat(2000), "%C3%A9".repeat(1000)])(
    "a rewritten path of many escapes is no longer than the client's",
    async (rest) => {
      const before = origin.requests.length;
      await get(`/old/${rest}`);
      for (const { target } of origin.requests.slice(before))
        expect(target.length).toBeLessThanOrEqual(rest.length + 5);
      await isAlive();
    },
  );

  // Pingora, nginx: streams of HTTP/2 that hold memory: CONTINUATION without an end.
  test("a head over HTTP/2 that never ends is ended", async () => {
    const client = await H2Client.connect(gateway.port);
    const first = encode(head("GET", "/node/a"));
    client.send(frameBytes(Type.headers, 1, 1, first));
    for (let i = 0; i < 200 && !client.isClosed; i++) {
      client.send(frameBytes(Type.continuation, 0, 1, encode([["x", "y".repeat(1000)]])));
      await Bun.sleep(1);
    }
    await client.ended();
    await isAlive();
  });
});
