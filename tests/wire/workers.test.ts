import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, EDGE_BINARY, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { json, type RawClient, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [upstream("/node", origin)],
  binary: binaryWithHooks(),
});
const plain = await startGateway({ env: { EDGE_TEST_HOOKS: "1" }, routes: [upstream("/node", origin)] });
afterAll(async () => {
  await plain.stop();
  await stopAll(gateway, origin);
});

async function warmClients(count: number): Promise<RawClient[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const client = await gateway.connect();
      expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
      return client;
    }),
  );
}

describe("an exception inside a request", () => {
  test("costs that connection at most, and the worker serves on", async () => {
    const bystanders = await warmClients(20);
    for (let i = 0; i < 20; i++) {
      const victim = await gateway.connect();
      victim.send(request("GET /__test/throw"));
      const reply = await victim.reply().catch(() => null);
      if (reply !== null) expect([reply.status, reply.text]).toEqual([500, expect.not.stringContaining("at ")]);
      await victim.ended();
      victim.close();
    }
    for (const client of bystanders) {
      expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
      client.close();
    }
  });
});

describe("a worker that ends", () => {
  test("costs its own connections; the other one serves on, and it is started again and logged", async () => {
    const clients = await warmClients(20);
    const victim = await gateway.connect();
    victim.send(request("GET /__test/crash"));
    await victim.ended();
    victim.close();
    // The connections of the other worker never notice.
    const outcomes = await Promise.all(
      clients.map(async (client) => {
        const reply = await client.exchange(request("GET /node/canary")).catch(() => null);
        client.close();
        return reply?.status ?? 0;
      }),
    );
    expect(outcomes.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(new Set(outcomes)).toEqual(new Set([200, 0]));
    const line = await gateway.log("the worker's end", ({ event }) => event === "worker_died");
    expect(line).toMatchObject({ worker: expect.any(Number), restarted: true });
    // New connections are all served again, whichever worker takes them.
    await eventually(async () => {
      const replies = await Promise.all(Array.from({ length: 40 }, () => gateway.once(request("GET /node/canary"))));
      expect(replies.every((reply) => reply.status === 200)).toBe(true);
    });
  });

  test("again and again does not end the gateway, and its counters go on", async () => {
    const total = async () =>
      gateway.metric("gateway_requests_total", {
        path: "/health",
      });
    const before = await eventually(total);
    for (let i = 0; i < 4; i++) {
      const victim = await eventually(() => gateway.connect());
      victim.send(request("GET /__test/crash"));
      await victim.ended();
      victim.close();
      await eventually(async () => expect((await gateway.once(request("GET /health"))).status).toBe(200));
    }
    expect(gateway.hasExited).toBe(false);
    await eventually(async () => expect(await total()).toBeGreaterThanOrEqual(before + 4));
    await eventually(async () => {
      const replies = await Promise.all(Array.from({ length: 40 }, () => gateway.once(request("GET /node/canary"))));
      expect(replies.every((reply) => reply.status === 200)).toBe(true);
    });
  });
});

describe("a sole worker that ends", () => {
  test("refuses nobody: connections wait for the one that is started in its place", async () => {
    const sole = await startGateway({ routes: [upstream("/node", origin)], binary: binaryWithHooks() });
    for (let round = 1; round <= 2; round++) {
      const victim = await sole.connect();
      victim.send(request("GET /__test/crash"));
      await victim.ended();
      victim.close();
      await newConnections(sole, 10);
      await eventually(() => expect(sole.logs.json.filter(({ event }) => event === "worker_died").length).toBe(round));
    }
    await sole.stop();
    // The sockets that were kept for a worker are closed when it listens: nothing is left that accepts.
    expect(await sole.connect().catch(() => "refused")).toBe("refused");
  });
});

describe("the binary that ships", () => {
  test("has no hooks, whatever the environment says", async () => {
    for (const path of ["/__test/crash", "/__test/throw"]) {
      const reply = await plain.once(request(`GET ${path}`));
      expect([reply.status, json(reply).error]).toEqual([404, "404 Not Found"]);
    }
  });

  test("holds no word of them", async () => {
    const text = Buffer.from(await Bun.file(EDGE_BINARY).arrayBuffer());
    expect(text.includes("/internal/api/routes")).toBe(true);
    for (const word of ["/__test/", "testHook", "EDGE_TEST_", "TEST_HOOKS"])
      expect([word, text.includes(word)]).toEqual([word, false]);
  });
});

longTest(
  "a worker that stands still is replaced, and the other one serves on",
  async () => {
    const victim = await gateway.connect();
    victim.send(request("GET /__test/freeze"));
    // The other worker accepts what the kernel hands to this one: new connections wait for two looks at most.
    const slowest = await newConnections(gateway, 30);
    expect(slowest).toBeLessThan(6000);
    const line = await gateway.logs.until("the stall", ({ event }) => event === "worker_stalled", 30_000);
    expect(line.stalled_ms).toBe(10_000);
    const seen = gateway.logs.json.indexOf(line);
    await gateway.log("its end", (one) => one.event === "worker_died" && gateway.logs.json.indexOf(one) > seen);
    await eventually(async () => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.once(request("GET /node/canary"))));
      expect(replies.every(({ status }) => status === 200)).toBe(true);
    });
    const metrics = await gateway.samples();
    expect(sumOf(metrics, "gateway_worker_stalls_total")).toBe(1);
    victim.close();
  },
  60_000,
);

/** Asks on so many new connections at once; each must be answered. @returns the longest time that one took, in ms */
async function newConnections(to: Gateway, count: number): Promise<number> {
  const startMs = performance.now();
  const replies = await Promise.all(Array.from({ length: count }, () => to.once(request("GET /node/canary"))));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  return performance.now() - startMs;
}
