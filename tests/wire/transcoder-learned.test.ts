import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { clone } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { FiledReflection } from "../harness/grpc-reflection.ts";
import { GrpcShop, SHOP_FILE } from "../harness/grpc-shop.ts";
import { json, request } from "../harness/raw-client.ts";

// docs/transcoder.md#auto-by-reflection
const started: { stop(): unknown }[] = [];
afterAll(async () => {
  for (const one of started) await one.stop();
});

async function shop(reflection: FiledReflection, version: "v1" | "v1alpha", port?: number): Promise<GrpcShop> {
  const server = await GrpcShop.start({
    ...(port === undefined ? {} : { port }),
    prepare: (to) => reflection.addTo(to, version),
  });
  started.push(server);
  return server;
}

async function learner(upstream_url: string, auto: object | boolean, more: object = {}): Promise<Gateway> {
  const files = { "rules.yaml": "http: {rules: [{selector: shop.Shop.Echo, post: /echo, body: '*'}]}\n" };
  const gateway = await startGateway({
    config: { server: { workers: 2 }, transcoder: { enabled: true, upstream_url, auto, ...more } },
    files,
  });
  started.unshift(gateway);
  return gateway;
}

async function reload(gateway: Gateway, change: (text: string) => string): Promise<void> {
  const file = join(gateway.folder, "config.yaml");
  writeFileSync(file, change(readFileSync(file, "utf8")));
  gateway.signal("SIGHUP");
}

const statusOf = async (gateway: Gateway, line: string) => (await gateway.once(request(line))).status;
const told = (gateway: Gateway, event: string) =>
  gateway.logs.lines.filter((line) => line.includes(`"event":"${event}"`));

describe("auto by reflection", () => {
  test.each(["v1", "v1alpha"] as const)("%s: the routes are there from the first request on", async (version) => {
    const reflection = new FiledReflection(SHOP_FILE);
    const server = await shop(reflection, version);
    const gateway = await learner(server.url, true, { http_rules: ["rules.yaml"] });
    const item = await gateway.once(request("GET /v1/items/7?page_size=3&filter.years=1"));
    expect([item.status, server.calls.at(-1)!.request]).toEqual([
      200,
      { id: "7", pageSize: 3, filter: { years: [1] } },
    ]);
    const echo = await gateway.once(request("POST /echo", ["Content-Type: application/json"], '{"large":"1e3"}'));
    expect(json(echo)).toEqual({ large: "1000" });
    expect(await statusOf(gateway, "GET /nothing")).toBe(404);
    expect(json<{ routes: object[] }>(await gateway.once(request("GET /internal/api/routes"))).routes).toContainEqual(
      expect.objectContaining({ type: "transcoded", path: "/v1/items/{id}", grpc_method: "/shop.Shop/GetItem" }),
    );
    // Each file once, and nothing of reflection itself.
    expect(reflection.asked[0]).toBe("list *");
    expect(reflection.asked.slice(1).toSorted()).toEqual([...new Set(reflection.asked.slice(1))].toSorted());
    expect(reflection.asked.some((one) => one.includes("grpc.reflection"))).toBe(false);
    expect(told(gateway, "schema_learned").length).toBe(1);
  });

  test("services and exclude apply", async () => {
    const server = await shop(new FiledReflection(SHOP_FILE), "v1");
    const gateway = await learner(server.url, { services: ["shop.*"], exclude: ["shop.Shop/Watch"] });
    expect(await statusOf(gateway, "GET /v1/items/7")).toBe(200);
    expect(await statusOf(gateway, "GET /v1/watch/1")).toBe(404);
  });

  test("503 until the upstream is there, with one line; then its routes, in every worker", async () => {
    const port = freePort();
    const gateway = await learner(`http://127.0.0.1:${port}`, true);
    const reply = await gateway.once(request("GET /v1/items/7"));
    expect([reply.status, json(reply)]).toEqual([
      503,
      { error: "503 Service Unavailable", message: "the methods of the gRPC upstream are not known yet" },
    ]);
    expect(await statusOf(gateway, "GET /health")).toBe(200);
    await shop(new FiledReflection(SHOP_FILE), "v1", port);
    await gateway.log("schema_learned", ({ event }) => event === "schema_learned");
    await eventually(async () => {
      const all = await Promise.all(Array.from({ length: 8 }, () => statusOf(gateway, "GET /v1/items/7")));
      expect(new Set(all)).toEqual(new Set([200]));
    }, 30_000);
    expect(await statusOf(gateway, "GET /nothing")).toBe(404);
    expect(told(gateway, "schema_failed").length).toBe(1);
    expect(told(gateway, "schema_failed")[0]).toContain('"kept":false');
  }, 60_000);

  test("an upstream that has become another has other routes; one that goes away keeps them", async () => {
    const reflection = new FiledReflection(SHOP_FILE);
    const server = await shop(reflection, "v1");
    const gateway = await learner(server.url, { refresh: "1s" });
    expect(await statusOf(gateway, "GET /v1/watch/1")).toBe(200);
    reflection.files = reflection.files.map((file) => {
      const copy = clone(FileDescriptorProtoSchema, file);
      for (const service of copy.service) service.method = service.method.filter(({ name }) => name !== "Watch");
      return copy;
    });
    await eventually(async () => expect(await statusOf(gateway, "GET /v1/watch/1")).toBe(404), 30_000);
    expect(await statusOf(gateway, "GET /v1/items/7")).toBe(200);
    server.stop();
    await gateway.log("schema_failed", ({ event }) => event === "schema_failed");
    expect(told(gateway, "schema_failed")[0]).toContain('"kept":true');
    expect(await statusOf(gateway, "GET /v1/items/7")).toBe(502);
  }, 60_000);

  test("a reload takes up another upstream, and no upstream", async () => {
    const [first, second] = [
      await shop(new FiledReflection(SHOP_FILE), "v1"),
      await shop(new FiledReflection(SHOP_FILE), "v1"),
    ];
    const gateway = await learner(first.url, true);
    expect(await statusOf(gateway, "GET /v1/items/1")).toBe(200);
    const calls = first.calls.length;
    await reload(gateway, (text) => text.replace(first.url, second.url));
    await eventually(async () => {
      expect(await statusOf(gateway, "GET /v1/items/2")).toBe(200);
      expect(second.calls.at(-1)?.request).toEqual({ id: "2" });
    }, 30_000);
    expect(first.calls.length).toBeGreaterThanOrEqual(calls);
    await reload(gateway, (text) => text.replace("auto: true", "auto: false"));
    await eventually(async () => expect(await statusOf(gateway, "GET /v1/items/2")).toBe(404), 30_000);
  }, 60_000);

  test.each([
    ["a message of 100 MB", Buffer.from([0, 5, 0xf5, 0xe1, 0, 0, 0, 0]), "message size 100000000 is larger"],
    ["a compressed message", Buffer.from([1, 0, 0, 0, 1, 0]), "compressed"],
    ["no message", null, "the upstream has no reflection"],
  ])("a server that responds with %s is told of, and serves on", async (_, bytes, error) => {
    const server = createServer();
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      const { respond } = stream as ServerHttp2Stream;
      const status = bytes === null ? { "grpc-status": "12" } : {};
      const fields = { ":status": 200, "content-type": "application/grpc", ...status };
      respond.call(stream, fields, { endStream: bytes === null });
      if (bytes !== null) stream.write(bytes);
    });
    server.on("session", (session) => session.on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    started.push({ stop: () => void server.close() });
    const gateway = await learner(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, true);
    const line = await gateway.log("schema_failed", ({ event }) => event === "schema_failed");
    expect(String(line.error)).toContain(error);
    expect(await statusOf(gateway, "GET /v1/items/7")).toBe(503);
    expect(await statusOf(gateway, "GET /health")).toBe(200);
  });

  test("a server without reflection, and one with too much, are told of", async () => {
    const plain = await GrpcShop.start();
    const large = new FiledReflection(SHOP_FILE);
    large.files = large.files.map((file) => {
      const copy = clone(FileDescriptorProtoSchema, file);
      if (file.service.length > 0) copy.dependency.push(...Array.from({ length: 1200 }, (_, i) => `more/${i}.proto`));
      return copy;
    });
    const server = await shop(large, "v1");
    started.push(plain);
    for (const [url, error] of [
      [plain.url, "the upstream has no reflection"],
      [server.url, "more than 1000 files"],
    ] as const) {
      const gateway = await learner(url, true);
      expect(await statusOf(gateway, "GET /v1/items/7")).toBe(503);
      await gateway.log("schema_failed", (line) => line.event === "schema_failed" && line.error === error);
    }
  }, 60_000);
});
