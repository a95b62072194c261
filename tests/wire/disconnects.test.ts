import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { samples } from "../harness/long-lane.ts";
import { expectFloorStays } from "../harness/memory.ts";
import { request } from "../harness/raw-client.ts";
import type { OriginCall } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

/** Waits for the next call of a script. */
function nextCall(path: string, begin: (call: OriginCall) => void = () => {}): Promise<OriginCall> {
  const called = Promise.withResolvers<OriginCall>();
  origin.on(path, (call) => {
    call.takeOver();
    begin(call);
    called.resolve(call);
  });
  return called.promise;
}

async function activeConnections(): Promise<number> {
  return gateway.metric("gateway_active_tcp_connections");
}

describe("a client that disconnects", () => {
  test.each([
    ["before the answer", () => {}],
    [
      "in the middle of the answer",
      (call: OriginCall) => call.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome"),
    ],
    ["in a stream", (call: OriginCall) => call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")],
  ])("%s cancels the request at the origin", async (_name, begin) => {
    const called = nextCall("/cancelled", begin);
    const client = await gateway.connect();
    client.send(request("GET /node/cancelled"));
    const call = await called;
    client.reset();
    await call.connection.ended();
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
  });

  test("in the middle of its body cancels the request at the origin", async () => {
    const called = nextCall("/half-a-body");
    const client = await gateway.connect();
    client.send(request("POST /node/half-a-body", ["Content-Length: 1000"], "only this"));
    const call = await called;
    client.reset();
    await call.connection.ended();
    expect(call.connection.received.toString("latin1")).toEndWith("only this");
  });

  test("ends its direction within its body: the origin's request is cut, never completed", async () => {
    const called = nextCall("/short-body");
    const client = await gateway.connect();
    client.send(request("POST /node/short-body", ["Content-Length: 1000"], "only this"));
    const call = await called;
    client.finish();
    await call.connection.ended();
    expect(call.connection.received.toString("latin1")).toEndWith("\r\n\r\nonly this");
    await client.ended();
    client.close();
  });

  test("leaves nothing behind, thousands of times", async () => {
    origin.on("/endless", async (call) => {
      const connection = call.takeOver();
      call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const chunk = Buffer.from(`10000\r\n${"x".repeat(65536)}\r\n`);
      while (connection.ending === "open" && !connection.isClosed) {
        connection.send(chunk);
        await connection.flushed().catch(() => connection.reset());
      }
    });
    const round = async (count: number) => {
      for (let done = 0; done < count; done += 50) {
        const clients = await Promise.all(Array.from({ length: 50 }, () => gateway.connect()));
        for (const [i, client] of clients.entries()) {
          client.hold();
          client.send(request(i % 2 === 0 ? "GET /node/endless" : "GET /node/canary"));
        }
        await Bun.sleep(10);
        for (const client of clients) client.reset();
      }
    };
    await expectFloorStays(gateway, async () => {
      await round(samples(1000, 400));
      await eventually(async () => expect(await activeConnections()).toBeLessThanOrEqual(1));
    });
    await origin.until("the origin's connections to be let go", () => origin.openConnections < 150 || undefined);
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
  }, 300_000);
});
