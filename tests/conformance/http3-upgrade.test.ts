// An independent client that asks all the time, across upgrades and a SIGTERM: what it may send again, and what is lost.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { longTest, samples } from "../harness/long-lane.ts";

/** Where scripts/install-peers puts aioquic. */
const PYTHON = join(import.meta.dir, "..", "..", ".bun", "aioquic", "bin", "python");
const CLIENT = join(import.meta.dir, "http3-upgrade-client.py");
const hasClient = existsSync(PYTHON);
if (!hasClient) console.log("skipped: an independent HTTP/3 client needs aioquic (scripts/install-peers, from PyPI)");

/** What an upgrade takes at most until the port is released, and some time to ask in. */
const EACH_S = 3;

/** See the client. */
interface Told {
  readonly requests: number;
  readonly answered: number;
  readonly rejected: number;
  readonly refused: number;
  readonly connections: number;
  readonly lost: Readonly<Record<string, number>>;
}

describe.skipIf(!hasClient)("an independent client (aioquic) that asks all the time", async () => {
  const port = freePort();
  const certificate = await makeCertificate();
  const origin = EchoOrigin.start();
  const pids: number[] = [];
  let gateway: Gateway;

  const start = async (): Promise<void> => {
    gateway = await startGateway({
      config: {
        server: {
          workers: 2,
          tls: { port, cert_file: "a.pem", key_file: "a.key" },
          http3: { enabled: true },
          access_log: { enabled: false },
        },
      },
      routes: [upstream("/node", origin)],
      files: { "a.pem": certificate.cert, "a.key": certificate.key },
    });
    pids.push(gateway.pid);
  };
  beforeAll(start);
  afterAll(() => {
    process.kill(pids.at(-1)!, "SIGTERM");
    gateway.kill();
    origin.stop();
  });

  const upgrade = async (): Promise<void> => {
    process.kill(pids.at(-1)!, "SIGUSR2");
    const isNew = (pid: unknown): boolean => !pids.includes(pid as number);
    const line = await gateway.log("the successor", ({ event, pid }) => event === "listening" && isNew(pid));
    pids.push(line.pid as number);
  };

  const ask = async (connections: number, lanes: number, seconds: number, work: () => Promise<void>): Promise<Told> => {
    const args = [port, connections, lanes, seconds, "/node/lane"].map(String);
    const child = Bun.spawn([PYTHON, CLIENT, ...args], { stdout: "pipe", stderr: "pipe" });
    // It says that it is on its way, or why it is not.
    const { value } = await child.stderr.getReader().read();
    expect(new TextDecoder().decode(value)).toStartWith("asking");
    await work();
    return (await new Response(child.stdout).json()) as Told;
  };

  const askAcross = (upgrades: number, connections: number, lanes: number): Promise<Told> =>
    ask(connections, lanes, upgrades * EACH_S + 2, async () => {
      for (let done = 0; done < upgrades; done++) {
        await upgrade();
        await Bun.sleep(EACH_S * 1000 - 500);
      }
    });

  /** @param lanes requests on their way at a time, of all connections @param ends how often the connections were ended */
  const expectNoneLost = (told: Told, lanes: number, ends: number): void => {
    expect(told.lost).toEqual({});
    expect(told.answered).toBe(told.requests);
    // Each that was on its way is sent again once at most.
    expect(told.rejected).toBeLessThanOrEqual(lanes * ends);
  };

  test.each(
    [
      [8, 1],
      [4, 8],
    ].slice(0, samples(2, 1)) as [number, number][],
  )(
    "%d connections with %d requests at a time lose none by upgrades",
    async (connections, lanes) => {
      const told = await askAcross(2, connections, lanes);
      expectNoneLost(told, connections * lanes, 2);
      // Each has moved on with each upgrade.
      expect(told.connections).toBeGreaterThanOrEqual(connections * 3);
    },
    60_000,
  );

  longTest(
    "ten upgrades",
    async () => {
      const told = await askAcross(10, 8, 4);
      console.log(`ten upgrades: ${JSON.stringify(told)}`);
      expectNoneLost(told, 8 * 4, 10);
      expect(told.connections).toBeGreaterThanOrEqual(8 * 11);
    },
    120_000,
  );

  test("SIGTERM loses none: connections that are made afterwards are refused until the next process is there", async () => {
    const told = await ask(8, 4, 10, async () => {
      process.kill(pids.at(-1)!, "SIGTERM");
      await gateway.exited();
      const drainedMs = performance.now();
      // The one that goes on after upgrades is not the child of this test.
      while (isThere(pids.at(-1)!) && performance.now() - drainedMs < 10_000) await Bun.sleep(20);
      await start();
    });
    expectNoneLost(told, 8 * 4, 1);
    expect(told.connections).toBeGreaterThanOrEqual(16);
  }, 60_000);
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
