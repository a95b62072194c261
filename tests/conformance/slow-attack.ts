import { EchoOrigin } from "../harness/echo-origin.ts";
import type { Gateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { BenignClient, type BenignTally } from "./benign-client.ts";

/** A way of being slow, as slowhttptest knows it. */
export interface SlowMode {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
}

/** How large an attack is. */
export interface SlowSize {
  readonly connections: number;
  readonly perSecond: number;
  /** After which it ends, if the gateway has not cut it long before. */
  readonly seconds: number;
}

/** What came of it. */
export interface SlowResult {
  readonly benign: BenignTally;
  /** From the start until none of the attacker's connections was open at the gateway; null when some stayed. */
  readonly allCutMs: number | null;
  /** Most connections that were open at once, the attacker's and the others. */
  readonly mostOpen: number;
  /** Resident memory of the gateway in MiB at its highest so far; null where the system does not tell. */
  readonly peakMb: number | null;
  /** How slowhttptest says it ended, and whether its own probes were ever left without an answer. */
  readonly exitStatus: string;
  readonly isServiceAvailable: boolean;
}

/** Settings under which each of the modes must have lost its connections within a few seconds. */
export const SHORT_TIMEOUTS = {
  header_timeout: "2s",
  read_timeout: "1s",
  write_timeout: "1s",
  // Longer than the clients beside the attack ever pause, busy as their process may be with the attack.
  idle_timeout: "10s",
  access_log: { enabled: false },
};

/** Follow-up bytes come more rarely than the timeouts allow, but for the headers, whose time is counted as a whole. */
export const SLOW_MODES: readonly SlowMode[] = [
  { name: "slow headers (-H)", path: "/node/health", args: ["-H", "-i", "1"] },
  { name: "slow body (-B)", path: "/node/echo", args: ["-B", "-i", "3", "-s", "65536"] },
  {
    name: "slow read (-X)",
    path: "/node/big",
    args: ["-X", "-w", "10", "-y", "20", "-n", "3", "-z", "32", "-k", "1"],
  },
  { name: "ranges (-R)", path: "/static/page.txt", args: ["-R", "-t", "GET", "-a", "5", "-b", "1000"] },
];

/** An origin with an answer that fills every buffer on its way. */
export function startSlowOrigin(): EchoOrigin {
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${BIG_BYTES}\r\n\r\n`;
  const big = Buffer.concat([Buffer.from(head), Buffer.alloc(BIG_BYTES, "big ")]);
  const origin = EchoOrigin.start();
  origin.on("/big", (call) => call.send(big));
  return origin;
}

/** Runs one mode against the gateway, with benign clients beside it. */
export async function attackSlowly(gateway: Gateway, mode: SlowMode, size: SlowSize): Promise<SlowResult> {
  const started = performance.now();
  const benign = new BenignClient(gateway.port, "/node/canary");
  const watch = new ConnectionWatch(gateway, benign.connections + OWN_CONNECTIONS);
  const watching = watch.begin();
  const output = await runTool(gateway.port, mode, size, watch.cut.promise);
  const toolMs = performance.now() - started;
  watch.isOver = true;
  await watching;
  const exitStatus = /Exit status: *(.*)/.exec(output)?.[1]?.trim() ?? "unknown";
  return {
    benign: await benign.stop(),
    // A reader that is slow enough does not notice that it was cut, hence the watch.
    allCutMs: watch.allCutMs ?? (exitStatus === "No open connections left" ? toolMs : null),
    mostOpen: watch.mostOpen,
    peakMb: peakMbOf(gateway),
    exitStatus,
    isServiceAvailable: !/service available: *NO/.test(output),
  };
}

/** Counts the gateway's connections until only those of the benign clients are left. */
class ConnectionWatch {
  allCutMs: number | null = null;
  readonly cut: PromiseWithResolvers<void> = Promise.withResolvers();
  mostOpen = 0;
  isOver = false;

  constructor(
    private readonly gateway: Gateway,
    private readonly expected: number,
  ) {}

  async begin(): Promise<void> {
    const started = performance.now();
    while (!this.isOver && this.allCutMs === null) {
      await Bun.sleep(SAMPLE_MS);
      const open = await openConnections(this.gateway);
      this.mostOpen = Math.max(this.mostOpen, open);
      // An attack that has not begun looks like one that is over.
      const isCut = this.mostOpen > this.expected * 2 && open <= this.expected;
      if (isCut) this.allCutMs = performance.now() - started;
    }
    this.cut.resolve();
  }
}

async function openConnections(gateway: Gateway): Promise<number> {
  const client = await gateway.connect();
  client.send(request("GET /internal/api/metrics"));
  const reply = await client.reply("GET", PATIENCE_MS);
  client.close();
  return json<{ active_tcp_connections: number }>(reply).active_tcp_connections;
}

/** The gateway's highest resident memory in MiB; null where the system does not tell. */
export function peakMbOf(gateway: Gateway): number | null {
  const memory = gateway.memory();
  return memory === null ? null : memory.peak / 2 ** 20;
}

// Its colours and its clearing of the screen are taken out. Once all is cut it has a moment to notice.
async function runTool(port: number, mode: SlowMode, size: SlowSize, cut: Promise<void>): Promise<string> {
  const { connections, perSecond, seconds } = size;
  const numbers = Object.entries({ "-c": connections, "-r": perSecond, "-l": seconds, "-p": 3, "-v": 1 });
  const url = `http://127.0.0.1:${port}${mode.path}`;
  const child = Bun.spawn(["slowhttptest", ...mode.args, ...numbers.flat().map(String), "-u", url], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: (seconds + GRACE_S) * 1000,
  });
  void cut.then(() => Bun.sleep(NOTICE_MS)).then(() => child.kill("SIGINT"));
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return (stdout + stderr).replace(/\x1b\[[0-9;]*[A-Za-z]/g, "");
}

const BIG_BYTES = 6 * 1024 * 1024;
const SAMPLE_MS = 200;
const PATIENCE_MS = 20_000;
const NOTICE_MS = 2000;
/** The tool needs a moment to open everything and to notice that it is over. */
const GRACE_S = 10;
/** The question itself, and the probe of slowhttptest. */
const OWN_CONNECTIONS = 2;
