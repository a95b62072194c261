import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE, shopRoute } from "../harness/grpc-shop.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const JSON_TYPE = ["Content-Type: application/json"];
const shop = await GrpcShop.start();
const origin = EchoOrigin.start();
const route = (http_method: string, http_path: string, method: string, more: object = {}) =>
  shopRoute(http_method, http_path, method, shop.url, more);
const gateway = await startGateway({
  config: {
    server: { cache: { enabled: true }, cors: { enabled: true, allowed_origins: ["https://app.test"] } },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      max_body_bytes: 5_000_000,
      routes: [
        route("GET", "/items/:item", "GetItem", { field_mappings: { item: "id" } }),
        route("PUT", "/items/:id", "UpdateItem"),
        route("GET", "/items/:id/by/:author", "GetItem", { field_mappings: { author: "filter.author" } }),
        route("POST", "/echo", "Echo"),
        route("GET", "/nothing", "Nothing"),
      ],
    },
  },
  routes: [upstream("/", origin, { strip_prefix: false })],
});
afterAll(() => stopAll(gateway, shop, origin));

/** The request that the service saw last. */
function seen() {
  return shop.calls.at(-1)!;
}

describe("a transcoded request", () => {
  test("is answered by the service each time: such answers are never stored", async () => {
    const calls = shop.calls.length;
    for (let i = 0; i < 2; i++) {
      const reply = await gateway.once(request("GET /items/again"));
      expect([reply.status, reply.fields.has("x-cache")]).toEqual([200, false]);
    }
    expect(shop.calls.length).toBe(calls + 2);
  });

  test("becomes a message of path, query and body, the path first", async () => {
    const body = '{"id":"from the body","filter":{"author":"b","years":[1]},"tags":["body"],"dry_run":true}';
    const target = "/items/4%2F2%20%C3%A9?id=q&filter.author=q&filter.years=9&tags=a&page_size=3&color=RED&labels.x=y";
    const reply = await gateway.once(request(`PUT ${target}`, JSON_TYPE, body));
    expect([reply.status, reply.fields.get("content-type")]).toEqual([200, "application/json"]);
    expect(seen().request).toEqual({
      id: "4/2 é",
      filter: { author: "b", years: [1] },
      tags: ["body"],
      pageSize: 3,
      dryRun: true,
      color: "RED",
      labels: { x: "y" },
    });
    expect(json(reply)).toMatchObject({ id: "4/2 é", title: "item 4/2 é", serial: "9007199254740993" });
    expect(reply.fields.get("x-shop")).toBe("open");
  });

  test("takes repeated query keys as lists, and both spellings of a name", async () => {
    await gateway.once(
      request("GET /items/1?tags=a&tags=b+c%26d&pageSize=7&filter.years=1&filter.years=-2&dry_run=false"),
    );
    expect(seen().request).toEqual({ id: "1", tags: ["a", "b c&d"], pageSize: 7, filter: { years: [1, -2] } });
    await gateway.once(request("GET /items/1/by/me"));
    expect(seen().request).toEqual({ id: "1", filter: { author: "me" } });
  });

  test("answers {} for an empty message, and HEAD as GET without a body", async () => {
    expect((await gateway.once(request("GET /nothing"))).text).toBe("{}");
    const client = await gateway.connect();
    const head = await client.exchange(request("HEAD /items/9"));
    expect([head.status, head.body.length, Number(head.fields.get("content-length")) > 10]).toEqual([200, 0, true]);
    expect(json(await client.exchange(request("GET /items/10")))).toMatchObject({ id: "10" });
    client.close();
  });

  test("keeps 3 MB whole in both directions, declared or in chunks", async () => {
    const blob = Buffer.alloc(3_000_000, 7).toString("base64");
    const body = JSON.stringify({ blob });
    for (const bytes of [
      request("POST /echo", JSON_TYPE, body),
      request("POST /echo", [...JSON_TYPE, "Transfer-Encoding: chunked"], chunked(body, 65_536)),
    ]) {
      const reply = await gateway.once(bytes);
      expect([reply.status, JSON.parse(reply.body.toString()).blob === blob]).toEqual([200, true]);
    }
  });

  test("is counted and logged under its pattern", async () => {
    await gateway.once(request("GET /items/77"));
    const line = await gateway.log("the access line", (one) => one.event === "access" && one.path === "/items/77");
    expect(line).toMatchObject({ status: 200, route: "/items/:item", upstream: shop.url });
    const metrics = await gateway.once(request("GET /metrics"));
    expect(metrics.text).toMatch(/gateway_requests_total\{method="GET",code="200",path="\/items\/:item"\} \d/);
    expect(metrics.text).toMatch(/gateway_upstream_requests_total\{upstream="http:\/\/127.0.0.1:\d+",code="200"\} \d/);
    const routes = json<{ routes: { type: string }[] }>(await gateway.once(request("GET /internal/api/routes")));
    expect(routes.routes.filter((one) => one.type === "transcoded").length).toBe(5);
  });
});

describe("header fields", () => {
  test("with names that every object has a member of arrive as they are", async () => {
    await gateway.once(request("GET /items/1", ["__proto__: a", "constructor: b", "X-After: c"]));
    const { metadata } = seen();
    expect([metadata.constructor as unknown, metadata["x-after"]]).toEqual(["b", "c"]);
  });

  test("of the connection are removed, TE is the gateway's, all others are preserved", async () => {
    await gateway.once(
      request("GET /items/1", [
        "Connection: close, X-Hop, Authorization, Cookie, X-Forwarded-For",
        "X-Hop: 1",
        "Keep-Alive: 5",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic x",
        "Trailer: X-T",
        "TE: gzip, deflate",
        "Authorization: Bearer s3cret",
        "X-Request-Id: my-id-1",
        "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "User-Agent: tester/1",
        "X-Twice: a",
        "X-Twice: b",
        "Cookie: a=b",
        "grpc-timeout: 1n",
        "grpc-status: 0",
        "X-Forwarded-For: 6.6.6.6",
        "X-Forwarded-Client-Cert: forged",
        "Forwarded: for=6.6.6.6",
        "X_Original_URL: 6.6.6.6",
        "X-HTTP-Method-Override: 6.6.6.6",
      ]),
    );
    const { metadata } = seen();
    expect(metadata).toMatchObject({
      authorization: "Bearer s3cret",
      "x-request-id": "my-id-1",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "user-agent": "tester/1",
      cookie: "a=b",
      "x-forwarded-for": "127.0.0.1",
      via: "1.1 edge",
    });
    expect(metadata["x-twice"]).toContain("a");
    const gone = ["x-hop", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "trailer", "host"];
    expect(
      Object.keys(metadata).filter((name) => [...gone, "x-forwarded-client-cert", "grpc-status"].includes(name)),
    ).toEqual([]);
  });
});

describe("a bad request is refused before the upstream hears of it", () => {
  test("is told in few words, however long the value is", async () => {
    const body = `{"large":"${"1".repeat(100_000)}"}`;
    const reply = await gateway.once(request("POST /echo", ["Content-Type: application/json"], body));
    expect(reply.status).toBe(400);
    expect(json(reply)).toMatchObject({ code: 3, message: expect.stringContaining("shop.Everything.large") });
    expect(reply.body.length).toBeLessThan(1000);
  });

  test.each([
    ["broken JSON", "POST /echo", JSON_TYPE, '{"flag":', 400],
    ["a wrong type", "POST /echo", JSON_TYPE, '{"flag":1}', 400],
    ["an unknown field", "POST /echo", JSON_TYPE, '{"flagg":true}', 400],
    ["a name twice", "POST /echo", JSON_TYPE, '{"flag":true,"flag":false}', 400],
    ["two of one oneof", "POST /echo", JSON_TYPE, '{"word":"a","number":1}', 400],
    ["deep nesting", "POST /echo", JSON_TYPE, `${'{"inner":'.repeat(101)}{}${"}".repeat(101)}`, 400],
    ["very deep nesting", "POST /echo", JSON_TYPE, "[".repeat(900_000), 400],
    ["a list for a message", "POST /echo", JSON_TYPE, "[]", 400],
    ["bytes that are no UTF-8", "POST /echo", JSON_TYPE, '{"text":"\xff"}', 400],
    ["text", "POST /echo", ["Content-Type: text/plain"], "{}", 415],
    ["a form", "POST /echo", ["Content-Type: application/x-www-form-urlencoded"], "a=b", 415],
    ["a compressed body", "POST /echo", [...JSON_TYPE, "Content-Encoding: gzip"], "xx", 415],
    ["a number that is none", "GET /items/1?page_size=three", [], "", 400],
    ["a number out of range", "GET /items/1?page_size=3000000000", [], "", 400],
    ["an unknown enum value", "GET /items/1?color=BLUE", [], "", 400],
    ["an unknown query field", "GET /items/1?nope=1", [], "", 400],
    ["one value twice", "GET /items/1?page_size=1&page_size=2", [], "", 400],
    ["a message as text", "GET /items/1?filter=x", [], "", 400],
    ["broken escapes", "GET /items/1?name=%zz", [], "", 400],
    ["an escape that is no UTF-8", "GET /items/%ff", [], "", 400],
  ])("%s", async (_, line, fields, body, status) => {
    const before = shop.calls.length;
    const reply = await gateway.once(request(line, [...fields], body));
    expect([reply.status, json(reply)]).toMatchObject([status, { code: 3, details: [] }]);
    expect(shop.calls.length).toBe(before);
  });

  test("a body beyond the limit, declared or in chunks", async () => {
    const before = shop.calls.length;
    const declared = await gateway.once("POST /echo HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 5000001\r\n\r\n");
    const body = JSON.stringify({ text: "x".repeat(5_000_000) });
    const fields = [...JSON_TYPE, "Transfer-Encoding: chunked"];
    const streamed = await gateway.once(request("POST /echo", fields, chunked(body, 65_536)));
    for (const reply of [declared, streamed]) {
      expect([reply.status, json(reply).message]).toEqual([413, "request body exceeds 5000000 bytes"]);
    }
    expect(shop.calls.length).toBe(before);
  });
});

describe("paths", () => {
  test("of a transcoded route with another method are 405, whatever else would take them", async () => {
    const reply = await gateway.once(request("PATCH /items/1", JSON_TYPE, "{}"));
    expect([reply.status, reply.fields.get("allow")]).toEqual([405, "GET, HEAD, PUT"]);
    expect((await gateway.once(request("GET /echo"))).status).toBe(405);
  });

  test("with another number of segments go where other requests go", async () => {
    const seenBefore = shop.calls.length;
    expect(json(await gateway.once(request("GET /items/1/2")))).toMatchObject({ target: "/items/1/2" });
    expect(json(await gateway.once(request("GET /items")))).toMatchObject({ target: "/items" });
    expect(shop.calls.length).toBe(seenBefore);
  });

  test("answer a browser's preflight", async () => {
    const fields = ["Origin: https://app.test", "Access-Control-Request-Method: PUT"];
    const reply = await gateway.once(request("OPTIONS /items/1", fields));
    expect([reply.status, reply.fields.get("access-control-allow-origin")]).toEqual([204, "https://app.test"]);
  });
});

test("a gateway without another route says 404 and 405", async () => {
  const alone = await startGateway({
    config: {
      transcoder: { enabled: true, descriptor_set: SHOP_FILE, routes: [route("GET", "/items/:id", "GetItem")] },
    },
  });
  const wrong = await alone.once(request("DELETE /items/1"));
  expect([wrong.status, wrong.fields.get("allow")]).toEqual([405, "GET, HEAD"]);
  for (const path of ["/items", "/items/", "/items/1/", "/items/1/2", "/other/1"]) {
    expect([path, (await alone.once(request(`GET ${path}`))).status]).toEqual([path, 404]);
  }
  await alone.stop();
});

test("many requests share one connection, and a reload changes the routes", async () => {
  const replies = await Promise.all(Array.from({ length: 50 }, (_, i) => gateway.once(request(`GET /items/${i}`))));
  expect(replies.every((reply) => reply.status === 200)).toBe(true);
  await eventually(() => expect(shop.calls.length).toBeGreaterThan(50));
});

test("edge check tells what the descriptor set does not have", async () => {
  const config = { transcoder: { enabled: true, descriptor_set: SHOP_FILE, routes: [route("GET", "/x/:id", "Nope")] } };
  const run = await runEdge(["check"], { config });
  expect(run.code).toBe(1);
  expect(run.stdout + run.stderr).toContain(
    "transcoder.routes[0].grpc_method: expected a method of the descriptor set",
  );
});
