import { afterAll, expect, test } from "bun:test";
import { Code } from "../harness/h2-client.ts";
import { H2Origin } from "../harness/h2-origin.ts";
import { answerItem, ItemGateway } from "../harness/item-gateway.ts";
import { stopAll } from "../harness/teardown.ts";

// Transcoded calls share the rules of other origins of HTTP/2 for connections that are closed and calls that are turned away.

const origin = await H2Origin.start();
const items = await ItemGateway.start(origin);
const { gateway } = items;
afterAll(() => stopAll(gateway, origin));

const ok = answerItem;
const call = () => items.call();
const calls = (count: number) => items.calls(count);

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
