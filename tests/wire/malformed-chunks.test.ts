import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { expectCanary, expectJsonError, expectRefused } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";
import { BAD_CHUNKS, GOOD_CHUNKS, TRUNCATED } from "./malformed-chunk-rows.ts";

const origin = EchoOrigin.start();
const through = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
const streaming = await startGateway({
  config: { server: { inbound_chunked_mode: "passthrough" } },
  routes: [upstream("/node", through)],
});
afterAll(async () => {
  await stopAll(streaming, through);
  await stopAll(gateway, origin);
});

describe("refused when normalized", () => {
  test.each(BAD_CHUNKS.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    expectJsonError(await expectRefused(gateway, origin, row));
  });
});

describe("refused when passed through, and never complete at the origin", () => {
  const complete: string[] = [];
  through.on("/echo", async (call) => {
    await call.body();
    complete.push(call.request.target);
    call.reply("200 OK");
  });

  test.each(BAD_CHUNKS.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    const before = through.sequence;
    const client = await streaming.connect();
    client.send(Buffer.concat([Buffer.from(row.bytes as string, "latin1"), request("GET /node/canary")]));
    const reply = await client.reply();
    expect(reply.status).toBe(row.status as number);
    expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
    await expectCanary(streaming, before + 1);
    expect(complete).toEqual([]);
  });
});

describe("served", () => {
  test.each(GOOD_CHUNKS)("%s", async (_name, bytes) => {
    const client = await gateway.connect();
    client.send(Buffer.from(bytes, "latin1"));
    expect(json<Echo>(await client.reply())).toMatchObject({ length: 5 });
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });
});

describe("cut off by the client", () => {
  test.each(TRUNCATED)("%s", async (_name, bytes) => {
    for (const [through_, at] of [
      [gateway, origin],
      [streaming, through],
    ] as const) {
      const before = at.sequence;
      const client = await through_.connect();
      client.send(bytes);
      client.finish();
      const rest = (await client.takeRest()).toString("latin1");
      if (rest !== "") expect(rest).toStartWith("HTTP/1.1 400 ");
      client.close();
      await expectCanary(through_, before + 1);
    }
  });
});
