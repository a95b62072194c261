import { afterAll, describe, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, restartGateway, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";
import { LiveStream } from "../harness/live-stream.ts";
import { json, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const origin = EchoOrigin.start();
const folder = mkdtempSync(join(tmpdir(), "edge-bans-"));
const list = join(folder, "list.netset");
writeFileSync(
  list,
  "# a list\n203.0.113.0/24\n127.0.0.0/8 ; loopback\n2001:db8:1::/48\nnonsense\n198.51.100.7 , why\n",
);

const BANS = { after: { blocks: 3, window: "30s" }, for: "2s", max: "6s", allow: ["203.0.113.9"] };
const state = join(folder, "state");
const started = {
  config: {
    server: {
      trusted_proxies: ["127.0.0.1"],
      waf: { enabled: true },
      bans: { ...BANS, feeds: [{ file: list }] },
    },
  },
  routes: [upstream("/node", origin), upstream("/few", origin, { rate_limit: { requests: 1, window: "1h" } })],
  env: { STATE_DIRECTORY: state },
};
let gateway = await startGateway(started);
afterAll(async () => {
  await stopAll(gateway, origin);
  rmSync(folder, { recursive: true });
});

const ATTACK = "/node/echo?q=1%27%20OR%20%271%27=%271%27--%20";

function as(client: string, path: string) {
  return gateway.once(request(`GET ${path}`, [`X-Forwarded-For: ${client}`, "Connection: close"]));
}

async function statuses(client: string, ...paths: string[]): Promise<number[]> {
  const found: number[] = [];
  for (const path of paths) found.push((await as(client, path)).status);
  return found;
}

describe("blocks", () => {
  test("of the firewall ban a client that a trusted proxy names, with a fault of its own", async () => {
    expect(await statuses("192.0.2.1", ATTACK, ATTACK, "/node/echo", ATTACK)).toEqual([403, 403, 200, 403]);
    const refused = await as("192.0.2.1", "/node/echo");
    expect(refused.status).toBe(403);
    expect(json(refused)).toEqual({ error: "403 Forbidden", message: "banned for a while" });
    expect((await as("192.0.2.2", "/node/echo")).status).toBe(200);
    const line = await gateway.log(
      "client_banned",
      (each) => each.event === "client_banned" && each.client_ip === "192.0.2.1",
    );
    expect(line).toMatchObject({ source: "blocks", count: 1 });
    const access = await gateway.log("access", (each) => each.fault === "banned" && each.client_ip === "192.0.2.1");
    expect(access.status).toBe(403);
  });

  test("of rate limits count as well, and 401, 404, 405 do not", async () => {
    expect(await statuses("192.0.2.3", "/few/1", "/few/2", "/few/3", "/few/4", "/node/echo")).toEqual([
      200, 429, 429, 429, 403,
    ]);
    expect(await statuses("192.0.2.4", "/no", "/no", "/no", "/no", "/node/echo")).toEqual([404, 404, 404, 404, 200]);
  });

  test("double the ban of a client that comes back, and the /64 of IPv6 is one client", async () => {
    for (const host of [1, 2, 3]) await as(`2001:db8:2::${host}`, ATTACK);
    expect((await as("2001:db8:2::ffff", "/node/echo")).status).toBe(403);
    expect((await as("2001:db8:2:1::1", "/node/echo")).status).toBe(200);
    await Bun.sleep(2050);
    expect((await as("2001:db8:2::1", "/node/echo")).status).toBe(200);
    for (const host of [1, 2, 3]) await as(`2001:db8:2::${host}`, ATTACK);
    const again = await gateway.log(
      "client_banned",
      (each) => each.client_ip === "2001:db8:2::/64" && each.count === 2,
    );
    expect(Date.parse(String(again.until)) - Date.now()).toBeGreaterThan(2500);
  });

  test("never ban the allow list", async () => {
    expect(await statuses("203.0.113.9", ATTACK, ATTACK, ATTACK, ATTACK, "/node/echo")).toEqual([
      403, 403, 403, 403, 200,
    ]);
  });
});

describe("a direct client", () => {
  test("is cut when it connects, and its open connections get 403", async () => {
    for (let i = 0; i < 3; i++) {
      const bytes = request(`GET ${ATTACK}`, ["Connection: close"]);
      expect(statusOf(await exchangeFrom("127.0.0.5", gateway.port, bytes))).toBe(403);
    }
    const silent = await exchangeFrom("127.0.0.5", gateway.port, request("GET /node/echo")).catch(() => "");
    expect(String(silent)).toBe("");
    expect(await gateway.metric("gateway_bans_refused_total", { what: "connection" })).toBeGreaterThan(0);
    expect(
      statusOf(await exchangeFrom("127.0.0.6", gateway.port, request("GET /node/echo", ["Connection: close"]))),
    ).toBe(200);
  });
});

describe("feeds", () => {
  test("ban networks, but neither loopback nor the allow list", async () => {
    expect(await statuses("203.0.113.8", "/node/echo")).toEqual([403]);
    expect(await statuses("198.51.100.7", "/node/echo")).toEqual([403]);
    expect(await statuses("2001:db8:1:ffff::5", "/node/echo")).toEqual([403]);
    expect(await statuses("203.0.113.9", "/node/echo")).toEqual([200]);
    expect(
      statusOf(await exchangeFrom("127.0.0.7", gateway.port, request("GET /node/echo", ["Connection: close"]))),
    ).toBe(200);
  });

  test("that are too much are not taken, and the last good one stays", async () => {
    writeFileSync(list, "0.0.0.0/0\n");
    const line = await gateway.log("ban_feed", (each) => each.event === "ban_feed" && each.ok === false);
    expect(line.error).toContain("max_share");
    expect(await statuses("203.0.113.8", "/node/echo")).toEqual([403]);
    writeFileSync(list, "198.51.100.0/25\n");
    await gateway.log("ban_feed", (each) => each.ok === true && each.networks === 1);
    expect(await statuses("203.0.113.8", "/node/echo")).toEqual([200]);
    expect(await statuses("198.51.100.9", "/node/echo")).toEqual([403]);
  });
});

describe("feeds at a URL", () => {
  test("are asked by their validators, and what they should not be leaves the list before, with one event each", async () => {
    const wrong: Readonly<Record<string, () => Response>> = {
      "302": () => new Response(null, { status: 302, headers: { Location: "/other" } }),
      "no addresses": () => new Response("<html>\n<p>moved\n</html>\n"),
      max_share: () => new Response("0.0.0.0/1\n"),
      bytes: () => new Response(new Uint8Array(65 * 1024 * 1024)),
    };
    const reasons = Object.keys(wrong);
    const asked: (string | null)[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url, headers }) => {
        const place = Number(new URL(url).pathname.slice(1));
        const tag = headers.get("if-none-match");
        asked.push(tag);
        return tag === null
          ? new Response(`198.51.100.${place}\n`, { headers: { ETag: '"1"' } })
          : wrong[reasons[place]!]!();
      },
    });
    const own = await startGateway({
      config: {
        server: {
          trusted_proxies: ["127.0.0.1"],
          bans: { feeds: reasons.map((_, place) => ({ url: `${server.url}${place}`, poll: "1s" })) },
        },
      },
      routes: [upstream("/node", origin)],
    });
    const told = (reason: string) => (each: Record<string, unknown>) =>
      each.event === "ban_feed" && String(each.error ?? "").includes(reason);
    try {
      for (const reason of reasons) await own.log(reason, told(reason));
      for (const place of reasons.keys()) {
        const reply = await own.once(request("GET /node/echo", [`X-Forwarded-For: 198.51.100.${place}`]));
        expect(reply.status).toBe(403);
      }
      expect(asked).toContain('"1"');
      for (const reason of reasons) expect(own.logs.json.filter(told(reason)).length).toBe(1);
      await own.stop();
    } finally {
      own.kill();
      server.stop(true);
    }
  }, 20_000);
});

describe("edge bans", () => {
  const bans = (...args: string[]) => runEdge(["bans", ...args, "--url", `http://127.0.0.1:${gateway.port}`]);

  test("adds, lists and lifts, with a line of the audit, and what it adds survives a restart", async () => {
    expect((await bans("add", "192.0.2.128/25", "--for", "1h")).code).toBe(0);
    expect((await bans("add", "192.0.2.50", "--json")).code).toBe(0);
    expect(await statuses("192.0.2.200", "/node/echo")).toEqual([403]);
    expect(await statuses("192.0.2.50", "/node/echo")).toEqual([403]);
    const listed = JSON.parse((await bans("list", "--json")).stdout);
    const live = await LiveStream.open(`http://127.0.0.1:${gateway.port}`);
    const shown = await live.until<{ bans: { address: string; source: string }[] }>(
      ({ bans: rows }) => rows.length > 0,
    );
    expect(shown.bans[0]).toMatchObject({ address: "192.0.2.50", source: "operator" });
    live.close();
    expect(listed.bans.map((one: { address: string }) => one.address)).toContain("192.0.2.128/25");
    expect(listed.feeds[0]).toMatchObject({ feed: list, networks: 1, error: null });
    expect((await bans("rm", "192.0.2.50")).code).toBe(0);
    expect((await bans("rm", "192.0.2.50")).code).toBe(1);
    expect(await statuses("192.0.2.50", "/node/echo")).toEqual([200]);
    await gateway.log("audit", (each) => each.action === "ban_lift" && each.address === "192.0.2.50");
    gateway = await restartGateway(gateway, started);
    expect(await statuses("192.0.2.200", "/node/echo")).toEqual([403]);
    expect(await statuses("192.0.2.50", "/node/echo")).toEqual([200]);
  });
});

test("what would lock the operator out is refused, and a ban of this machine's own address can be lifted", async () => {
  const own = await startGateway({ config: { server: { bans: {} } }, routes: [upstream("/node", origin)] });
  const bans = (...args: string[]) => runEdge(["bans", ...args, "--url", `http://127.0.0.1:${own.port}`]);
  const add = async (address: string) =>
    (
      await own.once(
        request("POST /internal/api/bans/add", ["Content-Type: application/json"], JSON.stringify({ address })),
      )
    ).status;
  for (const network of ["0.0.0.0/0", "::/0", "::ffff:0:0/96", "128.0.0.0/1", "127.0.0.0/8"])
    expect([network, await add(network)]).toEqual([network, 409]);
  expect((await bans("add", "::/1")).stderr).not.toContain("gateway-not-found");
  expect(await add("120.0.0.0/5")).toBe(200);
  expect((await own.once(request("GET /node/echo"))).status).toBe(200);
  expect(await add("127.0.0.1")).toBe(200);
  expect(String(await exchangeFrom("127.0.0.1", own.port, request("GET /node/echo")))).toBe("");
  expect((await bans("list")).stdout).toContain("127.0.0.1");
  expect((await bans("rm", "::ffff:127.0.0.1")).stdout).toContain("127.0.0.1 is not banned any more");
  expect((await own.once(request("GET /node/echo"))).status).toBe(200);
  await own.stop();
}, 30_000);

/** Servers that send back what comes, over TCP and UDP. */
async function startEchoes() {
  const echo = createServer((socket) => socket.on("error", () => {}).pipe(socket));
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  const datagrams = createSocket("udp4");
  datagrams.on("error", () => {}).on("message", (data, { port, address }) => datagrams.send(data, port, address));
  await new Promise<void>((resolve) => datagrams.bind(0, "127.0.0.1", resolve));
  return { echo, datagrams };
}

test("streams are cut: new connections, those that were open, and datagrams", async () => {
  const [tcp, udp, inner] = [freePort(), freePort(), freePort()];
  const { echo, datagrams } = await startEchoes();
  const own = await startGateway({
    config: { server: { bans: {} }, internal_api: { listen: `127.0.0.1:${inner}` } },
    routes: [
      { type: "tcp", listen: `127.0.0.1:${tcp}`, target: `127.0.0.1:${(echo.address() as AddressInfo).port}` },
      { type: "udp", listen: `127.0.0.1:${udp}`, target: `127.0.0.1:${datagrams.address().port}` },
    ],
  });
  const client = createSocket("udp4");
  let heard = 0;
  // Before the stream listens, the kernel says so.
  client.on("error", () => {}).on("message", () => void heard++);
  const open = connect({ host: "127.0.0.1", port: tcp, localAddress: "127.0.0.1" });
  let isClosed = false;
  open
    .on("error", () => {})
    .on("close", () => {
      isClosed = true;
    });
  let echoed = 0;
  open.on("data", ({ length }) => {
    echoed += length;
  });
  const ping = () => {
    open.write("x");
    client.send("x", udp, "127.0.0.1");
  };
  try {
    await eventually(() => {
      ping();
      expect([heard > 0, echoed > 0]).toEqual([true, true]);
    });
    await runEdge(["bans", "add", "127.0.0.1", "--url", `http://127.0.0.1:${inner}`]);
    await eventually(() => {
      ping();
      expect(isClosed).toBe(true);
    });
    await own.log("udp", ({ event, protocol, end }) => event === "stream" && protocol === "udp" && end === "banned");
    expect(String(await exchangeFrom("127.0.0.1", tcp, "x"))).toBe("");
    await runEdge(["bans", "rm", "127.0.0.1", "--url", `http://127.0.0.1:${inner}`]);
    const before = heard;
    await eventually(() => {
      ping();
      expect(heard).toBeGreaterThan(before);
    });
    const lines = own.logs.json.filter(({ event, protocol }) => event === "stream" && protocol === "udp");
    expect(lines.map(({ end }) => end)).toEqual(["banned"]);
    await own.log("tcp", ({ event, protocol, end }) => event === "stream" && protocol === "tcp" && end === "banned");
    await own.stop();
  } finally {
    own.kill();
    client.close();
    datagrams.close();
    open.destroy();
    echo.close();
  }
}, 30_000);

describe("connections", () => {
  test("over TLS, HTTP/3 and behind a PROXY header are closed before anything is read, in all workers", async () => {
    const { cert, key } = await makeCertificate([{ type: "dns", value: "localhost" }]);
    const [tlsPort, inner] = [freePort(), freePort()];
    const secured = await startGateway({
      config: {
        server: {
          workers: 2,
          tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
          http3: { enabled: true },
          proxy_protocol: { trusted: ["127.0.0.2"] },
          bans: { for: "1m" },
        },
        internal_api: { listen: `127.0.0.1:${inner}` },
      },
      routes: [upstream("/node", origin)],
      files: { "a.pem": cert, "a.key": key },
    });
    const bans = (...args: string[]) => runEdge(["bans", ...args, "--url", `http://127.0.0.1:${inner}`]);
    const proxied = (client: string) =>
      exchangeFrom(
        "127.0.0.2",
        secured.port,
        `PROXY TCP4 ${client} 127.0.0.1 1 2\r\n`,
        request("GET /node/echo", ["Connection: close"]),
      );
    try {
      const held = await secured.connect();
      expect((await held.exchange(request("GET /node/echo"))).status).toBe(200);
      const quic = await H3Client.connect(tlsPort);
      expect((await quic.ask("GET", "/node/echo")).status).toBe(200);
      quic.close();
      await bans("add", "192.0.2.9");
      expect(statusOf(await proxied("192.0.2.8"))).toBe(200);
      expect(await proxied("192.0.2.9")).toBe("");
      await bans("add", "127.0.0.1");
      expect((await held.exchange(request("GET /node/echo"))).status).toBe(403);
      for (let i = 0; i < 8; i++) expect(await failureOf(TlsClient.open(tlsPort))).not.toBe("");
      const late = await H3Client.connect(tlsPort)
        .then(
          (client) => client.ask("GET", "/node/echo").then(({ status }) => status || 0),
          () => 0,
        )
        .catch(() => 0);
      expect([0, 403]).toContain(late);
      await bans("rm", "127.0.0.1");
      expect((await secured.once(request("GET /node/echo"))).status).toBe(200);
      await secured.stop();
    } finally {
      secured.kill();
    }
  });
});

/** Why it came to nothing; "" where it did not. */
function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "",
    (error) => String(error) || "refused",
  );
}
