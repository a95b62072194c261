import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { CHAT_FILE, GrpcChat, type Line } from "../harness/grpc-chat.ts";
import { Code, H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { json, type RawClient, request } from "../harness/raw-client.ts";
import { sendUntilStopped } from "../harness/stopped-client.ts";
import { stopAll } from "../harness/teardown.ts";

// Streams of requests: NDJSON and JSON arrays in front of methods that take a stream.

const chat = await GrpcChat.start();
const route = (http_path: string, method: string, more: object = {}) => ({
  http_method: "POST",
  http_path,
  grpc_method: `/chat.Chat/${method}`,
  upstream_url: chat.url,
  descriptor_set: CHAT_FILE,
  ...more,
});
const routes = [
  route("/gather", "Gather"),
  route("/talk", "Talk"),
  route("/rooms/:room/talk", "Talk"),
  route("/hurried", "Talk", { timeout: "400ms" }),
  route("/say", "Say"),
  route("/bare", "Talk", { descriptor_set: "" }),
  { ...route("/get", "Gather"), http_method: "GET" },
];
const transcoder = { enabled: true, max_body_bytes: 100_000, routes };
const server = { read_timeout: "3s" };
const plain = await startGateway({ config: { server, transcoder } });
const guarded = await startGateway({
  config: { server: { ...server, waf: { enabled: true, mode: "enforce" } }, transcoder },
});
afterAll(() => stopAll(plain, guarded, chat));

const NDJSON = ["Content-Type: application/x-ndjson"];
const DUPLEX = [...NDJSON, "Accept: application/x-ndjson", "Transfer-Encoding: chunked"];
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const last = "0\r\n\r\n";
const lines = (...values: object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");

/** Sends the head of a request to speak both ways, and one line; the response to that has come when it returns. */
async function talking(gateway: typeof plain, path = "/talk"): Promise<RawClient> {
  const client = await gateway.connect();
  client.send(request(`POST ${path}`, DUPLEX));
  client.send(chunk(lines({ text: "first" })));
  await client.takeUntil('"first"', 30_000);
  return client;
}

describe.each([
  ["without a firewall", plain],
  ["with a firewall", guarded],
] as const)("%s", (_, gateway) => {
  test("a stream of lines becomes a stream of messages, and one response", async () => {
    const body = `${lines({ text: "a" }, { text: "b", number: "9007199254740993" })}\r\n\n{"text":"c"}`;
    const reply = await gateway.once(request("POST /gather", NDJSON, body));
    expect([reply.status, json(reply)]).toEqual([200, { lines: 3, texts: "a b c" }]);
    expect(chat.last.lines[1]).toEqual({ text: "b", number: "9007199254740993" });
  });

  test.each([
    ["an array", '[{"text":"a"},{"text":"b"}]', 2, "a b"],
    ["one object", '{"text":"a"}', 1, "a"],
    ["an empty array", "[]", 0, undefined],
    ["nothing", "", 0, undefined],
  ] as const)("%s as a JSON body", async (_name, body, count, texts) => {
    const reply = await gateway.once(request("POST /gather", ["Content-Type: application/json"], body));
    expect([reply.status, json(reply)]).toEqual([
      200,
      { ...(count > 0 ? { lines: count } : {}), ...(texts ? { texts } : {}) },
    ]);
  });

  test("JSON text sequences, and what path and query say, in each message", async () => {
    const body = '\x1e{"text":"a"}\n\x1e{"text":"b","room":"c"}\n';
    const reply = await gateway.once(
      request(
        "POST /rooms/7/talk?number=5",
        ["Content-Type: application/json-seq", "Accept: application/x-ndjson"],
        body,
      ),
    );
    expect(reply.text).toBe(lines({ text: "a", number: "5", room: "7" }, { text: "b", number: "5", room: "7" }));
  });

  test("both sides speak by turns over HTTP/1.1", async () => {
    const client = await talking(gateway);
    for (const text of ["second", "third"]) {
      client.send(chunk(lines({ text })));
      await client.takeUntil(`"${text}"`, 30_000);
    }
    client.send(last);
    await client.takeUntil(last, 30_000);
    expect(chat.last.isEnded).toBe(true);
    // The connection goes on.
    expect((await client.exchange(request("POST /gather", NDJSON, lines({ text: "x" })))).status).toBe(200);
    client.close();
  });

  test("and over HTTP/2", async () => {
    const client = await H2Client.connect(gateway.port);
    const more = [
      ["content-type", "application/x-ndjson"],
      ["accept", "application/x-ndjson"],
    ] as const;
    const id = client.headers(head("POST", "/talk", more), false);
    for (const text of ["first", "second"]) {
      client.data(id, lines({ text }));
      await eventually(() => expect(client.seen(id).text).toContain(text));
    }
    client.data(id, "", true);
    const reply = await client.reply(id);
    expect([reply.status, reply.text]).toEqual([200, lines({ text: "first" }, { text: "second" })]);
    client.close();
  });

  test("a line in pieces, and lines of which one piece has many", async () => {
    const client = await gateway.connect();
    client.send(request("POST /talk", DUPLEX));
    for (const piece of ['{"te', 'xt":"fir', 'st"}', "\n"]) {
      client.send(chunk(piece));
      await Bun.sleep(5);
    }
    await client.takeUntil('"first"', 30_000);
    const many = Array.from({ length: 3000 }, (_, i) => ({ text: `t${i}` }));
    client.send(chunk(lines(...many)));
    await client.takeUntil('"t2999"', 300_000);
    expect(chat.last.lines.length).toBe(3001);
    client.close();
  });

  test.each([
    ["no JSON", '{"text":\n', "a message is not JSON"],
    ["a field that is none", '{"tex":"a"}\n', "cannot decode message"],
    ["a name twice", '{"text":"a","text":"b"}\n', "a name occurs twice"],
  ])("%s ends the stream and cancels the call", async (_name, bad, message) => {
    const before = await gateway.once(request("POST /talk", [...NDJSON, "Accept: application/x-ndjson"], bad));
    expect([before.status, json(before).code]).toEqual([400, 3]);
    expect(json<{ message: string }>(before).message).toContain(message);
    const client = await talking(gateway);
    const call = chat.last;
    client.send(chunk(bad));
    expect((await client.takeUntil(last, 30_000)).toString()).toContain('{"error":{"code":3,"message":"');
    await eventually(() => expect(call.isCancelled).toBe(true));
    client.close();
  });

  test("a failure of the upstream is the last record, and what still comes is read", async () => {
    const client = await talking(gateway);
    client.send(chunk(lines({ text: "fail" })));
    expect((await client.takeUntil(last, 30_000)).toString()).toContain(
      '{"error":{"code":9,"message":"no, ü","details":[]}}',
    );
    client.close();
    const reply = await gateway.once(request("POST /gather", NDJSON, lines({ text: "fail" }, { text: "more" })));
    expect([reply.status, json(reply)]).toEqual([400, { code: 9, message: "enough", details: [] }]);
  });

  test("a client that leaves cancels the call", async () => {
    const client = await talking(gateway);
    const call = chat.last;
    client.reset();
    await eventually(() => expect(call.isCancelled).toBe(true));
    const polite = await H2Client.connect(gateway.port);
    const id = polite.headers(head("POST", "/talk", [["content-type", "application/x-ndjson"]]), false);
    polite.data(id, lines({ text: "a" }));
    await eventually(() => expect(chat.last.lines.length).toBe(1));
    const other = chat.last;
    polite.frame(Type.reset, 0, id, uint32(Code.cancel));
    await eventually(() => expect(other.isCancelled).toBe(true));
    polite.close();
  });

  test("a call that the upstream ends while the client goes on", async () => {
    const client = await talking(gateway);
    client.send(chunk(lines({ text: "end" })));
    await client.takeUntil(last, 30_000);
    client.close();
  });

  test("the deadline of the route, and of the client", async () => {
    const client = await talking(gateway, "/hurried");
    const call = chat.last;
    // Every format that can say so ends with the status; a JSON array is cut.
    await client.takeUntil('{"error":{"code":4,', 30_000);
    await client.ended();
    await eventually(() => expect(call.isCancelled).toBe(true));
    const hurried = [...DUPLEX, "Grpc-Timeout: 100m"];
    const reply = await gateway.once(
      Buffer.concat([request("POST /gather", hurried), Buffer.from(chunk("{}\n"))]),
      "POST",
    );
    expect([reply.status, json(reply).code]).toEqual([504, 4]);
  });

  test("a message that is too long is 413, and the stream may be longer", async () => {
    const long = { text: "x".repeat(100_001) };
    const reply = await gateway.once(request("POST /gather", NDJSON, lines({ text: "a" }, long)));
    expect([reply.status, json(reply).code]).toEqual([413, 8]);
    const fits = Array.from({ length: 8 }, () => ({ blob: Buffer.alloc(60_000, 7).toString("base64") }));
    const all = await gateway.once(request("POST /gather", NDJSON, lines(...fits)));
    expect([all.status, json(all)]).toMatchObject([200, { lines: 8, bytes: "480000" }]);
  });

  test("methods that take one message want JSON", async () => {
    expect((await gateway.once(request("POST /say", NDJSON, lines({ text: "a" })))).status).toBe(415);
    expect((await gateway.once(request("POST /gather", ["Content-Type: text/plain"], "a"))).status).toBe(415);
    expect((await gateway.once(request("POST /gather", [...NDJSON, "Content-Encoding: gzip"], "a"))).status).toBe(415);
  });

  test("a request without a body has the one message that its query is", async () => {
    expect(json(await gateway.once(request("GET /get?text=a")))).toEqual({ lines: 1, texts: "a" });
    expect(json(await gateway.once(request("GET /get")))).toEqual({});
  });
});

test("without a schema lines go as they are", async () => {
  const reply = await plain.once(request("POST /bare", NDJSON, lines({ text: "a" })));
  // The service takes no JSON; that it was asked is what counts.
  expect(reply.status).toBeGreaterThanOrEqual(400);
});

test("the firewall sees each line before the upstream does", async () => {
  const client = await talking(guarded);
  const call = chat.last;
  const attack: Line = { text: "' UNION SELECT password FROM users--" };
  client.send(chunk(lines({ text: "fine" }, attack)));
  await client.ended();
  await eventually(() => expect(call.isCancelled).toBe(true));
  expect(call.lines.map(({ text }) => text)).not.toContain(attack.text);
  expect((await guarded.once(request("POST /gather", NDJSON, lines({ text: "a" }, attack)))).status).toBe(403);
});

test("an upstream that does not read stops the client, and nothing piles up", async () => {
  const client = await talking(plain);
  client.send(chunk(lines({ text: "deaf" })));
  const block = chunk(lines(...Array.from({ length: 200 }, () => ({ text: "y".repeat(4000) }))));
  expect(await sendUntilStopped(client, Buffer.from(block))).toBeLessThan(40_000_000);
  client.reset();
});
