import { afterAll, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

/** Later answers are ready before earlier ones. */
origin.on("/slow", async (call) => {
  await Bun.sleep(100);
  call.reply("200 OK", [], call.request.target);
});

interface Step {
  readonly bytes: Buffer;
  readonly method: string;
  readonly check: (reply: Reply) => void;
}

function step(number: number): Step {
  const mark = `?n=${number}`;
  const echoed = (length: number) => (reply: Reply) => {
    expect([reply.status, json<Echo>(reply).target, json<Echo>(reply).length]).toEqual([200, `/echo${mark}`, length]);
  };
  switch (number % 8) {
    case 0:
      return {
        bytes: request(`GET /node/slow${mark}`),
        method: "GET",
        check: (reply) => expect(reply.text).toBe(`/slow${mark}`),
      };
    case 1:
      return {
        bytes: request(`POST /node/echo${mark}`, [], "x".repeat(number)),
        method: "POST",
        check: echoed(number),
      };
    case 2: {
      const body = chunked("y".repeat(5000), 999);
      return {
        bytes: request(`POST /node/echo${mark}`, ["Transfer-Encoding: chunked"], body),
        method: "POST",
        check: echoed(5000),
      };
    }
    case 3:
      return {
        bytes: request("GET /health"),
        method: "GET",
        check: (reply) => expect(json(reply)).toEqual({ status: "ok" }),
      };
    case 4:
      return {
        bytes: request(`HEAD /node/echo${mark}`),
        method: "HEAD",
        check: (reply) => expect(reply.status).toBe(200),
      };
    case 5:
      return {
        bytes: request(`GET /none${number}`),
        method: "GET",
        check: (reply) => expect(reply.text).toContain(`/none${number}`),
      };
    case 6:
      return { bytes: request(`GET /node/echo${mark}`, [], "body of a GET"), method: "GET", check: echoed(13) };
    default:
      return {
        bytes: request(`DELETE /health${mark}`),
        method: "DELETE",
        check: (reply) => expect(reply.status).toBe(405),
      };
  }
}

const steps = Array.from({ length: 16 }, (_, number) => step(number));

test("16 mixed requests in one write are answered in order", async () => {
  const client = await gateway.connect();
  client.send(Buffer.concat(steps.map((each) => each.bytes)));
  for (const each of steps) each.check(await client.reply(each.method));
  expect(client.unread).toBe(0);
  expect((await client.exchange(request("GET /health"))).status).toBe(200);
  client.close();
});

test("the same requests in writes of 100 bytes are answered in order", async () => {
  const client = await gateway.connect();
  const all = Buffer.concat(steps.map((each) => each.bytes));
  const pieces = Array.from({ length: Math.ceil(all.byteLength / 100) }, (_, i) =>
    all.subarray(i * 100, i * 100 + 100),
  );
  void client.sendPieces(pieces, 1);
  for (const each of steps) each.check(await client.reply(each.method));
  client.close();
});

test("a thousand pipelined requests are all answered", async () => {
  const before = origin.sequence;
  const client = await gateway.connect();
  client.send(Buffer.concat(Array.from({ length: 1000 }, () => request("GET /node/canary"))));
  for (let i = 1; i <= 1000; i++) expect(json(await client.reply())).toMatchObject({ sequence: before + i });
  client.close();
});

test("a refused request in a pipeline ends it: what came before is answered, what comes behind is not run", async () => {
  const before = origin.sequence;
  const client = await gateway.connect();
  client.send(
    Buffer.concat([request("GET /node/canary"), request("GET /node/canary", ["X : 1"]), request("GET /node/canary")]),
  );
  expect(json(await client.reply())).toMatchObject({ sequence: before + 1 });
  expect((await client.reply()).status).toBe(400);
  expect((await client.takeRest()).byteLength).toBe(0);
  expect(origin.sequence).toBe(before + 1);
  client.close();
});
