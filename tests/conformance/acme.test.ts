import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { X509Certificate } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { sumOf } from "../harness/metrics-text.ts";
import { request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { TlsClient } from "../harness/tls-client.ts";
import { hasPebble, Pebble, type PebbleOptions } from "./pebble.ts";

// A real authority (Pebble, which refuses a fifth of all good nonces) against a real gateway: nothing is simulated but names.
if (!hasPebble) console.log("skipped: ACME needs pebble (Debian: apt install pebble)");

const NAMES = ["a.example.test", "b.example.test", "c.example.test"];
let pebble: Pebble;
let gateway: Gateway | null = null;
let round = 0;
let cacheDir = "";

afterEach(async () => {
  await gateway?.stop();
  gateway = null;
});

async function begin(options: PebbleOptions = {}): Promise<void> {
  pebble = await Pebble.start(options);
}

async function start(acme: Record<string, unknown> = {}, folder = `cache${++round}`): Promise<Gateway> {
  cacheDir = join(pebble.folder, folder);
  const settings = {
    enabled: true,
    directory_url: pebble.directoryUrl,
    ca_file: pebble.caFile,
    email: "admin@example.test",
    domains: NAMES,
    cache_dir: cacheDir,
    ...acme,
  };
  const server = { workers: 2, tls: { port: pebble.tlsPort }, access_log: { enabled: false }, acme: settings };
  gateway = await startGateway({ port: pebble.httpPort, config: { server } });
  return gateway;
}

function shown(name: string = NAMES[0]!): Promise<X509Certificate> {
  return shownCertificate(pebble.tlsPort, name);
}

async function obtained(edge: Gateway): Promise<void> {
  await edge.log("the certificate", (line) => line.event === "cert_obtained" || line.event === "cert_renewed");
  await eventually(async () => expect((await shown()).issuer).toContain("Pebble Intermediate"));
}

function failureOf(edge: Gateway): Promise<Record<string, unknown>> {
  return edge.log("the failure", (line) => line.event === "cert_failed");
}

async function failures(edge: Gateway): Promise<number> {
  const samples = await edge.samples();
  return sumOf(samples, "gateway_acme_renewals_total", { result: "failure" });
}

describe.skipIf(!hasPebble)("with Pebble", () => {
  beforeAll(() => begin());
  afterAll(() => pebble.stop());

  test.each(["http-01", "tls-alpn-01"])(
    "%s proves several names through the gateway itself, while others are served",
    async (type) => {
      const edge = await start({ challenge_type: type });
      const client = await TlsClient.open(pebble.tlsPort, { serverName: NAMES[0]! });
      await obtained(edge);
      const certificate = await shown(NAMES[2]);
      expect(certificate.subjectAltName).toBe(NAMES.map((name) => `DNS:${name}`).join(", "));
      const chain = await edge.once(request("GET /health"));
      expect([chain.status, (await client.exchange(request("GET /health"))).status]).toEqual([200, 200]);
      client.close();
      expect(edge.logs.json.filter((line) => line.event === "cert_failed")).toEqual([]);
      const files = readdirSync(cacheDir).map((file) => file.replace(/^.*\./, ""));
      expect(files.sort()).toEqual(["crt", "json", "json", "key", "key"]);
      // What was shown to the authority is shown to nobody else, and to it no longer.
      await expect(shownCertificate(pebble.tlsPort, NAMES[0]!, ["acme-tls/1"])).rejects.toThrow();
    },
  );

  test("a restart serves what is stored and makes no order", async () => {
    const first = await start();
    await obtained(first);
    const { serialNumber } = await shown();
    const { orders } = pebble;
    await first.stop();
    const again = await start({}, `cache${round}`);
    expect((await shown()).serialNumber).toBe(serialNumber);
    expect((await again.once(request("GET /health"))).status).toBe(200);
    expect(pebble.orders).toBe(orders);
  });

  test("an authority that is away, and comes back without its memory, is tried again", async () => {
    const first = await start();
    await obtained(first);
    await first.stop();
    const certificate = readdirSync(cacheDir).find((file) => file.endsWith(".crt"))!;
    writeFileSync(join(cacheDir, certificate), "garbage");
    await pebble.pause();
    const edge = await start({}, `cache${round}`);
    const broken = await failureOf(edge);
    expect(broken).toMatchObject({ kind: "broken_store", error: expect.stringContaining(certificate) });
    const away = await edge.log("that nobody answers", (line) => line.kind === "ECONNREFUSED");
    expect(away.retry_in_s).toBeGreaterThanOrEqual(60);
    expect(await failures(edge)).toBe(2);
    expect((await shown()).issuer).toBe("CN=edge");
    await pebble.resume();
    edge.signal("SIGHUP");
    await obtained(edge);
  });

  test("a challenge that goes elsewhere leaves what is shown, and says so", async () => {
    const lost = "lost.example.test";
    await pebble.point(lost, "127.0.0.77");
    const edge = await start({ domains: [lost] });
    const failure = await failureOf(edge);
    expect(failure).toMatchObject({ names: [lost], kind: "connection", failures: 1 });
    expect((await shown(lost)).issuer).toBe("CN=edge");
    expect(await failures(edge)).toBe(1);
    await pebble.point(lost, "");
    edge.signal("SIGHUP");
    await edge.log("the certificate", (line) => line.event === "cert_obtained");
    await eventually(async () => expect((await shown(lost)).issuer).toContain("Pebble Intermediate"));
  });

  test("a broken account is put aside, and a new one made", async () => {
    const first = await start();
    await obtained(first);
    await first.stop();
    for (const file of readdirSync(cacheDir)) writeFileSync(join(cacheDir, file), "garbage");
    const edge = await start({}, `cache${round}`);
    await obtained(edge);
    expect(await failures(edge)).toBe(2);
    expect(readdirSync(cacheDir).filter((file) => file.endsWith(".broken")).length).toBe(5);
  });
});

describe.skipIf(!hasPebble)("with Pebble's certificates of 9 seconds", () => {
  beforeAll(() => begin({ validity: 9 }));
  afterAll(() => pebble.stop());

  test("renewal under load costs no request", async () => {
    const edge = await start();
    await obtained(edge);
    const load = new SecureLoad();
    const first = await shown();
    await edge.logs.until("the renewal", (line) => line.event === "cert_renewed", 20_000);
    await eventually(async () => expect((await shown()).serialNumber).not.toBe(first.serialNumber));
    const { requests, handshakes, failed } = await load.stop();
    console.log(`renewal: ${requests} requests on ${handshakes} connections, ${failed.length} failed`);
    expect(failed).toEqual([]);
    expect(Math.min(requests, handshakes)).toBeGreaterThan(20);
  }, 60_000);
});

describe.skipIf(!hasPebble)("with Pebble and external accounts", () => {
  beforeAll(() => begin({ externalAccounts: { "kid-1": MAC_KEY } }));
  afterAll(() => pebble.stop());

  test("an account without one is refused, with one it is not", async () => {
    const edge = await start();
    expect(await failureOf(edge)).toMatchObject({ kind: "externalAccountRequired" });
    await edge.stop();
    await obtained(await start({ eab: { kid: "kid-1", hmac_key: MAC_KEY } }));
  });
});

/** Clients over TLS, on kept connections and on fresh ones. */
class SecureLoad {
  requests = 0;
  handshakes = 0;
  readonly failed: string[] = [];
  private isOver = false;
  private readonly walkers: readonly Promise<void>[] = Array.from({ length: 4 }, () => this.walk());

  async stop(): Promise<this> {
    this.isOver = true;
    await Promise.all(this.walkers);
    return this;
  }

  private async walk(): Promise<void> {
    while (!this.isOver) {
      try {
        const client = await TlsClient.open(pebble.tlsPort, { serverName: NAMES[0]! });
        this.handshakes++;
        for (let i = 0; i < 10 && !this.isOver; i++) {
          const reply = await client.exchange(request("GET /health"));
          this.requests++;
          if (reply.status !== 200) this.failed.push(String(reply.status));
          await Bun.sleep(10);
        }
        client.close();
      } catch (error) {
        this.failed.push(String(error));
      }
    }
  }
}

const MAC_KEY = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";
