// The first worker has the UDP port of HTTP/3: when it ends or stands still, the one that is started in its place takes the port.
// docs/operations.md#workers
import { afterAll, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { binaryWithHooks, freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { longTest } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const origin = EchoOrigin.start();
const gateway = await startGateway({
  binary: binaryWithHooks(),
  config: {
    server: {
      workers: 2,
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      access_log: { enabled: false },
    },
  },
  routes: [upstream("/node", origin)],
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
});
afterAll(() => stopAll(gateway, origin));

/** Asks over new connections, several at a time. @returns when one is answered, in milliseconds */
async function untilAnswered(): Promise<number> {
  const startMs = performance.now();
  let answeredMs = 0;
  const ask = async (): Promise<void> => {
    const client = await H3Client.connect(tlsPort).catch(() => null);
    const reply = await client?.ask("GET", "/node/canary").catch(() => null);
    if (reply?.status === 200 && answeredMs === 0) answeredMs = performance.now() - startMs;
    client?.close();
  };
  while (answeredMs === 0) {
    void ask();
    await Bun.sleep(100);
  }
  return answeredMs;
}

/** Has the worker that has the port do a thing. */
async function haveIt(act: string): Promise<void> {
  const client = await H3Client.connect(tlsPort);
  void client.ask("GET", `/__test/${act}`).catch(() => null);
  await Bun.sleep(50);
  client.close();
}

test("a worker that ends: HTTP/3 is back as soon as it is started again", async () => {
  await haveIt("crash");
  expect(await untilAnswered()).toBeLessThan(4000);
  expect(await gateway.log("the death", ({ event }) => event === "worker_died")).toMatchObject({ worker: 0 });
}, 30_000);

longTest(
  "a worker that stands still: HTTP/3 is back when it is replaced, TCP is served meanwhile",
  async () => {
    await haveIt("freeze");
    const back = untilAnswered();
    for (let i = 0; i < 5; i++) expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
    // Ten seconds until it counts as standing still.
    expect(await back).toBeLessThan(14_000);
    expect(await gateway.log("the stall", ({ event }) => event === "worker_stalled")).toMatchObject({ worker: 0 });
  },
  60_000,
);
