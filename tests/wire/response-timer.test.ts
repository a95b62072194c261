import { afterAll, describe, expect, test } from "bun:test";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2Origin, INITIAL_WINDOW } from "../harness/h2-origin.ts";
import { request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

// The time for an answer runs whenever the request's body has ended, also where the origin takes the body late.

const plain = ScriptedOrigin.start().otherwise(async (call) => {
  call.connection.hold();
  await Bun.sleep(300);
  call.connection.release();
  await call.body();
  call.takeOver();
});
const h2 = await H2Origin.start();
const timeouts = { response_header: "1s" };
const gateway: Gateway = await startGateway({
  config: { server: { max_body_bytes: 0 } },
  routes: [upstream("/h1", plain, { timeouts }), upstream("/h2", h2, { timeouts })],
});
afterAll(() => stopAll(gateway, plain, h2));

// What the kernel takes depends on the moment: with one of these sizes the last piece waits for it.
const SIZES = Array.from({ length: 14 }, (_, i) => 1_000_000 + i * 400_000);
const LIMIT_MS = 8000;

describe("an origin that takes the last of a body late and never answers", () => {
  test("costs a client of HTTP/1.1 no more than the time for an answer", async () => {
    const statuses = SIZES.map(async (size) => {
      const client = await gateway.connect();
      client.send(request("POST /h1/x", [], Buffer.alloc(size, "x")));
      const { status } = await client.reply("POST", LIMIT_MS);
      client.close();
      return status;
    });
    expect(await Promise.all(statuses)).toEqual(SIZES.map(() => 504));
  });

  test("costs a client of HTTP/2 no more than the time for an answer", async () => {
    const statuses = SIZES.map(async (size) => {
      const client = await H2Client.connect(gateway.port);
      const id = client.headers(head("POST", "/h1/x", [["content-length", `${size}`]]), false);
      for (let left = size; left > 0; ) {
        const room = await client.until("a window", () => windowOf(client, id, size - left) || undefined, LIMIT_MS);
        const length = Math.min(left, room, 16_000);
        left -= length;
        client.data(id, Buffer.alloc(length, "x"), left === 0);
      }
      const { status } = await client.reply(id, LIMIT_MS);
      client.close();
      return status;
    });
    expect(await Promise.all(statuses)).toEqual(SIZES.map(() => 504));
  });

  test("also where its window opens late", async () => {
    await h2.play({
      settings: [[INITIAL_WINDOW, 100]],
      opensWindows: false,
      onHead: ({ connection, id }) => void setTimeout(() => connection.frame(8, 0, id, Buffer.from([0, 1, 0, 0])), 200),
    });
    expect((await gateway.once(request("POST /h2/x", [], Buffer.alloc(30_000)))).status).toBe(504);
  });
});

/** What the gateway's windows let a client send on its only stream. */
function windowOf(client: H2Client, id: number, sent: number): number {
  let stream = 65_535;
  let connection = 65_535;
  for (const { type, flags, streamId, payload } of client.frames) {
    if (type === 8 && streamId === 0) connection += payload.readUInt32BE(0);
    if (type === 8 && streamId === id) stream += payload.readUInt32BE(0);
    if (type !== 4 || (flags & 1) !== 0) continue;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) === INITIAL_WINDOW) stream += payload.readUInt32BE(at + 2) - 65_535;
    }
  }
  return Math.min(stream, connection) - sent;
}
