import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { Code, type Field, H2Client, head, type StreamReply } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";

// The vectors of HTTP/2, each followed by a canary. docs/tools.md#multihop

let origin: EchoOrigin;
let gateway: Gateway;
let tlsPort: number;
beforeAll(async () => {
  origin = EchoOrigin.start();
  tlsPort = freePort();
  const { cert, key } = await makeCertificate();
  gateway = await startGateway({
    config: { server: { tls: { port: tlsPort, cert_file: "h2.pem", key_file: "h2.key" } } },
    routes: [upstream("/node", origin)],
    files: { "h2.pem": cert, "h2.key": key },
  });
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
});

afterEach(async () => {
  const before = origin.sequence;
  const canary = await gateway.once(request("GET /node/canary"));
  expect(json(canary)).toEqual({ status: "canary_ok", sequence: before + 1 });
  expect(origin.violations).toEqual([]);
});

/** Sends the request over TLS and in the clear: the outcome is the same. */
async function attack(fields: readonly Field[], body?: string): Promise<StreamReply> {
  const plain = await once(await H2Client.connect(gateway.port), fields, body);
  const secure = await once(await H2Client.connectTls(tlsPort), fields, body);
  expect([secure.status, secure.reset]).toEqual([plain.status, plain.reset]);
  return plain;
}

async function once(client: H2Client, fields: readonly Field[], body?: string): Promise<StreamReply> {
  const reply = await client.request(fields, body);
  client.close();
  return reply;
}

function expectRefused(reply: StreamReply): void {
  expect(reply.status).toBe(400);
  expect(reply.reset).toBe(Code.protocol);
  expect(JSON.parse(reply.text).error).toBe("400 Bad Request");
}

describe("vectors of HTTP/2", () => {
  test("VECTOR-01: Transfer-Encoding is refused", async () => {
    const before = origin.requests.length;
    expectRefused(await attack(head("POST", "/node/echo", [["transfer-encoding", "chunked"]]), "0\r\n\r\n"));
    expect(origin.requests.length).toBe(before);
  });

  test.each([
    ["5", "6"],
    ["5", "5"],
  ])("VECTOR-02: two values of Content-Length are refused: %s, %s", async (one, other) => {
    const lengths: Field[] = [
      ["content-length", one],
      ["content-length", other],
    ];
    expectRefused(await attack(head("POST", "/node/echo", lengths), "hello"));
  });

  test.each([
    ["longer than the body", "10", "hello"],
    ["shorter than the body", "3", "hello"],
    ["0 with a body", "0", "hello"],
  ])("VECTOR-03: a Content-Length %s is refused", async (_what, length, body) => {
    const reply = await attack(head("POST", "/node/echo", [["content-length", length]]), body);
    expectRefused(reply);
  });

  test("VECTOR-03: a Content-Length without a body is refused", async () => {
    expectRefused(await attack(head("POST", "/node/echo", [["content-length", "5"]])));
  });

  test("VECTOR-03: also where the answer does not need the body", async () => {
    expectRefused(await attack(head("POST", "/nowhere", [["content-length", "10"]]), "hello"));
  });

  test.each([
    ["CR and LF", "a\r\nx-injected: 1"],
    ["LF", "a\nb"],
    ["NUL", "a\0b"],
    ["DEL", "a\x7fb"],
    ["a space at the beginning", " a"],
    ["a space at the end", "a "],
  ])("VECTOR-07: a value with %s is refused", async (_what, value) => {
    expectRefused(await attack(head("GET", "/node/echo", [["x-a", value]])));
  });

  test("VECTOR-08: unknown pseudo-headers and :protocol are dropped, and the request goes on clean", async () => {
    const fields: Field[] = [[":protocol", "websocket"], [":x-unknown", "1"], ...head("GET", "/node/echo?a=1")];
    const reply = await attack([...fields, ["x-kept", "yes"]]);
    expect(reply.status).toBe(200);
    const echo = JSON.parse(reply.text) as Echo;
    expect(echo.target).toBe("/echo?a=1");
    expect(echo.headers["x-kept"]).toBe("yes");
    expect(echo.fields.filter(([name]) => name.startsWith(":"))).toEqual([]);
    const { received } = origin.connections[origin.requests.at(-1)!.connection]!;
    expect(received.toString("latin1")).not.toMatch(/^:/m);
  });

  test.each([
    ["an upper-case name", [["X-Upper", "1"]]],
    ["a name with a space", [["x a", "1"]]],
    ["an empty name", [["", "1"]]],
    ["Connection", [["connection", "close"]]],
    ["Upgrade", [["upgrade", "h2c"]]],
    ["TE that is not trailers", [["te", "gzip"]]],
    [
      "a pseudo-header behind a field",
      [
        ["x-a", "1"],
        [":path", "/b"],
      ],
    ],
    ["a second :path", [[":path", "/b"]]],
    ["a pseudo-header of answers", [[":status", "200"]]],
    ["another Host than :authority", [["host", "evil.test"]]],
  ] as [string, Field[]][])("%s is refused", async (_what, more) => {
    expectRefused(await attack(head("GET", "/node/echo", more)));
  });

  test.each([
    ["X-Upper", "1"],
    ["x-a", "\x01"],
    ["connection", "close"],
  ] as const)("a refused HEAD is answered without a body: %s", async (name, value) => {
    const reply = await attack([...head("HEAD", "/node/canary"), [name, value]]);
    expect([reply.status, reply.reset, reply.body.byteLength]).toEqual([400, Code.protocol, 0]);
  });

  test.each(["", "node/echo", "http://gw.test/node/echo", "/a b", "/caf\xe9", "*", "/a\0b"])(
    "the path %j is refused",
    async (path) => {
      expectRefused(await attack(head("GET", path)));
    },
  );

  test("the raw path goes through as it came", async () => {
    const reply = await attack(head("GET", "/node/a%2Fb/%C3%A9?x=%20&y=[1]"));
    expect((JSON.parse(reply.text) as Echo).target).toBe("/a%2Fb/%C3%A9?x=%20&y=[1]");
  });

  test("with `reject` unknown pseudo-headers are refused", async () => {
    const config = { server: { http2: { unknown_pseudo_headers: "reject" } } };
    const strict = await startGateway({ config, routes: [upstream("/node", origin)] });
    const client = await H2Client.connect(strict.port);
    expectRefused(await client.request([[":x-unknown", "1"], ...head("GET", "/node/echo")]));
    expectRefused(await client.request([[":protocol", "websocket"], ...head("GET", "/node/echo")]));
    client.close();
    await strict.stop();
  });

  test("with HTTP/2 switched off the preface is refused like any other version", async () => {
    const old = await startGateway({ config: { server: { http2: { enabled: false } } } });
    const reply = await old.once("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    expect(reply.status).toBe(505);
    await old.stop();
  });

  test("refusals are counted and logged", async () => {
    await attack(head("GET", "/node/echo", [["connection", "close"]]));
    await gateway.log("the refusal", (line) => line.event === "framing_reject" && line.reason === "connection_field");
    const log = await gateway.log("the access line", (line) => line.event === "access" && line.protocol === "HTTP/2.0");
    expect(log.method).toBeDefined();
  });
});
