import { afterAll, expect, test } from "bun:test";
import { type ClientHttp2Session, connect } from "node:http2";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE, shopRoute } from "../harness/grpc-shop.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { OWN_FILES, startSidecar } from "../harness/sidecar.ts";
import { stopAll } from "../harness/teardown.ts";

// Clients that speak HTTP/2 to a transcoded route, and to the inbound listener of a sidecar.
const shop = await GrpcShop.start();
const origin = EchoOrigin.start();
const mesh = await MeshAuthority.make();
const own = await mesh.issue({ name: "own", id: "spiffe://mesh/ns/shop/sa/web" });
const route = (http_method: string, http_path: string, method: string, more: object = {}) =>
  shopRoute(http_method, http_path, method, shop.url, more);
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [
        route("GET", "/items/:id", "GetItem"),
        route("POST", "/echo", "Echo"),
        route("GET", "/watch/:count", "Watch"),
      ],
    },
  },
});
const files = { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": mesh.pem };
const sidecar = await startSidecar({ mode: "ingress", app_port: origin.port, strict_mtls: true, ...OWN_FILES }, files);
afterAll(async () => {
  await sidecar.gateway.stop();
  await stopAll(gateway, shop, origin);
});

/** One exchange. */
function ask(
  session: ClientHttp2Session,
  fields: Record<string, string>,
  body = "",
): Promise<[status: number, text: string]> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": body === "" ? "GET" : "POST", ...fields }, { endStream: body === "" });
    let status = 0;
    const parts: Buffer[] = [];
    stream.on("response", (head) => {
      status = Number(head[":status"]);
    });
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("end", () => resolve([status, Buffer.concat(parts).toString()]));
    stream.on("error", reject);
    if (body !== "") stream.end(body);
  });
}

test("a transcoded route answers over HTTP/2", async () => {
  const session = connect(`http://127.0.0.1:${gateway.port}`);
  const answers = await Promise.all([
    ask(session, { ":path": "/items/7" }),
    ask(session, { ":path": "/echo", "content-type": "application/json" }, '{"large":"-1"}'),
    ask(session, { ":path": "/watch/2", accept: "application/x-ndjson" }),
    ask(session, { ":path": "/items/7?nope=1" }),
  ]);
  expect(answers.map(([status]) => status)).toEqual([200, 200, 200, 400]);
  expect(answers.slice(1, 3).map(([, text]) => text)).toEqual(['{"large":"-1"}', '{"id":"1"}\n{"id":"2"}\n']);
  session.close();
});

test("a sidecar takes HTTP/2 by ALPN and hands it on as HTTP/1.1", async () => {
  const session = connect(`https://localhost:${sidecar.ingress}`, { ca: mesh.pem, cert: own.cert, key: own.key });
  const [status, text] = await ask(session, { ":path": "/a?b", "content-type": "text/plain" }, "hello");
  expect([status, JSON.parse(text)]).toMatchObject([200, { target: "/a?b", length: 5, framing: "length" }]);
  expect(text).toContain("URI=spiffe://mesh/ns/shop/sa/web");
  session.close();
});
