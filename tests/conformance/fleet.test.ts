// A fleet: four gateways behind HAProxy, with limits in a Redis with a sentinel, certificates in S3 (in the same Redis where no S3 server is) and
// their configuration from a web server, under load while gateways are ended, killed and replaced, the store fails over, certificates are renewed
// and a configuration is rolled out and back.
// docs/scale.md#what-fails-with-what
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { AcmeDirectory } from "../harness/acme-directory.ts";
import { ConfigOrigin } from "../harness/config-origin.ts";
import { CountingLoad } from "../harness/counting-load.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { S3Server, s3Binary } from "../harness/s3-server.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { TurnRelay } from "../harness/turn-relay.ts";

const NODES = 4;
const OFFERED = 300;
const LIMIT = 150;
const HAPROXY = Bun.which("haproxy", { PATH: `${process.env.PATH ?? ""}:/usr/sbin` });
if (HAPROXY === null) console.log("skipped: a fleet needs haproxy (Debian: apt install haproxy)");
const PATIENCE_MS = 30_000;
const NAME = "fleet.test";
const versitygw = await s3Binary();
const STORAGE_KEY = "0123456789abcdef0123456789abcdef-1";

/** One place in the fleet: its ports stay, whichever process is there. */
interface Place {
  readonly http: number;
  readonly tls: number;
  gateway: Gateway;
  /** The process that serves: an upgrade is another one. */
  pid: number;
}

describe.skipIf(HAPROXY === null || REDIS === null)("a fleet under load", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-fleet-"));
  const origin = EchoOrigin.start();
  const places: Place[] = [];
  const front = freePort();
  let stores: RedisServer[] = [];
  let sentinel: RedisServer;
  let s3: S3Server | null = null;
  const directory = AcmeDirectory.start();
  const source = ConfigOrigin.start();
  let challenges: TurnRelay;
  let haproxy: Bun.Subprocess;
  let load: CountingLoad;

  beforeAll(async () => {
    origin.on("/work", (call) => call.reply("200 OK", [], "done"));
    stores = await Promise.all([RedisServer.start(), RedisServer.start()]);
    sentinel = await RedisServer.startSentinel();
    await watch(stores, sentinel);
    if (versitygw !== null) s3 = await S3Server.start(versitygw);
    source.put(configText(), routesText(origin, "one"));
    const ports = Array.from({ length: NODES }, () => [freePort(), freePort()] as const);
    challenges = new TurnRelay(ports.map(([http]) => http));
    directory.challengePort = challenges.port;
    for (const [http, tls] of ports) {
      const gateway = await startNode(http, tls);
      places.push({ http, tls, gateway, pid: gateway.pid });
    }
    const config = join(folder, "haproxy.cfg");
    writeFileSync(config, balancer(front, places));
    const log = Bun.file(join(folder, "haproxy.log"));
    haproxy = Bun.spawn([HAPROXY!, "-db", "-f", config], { stdin: "ignore", stdout: log, stderr: "ignore" });
    process.on("exit", () => haproxy.kill("SIGKILL"));
    await allServe();
    await allShowOne();
    load = new CountingLoad("/node/work", [{ port: front, connections: 16, perSecond: OFFERED }]);
    await more(100);
  }, 90_000);

  afterAll(async () => {
    haproxy?.kill("SIGKILL");
    for (const { gateway, pid } of places) {
      if (pid !== gateway.pid) process.kill(pid, "SIGKILL");
      gateway.kill();
    }
    await Promise.all([...stores, sentinel, s3].map((server) => server?.stop()));
    for (const server of [origin, directory, source, challenges]) server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** One text for all: what differs is in the environment of each. */
  const configText = (): string => {
    const server = {
      ...{ host: "127.0.0.1", port: "${HTTP_PORT}", workers: 1, drain_delay: "1s", shutdown_timeout: "10s" },
      tls: { port: "${TLS_PORT}" },
      acme: {
        ...{ enabled: true, directory_url: directory.url, domains: [NAME], cache_dir: "${CACHE}" },
        ...{ ...storageOf(s3), storage_key: STORAGE_KEY },
      },
    };
    const cluster = { store: sentinel.url, master: "mymaster", node: "at ${HTTP_PORT}" };
    return `${stringify({ server, cluster })}...\n`;
  };
  const environmentOf = (http: number, tls: number) => ({
    ...{ HTTP_PORT: String(http), TLS_PORT: String(tls), CACHE: join(folder, `cache-${http}`) },
    STATE_DIRECTORY: join(folder, `state-${http}`),
  });
  const startNode = (http: number, tls: number): Promise<Gateway> => {
    mkdirSync(join(folder, `state-${http}`), { recursive: true });
    return startGateway({
      port: http,
      args: ["--config", `${source.url}/config.yaml`, "--routes=", "--poll", "1s"],
      env: environmentOf(http, tls),
    });
  };
  const serialsOf = () =>
    Promise.all(
      places.map(async ({ tls }) => {
        const { issuer, serialNumber } = await shownCertificate(tls, NAME);
        return `${issuer} ${serialNumber}`;
      }),
    );
  /** All show one certificate of the authority. @param not that of before */
  const allShowOne = (not = "") =>
    eventually(async () => {
      const [first, ...others] = await serialsOf();
      expect(first).toStartWith("CN=directory");
      expect(first).not.toBe(not);
      for (const other of others) expect(other).toBe(first!);
      return first!;
    }, PATIENCE_MS);
  const metricOf = async (place: Place, name: string): Promise<number> => {
    const reply = await exchangeOnce(place.http, request("GET /metrics"));
    return Number(new RegExp(`^${name} (\\S+)`, "m").exec(reply.text)?.[1] ?? Number.NaN);
  };
  const allServe = () =>
    eventually(async () => {
      for (const place of places) {
        expect(await metricOf(place, "gateway_cluster_nodes")).toBe(NODES);
        expect(await metricOf(place, "gateway_cluster_store_up")).toBe(1);
      }
    }, PATIENCE_MS);
  /** Waits until so many requests more have been answered. */
  const more = async (count: number): Promise<void> => {
    const mark = load.counts.answered + load.counts.limited;
    await eventually(
      () => expect(load.counts.answered + load.counts.limited).toBeGreaterThan(mark + count),
      PATIENCE_MS,
    );
  };
  const says = (what: string): void => console.log(`${what}: ${load}`);

  test("a gateway that is asked to end drains, and another takes its place", async () => {
    const place = places[0]!;
    place.gateway.signal("SIGTERM");
    expect(await place.gateway.exited(PATIENCE_MS)).toBe(0);
    place.gateway.kill();
    await more(100);
    place.gateway = await startNode(place.http, place.tls);
    place.pid = place.gateway.pid;
    await allServe();
    says("ended with SIGTERM");
  }, 60_000);

  test("a gateway that is killed is missed by its neighbours alone", async () => {
    const place = places[1]!;
    place.gateway.signal("SIGKILL");
    await place.gateway.exited(PATIENCE_MS);
    place.gateway.kill();
    await more(200);
    place.gateway = await startNode(place.http, place.tls);
    place.pid = place.gateway.pid;
    await more(50);
    says("killed with SIGKILL");
  }, 60_000);

  test("binaries are replaced, one after the other", async () => {
    for (const place of places) {
      place.gateway.signal("SIGUSR2");
      const line = await place.gateway.log("the successor", ({ event, ok }) => event === "upgrade" && ok === true);
      expect(await place.gateway.exited(PATIENCE_MS)).toBe(0);
      place.pid = Number(line.successor);
      await more(30);
    }
    says("replaced with SIGUSR2");
  }, 90_000);

  test("the store fails over", async () => {
    await stores[0]!.stop();
    await eventually(async () => expect(await stores[1]!.command("ROLE")).toContain("master"), PATIENCE_MS);
    await allServe();
    await more(100);
    says("store failed over");
  }, 60_000);

  test("the certificate is renewed, by one of them for all", async () => {
    const [before] = await serialsOf();
    const orders = directory.orders.length;
    const config = join(folder, "certs.yaml");
    writeFileSync(config, configText());
    const env = environmentOf(places[0]!.http, places[0]!.tls);
    const marked = await runEdge(["certs", "renew", NAME, "--config", config], { env });
    expect([marked.code, marked.stderr]).toEqual([0, ""]);
    await allShowOne(before);
    if (s3 !== null) expect(s3.objects().length).toBeGreaterThan(0);
    expect(directory.orders.length).toBe(orders + 1);
    await more(50);
    says(`certificate renewed, storage ${s3 === null ? "Redis" : "S3"}`);
  }, 60_000);

  test("a configuration is rolled out, one that is faulty is refused, and all go back", async () => {
    const versions = () =>
      Promise.all(places.map(async ({ http }) => (await exchangeOnce(http, request("GET /version"))).text));
    const roll = async (version: string) => {
      source.put(configText(), routesText(origin, version));
      await eventually(async () => expect(new Set(await versions())).toEqual(new Set([version])), PATIENCE_MS);
    };
    await roll("two");
    source.put(configText(), "- {path: /x, type: nonsense}\n...\n");
    for (const { gateway } of places)
      await gateway.log("the refusal", ({ event, ok }) => event === "config_reload" && ok === false);
    expect(new Set(await versions())).toEqual(new Set(["two"]));
    await roll("one");
    await more(50);
    says("configuration rolled out and back");
  }, 60_000);

  test("nothing was lost", async () => {
    const counts = await load.stop();
    console.log(`the whole run: ${load}; statuses ${JSON.stringify([...load.statuses])}`);
    const lines = (await Bun.file(join(folder, "haproxy.log")).text()).split("\n");
    // What HAProxy says of a refusal, and of servers that it took out.
    if (counts.refused > 0) console.log(lines.filter((line) => / 5\d\d |DOWN|UP/.test(line)).join("\n"));
    expect(counts).toMatchObject({ refused: 0, lost: 0, unreached: 0 });
    expect(counts.answered + counts.limited).toBe(counts.sent);
    expect(counts.limited).toBeGreaterThan(0);
  }, 60_000);
});

function routesText(origin: EchoOrigin, version: string): string {
  const limit = { requests: LIMIT, window: "1s", key: "route", scope: "cluster" };
  const routes = [
    upstream("/node", origin, { rate_limit: limit }),
    { type: "respond", path: "/version", body: version },
  ];
  return `${stringify(routes)}...\n`;
}

function storageOf(s3: S3Server | null): object {
  if (s3 === null) return { storage: "redis" };
  const { bucket, endpoint, accessKeyId, secretAccessKey } = s3;
  return {
    ...{ storage: `s3://${bucket}/fleet`, storage_endpoint: endpoint, storage_region: "us-east-1" },
    storage_credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  };
}

/** Two servers, the second of them the replica of the first, and the sentinel that watches them. */
async function watch([first, second]: readonly RedisServer[], sentinel: RedisServer): Promise<void> {
  await second!.command("REPLICAOF", "127.0.0.1", String(first!.port));
  await eventually(async () => expect(await second!.command("INFO", "replication")).toContain("master_link_status:up"));
  await sentinel.command("SENTINEL", "MONITOR", "mymaster", "127.0.0.1", String(first!.port), "1");
  await sentinel.command("SENTINEL", "SET", "mymaster", "down-after-milliseconds", "500");
  await eventually(
    async () => expect(await sentinel.command("SENTINEL", "REPLICAS", "mymaster")).toContain("slave"),
    PATIENCE_MS,
  );
}

/**
 * HAProxy speaks TLS with the gateways, and asks for their health. A GET whose connection is refused, or closed before the first byte of a
 * response, goes to another gateway: what a gateway that was killed had begun to answer is all that can be lost.
 */
function balancer(front: number, places: readonly Place[]): string {
  const servers = places.map(({ http, tls }, i) => {
    // In clear: a handshake would have to be over within `inter`, which it is not on a machine that is slow.
    const check = `check port ${http} no-check-ssl inter 200ms fall 2 rise 1`;
    return `  server e${i} 127.0.0.1:${tls} ssl verify none sni str(${NAME}) ${check}`;
  });
  return `
global
  maxconn 200
  log stdout format raw local0
defaults
  mode http
  log global
  option httplog
  timeout connect 2s
  timeout client 30s
  timeout server 30s
  # Of a machine that is slow, not all gateways are down.
  timeout check 10s
  retries 3
  option redispatch 1
  retry-on conn-failure empty-response
frontend front
  bind 127.0.0.1:${front}
  default_backend fleet
backend fleet
  balance roundrobin
  option httpchk GET /health
${servers.join("\n")}
`;
}
