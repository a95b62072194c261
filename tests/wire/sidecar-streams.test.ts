// docs/sidecar.md#bodies: bodies that go on as they come, outbound and by `buffer`.
import { afterAll, describe, expect, test } from "bun:test";
import { Client, credentials, status } from "@grpc/grpc-js";
import { type Echo, EchoOrigin, echo as echoCall } from "../harness/echo-origin.ts";
import { chatOf, grpcEcho, unary } from "../harness/grpc-echo.ts";
import { exchangeOnce, json, RawClient, request } from "../harness/raw-client.ts";
import { startSidecar } from "../harness/sidecar.ts";

const LIMIT = 100_000;
const grpc = await grpcEcho();
const echo = EchoOrigin.start();
const traffic_splits = [
  { prefix: "/test.Echo", backends: [{ target: `h2c://127.0.0.1:${grpc.port}` }] },
  { prefix: "/echo", backends: [{ target: echo.url }] },
];
const egress = (settings: object) =>
  startSidecar({ mode: "egress", max_body_bytes: LIMIT, traffic_splits, ...settings });
const usual = await egress({});
const streaming = await egress({ buffer: false });
const buffered = await egress({ buffer: true });
afterAll(async () => {
  for (const { gateway } of [usual, streaming, buffered]) await gateway.stop();
  grpc.stop();
  echo.stop();
});

describe.each([
  ["by default", usual],
  ["with buffer: false", streaming],
])("gRPC through a split, %s", (_name, sidecar) => {
  const client = new Client(`127.0.0.1:${sidecar.egress}`, credentials.createInsecure());
  afterAll(() => client.close());

  test("streams in both directions, each message after the echo of the one before", async () => {
    expect(await chatOf(client, 5)).toEqual(["0", "1", "2", "3", "4"]);
  });

  test("a body beyond the limit ends the call, and no other", async () => {
    const failure = await unary(client, Buffer.alloc(LIMIT + 1)).catch((error: { code: number }) => error.code);
    expect([status.UNKNOWN, status.INTERNAL, status.RESOURCE_EXHAUSTED, status.CANCELLED]).toContain(failure as status);
    expect((await unary(client, Buffer.from("after"))).toString()).toBe("after");
  });
});

test("with buffer: true every body is whole before the backend sees it", async () => {
  const client = new Client(`127.0.0.1:${buffered.egress}`, credentials.createInsecure());
  expect((await unary(client, Buffer.from("hello"))).toString()).toBe("hello");
  client.close();
});

describe("HTTP/1.1", () => {
  /** Sends half of a body, and says whether the backend has seen the request by then. */
  async function isSeenEarly(port: number): Promise<boolean> {
    let isSeen = false;
    echo.on("/echo/x", async (call) => {
      isSeen = true;
      await echoCall(call);
    });
    const client = await RawClient.connect(port);
    client.send("POST /echo/x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    const deadline = performance.now() + 400;
    while (!isSeen && performance.now() < deadline) await Bun.sleep(10);
    const wasEarly = isSeen;
    client.send("5\r\nworld\r\n0\r\n\r\n");
    expect(json<Echo>(await client.reply()).length).toBe(10);
    client.close();
    return wasEarly;
  }

  test("a body goes on as it comes with buffer: false alone", async () => {
    expect(await isSeenEarly(streaming.egress)).toBe(true);
    expect(await isSeenEarly(usual.egress)).toBe(false);
  });

  test("the limit holds: 413 at once for a declared length, and a body that grows beyond it is cut", async () => {
    const seen = echo.requests.length;
    const declared = `POST /echo/x HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`;
    expect((await exchangeOnce(streaming.egress, declared)).status).toBe(413);
    expect(echo.requests.length).toBe(seen);
    const client = await RawClient.connect(streaming.egress);
    client.send("POST /echo/x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = Buffer.concat([Buffer.from("8000\r\n"), Buffer.alloc(0x8000, 97), Buffer.from("\r\n")]);
    for (let i = 0; i < 4; i++) client.send(chunk);
    expect((await client.reply()).status).toBe(413);
    client.close();
    expect((await exchangeOnce(streaming.egress, request("POST /echo/x", [], "hello"))).status).toBe(200);
  });
});
