// docs/guards.md#bytes-a-second
import { afterAll, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const RATE = 100_000;
/** What may go at once, and an eighth of a second for clocks that tick. */
const AT_ONCE = 0.325 * RATE;
const random = new SeededRandom(7);
const BODY = Buffer.from(Array.from({ length: 120_000 }, () => random.integer(48, 122)));
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const origin = EchoOrigin.start();
origin.on("/length", (call) => call.reply("200 OK", ["Content-Type: image/png"], BODY));
origin.on("/stored", (call) => call.reply("200 OK", ["Cache-Control: max-age=600", "Content-Type: image/png"], BODY));
origin.on("/packed", (call) => call.reply("200 OK", ["Content-Type: text/plain"], BODY));
origin.on("/chunks", (call) => {
  call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n");
  for (let at = 0; at < BODY.length; at += 1000) {
    call.send("3e8\r\n");
    call.send(BODY.subarray(at, at + 1000));
    call.send("\r\n");
  }
  call.send("0\r\nX-Sum: 7\r\n\r\n");
});
const limited = { limit_rate: RATE };
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      cache: { enabled: true, cookies: "bypass" },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/up", origin, limited),
    upstream("/packed", origin, { ...limited, compression: { encodings: ["gzip"] } }),
    upstream("/fast", origin),
    upstream("/slow", origin, { limit_rate: 1000 }),
    { type: "static", prefix: "/files", dir: "site", ...limited },
    { type: "function", prefix: "/function", module: "./f.ts", ...limited },
    { type: "respond", path: "/say", body: BODY.toString("latin1"), ...limited },
  ],
  files: {
    "a.pem": certificate.cert,
    "a.key": certificate.key,
    "site/small.bin": BODY.toString("latin1"),
    "f.ts": `export default () => new Response(new Uint8Array(${BODY.length}).fill(65));`,
  },
});
afterAll(() => stopAll(gateway, origin));

const SAME = ["/up/length", "/up/chunks", "/up/stored", "/up/stored", "/files/small.bin", "/say"];

/** No response may be complete before its bytes were due, however slow the machine is. */
async function paced(path: string, ask: () => Promise<Buffer>): Promise<void> {
  const began = performance.now();
  const body = await ask();
  const least = ((body.length - AT_ONCE) / RATE) * 1000;
  expect([path, body.length, performance.now() - began >= least]).toEqual([path, BODY.length, true]);
  if (path !== "/function") expect(body.equals(BODY)).toBe(true);
}

describe("no more bytes a second than limit_rate, for every type of route", () => {
  test("over HTTP/1.1, HTTP/2 and HTTP/3", async () => {
    const [h2, h3] = [await H2Client.connectTls(port), await H3Client.connect(port)];
    await Promise.all(
      [...SAME, "/function"].flatMap((path) => [
        paced(path, async () => {
          const reply = await gateway.once(request(`GET ${path}`));
          expect(reply.trailers.get("x-sum")).toBe(path === "/up/chunks" ? "7" : null);
          return reply.body;
        }),
        paced(path, async () => (await h2.request(head("GET", path))).body),
        paced(path, async () => (await h3.ask("GET", path)).body),
      ]),
    );
    expect((await gateway.once(request("HEAD /up/length"))).fields.get("content-length")).toBe(String(BODY.length));
    expect((await gateway.once(request("GET /files/none"))).status).toBe(404);
    h2.close();
    h3.close();
  });

  test("a compressed response counts by its compressed bytes, and the next one on its connection is in order", async () => {
    const client = await gateway.connect();
    const began = performance.now();
    client.send(request("GET /packed/packed", ["Accept-Encoding: gzip"]));
    client.send(request("GET /fast/length"));
    const [packed, next] = [await client.reply(), await client.reply()];
    expect(packed.fields.get("content-encoding")).toBe("gzip");
    expect(performance.now() - began).toBeGreaterThanOrEqual(((packed.body.length - AT_ONCE) / RATE) * 1000);
    expect([gunzipSync(packed.body).equals(BODY), next.body.equals(BODY)]).toEqual([true, true]);
    client.close();
  });
});

test("a slow response holds up no other, and is over when its client leaves or gives it up", async () => {
  const slow = await gateway.connect();
  slow.send(request("GET /slow/length"));
  await slow.takeUntil("\r\n\r\n", 65_536);
  const h2 = await H2Client.connectTls(port);
  const stream = h2.headers(head("GET", "/slow/length"));
  await h2.frameWhere("its head", ({ streamId }) => streamId === stream);
  for (let i = 0; i < 5; i++) expect((await gateway.once(request("GET /fast/length"))).body.equals(BODY)).toBe(true);
  expect([slow.receivedBytes < BODY.length / 2, h2.seen(stream).body.length < BODY.length / 2]).toEqual([true, true]);
  h2.frame(3, 0, stream, Buffer.from([0, 0, 0, 8]));
  slow.close();
  expect((await h2.request(head("GET", "/fast/length"))).body.equals(BODY)).toBe(true);
  await eventually(async () => expect(await gateway.metric("gateway_requests_in_flight")).toBe(1));
  h2.close();
});
