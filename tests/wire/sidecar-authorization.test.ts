// docs/sidecar.md#authorization and #who-asks: who may ask for what, over each protocol, and how often who did.
import { afterAll, describe, expect, test } from "bun:test";
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { grpcEcho, unary } from "../harness/grpc-echo.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { OWN_FILES, startSidecar } from "../harness/sidecar.ts";
import { TlsClient } from "../harness/tls-client.ts";

const WEB = "spiffe://mesh/ns/shop/sa/web";
const TILL = "spiffe://mesh/ns/till/sa/till";
const mesh = await MeshAuthority.make();
const own = await mesh.issue({ name: "own", id: "spiffe://mesh/ns/orders/sa/orders" });
const files = { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": mesh.pem };
const web = await mesh.issue({ name: "web", id: WEB });
const till = await mesh.issue({ name: "till", id: TILL });
const two = await mesh.issue({ name: "two", id: WEB, more: TILL });

const echo = EchoOrigin.start();
const grpc = await grpcEcho();
const authorization = [
  { identities: [WEB], methods: ["GET"], paths: ["/orders/*"] },
  { identities: ["spiffe://mesh/ns/shop/*"], paths: "/test.Echo/Unary" },
  { paths: ["/healthz"] },
];
const plain = await startSidecar({ mode: "ingress", app_port: echo.port, ...OWN_FILES, authorization }, files);
const h2c = await startSidecar(
  { mode: "ingress", app_port: grpc.port, app_protocol: "h2c", strict_mtls: true, ...OWN_FILES, authorization },
  files,
);
afterAll(async () => {
  await plain.gateway.stop();
  await h2c.gateway.stop();
  echo.stop();
  grpc.stop();
});

const statusOf = async (start: string, as: object) => (await TlsClient.once(plain.ingress, request(start), as)).status;

describe("HTTP/1.1", () => {
  test("what a rule allows reaches the application, all else is 403", async () => {
    expect(await statusOf("GET /orders/7", web)).toBe(200);
    expect(await statusOf("GET /healthz", {})).toBe(200);
    const seen = echo.requests.length;
    expect(await statusOf("POST /orders/7", web)).toBe(403);
    expect(await statusOf("GET /orders/7", till)).toBe(403);
    expect(await statusOf("GET /orders/7", two)).toBe(403);
    expect(await statusOf("GET /orders/7", {})).toBe(403);
    expect(await statusOf("GET /orders/..%2fadmin", web)).toBe(403);
    expect(await statusOf("GET /orders/../admin", web)).toBe(403);
    expect(echo.requests.length).toBe(seen);
  });

  test("a refused request with a body gets its 403, and the connection goes on or closes in order", async () => {
    const reply = await TlsClient.once(plain.ingress, request("POST /orders/7", [], "x".repeat(5000)), web);
    expect(reply.status).toBe(403);
  });

  test("log and counter say who and why", async () => {
    const line = await plain.gateway.logs.until("the refusal", (one) => {
      const { event, identity, method } = one as Record<string, unknown>;
      return event === "sidecar_denied" && identity === TILL && method === "GET";
    });
    expect(line).toMatchObject({ path: "/orders/7", reason: "authorization" });
    const text = (await exchangeOnce(plain.gateway.port, request("GET /metrics"))).text;
    const denied = sumOf(parseMetrics(text), "gateway_sidecar_denied_requests_total", { reason: "authorization" });
    expect(denied).toBeGreaterThanOrEqual(6);
  });
});

test("HTTP/2: 403", async () => {
  const bare = await startSidecar({ mode: "ingress", app_port: echo.port, authorization });
  const client = await H2Client.connect(bare.ingress);
  expect((await client.request(head("GET", "/healthz"))).status).toBe(200);
  expect((await client.request(head("GET", "/orders/7"))).status).toBe(403);
  client.close();
  await bare.gateway.stop();
});

describe("gRPC", () => {
  const as = ({ cert, key }: { cert: string; key: string }) =>
    new Client(
      `localhost:${h2c.ingress}`,
      credentials.createSsl(Buffer.from(mesh.pem), Buffer.from(key), Buffer.from(cert)),
    );

  test("an identity that is allowed calls", async () => {
    const client = as(web);
    expect((await unary(client, Buffer.from("hello"))).toString()).toBe("hello");
    client.close();
  });

  test("any other gets PERMISSION_DENIED, on a connection that goes on", async () => {
    const client = as(till);
    for (const size of [5, 200_000]) {
      const failure = await unary(client, Buffer.alloc(size)).catch((error: ServiceError) => error);
      expect((failure as ServiceError).code).toBe(status.PERMISSION_DENIED);
      expect((failure as ServiceError).details).toBe("not allowed for this identity");
    }
    client.close();
  });
});

test("requests are counted by the identity of the client", async () => {
  await eventually(async () => {
    const metrics = parseMetrics((await exchangeOnce(plain.gateway.port, request("GET /metrics"))).text);
    const count = (labels: Record<string, string>) => sumOf(metrics, "gateway_sidecar_peer_requests_total", labels);
    expect([count({ peer: WEB, code: "200" }), count({ peer: TILL, code: "403" })]).toEqual([1, 1]);
    expect(count({ peer: "none" })).toBeGreaterThanOrEqual(3);
  });
});
