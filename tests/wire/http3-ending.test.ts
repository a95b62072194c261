// The end of the process: a client of HTTP/3 is told that its connection is over, even if the datagram that said so was lost, or the
// connection was being made at that moment. docs/operations.md#ending
import { expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { DatagramGate } from "../harness/datagram-gate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);

interface Scene {
  readonly gateway: Gateway;
  readonly origin: EchoOrigin;
  readonly gate: DatagramGate;
  stop(): void;
}

async function begin(server: object = {}): Promise<Scene> {
  const port = freePort();
  const origin = EchoOrigin.start();
  const gateway = await startGateway({
    config: {
      server: {
        workers: 2,
        tls: { port, cert_file: "a.pem", key_file: "a.key" },
        http3: { enabled: true },
        access_log: { enabled: false },
        ...server,
      },
    },
    routes: [upstream("/node", origin)],
    files: { "a.pem": certificate.cert, "a.key": certificate.key },
  });
  const gate = await DatagramGate.start(port);
  const stop = (): void => {
    gateway.kill();
    origin.stop();
    gate.stop();
  };
  return { gateway, origin, gate, stop };
}

/** @returns "closed" when the client knows that its connection is over. It would find out by itself after its idle time of a minute. */
async function askUntilTold(client: H3Client): Promise<string> {
  const closed = client.closed.then(
    () => "closed",
    () => "closed",
  );
  void client.ask("GET", "/node/late").catch(() => {});
  return Promise.race([closed, Bun.sleep(8000).then(() => "no word")]);
}

test("a client that never got the closing datagram is told when it sends something", async () => {
  const { gateway, gate, stop } = await begin();
  const client = await H3Client.connect(gate.port, "localhost", { transportParams: { maxIdleTimeout: 60n } });
  expect((await client.ask("GET", "/node/early")).status).toBe(200);
  gate.losesServer = true;
  gateway.signal("SIGTERM");
  // The first are GOAWAY and what closes the connection; nothing comes when all has been said.
  for (let before = -1; before !== gate.lost || gate.lost === 0; await Bun.sleep(100)) before = gate.lost;
  gate.losesServer = false;
  expect(await askUntilTold(client)).toBe("closed");
  expect(await gateway.exited()).toBe(0);
  stop();
}, 30_000);

test("a connection that is being made when the process ends is refused", async () => {
  const { gateway, gate, stop } = await begin();
  gate.holdsSecondFlight = true;
  const connecting = H3Client.connect(gate.port, "localhost", { transportParams: { maxIdleTimeout: 60n } });
  // The server has answered the first flight; the second one is on its way.
  while (gate.waiting === 0) await Bun.sleep(1);
  gateway.signal("SIGTERM");
  await gateway.log("the end begins", ({ event }) => event === "draining");
  await Bun.sleep(50);
  gate.pass();
  const outcome = await Promise.race([
    connecting.then(askUntilTold, () => "closed"),
    Bun.sleep(8000).then(() => "no word"),
  ]);
  expect(outcome).toBe("closed");
  expect(await gateway.exited()).toBe(0);
  stop();
}, 30_000);

test("a process that cuts what is under way tells the clients, even if the datagram is lost", async () => {
  const { gateway, origin, gate, stop } = await begin({ shutdown_timeout: "500ms" });
  origin.on("/never", () => {});
  const client = await H3Client.connect(gate.port, "localhost", { transportParams: { maxIdleTimeout: 60n } });
  void client.ask("GET", "/node/never").catch(() => {});
  await Bun.sleep(200);
  gate.losesServer = true;
  gateway.signal("SIGTERM");
  await gateway.log("the cut", ({ event }) => event === "drain_cut");
  await Bun.sleep(100);
  gate.losesServer = false;
  expect(await askUntilTold(client)).toBe("closed");
  expect(await gateway.exited()).toBe(3);
  stop();
}, 30_000);

test("a gateway that nobody has reached over HTTP/3 waits for nobody", async () => {
  const { gateway, stop } = await begin();
  gateway.signal("SIGTERM");
  expect(await gateway.exited()).toBe(0);
  stop();
}, 30_000);
