import { afterAll, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const curl = Bun.which("curl");
if (curl === null) console.log("skipped: clients that read slowly need curl");
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const gateway = await startGateway({
  config: { server: { write_timeout: "2s", tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" } } },
  routes: [{ type: "static", prefix: "/files", dir: "site" }],
  files: { "a.pem": certificate.cert, "a.key": certificate.key, "site/big.bin": Buffer.alloc(32 * 1024 * 1024) },
});
afterAll(() => stopAll(gateway));

/** What curl says when the time that it was given is over, and the response was still coming. */
const STILL_COMING = 28;

test.skipIf(curl === null)(
  "a client that reads slowly, and always, keeps its connection: what its kernel took at first is no stall",
  async () => {
    const plain = `http://127.0.0.1:${gateway.port}/files/big.bin`;
    const secure = `https://127.0.0.1:${tlsPort}/files/big.bin`;
    const ways = [
      ["--http1.1", plain],
      ["--http1.1", "-H", "Connection: close", plain],
      ["--http2-prior-knowledge", plain],
      ["--http1.1", "-k", secure],
      ["--http2", "-k", secure],
    ];
    // A third of the kernel's buffer takes longer than write_timeout at that rate.
    const slowly = ["-s", "-o", "/dev/null", "--limit-rate", "32K", "--max-time", "8"];
    const ask = async (way: readonly string[]) =>
      (await runProcess([curl!, ...slowly, ...way], { timeout: 40_000 })).code;
    expect(await Promise.all(ways.map(ask))).toEqual(ways.map(() => STILL_COMING));
  },
  60_000,
);

test("one that reads nothing is cut", async () => {
  const client = await gateway.connect();
  client.hold();
  client.send(request("GET /files/big.bin"));
  await eventually(async () => expect(await gateway.metric("gateway_requests_in_flight")).toBe(2));
  await eventually(async () => expect(await gateway.metric("gateway_requests_in_flight")).toBe(1), 20_000);
  client.close();
}, 60_000);
