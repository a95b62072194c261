import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { AcmeDirectory } from "../harness/acme-directory.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { TlsClient } from "../harness/tls-client.ts";

const NAMES = ["a.example.test", "b.example.test"];
const CHALLENGE = "/.well-known/acme-challenge/";
const root = mkdtempSync(join(tmpdir(), "edge-acme-"));
let round = 0;
let directory: AcmeDirectory;
let gateway: Gateway | null = null;
let tlsPort = 0;
let cacheDir = "";

beforeEach(() => {
  directory = AcmeDirectory.start();
  tlsPort = freePort();
  cacheDir = join(root, String(++round));
});
afterEach(async () => {
  await gateway?.stop();
  gateway = null;
  directory.stop();
});
afterAll(() => rmSync(root, { recursive: true }));

async function start(server: Record<string, unknown> = {}): Promise<Gateway> {
  const acme = { enabled: true, directory_url: directory.url, domains: NAMES, cache_dir: cacheDir };
  gateway = await startGateway({ config: { server: { workers: 2, tls: { port: tlsPort }, acme, ...server } } });
  return gateway;
}

/** Who signed what is shown: `edge` is the gateway itself, `directory` the authority. */
async function issuer(name: string = NAMES[0]!): Promise<string> {
  return (await shownCertificate(tlsPort, name)).issuer.replace("CN=", "");
}

async function renewals(result: string): Promise<number> {
  return gateway!.metric("gateway_acme_renewals_total", { result });
}

test("a certificate for all names is proven, obtained, shown, stored and listed", async () => {
  directory.problem = { status: 503, kind: "serverInternal", detail: "not yet" };
  const edge = await start();
  directory.challengePort = edge.port;
  const failed = await edge.log("the failure", (line) => line.event === "cert_failed");
  expect(failed).toMatchObject({ names: NAMES, kind: "serverInternal", error: "not yet", failures: 1 });
  expect(failed.retry_in_s).toBeGreaterThanOrEqual(60);
  expect(await issuer()).toBe("edge");
  const before = await TlsClient.open(tlsPort, { serverName: NAMES[0]! });
  directory.problem = null;
  edge.signal("SIGHUP");
  await edge.log("the certificate", (line) => line.event === "cert_obtained");
  await eventually(async () => expect(await issuer()).toBe("directory"));
  expect(await issuer(NAMES[1])).toBe("directory");
  // A connection of before goes on.
  expect((await before.exchange(request("GET /health"))).status).toBe(200);
  before.close();
  expect([await renewals("success"), await renewals("failure")]).toEqual([1, 1]);
  const shown = await shownCertificate(tlsPort, NAMES[0]!);
  const samples = await edge.samples();
  expect(sumOf(samples, "gateway_certificate_not_after_seconds", { domain: NAMES[1]! })).toBe(
    Date.parse(shown.validTo) / 1000,
  );
  const listed = await runEdge(["certs", "--dir", cacheDir]);
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining(NAMES.join(", "))]);
  // The answers are taken back.
  const gone = await edge.once(request(`GET ${CHALLENGE}token-a1`));
  expect(gone.status).toBe(404);
});

test("a wrong answer keeps what is shown, and says so", async () => {
  const elsewhere = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("not the gateway") });
  directory.challengePort = elsewhere.port!;
  const edge = await start();
  const failed = await edge.log("the failure", (line) => line.event === "cert_failed");
  await elsewhere.stop(true);
  expect(failed).toMatchObject({ kind: "unauthorized", error: "wrong answer: not the gateway" });
  expect(await issuer()).toBe("edge");
  expect(await renewals("failure")).toBe(1);
});

test("a rate limit is kept to", async () => {
  directory.problem = { status: 429, kind: "rateLimited", detail: "too many certificates", retryAfter: "7200" };
  const edge = await start();
  const failed = await edge.log("the failure", (line) => line.event === "cert_failed");
  expect(failed).toMatchObject({ kind: "rateLimited", retry_in_s: 7200 });
});

test("after a failure a restart asks no sooner, a reload does", async () => {
  directory.problem = { status: 503, kind: "serverInternal", detail: "not yet" };
  const first = await start();
  await first.log("the failure", (line) => line.event === "cert_failed");
  first.signal("SIGKILL");
  await first.exited();
  const asked = directory.accounts.length;
  const second = await start();
  const waiting = await second.log("the wait", (line) => line.event === "cert_waiting");
  expect(waiting).toMatchObject({ names: NAMES, failures: 1 });
  expect(waiting.retry_in_s).toBeGreaterThan(30);
  expect([directory.accounts.length, await issuer(), await renewals("failure")]).toEqual([asked, "edge", 0]);
  directory.problem = null;
  second.signal("SIGHUP");
  await second.log("the certificate", (line) => line.event === "cert_obtained");
  expect(directory.orders.length).toBe(1);
});

test("after a restart the stored certificate is shown, and no order is made", async () => {
  const first = await start();
  await first.log("the certificate", (line) => line.event === "cert_obtained");
  await first.stop();
  const orders = directory.orders.length;
  directory.stop();
  await start();
  expect(await issuer()).toBe("directory");
  expect(directory.orders.length).toBe(orders);
});

test("a short-lived certificate is renewed while a connection stays", async () => {
  directory.lifeMs = 4000;
  const edge = await start();
  await edge.log("the certificate", (line) => line.event === "cert_obtained");
  const client = await TlsClient.open(tlsPort, { serverName: NAMES[0]! });
  const { serialNumber } = await shownCertificate(tlsPort, NAMES[0]!);
  directory.lifeMs = 86_400_000;
  await edge.log("the renewal", (line) => line.event === "cert_renewed");
  await eventually(async () => {
    expect((await shownCertificate(tlsPort, NAMES[0]!)).serialNumber).not.toBe(serialNumber);
  });
  expect((await client.exchange(request("GET /health"))).status).toBe(200);
  client.close();
});

test("a name that is added costs the others nothing", async () => {
  const edge = await start();
  await edge.log("the certificate", (line) => line.event === "cert_obtained");
  directory.problem = { status: 503, kind: "serverInternal", detail: "not yet" };
  const write = (acme: Record<string, unknown>) => {
    const server = { host: "127.0.0.1", port: edge.port, workers: 2, tls: { port: tlsPort }, acme };
    writeFileSync(join(edge.folder, "config.yaml"), stringify({ server }));
    edge.signal("SIGHUP");
  };
  const settings = { directory_url: directory.url, cache_dir: cacheDir };
  write({ enabled: true, domains: [...NAMES, "new.example.test"], ...settings });
  await edge.log("the failure", (line) => line.event === "cert_failed");
  expect([await issuer(), await issuer("new.example.test")]).toEqual(["directory", "edge"]);
});

test("further certificates have a profile and a key of their own, and orders are made one after the other", async () => {
  const certificates = [{ domains: ["c.example.test"], profile: "shortlived", key_type: "rsa2048" }];
  const acme = { enabled: true, directory_url: directory.url, domains: NAMES, cache_dir: cacheDir, certificates };
  const edge = await start({ acme });
  await eventually(async () => expect(await issuer("c.example.test")).toBe("directory"));
  await eventually(async () => expect(await issuer()).toBe("directory"));
  expect(directory.orders.map(({ profile }) => profile ?? "").sort()).toEqual(["", "shortlived"]);
  const shown = await shownCertificate(tlsPort, "c.example.test");
  expect(shown.publicKey.asymmetricKeyDetails?.modulusLength).toBe(2048);
  // A reload that takes the second away takes its certificate away, and orders nothing.
  const server = { host: "127.0.0.1", port: edge.port, workers: 2, tls: { port: tlsPort } };
  writeFileSync(
    join(edge.folder, "config.yaml"),
    stringify({ server: { ...server, acme: { ...acme, certificates: [] } } }),
  );
  edge.signal("SIGHUP");
  await eventually(async () =>
    expect((await shownCertificate(tlsPort, "c.example.test")).subjectAltName).not.toContain("c."),
  );
  expect(directory.orders.length).toBe(2);
});

describe("challenges", () => {
  test("pass everything else by: firewall, rate limit, routes", async () => {
    directory.problem = { status: 503, kind: "serverInternal", detail: "not yet" };
    const edge = await start({ waf: { enabled: true }, rate_limit: { requests: 1, window: "1h", burst: 1 } });
    const ask = (path: string) => edge.once(request(`GET ${path}`, ["User-Agent: sqlmap/1.7"]));
    expect((await ask("/elsewhere")).status).toBe(403);
    const replies = await Promise.all(Array.from({ length: 20 }, () => ask(`${CHALLENGE}unknown`)));
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([404]));
    expect((await ask(`${CHALLENGE}..%2f..%2fetc`)).text).toBe("Invalid ACME Challenge Token");
    const samples = await edge.samples();
    expect(sumOf(samples, "gateway_requests_total", { path: CHALLENGE, code: "404" })).toBe(20);
  });
});
