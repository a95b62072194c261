// docs/forward-proxy.md
import { afterAll, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { Code, H2Client, Type } from "../harness/h2-client.ts";
import { json, RawClient, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

const [sitePort, proxyPort, openPort, smallPort] = [freePort(), freePort(), freePort(), freePort()];
const origin = EchoOrigin.start();
const other = EchoOrigin.start();
const hash = await Bun.password.hash("open sesame", { algorithm: "bcrypt", cost: 4 });
const local = { allow_networks: ["127.0.0.0/8"] };
const gateway = await startGateway({
  port: sitePort,
  config: {
    server: {
      ...{ host: undefined, port: undefined },
      workers: 2,
      listeners: [
        { name: "site", address: `127.0.0.1:${sitePort}` },
        {
          name: "proxy",
          address: `127.0.0.1:${proxyPort}`,
          forward_proxy: {
            allow: [`127.0.0.1:${origin.port}`, `localhost:${other.port}`, `127.0.0.1:${sitePort}`, "*.example.com"],
            ...local,
            basic: { users: { alice: hash }, realm: "way out" },
          },
        },
        { name: "open", address: `127.0.0.1:${openPort}`, forward_proxy: { allow: ["*:*"] } },
        {
          name: "small",
          address: `127.0.0.1:${smallPort}`,
          forward_proxy: { allow: ["*:*"], ...local, max_tunnels_per_client: 2, idle_timeout: "3s" },
        },
      ],
    },
  },
  routes: [upstream("/", origin)],
});
afterAll(() => stopAll(gateway, origin, other));

const ALICE = `Proxy-Authorization: Basic ${btoa("alice:open sesame")}`;
const at = (port: number, host = "127.0.0.1") => `${host}:${port}`;

async function ask(port: number, start: string, lines: readonly string[] = [], body?: string) {
  const client = await RawClient.connect(port);
  client.send(request(start, lines, body));
  // A grant of a tunnel has no end.
  const reply = await client.reply(start.startsWith("CONNECT") ? "HEAD" : start.split(" ")[0]);
  return { client, reply };
}

async function tunnel(port: number, to: string, lines: readonly string[] = [ALICE]): Promise<RawClient> {
  const { client, reply } = await ask(port, `CONNECT ${to}`, [`Host: ${to}`, ...lines]);
  expect(reply.status).toBe(200);
  return client;
}

test("a tunnel carries all bytes, early ones first, and its end", async () => {
  const to = at(origin.port);
  const client = await RawClient.connect(proxyPort);
  client.send(
    Buffer.concat([request(`CONNECT ${to}`, [`Host: ${to}`, ALICE]), request("GET /early", [`Host: ${to}`])]),
  );
  const granted = await client.reply("HEAD");
  expect([granted.status, granted.fields.get("content-length"), granted.fields.get("transfer-encoding")]).toEqual([
    200,
    null,
    null,
  ]);
  const echoed = json<Echo>(await client.reply());
  // Bytes as they are: nothing of the gateway's own, and not the password.
  expect(echoed.target).toBe("/early");
  expect(echoed.fields.map(([name]) => name.toLowerCase())).toEqual(["host"]);
  const large = "x".repeat(3_000_000);
  client.send(request("POST /large", [`Host: ${to}`], large));
  expect(json<Echo>(await client.reply()).length).toBe(large.length);
  client.finish();
  await client.ended();
  const line = await gateway.log(
    "the tunnel's line",
    ({ event, method }) => event === "access" && method === "CONNECT",
  );
  expect(line).toMatchObject({
    host: to,
    status: 200,
    upstream: to,
    user: "alice",
    route: "forward-proxy",
    fault: null,
  });
  expect(Number(line.bytes_in)).toBeGreaterThan(large.length);
  expect(Number(line.bytes_out)).toBeGreaterThan(100);
  expect(JSON.stringify(line)).not.toContain("sesame");
});

test("an absolute http: URL goes to its server, without fields of the proxy", async () => {
  const url = `http://${at(origin.port)}/a?b=c`;
  const own = ["Connection: x-mine", "X-Mine: 1", "Authorization: Basic eDp5", "Proxy-Connection: keep-alive"];
  const { client, reply } = await ask(proxyPort, `POST ${url}`, [`Host: ${at(origin.port)}`, ALICE, ...own], "body");
  const echoed = json<Echo>(reply);
  expect([echoed.method, echoed.target, echoed.length]).toEqual(["POST", "/a?b=c", 4]);
  expect(echoed.headers.host).toBe(at(origin.port));
  expect(echoed.headers.authorization).toBe("Basic eDp5");
  for (const name of ["proxy-authorization", "proxy-connection", "x-mine", "x-forwarded-for", "x-real-ip"])
    expect(echoed.headers[name]).toBeUndefined();
  // The next request on the same connection names another server, and comes to that one.
  client.send(request(`GET http://${at(other.port, "localhost")}/z`, [`Host: ${at(other.port, "localhost")}`, ALICE]));
  expect(json<Echo>(await client.reply()).headers.host).toBe(at(other.port, "localhost"));
  // A Host that disagrees, TLS, and a path of the site.
  for (const [start, host] of [
    [`GET ${url}`, "elsewhere.example"],
    [`GET https://${at(origin.port)}/`, at(origin.port)],
    ["GET /", at(origin.port)],
    ["GET /internal/api/status", at(origin.port)],
    ["OPTIONS *", at(origin.port)],
  ] as const)
    expect((await ask(proxyPort, start, [`Host: ${host}`, ALICE])).reply.status).toBe(400);
  client.close();
});

test("who has no right password gets 407, and nothing is connected", async () => {
  const before = origin.openConnections;
  for (const lines of [
    [],
    ["Proxy-Authorization: Basic eDp5"],
    [ALICE, ALICE],
    [ALICE.replace("Basic", "Bearer")],
    [ALICE.replace("Proxy-", "")],
  ]) {
    const { reply } = await ask(proxyPort, `CONNECT ${at(origin.port)}`, [`Host: ${at(origin.port)}`, ...lines]);
    expect([reply.status, reply.fields.get("proxy-authenticate")]).toEqual([
      407,
      'Basic realm="way out", charset="UTF-8"',
    ]);
  }
  expect(origin.openConnections).toBe(before);
});

test("only hosts and ports of the list, and only addresses of the Internet", async () => {
  const refused = async (port: number, to: string, lines: readonly string[] = [ALICE]) =>
    (await ask(port, `CONNECT ${to}`, [`Host: ${to}`, ...lines])).reply;
  for (const to of [at(other.port), at(origin.port, "localhost"), "example.com:443", "a.example.com:22", "[::1]:443"])
    expect((await refused(proxyPort, to)).status).toBe(403);
  for (const to of ["127.0.0.1", "127.1:80", "0x7f000001:80", "2130706433:80", "user@127.0.0.1:80", "127.0.0.1:0", "/"])
    expect([400, 403, 405]).toContain((await refused(openPort, to, [])).status);
  // Whatever names them: addresses of this machine, of private networks, of the metadata of clouds, in every form.
  const addresses = [
    "127.0.0.1",
    "localhost",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "100.64.0.1",
    "169.254.169.254",
  ];
  const long = ["[::1]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]", "[fd00::1]", "[fe80::1]"];
  for (const host of [...addresses, ...long, "0.0.0.0", "[::]", "224.0.0.1", "[2002:7f00:1::]", "localhost."]) {
    const reply = await refused(openPort, `${host}:${origin.port}`, []);
    expect([host, reply.status]).toEqual([host, reply.status === 400 ? 400 : 403]);
    const direct = await ask(openPort, `GET http://${host}:${origin.port}/`, [`Host: ${host}:${origin.port}`]);
    expect([400, 403]).toContain(direct.reply.status);
  }
  // The gateway's own listeners: no way round their rules.
  expect((await refused(proxyPort, at(sitePort))).status).toBe(508);
  expect((await ask(smallPort, `TRACE http://${at(origin.port)}/`, [`Host: ${at(origin.port)}`])).reply.status).toBe(
    403,
  );
});

test("a client has its share of tunnels, and silent ones end", async () => {
  const to = at(origin.port);
  const two = await Promise.all([tunnel(smallPort, to, []), tunnel(smallPort, to, [])]);
  expect(await gateway.metric("gateway_forward_proxy_tunnels")).toBe(2);
  const third = await ask(smallPort, `CONNECT ${to}`, [`Host: ${to}`]);
  expect([third.reply.status, third.reply.fields.get("retry-after")]).toEqual([503, "1"]);
  const elsewhere = await exchangeFrom("127.0.0.2", smallPort, `CONNECT ${at(1)} HTTP/1.1\r\nHost: ${at(1)}\r\n\r\n`);
  expect(statusOf(elsewhere)).toBe(502);
  for (const one of two) await one.ended();
  await eventually(async () => expect(await gateway.metric("gateway_forward_proxy_tunnels")).toBe(0));
}, 20_000);

test("HTTP/2: a stream is a tunnel, others are requests", async () => {
  const client = await H2Client.connect(proxyPort);
  const to = at(origin.port);
  const auth = ["proxy-authorization", ALICE.slice(ALICE.indexOf(" ") + 1)] as const;
  const connect = (authority: string, ...more: (readonly [string, string])[]) =>
    client.headers([[":method", "CONNECT"], [":authority", authority], ...more], false);
  const id = connect(to, auth);
  client.data(id, "GET /inside HTTP/1.1\r\nHost: a\r\n\r\n");
  await eventually(() => expect(client.seen(id).text).toContain("/inside"));
  expect(client.seen(id).status).toBe(200);
  expect([...client.seen(id).fields.keys()].filter((name) => /length|encoding|connection/.test(name))).toEqual([]);
  client.data(id, "GET /more HTTP/1.1\r\nHost: a\r\n\r\n");
  await eventually(() => expect(client.seen(id).text).toContain("/more"));
  client.data(id, "", true);
  expect((await client.reply(id)).isEnded).toBe(true);
  const unknown = await client.reply(connect(to));
  expect([unknown.status, unknown.fields.get("proxy-authenticate")?.startsWith("Basic realm=")]).toEqual([407, true]);
  expect((await client.reply(connect(at(other.port), auth))).status).toBe(403);
  const bad = connect(to, [":scheme", "https"], [":path", "/"], auth);
  const broken = await client.reply(bad);
  expect(broken.reset >= 0 || broken.status === 400).toBe(true);
  const plain = await client.request([
    [":method", "GET"],
    [":scheme", "http"],
    [":authority", to],
    [":path", "/p"],
    auth,
  ]);
  expect((JSON.parse(plain.text) as Echo).target).toBe("/p");
  // A client that leaves: so does its tunnel.
  const left = connect(to, auth);
  client.data(left, "GET /held HTTP/1.1\r\n");
  await eventually(() => expect(client.seen(left).status).toBe(200));
  client.frame(Type.reset, 0, left, Buffer.from([0, 0, 0, Code.cancel]));
  await eventually(async () => expect(await gateway.metric("gateway_forward_proxy_tunnels")).toBe(0));
  client.close();
});

test("a listener without it refuses CONNECT as ever, and has the routes", async () => {
  const to = at(origin.port);
  const refused = await ask(sitePort, `CONNECT ${to}`, [`Host: ${to}`]);
  expect(refused.reply.status).toBe(405);
  expect((await ask(sitePort, "GET /", ["Host: a"])).reply.status).toBe(200);
});

test("mistakes are faults with their place", async () => {
  const bad = await runEdge(["check"], {
    config: {
      server: {
        ...{ host: undefined, port: undefined },
        listeners: [
          {
            name: "a",
            address: "0.0.0.0:3128",
            forward_proxy: { allow: ["http://a", "a:0", "*b"], allow_networks: ["x"] },
          },
        ],
      },
    },
    routes: [upstream("/", origin)],
  });
  const said = bad.stdout + bad.stderr;
  for (const part of ["allow[0]", "allow[1]", "allow[2]", "allow_networks[0]"]) expect(said).toContain(part);
  expect(bad.code).not.toBe(0);
  const listeners = [{ address: "0.0.0.0:3129", forward_proxy: { allow: ["a"] } }];
  const wide = await runEdge(["check"], {
    config: { server: { ...{ host: undefined, port: undefined }, listeners } },
    routes: [upstream("/", origin)],
  });
  expect([wide.code, (wide.stdout + wide.stderr).includes("lets every client use the proxy")]).toEqual([0, true]);
});
