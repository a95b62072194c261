// docs/acme.md, against the authority that people run for their own networks. Beside Pebble (acme.test.ts) it has no ARI, keeps
// accounts in a database, and gives certificates that live for hours.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { NameServer } from "../harness/name-server.ts";
import { request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { TlsClient } from "../harness/tls-client.ts";
import { StepCa, stepCa } from "./step-ca.ts";

const binary = await stepCa();
const NAMES = ["a.example.test", "b.example.test"];

describe.skipIf(binary === null)("with step-ca", () => {
  let names: NameServer;
  let ca: StepCa;
  let gateway: Gateway | null = null;
  let round = 0;

  beforeAll(async () => {
    names = await NameServer.start();
    for (const name of [...NAMES, "c.example.test"]) names.zones.set(name, { addresses: ["127.0.0.1"], ttl: 60 });
    ca = await StepCa.start(binary!, names, "90s");
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = null;
  });
  afterAll(async () => {
    await ca.stop();
    names.stop();
  });

  async function start(acme: object): Promise<Gateway> {
    const settings = {
      enabled: true,
      directory_url: ca.directoryUrl,
      ca_file: ca.caFile,
      email: "admin@example.test",
      domains: NAMES,
      cache_dir: join(ca.folder, `cache${++round}`),
      ...acme,
    };
    const server = { workers: 2, tls: { port: ca.tlsPort }, acme: settings };
    gateway = await startGateway({ port: ca.httpPort, config: { server } });
    return gateway;
  }

  const shown = (name: string = NAMES[0]!) => shownCertificate(ca.tlsPort, name);
  const isObtained = (line: Record<string, unknown>) => line.event === "cert_obtained";

  test.each(["http-01", "tls-alpn-01"])("%s proves several names", async (challenge_type) => {
    const edge = await start({ challenge_type });
    await edge.log("the certificate", isObtained);
    await eventually(async () => expect((await shown()).issuer).toBe("CN=Step Intermediate"));
    expect((await shown(NAMES[1])).subjectAltName).toBe(NAMES.map((name) => `DNS:${name}`).join(", "));
    expect(edge.logs.json.filter(({ event }) => event === "cert_failed")).toEqual([]);
  });

  test.each(["p384", "rsa2048"])("a key of the type %s", async (key_type) => {
    const edge = await start({ key_type, domains: ["c.example.test"] });
    await edge.log("the certificate", isObtained);
    const type = key_type === "p384" ? "ec" : "rsa";
    await eventually(async () => expect((await shown("c.example.test")).publicKey.asymmetricKeyType).toBe(type));
  });

  // A challenge that fails stays pending there, since it may be tried again: the wait for it is over after 20 seconds.
  longTest(
    "a name that cannot be proven is named, and the other gets its certificate",
    async () => {
      const edge = await start({ domains: [NAMES[0], "nowhere.example.test"] });
      const isFailed = (line: Record<string, unknown>) => line.event === "cert_failed";
      const line = await edge.logs.until("the failure", isFailed as never, 60_000);
      expect((line as Record<string, unknown>).refused).toEqual(["nowhere.example.test"]);
      await eventually(async () => expect((await shown()).issuer).toBe("CN=Step Intermediate"), 30_000);
    },
    120_000,
  );

  longTest(
    "certificates of 90 seconds are renewed in time, while a connection stays",
    async () => {
      const edge = await start({});
      await edge.log("the certificate", isObtained);
      await eventually(async () => expect((await shown()).issuer).toBe("CN=Step Intermediate"));
      const { serialNumber } = await shown();
      const client = await TlsClient.open(ca.tlsPort, { serverName: NAMES[0]! });
      await edge.logs.until("the renewal", (line) => (line as { event?: string }).event === "cert_renewed", 120_000);
      await eventually(async () => expect((await shown()).serialNumber).not.toBe(serialNumber));
      expect((await client.exchange(request("GET /health"))).status).toBe(200);
      client.close();
    },
    150_000,
  );

  test("revoke tells it that a certificate is void", async () => {
    const edge = await start({ challenge_type: "http-01" });
    await edge.log("the certificate", isObtained);
    const { code, stdout, stderr } = await runEdge(
      ["certs", "revoke", NAMES[0]!, "--config", join(edge.folder, "config.yaml")],
      {},
    );
    expect([code, stdout + stderr]).toEqual([0, expect.stringContaining(NAMES[0]!)]);
  });
});
