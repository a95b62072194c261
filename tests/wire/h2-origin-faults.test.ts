import { afterAll, describe, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head, Type } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  HEADERS,
  h2Fields,
  h2Frame,
  RawGrpcServer,
  RST_STREAM,
} from "../harness/raw-grpc-server.ts";

// Origins of HTTP/2 whose answers are malformed.

let answer: (stream: number) => readonly Buffer[] = () => [];
let asked = 0;
/** Where the answer is cut in two, as a part of its length. */
let cutAt = 1;
let sent: Promise<void> = Promise.resolve();
/** Whether the origin closes the connection behind its answer. */
let closes = false;
const origin = await RawGrpcServer.start(({ stream, socket }) => {
  asked++;
  const bytes = Buffer.concat(answer(stream));
  const at = Math.round(bytes.length * cutAt);
  const isClosing = closes;
  // One answer behind the other, for both may come on one connection.
  sent = sent.then(async () => {
    if (isClosing) return void socket.end(bytes);
    socket.write(bytes.subarray(0, at));
    if (at === bytes.length) return;
    // By another packet, behind what the gateway has made of the first.
    await Bun.sleep(5);
    socket.write(bytes.subarray(at));
  });
});
const gateway = await startGateway({ routes: [upstream("/", { url: origin.url.replace("http:", "h2c:") })] });
afterAll(async () => {
  await gateway.stop();
  origin.stop();
});

const fields = (stream: number, more: Readonly<Record<string, string>>, flags = END_HEADERS) =>
  h2Frame(HEADERS, flags, stream, h2Fields(more));
const ok = (stream: number, more: Readonly<Record<string, string>> = {}, flags = END_HEADERS) =>
  fields(stream, { ":status": "200", ...more }, flags);
const data = (stream: number, text: string, flags = 0) => h2Frame(DATA, flags, stream, Buffer.from(text));
const reset = (stream: number, code: number) => h2Frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, code]));
const over = END_HEADERS | END_STREAM;

const ROWS: readonly (readonly [string, (stream: number) => readonly Buffer[]])[] = [
  ["a head without a status", (id) => [fields(id, { "content-type": "text/plain" })]],
  ["a field that HTTP/2 does not have", (id) => [ok(id, { connection: "close" })]],
  ["a length that is none", (id) => [ok(id, { "content-length": "x" }), data(id, "hello", END_STREAM)]],
  ["a length and no body", (id) => [ok(id, { "content-length": "5" }, over)]],
  ["a length that is too large", (id) => [ok(id, { "content-length": "9" }), data(id, "hello", END_STREAM)]],
  ["a length that is too small", (id) => [ok(id, { "content-length": "2" }), data(id, "hello", END_STREAM)]],
  [
    "a length that is too large, seen by trailers",
    (id) => [ok(id, { "content-length": "9" }), data(id, "hello"), fields(id, { "x-sum": "5" }, over)],
  ],
  ["trailers with a pseudo-header", (id) => [ok(id), data(id, "hello"), fields(id, { ":status": "200" }, over)]],
  ["trailers that do not end the stream", (id) => [ok(id), data(id, "hello"), fields(id, { "x-sum": "5" })]],
  ["a reset behind the head", (id) => [ok(id), reset(id, 2)]],
  ["a reset behind a part of the body", (id) => [ok(id), data(id, "hello"), reset(id, 2)]],
  [
    "a frame that ends the connection behind the head",
    (id) => [ok(id), data(id, "hello"), h2Frame(DATA, 0, 0, Buffer.from("x"))],
  ],
];
const REFUSED = { error: "502 Bad Gateway", message: "upstream unavailable" };

describe("an answer that comes whole and malformed is 502: nothing of it has been sent", () => {
  test.each(ROWS)("%s, to a client of HTTP/1.1", async (_, script) => {
    answer = script;
    const client = await gateway.connect();
    const reply = await client.exchange(request("POST /x", [], "x"));
    expect([reply.status, json(reply)]).toEqual([502, REFUSED]);
    answer = (id) => [ok(id), data(id, "good", END_STREAM)];
    expect((await client.exchange(request("POST /x", [], "x"))).text).toBe("good");
    client.close();
  });

  test.each(ROWS)("%s, to a client of HTTP/2", async (_, script) => {
    answer = script;
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("POST", "/x"), "x");
    expect([reply.status, reply.text === "" ? "" : JSON.parse(reply.text), reply.isEnded]).toEqual([
      502,
      REFUSED,
      true,
    ]);
    answer = (id) => [ok(id), data(id, "good", END_STREAM)];
    expect((await client.request(head("POST", "/x"), "x")).text).toBe("good");
    client.close();
  });
});

// One that is longer than it says has come whole with its last declared byte; what follows is surplus, as in HTTP/1.1.
const CUT = ROWS.filter(([name]) => name !== "a length that is too small");
test.each(CUT)("an answer in two pieces is never a clean one: %s", async (_, script) => {
  const client = await H2Client.connect(gateway.port);
  for (const part of [0.2, 0.4, 0.6, 0.8, 0.95]) {
    cutAt = part;
    answer = script;
    const { status, reset: code } = await client.request(head("POST", "/x"), "x");
    expect(status === 502 || code > 0).toBe(true);
    cutAt = 1;
    answer = (id) => [ok(id), data(id, "good", END_STREAM)];
    expect((await client.request(head("POST", "/x"), "x")).text).toBe("good");
  }
  client.close();
});

test("an answer that was malformed is not asked for again", async () => {
  asked = 0;
  answer = (id) => [ok(id), data(id, "hello"), reset(id, 2)];
  expect((await gateway.once(request("GET /x"))).status).toBe(502);
  answer = (id) => [fields(id, { "content-type": "text/plain" })];
  expect((await gateway.once(request("GET /x"))).status).toBe(502);
  expect(asked).toBe(2);
});

describe("an answer that came whole stays good", () => {
  const WHOLE: typeof ROWS = [
    ["when its stream is reset behind it", (id) => [ok(id), data(id, "hello", END_STREAM), reset(id, 0)]],
    ["when its stream is broken off behind it", (id) => [ok(id), data(id, "hello", END_STREAM), reset(id, 2)]],
    ["when more comes behind it", (id) => [ok(id), data(id, "hello", END_STREAM), data(id, "more", END_STREAM)]],
    [
      "when the connection fails behind it",
      (id) => [ok(id), data(id, "hello", END_STREAM), h2Frame(DATA, 0, 0, Buffer.from("x"))],
    ],
  ];
  test.each(WHOLE)("%s", async (_, script) => {
    answer = script;
    expect((await gateway.once(request("POST /x", [], "x"))).text).toBe("hello");
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request(head("POST", "/x"), "x");
    expect([reply.status, reply.text, reply.isEnded]).toEqual([200, "hello", true]);
    client.close();
  });

  test("when its connection ends while the client does not take it", async () => {
    answer = (id) => [ok(id), data(id, "x".repeat(10_000), END_STREAM)];
    closes = true;
    const client = await H2Client.connect(gateway.port, [[4, 0]]);
    const id = client.headers(head("GET", "/x"));
    await client.until("the head", () => (client.seen(id).status === 200 ? true : undefined));
    // Another request finds that the connection is gone.
    closes = false;
    expect((await gateway.once(request("GET /x"))).body.length).toBe(10_000);
    client.frame(Type.windowUpdate, 0, id, Buffer.from([0, 0, 0x7f, 0xff]));
    const reply = await client.reply(id);
    expect([reply.body.length, reply.isEnded]).toEqual([10_000, true]);
    client.close();
  });
});
