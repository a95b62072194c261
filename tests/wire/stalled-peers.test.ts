// One stream that stops holds up no other. docs/security.md#shared-resources-and-their-bounds
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { type Field, H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { H2Origin, type H2OriginStream } from "../harness/h2-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { chunked, type RawClient, request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const { cert, key } = await makeCertificate();
const quicPort = freePort();
const origin = EchoOrigin.start();
origin.on("/ws", acceptAndEcho);
/** Takes requests, and neither answers nor opens a window. */
const unread = await H2Origin.start({ opensWindows: false });
const silent = ScriptedOrigin.start();
silent.on("/verify", () => undefined);
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      http2: { extended_connect: true },
      tls: { port: quicPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/unread", { url: unread.url }),
    upstream("/through", { url: unread.url }, { inbound_chunked_mode: "passthrough" }),
    upstream("/guarded", origin, { auth: { forward: { url: `${silent.url}/verify`, timeout: "25s" } } }),
    { type: "function", prefix: "/never", module: "./never.ts", timeout: "25s" },
  ],
  files: { "a.pem": cert, "a.key": key, "never.ts": "export default () => new Promise(() => {});" },
});
afterAll(async () => {
  unread.stop();
  await stopAll(gateway, origin, silent);
});

async function acceptAndEcho(call: OriginCall): Promise<void> {
  const asked = call.request.fields.get("sec-websocket-key") ?? "";
  const accept = createHash("sha1").update(`${asked}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket"];
  call.takeOver().send(`${lines.join("\r\n")}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  for (;;) {
    const bytes = await call.connection.takeSome(1e9);
    if (bytes === null) return call.connection.close();
    call.connection.send(bytes);
  }
}

/** Uploads of each kind that a client of HTTP/3 leaves. */
const HELD = 8;
const STREAM_WINDOW = 262_144;
const FRAME = Buffer.alloc(16_384, "x");
const BODY = Buffer.alloc(400_000, "0123456789");

/** Bytes that the gateway lets the client send beyond those that it began with. */
function opened(client: H2Client, streamId: number): number {
  let sum = 0;
  for (const { type, streamId: id, payload } of client.frames) {
    if (type === Type.windowUpdate && id === streamId) sum += payload.readUInt32BE(0);
  }
  return sum;
}

/** A client of HTTP/2 that keeps to the windows, its connection's as well. */
class Uploader {
  private sent = 0;
  private constructor(readonly client: H2Client) {}

  static async connect(): Promise<Uploader> {
    return new Uploader(await H2Client.connect(gateway.port));
  }

  /** Begins an upload and sends as much as its stream's window takes. */
  async hold(path: string): Promise<number> {
    const id = this.client.headers(head("POST", path), false);
    for (let at = 0; at < STREAM_WINDOW; at += FRAME.length) await this.send(id, FRAME, false);
    return id;
  }

  /** Sends a body whole. */
  async upload(path: string, body: Buffer): Promise<Echo> {
    const id = this.client.headers(head("POST", path, [["content-length", `${body.length}`]]), false);
    for (let at = 0; at < body.length; at += FRAME.length) {
      const end = Math.min(body.length, at + FRAME.length);
      await this.client.until("the stream's window", () => STREAM_WINDOW + opened(this.client, id) >= end || undefined);
      await this.send(id, body.subarray(at, end), end === body.length);
    }
    return JSON.parse((await this.client.reply(id)).text) as Echo;
  }

  async send(id: number, bytes: Buffer, isEnd: boolean): Promise<void> {
    const most = this.sent + bytes.length;
    await this.client.until("the connection's window", () => 65_535 + opened(this.client, 0) >= most || undefined);
    this.sent = most;
    this.client.data(id, bytes, isEnd);
  }
}

const WEBSOCKET: readonly Field[] = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "http"],
  [":path", "/node/ws"],
  [":authority", "gw.test"],
  ["sec-websocket-version", "13"],
];

describe("uploads of one client that nobody reads", () => {
  test.each([
    ["an origin of HTTP/2 that does not read", "/unread"],
    ["a function that does not read", "/never"],
    ["an authentication service that does not answer", "/guarded"],
  ])("behind %s, leave its other bodies and WebSockets over HTTP/2 alone", async (_, path) => {
    const uploader = await Uploader.connect();
    for (let i = 0; i < 40; i++) await uploader.hold(path);
    const { length } = await uploader.upload("/node/echo", BODY);
    expect(length).toBe(BODY.length);
    const socket = uploader.client.headers(WEBSOCKET, false);
    await eventually(() => expect(uploader.client.seen(socket).status).toBe(200));
    for (let i = 0; i < 20; i++) await uploader.send(socket, FRAME, false);
    await uploader.client.until("the echo", () => uploader.client.seen(socket).body.length === 20 * FRAME.length);
    uploader.client.close();
  });

  test("leave its other bodies over HTTP/3 alone", async () => {
    const client = await H3Client.connect(quicPort);
    const before = unread.streams.length;
    async function* held(): AsyncIterable<Uint8Array> {
      for (let at = 0; at < STREAM_WINDOW; at += FRAME.length) yield FRAME;
      await Bun.sleep(20_000);
    }
    for (const path of ["/unread", "/never", "/guarded"]) {
      for (let i = 0; i < HELD; i++) void client.ask("POST", path, {}, { pieces: held() }).catch(() => {});
    }
    await eventually(() => expect(unread.streams.length).toBe(before + HELD));
    const reply = await client.ask("POST", "/node/echo", {}, { pieces: [BODY] });
    expect((JSON.parse(reply.body.toString()) as Echo).length).toBe(BODY.length);
    client.close();
  });
});

describe("an origin of HTTP/2 that leaves uploads unread", () => {
  /** Opens the windows of all but the uploads to `/stuck`. */
  const picky = { opensWindows: false, onData: openUnlessStuck, onEnd: (stream: H2OriginStream) => answer(stream) };
  const uploads = (path: string, count: number, lines: readonly string[] = []) =>
    Array.from({ length: count }, () => gateway.once(request(`POST ${path}`, lines, BODY)));

  function openUnlessStuck(stream: H2OriginStream, bytes: Buffer): void {
    if (stream.path === "/stuck" || bytes.length === 0) return;
    stream.connection.frame(Type.windowUpdate, 0, 0, uint32(bytes.length));
    stream.connection.frame(Type.windowUpdate, 0, stream.id, uint32(bytes.length));
  }
  const answer = (stream: H2OriginStream): void => stream.answer(`${stream.length}`);

  async function hold(count: number, lines: readonly string[]): Promise<RawClient[]> {
    const begun = unread.streams.length;
    const clients = await Promise.all(Array.from({ length: count }, () => gateway.connect()));
    const body = lines[0]!.startsWith("Content") ? BODY : chunk(BODY);
    for (const client of clients) client.send(Buffer.concat([head1("/through/stuck", lines), body]));
    await eventually(() => expect(unread.streams.length).toBe(begun + count));
    return clients;
  }

  test.each([
    ["declared", 1],
    ["declared", 6],
    ["declared", 40],
    ["open-ended", 6],
  ])("gets other bodies over connections of their own: %s, %i of them", async (kind, count) => {
    await unread.play(picky);
    const lines = kind === "declared" ? [`Content-Length: ${2 * BODY.length}`] : ["Transfer-Encoding: chunked"];
    const clients = await hold(count, lines);
    for (const reply of await Promise.all(uploads("/through/fine", 10))) expect(reply.text).toBe(`${BODY.length}`);
    const small = await Promise.all(
      Array.from({ length: 20 }, () => gateway.once(request("POST /through/fine", [], "hello"))),
    );
    expect(small.map(({ text }) => text)).toEqual(new Array(20).fill("5"));
    for (const client of clients) client.reset();
  });

  test("leaves the bodies alone that are on their way when it stops", async () => {
    await unread.play(picky);
    const clients = await Promise.all(Array.from({ length: 10 }, () => gateway.connect()));
    const declared = head1("/through/fine", [`Content-Length: ${BODY.length}`]);
    for (const client of clients) client.send(Buffer.concat([declared, BODY.subarray(0, 1000)]));
    await eventually(() => expect(unread.streams.length).toBe(clients.length));
    const stuck = await hold(6, [`Content-Length: ${2 * BODY.length}`]);
    for (const client of clients) client.send(BODY.subarray(1000));
    for (const client of clients) expect((await client.reply("POST")).text).toBe(`${BODY.length}`);
    for (const client of [...clients, ...stuck]) client.reset();
  });

  test.each([
    ["15,000 bytes each", 15_000, 12],
    ["15,000 bytes each", 15_000, 40],
    ["their whole window", 400_000, 8],
  ])(
    "gets calls of gRPC that have begun, and further ones, beside those that it leaves with %s (%#)",
    async (_, bytes, count) => {
      await unread.play(picky);
      const lines = ["Transfer-Encoding: chunked", "Content-Type: application/grpc"];
      const message = Buffer.alloc(600, "m");
      const begin = async (path: string): Promise<RawClient> => {
        const client = await gateway.connect();
        client.send(head1(path, lines));
        return client;
      };
      // In turn, so that each connection has calls of both kinds if calls share it.
      const stuck: RawClient[] = [];
      const fine: RawClient[] = [];
      for (let i = 0; i < count; i++) {
        stuck.push(await begin("/through/stuck"));
        fine.push(await begin("/through/fine"));
      }
      await eventually(() => expect(unread.streams.length).toBe(2 * count));
      for (const client of stuck) client.send(chunk(BODY.subarray(0, bytes)));
      await eventually(() => {
        const held = unread.streams.filter(({ path }) => path === "/stuck").map(({ length }) => length);
        expect(Math.min(...held)).toBeGreaterThanOrEqual(Math.min(bytes, 15_000));
      });
      for (let i = 0; i < count; i++) fine.push(await begin("/through/fine"));
      for (const client of fine) client.send(Buffer.concat([chunk(message), Buffer.from("0\r\n\r\n")]));
      for (const client of fine) expect((await client.reply("POST")).text).toBe(`${message.length}`);
      for (const client of [...fine, ...stuck]) client.reset();
    },
  );

  test("shares its connections among small bodies and calls of gRPC", async () => {
    await unread.play({ ...picky, onEnd: (stream) => void setTimeout(() => answer(stream), 100) });
    const body = Buffer.alloc(500, "x");
    const replies = [
      ...Array.from({ length: 30 }, () => gateway.once(request("POST /through/fine", [], body))),
      ...Array.from({ length: 30 }, async () => {
        const lines = ["Transfer-Encoding: chunked", "Content-Type: application/grpc"];
        return await gateway.once(Buffer.concat([request("POST /through/fine", lines), chunked(body)]));
      }),
    ];
    for (const { text } of await Promise.all(replies)) expect(text).toBe("500");
    expect(unread.connections.length).toBeLessThan(3);
  });

  test("gets no more connections than bodies need windows, and those that it takes", async () => {
    await unread.play(picky);
    for (const reply of await Promise.all(uploads("/through/fine", 60))) expect(reply.text).toBe(`${BODY.length}`);
    expect(unread.connections.length).toBeLessThan(61);
  });
});

/** A chunk without the end of its body. */
function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

function head1(target: string, lines: readonly string[]): Buffer {
  return Buffer.from([`POST ${target} HTTP/1.1`, "Host: gw.test", ...lines, "", ""].join("\r\n"));
}
