// Compression beside what else answers or changes a response: pages for errors, transcoded routes, header edits.
import { afterAll, expect, test } from "bun:test";
import { decoded, sampleJson } from "../harness/decoding.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE } from "../harness/grpc-shop.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const BODY = sampleJson(5000);
const JSON_TYPE = "Content-Type: application/json";
const PAGE = `<!doctype html><p>${"not here ".repeat(300)}</p>`;

const shop = await GrpcShop.start();
const origin = ScriptedOrigin.start();
const gateway = await startGateway({
  config: {
    server: { compression: {}, cache: { enabled: true } },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [{ http_method: "POST", http_path: "/echo", grpc_method: "/shop.Shop/Echo", upstream_url: shop.url }],
    },
  },
  routes: [
    upstream("/pages", origin, { strip_prefix: false, errors: { intercept: true, 404: "./page.html" } }),
    upstream("/edits", origin, {
      strip_prefix: false,
      headers: { request: { remove: ["Accept-Encoding"] }, response: { set: { "Cache-Control": "no-transform" } } },
    }),
    { type: "respond", path: "/fixed", body: "x".repeat(3000), headers: { response: { set: { ETag: '"v1"' } } } },
  ],
  files: { "page.html": PAGE },
});
afterAll(() => stopAll(gateway, shop, origin));

test("a page in place of an origin's error goes out as it is, the compressed response does not", async () => {
  origin.on("/pages/a", (call) => call.reply("404 Not Found", [JSON_TYPE], BODY));
  const lines = ["Accept-Encoding: gzip", "Accept: text/html"];
  const client = await gateway.connect();
  for (let i = 0; i < 3; i++) {
    const page = await client.exchange(request("GET /pages/a", lines));
    expect([page.status, page.fields.get("content-encoding"), page.text]).toEqual([404, null, PAGE]);
  }
  // Programs get what the origin said, compressed.
  const reply = await client.exchange(request("GET /pages/a", ["Accept-Encoding: gzip", "Accept: application/json"]));
  expect(reply.status).toBe(404);
  client.close();
  const h2 = await H2Client.connect(gateway.port);
  const page = await h2.request(
    head("GET", "/pages/a", [
      ["accept-encoding", "zstd"],
      ["accept", "text/html"],
    ]),
  );
  expect([page.status, page.text]).toEqual([404, PAGE]);
  h2.close();
});

test("a transcoded response is compressed", async () => {
  const text = "a".repeat(5000);
  const lines = [JSON_TYPE, "Accept-Encoding: br"];
  const reply = await gateway.once(request("POST /echo", lines, JSON.stringify({ text })));
  const plain = await gateway.once(request("POST /echo", [JSON_TYPE], JSON.stringify({ text })));
  expect([reply.status, plain.status]).toEqual([200, 200]);
  expect(plain.body.byteLength).toBeGreaterThan(1024);
  expect(reply.fields.get("content-encoding")).toBe("br");
  expect(decoded("br", reply.body).equals(plain.body)).toBe(true);
});

test("a route's header edits come before: they can forbid it, and keep the origin from encoding", async () => {
  origin.on("/edits/a", (call) => call.reply("200 OK", [JSON_TYPE], BODY));
  const reply = await gateway.once(request("GET /edits/a", ["Accept-Encoding: gzip"]));
  expect([reply.fields.get("content-encoding"), reply.body.equals(BODY)]).toEqual([null, true]);
  expect(origin.requestsFor("/edits/a")[0]!.fields.get("accept-encoding")).toBe(null);
});

test("a response of the gateway's own is compressed once", async () => {
  for (let i = 0; i < 2; i++) {
    const reply = await gateway.once(request("GET /fixed", ["Accept-Encoding: zstd"]));
    expect([reply.status, reply.fields.get("content-encoding"), reply.fields.get("etag")]).toEqual([
      200,
      "zstd",
      'W/"v1"',
    ]);
    expect(decoded("zstd", reply.body).toString()).toBe("x".repeat(3000));
  }
});
