import { afterAll, expect, test } from "bun:test";
import { startGateway } from "../harness/gateway.ts";
import { SHOP_FILE } from "../harness/grpc-shop.ts";
import { Code, END_HEADERS, END_STREAM, Type } from "../harness/h2-client.ts";
import { H2Origin, type H2OriginStream } from "../harness/h2-origin.ts";
import { request } from "../harness/raw-client.ts";
import { grpcFrame } from "../harness/raw-grpc-server.ts";
import { stopAll } from "../harness/teardown.ts";

// Transcoded calls share the rules of other origins of HTTP/2 for connections that are closed and calls that are turned away.

const origin = await H2Origin.start();
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [
        {
          http_method: "GET",
          http_path: "/item/:id",
          grpc_method: "/shop.Shop/GetItem",
          upstream_url: origin.url.replace("h2c:", "http:"),
          timeout: "3s",
        },
      ],
    },
  },
});
afterAll(() => stopAll(gateway, origin));

const ok = (stream: H2OriginStream): void => {
  if (stream.isOver) return;
  stream.isAnswered = true;
  stream.head([
    [":status", "200"],
    ["content-type", "application/grpc"],
  ]);
  stream.connection.frame(Type.data, 0, stream.id, grpcFrame(Buffer.from([0x0a, 1, 0x37])));
  stream.head([["grpc-status", "0"]], END_HEADERS | END_STREAM);
};
const call = async (): Promise<number> => (await gateway.once(request("GET /item/7"))).status;
const calls = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, () => call()));

test.each([
  ["closes in order", Code.none],
  ["wants calm", Code.calm],
])("a call that has begun ends on a connection whose upstream %s", async (_, code) => {
  await origin.play({
    onEnd: (stream) => {
      if (stream.connection.number > 0) return ok(stream);
      stream.connection.goAway(stream.id, code);
      setTimeout(() => ok(stream), 100);
    },
  });
  expect(await call()).toBe(200);
  expect(await call()).toBe(200);
  expect(origin.connections.map(({ streams }) => streams.size)).toEqual([1, 1]);
});

test("an upstream that refuses the first call of a connection is not taken for one that bears one call at a time", async () => {
  await origin.play({ onEnd: (stream) => (stream.connection.number === 0 ? stream.refuse() : ok(stream)) });
  expect(await call()).toBe(200);
  expect(await calls(8)).toEqual(Array.from({ length: 8 }, () => 200));
  expect(origin.connections.length).toBe(2);
});

test("each call is one head and one message, with the fields of the protocol", async () => {
  await origin.play({ onEnd: ok });
  expect(await call()).toBe(200);
  const [stream] = origin.streams;
  const names = [":method", ":scheme", ":path", ":authority", "te", "content-type", "grpc-timeout"];
  expect(names.map((name) => stream!.fields.get(name))).toEqual([
    "POST",
    "http",
    "/shop.Shop/GetItem",
    `127.0.0.1:${origin.port}`,
    "trailers",
    "application/grpc",
    stream!.fields.get("grpc-timeout"),
  ]);
  expect(stream!.fields.get("grpc-timeout")).toMatch(/^\d{1,4}m$/);
  expect(stream!.fields.get("content-length")).toBeUndefined();
  expect(Buffer.concat(stream!.body).toString("hex")).toBe("00000000030a0137");
});
