// Name servers that are slow, silent or wrong: requests go on with what is known, and no origin is blamed.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { FullBacklog } from "../harness/full-backlog.ts";
import { type Gateway, type Settings, startGateway } from "../harness/gateway.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { NameServer } from "../harness/name-server.ts";
import { request } from "../harness/raw-client.ts";
import { isGone, untilGone } from "../harness/run-process.ts";

const UPGRADE_MS = 30_000;
const names = await NameServer.start();
const origin = EchoOrigin.start({ hostname: "127.0.0.1" });
origin.on("/who", async (call) => {
  call.reply("200 OK", ["Connection: close"], "here");
});
const h2Origin = await H2EchoOrigin.start();
afterAll(async () => {
  names.stop();
  for (const one of [origin, h2Origin]) one.stop();
  expect(origin.violations).toEqual([]);
});
beforeEach(() => {
  names.isBroken = false;
  names.isSilent = false;
  names.delayMs = 0;
});

interface Case {
  readonly workers?: number;
  readonly transport?: Settings;
  readonly route: Settings;
}

/** Runs a gateway with one route, whose breaker opens at the first failure that counts. */
async function withRoute({ workers = 1, transport = {}, route }: Case, use: (gateway: Gateway) => Promise<void>) {
  const gateway = await startGateway({
    config: { server: { workers }, proxy: { transport: { nameservers: [names.address], ...transport } } },
    routes: [
      {
        type: "upstream",
        prefix: "/",
        circuit_breaker: { failure_threshold: 1, open_duration: "60s" },
        retries: { attempts: 0 },
        ...route,
      },
    ],
  });
  try {
    await use(gateway);
  } finally {
    await gateway.stop();
  }
}

async function ask(gateway: Gateway): Promise<number> {
  return (await gateway.once(request("GET /who"))).status;
}

async function breakerTrips(gateway: Gateway): Promise<number> {
  return gateway.metric("gateway_circuit_breaker_trips_total");
}

/** How long something takes, in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

const FAULTS = ["isSilent", "isBroken"] as const;

describe.each(FAULTS)("while the name servers fail (%s)", (fault) => {
  test("requests go on at once with the addresses that are known, in every worker", async () => {
    names.zones.set("known.test", { addresses: ["127.0.0.1"], ttl: 1 });
    const route = { target: `http://known.test:${origin.port}` };
    await withRoute({ workers: 4, transport: { connect_timeout: "400ms" }, route }, async (gateway) => {
      // One worker asks; the others have it from that one.
      expect(await ask(gateway)).toBe(200);
      names[fault] = true;
      await Bun.sleep(1200);
      const statuses: number[] = [];
      const tookMs = await timed(async () => {
        for (let n = 0; n < 5; n++) {
          statuses.push(...(await Promise.all(Array.from({ length: 16 }, () => ask(gateway)))));
        }
      });
      expect(statuses).toEqual(new Array(80).fill(200));
      // A single wait for the servers would take longer.
      expect(tookMs).toBeLessThan(2000);
      expect(await breakerTrips(gateway)).toBe(0);
    });
  });

  test("a process that takes over goes on with the addresses that the one before it knew", async () => {
    const name = `handed-${fault.toLowerCase()}.test`;
    names.zones.set(name, { addresses: ["127.0.0.1"], ttl: 1 });
    const gateway = await startGateway({
      config: { server: { workers: 2 }, proxy: { transport: { nameservers: [names.address] } } },
      routes: [{ type: "upstream", prefix: "/", target: `http://${name}:${origin.port}` }],
    });
    const pids = [gateway.pid];
    try {
      expect(await ask(gateway)).toBe(200);
      names[fault] = true;
      process.kill(gateway.pid, "SIGUSR2");
      const isNew = ({ event, pid }: { event?: unknown; pid?: unknown }) => event === "listening" && pid !== pids[0];
      pids.push((await gateway.logs.until("the successor", isNew, UPGRADE_MS)).pid as number);
      await untilGone(pids[0]!, UPGRADE_MS);
      const statuses = await Promise.all(Array.from({ length: 16 }, () => ask(gateway)));
      expect(statuses).toEqual(new Array(16).fill(200));
    } finally {
      for (const pid of pids) if (!isGone(pid)) process.kill(pid, "SIGKILL");
      gateway.kill();
    }
  }, 90_000);

  test("a name of which nothing is known is 502, its target is not blamed, and serves once it is found", async () => {
    names[fault] = true;
    const name = `blind-${fault.toLowerCase()}.test`;
    const route = {
      target: `http://${name}:${origin.port}`,
      health_check: { path: "/who", interval: "1s", timeout: "500ms", unhealthy_threshold: 1 },
    };
    await withRoute({ route }, async (gateway) => {
      for (let n = 0; n < 3; n++) expect(await ask(gateway)).toBe(502);
      expect(await breakerTrips(gateway)).toBe(0);
      names.zones.set(name, { addresses: ["127.0.0.1"], ttl: 60 });
      names[fault] = false;
      await eventually(async () => expect(await ask(gateway)).toBe(200));
      expect(gateway.logs.json.filter(({ event }) => event === "upstream_unhealthy")).toEqual([]);
    });
  });
});

test.each(["http", "h2c"])("slow name servers take nothing of an origin's time to connect: %s", async (scheme) => {
  names.delayMs = 800;
  names.zones.set("late.test", { addresses: ["127.0.0.1"], ttl: 60 });
  const { port } = scheme === "http" ? origin : h2Origin;
  const route = { target: `${scheme}://late.test:${port}` };
  await withRoute({ transport: { connect_timeout: "300ms" }, route }, async (gateway) => {
    const statuses = await Promise.all([1, 2, 3, 4].map(() => ask(gateway)));
    expect(await breakerTrips(gateway)).toBe(0);
    if (scheme === "http") expect(statuses).toEqual([200, 200, 200, 200]);
    await eventually(async () => expect(await ask(gateway)).toBe(200));
  });
});

test("what exceeds timeouts.total while a name is looked up is no failure of the target", async () => {
  names.isSilent = true;
  const route = { target: `http://total.test:${origin.port}`, timeouts: { total: "300ms" } };
  await withRoute({ route }, async (gateway) => {
    expect(await ask(gateway)).toBe(504);
    expect(await breakerTrips(gateway)).toBe(0);
  });
});

test("a name that the servers know no longer is held for dns_hold, and then gone", async () => {
  names.zones.set("held.test", { addresses: ["127.0.0.1"], ttl: 1 });
  const route = { target: `http://held.test:${origin.port}` };
  await withRoute({ transport: { dns_hold: "3s" }, route }, async (gateway) => {
    expect(await ask(gateway)).toBe(200);
    names.zones.set("held.test", { addresses: [], ttl: 1 });
    await Bun.sleep(1200);
    expect(await ask(gateway)).toBe(200);
    names.zones.delete("held.test");
    const line = await gateway.log(
      "why",
      ({ event, upstream }) => event === "upstream_failed" && upstream === "held.test",
    );
    expect(line.reason).toBe("ENOTFOUND");
    expect(await ask(gateway)).toBe(200);
    await eventually(async () => expect(await ask(gateway)).toBe(502));
  });
});

test("of a name with 301 addresses the one that lives is found", async () => {
  const dead = Array.from({ length: 300 }, (_, n) => `127.9.${n >> 8}.${n & 255 || 1}`);
  names.zones.set("many.test", { addresses: [...dead.slice(0, 250), "127.0.0.1", ...dead.slice(250)], ttl: 60 });
  await withRoute({ route: { target: `http://many.test:${origin.port}` } }, async (gateway) => {
    for (let n = 0; n < 5; n++) expect(await ask(gateway)).toBe(200);
    expect(await breakerTrips(gateway)).toBe(0);
  });
});

const swallowing = await FullBacklog.start("0.0.0.0");
if (swallowing === null) console.log("skipped: this system lets every loopback connect succeed");
afterAll(() => swallowing?.stop());

test.skipIf(swallowing === null)(
  "nor do hundreds that swallow what is sent hide it, from one request or many",
  async () => {
    const living = Bun.serve({
      hostname: "127.0.0.1",
      port: swallowing!.port,
      reusePort: true,
      fetch: () => new Response("here", { headers: { connection: "close" } }),
    });
    const dead = Array.from({ length: 300 }, (_, n) => `127.9.${n >> 7}.${(n & 127) + 1}`);
    names.zones.set("deep.test", { addresses: [...dead, "127.0.0.1"], ttl: 60 });
    const route = { target: `http://deep.test:${swallowing!.port}` };
    await withRoute({ transport: { connect_timeout: "20s" }, route }, async (gateway) => {
      expect(await ask(gateway)).toBe(200);
      const statuses = await Promise.all(Array.from({ length: 12 }, () => ask(gateway)));
      expect(statuses).toEqual(new Array(12).fill(200));
      expect(await breakerTrips(gateway)).toBe(0);
    });
    await living.stop(true);
  },
  60_000,
);
