import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { CHAT_FILE, GrpcChat, type Line } from "../harness/grpc-chat.ts";
import { type Field, H2Client } from "../harness/h2-client.ts";
import { type RawClient, request } from "../harness/raw-client.ts";
import { sendUntilStopped } from "../harness/stopped-client.ts";
import { stopAll } from "../harness/teardown.ts";

// WebSockets in front of methods that take a stream: Bun's own client, and frames by hand.

const chat = await GrpcChat.start();
const route = (http_path: string, method: string, more: object = {}) => ({
  http_method: "POST",
  http_path,
  grpc_method: `/chat.Chat/${method}`,
  upstream_url: chat.url,
  descriptor_set: CHAT_FILE,
  ...more,
});
const transcoder = {
  enabled: true,
  max_body_bytes: 100_000,
  routes: [
    route("/talk", "Talk"),
    route("/rooms/:room/talk", "Talk"),
    route("/gather", "Gather"),
    route("/hurried", "Talk", { timeout: "300ms" }),
    route("/tell", "Tell", { http_method: "GET" }),
    route("/lost", "Talk", { upstream_url: "http://127.0.0.1:9" }),
  ],
};
const cors = { enabled: true, allowed_origins: ["https://app.test"] };
const plain = await startGateway({ config: { server: { cors, http2: { extended_connect: true } }, transcoder } });
const open = await startGateway({
  config: { server: { cors: { enabled: true, allowed_origins: ["*"] } }, transcoder },
});
const guarded = await startGateway({ config: { server: { waf: { enabled: true, mode: "enforce" } }, transcoder } });
afterAll(() => stopAll(plain, open, guarded, chat));

/** A WebSocket and all that came over it. */
class Socket {
  readonly texts: string[] = [];
  closed: { code: number; reason: string } | null = null;
  private constructor(readonly socket: WebSocket) {
    socket.onmessage = ({ data }) => this.texts.push(String(data));
    socket.onclose = ({ code, reason }) => {
      this.closed = { code, reason };
    };
  }

  static async open(port: number, path: string, headers: Record<string, string> = {}): Promise<Socket> {
    const made = new Socket(new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers } as never));
    await new Promise((resolve, reject) => {
      made.socket.onopen = resolve;
      made.socket.onerror = () => reject(new Error("no WebSocket"));
    });
    return made;
  }

  send(json: object): void {
    this.socket.send(JSON.stringify(json));
  }

  has(count: number): Promise<void> {
    return eventually(() => expect(this.texts.length).toBeGreaterThanOrEqual(count));
  }

  end(): Promise<{ code: number; reason: string }> {
    return eventually(() => {
      if (this.closed === null) throw new Error("still open");
      return this.closed;
    });
  }
}

describe.each([
  ["without a firewall", plain.port],
  ["with a firewall", guarded.port],
] as const)("%s", (_, port) => {
  test("both sides speak by turns, and the end has the status", async () => {
    const socket = await Socket.open(port, "/rooms/7/talk?number=5");
    for (const text of ["first", "second"]) {
      socket.send({ text });
      await socket.has(text === "first" ? 1 : 2);
    }
    socket.socket.send("");
    expect(await socket.end()).toEqual({ code: 1000, reason: "OK" });
    expect(socket.texts.map((text) => JSON.parse(text))).toEqual([
      { text: "first", number: "5", room: "7" },
      { text: "second", number: "5", room: "7" },
    ]);
    expect(chat.last.isEnded).toBe(true);
  });

  test("a method with one response gives it when the messages have ended", async () => {
    const socket = await Socket.open(port, "/gather");
    socket.send({ text: "a" });
    socket.send({ text: "b" });
    socket.socket.send("");
    await socket.end();
    expect(socket.texts).toEqual(['{"lines":2,"texts":"a b"}']);
  });

  test("a failure is the last message, and the close has its code", async () => {
    const socket = await Socket.open(port, "/talk");
    socket.send({ text: "fail" });
    expect(await socket.end()).toEqual({ code: 4009, reason: "FAILED_PRECONDITION: no, ü" });
    expect(socket.texts).toEqual(['{"error":{"code":9,"message":"no, ü","details":[]}}']);
  });

  test.each([
    ["no JSON", "{", "a message is not JSON"],
    ["a field that is none", '{"tex":1}', "cannot decode message"],
  ])("%s ends the call", async (_name, bad, message) => {
    const socket = await Socket.open(port, "/talk");
    socket.send({ text: "a" });
    await socket.has(1);
    const call = chat.last;
    socket.socket.send(bad);
    socket.send({ text: "late" });
    const { code, reason } = await socket.end();
    expect([code, reason.slice(0, 17)]).toEqual([4003, "INVALID_ARGUMENT:"]);
    expect(socket.texts.at(-1)).toContain(message);
    await eventually(() => expect(call.isCancelled).toBe(true));
    expect(call.lines.length).toBe(1);
  });

  test("a client that closes, and one that is gone, cancel the call", async () => {
    const polite = await Socket.open(port, "/talk");
    polite.send({ text: "a" });
    await polite.has(1);
    const first = chat.last;
    polite.socket.close(1000);
    await eventually(() => expect(first.isCancelled).toBe(true));
    const rude = await Socket.open(port, "/talk");
    rude.send({ text: "a" });
    await rude.has(1);
    const second = chat.last;
    rude.socket.terminate();
    await eventually(() => expect(second.isCancelled).toBe(true));
  });

  test("many messages at once, large ones among them", async () => {
    const socket = await Socket.open(port, "/talk");
    const texts = Array.from({ length: 2000 }, (_one, i) => (i % 100 === 0 ? `${i} ${"x".repeat(70_000)}` : `t${i}`));
    for (const text of texts) socket.send({ text });
    await socket.has(2000);
    expect(socket.texts.map((text) => JSON.parse(text).text)).toEqual(texts);
    socket.socket.close();
  });

  test("the end comes after large messages, and after many", async () => {
    const socket = await Socket.open(port, "/talk");
    const texts = [
      "a",
      "x".repeat(80_000),
      "y".repeat(60_000),
      ...Array.from({ length: 1000 }, (_, i) => `t${i}`),
      "end",
    ];
    for (const text of texts) socket.send({ text });
    expect(await socket.end()).toEqual({ code: 1000, reason: "OK" });
    expect(socket.texts.map((text) => JSON.parse(text).text)).toEqual(texts.slice(0, -1));
  });

  test("the deadline, and an upstream that is not there", async () => {
    const late = await Socket.open(port, "/hurried");
    expect(await late.end()).toMatchObject({ code: 4004 });
    const lost = await Socket.open(port, "/lost");
    expect((await lost.end()).code).toBe(4014);
  });

  test("a message that is too long", async () => {
    const socket = await Socket.open(port, "/talk");
    socket.send({ text: "x".repeat(100_001) });
    expect((await socket.end()).code).toBe(1009);
  });
});

test("the firewall sees each message, and harmless ones do not add up", async () => {
  const socket = await Socket.open(guarded.port, "/talk");
  for (let i = 0; i < 50; i++) socket.send({ text: "select one of the two" });
  await socket.has(50);
  const call = chat.last;
  const attack: Line = { text: "' UNION SELECT password FROM users--" };
  socket.send(attack);
  expect(await socket.end()).toMatchObject({ code: 1008 });
  expect(call.lines.map(({ text }) => text)).not.toContain(attack.text);
  await eventually(() => expect(call.isCancelled).toBe(true));
});

const HANDSHAKE = [
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

describe("a handshake", () => {
  const status = async (lines: readonly string[], gateway = plain, path = "/talk"): Promise<number> =>
    (await gateway.once(request(`GET ${path}`, lines))).status;
  const without = (name: string) => HANDSHAKE.filter((line) => !line.startsWith(name));

  test("has the key of RFC 6455 §1.3 accepted", async () => {
    const reply = await plain.once(request("GET /talk", HANDSHAKE));
    expect([reply.status, reply.fields.get("sec-websocket-accept")]).toEqual([101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]);
  });

  test.each([
    ["without a key", without("Sec-WebSocket-Key"), 400],
    ["with a key that is none", [...without("Sec-WebSocket-Key"), "Sec-WebSocket-Key: abc"], 400],
    ["of another version", [...without("Sec-WebSocket-Version"), "Sec-WebSocket-Version: 8"], 426],
    ["from another site", [...HANDSHAKE, "Origin: https://evil.test"], 403],
    ["from no site", [...HANDSHAKE, "Origin: null"], 403],
    ["from an allowed site", [...HANDSHAKE, "Origin: https://app.test"], 101],
    ["from its own site", [...HANDSHAKE, "Origin: http://gw.test"], 101],
    ["that is none", [], 405],
  ] as const)("%s", async (_, lines, expected) => {
    expect(await status(lines)).toBe(expected);
  });

  test("of any site where all are allowed, unless there are cookies", async () => {
    expect(await status([...HANDSHAKE, "Origin: https://evil.test"], open)).toBe(101);
    expect(await status([...HANDSHAKE, "Origin: https://evil.test", "Cookie: a=b"], open)).toBe(403);
  });

  test("for a method that takes one message", async () => {
    expect(await status(HANDSHAKE, plain, "/tell")).toBe(400);
  });
});

/** A frame of a client. @param first with its flags */
function frame(first: number, payload: string | Uint8Array, isMasked = true): Buffer {
  const bytes = Buffer.from(payload as string);
  const mask = Buffer.from([1, 2, 3, 4]);
  const head = bytes.length < 126 ? Buffer.from([first, (isMasked ? 0x80 : 0) | bytes.length]) : Buffer.alloc(4);
  if (bytes.length >= 126) {
    head[0] = first;
    head[1] = (isMasked ? 0x80 : 0) | 126;
    head.writeUInt16BE(bytes.length, 2);
  }
  return Buffer.concat([
    head,
    isMasked ? mask : Buffer.alloc(0),
    isMasked ? bytes.map((byte, i) => byte ^ mask[i & 3]!) : bytes,
  ]);
}

describe("frames", () => {
  async function connected(): Promise<RawClient> {
    const client = await plain.connect();
    client.send(request("GET /talk", HANDSHAKE));
    expect((await client.reply()).status).toBe(101);
    return client;
  }

  test("in pieces, with pings between them; one byte at a time", async () => {
    const client = await connected();
    const sendBytes = async (...frames: readonly Buffer[]): Promise<void> => {
      for (const byte of Buffer.concat(frames)) {
        client.send(Buffer.from([byte]));
        await client.flushed();
      }
    };
    await sendBytes(frame(0x01, '{"text":'), frame(0x89, "one"));
    await client.takeUntil("\x8a\x03one", 1000);
    await sendBytes(frame(0x00, ""), frame(0x89, "two"));
    await client.takeUntil("\x8a\x03two", 1000);
    await sendBytes(frame(0x80, '"abc"}'));
    await client.takeUntil("abc", 1000);
    client.reset();
  });

  test.each([
    ["that is not masked", frame(0x81, "{}", false), 1002],
    ["with a reserved bit", frame(0xc1, "{}"), 1002],
    ["of an unknown kind", frame(0x83, "{}"), 1002],
    ["that goes on with nothing", frame(0x80, "{}"), 1002],
    ["that begins within a message", Buffer.concat([frame(0x01, "{"), frame(0x81, "}")]), 1002],
    ["of control that is in pieces", frame(0x09, "a"), 1002],
    ["of control that is long", frame(0x89, "a".repeat(126)), 1002],
    ["of binary data", frame(0x82, "{}"), 1003],
    ["that says a length of 2^63", Buffer.from([0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), 1009],
    [
      "in pieces that are too long together",
      Buffer.concat([frame(0x01, "a".repeat(60_000)), frame(0x00, "a".repeat(60_000))]),
      1009,
    ],
    ["that closes with a code of no one", frame(0x88, Buffer.from([3, 0xec])), 1002],
  ] as const)("one %s closes", async (_, bytes, code) => {
    const client = await connected();
    const call = chat.calls.length;
    client.send(bytes);
    const close = await client.take(4);
    expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, code]);
    client.send(frame(0x88, Buffer.from([3, 0xe8])));
    expect(await client.ended()).not.toBe("open");
    expect(call).toBeGreaterThan(0);
  });

  test("a message after the last one ends the call", async () => {
    const client = await connected();
    client.send(Buffer.concat([frame(0x81, '{"text":"deaf"}'), frame(0x81, ""), frame(0x81, "{}")]));
    expect((await client.takeUntil("INVALID_ARGUMENT", 1000)).toString()).toContain(
      "a message came after the last one",
    );
    client.reset();
  });

  test("an upstream that does not read stops the client", async () => {
    const client = await connected();
    client.send(frame(0x81, '{"text":"deaf"}'));
    const block = Buffer.concat(Array.from({ length: 100 }, () => frame(0x81, `{"text":"${"y".repeat(8000)}"}`)));
    expect(await sendUntilStopped(client, block)).toBeLessThan(40_000_000);
    client.reset();
    await eventually(() => expect(chat.last.isCancelled).toBe(true));
  });

  test("a client that does not read stops the upstream, and a flood of pings has few pongs", async () => {
    const client = await connected();
    client.hold();
    const pings = Buffer.concat(Array.from({ length: 5000 }, () => frame(0x89, "")));
    for (let i = 0; i < 20; i++) client.send(pings);
    client.send(frame(0x81, '{"text":"after"}'));
    client.release();
    const came = await client.takeUntil("after", 4_000_000);
    expect(came.length).toBeLessThan(100_000);
    client.reset();
  });
});

test("over HTTP/2 a WebSocket is an extended CONNECT", async () => {
  const client = await H2Client.connect(plain.port);
  const fields: Field[] = [
    [":method", "CONNECT"],
    [":protocol", "websocket"],
    [":scheme", "http"],
    [":path", "/talk"],
    [":authority", "gw.test"],
    ["sec-websocket-version", "13"],
  ];
  const id = client.headers(fields, false);
  client.data(id, frame(0x81, '{"text":"hello"}'));
  await eventually(() => expect(client.seen(id).body.toString()).toContain('{"text":"hello"}'));
  expect([client.seen(id).status, client.seen(id).fields.has("sec-websocket-accept")]).toEqual([200, false]);
  client.data(id, frame(0x81, ""));
  await eventually(() => expect(client.seen(id).body.toString("latin1")).toContain("\x88\x04\x03\xe8OK"));
  client.data(id, frame(0x88, Buffer.from([3, 0xe8])));
  expect((await client.reply(id)).isEnded).toBe(true);
  client.close();
});
