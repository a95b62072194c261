import { afterAll, expect, test } from "bun:test";
import { createServer, type Http2Server } from "node:http2";
import { create, fromJson, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { SHOP, SHOP_FILE } from "../harness/grpc-shop.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// The transcoder before connect-node, the other implementation of gRPC for Node.
const service = SHOP.registry.getService("shop.Shop")!;
const item = SHOP.registry.getMessage("shop.Item")!;
const filter = SHOP.registry.getMessage("shop.Filter")!;
const requestType = SHOP.registry.getMessage("shop.ItemRequest")!;
let aborted = 0;

const server: Http2Server = createServer(
  connectNodeAdapter({
    routes: (router) => {
      router.service(service, {
        getItem: (message: never) =>
          fromJson(item, { id: "7", request: JSON.stringify(toJson(requestType, message)), serial: "-1" }) as never,
        fail: (message: { code: number; message: string }) => {
          const detail = { desc: filter as never, value: { author: "the detail", years: [] } as never };
          throw new ConnectError(message.message, message.code as Code, { "x-trailer": "t" }, [detail]);
        },
        async *watch(message: { count: number; endless: boolean }, context: { signal: AbortSignal }) {
          context.signal.addEventListener("abort", () => aborted++);
          for (let i = 1; message.endless || i <= message.count; i++) {
            if (context.signal.aborted) return;
            yield create(item, { id: String(i) } as never) as never;
            if (message.endless) await Bun.sleep(5);
          }
        },
      } as never);
    },
  }) as never,
);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const upstream_url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
const route = (http_path: string, method: string) => ({
  http_method: "GET",
  http_path,
  grpc_method: `/shop.Shop/${method}`,
  upstream_url,
});
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [route("/items/:id", "GetItem"), route("/fail/:code", "Fail"), route("/watch/:count", "Watch")],
    },
  },
});
afterAll(() => stopAll(gateway, { stop: () => void server.close() }));

test("one message each way", async () => {
  const reply = await gateway.once(request("GET /items/abc?tags=x&page_size=2"));
  expect([reply.status, json(reply)]).toMatchObject([200, { id: "7", serial: "-1" }]);
  expect(JSON.parse(json<{ request: string }>(reply).request)).toEqual({ id: "abc", tags: ["x"], pageSize: 2 });
});

test("errors with details of the service's own types", async () => {
  const reply = await gateway.once(request(`GET /fail/${Code.NotFound}?message=${encodeURIComponent("nö %")}`));
  expect([reply.status, json(reply)]).toEqual([
    404,
    { code: 5, message: "nö %", details: [{ "@type": "type.googleapis.com/shop.Filter", author: "the detail" }] },
  ]);
});

test("streams, and a client that leaves", async () => {
  expect((await gateway.once(request("GET /watch/2"))).text).toBe('[{"id":"1"},{"id":"2"}]');
  const client = await gateway.connect();
  client.send(request("GET /watch/1?endless=true", ["Accept: text/event-stream"]));
  await client.takeUntil('"id":"3"', 30_000);
  const before = aborted;
  client.reset();
  await eventually(() => expect(aborted).toBeGreaterThan(before));
});
