// docs/sidecar.md#a-function-before-the-application
import { afterAll, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { runEdge } from "../harness/gateway.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { OWN_FILES, startSidecar } from "../harness/sidecar.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const MODULE = `export default { async fetch(request, ctx) {
  const { pathname } = new URL(request.url);
  if (pathname === "/own") return Response.json({ route: ctx.route, by: "the function" });
  if (pathname === "/body") return new Response(await request.text());
  if (pathname === "/throw") throw new Error("secret");
  if (pathname === "/slow") await Bun.sleep(3000);
  const response = await ctx.upstream();
  response.headers.set("x-by", "function");
  return response;
} };\n`;
const mesh = await MeshAuthority.make();
const shop = await mesh.issue({ name: "shop", id: "spiffe://mesh/ns/shop/sa/web" });
const bank = await mesh.issue({ name: "bank", id: "spiffe://mesh/ns/bank/sa/web" });
const origin = EchoOrigin.start();
const files = { "app.ts": MODULE, "cert.pem": shop.cert, "key.pem": shop.key, "ca.pem": mesh.pem };
const own = { module: "./app.ts", timeout: "1s" };
const plain = await startSidecar({ app_port: origin.port, function: own, max_body_bytes: 100_000 }, files);
const strict = await startSidecar(
  {
    ...OWN_FILES,
    app_port: origin.port,
    function: "./app.ts",
    strict_mtls: true,
    allowed_ids: ["spiffe://mesh/ns/shop/*"],
  },
  files,
);
afterAll(() => stopAll(plain.gateway, strict.gateway, origin));

const ask = (path: string, lines: readonly string[] = [], body?: string) =>
  exchangeOnce(plain.ingress, request(`${body === undefined ? "GET" : "POST"} ${path}`, lines, body));

test("responds to what comes in, and asks the application", async () => {
  expect(json<object>(await ask("/own"))).toEqual({ route: "sidecar-ingress", by: "the function" });
  const reply = await ask("/a/b?q=1", [], "the body");
  expect(reply.fields.get("x-by")).toBe("function");
  const { method, target, length, sha256: digest } = json<Echo>(reply);
  expect([method, target, length, digest]).toEqual(["POST", "/a/b?q=1", 8, sha256(Buffer.from("the body"))]);
});

test("bodies have the sidecar's bounds, failures their statuses", async () => {
  expect((await ask("/body", [], "b".repeat(50_000))).text).toBe("b".repeat(50_000));
  expect((await ask("/body", [], "b".repeat(100_001))).status).toBe(413);
  expect((await ask("/throw")).status).toBe(500);
  expect((await ask("/slow")).status).toBe(504);
});

test("only for clients that may come; what goes out does not pass it", async () => {
  const reply = await TlsClient.once(strict.ingress, request("GET /own"), shop);
  expect(json<object>(reply)).toMatchObject({ by: "the function" });
  expect((await TlsClient.once(strict.ingress, request("GET /own"), bank)).status).toBe(403);
  const out = await exchangeOnce(plain.egress, request("GET /own", [`Host: 127.0.0.1:${origin.port}`]));
  expect([out.status, out.fields.get("x-by")]).toEqual([200, null]);
});

test("edge check loads the module", async () => {
  const config = { sidecar: { enabled: true, function: "./app.ts" } };
  const { code, stdout, stderr } = await runEdge(["check"], { config, files: { "app.ts": "export default {;\n" } });
  expect([code, stdout + stderr]).toEqual([1, expect.stringContaining("app.ts:1:17")]);
});
