import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClientHello } from "../../src/proto/tls/client-hello.ts";
import { daysFromNow, makeCertificate, TestAuthority } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type H2Echo, H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { json, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";
import { readHello } from "../unit/proto/tls/read-hello.ts";

const past = await TestAuthority.make("past").then(async (authority) => ({
  authority: authority.cert,
  ...(await authority.issue({ notBefore: daysFromNow(-9), notAfter: daysFromNow(-2) })),
}));
const good = await makeCertificate();
const wrongName = await makeCertificate([{ type: "dns", value: "other.test" }]);

describe("an https target", async () => {
  const origin = EchoOrigin.start({ tls: good });
  const impostor = EchoOrigin.start({ tls: wrongName });
  const plain = startDeafServer("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  const silent = startDeafServer("");
  const gateway = await startGateway({
    routes: [
      upstream("/trusted", origin, { tls: { ca_file: "good.pem" } }),
      upstream("/untrusted", origin),
      upstream("/impostor", impostor, { tls: { ca_file: "wrong-name.pem" } }),
      upstream("/named", impostor, { tls: { ca_file: "wrong-name.pem", server_name: "other.test" } }),
      upstream("/unverified", impostor, { tls: { insecure_skip_verify: true } }),
      upstream("/not-tls", { url: `https://127.0.0.1:${plain.port}` }),
      upstream("/silent", { url: `https://127.0.0.1:${silent.port}` }, { timeouts: { connect: "300ms" } }),
    ],
    files: { "good.pem": good.cert, "wrong-name.pem": wrongName.cert },
  });
  afterAll(async () => {
    await stopAll(gateway, origin, impostor);
    plain.stop(true);
    silent.stop(true);
  });

  test("is served when its certificate is trusted and has its name", async () => {
    const body = new SeededRandom(9).bytes(200_000);
    for (let i = 0; i < 3; i++) {
      const echo = json<Echo>(await gateway.once(request("POST /trusted/echo", [], body)));
      expect(echo.sha256).toBe(sha256(body));
    }
    expect(json(await gateway.once(request("GET /trusted/canary")))).toEqual({ status: "canary_ok", sequence: 1 });
    expect(origin.connections.length).toBeLessThanOrEqual(2);
  });

  test("is served under another name that the route gives", async () => {
    expect((await gateway.once(request("GET /named/canary"))).status).toBe(200);
  });

  test("is served unverified only where the route says so", async () => {
    expect((await gateway.once(request("GET /unverified/canary"))).status).toBe(200);
  });

  test.each(["/untrusted", "/impostor", "/not-tls"])(
    "is 502 through %s, and never gets the request",
    async (prefix) => {
      const seen = origin.requests.length + impostor.requests.length;
      for (const bytes of [request(`GET ${prefix}/canary`), request(`POST ${prefix}/echo`, [], "secret")]) {
        const reply = await gateway.once(bytes);
        expect(json(reply)).toEqual({ error: "502 Bad Gateway", message: "upstream unavailable" });
      }
      expect(origin.requests.length + impostor.requests.length).toBe(seen);
    },
  );

  test("is 504 when it does not take part in the handshake", async () => {
    const reply = await gateway.once(request("GET /silent/canary"));
    expect([reply.status, json(reply).error]).toEqual([504, "504 Gateway Timeout"]);
  });

  test.each([
    ["/untrusted", origin.port, /SELF_SIGNED|UNABLE_TO/],
    ["/impostor", impostor.port, /ALTNAME/],
    ["/not-tls", plain.port, /^E/],
    ["/silent", silent.port, /^timeout$/],
  ])("has the reason in the log: %s", async (prefix, port, reason) => {
    await gateway.once(request(`GET ${prefix}/why`));
    const line = await gateway.log(
      `why ${prefix} fails`,
      (one) => one.event === "upstream_failed" && String(one.upstream).endsWith(`:${port}`),
    );
    expect(String(line.reason)).toMatch(reason);
  });
});

describe("an https target that asks for a certificate", async () => {
  const authority = await TestAuthority.make("clients");
  const stranger = await TestAuthority.make("strangers");
  const [right, wrong] = await Promise.all([authority.issue(), stranger.issue()]);
  const origin = EchoOrigin.start({
    tls: { ...good, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
  });
  const gateway = await startGateway({
    routes: [
      upstream("/right", origin, { tls: { ca_file: "good.pem", cert_file: "right.pem", key_file: "right.key" } }),
      upstream("/wrong", origin, { tls: { ca_file: "good.pem", cert_file: "wrong.pem", key_file: "wrong.key" } }),
      upstream("/none", origin, { tls: { ca_file: "good.pem" } }),
    ],
    files: {
      "good.pem": good.cert,
      "right.pem": right.cert,
      "right.key": right.key,
      "wrong.pem": wrong.cert,
      "wrong.key": wrong.key,
    },
  });
  afterAll(() => stopAll(gateway, origin));

  test.each([
    ["gets it", "/right", 200],
    ["is not served with another", "/wrong", 502],
    ["is not served without one", "/none", 502],
  ])("%s", async (_name, prefix, status) => {
    expect((await gateway.once(request(`GET ${prefix}/canary`))).status).toBe(status);
  });
});

describe("an https target", async () => {
  const old = startOldServer();
  const expired = EchoOrigin.start({ tls: { cert: past.cert, key: past.key } });
  const hellos: ClientHello[] = [];
  const listening = startHelloServer(hellos);
  const elsewhere = EchoOrigin.start({ tls: wrongName });
  const checked = {
    tls: { insecure_skip_verify: true },
    health_check: { path: "/health", interval: "100ms", timeout: "10s", unhealthy_threshold: 1, healthy_threshold: 1 },
  };
  const gateway = await startGateway({
    routes: [
      upstream("/old", { url: `https://127.0.0.1:${old.port}` }, { tls: { insecure_skip_verify: true } }),
      upstream("/expired", expired, { tls: { ca_file: "expired.pem" } }),
      upstream("/address", { url: `https://127.0.0.1:${listening.port}` }),
      upstream("/name", { url: `https://localhost:${listening.port}` }),
      upstream("/other-name", { url: `https://localhost:${listening.port}` }, { tls: { server_name: "Other.Test" } }),
      upstream("/checked", elsewhere, checked),
    ],
    files: { "expired.pem": past.authority },
  });
  afterAll(async () => {
    await stopAll(gateway, expired, elsewhere);
    old.stop(true);
    listening.stop(true);
  });

  test.each(["/old", "/expired"])("is 502 through %s", async (prefix) => {
    expect((await gateway.once(request(`GET ${prefix}/canary`))).status).toBe(502);
  });

  test.each([
    ["/address", ""],
    ["/name", "localhost"],
    ["/other-name", "other.test"],
  ])("is asked for by its name, and never by an address: %s", async (prefix, name) => {
    hellos.length = 0;
    expect((await gateway.once(request(`GET ${prefix}/canary`))).status).toBe(502);
    expect(new Set(hellos.map((hello) => hello.serverName))).toEqual(new Set([name]));
  });

  test("that is not verified is not verified by health checks either", async () => {
    await elsewhere.until("two checks", () => (elsewhere.requestsFor("/health").length > 1 ? true : undefined));
    expect((await gateway.once(request("GET /checked/canary"))).status).toBe(200);
  });
});

describe("an https target with alternative names", async () => {
  const mesh = await MeshAuthority.make();
  const [pair, expired] = await Promise.all([
    mesh.issue({ name: "o", id: "spiffe://a.test/api", more: "https://b.test", dnsNames: ["api.test", "*.wild.test"] }),
    mesh.issue({ name: "o", id: "spiffe://a.test/api", dnsNames: ["api.test"], days: -1 }),
  ]);
  const origins = [EchoOrigin.start({ tls: pair }), await H2EchoOrigin.start(pair)] as const;
  const old = EchoOrigin.start({ tls: expired });
  const NAMES: Readonly<Record<string, readonly string[]>> = {
    good: ["api.test"],
    upper: ["API.test"],
    id: ["spiffe://a.test/api"],
    second: ["other.test", "https://b.test"],
    wild: ["x.wild.test"],
    pattern: ["*.wild.test"],
    deep: ["x.y.wild.test"],
    parent: ["wild.test"],
    near: ["api.test.evil.test", "spiffe://a.test/api/more", "spiffe://a.test/ap"],
    list: ["*.test"],
  };
  const tls = { ca_file: "ca.pem", server_name: "none.test" };
  const gateway = await startGateway({
    routes: [
      ...Object.entries(NAMES).flatMap(([name, alt_names]) =>
        origins.map((origin, i) => upstream(`/${name}${i + 1}`, origin, { tls: { ...tls, alt_names } })),
      ),
      upstream("/old", old, { tls: { ...tls, alt_names: NAMES.good } }),
      upstream("/stranger", origins[0], { tls: { alt_names: NAMES.good } }),
      upstream("/checked", origins[0], {
        ...{ tls: { ...tls, alt_names: NAMES.good }, health_check: { path: "/health", interval: "100ms" } },
      }),
    ],
    files: { "ca.pem": mesh.pem },
  });
  afterAll(() => stopAll(gateway, ...origins, old));
  const statusOf = async (prefix: string) => (await gateway.once(request(`GET ${prefix}/canary`))).status;

  test("is served if its certificate has one of them, whatever the name that it was asked for", async () => {
    for (const name of ["good", "upper", "id", "second", "wild", "pattern"])
      for (const i of [1, 2]) expect([name, await statusOf(`/${name}${i}`)]).toEqual([name, 200]);
  });

  test("is 502 without one of them, expired or of a stranger", async () => {
    for (const name of ["deep", "parent", "near", "list"])
      for (const i of [1, 2]) expect([name, await statusOf(`/${name}${i}`)]).toEqual([name, 502]);
    expect([await statusOf("/old"), await statusOf("/stranger")]).toEqual([502, 502]);
    await gateway.log(
      "why",
      ({ event, reason }) => event === "upstream_failed" && reason === "ERR_TLS_CERT_ALTNAME_INVALID",
    );
  });

  test("passes its health checks in the same way", async () => {
    await origins[0].until("two checks", () => (origins[0].requestsFor("/health").length > 1 ? true : undefined));
    expect(await statusOf("/checked")).toBe(200);
  });
});

/** A server that does not understand TLS: it answers anything with these bytes, or says nothing. */
function startDeafServer(answer: string) {
  return Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void (answer === "" || socket.end(answer)) },
  });
}

/** A server that speaks TLS 1.1 at most. */
function startOldServer() {
  const versions = { minVersion: 0x0301, maxVersion: 0x0302 };
  return Bun.listen({ hostname: "127.0.0.1", port: 0, tls: { ...good, ...versions } as never, socket: { data() {} } });
}

/** A server that reads each ClientHello and goes away. */
function startHelloServer(hellos: ClientHello[]) {
  return Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, chunk): void {
        const { hello } = readHello([chunk]);
        if (hello !== null) hellos.push(hello);
        socket.end();
      },
    },
  });
}

test("a client certificate that was replaced is shown from the next reload on, to origins of HTTP/2 too", async () => {
  const mesh = await MeshAuthority.make();
  const origin = await H2EchoOrigin.start({ ...(await mesh.issue({ name: "origin" })), clientCa: mesh.pem });
  const first = await mesh.issue({ name: "first" });
  const gateway = await startGateway({
    routes: [upstream("/node", origin, { tls: { ca_file: "ca.pem", cert_file: "cert.pem", key_file: "key.pem" } })],
    files: { "ca.pem": mesh.pem, "cert.pem": first.cert, "key.pem": first.key },
  });
  const peer = async () => json<H2Echo>(await gateway.once(request("GET /node/x"))).peer;
  expect([await peer(), await peer(), origin.connections]).toEqual(["first", "first", 1]);
  const second = await mesh.issue({ name: "second" });
  writeFileSync(join(gateway.folder, "cert.pem"), second.cert);
  writeFileSync(join(gateway.folder, "key.pem"), second.key);
  expect((await gateway.reload()).ok).toBe(true);
  await eventually(async () => expect(await peer()).toBe("second"));
  expect(await peer()).toBe("second");
  await stopAll(gateway, origin);
});
