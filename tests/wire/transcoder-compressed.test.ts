import { afterAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { startGateway } from "../harness/gateway.ts";
import { shopRoute } from "../harness/grpc-shop.ts";
import { request } from "../harness/raw-client.ts";
import { END_STREAM, GRPC_HEAD, grpcFrame, type RawCall, RawGrpcServer } from "../harness/raw-grpc-server.ts";
import { stopAll } from "../harness/teardown.ts";

// Messages of responses that are compressed (`grpc-encoding: gzip`).

let act: (call: RawCall) => void = () => {};
const server = await RawGrpcServer.start((call) => act(call));
const gateway = await startGateway({
  config: { transcoder: { enabled: true, routes: [shopRoute("GET", "/watch", "Watch", server.url)] } },
});
afterAll(() => stopAll(gateway, server));

const packed = (text: string, more: Uint8Array = Buffer.alloc(0)): Buffer => {
  const bytes = Buffer.concat([gzipSync(text), more]);
  return grpcFrame(bytes, bytes.length, 1);
};
const large = JSON.stringify({ text: "x".repeat(3_000_000) });
const bomb = JSON.stringify({ text: "x".repeat(17 * 1024 * 1024) });
const GZIP_HEAD = { ...GRPC_HEAD, "grpc-encoding": "gzip" };

/** Sends in frames of the size that every client takes. */
function send(call: RawCall, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += 16_384) call.data(bytes.subarray(at, at + 16_384));
}

function answering(messages: Uint8Array, head: Record<string, string> = GZIP_HEAD): void {
  act = (call) => {
    // Reflection finds nothing, so that messages are JSON.
    call.head(head);
    send(call, messages);
    call.trailers({ "grpc-status": "0" });
  };
}

describe("compressed messages", () => {
  test("come unpacked and in order, small ones, large ones and plain ones", async () => {
    const texts = ['{"n":1}', large, '{"n":2}', '{"n":3}', large, '{"n":4}', ""];
    answering(Buffer.concat(texts.map((text, i) => (i === 2 ? grpcFrame(text) : packed(text || "{}")))));
    const reply = await gateway.once(request("GET /watch", ["Accept: application/x-ndjson"]));
    expect([reply.status, reply.body.toString()]).toEqual([200, texts.map((text) => `${text || "{}"}\n`).join("")]);
  });

  test("a thousand small ones", async () => {
    const texts = Array.from({ length: 1000 }, (_, n) => JSON.stringify({ n, pad: "y".repeat(2000) }));
    answering(Buffer.concat(texts.map((text) => packed(text))));
    const reply = await gateway.once(request("GET /watch", ["Accept: application/x-ndjson"]));
    expect(reply.body.toString()).toBe(texts.map((text) => `${text}\n`).join(""));
  });

  test.each([
    ["of more than 16 MiB", packed(bomb), GZIP_HEAD],
    ["that are no gzip", grpcFrame("not gzip", 8, 1), GZIP_HEAD],
    [
      "that say another length than they have",
      grpcFrame(Buffer.concat([gzipSync(large).subarray(0, -4), Buffer.from([9, 0, 0, 0])]), gzipSync(large).length, 1),
      GZIP_HEAD,
    ],
    ["without a coding", packed('{"n":1}'), GRPC_HEAD],
    ["in a coding that was not asked for", packed('{"n":1}'), { ...GRPC_HEAD, "grpc-encoding": "zstd" }],
  ] as const)("%s are malformed", async (_, messages, head) => {
    answering(messages, head);
    expect((await gateway.once(request("GET /watch"))).status).toBe(502);
    answering(packed('{"n":1}'));
    expect((await gateway.once(request("GET /watch"))).text).toBe('{"n":1}');
  });

  test("a client that leaves while one is unpacked harms nothing", async () => {
    act = (call) => {
      call.head(GZIP_HEAD);
      send(call, packed(large));
      call.data(packed(large), END_STREAM);
    };
    for (let i = 0; i < 20; i++) {
      const client = await gateway.connect();
      client.send(request("GET /watch"));
      await Bun.sleep(i);
      client.reset();
    }
    answering(packed('{"n":1}'));
    expect((await gateway.once(request("GET /watch"))).status).toBe(200);
  });
});
