// A store over TLS, with a user that may do what a fleet needs and nothing else. docs/fleet.md#the-store
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AcmeDirectory } from "../harness/acme-directory.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";

/** As docs/fleet.md has it. */
const RIGHTS =
  "~edge:* -@all +hello +auth +select +info +role +time +eval +evalsha +get +set +del +zadd +zrem +zcount +zrangebyscore +zremrangebyscore +xadd +xrange +xrevrange";

/** And what certificates need beside, likewise. */
const CERTIFICATE_RIGHTS = "~{edge:certs}* +hget +hset +hmget +sadd +smembers +pexpire";

describe.skipIf(REDIS === null)("a store over TLS with users", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-redis-tls-"));
  const { cert, key } = await makeCertificate();
  const other = await makeCertificate();
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const port = freePort();
  const redis =
    REDIS === null
      ? null!
      : await RedisServer.start([
          ...["--tls-port", String(port), "--tls-cert-file", certFile, "--tls-key-file", keyFile],
          ...["--tls-ca-cert-file", certFile, "--tls-auth-clients", "no"],
          ...["--user", "edge", "on", ">hunter2", ...RIGHTS.split(" ")],
          ...["--user", "certs", "on", ">hunter2", ...RIGHTS.split(" "), ...CERTIFICATE_RIGHTS.split(" ")],
        ]);
  afterAll(async () => {
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (credentials: string, ca: string): Promise<Gateway> =>
    startGateway({
      config: { cluster: { store: `rediss://${credentials}@127.0.0.1:${port}`, ca_file: "ca.pem" } },
      routes: [
        { type: "respond", path: "/ten", body: "x", rate_limit: { requests: 10, window: "1h", scope: "cluster" } },
      ],
      files: { "ca.pem": ca },
    });
  const statuses = async (gateway: Gateway, count: number) => {
    const found: number[] = [];
    for (let i = 0; i < count; i++) found.push((await gateway.once(request("GET /ten"))).status);
    return found;
  };

  test("is used, with the rights that the documentation names", async () => {
    const gateway = await start("edge:hunter2", cert);
    await eventually(async () => expect(await gateway.metric("gateway_cluster_store_up")).toBe(1));
    expect((await statuses(gateway, 12)).filter((status) => status === 200).length).toBe(10);
    await eventually(async () => expect(await redis.command("KEYS", "edge:limit:*")).not.toBe(""));
    const purge = ["Content-Type: application/json"];
    await gateway.once(request("POST /internal/api/cache/purge", purge, JSON.stringify({ all: true })));
    expect(await redis.command("ACL", "LOG")).toBe("");
    await gateway.stop();
    expect(await redis.command("ZCARD", "edge:nodes")).toBe("0");
  });

  test("keeps certificates, with the rights that they need beside", async () => {
    const directory = AcmeDirectory.start();
    const [http, tls] = [freePort(), freePort()];
    directory.challengePort = http;
    const acme = { enabled: true, directory_url: directory.url, domains: ["a.test"], cache_dir: join(folder, "cache") };
    const gateway = await startGateway({
      port: http,
      config: {
        server: {
          tls: { port: tls },
          acme: { ...acme, storage: "redis", storage_key: "0123456789abcdef0123456789abcdef-1" },
        },
        cluster: { store: `rediss://certs:hunter2@127.0.0.1:${port}`, ca_file: "ca.pem" },
      },
      files: { "ca.pem": cert },
    });
    await eventually(async () => expect((await shownCertificate(tls, "a.test")).issuer).toBe("CN=directory"));
    expect(await redis.command("ACL", "LOG")).toBe("");
    await gateway.stop();
    directory.stop();
  });

  for (const [what, credentials, ca] of [
    ["a wrong password", "edge:other", cert],
    ["a certificate that is not trusted", "edge:hunter2", other.cert],
  ] as const)
    test(`${what}: it is away, says why without the password, and no client gets an error`, async () => {
      const gateway = await start(credentials, ca);
      const line = await gateway.log("cluster_store_away", ({ event }) => event === "cluster_store_away");
      expect(JSON.stringify(line)).not.toContain(credentials.split(":")[1]!);
      expect(new Set(await statuses(gateway, 12))).toEqual(new Set([200, 429]));
      await gateway.stop();
    });
});
