import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts, ServerProcess } from "../server-process.ts";
import type { FailoverGateway } from "./failover-gateways.ts";
import { type FailoverCount, FailoverLoad } from "./failover-load.ts";
import { type FailoverScenario, slowOrigin } from "./failover-scenarios.ts";

/** Runs one scenario on one gateway, each started afresh. @throws when the gateway does not start */
export async function runFailover(gateway: FailoverGateway, scenario: FailoverScenario): Promise<FailoverCount> {
  const dir = mkdtempSync(join(tmpdir(), "edge-failover-"));
  const origins = Array.from({ length: scenario.origins }, () => slowOrigin());
  const [port = 0] = freePorts(1);
  const ports = origins.map((origin) => origin.port);
  const command = [gateway.executable, ...gateway.configure(dir, port, ports)];
  const server = new ServerProcess(command, dir, join(dir, "server.log"));
  try {
    if (!(await server.isReady(port, "/health"))) throw new Error(`${gateway.name}: ${server.lastWords()}`);
    const load = new FailoverLoad(port);
    load.start();
    await Bun.sleep(SETTLE_MS);
    await scenario.run({ origins, load, pids: server.pids });
    return await load.stop();
  } finally {
    await server.stop();
    for (const origin of origins) origin.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const SETTLE_MS = 500;
