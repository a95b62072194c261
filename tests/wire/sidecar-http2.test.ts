import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type H2Echo, H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { chunked, exchangeOnce, json, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { OWN_FILES, type Sidecar, startSidecar } from "../harness/sidecar.ts";
import { stopAll } from "../harness/teardown.ts";

// Backends of a sidecar's splits that speak HTTP/2, in cleartext (`h2c://`) and over TLS (`h2://`).

const LIMIT = 100_000;
const mesh = await MeshAuthority.make();
const rogue = await MeshAuthority.make("rogue");
const own = await mesh.issue({ name: "own", id: "spiffe://mesh/ns/shop/sa/web" });
const files = { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": mesh.pem };

const plain = await H2EchoOrigin.start();
const none = await H2EchoOrigin.start();
const secure = await H2EchoOrigin.start({ ...(await mesh.issue({ name: "secure" })), clientCa: mesh.pem });
const impostor = await H2EchoOrigin.start(await rogue.issue({ name: "impostor" }));
const expired = await H2EchoOrigin.start(await mesh.issue({ name: "expired", days: -1 }));
const older = EchoOrigin.start({ tls: await mesh.issue({ name: "older" }) });
const traffic_splits = [
  {
    prefix: "/plain",
    backends: [
      { target: plain.url, weight: 1 },
      { target: none.url, weight: 0 },
    ],
  },
  { prefix: "/base", backends: [{ target: `${plain.url}/api` }] },
  { prefix: "/secure", backends: [{ target: secure.url }] },
  { prefix: "/by-address", backends: [{ target: `h2://127.0.0.1:${secure.port}` }] },
  { prefix: "/impostor", backends: [{ target: impostor.url }] },
  { prefix: "/expired", backends: [{ target: expired.url }] },
  { prefix: "/older", backends: [{ target: `h2://localhost:${older.port}` }] },
];
const egress = (settings: object) =>
  startSidecar({ mode: "egress", max_body_bytes: LIMIT, traffic_splits, ...settings }, files);
const bearing = await egress(OWN_FILES);
const bare = await egress({ ca_file: "ca.pem" });
const trusting = await egress({ ...OWN_FILES, ca_file: "", insecure_skip_verify: true });
afterAll(async () => {
  await bare.gateway.stop();
  await trusting.gateway.stop();
  await stopAll(bearing.gateway, plain, none, secure, impostor, expired, older);
});

const get = (sidecar: Sidecar, path: string) => exchangeOnce(sidecar.egress, request(`GET ${path}`));

describe("a split to an origin of HTTP/2", () => {
  test("passes path and fields unchanged, by weight, over one connection", async () => {
    const target = "/plain/./a%2Fb//../c?q=%20";
    const echo = json<H2Echo>(await exchangeOnce(bearing.egress, request(`GET ${target}`, ["X-Other: kept"])));
    expect([echo.target, echo.headers[":authority"], echo.headers["x-other"]]).toEqual([target, "gw.test", "kept"]);
    for (let i = 0; i < 20; i++) expect((await get(bearing, `/plain/${i}`)).status).toBe(200);
    expect([plain.connections, none.requests]).toEqual([1, 0]);
    expect(json<H2Echo>(await get(bearing, "/base/x")).target).toBe("/base/x");
  });

  test("bodies arrive byte for byte with their length, and one beyond the limit not at all", async () => {
    const body = new SeededRandom(7).bytes(LIMIT);
    for (const bytes of [
      request("POST /plain", [], body),
      request("POST /plain", ["Transfer-Encoding: chunked"], chunked(body, 1000)),
    ]) {
      const echo = json<H2Echo>(await exchangeOnce(bearing.egress, bytes));
      expect([echo.sha256, echo.headers["content-length"]]).toEqual([sha256(body), String(LIMIT)]);
    }
    const seen = plain.requests;
    const over = Buffer.alloc(LIMIT + 1);
    for (const bytes of [
      request("POST /plain", [], over),
      request("POST /plain", ["Transfer-Encoding: chunked"], chunked(over, 10_000)),
    ])
      expect((await exchangeOnce(bearing.egress, bytes)).status).toBe(413);
    expect(plain.requests).toBe(seen);
  });

  test("over TLS shows the sidecar's certificate, which the origin asks for", async () => {
    expect(json<H2Echo>(await get(bearing, "/secure/x"))).toMatchObject({ target: "/secure/x", peer: "own" });
    expect(json<H2Echo>(await get(bearing, "/by-address/x"))).toMatchObject({ peer: "own" });
    expect((await get(bare, "/secure/x")).status).toBe(502);
  });

  test("over TLS trusts the configured authority alone, and an origin that does not choose h2 not at all", async () => {
    for (const path of ["/impostor/x", "/expired/x", "/older/x"]) {
      const { status } = await get(bearing, path);
      expect([path, status]).toEqual([path, 502]);
    }
    expect([impostor.requests, expired.requests, older.requests.length]).toEqual([0, 0, 0]);
  });

  test("with verification off takes any certificate, and says so", async () => {
    for (const path of ["/impostor/x", "/expired/x"]) expect((await get(trusting, path)).status).toBe(200);
    await trusting.gateway.log("the warning", (line) => String(line.message).includes("verification is disabled"));
  });
});

test("a pair of sidecars speaks HTTP/2 to each other", async () => {
  const app = EchoOrigin.start();
  const inbound = await startSidecar({ mode: "ingress", app_port: app.port, strict_mtls: true, ...OWN_FILES }, files);
  const backends = [{ target: `h2://localhost:${inbound.ingress}` }];
  const outbound = await startSidecar(
    { mode: "egress", ...OWN_FILES, traffic_splits: [{ prefix: "/", backends }] },
    files,
  );
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, i) => exchangeOnce(outbound.egress, request(`POST /echo/${i}`, [], `body ${i}`))),
  );
  const echoes = replies.map((reply) => json<Echo>(reply));
  expect(echoes.map((echo) => echo.sha256)).toEqual(replies.map((_, i) => sha256(Buffer.from(`body ${i}`))));
  expect(String(echoes[0]!.headers["x-forwarded-client-cert"])).toContain("URI=spiffe://mesh/ns/shop/sa/web");
  await inbound.gateway.stop();
  await stopAll(outbound.gateway, app);
});

test("connections to an origin of HTTP/2 end with the sidecar", async () => {
  const origin = await H2EchoOrigin.start();
  const { gateway, egress: port } = await startSidecar({
    mode: "egress",
    traffic_splits: [{ prefix: "/", backends: [{ target: origin.url }] }],
  });
  expect((await exchangeOnce(port, request("GET /x"))).status).toBe(200);
  expect(origin.sessions.size).toBe(1);
  await gateway.stop();
  await eventually(() => expect(origin.sessions.size).toBe(0));
  origin.stop();
});
