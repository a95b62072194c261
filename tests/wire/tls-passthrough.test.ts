import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { NGINX, NginxServer } from "../harness/nginx-server.ts";
import { request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const named = (...values: string[]) => makeCertificate(values.map((value) => ({ type: "dns", value })));
// As many have it: one certificate for all names, of which some are passed through.
const own = await named("*.apps.test", "www.apps.test");
const theirs = await named("db.apps.test", "deep.down.test");

/** A TLS server that sends back what comes, and ends when its client does. */
function startEcho(): Promise<{ port: number; sockets: Set<TLSSocket>; stop(): void }> {
  const sockets = new Set<TLSSocket>();
  const server = createTlsServer({ ...theirs, allowHalfOpen: true } as never, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () =>
      resolve({
        port: (server.address() as { port: number }).port,
        sockets,
        stop: () => {
          for (const socket of sockets) socket.destroy();
          server.close();
        },
      }),
    ),
  );
}

const echo = await startEcho();
const origin = EchoOrigin.start();
const port = freePort();
const dead = freePort();
const passthrough = (hosts: string | string[], target: string | number, more = {}) => ({
  type: "tls_passthrough",
  hosts,
  target: typeof target === "number" ? `127.0.0.1:${target}` : target,
  ...more,
});
const gateway = await startGateway({
  config: {
    server: { workers: 2, tls: { port, cert_file: "own.pem", key_file: "own.key" }, http3: { enabled: true } },
  },
  routes: [
    upstream("/node", origin),
    passthrough("db.apps.test", echo.port),
    passthrough(["*.down.test"], echo.port),
    {
      type: "tls_passthrough",
      hosts: "second.test",
      targets: [{ url: `127.0.0.1:${dead}` }, { url: `127.0.0.1:${echo.port}`, backup: true }],
    },
    passthrough("dead.test", dead),
    passthrough("refused.test", echo.port, { ip_rules: { deny: ["127.0.0.0/8"] } }),
    passthrough("one.test", echo.port, { max_connections: 1 }),
    passthrough("idle.test", echo.port, { idle_timeout: "300ms" }),
  ],
  files: { "own.pem": own.cert, "own.key": own.key },
});
afterAll(async () => {
  await stopAll(gateway, origin);
  echo.stop();
});

function open(servername: string, more: object = {}): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connectTls({ host: "127.0.0.1", port, servername, rejectUnauthorized: false, ...more }, () =>
    resolve(socket),
  );
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("closed within the handshake")));
  return promise;
}

async function ending(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.on("error", (error) => resolve((error as { code?: string }).code ?? "error"));
    socket.on("close", () => resolve("closed"));
    socket.resume();
  });
}

const lineOf = (host: string) => (line: Record<string, unknown>) => line.event === "stream" && line.host === host;

describe("which certificate a client sees", () => {
  test.each([
    ["db.apps.test", theirs],
    ["a.down.test", theirs],
    ["deep.down.test", theirs],
    ["www.apps.test", own],
    ["other.test", own],
  ])("for %s", async (name, shown) => {
    const certificate = await shownCertificate(port, name);
    expect(certificate.toString().trim()).toBe(shown.cert.trim());
  });

  test("without a name it is the gateway's", async () => {
    expect((await TlsClient.open(port)).names).toContain("*.apps.test");
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)("with %s", async (version) => {
    const socket = await open("db.apps.test", { minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
    expect(socket.getPeerCertificate().subjectaltname).toContain("db.apps.test");
    socket.destroy();
  });

  test("a ClientHello in pieces of one byte", async () => {
    const relay = createTcpServer((client) => {
      const gate = connectTcp(port, "127.0.0.1");
      gate.setNoDelay(true);
      gate.pipe(client);
      client.once("data", async (hello) => {
        for (const byte of hello as Buffer) {
          gate.write(Uint8Array.of(byte));
          await Bun.sleep(0);
        }
        client.pipe(gate);
      });
      for (const socket of [client, gate]) socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
    const relayed = (relay.address() as { port: number }).port;
    for (const [name, shown] of [
      ["db.apps.test", theirs],
      ["www.apps.test", own],
    ] as const) {
      expect((await shownCertificate(relayed, name)).toString().trim()).toBe(shown.cert.trim());
    }
    relay.close();
  });
});

describe("what goes through", () => {
  test("is what was sent, both ways, and ends in order", async () => {
    const socket = await open("db.apps.test");
    const sent = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef");
    const received: Buffer[] = [];
    const ended = new Promise<void>((resolve) => socket.on("end", resolve));
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.end(sent);
    await ended;
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    const line = await eventually(async () => {
      const found = gateway.logs.json.find((one) => lineOf("db.apps.test")(one) && Number(one.bytes_in) > sent.length);
      expect(found).toBeDefined();
      return found!;
    });
    expect(line).toMatchObject({
      route: "tls:db.apps.test",
      protocol: "tls",
      client_ip: "127.0.0.1",
      upstream: `tcp://127.0.0.1:${echo.port}`,
      end: "closed",
    });
    expect(Number(line.bytes_out)).toBeGreaterThan(sent.length);
  });

  test("a client that does not read holds its server back, and gets all of it later", async () => {
    const socket = await open("db.apps.test");
    const sent = Buffer.alloc(24 * 1024 * 1024, "x");
    let length = 0;
    socket.pause();
    socket.write(sent);
    await Bun.sleep(300);
    socket.on("data", (chunk) => {
      length += chunk.length;
      if (length === sent.length) socket.destroy();
    });
    socket.resume();
    await eventually(() => expect(length).toBe(sent.length));
  });

  test("a reset of the client is a reset for the server", async () => {
    const before = new Set(echo.sockets);
    const socket = await open("db.apps.test");
    const served = await eventually(() => {
      const found = [...echo.sockets].find((one) => !before.has(one));
      expect(found).toBeDefined();
      return found!;
    });
    const end = new Promise((resolve) => served.on("close", (hadError) => resolve(hadError)));
    (socket as unknown as { resetAndDestroy(): void }).resetAndDestroy();
    await end;
    await eventually(() =>
      expect(gateway.logs.json.some((one) => lineOf("db.apps.test")(one) && one.end === "client_reset")).toBe(true),
    );
  });

  test("nothing for idle_timeout: both ends are closed", async () => {
    const socket = await open("idle.test");
    await ending(socket);
    await eventually(() => expect(gateway.logs.json.find(lineOf("idle.test"))?.end).toBe("idle_timeout"));
  });
});

describe("targets", () => {
  test("one that takes no connection costs no client while there is another", async () => {
    const certificate = await shownCertificate(port, "second.test");
    expect(certificate.toString().trim()).toBe(theirs.cert.trim());
  });

  test("without any, the client's connection is reset, and the log says why", async () => {
    await expect(open("dead.test")).rejects.toThrow();
    await eventually(() => expect(gateway.logs.json.find(lineOf("dead.test"))?.end).toBe("connect_failed"));
  });
});

describe("who may come in", () => {
  test("addresses that ip_rules refuse are not connected to anything", async () => {
    await expect(open("refused.test")).rejects.toThrow();
    await eventually(() => expect(gateway.logs.json.find(lineOf("refused.test"))?.end).toBe("address_refused"));
  });

  test("max_connections holds for all workers", async () => {
    const first = await open("one.test");
    for (let i = 0; i < 4; i++) await expect(open("one.test")).rejects.toThrow();
    first.destroy();
    await eventually(async () => (await open("one.test")).destroy());
  });
});

describe("HTTP requests for a name that is passed through", () => {
  test("over a connection for another name get 421, and are served by no route", async () => {
    const reply = await TlsClient.once(port, request("GET /node/canary", ["Host: db.apps.test"]), {
      serverName: "www.apps.test",
    });
    expect(reply.status).toBe(421);
    const others = await TlsClient.once(port, request("GET /node/canary", ["Host: www.apps.test"]), {
      serverName: "www.apps.test",
    });
    expect(others.status).toBe(200);
  });

  test("over HTTP/3 are not served, on a connection for that name or for another", async () => {
    const other = await H3Client.connect(port, "www.apps.test");
    expect((await other.ask("GET", "/node/canary")).status).toBe(200);
    expect((await other.ask("GET", "/node/canary", { ":authority": "db.apps.test" })).status).toBe(421);
    other.close();
    const outcome = await H3Client.connect(port, "db.apps.test")
      .then((client) => client.ask("GET", "/node/canary"))
      .then(
        // Streams of a connection that is closed end without a head.
        ({ status }) => (status > 0 ? status : "refused"),
        () => "refused",
      );
    expect(outcome).toBe("refused");
  });

  test("in clear text are as before", async () => {
    expect((await gateway.once(request("GET /node/canary", ["Host: db.apps.test"]))).status).toBe(200);
  });
});

test("a reload takes names away and brings others; connections that are there go on", async () => {
  const socket = await open("db.apps.test");
  const routes = `- {type: tls_passthrough, hosts: [www.apps.test], target: "127.0.0.1:${echo.port}"}\n`;
  writeFileSync(join(gateway.folder, "routes.yaml"), routes);
  expect((await gateway.reload()).ok).toBe(true);
  expect((await shownCertificate(port, "www.apps.test")).toString().trim()).toBe(theirs.cert.trim());
  expect((await shownCertificate(port, "db.apps.test")).toString().trim()).toBe(own.cert.trim());
  const back = new Promise((resolve) => socket.once("data", (chunk) => resolve(String(chunk))));
  socket.write("still there");
  expect(await back).toBe("still there");
  socket.destroy();
});

test("metrics and the internal API know streams and their targets", async () => {
  expect(
    await gateway.metric("gateway_stream_bytes_total", { route: "tls:db.apps.test", direction: "in" }),
  ).toBeGreaterThan(8 * 1024 * 1024);
  expect(await gateway.metric("gateway_stream_ended_total", { reason: "max_connections" })).toBeGreaterThanOrEqual(4);
  expect(await gateway.metric("gateway_stream_connect_failures_total")).toBeGreaterThan(1);
  const routes = await gateway.once(request("GET /internal/api/routes"));
  expect(routes.text).toContain('"name":"tls:www.apps.test"');
  const health = await gateway.once(request("GET /internal/api/upstreams/health"));
  expect(JSON.parse(health.text).upstreams ?? JSON.parse(health.text)).toBeDefined();
  expect(health.text).toContain(`tcp://127.0.0.1:${echo.port}`);
});

describe("edge check", () => {
  const config = "server: { tls: { port: 8443, cert_file: own.pem, key_file: own.key } }\n";
  const files = { "own.pem": own.cert, "own.key": own.key, "config.yaml": config };
  const check = (routes: string) => runEdge(["check"], { files: { ...files, "routes.yaml": routes } });

  test("names what both ends TLS and passes it through, with line and cure", async () => {
    const run = await check(`- type: respond
  prefix: /
  host: [db.test]
  body: hi
- type: tls_passthrough
  hosts: [db.test]
  target: 10.0.0.5:443
`);
    expect(run.code).not.toBe(0);
    expect(run.stderr + run.stdout).toContain(
      "routes.yaml:6:11: routes[1].hosts[0]: db.test is passed through unopened, and the route in line 1 answers for it: remove it from one of them",
    );
  });

  test.each([
    ["- {type: tls_passthrough, target: 10.0.0.5:443}\n", "a pass-through needs hosts"],
    ["- {type: tls_passthrough, hosts: a.test}\n", "it needs target"],
    [
      "- {type: tls_passthrough, hosts: a.test, target: 10.0.0.5}\n",
      "expected an address and a port such as 10.0.0.5:5432",
    ],
    ["- {type: tls_passthrough, hosts: a.test, target: https://a.test}\n", "without a scheme"],
    ["- {type: tls_passthrough, hosts: a.test, target: a:1, prefix: /}\n", "prefix"],
    [
      "- {type: tls_passthrough, hosts: a.test, target: a:1}\n- {type: tls_passthrough, hosts: a.test, target: b:1}\n",
      "a.test is passed through in line 1 already",
    ],
  ])("%s", async (routes, fault) => {
    expect((await check(routes)).stderr).toContain(fault);
  });
});

test.skipIf(NGINX === null)("nginx learns the client by the PROXY header of either version", async () => {
  const ports = { v1: freePort(), v2: freePort() };
  const server = (at: number) =>
    `server { listen 127.0.0.1:${at} ssl proxy_protocol; ssl_certificate theirs.pem; ssl_certificate_key theirs.key;
      location / { return 200 "$proxy_protocol_addr $proxy_protocol_port $proxy_protocol_server_port"; } }`;
  const nginx = await NginxServer.start(server(ports.v1) + server(ports.v2), [ports.v1, ports.v2], {
    "theirs.pem": theirs.cert,
    "theirs.key": theirs.key,
  });
  const tlsPort = freePort();
  const before = await startGateway({
    config: { server: { tls: { port: tlsPort, cert_file: "own.pem", key_file: "own.key" } } },
    routes: [
      passthrough("v1.test", ports.v1, { send_proxy: "v1" }),
      passthrough("v2.test", ports.v2, { send_proxy: "v2", health_check: true }),
    ],
    files: { "own.pem": own.cert, "own.key": own.key },
  });
  try {
    for (const serverName of ["v1.test", "v2.test"]) {
      const client = await TlsClient.open(tlsPort, { serverName });
      const reply = await client.exchange(request("GET /", [`Host: ${serverName}`]));
      expect(reply.text).toMatch(new RegExp(`^127\\.0\\.0\\.1 \\d+ ${tlsPort}$`));
      client.close();
    }
  } finally {
    await stopAll(before);
    nginx.stop();
  }
});
