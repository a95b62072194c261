import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type RawClient, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const MIB = 1024 * 1024;
const LIMIT = 2 * MIB;
const BODY = Buffer.alloc(12 * MIB, "b");

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { max_unsent_bytes: LIMIT } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

async function metric(name: string): Promise<number> {
  return gateway.metric(name);
}

test("what waits for clients that do not read is bounded: those that have stood still longest are cut", async () => {
  origin.on("/download", (call) => call.reply("200 OK", [], BODY));
  const idlers: RawClient[] = [];
  for (let n = 0; n < 40; n++) {
    const client = await gateway.connect();
    client.hold();
    client.send(request("GET /node/download"));
    idlers.push(client);
  }
  await eventually(async () => expect(await metric("gateway_abandoned_connections_total")).toBeGreaterThan(0));
  await eventually(async () => {
    const unsent = await metric("gateway_unsent_bytes");
    expect(unsent).toBeGreaterThan(0);
    expect(unsent).toBeLessThanOrEqual(LIMIT);
  });
  // One who reads gets everything, although the others have used up the room.
  const reader = await gateway.connect();
  const reply = await reader.exchange(request("GET /node/download"));
  expect([reply.status, reply.body.byteLength]).toEqual([200, BODY.byteLength]);
  reader.close();
  for (const client of idlers) client.close();
  await eventually(async () => expect(await metric("gateway_unsent_bytes")).toBe(0));
}, 60_000);
