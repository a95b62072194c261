// docs/sidecar.md#workload-api
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { runEdge } from "../harness/gateway.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { startSidecar } from "../harness/sidecar.ts";
import { SpiffeAgent } from "../harness/spiffe-agent.ts";
import { TlsClient } from "../harness/tls-client.ts";

const ID = "spiffe://mesh/ns/shop/sa/orders";
const WEB = "spiffe://mesh/ns/shop/sa/web";
const folder = mkdtempSync(join(tmpdir(), "edge-spiffe-"));
const socket = join(folder, "agent.sock");
const mesh = await MeshAuthority.make();
const next = await MeshAuthority.make("next");
const web = await mesh.issue({ name: "web", id: WEB });
const first = { id: ID, own: await mesh.issue({ name: "orders", id: ID }), bundle: mesh.pem };
const server = await mesh.issue({ name: "server", id: WEB, dnsNames: ["elsewhere"] });
const origin = await H2EchoOrigin.start({ ...server, clientCa: mesh.pem });
const app = EchoOrigin.start();
const { gateway, ingress, egress } = await startSidecar({
  app_port: app.port,
  strict_mtls: true,
  workload_api: `unix://${socket}`,
  server_ids: ["spiffe://mesh/ns/shop/*"],
  traffic_splits: [{ prefix: "/out", backends: [{ target: `h2://localhost:${origin.port}` }] }],
});
const agents: SpiffeAgent[] = [];
afterAll(async () => {
  await gateway.stop();
  for (const agent of agents) agent.stop();
  for (const one of [origin, app]) one.stop();
  rmSync(folder, { recursive: true, force: true });
});

const into = (as: object) => TlsClient.once(ingress, request("GET /x"), as).catch(() => null);
const out = async () => (await exchangeOnce(egress, request("GET /out/x"))).status;
const lines = (ok: boolean) => gateway.logs.json.filter((line) => line.event === "workload_identity" && line.ok === ok);

describe("in this order", () => {
  test("with the agent away nobody comes in, no server is trusted, and one line says why", async () => {
    await gateway.log("the failure", (line) => line.event === "workload_identity" && line.ok === false);
    expect(await into(web)).toBeNull();
    expect(await out()).toBe(502);
    expect(lines(false).map(({ error }) => error)).toEqual(["ENOENT"]);
  });

  test("its identity is taken when it is there", async () => {
    const agent = await SpiffeAgent.start(socket);
    agents.push(agent);
    agent.give(first);
    const line = await gateway.log("the identity", (one) => one.event === "workload_identity" && one.ok === true);
    expect(line.identity).toBe(ID);
    await eventually(async () => expect((await into(web))?.status).toBe(200));
    const echo = json<Echo>((await into(web))!);
    expect(echo.headers["x-forwarded-client-cert"]).toContain(`URI=${WEB}`);
    await eventually(async () => expect(await out()).toBe(200));
    expect(agent.unmarked).toBe(0);
  });

  test("a new certificate is used for new connections, and drops none", async () => {
    const kept = await TlsClient.open(ingress, web);
    expect((await kept.exchange(request("GET /x"))).status).toBe(200);
    const own = await mesh.issue({ name: "orders2", id: ID });
    agents[0]!.give({ ...first, own, bundle: mesh.pem + next.pem });
    await eventually(async () => expect((await shownCertificate(ingress, "x")).subject).toContain("orders2"));
    expect((await kept.exchange(request("GET /x"))).status).toBe(200);
    expect(await out()).toBe(200);
    const late = await next.issue({ name: "late", id: WEB });
    expect((await into(late))?.status).toBe(200);
    kept.close();
  });

  test("an authority that has left the bundle is trusted no more", async () => {
    const own = await next.issue({ name: "orders3", id: ID });
    agents[0]!.give({ id: ID, own, bundle: next.pem });
    const late = await next.issue({ name: "late", id: WEB });
    await eventually(async () => expect((await into(late))?.status).toBe(200));
    await eventually(async () => expect(await into(web)).toBeNull());
    await eventually(async () => expect(await out()).toBe(502));
    agents[0]!.give(first);
    await eventually(async () => expect((await into(web))?.status).toBe(200));
  });

  test("what cannot be used changes nothing", async () => {
    const before = lines(true).length;
    agents[0]!.give({ ...first, own: await mesh.issue({ name: "other", id: WEB }) });
    const line = await gateway.log(
      "the refusal",
      (one) => one.event === "workload_identity" && String(one.error).includes("another id"),
    );
    expect(line.ok).toBe(false);
    agents[0]!.give(first);
    agents[0]!.sendMessage(new Uint8Array([0x0a, 0xff]));
    expect((await into(web))?.status).toBe(200);
    expect(lines(true).length).toBe(before);
  });

  test("while the agent is away the last identity stays, and it is asked again", async () => {
    const { calls } = agents[0]!;
    agents[0]!.stop();
    expect((await into(web))?.status).toBe(200);
    expect(await out()).toBe(200);
    await agents[0]!.resume();
    await eventually(() => expect(agents[0]!.calls).toBeGreaterThan(calls), 20_000);
    const own = await mesh.issue({ name: "orders4", id: ID });
    agents[0]!.give({ ...first, own });
    await eventually(async () => expect((await shownCertificate(ingress, "x")).subject).toContain("orders4"));
  });

  test.each(["reset", "sendHuge"] as const)(
    "after %s of its stream it is asked again, and what it gives then counts",
    async (harm) => {
      const agent = agents[0]!;
      const { calls } = agent;
      agent[harm]();
      expect((await into(web))?.status).toBe(200);
      await eventually(() => expect(agent.calls).toBeGreaterThan(calls), 20_000);
      agent.give({ ...first, own: await mesh.issue({ name: `after-${harm}`, id: ID }) });
      await eventually(async () => expect((await shownCertificate(ingress, "x")).subject).toContain(`after-${harm}`));
    },
  );

  test("the end of the certificate is a metric", async () => {
    const samples = await gateway.samples();
    const own = samples.filter(({ name }) => name === "gateway_certificate_not_after_seconds");
    expect(own.length).toBeGreaterThan(0);
  });
});

test("a start waits for the identity, and a reload goes over to files and back", async () => {
  const path = join(folder, "second.sock");
  const agent = await SpiffeAgent.start(path);
  agents.push(agent);
  agent.give(first);
  const settings = { mode: "ingress", app_port: app.port, strict_mtls: true };
  const own = await mesh.issue({ name: "from-files", id: ID });
  const started = await startSidecar(
    { ...settings, workload_api: `unix:${path}` },
    { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": mesh.pem },
  );
  expect((await shownCertificate(started.ingress, "x")).subject).toContain("orders");
  const subject = async () => (await shownCertificate(started.ingress, "x")).subject;
  const file = join(started.gateway.folder, "config.yaml");
  const text = readFileSync(file, "utf8");
  const files = "$1cert_file: cert.pem\n$1key_file: key.pem\n$1ca_file: ca.pem";
  writeFileSync(file, text.replace(/( *)workload_api: .*/, files));
  started.gateway.signal("SIGHUP");
  await eventually(async () => expect(await subject()).toContain("from-files"));
  expect((await TlsClient.once(started.ingress, request("GET /x"), web)).status).toBe(200);
  writeFileSync(file, text);
  started.gateway.signal("SIGHUP");
  await eventually(async () => expect(await subject()).toContain("orders"));
  expect((await TlsClient.once(started.ingress, request("GET /x"), web)).status).toBe(200);
  await started.gateway.stop();
});

test("files beside the agent are an error of the configuration", async () => {
  const sidecar = { enabled: true, app_port: 9000, workload_api: "unix:///run/a.sock", ca_file: "ca.pem" };
  const { stdout, stderr } = await runEdge(["check"], { config: { sidecar }, files: { "ca.pem": mesh.pem } });
  expect(stdout + stderr).toContain("gives certificate, key and authorities: remove ca_file");
});
