// One that stops beside others that do not, on every kind of route: docs/security.md#shared-resources-and-their-bounds
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { ApplicationOrigin } from "../harness/application-origin.ts";
import type { ByteSocket } from "../harness/byte-socket.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { FastCgiOrigin } from "../harness/fastcgi-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { samples as countOf, longTest } from "../harness/long-lane.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

/** Stopped ones of each kind and protocol. */
const COUNT = countOf(40, 1);
const GAUGES = ["gateway_active_tcp_connections", "gateway_forward_proxy_tunnels", "gateway_quic_active_streams"];
const PIECE = Buffer.alloc(65_536, "x");
const HTML = "Content-Type: text/html";

const { cert, key } = await makeCertificate();
const [sitePort, quicPort, tcpPort, proxyPort] = [freePort(), freePort(), freePort(), freePort()];

/** Sends pieces until the connection ends. */
async function flood(to: ByteSocket, piece: Uint8Array): Promise<void> {
  while (!to.isClosed && to.ending === "open") {
    to.send(piece);
    await to.flushed(1e9).catch(() => {});
  }
}
const chunkOf = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

const origin = ScriptedOrigin.start();
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
origin.otherwise((call) => {
  const { target } = call.request;
  if (target.endsWith("quick")) return call.reply("200 OK", ["Content-Type: text/plain"], "quick");
  if (target === "/page" || target === "/fine") {
    const path = target === "/fine" ? "/part/quick" : "/part/silent";
    return call.reply("200 OK", [HTML], `<!--#include virtual="${path}" -->`);
  }
  const connection = call.takeOver();
  if (target.endsWith("silent")) return;
  if (target.endsWith("/ws")) {
    const asked = call.request.fields.get("sec-websocket-key") ?? "";
    const accept = createHash("sha1").update(`${asked}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    connection.send(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    return flood(connection, PIECE);
  }
  connection.send(
    `${CHUNKED}Content-Type: ${target.includes("completions") ? "text/event-stream" : "text/plain"}\r\n\r\n`,
  );
  return flood(connection, chunkOf(PIECE));
});
const fastcgi = FastCgiOrigin.start();
const uwsgi = ApplicationOrigin.start("uwsgi");
const scgi = ApplicationOrigin.start("scgi");
const record = Buffer.concat([Buffer.from([1, 6, 0, 1, 0xff, 0xf8, 0, 0]), Buffer.alloc(65_528, "x")]);
fastcgi.on("/fastcgi/quick", (call) => call.respond("Content-Type: text/plain\r\n\r\nquick"));
fastcgi.on("/fastcgi/silent", () => {});
fastcgi.on("/fastcgi/endless", (call) => {
  const start = Buffer.from("Content-Type: text/plain\r\n\r\n");
  call.send(Buffer.from([1, 6, 0, 1, 0, start.length, 0, 0]), start);
  return flood(call.connection, record);
});
for (const application of [uwsgi, scgi]) {
  application.on("/quick", (call) => call.respond("Content-Type: text/plain\r\n\r\nquick"));
  application.on("/silent", () => {});
  application.on("/endless", (call) => {
    call.send("Content-Type: text/plain\r\n\r\n");
    return flood(call, PIECE);
  });
}
/** Echoes; sends without end once it got an F. */
const echo = Bun.listen<{ floods: boolean }>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open: (socket) => {
      socket.data = { floods: false };
    },
    data: (socket, bytes) => {
      if (bytes[0] === 0x46) socket.data.floods = true;
      if (!socket.data.floods) return void socket.write(bytes);
      while (socket.write(PIECE) === PIECE.length);
    },
    drain: (socket) => {
      while (socket.data.floods && socket.write(PIECE) === PIECE.length);
    },
    error: () => {},
  },
});

const gateway = await startGateway({
  port: sitePort,
  config: {
    server: {
      workers: 1,
      host: undefined,
      port: undefined,
      tls: { cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      compression: {},
      listeners: [
        { name: "site", address: `127.0.0.1:${sitePort}` },
        { name: "secure", address: `127.0.0.1:${quicPort}`, tls: true },
        {
          name: "proxy",
          address: `127.0.0.1:${proxyPort}`,
          forward_proxy: { allow: ["*:*"], allow_networks: ["127.0.0.0/8"] },
        },
      ],
    },
  },
  routes: [
    upstream("/http", origin),
    upstream("/gzip", origin),
    upstream("/ai", origin, { ai: { models: [{ name: "m" }] } }),
    upstream("/ssi", origin, { ssi: true }),
    upstream("/part", origin),
    upstream(
      "/fastcgi",
      { url: fastcgi.url },
      { strip_prefix: false, fastcgi: { root: "/srv", check_files: false, front_controller: true } },
    ),
    upstream("/uwsgi", { url: uwsgi.url }),
    upstream("/scgi", { url: scgi.url }),
    { type: "tcp", listen: tcpPort, target: `127.0.0.1:${echo.port}` },
  ],
  files: { "a.pem": cert, "a.key": key },
});
afterAll(async () => {
  await stopAll(gateway, origin, fastcgi, uwsgi, scgi);
  echo.stop(true);
});
/** An exchange that goes well beside stopped ones, and those that stop. */
interface Kind {
  readonly stop: () => Promise<() => void>;
  readonly pass: () => Promise<void>;
}

/** Models have a few calls alone: they tell their responses by a query. */
const pathOf = (prefix: string, name: string) =>
  prefix === "/ai" ? `${prefix}/v1/chat/completions?${name}` : `${prefix}/${name}`;
const MODEL = JSON.stringify({ model: "m", stream: true });
const aiLines = (path: string) => (path.startsWith("/ai") ? ["Content-Type: application/json"] : []);
const requestOf = (path: string, lines: readonly string[] = []) =>
  path.startsWith("/ai") ? request(`POST ${path}`, [...lines, ...aiLines(path)], MODEL) : request(`GET ${path}`, lines);

/** Requests whose responses nobody reads, and requests and uploads that nobody answers, over each protocol. */
async function stopRequests(prefix: string): Promise<() => void> {
  const endless = pathOf(prefix, prefix === "/ssi" ? "page" : "endless");
  const ends: (() => void)[] = [];
  const fields = prefix === "/gzip" ? [["accept-encoding", "gzip"] as const] : [];
  const h2 = await H2Client.connect(gateway.port, [], false);
  const h3 = await H3Client.connect(quicPort);
  ends.push(
    () => h2.close(),
    () => h3.leave(),
  );
  for (let i = 0; i < COUNT; i++) {
    for (const path of [endless, pathOf(prefix, "silent")]) {
      const client = await RawClient.connect(gateway.port);
      client.hold();
      client.send(
        requestOf(
          path,
          fields.map(([name, value]) => `${name}: ${value}`),
        ),
      );
      ends.push(() => client.reset());
      h2.headers(head("GET", path, fields));
      await h3.begin(path);
    }
    const client = await RawClient.connect(gateway.port);
    client.send(`POST ${pathOf(prefix, "silent")} HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 4000000\r\n\r\n`);
    client.send(PIECE);
    ends.push(() => client.reset());
  }
  return () => {
    for (const end of ends) end();
  };
}

async function passRequests(prefix: string): Promise<void> {
  const path = pathOf(prefix, prefix === "/ssi" ? "fine" : "quick");
  expect((await gateway.once(requestOf(path))).text).toBe("quick");
  if (prefix === "/ai") return;
  const h2 = await H2Client.connect(gateway.port);
  const h3 = await H3Client.connect(quicPort);
  expect((await h2.request(head("GET", path))).text).toBe("quick");
  expect((await h3.ask("GET", path)).body.toString()).toBe("quick");
  h2.close();
  h3.leave();
}

const requests = (prefix: string): Kind => ({ stop: () => stopRequests(prefix), pass: () => passRequests(prefix) });

async function openWebSocket(): Promise<RawClient> {
  const client = await RawClient.connect(gateway.port);
  const lines = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${btoa("0123456789abcdef")}`,
  ];
  client.send(request("GET /http/ws", lines));
  return client;
}

async function openTunnel(): Promise<RawClient> {
  const client = await RawClient.connect(proxyPort);
  client.send(`CONNECT 127.0.0.1:${echo.port} HTTP/1.1\r\nHost: 127.0.0.1:${echo.port}\r\n\r\n`);
  await client.takeUntil("\r\n\r\n", 4096);
  return client;
}

/** Connections that a flood comes through and nobody reads; and ones that echo. */
const connections = (open: () => Promise<RawClient>): Kind => ({
  async stop() {
    const clients: RawClient[] = [];
    for (let i = 0; i < COUNT; i++) {
      const client = await open();
      client.send("F");
      client.hold();
      clients.push(client);
    }
    return () => {
      for (const client of clients) client.reset();
    };
  },
  async pass() {
    const client = await open();
    client.send("hello");
    expect((await client.take(5)).toString()).toBe("hello");
    client.close();
  },
});

const KINDS: Readonly<Record<string, Kind>> = {
  http: requests("/http"),
  compressed: requests("/gzip"),
  models: requests("/ai"),
  "pages with parts": requests("/ssi"),
  fastcgi: requests("/fastcgi"),
  uwsgi: requests("/uwsgi"),
  scgi: requests("/scgi"),
  "TCP streams": connections(() => RawClient.connect(tcpPort)),
  tunnels: connections(openTunnel),
  websockets: {
    async stop() {
      const clients: RawClient[] = [];
      for (let i = 0; i < COUNT; i++) {
        const client = await openWebSocket();
        client.hold();
        clients.push(client);
      }
      return () => {
        for (const client of clients) client.reset();
      };
    },
    async pass() {
      const client = await openWebSocket();
      expect((await client.takeUntil("\r\n\r\n", 4096)).toString()).toContain("101");
      expect((await client.take(200_000)).length).toBe(200_000);
      client.close();
    },
  },
};

/** Every kind goes on beside some that have stopped, and nothing is left once these are gone. */
async function passBeside(names: readonly string[]): Promise<void> {
  const releases: (() => void)[] = [];
  for (const name of names) releases.push(await KINDS[name]!.stop());
  try {
    for (const [other, kind] of Object.entries(KINDS)) {
      await kind.pass().catch((error) => {
        throw new Error(`${other} beside stopped ${names}: ${error}`);
      });
    }
  } finally {
    for (const release of releases) release();
  }
  await eventually(async () => {
    const samples = await gateway.samples();
    // The connection of the question is open.
    expect(GAUGES.map((name) => sumOf(samples, name, {}))).toEqual([1, 0, 0]);
  });
}

test("stopped clients, uploads and connections of every kind leave others of every kind alone", async () => {
  await passBeside(Object.keys(KINDS));
}, 60_000);

describe("many of one kind", () => {
  longTest.each(Object.keys(KINDS))("%s", (name) => passBeside([name]), 120_000);
});
