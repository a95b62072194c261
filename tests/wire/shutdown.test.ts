import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { json, type RawClient, request } from "../harness/raw-client.ts";

const origin = EchoOrigin.start();
const gateways: Gateway[] = [];
const binary = binaryWithHooks();
afterAll(() => {
  for (const gateway of gateways) gateway.kill();
  origin.stop();
});

/** @param shutdownTimeout longer than any test waits, where the test is not about it */
async function start(shutdownTimeout = "120s"): Promise<Gateway> {
  const server = { workers: 2, shutdown_timeout: shutdownTimeout };
  const gateway = await startGateway({ config: { server }, routes: [upstream("/node", origin)], binary });
  gateways.push(gateway);
  return gateway;
}

/** A request that the origin answers when told to. */
function heldRequest(): { arrived: Promise<void>; release: () => void } {
  const arrived = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  origin.on("/held", async (call) => {
    arrived.resolve();
    await mayAnswer.promise;
    call.reply("200 OK", [], "finished");
  });
  return { arrived: arrived.promise, release: mayAnswer.resolve };
}

async function refusesConnections(gateway: Gateway): Promise<void> {
  await eventually(async () => {
    const client = await gateway.connect().catch(() => null);
    client?.close();
    expect(client).toBeNull();
  });
}

async function warm(gateway: Gateway): Promise<RawClient> {
  const client = await gateway.connect();
  expect((await client.exchange(request("GET /health"))).status).toBe(200);
  return client;
}

describe.each(["SIGTERM", "SIGINT"] as const)("%s", (signal) => {
  test("with nothing in flight ends at once with 0", async () => {
    const gateway = await start();
    const idle = await warm(gateway);
    gateway.signal(signal);
    expect(await gateway.exited()).toBe(0);
    expect(await idle.ended()).toBe("fin");
    idle.close();
  });

  test("lets a request in flight finish, with Connection: close, and then ends with 0", async () => {
    const held = heldRequest();
    const gateway = await start();
    const client = await gateway.connect();
    client.send(request("GET /node/held"));
    await held.arrived;
    gateway.signal(signal);
    await refusesConnections(gateway);
    expect(gateway.hasExited).toBe(false);
    held.release();
    const reply = await client.reply();
    expect([reply.status, reply.text]).toEqual([200, "finished"]);
    expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
    expect(await client.ended()).toBe("fin");
    expect(await gateway.exited()).toBe(0);
    client.close();
  });
});

describe("while it drains", () => {
  test("/health says so on a connection that is in use, and that connection is closed", async () => {
    const held = heldRequest();
    const gateway = await start();
    const client = await gateway.connect();
    client.send(Buffer.concat([request("GET /node/held"), request("GET /health")]));
    await held.arrived;
    gateway.signal("SIGTERM");
    await refusesConnections(gateway);
    held.release();
    const first = await client.reply();
    expect(first.text).toBe("finished");
    // A gateway may also end the connection with the first answer, and then says so.
    if (first.fields.get("connection")?.toLowerCase() !== "close") {
      const second = await client.reply();
      expect([second.status, json(second)]).toEqual([503, { status: "draining" }]);
      expect(second.fields.get("connection")?.toLowerCase()).toBe("close");
    }
    expect(await client.ended()).toBe("fin");
    expect(await gateway.exited()).toBe(0);
    client.close();
  });

  test("a body on its way is still taken", async () => {
    const gateway = await start();
    const client = await gateway.connect();
    client.send(request("POST /node/on-its-way", ["Content-Length: 10"], "01234"));
    await origin.until("the request", () => origin.requestsFor("/on-its-way").at(-1));
    gateway.signal("SIGTERM");
    await refusesConnections(gateway);
    client.send("56789");
    expect(json(await client.reply("POST"))).toMatchObject({ length: 10 });
    expect(await gateway.exited()).toBe(0);
    client.close();
  });

  test("a second signal ends it at once", async () => {
    const held = heldRequest();
    const gateway = await start();
    const client = await gateway.connect();
    client.send(request("GET /node/held"));
    await held.arrived;
    gateway.signal("SIGTERM");
    await refusesConnections(gateway);
    gateway.signal("SIGTERM");
    await gateway.exited();
    await client.ended();
    held.release();
    client.close();
  });

  test("a worker that ends is waited for no longer", async () => {
    const gateway = await start("60s");
    const client = await gateway.connect();
    client.send(Buffer.concat([request("GET /health"), Buffer.from("GET /__test/crash HTTP/1.1\r\n")]));
    expect((await client.reply()).status).toBe(200);
    gateway.signal("SIGTERM");
    await refusesConnections(gateway);
    client.send("Host: gw.test\r\n\r\n");
    expect(await gateway.exited()).toBe(0);
    client.close();
  });

  test("a worker that has just ended is not waited for", async () => {
    const gateway = await start("60s");
    const client = await gateway.connect();
    client.send(request("GET /__test/crash"));
    await gateway.log("its end", ({ event }) => event === "worker_died");
    gateway.signal("SIGTERM");
    expect(await gateway.exited()).toBe(0);
    client.close();
  });

  test("what takes longer than shutdown_timeout is cut, its access line is written, and the exit code is 3", async () => {
    const held = heldRequest();
    const gateway = await start("300ms");
    const client = await gateway.connect();
    client.send(request("GET /node/held"));
    await held.arrived;
    gateway.signal("SIGTERM");
    expect(await gateway.exited()).toBe(3);
    await client.ended();
    const line = await gateway.log("the access line", ({ event, path }) => event === "access" && path === "/node/held");
    expect(line.fault).toBe("cancelled");
    expect(await gateway.log("the cut", ({ event }) => event === "drain_cut")).toMatchObject({ connections: 1 });
    held.release();
    client.close();
  });
});

test("with drain_delay new connections are served while /health is 503, then no more", async () => {
  const server = { workers: 2, drain_delay: "1500ms", shutdown_timeout: "10s" };
  const gateway = await startGateway({ config: { server }, routes: [upstream("/node", origin)], binary });
  gateways.push(gateway);
  gateway.signal("SIGTERM");
  await gateway.log("the signal", ({ event }) => event === "draining");
  await eventually(async () => expect((await gateway.once(request("GET /health"))).status).toBe(503));
  for (let n = 0; n < 10; n++) expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
  await refusesConnections(gateway);
  expect(await gateway.exited()).toBe(0);
});
