import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { SHOP_FILE } from "../harness/grpc-shop.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { buildGoShop, GoShop } from "./go-shop.ts";
import { JSON_TEXTS, KNOWN_DIFFERENCES } from "./proto3-json.ts";

// The transcoder before gRPC for Go, and its JSON beside Go's protojson, which follows protobuf's own conformance tests.
const binary = await buildGoShop();

describe.skipIf(binary === null)("gRPC for Go", () => {
  let filed: GoShop;
  let newer: GoShop;
  let older: GoShop;
  let gateway: Gateway;

  beforeAll(async () => {
    [filed, newer, older] = await Promise.all([
      GoShop.start(binary!, "none"),
      GoShop.start(binary!, "v1"),
      GoShop.start(binary!, "v1alpha"),
    ]);
    const route = (http_method: string, http_path: string, method: string, shop: GoShop, more: object = {}) => ({
      http_method,
      http_path,
      grpc_method: `/shop.Shop/${method}`,
      upstream_url: shop.url,
      ...more,
    });
    const set = { descriptor_set: SHOP_FILE };
    gateway = await startGateway({
      config: {
        transcoder: {
          enabled: true,
          routes: [
            route("POST", "/echo", "Echo", filed, set),
            route("GET", "/fail/:code", "Fail", filed, set),
            route("GET", "/hang", "Fail", filed, { ...set, timeout: "300ms" }),
            route("GET", "/watch/:count", "Watch", filed, set),
            route("GET", "/v1/:id", "GetItem", newer),
            route("GET", "/v1alpha/:id", "GetItem", older),
          ],
        },
      },
    });
  });
  afterAll(async () => {
    for (const shop of [filed, newer, older]) shop.stop();
    await gateway.stop();
  });

  const echo = (text: string): Promise<Reply> =>
    gateway.once(request("POST /echo", ["Content-Type: application/json"], Buffer.from(text)));

  test.each(JSON_TEXTS)("proto3 JSON: %s", async (text) => {
    const [ours, theirs] = await Promise.all([echo(text), fetch(filed.reference, { method: "POST", body: text })]);
    expect([text, ours.status]).toEqual([text, theirs.status]);
    if (theirs.ok) expect(json<object>(ours)).toEqual((await theirs.json()) as object);
  });

  test.each(KNOWN_DIFFERENCES)("proto3 JSON, otherwise: %s", async (text, here, there) => {
    const [ours, theirs] = await Promise.all([echo(text), fetch(filed.reference, { method: "POST", body: text })]);
    expect([ours.status, theirs.status]).toEqual([here, there]);
    if (ours.status === 200) expect(ours.text).not.toBe(await theirs.text());
  });

  test("every status, its message percent-encoded by Go", async () => {
    const statuses = [499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401];
    for (const [i, status] of statuses.entries()) {
      const message = `nö % ${i}\n`;
      const reply = await gateway.once(request(`GET /fail/${i + 1}?message=${encodeURIComponent(message)}`));
      expect([reply.status, json(reply)]).toEqual([status, { code: i + 1, message, details: [] }]);
    }
  });

  test("streams, deadlines and clients that leave", async () => {
    const stream = await gateway.once(request("GET /watch/3", ["Accept: application/x-ndjson"]));
    expect(stream.text).toBe('{"id":"1"}\n{"id":"2"}\n{"id":"3"}\n');
    const cancelled = () => filed.lines.lines.filter((line) => line === "cancelled").length;
    expect((await gateway.once(request("GET /hang?how=hang"))).status).toBe(504);
    await eventually(() => expect(cancelled()).toBe(1));
    const client = await gateway.connect();
    client.send(request("GET /watch/1?endless=true", ["Accept: text/event-stream"]));
    await client.takeUntil('"id":"3"', 30_000);
    client.reset();
    await eventually(() => expect(cancelled()).toBe(2));
  });

  test("reflection of both versions", async () => {
    for (const version of ["v1", "v1alpha"]) {
      const reply = await gateway.once(request(`GET /${version}/7?page_size=3&labels.a=b&filter.years=1`));
      expect(reply.status).toBe(200);
      const { id, request: seen } = json<{ id: string; request: string }>(reply);
      expect([id, JSON.parse(seen)]).toEqual([
        "7",
        { id: "7", pageSize: 3, labels: { a: "b" }, filter: { years: [1] } },
      ]);
    }
  });

  test("3 MB in both directions", async () => {
    const blob = Buffer.alloc(2_200_000, 7).toString("base64");
    const reply = await echo(JSON.stringify({ blob }));
    expect([reply.status, JSON.parse(reply.body.toString()).blob === blob]).toEqual([200, true]);
  });
});
