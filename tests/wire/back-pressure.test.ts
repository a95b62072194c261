import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { ByteSocket } from "../harness/byte-socket.ts";
import { EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { expectGrowthBelow, residentBytes } from "../harness/memory.ts";
import { chunked, request } from "../harness/raw-client.ts";
import type { OriginConnection } from "../harness/scripted-origin.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const MIB = 1024 * 1024;
const BODY = Buffer.concat(Array<Buffer>(160).fill(new SeededRandom(7).bytes(MIB)));
const BODY_SHA256 = sha256(BODY);
/** What the kernel's socket buffers may hold on the way while the reader stands still: up to 37 MiB a connection. */
const IN_FLIGHT_BYTES = 110 * MIB;
/** What the gateway's memory may grow by while 160 MiB wait in front of it; much of it is garbage not yet collected. */
const GROWTH_BYTES = 32 * MIB;
/** Decides only when a body that does not go on is called stuck. */
const PASSING_MS = 60_000;

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { max_body_bytes: 0 } },
  routes: [upstream("/node", origin), upstream("/through", origin, { inbound_chunked_mode: "passthrough" })],
});
afterAll(() => stopAll(gateway, origin));

/** Waits until the sender gets nothing more into the kernel. */
async function untilStalled(sender: ByteSocket, before = 0): Promise<number> {
  for (let still = 0, last = -1; still < 15; ) {
    await Bun.sleep(20);
    still = sender.sentBytes === last ? still + 1 : 0;
    last = sender.sentBytes;
  }
  return sender.sentBytes - before;
}

/** Runs `stalled` with the memory as it was before, and checks that it has not grown beyond the bound. */
async function withBoundedMemory(stalled: () => Promise<void>): Promise<void> {
  const before = residentBytes(gateway);
  await stalled();
  await expectGrowthBelow(gateway, before, GROWTH_BYTES);
}

test.each([
  ["with a length", (body: Buffer) => [`HTTP/1.1 200 OK\r\nContent-Length: ${body.byteLength}\r\n\r\n`, body]],
  ["chunked", (body: Buffer) => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunked(body, 100_000)]],
])(
  "a client that does not read holds the origin back (answer %s)",
  async (_name, answer) => {
    const called = Promise.withResolvers<readonly [OriginConnection, number]>();
    origin.on("/download", (call) => {
      called.resolve([call.connection, call.connection.sentBytes]);
      for (const part of answer(BODY)) call.send(part);
    });
    const client = await gateway.connect();
    client.hold();
    client.send(request("GET /node/download"));
    await withBoundedMemory(async () => {
      expect(await untilStalled(...(await called.promise))).toBeLessThan(IN_FLIGHT_BYTES);
    });
    client.release();
    const reply = await client.reply("GET", PASSING_MS);
    expect([reply.body.byteLength, sha256(reply.body)]).toEqual([BODY.byteLength, BODY_SHA256]);
    client.close();
  },
  2 * PASSING_MS,
);

test.each([
  ["with a length", "/node", request("POST /node/upload", [], BODY)],
  ["chunked", "/through", request("POST /through/upload", ["Transfer-Encoding: chunked"], chunked(BODY, 100_000))],
])(
  "an origin that does not read holds the client back (body %s)",
  async (_name, _prefix, bytes) => {
    const connected = Promise.withResolvers<OriginConnection>();
    const mayRead = Promise.withResolvers<void>();
    origin.on("/upload", async (call) => {
      call.connection.hold();
      connected.resolve(call.connection);
      await mayRead.promise;
      call.connection.release();
      call.reply("200 OK", [], sha256((await call.body()).bytes));
    });
    const client = await gateway.connect();
    await withBoundedMemory(async () => {
      client.send(bytes);
      await connected.promise;
      expect(await untilStalled(client)).toBeLessThan(IN_FLIGHT_BYTES);
    });
    mayRead.resolve();
    expect((await client.reply("POST", PASSING_MS)).text).toBe(BODY_SHA256);
    client.close();
  },
  2 * PASSING_MS,
);

test("a client that reads in small sips gets every byte", async () => {
  const body = BODY.subarray(0, 8 * MIB);
  origin.on("/sips", (call) => call.reply("200 OK", [], body));
  const client = await gateway.connect();
  client.send(request("GET /node/sips", ["Connection: close"]));
  const digest = createHash("sha256");
  await client.takeUntil("\r\n\r\n", 65536);
  for (let bytes = await client.takeSome(); bytes !== null; bytes = await client.takeSome()) {
    digest.update(bytes);
    client.hold();
    await Bun.sleep(2);
    client.release();
  }
  expect(digest.digest("hex")).toBe(sha256(body));
  client.close();
});
