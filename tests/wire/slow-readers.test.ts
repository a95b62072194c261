import { afterAll, describe, expect, test } from "bun:test";
import type { ByteSocket } from "../harness/byte-socket.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const PATH = "/files/big.bin";
/** Twice as long as a client may go without reading. */
const READING_MS = 6000;
/** Between two reads of at most 64 KiB: what makes the kernel tell of room takes longer than `write_timeout` at that rate. */
const PAUSE_MS = 700;
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const gateway = await startGateway({
  config: { server: { write_timeout: "3s", tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" } } },
  routes: [{ type: "static", prefix: "/files", dir: "site" }],
  files: { "a.pem": certificate.cert, "a.key": certificate.key, "site/big.bin": Buffer.alloc(32 * 1024 * 1024) },
});
afterAll(() => stopAll(gateway));

async function overHttp2(): Promise<ByteSocket> {
  const client = await H2Client.connect(gateway.port, [[4, 0x7fffffff]], false);
  client.frame(Type.windowUpdate, 0, 0, uint32(0x7fff0000));
  client.narrow();
  client.headers(head("GET", PATH));
  return client;
}

async function overHttp1(opening: Promise<ByteSocket>, lines: readonly string[] = []): Promise<ByteSocket> {
  const client = await opening;
  client.narrow();
  client.send(request(`GET ${PATH}`, lines));
  return client;
}

/** Reads a piece now and then. @returns how the connection is after that */
async function readSlowly(client: ByteSocket): Promise<string> {
  const startedMs = performance.now();
  while (performance.now() - startedMs < READING_MS && client.ending === "open") {
    const before = client.receivedBytes;
    client.release();
    await client.until("a piece", () => client.receivedBytes > before || client.ending !== "open" || undefined);
    client.hold();
    await Bun.sleep(PAUSE_MS);
  }
  const { ending } = client;
  client.reset();
  return ending;
}

describe.skipIf(process.platform !== "linux")("clients that read slowly", () => {
  test("keep their connections as long as they read something", async () => {
    const clients = await Promise.all([
      overHttp1(gateway.connect()),
      overHttp1(gateway.connect(), ["Connection: close"]),
      overHttp1(TlsClient.open(tlsPort)),
      overHttp2(),
    ]);
    expect(await Promise.all(clients.map(readSlowly))).toEqual(clients.map(() => "open"));
  }, 60_000);

  test("lose them where they read nothing", async () => {
    const client = await gateway.connect();
    client.hold();
    client.send(request(`GET ${PATH}`));
    await eventually(async () => expect(await gateway.metric("gateway_requests_in_flight")).toBe(2));
    await eventually(async () => expect(await gateway.metric("gateway_requests_in_flight")).toBe(1), 20_000);
    client.close();
  }, 60_000);
});
