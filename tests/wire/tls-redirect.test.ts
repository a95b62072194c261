import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const certificate = await makeCertificate();
const files = { "cert.pem": certificate.cert, "cert.key": certificate.key };
const port = freePort();
const origin = EchoOrigin.start();
const routes = [upstream("/", origin)];
const tls = { cert_file: "cert.pem", key_file: "cert.key", redirect_http: true };
const gateway = await startGateway({
  config: { server: { tls: { ...tls, port }, trusted_proxies: ["127.0.0.2"], security_headers: {} } },
  routes,
  files,
});
const mapped = await startGateway({
  config: { server: { tls: { ...tls, port: freePort(), redirect_port: 443 } } },
  routes,
  files,
});
afterAll(async () => {
  await mapped.stop();
  await stopAll(gateway, origin);
});

async function locationOf(start: string, lines: readonly string[] = [], through = gateway) {
  const reply = await through.once(request(start, lines));
  return [reply.status, reply.fields.get("location")];
}

describe("a request in clear text", () => {
  test.each([
    ["GET /a/b?c=d&e", [], 301, `https://gw.test:${port}/a/b?c=d&e`],
    ["HEAD /", [], 301, `https://gw.test:${port}/`],
    ["POST /form", ["Content-Length: 0"], 308, `https://gw.test:${port}/form`],
    ["GET /", ["Host: gw.test:8080"], 301, `https://gw.test:${port}/`],
    ["GET /", ["Host: [::1]:8080"], 301, `https://[::1]:${port}/`],
    ["GET http://abs.test:80/x?y", ["Host: abs.test:80"], 301, `https://abs.test:${port}/x?y`],
    ["GET //other.test/x", [], 301, `https://gw.test:${port}//other.test/x`],
    ["GET /a%0d%0aSet-Cookie:x", [], 301, `https://gw.test:${port}/a%0d%0aSet-Cookie:x`],
  ])("is sent to https: %s", async (start, lines, status, location) => {
    expect(await locationOf(start, lines)).toEqual([status, location]);
  });

  test.each(["CONNECT gw.test:443", "CONNECT /x", "TRACE /x"])("is 405 as everywhere: %s", async (start) => {
    const seen = origin.requests.length;
    const host = start.endsWith(":443") ? ["Host: gw.test:443"] : [];
    expect(await locationOf(start, host)).toEqual([405, null]);
    expect(origin.requests.length).toBe(seen);
  });

  test("is sent to the port that clients reach", async () => {
    expect(await locationOf("GET /x", [], mapped)).toEqual([301, "https://gw.test/x"]);
  });

  test("that names no host cannot be sent anywhere", async () => {
    expect((await gateway.once("GET / HTTP/1.0\r\n\r\n")).status).toBe(400);
  });

  test.each(["/health", "/metrics", "/internal/api/status"])("to the gateway itself is answered: %s", async (path) => {
    expect((await gateway.once(request(`GET ${path}`))).status).toBe(200);
  });

  test.each([
    ["GET /.well-known/acme-challenge/token", 404],
    ["POST /.well-known/acme-challenge/token", 405],
    ["GET /.well-known/acme-challenge/", 400],
    ["GET /.well-known/acme-challenge/token/more", 400],
    ["GET /.well-known/acme-challenge/..;/secret", 400],
    ["GET /.well-known/acme-challenge/..%2f..%2fsecret", 400],
    ["GET /.well-known/acme-challenge/%2e%2e/%2e%2e/secret", 400],
    ["GET /.well-known/acme-challenge/./../x", 400],
    ["GET /.well-known/acme-challenge/a%00b", 400],
  ])("for a challenge goes to the responder: %s", async (start, status) => {
    const lines = start.startsWith("POST") ? ["Content-Length: 0"] : [];
    expect((await gateway.once(request(start, lines))).status).toBe(status);
  });

  test.each([
    ["GET /.WELL-known/acme-challenge/token", 301],
    ["GET /.well-known/acme-challenges/token", 301],
  ])("that only looks like a challenge does not: %s", async (start, status) => {
    const lines = start.startsWith("POST") ? ["Content-Length: 0"] : [];
    expect((await gateway.once(request(start, lines))).status).toBe(status);
  });

  test.each([
    [
      "GET /ws",
      [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      ],
      301,
    ],
    ["GET /x", ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"], 301],
    ["OPTIONS /x", ["Origin: https://o.test", "Access-Control-Request-Method: PUT"], 308],
    ["GET /x", ["X-Forwarded-Proto: https", "Forwarded: proto=https", "X-Forwarded-Ssl: on"], 301],
  ])("is sent to https whatever it asks for: %s", async (start, lines, status) => {
    const before = origin.requestsFor(start.split(" ")[1]!).length;
    expect((await gateway.once(request(start, lines))).status).toBe(status);
    expect(origin.requestsFor(start.split(" ")[1]!).length).toBe(before);
  });

  test.each([
    "a@evil.test",
    "evil.test/x",
    "evil.test?x",
    "evil.test#x",
    "evil.test\\x",
    "%65vil.test",
    "gw.test:1:2",
    "[::1",
    "a.test, b.test",
    ":80",
    "",
  ])("whose Host is none is refused: %s", async (host) => {
    expect((await gateway.once(request("GET /", [`Host: ${host}`]))).status).toBe(400);
  });

  test("over HTTP/2 in clear is sent to https", async () => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("GET", "/a?b"));
    expect([reply.status, Object.fromEntries(reply.fields).location]).toEqual([301, `https://gw.test:${port}/a?b`]);
    client.close();
  });

  test("that a trusted proxy took over TLS is served, and nobody else's word counts", async () => {
    const bytes = request("GET /canary", ["X-Forwarded-Proto: https", "Connection: close"]);
    expect(statusOf(await exchangeFrom("127.0.0.2", gateway.port, bytes))).toBe(200);
    expect(statusOf(await exchangeFrom("127.0.0.1", gateway.port, bytes))).toBe(301);
    const plain = request("GET /canary", ["X-Forwarded-Proto: http", "Connection: close"]);
    expect(statusOf(await exchangeFrom("127.0.0.2", gateway.port, plain))).toBe(301);
  });

  test("never has HSTS in its answer, and over TLS it does", async () => {
    const clear = await gateway.once(request("GET /x"));
    expect(clear.fields.get("strict-transport-security")).toBeNull();
    const secure = await TlsClient.once(port, request("GET /canary"));
    expect([secure.status, secure.fields.get("strict-transport-security")]).toEqual([200, "max-age=31536000"]);
  });
});
