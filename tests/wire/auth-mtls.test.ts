// The certificates of clients decide who may come in. docs/authentication.md#client-certificates
import { afterAll, describe, expect, test } from "bun:test";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { connect } from "node:http2";
import { TestAuthority, type TestCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const authority = await TestAuthority.make("trusted");
const server = await authority.issue({ subject: "server", names: [{ type: "dns", value: "localhost" }] });
const url = (value: string) => [{ type: "url" as const, value }];
const shop = await authority.issue({ subject: "shop", names: url("spiffe://mesh/ns/shop/sa/web") });
const near = await authority.issue({ subject: "near", names: url("spiffe://mesh/ns/shopping/sa/web") });
const comma = await authority.issue({ subject: "a\\, b" });
// What would name another, were its value not escaped.
const trap = await authority.issue({ subject: "x\\0ACN=shop" });
const other = await authority.issue({ subject: "other" });
const hex = (certificate: TestCertificate) => new X509Certificate(certificate.cert).fingerprint256;
const origin = EchoOrigin.start();
origin.on("/mine", (call) =>
  call.reply("200 OK", [`Cache-Control: ${call.request.fields.get("x-cc") ?? "max-age=60"}`], "mine"),
);
const routes = [
  upstream("/uri", origin, { auth: { mtls: { uris: ["spiffe://mesh/ns/shop/*"] } } }),
  upstream("/subject", origin, {
    auth: { mtls: { subjects: ["cn = shop", "CN=a\\, b"] } },
    headers: { request: { set: { "X-User": "{auth.user}", "X-Uri": "{auth.claim.uri}" } } },
  }),
  upstream("/print", origin, {
    auth: { mtls: { fingerprints: [hex(shop), hex(other).replaceAll(":", "").toLowerCase()] } },
  }),
  upstream("/all", origin, { auth: { mtls: { subjects: "*" } } }),
  upstream("/any", origin, {
    auth: {
      any: [
        { mtls: { uris: ["spiffe://mesh/ns/shop/sa/web"] } },
        { basic: { users: { al: await Bun.password.hash("pw", { algorithm: "bcrypt", cost: 4 }) } } },
      ],
    },
  }),
  upstream("/open", origin),
];
function start(clientAuth: string, port: number, more: object = {}): Promise<Gateway> {
  return startGateway({
    config: {
      server: {
        cache: { enabled: true },
        tls: { port, cert_file: "a.pem", key_file: "a.key", client_auth: clientAuth, client_ca_file: "ca.pem" },
        ...more,
      },
    },
    files: { "a.pem": server.cert, "a.key": server.key, "ca.pem": authority.cert },
    routes,
  });
}
afterAll(() => stopAll(gateway, overQuic, origin));
const port = freePort();
const gateway = await start("request", port);
const quicPort = freePort();
const overQuic = await start("require", quicPort, { http3: { enabled: true } });

const over = (path: string, who: { cert?: string; key?: string } = {}, ...lines: readonly string[]): Promise<Reply> =>
  TlsClient.once(port, request(`GET ${path}`, lines), who);
const statusOf = async (path: string, who?: TestCertificate): Promise<number> => (await over(path, who)).status;

describe("a certificate", () => {
  const rows: readonly (readonly [string, readonly number[]])[] = [
    ["/uri/echo", [200, 403, 403, 403, 403]],
    ["/subject/echo", [200, 403, 200, 403, 403]],
    ["/print/echo", [200, 403, 403, 200, 403]],
    ["/all/echo", [200, 200, 200, 200, 403]],
    ["/open/echo", [200, 200, 200, 200, 200]],
  ];

  test.each(rows)("at %s", async (path, expected) => {
    const found: number[] = [];
    for (const who of [shop, near, comma, other, undefined]) found.push(await statusOf(path, who));
    expect(found).toEqual([...expected]);
  });

  test("is the connection's own: what is told of one is none, nor is clear text", async () => {
    const claim = `X-Forwarded-Client-Cert: Hash=${hex(shop).replaceAll(":", "")};Subject="CN=shop";URI=spiffe://mesh/ns/shop/sa/web`;
    for (const path of ["/uri/echo", "/subject/echo", "/print/echo", "/all/echo"]) {
      expect((await over(path, {}, claim)).status).toBe(403);
      expect((await gateway.once(request(`GET ${path}`, [claim]))).status).toBe(403);
    }
  });

  test("whose value has line breaks names no other", async () => {
    expect(await statusOf("/subject/echo", trap)).toBe(403);
    const fields = json<Echo>(await over("/all/echo", trap)).fields;
    expect(fields.filter(([name]) => name.toLowerCase() === "cn")).toEqual([]);
  });

  test("names the user and more", async () => {
    const fields = json<Echo>(await over("/subject/echo", shop, "X-User: root")).headers;
    expect([fields["x-user"], fields["x-uri"]]).toEqual(["shop", "spiffe://mesh/ns/shop/sa/web"]);
    expect(json<Echo>(await over("/subject/echo", comma)).headers["x-user"]).toBe("a, b");
  });

  test("leaves Authorization to the origin", async () => {
    expect(json<Echo>(await over("/uri/echo", shop, "Authorization: Bearer x")).headers.authorization).toBe("Bearer x");
  });
});

describe("any", () => {
  const basic = `Authorization: Basic ${Buffer.from("al:pw").toString("base64")}`;

  test("takes either, and asks for what can be asked for", async () => {
    expect(await statusOf("/any/echo", shop)).toBe(200);
    expect((await over("/any/echo", {}, basic)).status).toBe(200);
    expect((await gateway.once(request("GET /any/echo", [basic]))).status).toBe(200);
    const refused = await over("/any/echo", other);
    expect([refused.status, refused.fields.all("www-authenticate")]).toEqual([
      401,
      ['Basic realm="Restricted", charset="UTF-8"'],
    ]);
  });

  test("Authorization goes on where another method has let in", async () => {
    expect(json<Echo>(await over("/any/echo", shop, basic)).headers.authorization).toBe(basic.slice(15));
    expect(json<Echo>(await over("/any/echo", {}, basic)).headers).not.toHaveProperty("authorization");
  });
});

test("one client's page is no other's", async () => {
  for (const who of [shop, comma]) expect((await over("/subject/mine", who)).fields.get("x-cache")).toBe("MISS");
  await over("/subject/mine?p", shop, "X-CC: public, max-age=60");
  expect((await over("/subject/mine?p", comma)).fields.get("x-cache")).toBe("HIT");
  expect((await over("/subject/mine?p", other)).status).toBe(403);
});

test("HTTP/2, streams of one connection each", async () => {
  for (const [who, status, user] of [
    [shop, 200, "shop"],
    [comma, 200, "a, b"],
    [near, 403, undefined],
    [undefined, 403, undefined],
  ] as const) {
    const session = connect(`https://localhost:${port}`, {
      ca: authority.cert,
      ...(who === undefined ? {} : { cert: who.cert, key: who.key }),
    });
    const ask = (path: string) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const stream = session.request({ ":path": path, "x-user": "root" });
        let text = "";
        let status = 0;
        stream.on("response", (head) => {
          status = Number(head[":status"]);
        });
        stream.on("data", (piece) => {
          text += String(piece);
        });
        stream.on("end", () => resolve({ status, text }));
        stream.on("error", reject);
        stream.end();
      });
    const replies = await Promise.all([ask("/subject/echo"), ask("/subject/echo?again"), ask("/open/echo")]);
    expect(replies.map((one) => one.status)).toEqual([status, status, 200]);
    const users = replies
      .slice(0, 2)
      .map(({ text }) => (status === 200 ? (JSON.parse(text) as Echo).headers["x-user"] : undefined));
    expect(users).toEqual([user, user]);
    session.close();
  }
});

test("HTTP/3", async () => {
  for (const [who, status] of [
    [shop, 200],
    [near, 403],
  ] as const) {
    const h3 = await H3Client.connect(quicPort, "localhost", {
      keys: [createPrivateKey(who.key)],
      certs: [Buffer.from(who.cert)],
    });
    expect((await h3.ask("GET", "/uri/echo")).status).toBe(status);
    h3.close();
  }
});

test("edge check warns where the listener asks for no certificates", async () => {
  const config = (tls: object) => ({ server: { ...tls, auth: { mtls: { subjects: "*" } } } });
  const files = { "a.pem": server.cert, "a.key": server.key };
  const routes = [upstream("/", origin, { auth: { any: [{ mtls: { subjects: "*" } }] } })];
  const check = async (tls: object): Promise<string> => {
    const { stdout, stderr } = await runEdge(["check"], { config: config(tls), routes, files });
    return stdout + stderr;
  };
  const off = await check({});
  expect(off).toContain("server.auth.mtls: lets in no request: certificates come over server.tls, which is off");
  expect(off).toContain("routes[0].auth.any[0].mtls: lets in no request");
  const none = await check({ tls: { cert_file: "a.pem", key_file: "a.key" } });
  expect(none).toContain("while server.tls.client_auth is none: say request or require");
});
