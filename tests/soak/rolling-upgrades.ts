// Rolling upgrades under load: `bun tests/soak/rolling-upgrades.ts [times]`, 20 unless another number is given. Each time the
// running gateway gets SIGUSR2, its successor takes the sockets, and the old one drains and ends. No request may fail.
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { untilGone } from "../harness/run-process.ts";
import { startSteadyClients } from "../harness/steady-clients.ts";

const PATIENCE_MS = 30_000;
/** Requests that each successor has to answer before the next one comes. */
const SERVED = 20;

/** What came of the upgrades. */
export interface UpgradeReport {
  readonly upgrades: number;
  readonly good: number;
  readonly failures: readonly string[];
  /** Processes one after the other, each other than the one before. */
  readonly pids: readonly number[];
}

/** Replaces a gateway under load, again and again. */
export async function upgradeUnderLoad(times: number): Promise<UpgradeReport> {
  const origin = EchoOrigin.start();
  const gateway = await startGateway({
    config: { server: { workers: 2, shutdown_timeout: "10s", access_log: { enabled: false } } },
    routes: [upstream("/node", origin)],
  });
  const pids = [gateway.pid];
  const load = startSteadyClients(gateway.port, "/node/canary");
  try {
    for (let n = 0; n < times; n++) {
      const old = pids.at(-1)!;
      process.kill(old, "SIGUSR2");
      const line = await gateway.logs.until(
        "the successor listens",
        (one) => one.event === "listening" && !pids.includes(one.pid as number),
        PATIENCE_MS,
      );
      pids.push(line.pid as number);
      await untilGone(old, PATIENCE_MS);
      const before = load.good;
      await eventually(() => {
        if (load.good < before + SERVED) throw new Error("the successor does not serve");
      });
    }
  } finally {
    await load.stop();
    process.kill(pids.at(-1)!, "SIGTERM");
    await untilGone(pids.at(-1)!, PATIENCE_MS);
    gateway.kill();
    origin.stop();
  }
  return { upgrades: pids.length - 1, good: load.good, failures: load.failures, pids };
}

if (import.meta.main) {
  const { upgrades, good, failures } = await upgradeUnderLoad(Number(process.argv[2] ?? 20));
  console.log(`${upgrades} upgrades, ${good} requests answered, ${failures.length} failed`);
  for (const failure of failures.slice(0, 10)) console.log(failure);
  process.exit(failures.length === 0 ? 0 : 1);
}
