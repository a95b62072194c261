import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const gateway = await startGateway({
  config: { server: { tls: { port, cert_file: "a.pem", key_file: "a.key" }, http3: { enabled: true } } },
  routes: [{ type: "respond", path: "/x", body: "here" }],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway));

/** A process with 64 requests under way over eight connections, which ends without a word. */
async function vanish(): Promise<void> {
  const load = join(import.meta.dir, "../bench/http3-load.ts");
  const vanishing = Bun.spawn([process.execPath, load, String(port), "/x", "0.4", "8", "8"], { stdout: "pipe" });
  await vanishing.exited;
}

test("clients that vanish with requests under way cost no other client its handshake or a response", async () => {
  const statuses: number[] = [];
  for (let round = 0; round < 4; round++) {
    await vanish();
    const clients = await Promise.all(Array.from({ length: 8 }, () => H3Client.connect(port)));
    for (const client of clients) {
      statuses.push((await client.ask("GET", "/x")).status);
      client.close();
    }
  }
  expect(statuses).toEqual(Array.from({ length: 32 }, () => 200));
}, 60_000);
