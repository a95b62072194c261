import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

describe("of a request", () => {
  async function namesAt(lines: readonly string[], body?: string) {
    return json<Echo>(await gateway.once(request("POST /node/echo", lines, body))).headers;
  }

  test("the connection's own fields stay behind", async () => {
    const headers = await namesAt([
      "Keep-Alive: timeout=5",
      "Proxy-Connection: keep-alive",
      "Proxy-Authenticate: Basic",
      "Proxy-Authorization: Basic eDp5",
      "TE: gzip",
      "Trailer: X-Sum",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAAP__",
      "Connection: Upgrade, HTTP2-Settings",
    ]);
    const gone = ["keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer"];
    for (const name of [...gone, "upgrade", "http2-settings"]) expect(headers).not.toHaveProperty(name);
    expect(String(headers.connection ?? "")).not.toMatch(/http2-settings|upgrade/i);
  });

  test("so do the fields that Connection names, in any case", async () => {
    const lines = ["Connection: x-secret, X-OTHER,, close", "X-Secret: 1", "x-other: 2", "X-Kept: 3"];
    const headers = await namesAt(lines);
    expect(headers).not.toHaveProperty("x-secret");
    expect(headers).not.toHaveProperty("x-other");
    expect(headers["x-kept"]).toBe("3");
  });

  test("several Connection fields count together", async () => {
    const headers = await namesAt(["Connection: x-a", "Connection: x-b", "X-A: 1", "X-B: 2"]);
    expect(headers).not.toHaveProperty("x-a");
    expect(headers).not.toHaveProperty("x-b");
  });

  test("Connection cannot take away what the gateway relies on", async () => {
    const named = "Connection: Host, Content-Length, X-Forwarded-For, X-Request-Id, X-Real-IP, Via";
    const headers = await namesAt([named, "X-Request-Id: kept"], "hello");
    expect(headers).toMatchObject({
      host: "gw.test",
      "content-length": "5",
      "x-forwarded-for": "127.0.0.1",
      "x-real-ip": "127.0.0.1",
    });
    expect(headers["x-request-id"]).toBeString();
    expect(headers.via).toBe("1.1 edge");
  });

  test.each([
    [["TE: trailers"]],
    [["TE: trailers, deflate;q=0.5"]],
    [["TE: gzip", "TE: Trailers"]],
    [["TE: trailers, deflate;q=0.5", "Connection: TE"]],
  ])("of %j, trailers stays, and nothing else of TE", async (lines) => {
    expect((await namesAt(lines)).te).toBe("trailers");
  });

  test("TE without trailers stays behind", async () => {
    expect(await namesAt(["TE: gzip, x-trailers", "Connection: TE"])).not.toHaveProperty("te");
  });
});

describe("of an answer", () => {
  test("the connection's own fields and those that Connection names stay behind", async () => {
    origin.on("/fields", (call) =>
      call.reply(
        "200 OK",
        [
          "Connection: X-Secret, keep-alive",
          "X-Secret: 1",
          "Keep-Alive: timeout=5",
          "Proxy-Connection: keep-alive",
          "Proxy-Authenticate: Basic",
          "Upgrade: h2c",
          "Trailer: X-Sum",
          "X-Kept: 1",
          "Set-Cookie: a=1",
          "Set-Cookie: b=2",
          'ETag: "x"',
          "Server: origin/1",
        ],
        "body",
      ),
    );
    const reply = await gateway.once(request("GET /node/fields"));
    const gone = ["x-secret", "keep-alive", "proxy-connection", "proxy-authenticate", "upgrade", "trailer"];
    for (const name of gone) expect(reply.fields.names).not.toContain(name);
    expect(reply.fields.get("x-kept")).toBe("1");
    expect(reply.fields.all("set-cookie")).toEqual(["a=1", "b=2"]);
    expect([reply.fields.get("etag"), reply.fields.get("server")]).toEqual(['"x"', "origin/1"]);
    expect([reply.status, reply.text]).toEqual([200, "body"]);
  });

  test("the origin's wish to close its connection is not the client's", async () => {
    origin.on("/closing", (call) => {
      call.takeOver();
      call.reply("200 OK", ["Connection: close"], "bye");
      call.connection.finish();
    });
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/closing"));
    expect(reply.text).toBe("bye");
    expect(reply.fields.get("connection")?.toLowerCase()).not.toBe("close");
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("the coding of the body is the gateway's own business", async () => {
    origin.on("/coded", (call) => {
      call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n\r\n");
      call.send(chunked("abc", 1));
    });
    const reply = await gateway.once(request("GET /node/coded"));
    expect([reply.text, reply.framing]).toEqual(["abc", "chunked"]);
    const old = await gateway.once(request("GET /node/coded HTTP/1.0"));
    expect([old.text, old.framing]).toEqual(["abc", "close"]);
  });
});
