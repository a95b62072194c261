import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

// Memory of received bytes is used again as soon as nobody should need it any more: whoever is wrong about that sends one
// client's bytes to another, or none.

const CLIENTS = 16;
const EXCHANGES = 12;
const LARGEST = 700_000;
const PATIENCE_MS = 60_000;

const origin = EchoOrigin.start();
origin.on("/mirror", async (call) => {
  const { bytes } = await call.body();
  const head = "HTTP/1.1 200 OK\r\n";
  if (call.request.target.endsWith("chunked")) {
    call.send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    call.send(chunked(bytes, 50_000));
  } else if (call.request.target.endsWith("close")) {
    call.sendAndFinish(Buffer.concat([Buffer.from(`${head}Connection: close\r\n\r\n`), bytes]));
  } else call.reply("200 OK", [], bytes);
});
const gateway = await startGateway({
  config: { server: { max_body_bytes: 0, cache: { enabled: true } } },
  routes: [
    upstream("/plain", origin),
    upstream("/through", origin, { inbound_chunked_mode: "passthrough" }),
    upstream("/again", origin, { retries: { attempts: 2 } }),
  ],
});
afterAll(() => stopAll(gateway, origin));

async function mirrorAll(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const client = await gateway.connect();
  for (let i = 0; i < EXCHANGES; i++) {
    const body = random.bytes(random.integer(1, i % 3 === 0 ? 20_000 : LARGEST));
    const target = `${random.pick(["/plain", "/through", "/again"])}/mirror?${random.pick(["length", "chunked", "close"])}`;
    const isChunked = random.chance(0.5);
    const lines = isChunked ? ["Transfer-Encoding: chunked"] : [];
    const reads = client.reply.bind(client, "POST", PATIENCE_MS);
    if (i % 4 === 1) client.hold();
    client.send(request(`POST ${target}`, lines, isChunked ? chunked(body, 30_000) : body));
    if (i % 4 === 1) setTimeout(() => client.release(), 20);
    const reply = await reads();
    expect([reply.status, reply.body.equals(body)]).toEqual([200, true]);
  }
  client.close();
}

test(
  "bodies of many clients at once come back byte for byte",
  async () => {
    await Promise.all(Array.from({ length: CLIENTS }, (_, i) => mirrorAll(i + 1)));
  },
  2 * PATIENCE_MS,
);
