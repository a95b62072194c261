import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatFault } from "../config/config-fault.ts";
import { readClock } from "../core/shared-clock.ts";
import { createChallengeTable } from "../features/acme/challenge-table.ts";
import { nonceBuffer } from "../features/agents/nonce-memory.ts";
import { createBanTable } from "../features/bans/ban-table.ts";
import { CacheOwner } from "../features/cache/control/cache-owner.ts";
import { ConcurrencyLimits } from "../features/concurrency/control/concurrency-limits.ts";
import { createTunnelCounts } from "../features/connect/control/proxy-tunnels.ts";
import { ALONE } from "../features/fleet/control/fleet.ts";
import { NO_GEO } from "../features/geo/place-finder.ts";
import { createPressureNumbers } from "../features/overload/shared-pressure.ts";
import { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import { loadConfig } from "../loading/load-config.ts";
import { createBodyBudget } from "../memory/body-budget.ts";
import { createConnectionCounts } from "../memory/connection-counts.ts";
import { createCounterBuffers } from "../memory/counter-table.ts";
import { createIncidentRing } from "../memory/incident-ring.ts";
import { createTokenBuckets } from "../memory/token-bucket.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { withPorts } from "../worker/listeners.ts";
import type { FromWorker, ToWorker } from "../worker/messages.ts";
import { packConfig } from "../worker/packed-config.ts";
import { routeLabels, upstreamLabels } from "../worker/routing.ts";
import { Worker } from "../worker/worker.ts";
import { NodeRegistry } from "./node-registry.ts";
import { claimPort } from "./port-claim.ts";

/** The texts of a configuration, as they would stand in files. */
interface ConfigTexts {
  readonly config: string;
  readonly routes: string;
}

/**
 * The gateway on this thread: one data worker with all that it serves, without signals, logs and the pages of the control
 * thread. For tools that need a gateway of their own.
 */
export class InProcessGateway {
  readonly port: number;
  private readonly worker: Worker;
  private readonly nodes: NodeRegistry;

  private constructor(config: RuntimeConfig) {
    this.port = claimPort(config.server.host, config.server.port);
    this.nodes = new NodeRegistry(config, { broadcast: () => {} }, () => {});
    this.worker = new Worker(this.startMessage(config), (message) => this.onMessage(message));
  }

  /** @throws Error when the configuration is wrong or no port can be had */
  static async start(texts: ConfigTexts): Promise<InProcessGateway> {
    const gateway = new InProcessGateway(read(texts));
    await gateway.worker.listen();
    return gateway;
  }

  /** Takes no more connections; those that are there end. */
  stop(): void {
    this.worker.receive({ kind: "drain", hasSuccessor: false });
    this.nodes.stop();
  }

  private startMessage(config: RuntimeConfig): Extract<ToWorker, { kind: "start" }> {
    return {
      kind: "start",
      index: 0,
      logLevel: "info",
      unixSockets: [],
      workers: 1,
      config: packConfig(withPorts(config, new Map([["http", this.port]]))),
      labels: new TelemetryLabels().forConfiguration(routeLabels(config), upstreamLabels(config)),
      counters: createCounterBuffers(),
      incidents: createIncidentRing(),
      connections: createConnectionCounts(1, crypto.getRandomValues(new Int32Array(2))),
      bodyBudget: createBodyBudget(1, crypto.getRandomValues(new Int32Array(2))),
      buckets: createTokenBuckets(crypto.getRandomValues(new Int32Array(2))),
      challenges: createChallengeTable(),
      bans: { table: createBanTable(crypto.getRandomValues(new Int32Array(2))), networks: null },
      clock: readClock(),
      ...this.nodes.startFields(),
      names: [],
      cookieKey: "",
      cache: new CacheOwner(config.server.cache, 1).buffers,
      keywords: null,
      geo: NO_GEO,
      lists: {},
      overload: createPressureNumbers(1),
      slos: [],
      ai: [],
      canaries: [],
      rooms: [],
      tunnels: createTunnelCounts(1),
      gates: new ConcurrencyLimits(config, 1).startFields().gates,
      spans: [],
      fleet: ALONE,
      sockets: [],
      waitsForQuic: false,
      certificates: {},
      keySets: [],
      agentDirectories: [],
      agentNonces: nonceBuffer(Date.now()),
      beats: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
    };
  }

  private onMessage(message: FromWorker): void {
    if (message.kind === "breaker") this.nodes.onMessage.breaker(message, 0, () => {});
  }
}

/** A configuration is read from files only, so that there is one way to read it. */
function read(texts: ConfigTexts): RuntimeConfig {
  const cwd = mkdtempSync(join(tmpdir(), "edge-in-process-"));
  try {
    writeFileSync(join(cwd, "config.yaml"), texts.config);
    writeFileSync(join(cwd, "routes.yaml"), texts.routes);
    const configPath = join(cwd, "config.yaml");
    const loaded = loadConfig({
      configPath,
      routesPath: null,
      cwd,
      env: {},
    });
    if (!loaded.ok) throw new Error(loaded.faults.map(formatFault).join("; "));
    return loaded.config;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
