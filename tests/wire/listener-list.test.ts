// docs/listeners.md
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ConnectionOptions, connect } from "node:tls";
import { TestAuthority } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Settings, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { exchangeOnce, RawClient, request } from "../harness/raw-client.ts";
import { untilGone } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient, type TlsClientOptions } from "../harness/tls-client.ts";

const authority = await TestAuthority.make("listeners");
const others = await TestAuthority.make("others");
const [server, own, admin, stranger, former] = await Promise.all([
  authority.issue({ subject: "server", names: [{ type: "dns", value: "usual.test" }] }),
  authority.issue({ subject: "own", names: [{ type: "dns", value: "own.test" }] }),
  authority.issue({ subject: "admin" }),
  others.issue({ subject: "stranger" }),
  authority.issue({ subject: "former" }),
]);
const origin = EchoOrigin.start();
const ports = Array.from({ length: 8 }, () => freePort()) as [number, number, ...number[]];
const [clear, redirecting, secure = 0, strict = 0, proxied = 0, added = 0, tuned = 0, quic = 0] = ports;

const LIST: readonly Settings[] = [
  { name: "clear", address: `127.0.0.1:${clear}` },
  { name: "redirecting", address: `127.0.0.1:${redirecting}`, redirect_https: true, http2: false },
  { name: "secure", address: `127.0.0.1:${secure}`, tls: true },
  {
    name: "strict",
    address: `127.0.0.1:${strict}`,
    tls: { client_auth: "require", client_ca_file: "ca.pem", cert_file: "own.pem", key_file: "own-key.pem" },
  },
  { name: "proxied", address: `127.0.0.1:${proxied}`, proxy_protocol: true },
  { name: "local", address: "unix:./http.sock", mode: "0600" },
  {
    name: "tuned",
    address: `127.0.0.1:${tuned}`,
    tls: {
      ciphers: ["ECDHE-ECDSA-AES256-GCM-SHA384"],
      curves: ["P-384"],
      client_auth: "request",
      client_ca_file: "ca.pem",
      crl_file: "revoked.pem",
    },
  },
  {
    name: "quic",
    address: `127.0.0.1:${quic}`,
    http3: true,
    tls: { hosts: [{ names: ["quic.test"], min_version: "1.3" }] },
  },
];
const SERVER: Settings = {
  workers: 2,
  shutdown_timeout: "5s",
  trusted_proxies: ["127.0.0.1", "unix:"],
  tls: {
    cert_file: "cert.pem",
    key_file: "key.pem",
    hosts: [
      { names: ["admin.test"], client_auth: "require", client_ca_file: "ca.pem" },
      { names: ["*.own.test"], cert_file: "own.pem", key_file: "own-key.pem", alpn: ["http/1.1"], min_version: "1.3" },
      { names: ["apart.test", "*.apart.test"], own_connections: true },
    ],
  },
};
const ROUTES = [
  upstream("/node", origin),
  { type: "respond", prefix: "/", body: "{client_ip}" },
  { type: "respond", prefix: "/", body: "local {client_ip}", listeners: ["local"] },
  { type: "respond", path: "/only", body: "only", listeners: ["strict", "local"] },
];

const configOf = (listeners: readonly Settings[], server: Settings = SERVER) =>
  JSON.stringify({ server: { ...server, listeners } });
const gateway = await startGateway({
  port: clear,
  config: { server: SERVER },
  routes: ROUTES,
  files: {
    "listed.yaml": configOf(LIST),
    "cert.pem": server.cert,
    "key.pem": server.key,
    "own.pem": own.cert,
    "own-key.pem": own.key,
    "ca.pem": authority.cert,
    "revoked.pem": await authority.revoke(former),
  },
  args: ["--config", "listed.yaml"],
});
afterAll(() => (gateway.hasExited ? origin.stop() : stopAll(gateway, origin)));

const text = async (port: number, path = "/", lines: readonly string[] = []) =>
  (await exchangeOnce(port, request(`GET ${path}`, lines))).text;
const overTls = (port: number, host: string, options: TlsClientOptions = {}, path = "/") =>
  TlsClient.once(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, { serverName: host, ...options });

async function curl(path: string, ...args: string[]): Promise<string> {
  const socket = join(gateway.folder, "http.sock");
  const run = Bun.spawn(["curl", "-sS", "--max-time", "10", "--unix-socket", socket, ...args, `http://a.test${path}`]);
  return new Response(run.stdout).text();
}

/** @returns the cipher of a handshake with these settings of the client */
async function handshake(settings: ConnectionOptions): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const all = { host: "127.0.0.1", servername: "usual.test", rejectUnauthorized: false, ...settings };
  const socket = connect(all, () => {
    resolve(socket.getCipher().name);
    socket.end();
  });
  socket.on("error", reject);
  return promise;
}

let reloads = 0;
async function reload(listeners: readonly Settings[], server: Settings = SERVER): Promise<Settings> {
  writeFileSync(join(gateway.folder, "listed.yaml"), configOf(listeners, server));
  gateway.signal("SIGHUP");
  reloads++;
  const lines = () => gateway.logs.json.filter((line) => line.event === "config_reload");
  await eventually(() => expect(lines().length).toBe(reloads));
  return lines().at(-1) as Settings;
}

describe("each listener", () => {
  test("has settings and routes of its own", async () => {
    expect(await text(clear)).toBe("127.0.0.1");
    expect(await text(clear, "/only")).toBe("127.0.0.1");
    const moved = await exchangeOnce(redirecting, request("GET /a?b"));
    expect([moved.status, moved.fields.get("location")]).toEqual([301, `https://gw.test:${secure}/a?b`]);
    expect(await text(proxied, "/").catch(() => "cut")).toBe("cut");
    const header = "PROXY TCP4 198.51.100.7 127.0.0.1 4711 80\r\n";
    expect((await exchangeOnce(proxied, header + request("GET /"))).text).toBe("198.51.100.7");
  });

  test("with TLS shows its certificate and demands its clients", async () => {
    expect((await overTls(secure, "usual.test")).text).toBe("127.0.0.1");
    for (const [port, name] of [
      [secure, "usual.test"],
      [strict, "own.test"],
    ] as const) {
      const client = await TlsClient.open(port, { serverName: "usual.test", ...admin });
      expect(client.names).toEqual([name]);
      client.close();
    }
    expect((await overTls(strict, "usual.test", admin, "/only")).text).toBe("only");
    expect((await overTls(secure, "usual.test", {}, "/only")).text).toBe("127.0.0.1");
    for (const shown of [{}, stranger])
      expect(
        await overTls(strict, "usual.test", shown).then(
          ({ status }) => status,
          () => 0,
        ),
      ).toBe(0);
  });

  test("with TLS has ciphers, curves, revoked clients and HTTP/3 of its own", async () => {
    const cipher = (port: number, ciphers: string) => handshake({ port, ciphers, maxVersion: "TLSv1.2" });
    const strong = "ECDHE-ECDSA-AES256-GCM-SHA384";
    expect(await cipher(tuned, `ECDHE-ECDSA-AES128-GCM-SHA256:${strong}`)).toBe(strong);
    await expect(cipher(tuned, "ECDHE-ECDSA-AES128-GCM-SHA256")).rejects.toThrow();
    expect(await cipher(secure, "ECDHE-ECDSA-AES128-GCM-SHA256")).toBe("ECDHE-ECDSA-AES128-GCM-SHA256");
    expect(await handshake({ port: tuned, ecdhCurve: "P-256:P-384" })).toMatch(/^TLS_/);
    await expect(handshake({ port: tuned, ecdhCurve: "P-256" })).rejects.toThrow();
    expect(await handshake({ port: secure, ecdhCurve: "P-256" })).toMatch(/^TLS_/);
    expect((await overTls(tuned, "usual.test", admin)).text).toBe("127.0.0.1");
    await expect(overTls(tuned, "usual.test", former)).rejects.toThrow();
    expect((await overTls(strict, "usual.test", former, "/only")).text).toBe("only");
    const client = await H3Client.connect(quic, "usual.test");
    expect((await client.ask("GET", "/")).body.toString()).toBe("127.0.0.1");
    client.close();
    expect((await overTls(quic, "usual.test")).fields.get("alt-svc")).toContain(`h3=":${quic}"`);
    expect((await overTls(secure, "usual.test")).fields.has("alt-svc")).toBe(false);
  });

  test("at a UNIX socket has clients without an address, and no operators", async () => {
    expect(lstatSync(join(gateway.folder, "http.sock")).mode & 0o777).toBe(0o600);
    expect(await curl("/")).toBe("local unix:");
    expect(await curl("/", "-H", "X-Forwarded-For: 198.51.100.9")).toBe("local 198.51.100.9");
    expect(await curl("/only")).toBe("only");
    expect(JSON.parse(await curl("/internal/api/status")).error).toBe("403 Forbidden");
    expect(JSON.parse(await curl("/metrics")).error).toBe("403 Forbidden");
  });

  test("is named in log, metrics and status", async () => {
    const line = await gateway.log("a line", ({ event, path }) => event === "access" && path === "/only");
    expect(LIST.map(({ name }) => name)).toContain(line.listener as string);
    expect(await gateway.metric("gateway_listener_connections_total", { listener: "local" })).toBeGreaterThan(2);
    const { listeners } = JSON.parse(await text(clear, "/internal/api/status"));
    expect(listeners.map(({ name }: Settings) => name)).toEqual(LIST.map(({ name }) => name));
  });
});

describe("TLS by host", () => {
  test("demands certificates for one name, on connections for that name alone", async () => {
    expect((await overTls(secure, "admin.test", admin)).status).toBe(200);
    expect(
      await overTls(secure, "admin.test").then(
        ({ status }) => status,
        () => 0,
      ),
    ).toBe(0);
    expect(
      await overTls(secure, "admin.test", stranger).then(
        ({ status }) => status,
        () => 0,
      ),
    ).toBe(0);
    // The handshake names another host, or none.
    for (const options of [
      { serverName: "usual.test" },
      { serverName: "usual.test", ...admin },
      { serverName: undefined },
    ])
      expect(
        (await TlsClient.once(secure, "GET / HTTP/1.1\r\nHost: admin.test\r\n\r\n", options as object)).status,
      ).toBe(421);
    const back = { serverName: "admin.test", ...admin };
    expect((await TlsClient.once(secure, "GET / HTTP/1.1\r\nHost: usual.test\r\n\r\n", back)).status).toBe(421);
  });

  test("keeps requests for some names on connections for these names, and other requests off them", async () => {
    const statusOf = async (serverName: string, host: string, protocol: string) => {
      const named = serverName === "" ? {} : { serverName };
      if (protocol !== "h2")
        return (await TlsClient.once(secure, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, named)).status;
      const client = await H2Client.connectTls(secure, named);
      const { status } = await client.request(
        head("GET", "/").map(([name, value]) => [name, name === ":authority" ? host : value] as const),
      );
      client.close();
      return status;
    };
    for (const protocol of ["http/1.1", "h2"])
      for (const [serverName, host, status] of [
        ["apart.test", "apart.test", 200],
        ["apart.test", "a.b.apart.test", 200],
        ["usual.test", "other.test", 200],
        ["", "usual.test", 200],
        ["apart.test", "usual.test", 421],
        ["usual.test", "apart.test", 421],
        ["usual.test", "a.apart.test", 421],
        ["", "apart.test", 421],
      ] as const)
        expect([protocol, serverName, host, await statusOf(serverName, host, protocol)]).toEqual([
          ...[protocol, serverName, host, status],
        ]);
  });

  test("gives one name another certificate and protocols", async () => {
    const client = await TlsClient.open(secure, { serverName: "a.own.test", protocols: ["h2", "http/1.1"] });
    expect([client.names, client.protocol]).toEqual([["own.test"], "http/1.1"]);
    const usual = await TlsClient.open(secure, { serverName: "usual.test", protocols: ["h2", "http/1.1"] });
    expect(usual.protocol).toBe("h2");
    for (const one of [client, usual]) one.close();
  });
});

describe("a reload", () => {
  test("adds, renames and removes listeners, and loses no request of a running client", async () => {
    const mayAnswer = Promise.withResolvers<void>();
    origin.on("/held", async (call) => {
      await mayAnswer.promise;
      call.reply("200 OK", [], "held");
    });
    const leaving = await RawClient.connect(redirecting);
    const held = await TlsClient.open(strict, { serverName: "usual.test", ...admin });
    held.send("GET /node/held HTTP/1.1\r\nHost: usual.test\r\n\r\n");
    await eventually(() => expect(origin.requestsFor("/held").length).toBe(1));
    let isOver = false;
    const counts = { asked: 0, failed: 0 };
    const running = (async () => {
      for (; !isOver; counts.asked++) await text(clear).catch(() => counts.failed++);
    })();
    const [first, , kept, , , local] = LIST as [Settings, Settings, Settings, Settings, Settings, Settings];
    const next = [
      { ...first, name: "renamed" },
      kept,
      local,
      ...LIST.slice(6),
      { name: "strict", address: `127.0.0.1:${added}` },
    ];
    expect(await reload(next)).toMatchObject({
      ok: true,
      removed: [expect.stringContaining("listener clear"), expect.stringContaining("redirecting"), expect.anything()],
    });
    await eventually(async () => expect(await text(added)).toBe("127.0.0.1"));
    expect(await text(added, "/only")).toBe("only");
    for (const port of [redirecting, strict, proxied]) await expect(RawClient.connect(port)).rejects.toThrow();
    mayAnswer.resolve();
    expect((await held.reply()).text).toBe("held");
    // The gateway closes it, since it has nothing to answer there.
    await leaving.takeRest();
    for (const one of [held, leaving]) one.close();
    isOver = true;
    await running;
    expect([counts.failed, counts.asked > 0]).toEqual([0, true]);
    expect(await curl("/")).toBe("local unix:");
  });

  test("with an address that is taken changes nothing", async () => {
    const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const line = await reload([...LIST, { name: "taken", address: `127.0.0.1:${taken.port}` }]);
    expect(JSON.stringify(line)).toContain("EADDRINUSE");
    expect(await text(added)).toBe("127.0.0.1");
    taken.stop(true);
  });

  test("takes over a stale socket file, and a new binary takes all over", async () => {
    const path = join(gateway.folder, "stale.sock");
    const stale = Bun.spawnSync([
      "python3",
      "-c",
      `import socket; socket.socket(socket.AF_UNIX).bind(${JSON.stringify(path)})`,
    ]);
    expect([stale.exitCode, existsSync(path)]).toEqual([0, true]);
    const list = [...LIST, { name: "stale", address: "unix:./stale.sock" }];
    expect(await reload(list)).toMatchObject({ ok: true });
    gateway.signal("SIGUSR2");
    const line = await gateway.log("the successor", ({ event, pid }) => event === "listening" && pid !== gateway.pid);
    await untilGone(gateway.pid);
    expect(await curl("/only")).toBe("only");
    expect(await text(clear)).toBe("127.0.0.1");
    expect((await overTls(strict, "usual.test", admin, "/only")).text).toBe("only");
    process.kill(line.pid as number, "SIGTERM");
    await untilGone(line.pid as number);
    expect([path, join(gateway.folder, "http.sock")].filter((one) => existsSync(one))).toEqual([]);
    gateway.kill();
  });
});
