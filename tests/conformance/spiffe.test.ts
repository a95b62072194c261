// docs/sidecar.md#workload-api, with SPIFFE's own library for Go as agent, as client and as server.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { shownCertificate } from "../harness/shown-certificate.ts";
import { type Sidecar, startSidecar } from "../harness/sidecar.ts";

const ORDERS = "spiffe://mesh/ns/shop/sa/orders";
const WEB = "spiffe://mesh/ns/shop/sa/web";
const BUILD_MS = 180_000;
const folder = mkdtempSync(join(tmpdir(), "edge-spiffe-go-"));
const binary = await buildPeer();

/** Builds the program; null where Go or its modules cannot be had, which is said in one line. */
async function buildPeer(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  const built = join(folder, "peer");
  const env = { ...process.env, GOTOOLCHAIN: "local", CGO_ENABLED: "0" };
  const cwd = join(import.meta.dir, "spiffe-go");
  const build =
    go === undefined
      ? null
      : Bun.spawn([go, "build", "-o", built, "."], { cwd, env, stdout: "ignore", stderr: "ignore", timeout: BUILD_MS });
  if (build !== null && (await build.exited) === 0) return built;
  console.log("skipped: SPIFFE's library for Go needs go (Debian: apt install golang) and its modules");
  return null;
}

describe.skipIf(binary === null)("with go-spiffe", () => {
  const children: Bun.Subprocess[] = [];
  const app = EchoOrigin.start();
  const agentOfEdge = join(folder, "edge.sock");
  const agentOfWeb = join(folder, "web.sock");
  let mesh: MeshAuthority;
  let sidecar: Sidecar;
  let edgeAgent: Bun.Subprocess;

  function put(name: string, { cert, key }: TestCertificate): [chain: string, key: string] {
    const files: [string, string] = [join(folder, `${name}.pem`), join(folder, `${name}-key.pem`)];
    writeFileSync(files[0], cert);
    writeFileSync(files[1], key);
    return files;
  }

  /** Starts the program, and waits for its first line. */
  async function start(...args: string[]): Promise<[Bun.Subprocess, string]> {
    const child = Bun.spawn([binary!, ...args], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    children.push(child);
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    return [child, new TextDecoder().decode(value).trim()];
  }

  async function call(id: string): Promise<string> {
    const url = `https://127.0.0.1:${sidecar.ingress}/x`;
    const child = Bun.spawn([binary!, "call", agentOfWeb, id, url], { stdout: "pipe", stderr: "pipe" });
    return (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  }

  beforeAll(async () => {
    mesh = await MeshAuthority.make();
    const bundle = join(folder, "bundle.pem");
    writeFileSync(bundle, mesh.pem);
    const own = put("orders", await mesh.issue({ name: "orders", id: ORDERS }));
    const web = put("web", await mesh.issue({ name: "web", id: WEB }));
    [edgeAgent] = await start("agent", agentOfEdge, ORDERS, ...own, bundle);
    await start("agent", agentOfWeb, WEB, ...web, bundle);
    const [, port] = await start("serve", agentOfWeb, ORDERS);
    sidecar = await startSidecar({
      app_port: app.port,
      strict_mtls: true,
      workload_api: `unix://${agentOfEdge}`,
      authorization: [{ identities: [WEB], methods: ["GET"], paths: ["/x"] }],
      server_ids: [WEB],
      traffic_splits: [{ prefix: "/out", backends: [{ target: `https://127.0.0.1:${port}` }] }],
    });
    await sidecar.gateway.log("the identity", (line) => line.event === "workload_identity" && line.ok === true);
  }, BUILD_MS);
  afterAll(async () => {
    await sidecar?.gateway.stop();
    for (const child of children) child.kill("SIGKILL");
    app.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("its client comes in, with an identity that the application is told", async () => {
    const reply = await call(ORDERS);
    expect(reply).toStartWith("200 ");
    expect(reply).toContain(`URI=${WEB}`);
  });

  test("it refuses the gateway under another id", async () => {
    expect(await call("spiffe://mesh/ns/shop/sa/other")).toContain("unexpected ID");
  });

  test("its server is spoken to, and sees the gateway's id", async () => {
    const reply = await exchangeOnce(sidecar.egress, request("GET /out/x"));
    expect([reply.status, reply.text]).toEqual([200, ORDERS]);
  });

  test("an identity that its agent renews is shown", async () => {
    put("orders", await mesh.issue({ name: "renewed", id: ORDERS }));
    edgeAgent.kill("SIGHUP");
    await eventually(async () => expect((await shownCertificate(sidecar.ingress, "x")).subject).toContain("renewed"));
    expect(await call(ORDERS)).toStartWith("200 ");
    expect((await exchangeOnce(sidecar.egress, request("GET /out/x"))).status).toBe(200);
  });
});
