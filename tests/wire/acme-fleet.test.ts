// Gateways that share their certificates in Redis. docs/acme.md#one-store-for-several-gateways
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { AcmeDirectory } from "../harness/acme-directory.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { TurnRelay } from "../harness/turn-relay.ts";

const NAMES = ["a.example.test", "b.example.test"];
const KEY = "0123456789abcdef0123456789abcdef-1";
const root = mkdtempSync(join(tmpdir(), "edge-acme-fleet-"));
let round = 0;
let directory: AcmeDirectory;
let redis: RedisServer;
let nodes: Node[] = [];
afterAll(() => rmSync(root, { recursive: true }));

/** A gateway with what it was started with. */
interface Node {
  readonly gateway: Gateway;
  readonly tlsPort: number;
  readonly cacheDir: string;
}

interface NodeOptions {
  readonly cacheDir?: string;
  readonly acme?: object;
  readonly port?: number;
  readonly workers?: number;
}

function acmeOf(cacheDir: string, more: object = {}): object {
  const shared = { storage: "redis", storage_key: KEY };
  return { enabled: true, directory_url: directory.url, domains: NAMES, cache_dir: cacheDir, ...shared, ...more };
}

async function start(options: NodeOptions = {}): Promise<Node> {
  const { cacheDir = join(root, `cache${++round}`), acme = {}, port, workers = 1 } = options;
  const tlsPort = freePort();
  const server = { workers, tls: { port: tlsPort }, acme: acmeOf(cacheDir, acme) };
  const gateway = await startGateway({
    config: { server, cluster: { store: redis.url } },
    ...(port === undefined ? {} : { port }),
  });
  const node = { gateway, tlsPort, cacheDir };
  nodes.push(node);
  return node;
}

/** Gateways behind one address, where the authority looks for challenges. */
async function fleet(count: number, options: NodeOptions = {}): Promise<{ relay: TurnRelay; all: Node[] }> {
  const ports = Array.from({ length: count }, () => freePort());
  const relay = new TurnRelay(ports);
  directory.challengePort = relay.port;
  return { relay, all: await Promise.all(ports.map((port) => start({ ...options, port }))) };
}

async function issuer({ tlsPort }: Node, name = NAMES[0]!): Promise<string> {
  return (await shownCertificate(tlsPort, name)).issuer.replace("CN=", "");
}

async function serial({ tlsPort }: Node, name = NAMES[0]!): Promise<string> {
  return (await shownCertificate(tlsPort, name)).serialNumber;
}

function events({ gateway }: Node, ...names: string[]): string[] {
  return gateway.logs.json.map(({ event }) => String(event)).filter((event) => names.includes(event));
}

async function allServe(all: readonly Node[]): Promise<void> {
  await eventually(async () => {
    for (const node of all) expect(await issuer(node)).toBe("directory");
    expect(new Set(await Promise.all(all.map((node) => serial(node)))).size).toBe(1);
  });
}

describe.skipIf(REDIS === null)("certificates of a fleet in Redis", () => {
  beforeEach(async () => {
    directory = AcmeDirectory.start();
    redis = await RedisServer.start();
  });
  afterEach(async () => {
    for (const { gateway } of nodes) if (!gateway.hasExited) await gateway.stop();
    nodes = [];
    directory.stop();
    await redis.stop();
  });

  test("one orders, any answers, all serve; the store holds no key in the clear", async () => {
    const { relay, all } = await fleet(3, { workers: 2 });
    await allServe(all);
    expect([directory.accounts.length, directory.orders.length]).toEqual([1, 1]);
    // Two names, two connections in turn: another gateway than the one that orders was among those asked.
    expect(relay.counts.filter((count) => count > 0).length).toBeGreaterThan(1);
    await eventually(() => {
      const told = all.flatMap((node) => events(node, "cert_obtained", "cert_taken", "cert_failed"));
      expect(told.sort()).toEqual(["cert_obtained", "cert_taken", "cert_taken"]);
    });
    const keys = (await redis.command("KEYS", "*")).split("\n").filter((key) => key.startsWith("{edge:certs}"));
    expect(keys.length).toBeGreaterThanOrEqual(4);
    const texts = await Promise.all(
      keys.map((key) => redis.command(key.endsWith(":names") ? "SMEMBERS" : "HVALS", key)),
    );
    expect(texts.join("\n")).toContain("edge1.");
    expect(texts.join("\n")).not.toMatch(/PRIVATE KEY|BEGIN|PKCS|directoryUrl/);
    for (const { cacheDir } of all) {
      for (const file of readdirSync(join(cacheDir, "shared")))
        expect(readFileSync(join(cacheDir, "shared", file), "utf8")).toMatch(/^edge1\.[0-9a-f]{8}\.[\w-]+$/);
    }
    // What was answered is answered no longer.
    for (const { gateway } of all) {
      const gone = await gateway.once(request("GET /.well-known/acme-challenge/token-a1"));
      expect(gone.status).toBe(404);
    }
    relay.stop();
  });

  test("tls-alpn-01 as well; renew and list by command, at once and by one", async () => {
    directory.challengePort = 0;
    const all = await Promise.all([start({ acme: { challenge_type: "tls-alpn-01" } }), start()]);
    await allServe(all);
    const before = await serial(all[0]!);
    const config = join(root, "command.yaml");
    const settings = {
      server: { tls: { port: 1 }, acme: acmeOf(join(root, "command")) },
      cluster: { store: redis.url },
    };
    writeFileSync(config, stringify(settings));
    const listed = await runEdge(["certs", "--config", config]);
    expect([listed.code, listed.stdout]).toEqual([
      0,
      expect.stringMatching(/a\.example\.test, b\.example\.test .* cert\/a/),
    ]);
    const marked = await runEdge(["certs", "renew", NAMES[1]!, "--config", config]);
    expect([marked.code, marked.stdout]).toEqual([0, expect.stringContaining("within seconds")]);
    await eventually(async () => {
      for (const node of all) expect(await serial(node)).not.toBe(before);
    });
    await allServe(all);
    expect([directory.accounts.length, directory.orders.length]).toEqual([1, 2]);
    expect(listed.stdout + marked.stdout).not.toContain(KEY);
  });

  test("without the store what was seen is served, also after a start, and it is told once", async () => {
    const first = await start();
    await allServe([first]);
    const shown = await serial(first);
    await redis.stop();
    await first.gateway.log("that the store is away", ({ event }) => event === "cert_store_away");
    expect(await first.gateway.metric("gateway_acme_storage_up")).toBe(0);
    expect(await serial(first)).toBe(shown);
    await first.gateway.stop();
    const again = await start({ cacheDir: first.cacheDir });
    await again.gateway.log("that the store is away", ({ event }) => event === "cert_store_away");
    expect(await serial(again)).toBe(shown);
    redis = await RedisServer.start([], redis.port);
    // It is empty now, and gets back what a gateway has.
    await again.gateway.log("that the store is back", ({ event }) => event === "cert_store_back");
    await eventually(async () =>
      expect(await redis.command("KEYS", "*")).toContain("{edge:certs}:cert/a.example.test"),
    );
    const other = await start();
    await eventually(async () => expect(await serial(other)).toBe(shown));
    expect(events(again, "cert_store_away", "cert_store_back", "cert_failed")).toEqual([
      "cert_store_away",
      "cert_store_back",
    ]);
    expect(await again.gateway.metric("gateway_acme_storage_up")).toBe(1);
    expect([directory.accounts.length, directory.orders.length]).toEqual([1, 1]);
  });

  test("certificates of files are taken in; another gateway has them from the store", async () => {
    const cacheDir = join(root, "files");
    const files = await start({ cacheDir, acme: { storage: "file" } });
    await allServe([files]);
    const shown = await serial(files);
    await files.gateway.stop();
    const node = await start({ cacheDir });
    await node.gateway.log("the import", ({ event }) => event === "cert_imported");
    const other = await start();
    await eventually(async () => expect([await serial(node), await serial(other)]).toEqual([shown, shown]));
    expect([directory.accounts.length, directory.orders.length]).toEqual([1, 1]);
  });

  test("edge certs copy takes them in without a gateway", async () => {
    const cacheDir = join(root, "copied");
    const files = await start({ cacheDir, acme: { storage: "file" } });
    await allServe([files]);
    const config = join(root, "copy.yaml");
    const settings = {
      server: { tls: { port: 1 }, acme: acmeOf(join(root, "elsewhere")) },
      cluster: { store: redis.url },
    };
    writeFileSync(config, stringify(settings));
    const copy = () => runEdge(["certs", "copy", "--dir", cacheDir, "--config", config]);
    expect(await copy()).toMatchObject({ code: 0, stdout: expect.stringContaining("is copied.") });
    expect(await copy()).toMatchObject({ code: 0, stdout: expect.stringContaining("already") });
    const other = await start();
    await eventually(async () => expect(await serial(other)).toBe(await serial(files)));
    expect(directory.orders.length).toBe(1);
  });

  longTest("a window of renewal is asked for by one, and kept to by one", async () => {
    const at = (inMs: number) => new Date(Date.now() + inMs).toISOString();
    directory.lifeMs = 10 * 86_400_000;
    const first = await start();
    await allServe([first]);
    directory.renewalInfo = { suggestedWindow: { start: at(-7_200_000), end: at(-3_600_000) } };
    // At once, and not before the last order has been rested from.
    const all = [first, await start(), await start()];
    await allServe(all);
    await eventually(() => expect(directory.renewalAsks).toBe(1));
    await Bun.sleep(1000);
    expect([directory.renewalAsks, directory.orders.length]).toEqual([1, 1]);
    const exported = join(root, "exported");
    const config = join(root, "export.yaml");
    const settings = {
      server: { tls: { port: 1 }, acme: acmeOf(join(root, "unused")) },
      cluster: { store: redis.url },
    };
    writeFileSync(config, stringify(settings));
    const run = await runEdge(["certs", "export", "--dir", exported, "--config", config]);
    expect([run.code, run.stderr]).toEqual([0, ""]);
    const files = await start({ cacheDir: exported, acme: { storage: "file" } });
    expect(await serial(files)).toBe(await serial(first));
    expect([directory.accounts.length, directory.orders.length]).toEqual([1, 1]);
  });

  test("a name that clients ask several gateways for is ordered once", async () => {
    const ask = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("yes") });
    const on_demand = { ask: `http://127.0.0.1:${ask.port}/` };
    const all = await Promise.all([start({ acme: { on_demand } }), start({ acme: { on_demand } })]);
    await allServe(all);
    const name = "shop.customer.test";
    const serials = await Promise.all(all.map((node) => serial(node, name)));
    expect(new Set(serials).size).toBe(1);
    expect(directory.orders.length).toBe(2);
    await ask.stop(true);
  });

  test("a refusal counts for all: the others wait, too", async () => {
    directory.problem = { status: 429, kind: "rateLimited", detail: "too many", retryAfter: "3600" };
    const all = await Promise.all([start(), start()]);
    await eventually(() => {
      const told = all.flatMap((node) => events(node, "cert_failed", "cert_waiting"));
      expect(told.sort()).toEqual(["cert_failed", "cert_waiting"]);
    });
  });

  test("with another storage_key nothing is served, written or ordered", async () => {
    await allServe([await start()]);
    const other = await start({ acme: { storage_key: `${KEY}-another` } });
    const line = await other.gateway.log("the failure", ({ event }) => event === "cert_failed");
    expect(line.error).toContain("was sealed with another storage_key");
    expect(JSON.stringify(other.gateway.logs.json)).not.toContain(KEY);
    expect([await issuer(other), directory.orders.length]).toEqual(["edge", 1]);
    const both = await start({ acme: { storage_key: [`${KEY}-another`, KEY] } });
    await allServe([both]);
    const sealed = await both.gateway.log("the new seals", ({ event }) => event === "cert_store_sealed");
    expect(sealed).toMatchObject({ documents: 3, left: 0 });
    await allServe([await start({ acme: { storage_key: `${KEY}-another` } })]);
    expect(directory.orders.length).toBe(1);
  });

  longTest("a gateway that is killed while it orders is followed by another, and its order by one more", async () => {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    directory.finalizing = () => {
      reached.resolve();
      return released.promise;
    };
    const first = await start();
    await reached.promise;
    const second = await start();
    const third = await start();
    first.gateway.signal("SIGKILL");
    await first.gateway.exited();
    directory.finalizing = null;
    await eventually(async () => expect(await issuer(second)).toBe("directory"), 60_000);
    await allServe([second, third]);
    released.resolve();
    // That of the gateway that was killed, and one more.
    expect(directory.orders.length).toBe(2);
    expect([second, third].flatMap((node) => events(node, "cert_obtained", "cert_failed"))).toEqual(["cert_obtained"]);
  });

  longTest("a gateway that was frozen beyond its lease overwrites nothing", async () => {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    directory.finalizing = () => {
      reached.resolve();
      return released.promise;
    };
    const first = await start();
    await reached.promise;
    first.gateway.signal("SIGSTOP");
    directory.finalizing = null;
    const second = await start();
    await eventually(async () => expect(await issuer(second)).toBe("directory"), 60_000);
    const shown = await serial(second);
    released.resolve();
    first.gateway.signal("SIGCONT");
    const line = await first.gateway.log("that it was too late", ({ event }) => event === "cert_failed");
    expect(line.kind).toBe("fenced");
    await eventually(async () => expect(await serial(first)).toBe(shown));
    expect(await serial(second)).toBe(shown);
    expect(await serial(await start())).toBe(shown);
  });
});
