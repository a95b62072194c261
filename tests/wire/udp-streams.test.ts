import { afterAll, describe, expect, test } from "bun:test";
import { createSocket, type Socket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { DnsServer, NAMED } from "../harness/dns-server.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { isGone } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

/** A server; what it has got, with the port that each came from. */
async function startServer(answer: (data: Buffer, reply: (data: Uint8Array) => void) => void) {
  const got: { text: string; port: number }[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (data, { port, address }) => {
    got.push({ text: data.toString("latin1"), port });
    answer(data, (reply) => socket.send(reply, port, address));
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return { port: socket.address().port, got, socket, stop: () => void socket.close() };
}

class Client {
  readonly got: Buffer[] = [];
  private readonly socket: Socket = createSocket("udp4");

  constructor(private readonly to: number) {
    this.socket.on("message", (data) => void this.got.push(data));
    this.socket.on("error", () => {});
  }

  send(data: string | Uint8Array): void {
    this.socket.send(data, this.to, "127.0.0.1");
  }

  async next(): Promise<Buffer> {
    return eventually(() => {
      expect(this.got.length).toBeGreaterThan(0);
      return this.got.shift()!;
    });
  }

  /** Asks until there is an answer, as clients of UDP do. */
  async ask(data: string | Uint8Array): Promise<Buffer> {
    return eventually(async () => {
      this.send(data);
      for (let i = 0; i < 20 && this.got.length === 0; i++) await Bun.sleep(10);
      expect(this.got.length).toBeGreaterThan(0);
      return this.got.shift()!;
    });
  }

  [Symbol.dispose](): void {
    this.socket.close();
  }
}

const names = ["echo", "once", "few", "refused", "dead", "two", "idle", "told", "late"] as const;
const at = Object.fromEntries(names.map((name) => [name, freePort()])) as Record<(typeof names)[number], number>;
const dead = freePort();
const echo = await startServer((data, reply) => reply(data));
const told = await startServer(() => {});
const held: (() => void)[] = [];
/** Holds its answers to "leave" until something else comes, and sends them before the answer to that. */
const late = await startServer((data, reply) => {
  if (data.toString() === "leave") return void held.push(() => reply(data));
  for (const answer of held.splice(0)) answer();
  reply(data);
});
const stream = (name: keyof typeof at, target: number, more: object = {}) => ({
  type: "udp",
  listen: `127.0.0.1:${at[name]}`,
  target: `127.0.0.1:${target}`,
  ...more,
});
const streams = [
  stream("echo", echo.port),
  stream("once", echo.port, { responses: 1 }),
  stream("few", echo.port, { max_sessions: 2 }),
  stream("refused", echo.port, { ip_rules: { deny: ["127.0.0.1"] } }),
  stream("dead", dead),
  {
    type: "udp",
    listen: at.two,
    targets: [{ url: `127.0.0.1:${dead}` }, { url: `127.0.0.1:${echo.port}` }],
    circuit_breaker: { failure_threshold: 1, open_duration: "1m" },
  },
  stream("idle", echo.port, { idle_timeout: "200ms" }),
  stream("told", told.port, { send_proxy: "v2" }),
  stream("late", late.port),
];
const gateway = await startGateway({ config: { server: { workers: 2 } }, routes: streams });
afterAll(async () => {
  await stopAll(gateway);
  echo.stop();
  told.stop();
  late.stop();
});

const linesOf = (name: keyof typeof at) =>
  gateway.logs.json.filter((line) => line.event === "stream" && line.route === `udp:127.0.0.1:${at[name]}`);
const opened = (name: keyof typeof at) =>
  gateway.metric("gateway_stream_open_connections", { route: `udp:127.0.0.1:${at[name]}` });

describe("datagrams", () => {
  test.each([0, 1, 1200, 9000, 65_507])("of %d bytes come back as they were sent", async (length) => {
    using client = new Client(at.echo);
    const sent = Buffer.alloc(length, "0123456789");
    expect((await client.ask(sent)).equals(sent)).toBe(true);
  });

  test("of one client come from one port, and each client gets its own answers", async () => {
    const clients = Array.from({ length: 40 }, () => new Client(at.echo));
    await Promise.all(
      clients.map(async (client, i) => {
        for (let n = 0; n < 5; n++)
          expect(String(await client.ask(`client ${i} datagram ${n}`))).toStartWith(`client ${i} `);
      }),
    );
    const ports = clients.map(
      (_, i) => new Set(echo.got.filter(({ text }) => text.startsWith(`client ${i} `)).map(({ port }) => port)),
    );
    expect(ports.map(({ size }) => size)).toEqual(clients.map(() => 1));
    for (const client of clients) client[Symbol.dispose]();
  });

  test("of others than the target do not come through", async () => {
    using client = new Client(at.echo);
    await client.ask("who are you");
    const { port } = echo.got.findLast(({ text }) => text === "who are you")!;
    const stranger = createSocket("udp4");
    await new Promise<void>((resolve) => stranger.send("not yours", port, "127.0.0.1", () => resolve()));
    expect(String(await client.ask("again"))).toBe("again");
    expect(client.got.map(String)).not.toContain("not yours");
    stranger.close();
  });
});

test("clients whose port is closed when their answer comes cost no other client its own", async () => {
  let answers = 0;
  const rounds = 40;
  for (let round = 0; round < rounds; round++) {
    const leaving = new Client(at.late);
    leaving.send("leave");
    await eventually(() => expect(held.length).toBe(1));
    leaving[Symbol.dispose]();
    using staying = new Client(at.late);
    staying.send("stay");
    for (let i = 0; i < 20 && staying.got.length === 0; i++) await Bun.sleep(10);
    answers += staying.got.length;
  }
  expect(answers).toBe(rounds);
});

describe("sessions", () => {
  test("are over after idle_timeout", async () => {
    using client = new Client(at.idle);
    await client.ask("x");
    await eventually(() =>
      expect(linesOf("idle").at(-1)).toMatchObject({ end: "idle_timeout", protocol: "udp", bytes_in: 1 }),
    );
    await eventually(async () => expect(await opened("idle")).toBe(0));
  });

  test("are over after the answers that were expected", async () => {
    using client = new Client(at.once);
    await client.ask("x");
    await eventually(() => expect(linesOf("once").at(-1)?.end).toBe("closed"));
    expect(await opened("once")).toBe(0);
  });

  test("beyond max_sessions end the one that was silent for longest", async () => {
    const clients = Array.from({ length: 6 }, () => new Client(at.few));
    for (const client of clients) await client.ask("x");
    expect(await opened("few")).toBeLessThanOrEqual(2);
    await eventually(() => expect(linesOf("few").some(({ end }) => end === "max_sessions")).toBe(true));
    for (const client of clients) client[Symbol.dispose]();
  });

  test("of addresses that ip_rules refuse are none", async () => {
    using client = new Client(at.refused);
    client.send("x");
    await eventually(() => expect(linesOf("refused").at(-1)?.end).toBe("address_refused"));
    expect(client.got).toEqual([]);
  });
});

describe("targets", () => {
  test("that refuse datagrams are counted", async () => {
    using client = new Client(at.dead);
    client.send("x");
    await eventually(() => expect(linesOf("dead").at(-1)?.end).toBe("target_refused"));
    await eventually(async () =>
      expect(
        await gateway.metric("gateway_stream_connect_failures_total", { upstream: `udp://127.0.0.1:${dead}` }),
      ).toBeGreaterThan(0),
    );
  });

  test("that refuse datagrams are taken out where there is another", async () => {
    for (let i = 0; i < 6; i++) {
      using client = new Client(at.two);
      expect(String(await client.ask("hello"))).toBe("hello");
    }
    expect(await gateway.metric("gateway_circuit_breaker_state", { upstream: `udp://127.0.0.1:${dead}` })).toBe(2);
    const health = await gateway.once(request("GET /internal/api/upstreams/health"));
    expect(health.text).toContain(`udp://127.0.0.1:${dead}`);
  });

  test("get a PROXY header before the first datagram of a session alone", async () => {
    using client = new Client(at.told);
    client.send("one");
    await eventually(() => expect(told.got.length).toBe(1));
    client.send("two");
    await eventually(() => expect(told.got.length).toBe(2));
    expect(told.got[0]!.text).toStartWith("\r\n\r\n\0\r\nQUIT\n\x21\x12\0\x0c\x7f\0\0\x01\x7f\0\0\x01");
    expect(told.got.map(({ text }) => text.slice(-3))).toEqual(["one", "two"]);
    expect(told.got[1]!.text).toBe("two");
  });
});

test("a reload keeps sessions of what stays, ends those of what goes, and listens where it is new", async () => {
  using staying = new Client(at.echo);
  using going = new Client(at.once);
  await staying.ask("before");
  await going.ask("before");
  const { port } = echo.got.findLast(({ text }) => text === "before")!;
  expect(port).toBeGreaterThan(0);
  const kept = new Set(echo.got.filter(({ text }) => text === "before").map((one) => one.port));
  const added = freePort();
  writeFileSync(
    join(gateway.folder, "routes.yaml"),
    stringify([streams[0], { type: "udp", listen: added, target: `127.0.0.1:${echo.port}` }]),
  );
  expect((await gateway.reload()).ok).toBe(true);
  using fresh = new Client(added);
  expect(String(await fresh.ask("new"))).toBe("new");
  expect(String(await staying.ask("after"))).toBe("after");
  expect(kept.has(echo.got.findLast(({ text }) => text === "after")!.port)).toBe(true);
  going.send("gone");
  await Bun.sleep(200);
  expect(going.got).toEqual([]);
});

test("SIGUSR2: clients that ask again get their answers from the successor", async () => {
  const port = freePort();
  const old = await startGateway({
    config: { server: { workers: 2 } },
    routes: [{ type: "udp", listen: port, target: `127.0.0.1:${echo.port}` }],
  });
  using client = new Client(port);
  expect(String(await client.ask("old"))).toBe("old");
  old.signal("SIGUSR2");
  const ready = await old.log("the successor", (line) => line.event === "listening" && line.pid !== old.pid);
  expect(await old.exited()).toBe(0);
  for (let i = 0; i < 20; i++) {
    using other = new Client(port);
    expect(String(await other.ask("new"))).toBe("new");
  }
  process.kill(Number(ready.pid), "SIGTERM");
  await eventually(() => expect(isGone(Number(ready.pid))).toBe(true));
  old.kill();
});

test("ports that are taken are said", async () => {
  const config = `server: { port: ${freePort()}, host: 127.0.0.1 }\n`;
  const run = await runEdge(["serve"], {
    files: { "config.yaml": config, "routes.yaml": `- {type: udp, listen: ${echo.port}, target: "a:1"}\n` },
  });
  expect(run.code).not.toBe(0);
  expect(run.stdout + run.stderr).toContain(`cannot listen on UDP 127.0.0.1:${echo.port}: EADDRINUSE`);
  const twice =
    "- {type: udp, listen: 53, target: a:1}\n- {type: tcp, listen: 53, target: a:1}\n- {type: udp, listen: 53, target: a:1}\n";
  const check = await runEdge(["check"], { files: { "config.yaml": config, "routes.yaml": twice } });
  expect(check.stderr).toContain("routes[2].listen[0]: port 53 is in use by the stream in line 1: choose another");
  expect(check.stderr).not.toContain("routes[1]");
});

test.skipIf(NAMED === null)(
  "DNS: bind9 behind it, asked for a thousand names, and one server of two ends",
  async () => {
    const servers = await Promise.all([DnsServer.start("192.0.2.1", 1000), DnsServer.start("192.0.2.1", 1000)]);
    const port = freePort();
    const own = await startGateway({
      config: { server: { workers: 2 } },
      routes: [
        {
          type: "udp",
          listen: port,
          targets: servers.map((server) => ({ url: `127.0.0.1:${server.port}` })),
          responses: 1,
          circuit_breaker: { failure_threshold: 1 },
        },
      ],
    });
    try {
      const ask = async (i: number) => {
        const resolver = new Resolver({ timeout: 1000, tries: 5 });
        resolver.setServers([`127.0.0.1:${port}`]);
        return (await resolver.resolve4(`n${i}.stream.test`))[0];
      };
      for (let from = 0; from < 1000; from += 50) {
        const found = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(from + i)));
        expect(new Set(found)).toEqual(new Set(["192.0.2.1"]));
      }
      await servers[0]!.stop();
      for (let i = 0; i < 20; i++) expect(await ask(i)).toBe("192.0.2.1");
      await eventually(async () => expect(await own.metric("gateway_stream_open_connections")).toBe(0));
    } finally {
      await stopAll(own);
      for (const server of servers) await server.stop();
    }
  },
);
