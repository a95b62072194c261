import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "./echo-origin.ts";
import { chunked, exchangeOnce, json, RawClient, request } from "./raw-client.ts";

// The harness against itself: what it says about a gateway is worth as much as what is proved here.
const origin = EchoOrigin.start();
afterAll(() => origin.stop());

describe("the echo origin", () => {
  test("counts canaries and keeps the connection", async () => {
    const client = await RawClient.connect(origin.port);
    expect(json(await client.exchange(request("GET /canary")))).toEqual({ status: "canary_ok", sequence: 1 });
    expect(json(await client.exchange(request("GET /canary")))).toEqual({ status: "canary_ok", sequence: 2 });
    expect(origin.requestsFor("/canary").map((each) => each.index)).toEqual([0, 1]);
    client.close();
  });

  test("tells what came in a chunked body with trailers", async () => {
    const body = chunked("hello world", 4, ["X-Sum: 1"]);
    const reply = await exchangeOnce(origin.port, request("POST /echo?q=1", ["Transfer-Encoding: chunked"], body));
    const echo = json<Echo>(reply);
    expect(echo).toMatchObject({ target: "/echo?q=1", framing: "chunked", length: 11, trailers: { "x-sum": "1" } });
    expect(echo.sha256).toBe(sha256(Buffer.from("hello world")));
  });

  test("answers HEAD without a body and echoes an upgrade", async () => {
    const client = await RawClient.connect(origin.port);
    expect((await client.exchange(request("HEAD /canary"))).body.byteLength).toBe(0);
    const reply = await client.exchange(request("GET /socket", ["Connection: Upgrade", "Upgrade: websocket"]));
    expect(reply.status).toBe(101);
    client.send("ping");
    expect((await client.take(4)).toString()).toBe("ping");
    client.finish();
    expect(await client.ended()).toBe("fin");
    client.close();
  });
});

describe("the sockets", () => {
  test("tell an orderly end from a reset", async () => {
    origin.on("/fin", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"));
    origin.on("/reset", (call) => call.takeOver().reset());
    const first = await RawClient.connect(origin.port);
    const reply = await first.exchange(request("GET /fin"));
    expect([reply.text, reply.framing, await first.ended()]).toEqual(["all of it", "close", "fin"]);
    const second = await RawClient.connect(origin.port);
    second.send(request("GET /reset"));
    expect(await second.ended()).toBe("reset");
    first.close();
  });

  test("answer after the client's half-close", async () => {
    const client = await RawClient.connect(origin.port);
    client.send(request("GET /canary"));
    client.finish();
    expect((await client.reply()).status).toBe(200);
    expect(await client.ended()).toBe("fin");
    client.close();
  });

  test("meet back-pressure when the reader holds, and lose nothing", async () => {
    const body = Buffer.alloc(32 * 1024 * 1024, "0123456789abcdef");
    origin.on("/big", (call) => call.reply("200 OK", [], body));
    const client = await RawClient.connect(origin.port);
    client.hold();
    client.send(request("GET /big"));
    const connection = await origin.until("the request", () => origin.connections.at(-1));
    await Bun.sleep(100);
    expect(connection.sentBytes).toBeLessThan(body.byteLength);
    client.release();
    expect(sha256((await client.reply()).body)).toBe(sha256(body));
    client.close();
  });

  test("read interim answers, chunks and trailers, and refuse what is not HTTP", async () => {
    origin.on("/interim", (call) => {
      call.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      call.send(chunked("abcdef", 2, ["X-T: 1"]));
    });
    origin.on("/rubbish", (call) => call.sendAndFinish("SSH-2.0-x\r\n\r\n"));
    const reply = await exchangeOnce(origin.port, request("GET /interim"));
    expect(reply.interim.map((each) => each.status)).toEqual([103]);
    expect([reply.text, reply.trailers.get("x-t"), reply.framing]).toEqual(["abcdef", "1", "chunked"]);
    await expect(exchangeOnce(origin.port, request("GET /rubbish"))).rejects.toThrow("status line");
  });
});

test("an origin notes requests that break HTTP/1.1", async () => {
  const strict = EchoOrigin.start();
  const client = await RawClient.connect(strict.port);
  client.send("GET /canary HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n");
  expect(await client.ended()).toBe("reset");
  expect(strict.violations).toHaveLength(1);
  strict.stop();
});
