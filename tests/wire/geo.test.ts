import { afterAll, describe, expect, test } from "bun:test";
import { renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { countries, networksOf } from "../harness/mmdb.ts";
import { json, request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/guards.md#countries-and-networks
const FIRST = { "192.0.2.0/24": "DE", "192.0.2.128/25": "FR", "198.51.100.0/24": "US", "2001:db8::/32": "JP" };
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      trusted_proxies: ["127.0.0.1"],
      geo: { country_db: "country.mmdb", asn_db: "asn.mmdb" },
      ip_rules: { deny_asns: ["AS64666"] },
    },
  },
  files: {
    "country.mmdb": countries(FIRST, { recordBits: 24 }),
    "asn.mmdb": networksOf({ "192.0.2.64/26": 64666, "198.51.100.0/24": 64500 }, { recordBits: 32 }),
  },
  routes: [
    upstream("/told", origin, {
      headers: { request: { set: { "X-Country": "{geo.country}", "X-Network": "{geo.asn}" } } },
    }),
    upstream("/allowed", origin, { ip_rules: { allow: ["203.0.113.0/24"], allow_countries: ["DE", "jp"] } }),
    { type: "respond", prefix: "/near", match: { country: ["DE", "fr"] }, body: "Europe" },
    { type: "respond", prefix: "/near", match: { country: ["US"] }, body: "America" },
    { type: "respond", prefix: "/near", body: "elsewhere {geo.country}" },
    upstream("/denied", origin, { ip_rules: { deny_countries: ["US"] } }),
  ],
});
afterAll(() => stopAll(gateway, origin));

function as(client: string, path: string) {
  return gateway.once(request(`GET ${path}`, [`X-Forwarded-For: ${client}`]));
}

async function told(client: string): Promise<readonly unknown[]> {
  const { headers } = json<Echo>(await as(client, "/told/echo"));
  return [headers["x-country"] ?? "", headers["x-network"] ?? ""];
}

/** Waits until all workers say so: each connection may come to another one. */
function everywhere(client: string, country: string): Promise<void> {
  return eventually(async () => {
    for (let i = 0; i < 12; i++) expect((await told(client))[0]).toBe(country);
  });
}

/** Puts a file in the place of another, as a program that renews it does. */
function replace(name: string, bytes: Uint8Array): void {
  writeFileSync(join(gateway.folder, `${name}.new`), bytes);
  renameSync(join(gateway.folder, `${name}.new`), join(gateway.folder, name));
}

function reload(ok: boolean, from: number): Promise<LogLine> {
  return gateway.log(`geo_reload ${ok}`, (line) => line.event === "geo_reload" && line.ok === ok && seen(line, from));
}

function seen(line: LogLine, from: number): boolean {
  return Date.parse(String(line.timestamp)) >= from;
}

describe("rules", () => {
  test.each([
    ["/allowed/echo", "192.0.2.1", 200],
    ["/allowed/echo", "::ffff:192.0.2.1", 200],
    ["/allowed/echo", "192.0.2.200", 403],
    ["/allowed/echo", "2001:db8::7", 200],
    ["/allowed/echo", "2001:db9::7", 403],
    ["/allowed/echo", "203.0.113.9", 200],
    ["/allowed/echo", "10.0.0.1", 403],
    ["/allowed/echo", "nonsense", 403],
    ["/denied/echo", "198.51.100.1", 403],
    ["/denied/echo", "192.0.2.1", 200],
    ["/denied/echo", "10.0.0.1", 200],
    ["/denied/echo", "nonsense", 200],
    ["/told/echo", "192.0.2.70", 403],
    ["/health", "192.0.2.70", 403],
  ])("%s for %s is %d", async (path, client, status) => {
    const before = origin.requests.length;
    const reply = await as(client, path);
    expect(reply.status).toBe(status);
    if (status === 403)
      expect(json(reply)).toEqual({ error: "403 Forbidden", message: "not allowed from this address" });
    if (status === 403) expect(origin.requests.length).toBe(before);
  });

  test("hold over HTTP/2", async () => {
    const client = await H2Client.connect(gateway.port);
    const statuses: number[] = [];
    for (const address of ["192.0.2.1", "192.0.2.200"]) {
      statuses.push((await client.request(head("GET", "/allowed/echo", [["x-forwarded-for", address]]))).status);
    }
    expect(statuses).toEqual([200, 403]);
    client.close();
  });

  test("are not to be talked round: a stranger's country is its own address's", async () => {
    const lines = ["X-Country: DE", "CF-IPCountry: DE", "X-Geo-Country: DE", "X-Forwarded-For: 198.51.100.1"];
    expect((await gateway.once(request("GET /allowed/echo", lines))).status).toBe(403);
  });
});

test("a route is chosen by country", async () => {
  const near = async (client: string) => (await as(client, "/near")).text;
  const clients = ["192.0.2.1", "192.0.2.200", "198.51.100.1", "2001:db8::1", "10.0.0.1", "nonsense"];
  expect(await Promise.all(clients.map(near))).toEqual([
    "Europe",
    "Europe",
    "America",
    "elsewhere JP",
    "elsewhere ",
    "elsewhere ",
  ]);
});

describe("what is told", () => {
  test("country and network upstream, empty where they are not known", async () => {
    expect(await told("192.0.2.1")).toEqual(["DE", ""]);
    expect(await told("198.51.100.9")).toEqual(["US", "64500"]);
    expect(await told("10.0.0.1")).toEqual(["", ""]);
  });

  test("the access log", async () => {
    await as("192.0.2.129", "/told/logged");
    await as("10.9.8.7", "/told/unlogged");
    const known = await gateway.log("known", (line) => line.event === "access" && line.path === "/told/logged");
    const unknown = await gateway.log("unknown", (line) => line.event === "access" && line.path === "/told/unlogged");
    expect([known.country, unknown.country]).toEqual(["FR", null]);
  });
});

describe("a file that is replaced", () => {
  test("is taken up in all workers without a signal, one that is broken is not, and a better one is again", async () => {
    const from = Date.now();
    replace("country.mmdb", countries({ ...FIRST, "192.0.2.0/24": "AT" }));
    expect(await reload(true, from)).toMatchObject({ database: "country_db" });
    await everywhere("192.0.2.1", "AT");
    expect((await as("192.0.2.1", "/allowed/echo")).status).toBe(403);

    for (const [broken, why] of [
      [Buffer.from("not a database"), "metadata"],
      [countries(FIRST).subarray(0, 400), "cut off"],
      [networksOf({ "192.0.2.0/24": 1 }), "GeoLite2-ASN"],
    ] as const) {
      const begun = Date.now();
      replace("country.mmdb", broken);
      expect(String((await reload(false, begun)).error)).toContain(why);
      expect(await told("192.0.2.1")).toEqual(["AT", ""]);
    }
    const begun = Date.now();
    truncateSync(join(gateway.folder, "asn.mmdb"));
    expect(await reload(false, begun)).toMatchObject({ database: "asn_db" });
    expect(await told("198.51.100.9")).toEqual(["US", "64500"]);
    const last = Date.now();
    replace("country.mmdb", countries({ ...FIRST, "192.0.2.0/24": "CH" }));
    await reload(true, last);
    await everywhere("192.0.2.1", "CH");
    const metrics = await gateway.samples();
    const built = metrics.filter(({ name }) => name === "gateway_geo_database_built_seconds");
    expect(built.map(({ labels }) => labels.database)).toEqual(["country_db", "asn_db"]);
  }, 30_000);

  test("is a fault of a reload, which changes nothing", async () => {
    truncateSync(join(gateway.folder, "asn.mmdb"));
    const line = await gateway.reload();
    expect(line.ok).toBe(false);
    expect(JSON.stringify(line.faults)).toContain("server.geo.asn_db");
    expect(await told("198.51.100.9")).toEqual(["US", "64500"]);
    replace("asn.mmdb", networksOf({ "198.51.100.0/24": 64501 }));
    expect((await gateway.reload()).ok).toBe(true);
    expect(await told("198.51.100.9")).toEqual(["US", "64501"]);
  });
});

/** The line of the response: a port may have the same digits. */
const REFUSAL = /^response +403 /m;

describe("edge", () => {
  const folder = gateway.folder;
  const explain = (client: string) =>
    runProcess([EDGE_BINARY, "explain", "--client-ip", client, "GET http://shop.test/allowed/a"], {
      cwd: folder,
      timeout: 20_000,
    });

  test("explain knows where a client is", async () => {
    expect((await explain("2001:db8::7")).stdout).not.toMatch(REFUSAL);
    expect((await explain("192.0.2.200")).stdout).toMatch(REFUSAL);
  });
});
