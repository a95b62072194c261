// A fleet: four gateways behind HAProxy, one limit and one list of nodes in Redis with a sentinel, under load while gateways are ended, killed
// and replaced, the store fails over, certificates are renewed and a configuration is rolled out and back. docs/scale.md#what-fails-with-what
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { makeCertificate, type TestCertificate } from "../harness/certificate.ts";
import { CountingLoad } from "../harness/counting-load.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";

const NODES = 4;
const OFFERED = 300;
const LIMIT = 150;
const HAPROXY = Bun.which("haproxy", { PATH: `${process.env.PATH ?? ""}:/usr/sbin` });
if (HAPROXY === null) console.log("skipped: a fleet needs haproxy (Debian: apt install haproxy)");
const PATIENCE_MS = 30_000;

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
  let certificate: TestCertificate;
  let haproxy: Bun.Subprocess;
  let load: CountingLoad;

  beforeAll(async () => {
    origin.on("/work", (call) => call.reply("200 OK", [], "done"));
    certificate = await makeCertificate([{ type: "dns", value: "one.test" }]);
    stores = await Promise.all([RedisServer.start(), RedisServer.start()]);
    sentinel = await RedisServer.startSentinel();
    await watch(stores, sentinel);
    for (let i = 0; i < NODES; i++) {
      const [http, tls] = [freePort(), freePort()];
      const gateway = await startNode(http, tls);
      places.push({ http, tls, gateway, pid: gateway.pid });
    }
    const config = join(folder, "haproxy.cfg");
    writeFileSync(config, balancer(front, places));
    haproxy = Bun.spawn([HAPROXY!, "-db", "-f", config], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    process.on("exit", () => haproxy.kill("SIGKILL"));
    await allServe();
    load = new CountingLoad("/node/work", [{ port: front, connections: 16, perSecond: OFFERED }]);
    await more(100);
  }, 90_000);

  afterAll(async () => {
    haproxy?.kill("SIGKILL");
    for (const { gateway, pid } of places) {
      if (pid !== gateway.pid) process.kill(pid, "SIGKILL");
      gateway.kill();
    }
    await Promise.all([...stores, sentinel].map((server) => server?.stop()));
    origin.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const startNode = (http: number, tls: number): Promise<Gateway> =>
    startGateway({
      port: http,
      config: {
        server: {
          tls: { port: tls, cert_file: "tls/cert.pem", key_file: "tls/cert.key" },
          drain_delay: "1s",
          shutdown_timeout: "10s",
        },
        cluster: { store: sentinel.url, master: "mymaster", node: `at ${http}` },
      },
      routes: routesOf(origin, "one"),
      files: { "tls/cert.pem": certificate.cert, "tls/cert.key": certificate.key },
    });
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

  test("certificates are renewed", async () => {
    certificate = await makeCertificate([{ type: "dns", value: "two.test" }]);
    for (const place of places) {
      replace(place, "tls/cert.pem", certificate.cert);
      replace(place, "tls/cert.key", certificate.key);
      process.kill(place.pid, "SIGHUP");
      await eventually(
        async () => expect((await shownCertificate(place.tls, "x.test")).subjectAltName).toContain("two.test"),
        PATIENCE_MS,
      );
    }
    await more(50);
    says("certificates renewed");
  }, 60_000);

  test("a configuration is rolled out, one that is faulty is refused, and all go back", async () => {
    const versionAt = async ({ http }: Place) => (await exchangeOnce(http, request("GET /version"))).text;
    const roll = async (version: string) => {
      for (const place of places) {
        replace(place, "routes.yaml", stringify(routesOf(origin, version)));
        process.kill(place.pid, "SIGHUP");
        await eventually(async () => expect(await versionAt(place)).toBe(version), PATIENCE_MS);
      }
    };
    await roll("two");
    for (const place of places) {
      replace(place, "routes.yaml", "- {path: /x, type: nonsense}\n");
      process.kill(place.pid, "SIGHUP");
      await eventually(
        () =>
          expect(
            place.gateway.logs.json.filter(({ event, ok }) => event === "config_reload" && ok === false).length,
          ).toBeGreaterThan(0),
        PATIENCE_MS,
      );
      expect(await versionAt(place)).toBe("two");
    }
    await roll("one");
    await more(50);
    says("configuration rolled out and back");
  }, 60_000);

  test("nothing was lost", async () => {
    const counts = await load.stop();
    console.log(`the whole run: ${load}`);
    expect(counts).toMatchObject({ refused: 0, lost: 0, unreached: 0 });
    expect(counts.answered + counts.limited).toBe(counts.sent);
    expect(counts.limited).toBeGreaterThan(0);
  }, 60_000);
});

function routesOf(origin: EchoOrigin, version: string) {
  const limit = { requests: LIMIT, window: "1s", key: "route", scope: "cluster" };
  return [upstream("/node", origin, { rate_limit: limit }), { type: "respond", path: "/version", body: version }];
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
  const servers = places.map(
    ({ tls }, i) => `  server e${i} 127.0.0.1:${tls} ssl verify none check inter 200ms fall 1 rise 1`,
  );
  return `
global
  maxconn 200
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
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

function replace({ gateway }: Place, name: string, text: string): void {
  const path = join(gateway.folder, name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
