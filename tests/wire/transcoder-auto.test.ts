import { afterAll, expect, test } from "bun:test";
import { createSecureServer } from "node:http2";
import { fromJson } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { makeCertificate } from "../harness/certificate.ts";
import { startGateway } from "../harness/gateway.ts";
import { GrpcShop, SHOP, SHOP_FILE } from "../harness/grpc-shop.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// Routes that the google.api.http options of tests/vectors/transcode/shop.proto ask for, behind the firewall.
const shop = await GrpcShop.start();
const gateway = await startGateway({
  config: {
    server: { waf: { enabled: true } },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      auto: true,
      upstream_url: shop.url.replace("http:", "h2c:"),
    },
  },
});
afterAll(() => stopAll(gateway, shop));

const seen = () => shop.calls.at(-1)!;
const JSON_TYPE = ["Content-Type: application/json"];

test.each([
  ["GET /v1/items/7?page_size=2", "GetItem", { id: "7", pageSize: 2 }],
  ["GET /v1/shelves/a%2Fb/items/2", "GetItem", { name: "shelves/a%2Fb/items/2" }],
  ["GET /v1/items/7/me:check", "GetItem", { id: "7", filter: { author: "me" } }],
  ["GET /v1/watch/2", "Watch", { count: 2 }],
])("%s", async (line, method, message) => {
  expect((await gateway.once(request(line))).status).toBe(200);
  expect([seen().method, seen().request]).toEqual([method, message]);
});

test("a body that is one field, or the message; one field as the answer", async () => {
  await gateway.once(request("POST /v1/items?dry_run=true", JSON_TYPE, '{"title":"new"}'));
  expect([seen().method, seen().request]).toEqual(["CreateItem", { item: { title: "new" }, dryRun: true }]);
  await gateway.once(request("PATCH /v1/items/9", JSON_TYPE, '{"name":"n","id":"body"}'));
  expect([seen().method, seen().request]).toEqual(["UpdateItem", { id: "9", name: "n" }]);
  const file = await gateway.once(request("GET /files/a/b%20c/d"));
  expect([file.status, file.text, seen().request]).toEqual([200, '"item "', { name: "a/b c/d" }]);
});

test("entries of a map in the query, by brackets and by dots; and none where the body is the whole message", async () => {
  await gateway.once(request("GET /v1/items/7?labels[env]=prod&labels.tier=1&labels%5Ba.b%5D=x"));
  expect(JSON.stringify(seen().request)).toBe('{"id":"7","labels":{"env":"prod","tier":"1","a.b":"x"}}');
  for (const query of ["labels=x", "labels[a]=1&labels[a]=2", "tags[0]=x", "nope[a]=x"]) {
    expect((await gateway.once(request(`GET /v1/items/7?${query}`))).status).toBe(400);
  }
  await gateway.once(request("PATCH /v1/items/9?page_size=3&nothing=1", JSON_TYPE, '{"name":"n"}'));
  expect(seen().request).toEqual({ id: "9", name: "n" });
});

test("other verbs, methods and shapes are none of theirs", async () => {
  expect((await gateway.once(request("GET /v1/items/7/me:other"))).status).toBe(404);
  expect((await gateway.once(request("GET /v1/shelves/1/items"))).status).toBe(404);
  const wrong = await gateway.once(request("DELETE /v1/items/7"));
  expect([wrong.status, wrong.fields.get("allow")]).toEqual([405, "GET, HEAD, PATCH"]);
});

test("the firewall sees the bodies", async () => {
  const calls = shop.calls.length;
  const attack = JSON.stringify({ title: "1' UNION SELECT password FROM users--" });
  // What has no type is JSON there.
  for (const lines of [JSON_TYPE, [], ["Content-Encoding:"], ["Content-Type: application/a+json;charset=utf-8"]]) {
    expect((await gateway.once(request("POST /v1/items", lines, attack))).status).toBe(403);
  }
  expect(shop.calls.length).toBe(calls);
});

test("an upstream over TLS is verified", async () => {
  const certificate = await makeCertificate();
  const routes = (router: { service(...args: unknown[]): void }): void =>
    router.service(SHOP.registry.getService("shop.Shop"), {
      getItem: () => fromJson(SHOP.registry.getMessage("shop.Item")!, { id: "secure" }),
    });
  const server = createSecureServer(certificate, connectNodeAdapter({ routes: routes as never }) as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const upstream_url = `https://localhost:${(server.address() as { port: number }).port}`;
  const start = (tls: object) =>
    startGateway({
      config: { transcoder: { enabled: true, descriptor_set: SHOP_FILE, auto: true, upstream_url, tls } },
      files: { "ca.pem": certificate.cert },
    });
  const [trusting, doubting] = await Promise.all([start({ ca_file: "ca.pem" }), start({})]);
  expect(json(await trusting.once(request("GET /v1/items/7")))).toEqual({ id: "secure" });
  expect((await doubting.once(request("GET /v1/items/7"))).status).toBe(502);
  await Promise.all([trusting.stop(), doubting.stop()]);
  server.close();
}, 60_000);
