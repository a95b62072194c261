// The same by HTTP/2: requests of curl on one connection, their heads compressed as clients do it.
import type { H1UpstreamConnection } from "../../../src/upstream/h1-upstream.ts";
import { END_HEADERS, END_STREAM, encode, frameBytes, PREFACE, Type, uint32 } from "../../harness/h2-client.ts";
import { bench } from "../micro.ts";
import { GatewayLab, SinkSocket } from "./gateway-lab.ts";
import { ANSWER } from "./samples.ts";

const lab = new GatewayLab();
const socket = new SinkSocket();
const client = lab.http2Client(socket);
let nextId = 1;

// A window for all the answers to come.
const window = frameBytes(Type.windowUpdate, 0, 0, uint32(0x7fff0000 - 65_535));
client.onData(Buffer.concat([Buffer.from(PREFACE), frameBytes(Type.settings, 0, 0), window]));
/** Each field goes into the client's table the first time, and is one byte from then on. */
const FIELDS = [
  [":authority", "gateway.test"],
  ["user-agent", "curl/8.5.0"],
  ["accept", "*/*"],
] as const;
const first = [0x82, 0x86, 0x84];
const TABLE = Buffer.concat([Buffer.from(first), ...FIELDS.map((field) => asIndexed(encode([field])))]);
lab.http2Event(client, frameBytes(Type.headers, END_HEADERS | END_STREAM, takeId(), TABLE));

const health = request("/health");
const proxied = request("/node/canary");

bench("http2: GET /health", () => {
  renumber(health);
  lab.http2Event(client, health);
  return socket.bytes;
});

const ten = Buffer.concat(Array.from({ length: 10 }, () => health));
bench(
  "http2: GET /health, 10 at once",
  () => {
    for (let at = 0; at < ten.length; at += health.length) ten.writeUInt32BE(takeId(), at + 5);
    lab.http2Event(client, ten);
    return socket.bytes;
  },
  10,
);

const origin = connectOnce();
bench("http2: proxied GET, curl", () => {
  renumber(proxied);
  lab.http2Event(client, proxied);
  lab.event(origin, ANSWER);
  return socket.bytes;
});

function takeId(): number {
  nextId += 2;
  return nextId - 2;
}

function renumber(frame: Buffer): void {
  frame.writeUInt32BE(takeId(), 5);
}

/** GET as nghttp2 and curl send it: all from the tables but the path. */
function request(path: string): Buffer {
  const literal = Buffer.concat([Buffer.from([0x04, path.length]), Buffer.from(path)]);
  return frameBytes(
    Type.headers,
    END_HEADERS | END_STREAM,
    1,
    Buffer.concat([Buffer.from([0x82, 0x86]), literal, Buffer.from([0xc0, 0xbf, 0xbe])]),
  );
}

function asIndexed(block: Buffer): Buffer {
  block[0] = 0x40;
  return block;
}

/** The first proxied request opens the connection that all others find in the pool. */
function connectOnce(): H1UpstreamConnection {
  const { connect } = Bun;
  let opened: H1UpstreamConnection | null = null;
  Bun.connect = ((options: { data: H1UpstreamConnection }) => {
    opened = options.data;
    return new Promise(() => {});
  }) as never;
  renumber(proxied);
  lab.http2Event(client, proxied);
  Bun.connect = connect;
  const connection = opened as H1UpstreamConnection | null;
  if (connection === null) throw new Error("nothing was sent upstream");
  connection.onOpen(new SinkSocket());
  lab.writers.flushAll();
  lab.event(connection, ANSWER);
  return connection;
}
