// An origin of HTTP/2 that retires its connections loses no upload: those that cross its GOAWAY are sent once more, whole.
// RFC 9113 §6.8, docs/security.md#retries
import { afterAll, beforeEach, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { Code, H2Client, head } from "../harness/h2-client.ts";
import { H2Origin, type H2OriginConnection, type H2OriginStream, type H2Script } from "../harness/h2-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const { cert, key } = await makeCertificate();
const quicPort = freePort();
const origin = await H2Origin.start();
const through = { inbound_chunked_mode: "passthrough" };
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      tls: { port: quicPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/through", { url: origin.url }, through),
    { type: "respond", path: "/asks", body: "in", auth: { forward: { url: `${origin.url}/verify` } } },
    upstream("/once", { url: origin.url }, { ...through, retries: { attempts: 0 } }),
  ],
  files: { "a.pem": cert, "a.key": key },
});
afterAll(async () => {
  origin.stop();
  await stopAll(gateway);
});

const STREAMS_EACH = 5;
/** How many times each upload was answered, by its path. */
const answers = new Map<string, number>();
let turnedAway = 0;
beforeEach(() => {
  answers.clear();
  turnedAway = 0;
});

/** Serves five streams on a connection. What comes beyond has crossed the GOAWAY, which leaves when its head has come. */
const retiring: H2Script = {
  opensWindows: false,
  onHead(stream) {
    if (!isBeyond(stream)) return;
    turnedAway++;
    stream.connection.goAway(2 * STREAMS_EACH - 1);
  },
  onData(stream, bytes) {
    if (isBeyond(stream) || bytes.length === 0) return;
    for (const id of [0, stream.id]) stream.connection.frame(8, 0, id, uint32(bytes.length));
  },
  onEnd(stream) {
    if (isBeyond(stream)) return;
    answers.set(stream.path, (answers.get(stream.path) ?? 0) + 1);
    stream.answer(sha256(Buffer.concat(stream.body)));
  },
};
const isBeyond = ({ id }: H2OriginStream): boolean => id > 2 * STREAMS_EACH - 1;

function uint32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(value);
  return out;
}

/** Bytes that tell each place and each body apart. */
function body(i: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE((i << 20) | (at >> 2), at);
  return bytes;
}

type Upload = (path: string, bytes: Buffer) => Promise<string>;
const declared: Upload = async (path, bytes) => (await gateway.once(request(`POST ${path}`, [], bytes))).text;
const openEnded: Upload = async (path, bytes) =>
  (await gateway.once(Buffer.concat([request(`POST ${path}`, ["Transfer-Encoding: chunked"]), chunked(bytes)]))).text;
const slow: Upload = async (path, bytes) => {
  const client = await gateway.connect();
  const whole = request(`POST ${path}`, [], bytes);
  for (let at = 0; at < whole.length; at += 20_000) {
    client.send(whole.subarray(at, at + 20_000));
    await Bun.sleep(2);
  }
  const { text } = await client.reply("POST");
  client.close();
  return text;
};
const overHttp2: Upload = async (path, bytes) => {
  const client = await H2Client.connect(gateway.port);
  const id = client.headers(head("POST", path), false);
  for (let at = 0; at < bytes.length; at += 16_384) {
    client.data(id, bytes.subarray(at, at + 16_384), at + 16_384 >= bytes.length);
    await Bun.sleep(1);
  }
  const { text } = await client.reply(id);
  client.close();
  return text;
};
const overHttp3: Upload = async (path, bytes) => {
  const client = await H3Client.connect(quicPort);
  const reply = await client.ask("POST", path, {}, { pieces: [bytes] });
  client.close();
  return reply.body.toString();
};

test.each([
  ["with a length", declared, 30_000],
  ["with a length, larger than a window", declared, 300_000],
  ["in chunks", openEnded, 50_000],
  ["in pieces", slow, 200_000],
  ["over HTTP/2", overHttp2, 60_000],
  ["over HTTP/3", overHttp3, 100_000],
] as const)(
  "no upload is lost, and none is answered twice: %s",
  async (_, upload, size) => {
    await origin.play(retiring);
    const paths = Array.from({ length: 60 }, (_, i) => `/through/${i}`);
    const bodies = paths.map((_, i) => body(i, size));
    for (let from = 0; from < paths.length; from += 6) {
      const batch = paths.slice(from, from + 6);
      const found = await Promise.all(batch.map((path, i) => upload(path, bodies[from + i]!)));
      expect(found).toEqual(batch.map((_, i) => sha256(bodies[from + i]!)));
    }
    expect(turnedAway).toBeGreaterThan(5);
    expect([...answers.values()].every((count) => count === 1)).toBe(true);
  },
  30_000,
);

/** A request for `path` with a body that is open-ended, but that connections are not spread for: bodies of calls share a window. */
const call: Upload = async (path, bytes) => {
  const fields = ["Transfer-Encoding: chunked", "Content-Type: application/grpc"];
  return (await gateway.once(Buffer.concat([request(`POST ${path}`, fields), chunked(bytes)]))).text;
};

/**
 * So many uploads cross the GOAWAY of one connection, and then those of all later ones, which take one stream each: the first is left
 * out once, the second twice. @returns what became of each, and how often the origin has seen it, both in the order of the latter
 */
async function leftOutInTurn(
  upload: Upload,
  count: number,
  leaveOut: (connection: H2OriginConnection) => void = (connection) => connection.goAway(1),
): Promise<{ texts: string[]; heads: number[] }> {
  const heads = new Map<string, number>();
  await origin.play({
    opensWindows: false,
    onOpen: (connection) => connection.frame(8, 0, 0, uint32(10_000_000)),
    onHead(stream) {
      heads.set(stream.path, (heads.get(stream.path) ?? 0) + 1);
      const { connection } = stream;
      // The first connection, on which a request has come before, waits until all are there.
      const goesAt = connection.number === 0 ? 1 + 2 * count : 3;
      if (stream.id >= goesAt) leaveOut(connection);
    },
    onEnd(stream) {
      if (stream.id === 1) stream.answer(sha256(Buffer.concat(stream.body)));
    },
  });
  await gateway.once(request("GET /through/first"));
  heads.clear();
  const paths = Array.from({ length: count }, (_, i) => `/turn-${i}`);
  const found = await Promise.all(paths.map((path, i) => upload(`/through${path}`, body(i, SMALL))));
  const texts = new Map(paths.map((path, i) => [path, found[i] === sha256(body(i, SMALL)) ? "whole" : found[i]!]));
  const inTurn = [...heads].sort(([, a], [, b]) => a - b);
  return { texts: inTurn.map(([path]) => texts.get(path)!), heads: inTurn.map(([, seen]) => seen) };
}
const SMALL = 9000;
const LOST = '{"error":"502 Bad Gateway","message":"upstream unavailable"}';

test.each([
  ["kept from the start", declared],
  ["of which what was sent is kept", call],
] as const)("one that is left out time and again is not lost: a body %s", async (_, upload) => {
  expect(await leftOutInTurn(upload, 5)).toEqual({ texts: Array(5).fill("whole"), heads: [2, 3, 4, 5, 6] });
});

/** Retires a connection as servers do that do not know which streams are on their way: it names none, and refuses those that come. */
const refusing = (connection: H2OriginConnection): void => {
  connection.goAway(0x7fffffff);
  for (const stream of connection.streams.values()) if (stream.id > 1) stream.refuse(Code.refused);
};

test.each([
  ["kept from the start", declared],
  ["of which what was sent is kept", call],
] as const)(
  "a refusal on a connection that is retired is no attempt, and no limit is learnt of it: a body %s",
  async (_, upload) => {
    const { texts, heads } = await leftOutInTurn(upload, 5, refusing);
    expect([texts, Math.max(...heads) > 3]).toEqual([Array(5).fill("whole"), true]);
  },
);

test("there is a bound to it, for an origin that takes hardly anything", async () => {
  const { texts, heads } = await leftOutInTurn(declared, 7);
  expect({ texts, heads }).toEqual({ texts: [...Array(5).fill("whole"), LOST, LOST], heads: [2, 3, 4, 5, 6, 6, 6] });
});

test("an authentication service of HTTP/2 that retires its connections refuses nobody", async () => {
  await origin.play({
    onHead: ({ connection, id }) => {
      if (id === (connection.number === 0 ? 11 : 3)) connection.goAway(1);
    },
    onEnd: (stream) => {
      if (stream.id === 1) stream.answer("");
    },
  });
  const ask = async () => (await gateway.once(request("GET /asks"))).status;
  expect(await ask()).toBe(200);
  expect(await Promise.all(Array.from({ length: 5 }, ask))).toEqual(Array(5).fill(200));
  expect(origin.connections.length).toBe(6);
});

test("one that was refused after its body began goes to another connection, whole", async () => {
  let refused = 0;
  await origin.play({
    onData(stream) {
      if (refused === 0 && stream.length > 20_000) {
        refused++;
        stream.refuse(Code.refused);
      }
    },
    onEnd: (stream) => stream.answer(sha256(Buffer.concat(stream.body))),
    opensWindows: false,
  });
  const bytes = body(1, 40_000);
  expect([await openEnded("/through/refused", bytes), refused]).toEqual([sha256(bytes), 1]);
});

test("what an origin has begun to read is not sent again, nor anything without attempts left", async () => {
  await origin.play({
    onData(stream, bytes) {
      if (bytes.length === 0) return;
      for (const id of [0, stream.id]) stream.connection.frame(8, 0, id, uint32(bytes.length));
      if (stream.length > 100_000) stream.connection.goAway(0);
    },
    opensWindows: false,
  });
  expect((await gateway.once(request("POST /through/read", [], body(1, 300_000)))).status).toBe(502);
  await origin.play({ onData: (stream) => stream.refuse(Code.refused), opensWindows: false });
  expect((await gateway.once(request("POST /once/x", [], body(1, 30_000)))).status).toBe(502);
});
