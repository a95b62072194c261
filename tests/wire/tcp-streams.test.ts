import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { stringify } from "yaml";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { NGINX, NginxServer } from "../harness/nginx-server.ts";
import { POSTGRES, PostgresServer } from "../harness/postgres-server.ts";
import { request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { isGone } from "../harness/run-process.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

/** A server whose every connection is handed to the test; each takes half-closes as they come. */
async function startServer(onSocket: (socket: Socket) => void) {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as { port: number }).port, stop: () => void server.close() };
}

function open(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress, allowHalfOpen: true }, () => resolve(socket));
    socket.on("error", reject);
  });
}

/** All that comes until the other end has ended, or `reset`. */
function whole(socket: Socket): Promise<Buffer | "reset"> {
  const parts: Buffer[] = [];
  return new Promise((resolve) => {
    socket.on("data", (part: Buffer) => parts.push(part));
    socket.on("end", () => resolve(Buffer.concat(parts)));
    socket.on("error", () => resolve("reset"));
    socket.on("close", () => resolve("reset"));
  });
}

/** What comes of a connection that may be reset before the client knows that it is there. */
const outcome = (port: number) => open(port).then(whole, () => "reset" as const);

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const names = [
  "echo",
  "counting",
  "late",
  "resetting",
  "speaking",
  "brief",
  "dead",
  "failing",
  "limited",
  "refused",
  "idle",
  "told",
] as const;
const at = Object.fromEntries(names.map((name) => [name, freePort()])) as Record<(typeof names)[number], number>;
const dead = freePort();
const echo = await startServer((socket) => void socket.pipe(socket));
const late: Socket[] = [];
// Answers only when its client has ended, so that half a connection must be kept.
const counting = await startServer((socket) => {
  let length = 0;
  socket.on("data", (part: Buffer) => (length += part.length));
  socket.on("end", () => socket.end(`${length} bytes`));
});
const waiting = await startServer((socket) => void late.push(socket));
const resetting = await startServer((socket) => socket.once("data", () => socket.resetAndDestroy()));
const speaking = await startServer((socket) => void socket.end("220 hello\r\n"));
/** What clients have sent to it after its own end. */
const afterEnd: number[] = [];
const brief = await startServer((socket) => {
  let length = 0;
  socket.on("data", (part: Buffer) => (length += part.length));
  socket.on("end", () => void afterEnd.push(length));
  socket.end("that is all");
});
const seen: string[] = [];
const told = await startServer((socket) => {
  socket.on("data", (part: Buffer) => void seen.push(part.toString("latin1")));
  socket.on("end", () => socket.end());
});

const stream = (name: keyof typeof at, target: number, more: object = {}) => ({
  type: "tcp",
  listen: `127.0.0.1:${at[name]}`,
  target: `127.0.0.1:${target}`,
  ...more,
});
const streams = [
  stream("echo", echo.port),
  stream("counting", counting.port),
  stream("late", waiting.port),
  stream("resetting", resetting.port),
  stream("speaking", speaking.port),
  stream("brief", brief.port),
  stream("dead", dead),
  {
    type: "tcp",
    listen: at.failing,
    targets: [{ url: `127.0.0.1:${dead}` }, { url: `127.0.0.1:${echo.port}`, backup: true }],
    circuit_breaker: { failure_threshold: 1 },
  },
  stream("limited", echo.port, { max_connections: 1 }),
  stream("refused", echo.port, { ip_rules: { allow: ["192.0.2.0/24"] } }),
  stream("idle", echo.port, { idle_timeout: "300ms" }),
  stream("told", told.port, { accept_proxy: true, send_proxy: "v1" }),
];
const gateway = await startGateway({
  config: { server: { workers: 2, proxy_protocol: { trusted: ["127.0.0.2"] } } },
  routes: streams,
});
afterAll(async () => {
  await stopAll(gateway);
  for (const server of [echo, counting, waiting, resetting, speaking, brief, told]) server.stop();
});

const lineOf = (name: keyof typeof at) =>
  eventually(() => {
    const found = gateway.logs.json.find(
      (line) => line.event === "stream" && line.route === `tcp:127.0.0.1:${at[name]}`,
    );
    expect(found).toBeDefined();
    return found!;
  });

describe("bytes", () => {
  test.each([0, 1, 70_000, 9_000_000])("%d of them come back as they were sent", async (length) => {
    const sent = new SeededRandom(length).bytes(length);
    const socket = await open(at.echo);
    const received = whole(socket);
    socket.end(sent);
    expect(digest((await received) as Buffer)).toBe(digest(sent));
  });

  test("many connections at a time keep theirs apart", async () => {
    const digests = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const sent = new SeededRandom(i).bytes(20_000 + i * 997);
        const socket = await open(at.echo);
        const received = whole(socket);
        for (let from = 0; from < sent.length; from += 4096) socket.write(sent.subarray(from, from + 4096));
        socket.end();
        return digest((await received) as Buffer) === digest(sent);
      }),
    );
    expect(digests).not.toContain(false);
  });

  test("a server that speaks first is heard by a client that sends nothing", async () => {
    expect(String(await whole(await open(at.speaking)))).toBe("220 hello\r\n");
  });

  test("the end of one direction is passed on, and the other goes on", async () => {
    const socket = await open(at.counting);
    const received = whole(socket);
    socket.end(Buffer.alloc(300_000));
    expect(String(await received)).toBe("300000 bytes");
    expect(await lineOf("counting")).toMatchObject({
      bytes_in: 300_000,
      bytes_out: 12,
      end: "closed",
      protocol: "tcp",
    });
  });

  test("a server may end first, and takes what its client goes on to send", async () => {
    const socket = await open(at.brief);
    expect(String(await whole(socket))).toBe("that is all");
    for (let i = 0; i < 30; i++) {
      socket.write(Buffer.alloc(100_000));
      await Bun.sleep(1);
    }
    socket.end();
    await eventually(() => expect(afterEnd).toEqual([3_000_000]));
    expect(await lineOf("brief")).toMatchObject({ bytes_in: 3_000_000, bytes_out: 11, end: "closed" });
  });

  test("a client that does not read stops its server, whose memory the gateway does not become", async () => {
    const socket = await open(at.late);
    const served = await eventually(() => {
      expect(late.length).toBeGreaterThan(0);
      return late.pop()!;
    });
    const before = gateway.memory()?.resident ?? 0;
    socket.pause();
    const all = Buffer.alloc(64 * 1024 * 1024, "y");
    served.end(all);
    await Bun.sleep(500);
    if (before > 0) expect(gateway.memory()!.resident - before).toBeLessThan(48 * 1024 * 1024);
    const received = whole(socket);
    socket.resume();
    expect(((await received) as Buffer).length).toBe(all.length);
    socket.end();
  });
});

describe("ends", () => {
  test("a reset of the target is a reset for the client", async () => {
    const socket = await open(at.resetting);
    const received = whole(socket);
    socket.write("x");
    expect(await received).toBe("reset");
    expect((await lineOf("resetting")).end).toBe("target_reset");
  });

  test("a reset of the client is a reset for the target", async () => {
    const socket = await open(at.late);
    const served = await eventually(() => {
      expect(late.length).toBeGreaterThan(0);
      return late.pop()!;
    });
    const received = whole(served);
    socket.resetAndDestroy();
    expect(await received).toBe("reset");
  });

  test("nothing for idle_timeout ends both", async () => {
    expect(String(await whole(await open(at.idle)))).toBe("");
    expect((await lineOf("idle")).end).toBe("idle_timeout");
  });
});

describe("targets", () => {
  test("where none takes the connection, the client's is reset", async () => {
    expect(await outcome(at.dead)).toBe("reset");
    expect(await lineOf("dead")).toMatchObject({ end: "connect_failed", upstream: null, upstream_ms: null });
  });

  test("another takes what the first does not, and the breaker takes that one out", async () => {
    for (let i = 0; i < 5; i++) {
      const socket = await open(at.failing);
      const received = whole(socket);
      socket.end("over");
      expect(String(await received)).toBe("over");
    }
    const health = await gateway.once(request("GET /internal/api/upstreams/health"));
    expect(health.text).toContain(`"target":"tcp://127.0.0.1:${dead}"`);
    expect(await gateway.metric("gateway_circuit_breaker_state", { upstream: `tcp://127.0.0.1:${dead}` })).toBe(2);
  });
});

describe("who may come in", () => {
  test("max_connections holds for all workers together", async () => {
    const first = await open(at.limited);
    first.write("x");
    await new Promise((resolve) => first.once("data", resolve));
    for (let i = 0; i < 6; i++) expect(await outcome(at.limited)).toBe("reset");
    first.destroy();
    await eventually(async () => {
      const socket = await open(at.limited);
      const received = whole(socket);
      socket.end("z");
      expect(String(await received)).toBe("z");
    });
  });

  test("ip_rules", async () => {
    expect(await outcome(at.refused)).toBe("reset");
    expect((await lineOf("refused")).end).toBe("address_refused");
  });

  test("a PROXY header that comes in tells the client, and goes on to the target", async () => {
    const socket = await open(at.told, "127.0.0.2");
    socket.write("PROXY TCP4 192.0.2.9 192.0.2.1 4711 5432\r\nhello");
    await eventually(() => expect(seen.join("")).toBe(`PROXY TCP4 192.0.2.9 127.0.0.1 4711 ${at.told}\r\nhello`));
    socket.destroy();
    expect((await lineOf("told")).client_ip).toBe("192.0.2.9");
  });
});

test("a reload: what stays goes on, what goes takes no more and lets its connections end, what comes listens", async () => {
  const [staying, going] = await Promise.all([open(at.echo), open(at.counting)]);
  const added = freePort();
  const next = [streams[0]!, { ...stream("late", echo.port), listen: `127.0.0.1:${added}` }];
  writeFileSync(join(gateway.folder, "routes.yaml"), stringify(next));
  expect((await gateway.reload()).ok).toBe(true);
  await eventually(async () => expect(open(at.counting)).rejects.toThrow());
  for (const port of [at.echo, added]) {
    const socket = await open(port);
    const received = whole(socket);
    socket.end("again");
    expect(String(await received)).toBe("again");
  }
  const results = [whole(staying), whole(going)];
  staying.end("1234");
  going.end("1234");
  expect((await Promise.all(results)).map(String)).toEqual(["1234", "4 bytes"]);
});

describe("the process", () => {
  test("SIGUSR2: no connection is refused, and those that are there go on", async () => {
    const port = freePort();
    const old = await startGateway({
      config: { server: { workers: 2, shutdown_timeout: "10s" } },
      routes: [{ type: "tcp", listen: port, target: `127.0.0.1:${echo.port}` }],
    });
    const kept = await open(port);
    let made = 0;
    let isOver = false;
    const steady = (async () => {
      while (!isOver) {
        const socket = await open(port);
        const received = whole(socket);
        socket.end("steady");
        expect(String(await received)).toBe("steady");
        made++;
      }
    })();
    old.signal("SIGUSR2");
    const ready = await old.log("the successor", (line) => line.event === "listening" && line.pid !== old.pid);
    await Bun.sleep(200);
    isOver = true;
    await steady;
    expect(made).toBeGreaterThan(10);
    const received = whole(kept);
    kept.end("still");
    expect(String(await received)).toBe("still");
    expect(await old.exited()).toBe(0);
    process.kill(Number(ready.pid), "SIGTERM");
    await eventually(() => expect(isGone(Number(ready.pid))).toBe(true));
    old.kill();
  });

  test("SIGTERM: connections have shutdown_timeout, and the end of it is told", async () => {
    const port = freePort();
    const ending = await startGateway({
      config: { server: { shutdown_timeout: "500ms" } },
      routes: [{ type: "tcp", listen: port, target: `127.0.0.1:${echo.port}` }],
    });
    const socket = await open(port);
    const received = whole(socket);
    socket.write("x");
    await eventually(async () => expect(await ending.metric("gateway_stream_open_connections")).toBe(1));
    ending.signal("SIGTERM");
    expect(await ending.exited()).toBe(3);
    expect(String(await received)).toBe("x");
    expect(ending.logs.json.find((line) => line.event === "stream")?.end).toBe("shutdown");
    ending.kill();
  });

  test("a port that is taken, and one that the configuration takes twice, are said with the cure", async () => {
    const config = "server: { port: 8080, host: 127.0.0.1 }\n";
    const check = async (routes: string) =>
      (await runEdge(["check"], { files: { "config.yaml": config, "routes.yaml": routes } })).stderr;
    expect(await check("- {type: tcp, listen: 8080, target: a:1}\n")).toContain(
      "routes[0].listen[0]: port 8080 is in use by server.port: choose another",
    );
    expect(await check("- {type: tcp, listen: 9, target: a:1}\n- {type: tcp, listen: 9, target: a:1}\n")).toContain(
      "routes[1].listen[0]: port 9 is in use by the stream in line 1: choose another",
    );
    expect(await check("- {type: tcp, listen: 9, target: 127.0.0.1:9}\n")).toContain("would loop for ever");
    expect(await check("- {type: tcp, target: a:1}\n")).toContain("it needs listen");
    const run = await runEdge(["serve"], {
      files: {
        "config.yaml": `server: { port: ${freePort()}, host: 127.0.0.1 }\n`,
        "routes.yaml": `- {type: tcp, listen: ${echo.port}, target: "a:1"}\n`,
      },
    });
    expect(run.code).not.toBe(0);
    expect(run.stdout + run.stderr).toContain(`cannot listen on 127.0.0.1:${echo.port}: EADDRINUSE`);
  });
});

describe("real servers", () => {
  test.skipIf(REDIS === null)(
    "Redis: commands, pipelines, subscriptions, and a restart that health notices",
    async () => {
      const redis = await RedisServer.start();
      const [port, dead] = [freePort(), freePort()];
      const own = await startGateway({
        routes: [
          {
            type: "tcp",
            listen: port,
            targets: [{ url: `127.0.0.1:${dead}` }, { url: `127.0.0.1:${redis.port}` }],
            health_check: { interval: "50ms", unhealthy_threshold: 1 },
            load_balancing: { policy: "least_conn" },
          },
        ],
      });
      try {
        await own.log("the health check", (line) => line.event === "upstream_unhealthy");
        const client = new Bun.RedisClient(`redis://127.0.0.1:${port}`);
        const value = "v".repeat(3_000_000);
        await client.set("key", value);
        expect(await client.get("key")).toBe(value);
        const many = await Promise.all(Array.from({ length: 500 }, (_, i) => client.incrby("n", i)));
        expect(Math.max(...many)).toBe(124_750);
        client.close();
      } finally {
        await stopAll(own);
        await redis.stop();
      }
    },
  );

  test.skipIf(POSTGRES === null)("PostgreSQL: a transaction, a large result, many sessions", async () => {
    const postgres = await PostgresServer.start();
    const port = freePort();
    const own = await startGateway({
      config: { server: { workers: 2 } },
      routes: [{ type: "tcp", listen: port, target: `127.0.0.1:${postgres.port}`, health_check: true }],
    });
    const sql = new Bun.SQL(postgres.url(port), { max: 8 });
    try {
      await sql`CREATE TABLE t (id int, body text)`;
      await sql.begin(async (tx) => {
        await tx`INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) i`;
      });
      const rows = await sql`SELECT id, body FROM t ORDER BY id`;
      expect(rows.length).toBe(5000);
      const sums = await Promise.all(Array.from({ length: 40 }, (_, i) => sql`SELECT ${i}::int + 1 AS n`));
      expect(sums.map(([row]) => row.n)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    } finally {
      await sql.close();
      await stopAll(own);
      await postgres.stop();
    }
  });

  test.skipIf(NGINX === null)("nginx learns the client by the PROXY header of either version", async () => {
    const ports = { v1: freePort(), v2: freePort() };
    const server = (listen: number) =>
      `server { listen 127.0.0.1:${listen} proxy_protocol; location / { return 200 "$proxy_protocol_addr $proxy_protocol_server_port"; } }`;
    const nginx = await NginxServer.start(server(ports.v1) + server(ports.v2), [ports.v1, ports.v2]);
    const listen = { v1: freePort(), v2: freePort() };
    const own = await startGateway({
      routes: (["v1", "v2"] as const).map((version) => ({
        type: "tcp",
        listen: listen[version],
        target: `127.0.0.1:${ports[version]}`,
        send_proxy: version,
      })),
    });
    try {
      for (const version of ["v1", "v2"] as const) {
        const reply = await fetch(`http://127.0.0.1:${listen[version]}/`);
        expect(await reply.text()).toBe(`127.0.0.1 ${listen[version]}`);
      }
    } finally {
      await stopAll(own);
      nginx.stop();
    }
  });
});
