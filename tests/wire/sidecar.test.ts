import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge } from "../harness/gateway.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { chunked, exchangeOnce, json, RawClient, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { OWN_FILES, startSidecar } from "../harness/sidecar.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const LIMIT = 100_000;
const mesh = await MeshAuthority.make();
const rogue = await MeshAuthority.make("rogue");
const shop = await mesh.issue({ name: "shop", id: "spiffe://mesh/ns/shop/sa/web" });
const bank = await mesh.issue({ name: 'bank, "the" best', id: "spiffe://mesh/ns/bank/sa/web" });
const old = await mesh.issue({ name: "old", id: "spiffe://mesh/ns/shop/sa/old", days: -1 });
const forged = await rogue.issue({ name: "shop", id: "spiffe://mesh/ns/shop/sa/web" });
const files = { "cert.pem": shop.cert, "key.pem": shop.key, "ca.pem": mesh.pem };

/** A sidecar that takes little, with the mesh's files. */
const sidecar = (settings: object) => startSidecar({ max_body_bytes: LIMIT, ...settings }, files);

function app(origin: EchoOrigin): number {
  return origin.port;
}

describe("the inbound listener", async () => {
  const origin = EchoOrigin.start();
  const strict = await sidecar({ mode: "ingress", app_port: app(origin), strict_mtls: true, ...OWN_FILES });
  const lax = await sidecar({ mode: "ingress", app_port: app(origin), ...OWN_FILES, allowed_ids: [] });
  const picky = await sidecar({
    mode: "ingress",
    app_port: app(origin),
    ...OWN_FILES,
    allowed_ids: ["spiffe://mesh/ns/shop/*", "spiffe://mesh/ns/till/sa/till"],
  });
  const plain = await sidecar({ mode: "ingress", app_port: app(origin) });
  afterAll(async () => {
    for (const one of [strict, lax, picky]) await one.gateway.stop();
    await stopAll(plain.gateway, origin);
  });

  test("takes a verified client, passes the path unchanged and says who it is", async () => {
    const target = "/a/./b/../%2e%2e/c%2Fd//e?q=%20&x";
    const reply = await TlsClient.once(
      strict.ingress,
      request(`GET ${target}`, ["X-Forwarded-Client-Cert: Hash=forged", "X-Other: kept"]),
      bank,
    );
    expect(reply.status).toBe(200);
    const echo = json<Echo>(reply);
    expect(echo.target).toBe(target);
    expect(echo.headers["x-forwarded-client-cert"]).toMatch(
      /^Hash=[0-9a-f]{64};Subject="CN=.*bank.*";URI=spiffe:\/\/mesh\/ns\/bank\/sa\/web;DNS=localhost$/,
    );
    expect(echo.headers["x-forwarded-proto"]).toBe("https");
    expect(echo.headers["x-other"]).toBe("kept");
  });

  test.each([
    ["none", {}],
    ["of another authority", forged],
    ["that has expired", old],
  ])("with strict mTLS lets nobody in with a certificate %s", async (_, options) => {
    const before = origin.requests.length;
    expect(await TlsClient.once(strict.ingress, request("GET /canary"), options).catch(() => "refused")).toBe(
      "refused",
    );
    expect(origin.requests.length).toBe(before);
  });

  test("without strict mTLS takes clients without a certificate, and none with a bad one", async () => {
    const bare = await TlsClient.once(lax.ingress, request("GET /x"));
    expect([bare.status, json<Echo>(bare).headers["x-forwarded-client-cert"]]).toEqual([200, undefined]);
    expect((await TlsClient.once(lax.ingress, request("GET /x"), shop)).status).toBe(200);
    for (const bad of [forged, old]) {
      expect(await TlsClient.once(lax.ingress, request("GET /x"), bad).catch(() => "refused")).toBe("refused");
    }
  });

  test("takes only the identities that are allowed", async () => {
    expect((await TlsClient.once(picky.ingress, request("GET /x"), shop)).status).toBe(200);
    for (const other of [bank, {}]) {
      const reply = await TlsClient.once(picky.ingress, request("GET /x"), other);
      expect(json(reply)).toEqual({ error: "403 Forbidden", message: "not allowed for this identity" });
    }
  });

  test("speaks cleartext without a certificate, and says so in the log", async () => {
    expect((await exchangeOnce(plain.ingress, request("GET /x"))).status).toBe(200);
    const warning = await plain.gateway.log("the warning", (line) => line.event === "sidecar_warning");
    expect(String(warning.message)).toContain("speaks cleartext");
    expect((await exchangeOnce(strict.ingress, request("GET /x"))).status).toBe(400);
  });

  test("tunnels upgrades, and refuses CONNECT, TRACE and *", async () => {
    const client = await TlsClient.open(strict.ingress, shop);
    const reply = await client.exchange(request("GET /socket", ["Connection: Upgrade", "Upgrade: websocket"]));
    expect(reply.status).toBe(101);
    client.send("ping");
    expect((await client.take(4)).toString()).toBe("ping");
    client.close();
    expect((await exchangeOnce(plain.ingress, request("TRACE /x"))).status).toBe(405);
    expect((await exchangeOnce(plain.ingress, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")).status).toBe(
      405,
    );
    expect((await exchangeOnce(plain.ingress, request("OPTIONS *"))).status).toBe(404);
  });
});

describe("bodies", async () => {
  const origin = EchoOrigin.start();
  const { gateway, ingress } = await sidecar({ mode: "ingress", app_port: app(origin) });
  afterAll(() => stopAll(gateway, origin));
  const body = new SeededRandom(5).bytes(LIMIT);

  test.each([
    ["of the limit, declared", request("POST /echo", [], body)],
    ["of the limit, in chunks", request("POST /echo", ["Transfer-Encoding: chunked"], chunked(body, 1000))],
    ["of the limit, in one chunk", request("PATCH /echo", ["Transfer-Encoding: chunked"], chunked(body, LIMIT))],
  ])("%s go on byte for byte, with their length", async (_, bytes) => {
    const echo = json<Echo>(await exchangeOnce(ingress, bytes));
    expect([echo.sha256, echo.framing, echo.headers["content-length"]]).toEqual([
      sha256(body),
      "length",
      String(LIMIT),
    ]);
  });

  test.each([
    ["declared beyond the limit", "declared Content-Length exceeds", false],
    ["that grow beyond the limit", "request body exceeds", true],
  ])("%s are 413 without a byte for the application, and leave a warning", async (_, text, inChunks) => {
    const seen = [origin.connections.length, origin.requests.length];
    const line = `POST /over/${inChunks}?secret=1`;
    const bytes = inChunks
      ? request(line, ["Transfer-Encoding: chunked"], chunked(Buffer.alloc(LIMIT + 1), 10_000))
      : `${line} HTTP/1.1\r\nHost: gw.test\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`;
    const client = await RawClient.connect(ingress);
    client.send(bytes);
    const reply = await client.reply("POST");
    expect([reply.status, json(reply).message]).toEqual([413, `request body exceeds ${LIMIT} bytes`]);
    expect(await client.ended()).not.toBe("open");
    client.close();
    expect([origin.connections.length, origin.requests.length]).toEqual(seen);
    const warning = await gateway.log(
      "the warning",
      (one) => one.path === `/over/${inChunks}` && one.event === "sidecar_warning",
    );
    expect(warning).toMatchObject({
      method: "POST",
      limit: LIMIT,
      message: `POST /over/${inChunks}: ${text} ${LIMIT} bytes`,
    });
  });

  test("that end too early are 400, and the application hears nothing", async () => {
    const seen = origin.requests.length;
    for (const bytes of [
      "POST /cut HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 10\r\n\r\nabc",
      "POST /cut HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
      "POST /cut HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]) {
      const client = await RawClient.connect(ingress);
      client.send(bytes);
      client.finish();
      expect((await client.reply("POST")).status).toBe(400);
      client.close();
    }
    expect(origin.requests.length).toBe(seen);
  });

  test("of GET are not held, whatever the sidecar's limit, and a missing one is none", async () => {
    const large = Buffer.alloc(LIMIT * 2, 1);
    const inChunks = request("GET /echo", ["Transfer-Encoding: chunked"], chunked(large, 10_000));
    expect(json<Echo>(await exchangeOnce(ingress, request("GET /echo", [], large))).length).toBe(LIMIT * 2);
    expect(json<Echo>(await exchangeOnce(ingress, inChunks)).length).toBe(LIMIT * 2);
    const beyondServers = "GET /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4194305\r\n\r\n";
    expect((await exchangeOnce(ingress, beyondServers)).status).toBe(413);
    expect(json<Echo>(await exchangeOnce(ingress, request("POST /echo", ["Content-Length: 0"]))).length).toBe(0);
    expect(json<Echo>(await exchangeOnce(ingress, request("DELETE /echo"))).length).toBe(0);
  });
});

describe("the outbound listener", async () => {
  const [a, b, none, secure, named] = [
    EchoOrigin.start(),
    EchoOrigin.start(),
    EchoOrigin.start(),
    EchoOrigin.start({ tls: shop }),
    EchoOrigin.start(),
  ];
  const impostor = EchoOrigin.start({ tls: forged });
  const splits = [
    {
      prefix: "/split",
      backends: [
        { target: a.url, weight: 3 },
        { target: b.url, weight: 1 },
        { target: none.url, weight: 0 },
      ],
    },
    { prefix: "/split/deep", backends: [{ target: `${b.url.toUpperCase()}/base?q=1#f`, weight: 1 }] },
    { prefix: "/nobody", backends: [{ target: a.url, weight: 0 }] },
    { prefix: "/secure", backends: [{ target: `https://localhost:${secure.port}` }] },
    { prefix: "/impostor", backends: [{ target: `https://localhost:${impostor.port}` }] },
  ];
  const { gateway, egress } = await sidecar({ mode: "egress", ...OWN_FILES, traffic_splits: splits });
  const trusting = await sidecar({ mode: "egress", insecure_skip_verify: true, traffic_splits: splits.slice(-1) });
  afterAll(async () => {
    await trusting.gateway.stop();
    await stopAll(gateway, a, b, none, secure, named, impostor);
  });
  const get = (path: string, host = "gw.test") => exchangeOnce(egress, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

  test("splits by weight, the longest prefix first, and passes paths unchanged", async () => {
    for (let i = 0; i < 200; i++) expect((await get(`/split/${i}`)).status).toBe(200);
    expect([a.requests.length > b.requests.length, b.requests.length > 0, none.requests.length]).toEqual([
      true,
      true,
      0,
    ]);
    expect(json<Echo>(await get("/split/deep/x%2Fy?z"))).toMatchObject({ target: "/split/deep/x%2Fy?z" });
    expect(json<Echo>(await get("/split/deeper")).target).toBe("/split/deeper");
    expect((await get("/nobody/x")).status).toBe(503);
  });

  test("finds the split in every spelling of its prefix", async () => {
    for (const path of [
      "/%73plit/deep/x",
      "/x/../split/deep",
      "/x/%2e%2e/split/deep",
      "//split%2fdeep",
      "/split\\deep/x",
    ]) {
      const seen = b.requests.length;
      expect(json<Echo>(await get(path)).target).toBe(path);
      expect([b.requests.length, b.requests.at(-1)!.fields.get("x-forwarded-host")]).toEqual([seen + 1, "gw.test"]);
    }
    for (const path of ["/n%6fbody/x", "/split/../nobody", "/.%2fnobody", "/x%5c..%5cnobody"]) {
      expect([path, (await get(path)).status]).toEqual([path, 503]);
    }
  });

  test("keeps connections, one pool an origin however it is spelt", async () => {
    const client = await RawClient.connect(egress);
    for (const host of [
      `127.0.0.1:${named.port}`,
      `LOCALHOST:${named.port}`,
      `localhost:${named.port}`,
      `localhost:${named.port}`,
    ]) {
      const reply = await client.exchange(`GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect([reply.status, json<Echo>(reply).headers.host]).toEqual([200, host.toLowerCase()]);
    }
    client.close();
    expect(named.connections.length).toBe(2);
  });

  test("without a split goes to the server that the request names: 400 for none, 502 for one that is not there, 508 for itself", async () => {
    const absolute = await exchangeOnce(
      egress,
      `GET http://${named.url.slice(7)}/abs HTTP/1.1\r\nHost: ${named.url.slice(7)}\r\n\r\n`,
    );
    expect(json<Echo>(absolute).target).toBe("/abs");
    expect((await exchangeOnce(egress, "GET /x HTTP/1.0\r\n\r\n")).status).toBe(400);
    expect((await get("/x", `127.0.0.1:${freePort()}`)).status).toBe(502);
    for (const host of [`127.0.0.1:${egress}`, `localhost:${egress}`, `127.9.9.9:${egress}`]) {
      expect([host, (await get("/x", host)).status]).toEqual([host, 508]);
    }
    expect((await get("/x", "10.0.0.256")).status).toBe(400);
  });

  test("verifies upstreams by the authority alone, and shows its own certificate", async () => {
    expect((await get("/secure/x")).status).toBe(200);
    const seen = impostor.requests.length;
    expect((await get("/impostor/x")).status).toBe(502);
    expect(impostor.requests.length).toBe(seen);
  });

  test("with verification off takes any certificate, and warns on each build of the configuration", async () => {
    const reply = await exchangeOnce(trusting.egress, request("GET /impostor/x"));
    expect(reply.status).toBe(200);
    const warnings = () =>
      trusting.gateway.logs.json.filter((line) =>
        String(line.message).includes("certificate verification is disabled"),
      );
    await eventually(() => expect(warnings().length).toBe(1));
    trusting.gateway.signal("SIGHUP");
    await eventually(() => expect(warnings().length).toBe(2));
  });
});

test("strict mTLS without a certificate is a configuration error", async () => {
  const run = await runEdge(["check"], { config: { sidecar: { enabled: true, strict_mtls: true } } });
  expect([run.code, (run.stdout + run.stderr).includes("sidecar.strict_mtls: needs cert_file and key_file")]).toEqual([
    1,
    true,
  ]);
});
