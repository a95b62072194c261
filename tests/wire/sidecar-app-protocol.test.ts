// docs/sidecar.md#listeners: app_protocol, with gRPC's own implementation for Node at both ends.
import { afterAll, describe, expect, test } from "bun:test";
import { connect, createServer, type Server as NetServer, type Socket } from "node:net";
import { Client, credentials, status } from "@grpc/grpc-js";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { chatOf, grpcEcho, unary } from "../harness/grpc-echo.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { OWN_FILES, startSidecar } from "../harness/sidecar.ts";

const LIMIT = 100_000;
/** One port for two applications, told apart by HTTP/2's preface. */
async function sharedPort(
  http1: number,
  http2: number,
): Promise<{ readonly server: NetServer; readonly port: number }> {
  const server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (first: Buffer) => {
      const other = connect(first.toString("latin1", 0, 4) === "PRI " ? http2 : http1, "127.0.0.1");
      other.on("error", () => socket.destroy());
      other.write(first);
      socket.pipe(other).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as { port: number }).port };
}

const grpc = await grpcEcho();
const echo = EchoOrigin.start();
const both = await sharedPort(echo.port, grpc.port);
const mesh = await MeshAuthority.make();
const own = await mesh.issue({ name: "own", id: "spiffe://mesh/ns/shop/sa/web" });
const files = { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": mesh.pem };
const inbound = (settings: object) =>
  startSidecar({ mode: "ingress", max_body_bytes: LIMIT, strict_mtls: true, ...OWN_FILES, ...settings }, files);
const h2c = await inbound({ app_port: grpc.port, app_protocol: "h2c" });
const auto = await inbound({ app_port: both.port, app_protocol: "auto" });
const plain = await startSidecar({ mode: "ingress", max_body_bytes: LIMIT, app_port: both.port, app_protocol: "auto" });
afterAll(async () => {
  for (const { gateway } of [h2c, auto, plain]) await gateway.stop();
  grpc.stop();
  both.server.close();
  echo.stop();
});

describe.each([
  ["h2c", h2c],
  ["auto", auto],
])("gRPC to an application by %s, over mTLS", (_name, sidecar) => {
  const trust = credentials.createSsl(Buffer.from(mesh.pem), Buffer.from(own.key), Buffer.from(own.cert));
  const client = new Client(`localhost:${sidecar.ingress}`, trust);
  afterAll(() => client.close());

  test("a call", async () => {
    expect((await unary(client, Buffer.from("hello"))).toString()).toBe("hello");
    expect((await unary(client, Buffer.alloc(90_000, 7))).length).toBe(90_000);
  });

  test("a stream in both directions, where each message waits for the one before", async () => {
    const got = await chatOf(client, 5);
    expect(got).toEqual(["0", "1", "2", "3", "4"]);
  });

  test("a body beyond the limit ends the call, and no other", async () => {
    const failure = await unary(client, Buffer.alloc(LIMIT + 1)).catch((error: { code: number }) => error.code);
    expect([status.UNKNOWN, status.INTERNAL, status.RESOURCE_EXHAUSTED, status.CANCELLED]).toContain(failure as status);
    expect((await unary(client, Buffer.from("after"))).toString()).toBe("after");
  });
});

describe("auto", () => {
  test("hands all else on as HTTP/1.1, whole and with its length", async () => {
    const reply = await exchangeOnce(plain.ingress, request("POST /a/echo", [], "hello"));
    expect([reply.status, json<Echo>(reply).length]).toEqual([200, 5]);
    const client = await H2Client.connect(plain.ingress);
    const echoed = await client.request(head("POST", "/b/echo", [["content-type", "application/grpc-web"]]), "hello");
    expect([echoed.status, (JSON.parse(echoed.text) as Echo).headers["content-length"]]).toEqual([200, "5"]);
    client.close();
  });

  test("a declared length beyond the limit is 413, and the application sees nothing of it", async () => {
    const client = await H2Client.connect(plain.ingress);
    const more: [string, string][] = [
      ["content-type", "application/grpc"],
      ["content-length", String(LIMIT + 1)],
    ];
    const id = client.headers(head("POST", "/test.Echo/Unary", more), false);
    expect((await client.reply(id)).status).toBe(413);
    client.close();
  });
});
