import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/gateway.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { OWN_FILES, type Sidecar, startSidecar } from "../harness/sidecar.ts";

const hasTools = Bun.which("openssl") !== null && Bun.which("curl") !== null;
if (!hasTools)
  console.log("skipped: a sidecar before real clients needs curl and openssl (Debian: apt install curl openssl)");

// Clients and servers that are not ours: curl and openssl, with certificates that are right, wrong, old or missing.
describe.skipIf(!hasTools)("a sidecar, curl and openssl", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-sidecar-"));
  const origin = EchoOrigin.start();
  const servers: Bun.Subprocess[] = [];
  let strict: Sidecar;
  let permissive: Sidecar;

  beforeAll(async () => {
    const mesh = await MeshAuthority.make();
    const rogue = await MeshAuthority.make("rogue");
    const certificates = {
      own: await mesh.issue({ name: "own" }),
      good: await mesh.issue({ name: "good", id: "spiffe://mesh/ns/shop/sa/web" }),
      old: await mesh.issue({ name: "old", days: -1 }),
      rogue: await rogue.issue({ name: "good" }),
    };
    writeFileSync(join(folder, "ca.pem"), mesh.pem);
    for (const [name, { cert, key }] of Object.entries(certificates)) {
      writeFileSync(join(folder, `${name}.pem`), cert);
      writeFileSync(join(folder, `${name}.key`), key);
    }
    const files = { "cert.pem": certificates.own.cert, "key.pem": certificates.own.key, "ca.pem": mesh.pem };
    const inbound = { mode: "ingress", app_port: origin.port, ...OWN_FILES };
    [strict, permissive] = await Promise.all([
      startSidecar({ ...inbound, strict_mtls: true }, files),
      startSidecar(inbound, files),
    ]);
  });
  afterAll(async () => {
    for (const server of servers) server.kill("SIGKILL");
    await Promise.all([strict.gateway.stop(), permissive.gateway.stop()]);
    origin.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The status that curl gets, or its exit code as `exit n`. */
  async function curl(port: number, ...more: readonly string[]): Promise<string> {
    const command = [
      "curl",
      "-s",
      "-o",
      "/dev/null",
      "-w",
      "%{http_code}",
      "--max-time",
      "10",
      "--cacert",
      "ca.pem",
      ...more,
    ];
    const child = Bun.spawn([...command, `https://localhost:${port}/canary`], {
      cwd: folder,
      stdout: "pipe",
      stderr: "ignore",
    });
    const status = await child.stdout.text();
    return (await child.exited) === 0 ? status : "refused";
  }
  const as = (name: string) => ["--cert", `${name}.pem`, "--key", `${name}.key`];

  test("lets in whom it should", async () => {
    expect(await curl(strict.ingress, ...as("good"))).toBe("200");
    expect(await curl(strict.ingress, "--tls-max", "1.2", ...as("good"))).toBe("200");
    for (const name of ["old", "rogue"])
      expect([name, await curl(strict.ingress, ...as(name))]).toEqual([name, "refused"]);
    expect(await curl(strict.ingress)).toBe("refused");
    expect(await curl(permissive.ingress)).toBe("200");
    expect(await curl(permissive.ingress, ...as("good"))).toBe("200");
    for (const name of ["old", "rogue"])
      expect([name, await curl(permissive.ingress, ...as(name))]).toEqual([name, "refused"]);
  });

  test.each(["-tls1", "-tls1_1"])("speaks no %s to clients", async (version) => {
    const child = Bun.spawn(
      [
        "openssl",
        "s_client",
        "-connect",
        `localhost:${strict.ingress}`,
        version,
        "-cipher",
        "ALL:@SECLEVEL=0",
        "-cert",
        "good.pem",
        "-key",
        "good.key",
      ],
      { cwd: folder, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    );
    const [output, faults] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    expect(output + faults).toMatch(/protocol version|alert number 70/i);
  });

  /** An openssl server that asks for a certificate of the mesh; it answers every GET. */
  function serve(name: string, version: string): number {
    const port = freePort();
    const flags = [
      "-www",
      "-accept",
      `127.0.0.1:${port}`,
      version,
      "-cipher",
      "ALL:@SECLEVEL=0",
      "-Verify",
      "1",
      "-CAfile",
      "ca.pem",
    ];
    servers.push(
      Bun.spawn(
        ["openssl", "s_server", "-cert", `${name}.pem`, "-key", `${name}.key`, "-verify_return_error", ...flags],
        {
          cwd: folder,
          stdin: "ignore",
          stdout: "ignore",
          stderr: "ignore",
        },
      ),
    );
    return port;
  }

  test("shows its certificate to upstreams, and trusts those alone that it should", async () => {
    const ports = {
      good: serve("good", "-tls1_2"),
      newer: serve("good", "-tls1_3"),
      older: serve("good", "-tls1_1"),
      old: serve("old", "-tls1_2"),
      rogue: serve("rogue", "-tls1_2"),
    };
    const files = Object.fromEntries(
      await Promise.all(
        [
          ["cert.pem", "own.pem"],
          ["key.pem", "own.key"],
          ["ca.pem", "ca.pem"],
        ].map(async ([to, from]) => [to!, await Bun.file(join(folder, from!)).text()]),
      ),
    ) as Record<string, string>;
    const traffic_splits = Object.entries(ports).map(([name, port]) => ({
      prefix: `/${name}`,
      backends: [{ target: `https://localhost:${port}` }],
    }));
    const bearing = await startSidecar({ mode: "egress", ...OWN_FILES, traffic_splits }, files);
    const bare = await startSidecar({ mode: "egress", ca_file: "ca.pem", traffic_splits }, files);
    const status = async (sidecar: Sidecar, name: string) =>
      (await exchangeOnce(sidecar.egress, request(`GET /${name}`))).status;
    await eventually(async () => expect(await status(bearing, "good")).toBe(200), 30_000);
    expect(await status(bearing, "newer")).toBe(200);
    for (const name of ["older", "old", "rogue"]) expect([name, await status(bearing, name)]).toEqual([name, 502]);
    expect(await status(bare, "good")).toBe(502);
    await Promise.all([bearing.gateway.stop(), bare.gateway.stop()]);
  }, 60_000);
});
