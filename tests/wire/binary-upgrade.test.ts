// SIGUSR2 starts what lies at the path by which the gateway was started: another build each time, by every way in which
// operators replace a file.
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, EDGE_BINARY, freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { longTest } from "../harness/long-lane.ts";
import { json, type RawClient, request } from "../harness/raw-client.ts";
import { isGone, untilGone } from "../harness/run-process.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { startSteadyClients } from "../harness/steady-clients.ts";

const PATIENCE_MS = 30_000;
const builds = [EDGE_BINARY, binaryWithHooks()];
const folder = mkdtempSync(join(tmpdir(), "edge-upgrade-"));
const origin = EchoOrigin.start();
const h2Origin = await H2EchoOrigin.start();
const pids: number[] = [];
let gateway: Gateway;
let installed = 0;

/** Puts the next build to a path, as install(1) does: the old file is unlinked, a new one written. */
function install(path: string): void {
  rmSync(path, { force: true });
  copyFileSync(builds[installed++ % builds.length]!, path);
}

const binary = join(folder, "current", "edge");
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();

beforeAll(async () => {
  mkdirSync(join(folder, "release-1"));
  symlinkSync(join(folder, "release-1"), join(folder, "current"));
  install(binary);
  gateway = await startGateway({
    binary,
    config: {
      server: {
        workers: 2,
        shutdown_timeout: "20s",
        access_log: { enabled: false },
        // Bodies trickle through both upgrades, and those take what the machine needs for them.
        min_body_rate: 0,
        tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
        http3: { enabled: true },
      },
    },
    routes: [
      upstream("/node", origin),
      upstream("/stream", origin, { inbound_chunked_mode: "passthrough" }),
      upstream("/grpc", { url: `h2c://127.0.0.1:${h2Origin.port}` }),
    ],
    files: { "a.pem": certificate.cert, "a.key": certificate.key },
  });
  pids.push(gateway.pid);
});

afterAll(async () => {
  for (const pid of pids) if (!isGone(pid)) process.kill(pid, "SIGKILL");
  gateway.kill();
  origin.stop();
  h2Origin.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Replaces the running process; the file that runs now is the one at `path`. */
async function upgrade(path = binary): Promise<void> {
  const old = pids.at(-1)!;
  process.kill(old, "SIGUSR2");
  const isNew = (line: { event?: unknown; pid?: unknown }) =>
    line.event === "listening" && !pids.includes(line.pid as number);
  const line = await gateway.logs.until("the successor listens", isNew, PATIENCE_MS);
  pids.push(line.pid as number);
  const running = statSync(`/proc/${line.pid}/exe`);
  expect([running.ino, running.size]).toEqual([statSync(path).ino, statSync(path).size]);
}

async function refusal(sends: number): Promise<Record<string, unknown>> {
  const seen = gateway.logs.json.length;
  process.kill(sends, "SIGUSR2");
  return gateway.log(
    "the refusal",
    (line) => line.event === "upgrade" && line.ok === false && gateway.logs.json.indexOf(line) >= seen,
  );
}

test.each<[string, () => void]>([
  ["install over it", () => install(binary)],
  [
    "mv over it",
    () => {
      install(`${binary}.new`);
      renameSync(`${binary}.new`, binary);
    },
  ],
  [
    "the old file moved aside",
    () => {
      renameSync(binary, `${binary}.old`);
      install(binary);
    },
  ],
  [
    "a folder's link switched",
    () => {
      mkdirSync(join(folder, "release-2"));
      install(join(folder, "release-2", "edge"));
      symlinkSync(join(folder, "release-2"), join(folder, "next"));
      renameSync(join(folder, "next"), join(folder, "current"));
    },
  ],
  [
    "a link in the file's place",
    () => {
      install(join(folder, "edge-3"));
      unlinkSync(binary);
      symlinkSync(join(folder, "edge-3"), binary);
    },
  ],
  [
    "the same file by a hard link",
    () => {
      unlinkSync(binary);
      linkSync(join(folder, "edge-3"), binary);
    },
  ],
])(
  "SIGUSR2 starts another build: %s",
  async (_name, replace) => {
    replace();
    const old = pids.at(-1)!;
    await upgrade();
    await untilGone(old, PATIENCE_MS);
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
  },
  PATIENCE_MS,
);

test("what cannot be started is said, the gateway goes on, and the next signal works", async () => {
  const pid = pids.at(-1)!;
  const path = binary;
  rmSync(binary);
  expect(await refusal(pid)).toMatchObject({ binary: path, error: "no such file" });
  mkdirSync(binary);
  expect(await refusal(pid)).toMatchObject({ binary: path, error: "not a file" });
  rmSync(binary, { recursive: true });
  writeFileSync(binary, "#!/bin/sh\nexit 3\n", { mode: 0o644 });
  expect(await refusal(pid)).toMatchObject({ binary: path, error: expect.stringMatching(/not executable|EACCES/) });
  chmodSync(binary, 0o755);
  expect(await refusal(pid)).toMatchObject({ binary: path, exit_code: 3 });
  writeFileSync(binary, "no program");
  expect(await refusal(pid)).toMatchObject({ ok: false, binary: path });
  expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
  install(binary);
  await upgrade();
  await untilGone(pid, PATIENCE_MS);
});

longTest(
  "a successor that does not serve in time is ended, and a second signal meanwhile changes nothing",
  async () => {
    const pid = pids.at(-1)!;
    rmSync(binary);
    writeFileSync(binary, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
    const seen = gateway.logs.json.length;
    process.kill(pid, "SIGUSR2");
    const started = await gateway.log(
      "the start",
      (line) => line.event === "upgrade" && line.ok === true && gateway.logs.json.indexOf(line) >= seen,
    );
    expect(await refusal(pid)).toMatchObject({ error: "an upgrade is under way already" });
    const line = await gateway.logs.until(
      "the end",
      ({ event, ok, successor, error }) =>
        event === "upgrade" && ok === false && successor === started.successor && /30 s/.test(String(error)),
      40_000,
    );
    expect(line.binary).toBe(binary);
    await untilGone(started.successor as number, PATIENCE_MS);
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
    install(binary);
    await upgrade();
    await untilGone(pid, PATIENCE_MS);
  },
  60_000,
);

test("kept and new connections, a WebSocket, a slow upload, a stream of HTTP/2 and HTTP/3 live through two upgrades", async () => {
  const load = startSteadyClients(gateway.port, "/node/canary");
  const http3 = startHttp3(tlsPort);
  const socket = await openTunnel();
  const upload = slowUpload();
  const { client: h2, id } = await openStream();
  for (let round = 0; round < 2; round++) {
    install(binary);
    await upgrade();
    const mark = load.good;
    await eventually(() => expect(load.good).toBeGreaterThan(mark + 50), PATIENCE_MS);
    socket.send(`still here ${round}`);
    expect((await socket.take(12)).toString()).toBe(`still here ${round}`);
    h2.data(id, `round ${round};`);
  }
  h2.data(id, "end", true);
  const reply = await h2.reply(id, PATIENCE_MS);
  expect((JSON.parse(reply.body.toString()) as { length: number }).length).toBe("round 0;round 1;end".length);
  expect(await upload).toBe(true);
  socket.close();
  h2.close();
  const asked = http3.good;
  await eventually(() => expect(http3.good).toBeGreaterThan(asked + 5), PATIENCE_MS);
  await http3.stop();
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(http3.longestGapMs).toBeLessThan(5000);
}, 90_000);

async function openTunnel(): Promise<RawClient> {
  const client = await gateway.connect();
  const lines = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="];
  expect((await client.exchange(request("GET /node/socket", lines))).status).toBe(101);
  return client;
}

/** An upload in chunks that goes on across both upgrades; true when the origin has seen all of it. */
async function slowUpload(): Promise<boolean> {
  const body = new SeededRandom(3).bytes(64 * 1024);
  const client = await gateway.connect();
  client.send("POST /stream/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (let at = 0; at < body.byteLength; at += 4096) {
    client.send(Buffer.concat([Buffer.from("1000\r\n"), body.subarray(at, at + 4096), Buffer.from("\r\n")]));
    await Bun.sleep(200);
  }
  client.send("0\r\n\r\n");
  const echo = json(await client.reply()) as unknown as Echo;
  client.close();
  return echo.sha256 === sha256(body);
}

async function openStream(): Promise<{ client: H2Client; id: number }> {
  const client = await H2Client.connect(gateway.port);
  const id = client.headers(head("POST", "/grpc/echo"), false);
  client.data(id, "");
  return { client, id };
}

/** A client of HTTP/3 that connects anew whenever its connection ends. */
function startHttp3(port: number): { good: number; longestGapMs: number; stop(): Promise<void> } {
  let isOver = false;
  const state = {
    good: 0,
    longestGapMs: 0,
    stop: async () => {
      isOver = true;
      await running;
    },
  };
  const running = (async () => {
    let client: H3Client | null = null;
    let lastMs = performance.now();
    while (!isOver) {
      try {
        client ??= await within(H3Client.connect(port));
        const reply = await within(client.ask("GET", "/node/canary"));
        if (reply.status !== 200) throw new Error(String(reply.status));
        state.good++;
        state.longestGapMs = Math.max(state.longestGapMs, performance.now() - lastMs);
        lastMs = performance.now();
      } catch {
        client?.close();
        client = null;
      }
      await Bun.sleep(5);
    }
    client?.close();
  })();
  return state;
}

async function within<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  const late = Bun.sleep(1500).then((): T => {
    throw new Error("too late");
  });
  return Promise.race([promise, late]);
}
