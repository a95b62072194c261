import { afterAll, describe, expect, test } from "bun:test";
import { EndedEarly } from "../harness/byte-socket.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";
import type { OriginScript } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { security_headers: { enabled: true } } },
  routes: [upstream("/node", origin, { timeouts: { idle: "300ms" } })],
});
afterAll(() => stopAll(gateway, origin));

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Sends what looks like the start of a good answer, then goes on badly. */
function then(start: string, end: (connection: Parameters<OriginScript>[0]["connection"]) => void): OriginScript {
  return async (call) => {
    const connection = call.takeOver();
    call.send(start);
    await Bun.sleep(30);
    end(connection);
  };
}

const finish = (start: string) => then(start, (connection) => connection.finish());
const reset = (start: string) => then(start, (connection) => connection.reset());
const goOn = (start: string, more: string) => then(start, (connection) => connection.send(more));

const CUT: readonly (readonly [string, OriginScript])[] = [
  ["ends before its Content-Length", finish(`${OK}Content-Length: 100\r\n\r\nonly this`)],
  ["resets before its Content-Length", reset(`${OK}Content-Length: 100\r\n\r\nonly this`)],
  ["ends before its last chunk", finish(`${CHUNKED}5\r\nhello\r\n`)],
  ["ends within a chunk", finish(`${CHUNKED}5\r\nhel`)],
  ["ends within the last chunk's line", finish(`${CHUNKED}5\r\nhello\r\n0\r\n`)],
  ["resets before its last chunk", reset(`${CHUNKED}5\r\nhello\r\n`)],
  ["resets an answer that its end would have ended", reset(`${OK}\r\nonly this`)],
  ["goes on with a chunk size that is none", goOn(`${CHUNKED}5\r\nhello\r\n`, "xyz\r\nhello\r\n0\r\n\r\n")],
  ["goes on with an empty chunk size", goOn(`${CHUNKED}5\r\nhello\r\n`, "\r\n0\r\n\r\n")],
  ["goes on with a negative chunk size", goOn(`${CHUNKED}5\r\nhello\r\n`, "-5\r\nhello\r\n0\r\n\r\n")],
  [
    "goes on with a chunk size beyond 64 bits",
    goOn(`${CHUNKED}5\r\nhello\r\n`, "10000000000000005\r\nhello\r\n0\r\n\r\n"),
  ],
  ["ends a chunk with something else than CRLF", goOn(`${CHUNKED}5\r\nhello`, "XX0\r\n\r\n")],
  ["ends a chunk with a bare LF", goOn(`${CHUNKED}5\r\nhello`, "\n0\r\n\r\n")],
  ["sends a trailer that is none", goOn(`${CHUNKED}5\r\nhello\r\n0\r\n`, "no colon here\r\n\r\n")],
  ["falls silent within the body", then(`${OK}Content-Length: 100\r\n\r\nonly this`, () => {})],
];

describe("an answer is never a clean short one when the origin", () => {
  test.each(CUT)("%s", async (_name, script) => {
    origin.on("/cut", script);
    const client = await gateway.connect();
    client.send(request("GET /node/cut"));
    // The status is out by then in most cases; where it is not, 502 is the better answer.
    const outcome = await client.reply().catch((error: unknown) => error);
    if (outcome instanceof Error) expect(outcome).toBeInstanceOf(EndedEarly);
    else expect((outcome as { status: number }).status).toBe(502);
    client.close();
    const before = origin.sequence;
    for (let i = 1; i <= 3; i++) {
      expect(json(await gateway.once(request("GET /node/canary")))).toMatchObject({ sequence: before + i });
    }
  });
  const AT_ONCE = ["zz\r\n", "5\r\nhello\r\nzz\r\n", "5\r\nhelloXX", "0\r\nno colon here\r\n\r\n", "+5\r\nhello\r\n"];
  test.each(AT_ONCE)("sends it malformed and whole (%j): nothing has been sent, so it is 502", async (body) => {
    origin.on("/cut", (call) => call.send(`${CHUNKED}${body}`));
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/cut"));
    expect([reply.status, json(reply)]).toEqual([502, { error: "502 Bad Gateway", message: "upstream unavailable" }]);
    expect(reply.text).not.toContain("hello");
    expect(reply.fields.get("x-content-type-options")).toBe("nosniff");
    // The connection to the client is in order, and behind it nothing is left of the answer.
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test.each(AT_ONCE)("sends it malformed and whole (%j) to a client of HTTP/2: 502 as well", async (body) => {
    origin.on("/cut", (call) => call.send(`${CHUNKED}${body}`));
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("GET", "/node/cut"));
    expect([reply.status, reply.isEnded, reply.text.includes("hello")]).toEqual([502, true, false]);
    expect((await client.request(head("GET", "/node/canary"))).status).toBe(200);
    client.close();
  });

  test("cuts it, seen by an HTTP/1.0 client, whose answer has no other end", async () => {
    origin.on("/cut", reset(`${CHUNKED}5\r\nhello\r\n`));
    const client = await gateway.connect();
    client.send(request("GET /node/cut HTTP/1.0"));
    expect(await client.ended()).toBe("reset");
    client.close();
  });
});

describe("a connection is not used again when the origin", () => {
  const POISON = `${OK}Content-Length: 8\r\n\r\npoisoned`;
  const SURPLUS: readonly (readonly [string, string])[] = [
    ["sends more than its Content-Length", `${OK}Content-Length: 5\r\n\r\nhello${POISON}`],
    ["sends more than its last chunk", `${CHUNKED}5\r\nhello\r\n0\r\n\r\n${POISON}`],
    ["sends a body with 204", `HTTP/1.1 204 No Content\r\n\r\n${POISON}`],
    ["sends a body with 304", `HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n${POISON}`],
    ["asks to close it", `${OK}Connection: close\r\nContent-Length: 5\r\n\r\nhello`],
    ["speaks HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
  ];

  test.each(SURPLUS)("%s", async (_name, bytes) => {
    origin.on("/surplus", (call) => call.send(bytes));
    const client = await gateway.connect();
    const first = await client.exchange(request("GET /node/surplus"));
    expect([200, 204, 304]).toContain(first.status);
    expect(["hello", ""]).toContain(first.text);
    const used = origin.requestsFor("/surplus").at(-1)!.connection;
    for (let i = 0; i < 3; i++) {
      const reply = await client.exchange(request("GET /node/canary"));
      expect(json(reply)).toEqual({ status: "canary_ok", sequence: origin.sequence });
      expect(origin.requestsFor("/canary").at(-1)!.connection).not.toBe(used);
    }
    client.close();
  });

  test("sends an answer that nobody asked for", async () => {
    origin.on("/unasked", async (call) => {
      call.reply("200 OK", [], "first");
      await Bun.sleep(50);
      call.send(POISON);
      await Bun.sleep(50);
    });
    const client = await gateway.connect();
    expect((await client.exchange(request("GET /node/unasked"))).text).toBe("first");
    await Bun.sleep(120);
    expect(json(await client.exchange(request("GET /node/canary")))).toMatchObject({ status: "canary_ok" });
    client.close();
  });

  test("answers a HEAD with a body", async () => {
    origin.on("/head", (call) => call.send(`${OK}Content-Length: 5\r\n\r\nhello`));
    const client = await gateway.connect();
    const reply = await client.exchange(request("HEAD /node/head"));
    expect([reply.status, reply.fields.get("content-length")]).toEqual([200, "5"]);
    expect(json(await client.exchange(request("GET /node/canary")))).toMatchObject({ status: "canary_ok" });
    client.close();
  });
});
