import { afterAll, expect, test } from "bun:test";
import { startGateway } from "../harness/gateway.ts";
import { SHOP_FILE } from "../harness/grpc-shop.ts";
import { json, request } from "../harness/raw-client.ts";
import {
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  GRPC_HEAD,
  grpcFrame,
  HEADERS,
  h2Fields,
  h2Frame,
  type RawCall,
  RawGrpcServer,
  RST_STREAM,
} from "../harness/raw-grpc-server.ts";
import { stopAll } from "../harness/teardown.ts";

// What a broken or hostile upstream can say. Every answer must be right, none may hang, nothing may leak.
let act: (call: RawCall) => void = () => {};
const server = await RawGrpcServer.start((call) => act(call));
const route = (http_path: string, method: string) => ({
  http_method: "GET",
  http_path,
  grpc_method: `/shop.Shop/${method}`,
  upstream_url: server.url,
  timeout: "3s",
});
const gateway = await startGateway({
  config: {
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [route("/item", "GetItem"), route("/watch", "Watch")],
    },
  },
});
afterAll(() => stopAll(gateway, server));

const OK = { "grpc-status": "0" };
const item = Buffer.from([0x0a, 1, 0x37]);
const rst = (call: RawCall, code: number) =>
  call.socket.write(h2Frame(RST_STREAM, 0, call.stream, Buffer.from([0, 0, 0, code])));

function answer(...steps: ((call: RawCall) => void)[]): (call: RawCall) => void {
  return (call) => {
    for (const step of steps) step(call);
  };
}

const head = (call: RawCall) => call.head();
/** An answer's status belongs behind it; this one is told before. */
const saysOk = (call: RawCall) => call.head({ ...GRPC_HEAD, ...OK });
const end = (fields: Record<string, string>) => (call: RawCall) => call.trailers(fields);
const data =
  (bytes: Uint8Array, flags = 0) =>
  (call: RawCall) =>
    call.data(bytes, flags);

/** Headers on a stream that nobody has opened, behind them bytes that are no frame. */
function pushThenGarbage({ socket }: RawCall): void {
  socket.write(h2Frame(HEADERS, END_HEADERS, 2, h2Fields(GRPC_HEAD)));
  socket.write(Buffer.alloc(50, 0xff));
}

const CASES: [name: string, script: (call: RawCall) => void, status: number, code: number | null][] = [
  ["a good answer", answer(head, data(grpcFrame(item)), end(OK)), 200, null],
  ["trailers only", (call) => call.head({ ...GRPC_HEAD, "grpc-status": "5" }, END_HEADERS | END_STREAM), 404, 5],
  [
    "a status in the headers and a body that ends",
    answer((c) => c.head({ ...GRPC_HEAD, ...OK }), data(grpcFrame(item), END_STREAM)),
    200,
    null,
  ],
  ["no status at all", answer(head, data(grpcFrame(item), END_STREAM)), 500, 2],
  ["nothing but an end", (call) => call.head(GRPC_HEAD, END_HEADERS | END_STREAM), 500, 2],
  ["a status that is no number", answer(head, end({ "grpc-status": "zero" })), 500, 2],
  ["a status beyond all codes", answer(head, end({ "grpc-status": "99" })), 500, 99],
  ["an empty message", answer(head, data(grpcFrame("")), end(OK)), 200, null],
  ["no message", answer(head, end(OK)), 200, null],
  ["two messages of a unary method", answer(head, data(grpcFrame(item)), data(grpcFrame(item)), end(OK)), 502, null],
  ["a length that is too long for what comes", answer(head, data(grpcFrame(item, 50)), end(OK)), 502, null],
  ["a length beyond the limit", answer(head, data(grpcFrame(item, 0xffffffff)), end(OK)), 502, null],
  ["a length that is too short", answer(head, data(grpcFrame(item, 1)), end(OK)), 502, null],
  ["half a prefix", answer(head, data(Buffer.from([0, 0])), end(OK)), 502, null],
  ["a compressed flag", answer(head, data(grpcFrame(item, 3, 1)), end(OK)), 502, null],
  ["another flag", answer(head, data(grpcFrame(item, 3, 200)), end(OK)), 502, null],
  ["a message of another type", answer(head, data(grpcFrame(Buffer.from([0x0a, 0x7f, 1]))), end(OK)), 502, null],
  [
    "an error with a broken message before it",
    answer(head, data(grpcFrame(item, 50)), end({ "grpc-status": "7" })),
    502,
    null,
  ],
  ["a body before the head", answer(data(Buffer.from("hello"))), 502, null],
  [
    "another content type",
    answer((c) => c.head({ ":status": "200", "content-type": "text/html" }), data(Buffer.from("<h1>"), END_STREAM)),
    500,
    2,
  ],
  ["HTTP 404", (c) => c.head({ ":status": "404", "content-type": "text/html" }, END_HEADERS | END_STREAM), 501, 12],
  ["HTTP 503 with a body", answer((c) => c.head({ ":status": "503" }), data(Buffer.from("busy"), END_STREAM)), 503, 14],
  ["HTTP 401", (c) => c.head({ ":status": "401" }, END_HEADERS | END_STREAM), 401, 16],
  ["a head that is none", (c) => c.socket.write(h2Frame(1, END_HEADERS, c.stream, Buffer.alloc(7, 0xff))), 502, null],
  ["a reset", (c) => rst(c, 2), 502, null],
  ["a reset in the middle", answer(head, data(grpcFrame(item, 50)), (c) => rst(c, 8)), 502, null],
  ["a reset with status 0 missing", answer(head, data(grpcFrame(item)), (c) => rst(c, 2)), 502, null],
  ["a status in the headers and a reset", answer(saysOk, data(grpcFrame(item)), (c) => rst(c, 2)), 502, null],
  ["a status in the headers and a cancel", answer(saysOk, data(grpcFrame(item)), (c) => rst(c, 8)), 502, null],
  ["a status in the headers, lost connection", answer(saysOk, data(grpcFrame(item)), (c) => c.socket.end()), 502, null],
  ["always refused", (c) => rst(c, 7), 502, null],
  ["an end of the connection", (c) => c.socket.destroy(), 502, null],
  ["an end in the middle", answer(head, data(grpcFrame(item)), (c) => c.socket.end()), 502, null],
  ["a GOAWAY that leaves the call out", (c) => c.socket.write(h2Frame(GOAWAY, 0, 0, Buffer.alloc(8))), 502, null],
  ["HTTP/1.1", (c) => c.socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"), 502, null],
  ["garbage", (c) => c.socket.write(Buffer.alloc(500, 0xa5)), 502, null],
  ["a stream of its own, then garbage", pushThenGarbage, 502, null],
  ["silence", () => {}, 504, 4],
];

test.each(CASES)(
  "%s",
  async (_, script, status, code) => {
    act = script;
    const reply = await gateway.once(request("GET /item"));
    expect(reply.status).toBe(status);
    if (code !== null) expect(json(reply)).toMatchObject({ code });
    else if (status === 502) expect(json(reply)).toEqual({ error: "502 Bad Gateway", message: "upstream unavailable" });
    act = answer(head, data(grpcFrame(item)), end(OK));
    expect((await gateway.once(request("GET /item"))).text).toBe('{"id":"7"}');
  },
  60_000,
);

test("a stream that goes wrong behind its first message is cut", async () => {
  const faults = [
    data(grpcFrame(item, 3, 1)),
    (c: RawCall) => rst(c, 2),
    (c: RawCall) => rst(c, 8),
    (c: RawCall) => c.socket.destroy(),
  ];
  for (const [begin, fault] of [head, saysOk].flatMap((begin) => faults.map((fault) => [begin, fault] as const))) {
    act = answer(begin, data(grpcFrame(item)), (call) => setTimeout(() => fault(call), 50));
    const client = await gateway.connect();
    client.send(request("GET /watch"));
    await client.takeUntil('"id":"7"', 30_000);
    expect(await client.ended()).toBe("reset");
    client.close();
  }
});

test("a call that was refused without being looked at is made again elsewhere", async () => {
  let calls = 0;
  act = (call) => {
    calls++;
    if (calls === 1) rst(call, 7);
    else answer(head, data(grpcFrame(item)), end(OK))(call);
  };
  const connections = server.connections;
  expect((await gateway.once(request("GET /item"))).status).toBe(200);
  expect(calls).toBe(2);
  expect(server.connections).toBeGreaterThan(connections);
});

test("fields that speak of the connection do not reach the client", async () => {
  act = answer(
    (call) => call.head({ ...GRPC_HEAD, "x-ok": "yes", server: "secret/1", "grpc-encoding": "identity", via: "x" }),
    data(grpcFrame(item)),
    end(OK),
  );
  const reply = await gateway.once(request("GET /item"));
  expect(reply.fields.get("x-ok")).toBe("yes");
  expect([reply.fields.get("server"), reply.fields.get("grpc-encoding"), reply.fields.get("via")]).toEqual([
    "edge",
    null,
    null,
  ]);
});
