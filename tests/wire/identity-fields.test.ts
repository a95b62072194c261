import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { startSidecar } from "../harness/sidecar.ts";
import { exchangeFrom } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/security.md#identity-headers: what only a proxy in front may say is believed of nobody else.
const origin = EchoOrigin.start();
const origin2 = await H2EchoOrigin.start();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const files = { "a.pem": certificate.cert, "a.key": certificate.key };
const routes = [
  upstream("/node", origin),
  { type: "upstream", prefix: "/two", target: `h2c://127.0.0.1:${origin2.port}` },
  upstream("/cached", origin, { cache: { enabled: true } }),
];
const gateway = await startGateway({
  config: {
    server: {
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      cache: { enabled: true },
    },
  },
  files,
  routes,
});
const trusting = await startGateway({ config: { server: { trusted_proxies: ["127.0.0.1"] } }, routes });
const mesh = await startSidecar({ app_port: origin.port });
afterAll(async () => {
  await trusting.stop();
  await mesh.gateway.stop();
  origin2.stop();
  await stopAll(gateway, origin);
});

const NAMES = [
  ...["Forwarded", "X-Forwarded-Prefix", "X-Forwarded-Port", "X-Forwarded-User", "X-Forwarded-Anything", "X-Forwarded"],
  ...["X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "CF-Connecting-IPv6", "X-Cluster-Client-IP", "Client-IP"],
  ...["X-Original-URL", "X-Original-Host", "X-Rewrite-URL", "X-HTTP-Method", "X-HTTP-Method-Override"],
  ...["X-Method-Override", "X-Forwarded-Client-Cert", "X-Forwarded-For", "X-Real-IP", "X-Forwarded-Host"],
];
const FORGED = "forged-4711";
const underscored = (name: string) => name.replaceAll("-", "_");
const mixed = (name: string) => name.replace("-", "_").toUpperCase();
const dotted = (name: string) => name.replaceAll("-", ".").toLowerCase();
const SPELLINGS = NAMES.flatMap((name) => [...new Set([name, underscored(name), mixed(name), dotted(name)])]);
const lines = SPELLINGS.map((name) => `${name}: ${FORGED}`);

/** Several heads, since one holds no more than a hundred fields. */
function heads(): string[][] {
  const each = 40;
  return Array.from({ length: Math.ceil(lines.length / each) }, (_, i) => [
    ...lines.slice(i * each, (i + 1) * each),
    "X-Kept: yes",
  ]);
}

function expectClean(text: string): void {
  expect(text).not.toContain(FORGED);
  expect(text).toContain('"x-kept":"yes"');
}

describe("identity fields of a client that is no trusted proxy reach no origin", () => {
  test.each(["/node/echo", "/two/echo"])("over HTTP/1.1, to %s", async (path) => {
    for (const some of heads()) expectClean((await gateway.once(request(`GET ${path}`, some))).text);
  });

  test.each(["/node/echo", "/two/echo"])("over HTTP/2, to %s", async (path) => {
    const client = await H2Client.connect(gateway.port);
    for (const some of heads()) {
      const fields = some.map((line) => line.toLowerCase().split(": ") as [string, string]);
      expectClean((await client.reply(client.headers([...head("GET", path), ...fields], true))).text);
    }
    client.close();
  });

  test("over HTTP/3", async () => {
    const client = await H3Client.connect(tlsPort);
    for (const some of heads()) {
      const fields = Object.fromEntries(some.map((line) => line.toLowerCase().split(": ")));
      expectClean((await client.ask("GET", "/node/echo", fields)).body.toString());
    }
    client.close();
  });

  test("with an upgrade, and where a trusted proxy is named but another one calls", async () => {
    let seen = "";
    origin.on("/upgrade", (call) => {
      seen = JSON.stringify(call.request.fields.list);
      call.reply("400 Bad Request", [], "");
    });
    const upgrade = ["Connection: Upgrade", "Upgrade: websocket", `X_Original-URL: ${FORGED}`, `Forwarded: ${FORGED}`];
    await gateway.once(request("GET /node/upgrade", upgrade));
    expect(seen).toContain("websocket");
    expect(seen).not.toContain(FORGED);
    const close = ["Connection: close", ...heads()[0]!];
    expectClean(await exchangeFrom("127.0.0.2", trusting.port, request("GET /node/echo", close)));
  });

  test("through a sidecar, in and out", async () => {
    for (const some of heads()) {
      const inbound = await exchangeFrom(
        "127.0.0.1",
        mesh.ingress,
        request("GET /echo", ["Connection: close", ...some]),
      );
      expectClean(inbound);
      const named = [`Host: 127.0.0.1:${origin.port}`, "Connection: close", ...some];
      expectClean(await exchangeFrom("127.0.0.1", mesh.egress, request("GET /echo", named)));
    }
  });

  test("nor the cache", async () => {
    origin.on("/page", (call) => {
      const prefix = call.request.fields.get("x-forwarded-prefix") ?? call.request.fields.get("x-original-url");
      call.reply("200 OK", ["Cache-Control: public, max-age=60", "Content-Type: text/html"], `base=${prefix}`);
    });
    const poison = ["X-Forwarded-Prefix: //evil.test", "x_original_url: /admin"];
    expect((await gateway.once(request("GET /cached/page", poison))).text).toBe("base=null");
    const second = await gateway.once(request("GET /cached/page"));
    expect([second.fields.get("x-cache"), second.text]).toEqual(["HIT", "base=null"]);
  });
});

test("from a trusted proxy they pass as they came, but for those that the gateway writes", async () => {
  const own = ["X-Forwarded-For", "X-Real-IP", "X-Forwarded-Host"];
  for (const path of ["/node/echo", "/two/echo"]) {
    const told = NAMES.filter((name) => !own.includes(name)).map((name) => `${name}: told`);
    const reply = await trusting.once(
      request(`GET ${path}`, ["X-Forwarded-For: 203.0.113.9", "X-Real-IP: told", "x_forwarded_for: told", ...told]),
    );
    const { headers } = JSON.parse(reply.text) as Echo;
    for (const name of NAMES.filter((one) => !own.includes(one)))
      expect([name, headers[name.toLowerCase()]]).toEqual([name, "told"]);
    expect(headers).toMatchObject({ "x-real-ip": "203.0.113.9", "x-forwarded-for": "203.0.113.9, 127.0.0.1" });
    expect(headers).not.toHaveProperty("x_forwarded_for");
  }
});

describe("Connection names nothing away that the gateway reads or sets", () => {
  test("from a client", async () => {
    const named =
      "Authorization, cookie, Host, content-length, X-Forwarded-For, X-Real-IP, Forwarded, X-Hop, keep-alive";
    const fields = [
      `Connection: ${named}`,
      "Authorization: Bearer a",
      "Cookie: a=b",
      "X-Hop: 1",
      `Forwarded: ${FORGED}`,
    ];
    const { headers } = json<Echo>(await gateway.once(request("POST /node/echo", fields, "body")));
    expect(headers).toMatchObject({
      authorization: "Bearer a",
      cookie: "a=b",
      host: "gw.test",
      "content-length": "4",
      "x-real-ip": "127.0.0.1",
      "x-forwarded-for": "127.0.0.1",
    });
    expect(headers).not.toHaveProperty("x-hop");
    expect(JSON.stringify(headers)).not.toContain(FORGED);
  });

  test("from a trusted proxy: the client is not the proxy", async () => {
    const fields = [
      "Connection: X-Forwarded-For, Forwarded, X-Forwarded-Prefix",
      "X-Forwarded-For: 203.0.113.9",
      "X-Forwarded-Prefix: /shop",
    ];
    const { headers } = json<Echo>(await trusting.once(request("GET /node/echo", fields)));
    expect(headers).toMatchObject({ "x-real-ip": "203.0.113.9", "x-forwarded-prefix": "/shop" });
  });

  test("from an origin: what a cache goes by stays in force", async () => {
    const secret = ["Connection: Cache-Control, keep-alive", "Cache-Control: private"];
    origin.on("/private", (call) => call.reply("200 OK", secret, "secret"));
    for (let i = 0; i < 2; i++) {
      expect((await gateway.once(request("GET /cached/private"))).fields.get("x-cache")).toBe("MISS");
    }
  });
});
