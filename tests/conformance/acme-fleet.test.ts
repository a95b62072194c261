// Three gateways, one authority (Pebble) and one store: Redis, and in the long lane S3 (versitygw). docs/acme.md#one-store-for-several-gateways
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { S3Server, s3Binary } from "../harness/s3-server.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { TurnRelay } from "../harness/turn-relay.ts";
import { hasPebble, Pebble } from "./pebble.ts";

const NAMES = ["a.fleet.test", "b.fleet.test", "c.fleet.test"];
const KEY = "a storage key of more than thirty-two characters";
const PATIENCE_MS = 60_000;
const versitygw = await s3Binary();

/** A store that gateways share. */
interface Store {
  readonly settings: object;
  readonly cluster: object;
  /** All that is in it, as text. */
  content(): Promise<string>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

async function redisStore(): Promise<Store> {
  let redis = await RedisServer.start();
  return {
    settings: { storage: "redis" },
    cluster: { cluster: { store: redis.url } },
    async content() {
      const keys = (await redis.command("KEYS", "{edge:certs}*")).split("\n").filter((key) => !key.endsWith(":names"));
      return [...keys, ...(await Promise.all(keys.map((key) => redis.command("HVALS", key))))].join("\n");
    },
    // What Redis keeps in memory alone is gone when it comes back.
    pause: () => redis.stop(),
    async resume() {
      redis = await RedisServer.start([], redis.port);
    },
    stop: () => redis.stop(),
  };
}

async function s3Store(): Promise<Store> {
  let s3 = await S3Server.start(versitygw!);
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const credentials = { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  return {
    settings: {
      storage: `s3://${s3.bucket}/some/fleet`,
      storage_endpoint: endpoint,
      storage_region: "us-east-1",
      storage_credentials: credentials,
    },
    cluster: {},
    content: async () => s3.objects().flat().join("\n"),
    pause: () => s3.pause(),
    async resume() {
      s3 = await S3Server.start(versitygw!, s3);
    },
    stop: () => s3.stop(),
  };
}

interface Node {
  readonly gateway: Gateway;
  readonly tlsPort: number;
  readonly cacheDir: string;
}

let pebble: Pebble;
let relays: TurnRelay[] = [];
let nodes: Node[] = [];
let round = 0;

async function startNode(store: Store, ports: { http: number; tls: number }, acme: object = {}): Promise<Node> {
  const cacheDir = join(pebble.folder, `node${++round}`);
  const shared = { ...store.settings, storage_key: KEY, cache_dir: cacheDir };
  const from = { directory_url: pebble.directoryUrl, ca_file: pebble.caFile, domains: NAMES };
  const server = { workers: 1, tls: { port: ports.tls }, acme: { enabled: true, ...from, ...shared, ...acme } };
  const gateway = await startGateway({ port: ports.http, config: { server, ...store.cluster } });
  const node = { gateway, tlsPort: ports.tls, cacheDir };
  nodes.push(node);
  return node;
}

/** Gateways behind the addresses where the authority looks. */
async function fleet(store: Store, count: number, acme: object = {}): Promise<Node[]> {
  const ports = Array.from({ length: count }, () => ({ http: freePort(), tls: freePort() }));
  const http = ports.map((one) => one.http);
  const tls = ports.map((one) => one.tls);
  relays = [new TurnRelay(http, pebble.httpPort), new TurnRelay(tls, pebble.tlsPort)];
  return Promise.all(ports.map((one) => startNode(store, one, acme)));
}

const shown = ({ tlsPort }: Node): Promise<X509Certificate> => shownCertificate(tlsPort, NAMES[0]!);

/** All show the same certificate, of the authority. @returns its serial number */
function allServe(all: readonly Node[], patienceMs = PATIENCE_MS): Promise<string> {
  return eventually(async () => {
    const certificates = await Promise.all(all.map(shown));
    for (const certificate of certificates) expect(certificate.issuer).toContain("Pebble Intermediate");
    const serials = new Set(certificates.map(({ serialNumber }) => serialNumber));
    expect(serials.size).toBe(1);
    return [...serials][0]!;
  }, patienceMs);
}

function told(all: readonly Node[], ...names: string[]): string[] {
  const lines = all.flatMap(({ gateway }) => gateway.logs.json.map(({ event }) => String(event)));
  return lines.filter((event) => names.includes(event)).sort();
}

beforeAll(async () => {
  if (hasPebble) pebble = await Pebble.start();
});
afterAll(() => pebble?.stop());
afterEach(async () => {
  for (const { gateway } of nodes) if (!gateway.hasExited) await gateway.stop();
  for (const relay of relays) relay.stop();
  [nodes, relays] = [[], []];
});

const stores = [
  { kind: "Redis", open: redisStore, isThere: hasPebble && REDIS !== null },
  { kind: "S3", open: s3Store, isThere: hasPebble && versitygw !== null },
];

describe.each(stores)("three gateways on $kind", ({ open, isThere }) => {
  let store: Store;
  beforeAll(async () => {
    if (isThere) store = await open();
  });
  afterAll(() => store?.stop());

  test.skipIf(!isThere)(
    "make one order; any answers the authority, all serve, a later one too, and the store holds no key in the clear",
    async () => {
      const before = pebble.placed;
      const all = await fleet(store, 3);
      const serial = await allServe(all);
      expect(pebble.placed - before).toBe(1);
      await eventually(() =>
        expect(told(all, "cert_obtained", "cert_taken")).toEqual(["cert_obtained", "cert_taken", "cert_taken"]),
      );
      expect(relays[0]!.counts.filter((count) => count > 0).length).toBeGreaterThan(1);
      const late = await startNode(store, { http: freePort(), tls: freePort() });
      expect((await shown(late)).serialNumber).toBe(serial);
      expect(pebble.placed - before).toBe(1);
      const content = await store.content();
      expect(content).toContain("edge1.");
      expect(content).toContain("cert/a.fleet.test-");
      expect(content).not.toMatch(/-----BEGIN|PRIVATE KEY|localhost/);
      const logs = JSON.stringify([...all, late].map(({ gateway }) => gateway.logs.json));
      expect(logs).not.toMatch(/storage key|test-secret-key|X-Amz/);
      const config = await late.gateway.once(request("GET /internal/api/config"));
      expect(config.text).not.toMatch(/storage key of|test-secret-key|test-key-id/);
    },
    PATIENCE_MS,
  );

  const longIf = isThere ? longTest : test.skip;
  const alpn = { challenge_type: "tls-alpn-01", domains: [NAMES[0]!, "alpn.fleet.test"] };

  longIf(
    "tls-alpn-01: any answers",
    async () => {
      const before = pebble.placed;
      const all = await fleet(store, 2, alpn);
      await allServe(all);
      expect(told(all, "cert_failed")).toEqual([]);
      expect(pebble.placed - before).toBe(1);
      expect(relays[1]!.counts.every((count) => count > 0)).toBe(true);
    },
    PATIENCE_MS,
  );

  longIf(
    "edge certs revokes, renews and gives the account another key; all gateways take it up by themselves",
    async () => {
      const domains = [NAMES[0]!, "commands.fleet.test"];
      const all = await fleet(store, 2, { domains });
      let serial = await allServe(all);
      const folder = join(pebble.folder, "commands");
      const from = { directory_url: pebble.directoryUrl, ca_file: pebble.caFile, domains, enabled: true };
      const acme = { ...from, ...store.settings, storage_key: KEY, cache_dir: folder };
      const config = join(pebble.folder, "commands.yaml");
      writeFileSync(config, stringify({ server: { tls: { port: 1 }, acme }, ...store.cluster }));
      const run = (...words: string[]) => runEdge(["certs", ...words, "--config", config]);
      expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining("commands.fleet.test") });
      for (const action of ["rollover", "revoke", "renew"]) {
        const before = pebble.placed;
        const name = action === "rollover" ? [] : ["commands.fleet.test"];
        expect(await run(action, ...name)).toMatchObject({ code: 0, stderr: "" });
        if (action === "rollover") continue;
        await eventually(async () => expect((await shown(all[0]!)).serialNumber).not.toBe(serial), PATIENCE_MS);
        serial = await allServe(all);
        expect(pebble.placed - before).toBe(1);
      }
      expect(told(all, "cert_failed")).toEqual([]);
    },
    2 * PATIENCE_MS,
  );

  longIf(
    "one that is killed while the authority holds its order is followed by another",
    async () => {
      const before = pebble.placed;
      const killed = { domains: [NAMES[0]!, "killed.fleet.test"] };
      const ports = [0, 1, 2].map(() => ({ http: freePort(), tls: freePort() }));
      relays = [
        new TurnRelay(
          ports.map(({ http }) => http),
          pebble.httpPort,
        ),
      ];
      const first = await startNode(store, ports[0]!, killed);
      await eventually(() => expect(pebble.placed - before).toBe(1));
      pebble.signal("SIGSTOP");
      first.gateway.signal("SIGKILL");
      await first.gateway.exited();
      pebble.signal("SIGCONT");
      const others = [await startNode(store, ports[1]!, killed), await startNode(store, ports[2]!, killed)];
      await allServe(others);
      expect(pebble.placed - before).toBe(2);
      await eventually(() =>
        expect(told(others, "cert_obtained", "cert_taken")).toEqual(["cert_obtained", "cert_taken"]),
      );
    },
    PATIENCE_MS,
  );

  longIf(
    "a store that is away for half a minute costs nothing; what is due then is ordered when it is back",
    async () => {
      const all = await fleet(store, 2);
      const serial = await allServe(all);
      await store.pause();
      for (const { gateway } of all) await gateway.log("that it is away", ({ event }) => event === "cert_store_away");
      const until = Date.now() + 30_000;
      while (Date.now() < until) {
        for (const node of all) expect((await shown(node)).serialNumber).toBe(serial);
        await Bun.sleep(500);
      }
      await store.resume();
      for (const { gateway } of all) await gateway.log("that it is back", ({ event }) => event === "cert_store_back");
      expect(await allServe(all)).toBe(serial);
      expect(told(all, "cert_store_away", "cert_failed")).toEqual(["cert_store_away", "cert_store_away"]);
    },
    2 * PATIENCE_MS,
  );
});
