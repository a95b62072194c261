import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AcmeDirectory } from "../harness/acme-directory.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";

// docs/acme.md#on-demand
const root = mkdtempSync(join(tmpdir(), "edge-on-demand-"));
let round = 0;
let directory: AcmeDirectory;
let gateway: Gateway | null = null;
let tlsPort = 0;
let cacheDir = "";
/** The names that were asked about, and what is said of each. */
let asked: string[] = [];
let approves: (name: string) => number = () => 200;
const service = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    const url = new URL(request.url);
    const name = url.searchParams.get("domain") ?? "";
    asked.push(`${url.pathname}?${url.searchParams.get("app")} ${name}`);
    return new Response("", { status: approves(name), headers: { Location: "http://127.0.0.1:1/" } });
  },
});

beforeEach(() => {
  directory = AcmeDirectory.start();
  tlsPort = freePort();
  cacheDir = join(root, String(++round));
  asked = [];
  approves = () => 200;
});
afterEach(async () => {
  await gateway?.stop();
  gateway = null;
  directory.stop();
});
afterAll(async () => {
  await service.stop(true);
  rmSync(root, { recursive: true, force: true });
});

async function start(more: Record<string, unknown> = {}): Promise<Gateway> {
  const onDemand = { ask: `http://127.0.0.1:${service.port}/allowed?app=edge`, ...more };
  const acme = { enabled: true, directory_url: directory.url, cache_dir: cacheDir, on_demand: onDemand };
  gateway = await startGateway({ config: { server: { workers: 2, tls: { port: tlsPort }, acme } } });
  directory.challengePort = gateway.port;
  return gateway;
}

async function shown(name: string): Promise<string> {
  return (await shownCertificate(tlsPort, name)).subjectAltName ?? "";
}

test("the first handshakes for a name wait for its certificate; a restart takes the stored one", async () => {
  const first = await start();
  const all = await Promise.all(Array.from({ length: 12 }, () => shown("One.Customer.test")));
  expect([...new Set(all)]).toEqual(["DNS:one.customer.test"]);
  expect([asked, directory.orders.length]).toEqual([["/allowed?edge one.customer.test"], 1]);
  expect(await shown("one.customer.test")).toBe("DNS:one.customer.test");
  await first.stop();
  await start();
  expect(await shown("one.customer.test")).toBe("DNS:one.customer.test");
  expect([asked.length, directory.orders.length]).toEqual([2, 1]);
});

test.each([403, 404, 302, 500])(
  "a name that is not approved of (%d) is refused, and not asked about again at once",
  async (status) => {
    approves = (name) => (name.startsWith("bad.") ? status : 200);
    const edge = await start();
    await expect(shown("bad.test")).rejects.toThrow();
    await expect(shown("bad.test")).rejects.toThrow();
    expect(asked.length).toBe(1);
    const line = await edge.log("the refusal", (one) => one.event === "cert_refused");
    expect(line).toMatchObject({ name: "bad.test", reason: "not_approved" });
    expect(directory.orders).toEqual([]);
    expect(await shown("good.test")).toBe("DNS:good.test");
    // With certificates there, the first of them is what such a name gets, as ever.
    expect(await shown("bad.test")).toBe("DNS:good.test");
  },
);

test("what is no name in public, or no name at all, is not asked about", async () => {
  await start();
  for (const name of ["localhost", "a_b", "x".repeat(64)]) await shown(name).catch(() => "");
  expect(asked).toEqual([]);
});

test("new certificates are bounded in their rate", async () => {
  const edge = await start({ rate: "2r/h" });
  expect(await shown("a.test")).toBe("DNS:a.test");
  expect(await shown("b.test")).toBe("DNS:b.test");
  expect(await shown("c.test")).toBe("DNS:a.test");
  const line = await edge.log("the refusal", (one) => one.event === "cert_refused");
  expect([line.name, line.reason, directory.orders.length]).toEqual(["c.test", "rate", 2]);
});

test("a directory that refuses lets the handshake end, and an order is tried no sooner than it may be", async () => {
  directory.problem = { status: 403, kind: "unauthorized", detail: "not here" };
  const edge = await start();
  await expect(shown("a.test")).rejects.toThrow();
  await edge.log("the failure", (one) => one.event === "cert_failed");
  await edge.log("the refusal", (one) => one.event === "cert_refused" && one.reason === "not_obtained");
  directory.problem = null;
  await expect(shown("a.test")).rejects.toThrow();
  await eventually(() =>
    expect(existsSync(cacheDir) && readdirSync(cacheDir).some((file) => file.endsWith(".retry.json"))).toBe(true),
  );
});

test("clients that leave while they wait cost nothing, and others are served", async () => {
  approves = () => {
    Bun.sleepSync(300);
    return 200;
  };
  const edge = await start();
  const { connect } = await import("node:tls");
  const leaving = Array.from({ length: 20 }, () => {
    const socket = connect({ host: "127.0.0.1", port: tlsPort, servername: "slow.test", rejectUnauthorized: false });
    socket.on("error", () => {});
    return socket;
  });
  await Bun.sleep(100);
  for (const socket of leaving) socket.destroy();
  expect(await shown("slow.test")).toBe("DNS:slow.test");
  await eventually(async () => expect(await edge.metric("gateway_active_connections")).toBeLessThanOrEqual(1));
});

test("a renewal is asked about again, and a name that is not approved of any more loses its certificate", async () => {
  directory.lifeMs = 6000;
  const edge = await start();
  expect(await shown("gone.test")).toBe("DNS:gone.test");
  expect(await shown("stays.test")).toBe("DNS:stays.test");
  approves = (name) => (name === "gone.test" ? 404 : 200);
  const line = await edge.log("the refusal", (one) => one.event === "cert_refused");
  expect(line).toMatchObject({ name: "gone.test", reason: "not_approved", dropped: true });
  const renewed = await edge.log("the renewal", (one) => one.event === "cert_renewed");
  expect(renewed.names).toEqual(["stays.test"]);
  expect(directory.orders.filter((order) => JSON.stringify(order).includes("gone.test")).length).toBe(1);
});

// A broken service, a sign-in in front of it, a rate limit, another path, a response without a meaning.
test.each([500, 302, 429, 401, 400, 204])(
  "a response that is no clear no (%d) takes no certificate away",
  async (status) => {
    const edge = await start({ recheck: "1s" });
    expect(await shown("stays.test")).toBe("DNS:stays.test");
    approves = () => status;
    const seen = asked.length;
    await eventually(() => expect(asked.length).toBeGreaterThan(seen));
    await Bun.sleep(100);
    expect(await shown("stays.test")).toBe("DNS:stays.test");
    expect(edge.logs.json.filter(({ event }) => event === "cert_refused")).toEqual([]);
  },
);

test("a name that is no longer approved of loses its certificate", async () => {
  const edge = await start({ recheck: "1s" });
  expect(await shown("stays.test")).toBe("DNS:stays.test");
  expect(await shown("gone.test")).toBe("DNS:gone.test");
  approves = (name) => (name === "gone.test" ? 404 : 200);
  const line = await edge.log("the end", (one) => one.event === "cert_refused" && one.dropped === true);
  expect(line).toMatchObject({ name: "gone.test", reason: "not_approved" });
  // What a name without a certificate gets is the first that there is.
  await eventually(async () => expect(await shown("gone.test")).toBe("DNS:stays.test"));
  expect(await shown("stays.test")).toBe("DNS:stays.test");
}, 120_000);
