// A worker that the system holds, or that works on without a turn. docs/operations.md#workers
import { afterAll, expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { binaryWithHooks, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { type RawClient, request } from "../harness/raw-client.ts";

const origin = EchoOrigin.start();
const gateways: Gateway[] = [];
afterAll(() => {
  for (const gateway of gateways) gateway.kill();
  origin.stop();
});

async function start(): Promise<Gateway> {
  const gateway = await startGateway({
    config: { server: { workers: 2, shutdown_timeout: "1s" } },
    routes: [upstream("/node", origin)],
    binary: binaryWithHooks(),
  });
  gateways.push(gateway);
  return gateway;
}

/** Stops the thread of one of the data workers as a debugger does; null where the system does not let us. */
async function freeze(gateway: Gateway): Promise<{ release(): Promise<void> } | null> {
  const tasks = `/proc/${gateway.pid}/task`;
  const worker = readdirSync(tasks).find((tid) => readFileSync(`${tasks}/${tid}/comm`, "latin1") === "Worker\n");
  const helper = Bun.spawn(["python3", join(import.meta.dir, "../harness/frozen-thread.py"), worker!], {
    stdin: "pipe",
    stdout: "pipe",
  });
  const { value } = await helper.stdout.getReader().read();
  const said = Buffer.from(value ?? []).toString();
  if (said !== "frozen\n") {
    console.log(`a thread cannot be stopped here: ${said}`);
    return null;
  }
  return {
    release: async () => {
      await helper.stdin.end();
      await helper.exited;
    },
  };
}

/** Warm connections, some to each worker. */
function warmClients(gateway: Gateway): Promise<RawClient[]> {
  return Promise.all(
    Array.from({ length: 20 }, async () => {
      const client = await gateway.connect();
      expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
      return client;
    }),
  );
}

/** How many of the connections are answered within two seconds, and how many wait. */
async function answered(clients: readonly RawClient[]): Promise<{ answered: number; waits: number }> {
  const replies = clients.map((client) => client.exchange(request("GET /node/canary")));
  const outcomes = await Promise.all(replies.map((reply) => Promise.race([reply, Bun.sleep(2000).then(() => null)])));
  const all = outcomes.filter((reply) => reply?.status === 200).length;
  void Promise.allSettled(replies);
  return { answered: all, waits: outcomes.filter((reply) => reply === null).length };
}

longTest(
  "a worker that the system holds is left alone: the other serves on, and its connections are there when it moves again",
  async () => {
    const gateway = await start();
    const clients = await warmClients(gateway);
    const frozen = await freeze(gateway);
    if (frozen === null) return;
    const line = await gateway.logs.until("the stall", ({ event }) => event === "worker_stalled", 30_000);
    expect(line).toMatchObject({ stalled_ms: 10_000, held: true });
    const meanwhile = await answered(clients);
    expect(meanwhile.answered + meanwhile.waits).toBe(20);
    expect(Math.min(meanwhile.answered, meanwhile.waits)).toBeGreaterThan(0);
    for (let n = 0; n < 20; n++) expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
    // A reload goes on without it.
    gateway.signal("SIGHUP");
    expect(await gateway.log("the reload", ({ event }) => event === "config_reload")).toMatchObject({ ok: true });
    await frozen.release();
    await Bun.sleep(2000);
    const others = await warmClients(gateway);
    expect(await answered(others)).toEqual({ answered: 20, waits: 0 });
    expect(gateway.logs.json.some(({ event }) => event === "worker_died")).toBe(false);
    for (const client of [...clients, ...others]) client.close();
    await gateway.stop();
  },
  90_000,
);

longTest(
  "the process ends in time with a worker that the system holds",
  async () => {
    const gateway = await start();
    const frozen = await freeze(gateway);
    if (frozen === null) return;
    gateway.signal("SIGTERM");
    expect([0, 3]).toContain(await gateway.exited());
    await frozen.release();
  },
  60_000,
);

for (const hook of ["freeze", "backtrack", "block"]) {
  longTest(
    `a worker in ${hook} costs the connections of no other, from its first moment on, and the process ends in time`,
    async () => {
      const gateway = await start();
      const victim = await gateway.connect();
      victim.send(request(`GET /__test/${hook}`));
      // What comes from here on is accepted by the other worker, after two looks at most.
      await Bun.sleep(300);
      const startMs = performance.now();
      const clients = await Promise.all(Array.from({ length: 20 }, () => gateway.connect()));
      for (const client of clients) expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
      expect(performance.now() - startMs).toBeLessThan(9000);
      const line = await gateway.logs.until("the stall", ({ event }) => event === "worker_stalled", 30_000);
      expect(line).toMatchObject({ held: false });
      for (const client of clients) expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
      gateway.signal("SIGTERM");
      expect([0, 3]).toContain(await gateway.exited());
      for (const client of [...clients, victim]) client.close();
    },
    90_000,
  );
}
