// How many connections there may be, and what becomes of those beyond: docs/security.md#resources-of-one-client
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { makeCertificate } from "../harness/certificate.ts";
import { crowdFrom, type Member } from "../harness/crowd.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import {
  EDGE_BINARY,
  freePort,
  type Gateway,
  type GatewayOptions,
  startGateway,
  upstream,
} from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";

const GET = request("GET /health");
const HALF = "GET /health HTTP/1.1\r\nHost: a\r\n";
const gateways: Gateway[] = [];
const folder = mkdtempSync(join(tmpdir(), "edge-limits-"));
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A gateway whose metrics can be asked for on a port of their own, whatever happens on the others. */
class Limited {
  constructor(
    readonly gateway: Gateway,
    private readonly metricsPort: number,
  ) {}

  get port(): number {
    return this.gateway.port;
  }

  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    const { text } = await exchangeOnce(this.metricsPort, request("GET /metrics"));
    return sumOf(parseMetrics(text), name, labels);
  }
}

async function limited(server: object, more: Omit<GatewayOptions, "config"> = {}): Promise<Limited> {
  const port = freePort();
  const config = { server, internal_api: { listen: `127.0.0.1:${port}` } };
  const gateway = await startGateway({ ...more, config });
  gateways.push(gateway);
  return new Limited(gateway, port);
}

describe("at `max_connections`", () => {
  test("those beyond wait until another is over, and none is refused", async () => {
    const edge = await limited({ max_connections: 6, workers: 2 });
    // Each worker has a queue of its own: only who has an answer is known to be in.
    const busy = await crowdFrom("127.0.0.2", edge.port, 6, GET + HALF);
    for (const one of busy) expect(await one.status()).toBe(200);
    await edge.gateway.log(
      "the limit",
      ({ event, key }) => event === "connection_limit" && key === "server.max_connections",
    );
    const late = await crowdFrom("127.0.0.3", edge.port, 4, GET);
    await Bun.sleep(200);
    expect(late.map(({ received }) => received)).toEqual(["", "", "", ""]);
    expect(await edge.metric("gateway_accept_pauses_total", { reason: "max_connections" })).toBeGreaterThan(0);
    // Those that are there are served.
    busy[0]!.send("\r\n");
    await eventually(() => expect(busy[0]!.statuses).toEqual([200, 200]));
    for (const one of busy) one.close();
    for (const one of late) expect(await one.status()).toBe(200);
    for (const one of late) one.close();
  }, 30_000);

  test("the connection that has been idle longest makes room, over HTTP/1.1 and HTTP/2", async () => {
    const edge = await limited({ max_connections: 4 });
    const http2 = await H2Client.connect(edge.port);
    expect((await http2.request(head("GET", "/health"))).status).toBe(200);
    const idle = await crowdFrom("127.0.0.2", edge.port, 3, GET);
    for (const one of idle) expect(await one.status()).toBe(200);
    const late = await crowdFrom("127.0.0.3", edge.port, 4, GET);
    for (const one of late) expect(await one.status()).toBe(200);
    expect(await http2.goAway()).toBe(0);
    await eventually(() => expect(idle.every(({ isClosed }) => isClosed)).toBe(true));
    expect(await edge.metric("gateway_idle_connections_closed_total")).toBeGreaterThanOrEqual(4);
    for (const one of late) one.close();
  });

  test("thousands that send nothing keep nobody out", async () => {
    const edge = await limited({ max_connections: 50 });
    const hostile = await crowdFrom("127.0.0.2", edge.port, 300, "");
    const late = await crowdFrom("127.0.0.3", edge.port, 20, GET);
    for (const one of late) expect(await one.status()).toBe(200);
    for (const one of [...hostile, ...late]) one.close();
  }, 30_000);

  test("a reload moves the limit", async () => {
    const edge = await limited({ max_connections: 2 });
    const busy = await crowdFrom("127.0.0.2", edge.port, 2, HALF);
    const late = await crowdFrom("127.0.0.3", edge.port, 1, GET);
    await edge.gateway.log("the limit", ({ event }) => event === "connection_limit");
    const path = join(edge.gateway.folder, "config.yaml");
    writeFileSync(path, readFileSync(path, "utf8").replace("max_connections: 2", "max_connections: 20"));
    edge.gateway.signal("SIGHUP");
    expect(await late[0]!.status()).toBe(200);
    for (const one of [...busy, ...late]) one.close();
  }, 30_000);

  test("sessions of HTTP/3 that are idle make room like all others", async () => {
    const { cert, key } = await makeCertificate();
    const quicPort = freePort();
    const tls = { port: quicPort, cert_file: "a.pem", key_file: "a.key" };
    const edge = await limited(
      { max_connections: 4, tls, http3: { enabled: true } },
      { files: { "a.pem": cert, "a.key": key } },
    );
    const sessions = await Promise.all([1, 2, 3, 4].map(() => H3Client.connect(quicPort)));
    // Two have asked, two never do.
    for (const session of sessions.slice(2)) expect((await session.ask("GET", "/health")).status).toBe(200);
    // What comes in their places stays busy.
    const late = await crowdFrom("127.0.0.3", edge.port, 4, GET + HALF);
    for (const one of late) expect(await one.status()).toBe(200);
    await Promise.all(sessions.map(({ closed }) => closed.catch(() => {})));
    for (const one of late) one.close();
    // Each counts once, although several were closed at a time.
    expect(await edge.metric("gateway_idle_connections_closed_total")).toBe(4);
    for (const session of sessions) session.close();
  }, 30_000);

  test("sessions of HTTP/3 count, and those beyond are closed", async () => {
    const { cert, key } = await makeCertificate();
    const quicPort = freePort();
    const tls = { port: quicPort, cert_file: "a.pem", key_file: "a.key" };
    const origin = EchoOrigin.start();
    const mayAnswer = Promise.withResolvers<void>();
    origin.on("/held", async (call) => {
      await mayAnswer.promise;
      call.reply("200 OK", [], "held");
    });
    const edge = await limited(
      { max_connections: 3, tls, http3: { enabled: true } },
      { files: { "a.pem": cert, "a.key": key }, routes: [upstream("/node", origin)] },
    );
    const sessions = [await H3Client.connect(quicPort), await H3Client.connect(quicPort)];
    for (const session of sessions) expect((await session.ask("GET", "/health")).status).toBe(200);
    // None of them is idle, however long the rest takes.
    for (const session of sessions) await session.begin("/node/held");
    await eventually(() => expect(origin.requestsFor("/held").length).toBe(2));
    const busy = await crowdFrom("127.0.0.2", edge.port, 1, GET + HALF);
    expect(await busy[0]!.status()).toBe(200);
    await edge.gateway.log("the limit", ({ event }) => event === "connection_limit");
    const beyond = H3Client.connect(quicPort).then((session) => session.ask("GET", "/health"));
    expect(
      await beyond.then(
        () => "answered",
        () => "closed",
      ),
    ).toBe("closed");
    // CONNECTION_REFUSED.
    expect(await refusalOf(quicPort)).toBe("QUIC transport error 2");
    await eventually(async () =>
      expect(await edge.metric("gateway_limit_refusals_total", { reason: "too_many_connections" })).toBe(2),
    );
    sessions[0]!.leave();
    await eventually(async () => {
      const session = await H3Client.connect(quicPort);
      expect((await session.ask("GET", "/health")).status).toBe(200);
      session.leave();
    });
    for (const session of sessions) session.close();
    for (const one of busy) one.close();
    mayAnswer.resolve();
    origin.stop();
  }, 30_000);
});

describe("above `max_connections_per_ip`", () => {
  test("connections of that address get 503, of others not; closed ones count no more", async () => {
    const edge = await limited({ max_connections_per_ip: 5 });
    const first = await crowdFrom("127.0.0.2", edge.port, 5, GET);
    for (const one of first) expect(await one.status()).toBe(200);
    const beyond = await crowdFrom("127.0.0.2", edge.port, 3, GET);
    for (const one of beyond) expect(await one.status()).toBe(503);
    await eventually(() => expect(beyond.every(({ isClosed }) => isClosed)).toBe(true));
    const others = await crowdFrom("127.0.0.3", edge.port, 5, GET);
    for (const one of others) expect(await one.status()).toBe(200);
    const reason = { reason: "too_many_connections" };
    expect(await edge.metric("gateway_limit_refusals_total", reason)).toBe(3);
    const line = await edge.gateway.log("the limit", ({ event }) => event === "connection_limit");
    expect(line).toMatchObject({ key: "server.max_connections_per_ip", client_ip: "127.0.0.2" });
    for (const one of first) one.close();
    await eventually(async () => {
      const [again] = await crowdFrom("127.0.0.2", edge.port, 1, GET);
      expect(await again!.status()).toBe(200);
      again!.close();
    });
    for (const one of others) one.close();
  });

  test("a trusted proxy speaks for many", async () => {
    const edge = await limited({ max_connections_per_ip: 1, trusted_proxies: ["127.0.0.2"] });
    const proxied = await crowdFrom("127.0.0.2", edge.port, 5, GET);
    for (const one of proxied) expect(await one.status()).toBe(200);
    for (const one of proxied) one.close();
  });

  test("over TLS they are closed before the handshake, and the count comes back", async () => {
    const { cert, key } = await makeCertificate();
    const port = freePort();
    await limited(
      { max_connections_per_ip: 3, tls: { port, cert_file: "a.pem", key_file: "a.key" } },
      { files: { "a.pem": cert, "a.key": key } },
    );
    for (let round = 0; round < 3; round++) {
      // Given up in the middle of the handshake, they must not count for ever either.
      for (let i = 0; i < 3; i++)
        connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false })
          .on("error", () => {})
          .destroy();
      await eventually(async () => {
        const held = await Promise.all([1, 2, 3].map(() => handshake(port)));
        const beyond = await handshake(port);
        for (const socket of [...held, beyond]) socket?.destroy();
        expect([held.every((socket) => socket !== null), beyond]).toEqual([true, null]);
      });
    }
  }, 30_000);
});

test("sessions of HTTP/3 above `max_connections_per_ip` are refused, whatever the others are spoken over", async () => {
  const { cert, key } = await makeCertificate();
  const port = freePort();
  const edge = await limited(
    { max_connections_per_ip: 3, tls: { port, cert_file: "a.pem", key_file: "a.key" }, http3: { enabled: true } },
    { files: { "a.pem": cert, "a.key": key } },
  );
  const [tcp] = await crowdFrom("127.0.0.1", edge.port, 1, GET);
  expect(await tcp!.status()).toBe(200);
  const sessions = [await H3Client.connect(port), await H3Client.connect(port)];
  for (const session of sessions) expect((await session.ask("GET", "/health")).status).toBe(200);
  expect(await refusalOf(port)).toBe("QUIC transport error 2");
  const line = await edge.gateway.log("the limit", ({ event }) => event === "connection_limit");
  expect(line).toMatchObject({ key: "server.max_connections_per_ip", client_ip: "127.0.0.1" });
  expect(await edge.metric("gateway_limit_refusals_total", { reason: "too_many_connections" })).toBe(1);
  const [beyond] = await crowdFrom("127.0.0.1", edge.port, 1, GET);
  expect(await beyond!.status()).toBe(503);
  for (const session of sessions) session.leave();
  await eventually(async () => {
    const session = await H3Client.connect(port);
    expect((await session.ask("GET", "/health")).status).toBe(200);
    session.leave();
  });
  for (const one of [tcp!, beyond!]) one.close();
});

/** Why a connection over HTTP/3 ends that is not taken. */
async function refusalOf(port: number): Promise<string> {
  try {
    const session = await H3Client.connect(port);
    await session.closed;
    return "closed in order";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("with few descriptors", () => {
  test("nothing spins: idle connections make room, the rest waits, and the log says so", async () => {
    const edge = await limited({ max_connections: 5000 }, { binary: withDescriptors(64) });
    const busy = await crowdFrom("127.0.0.2", edge.port, 80, HALF);
    const line = await edge.gateway.log("the shortage", ({ event }) => event === "connection_limit");
    expect([line.reason, line.key]).toEqual(["out_of_descriptors", "RLIMIT_NOFILE"]);
    const before = cpuTicks(edge.gateway.pid);
    await Bun.sleep(1000);
    // A loop that spins takes a hundred a second.
    expect(cpuTicks(edge.gateway.pid) - before).toBeLessThan(50);
    for (const one of busy.slice(0, 30)) one.close();
    const late = await crowdFrom("127.0.0.3", edge.port, 5, GET);
    for (const one of late) expect(await one.status()).toBe(200);
    expect(await edge.metric("gateway_accept_pauses_total", { reason: "descriptors" })).toBeGreaterThan(0);
    for (const one of [...busy, ...late] satisfies Member[]) one.close();
  }, 30_000);
});

test("an origin that cannot be connected to for want of descriptors gets no blame, and the client 503", async () => {
  const origin = EchoOrigin.start();
  const release: (() => void)[] = [];
  origin.on("/hang", (call) =>
    new Promise<void>((resolve) => release.push(resolve)).then(() => call.reply("200 OK", [], "ok")),
  );
  const edge = await limited(
    { max_connections: 5000 },
    { binary: withDescriptors(64), routes: [{ type: "upstream", prefix: "/node", target: origin.url }] },
  );
  const crowd = await crowdFrom("127.0.0.2", edge.port, 38, request("GET /node/hang"));
  await eventually(() => expect(crowd.some(({ statuses }) => statuses.length > 0)).toBe(true));
  const line = await edge.gateway.log("the reason", ({ event }) => event === "limit_reject");
  expect([line.reason, line.key, line.status]).toEqual(["out_of_descriptors", "RLIMIT_NOFILE", 503]);
  expect(crowd.flatMap(({ statuses }) => statuses).every((status) => status === 503)).toBe(true);
  await eventually(async () => expect((await statusOf(edge)).stdout).toContain("hardly a descriptor is left"));
  for (const one of crowd) one.close();
  for (const resolve of release) resolve();
  await eventually(async () => {
    const status = await statusOf(edge);
    expect([status.code, status.stdout.includes("descriptor")]).toEqual([0, false]);
  });
  expect(edge.gateway.logs.json.filter(({ event }) => event === "breaker_open")).toEqual([]);
  await eventually(async () => {
    const [again] = await crowdFrom("127.0.0.3", edge.port, 1, request("GET /node/echo"));
    expect(await again!.status()).toBe(200);
    again!.close();
  });
  origin.stop();
}, 30_000);

const statusOf = ({ gateway }: { readonly gateway: Gateway }) =>
  runProcess([EDGE_BINARY, "status"], { cwd: gateway.folder, timeout: 20_000 });

test("`edge status` says that clients wait at the limit, which the limit of open files sets, and no more once there is room", async () => {
  const edge = await limited({ max_connections: "auto", workers: 1 }, { binary: withDescriptors(128) });
  const busy = await crowdFrom("127.0.0.2", edge.port, 96, GET + HALF);
  await eventually(async () => {
    const { code, stdout } = await statusOf(edge);
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining("96 connections of 96 (server.max_connections): others wait"),
    ]);
  });
  for (const one of busy) one.close();
  await eventually(async () => expect((await statusOf(edge)).stdout).not.toContain("others wait"));
}, 30_000);

/** The binary, started with so few descriptors. */
function withDescriptors(count: number): string {
  const wrapper = join(folder, `descriptors-${count}`);
  writeFileSync(wrapper, `#!/bin/sh\nulimit -n ${count}\nexec ${EDGE_BINARY} "$@"\n`);
  chmodSync(wrapper, 0o755);
  return wrapper;
}

/** A connection whose TLS handshake is done; null where it was closed before. */
function handshake(port: number) {
  const done = Promise.withResolvers<ReturnType<typeof connectTls> | null>();
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => done.resolve(socket));
  socket.on("error", () => done.resolve(null));
  socket.on("close", () => done.resolve(null));
  return done.promise;
}

/** Time that a process has used, in hundredths of a second. proc(5). */
function cpuTicks(pid: number): number {
  const { stdout } = Bun.spawnSync(["cat", `/proc/${pid}/stat`]);
  const fields = stdout.toString().split(") ")[1]!.split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
