// docs/security.md#tls-and-client-certificates: `server.port: off` serves nothing in clear text.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { LogFile } from "../harness/log-file.ts";
import { json, request } from "../harness/raw-client.ts";
import { TlsClient } from "../harness/tls-client.ts";

const { cert, key } = await makeCertificate();
const files = { "cert.pem": cert, "cert.key": key };
const folder = mkdtempSync(join(tmpdir(), "edge-off-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const server = (port: unknown, tlsPort: number) => ({
  host: "127.0.0.1",
  port,
  workers: 2,
  tls: { port: tlsPort, cert_file: "cert.pem", key_file: "cert.key" },
});

/** TCP ports at which a process listens. */
function listenersOf(pid: number): number[] {
  const { stdout } = Bun.spawnSync(["ss", "-Hltnp"]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line.includes(`pid=${pid},`))
    .map((line) => Number(/:(\d+)\s/.exec(line)?.[1]));
}

describe("server.port: off", () => {
  test("opens no port but that of TLS, and says so", async () => {
    const tlsPort = freePort();
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, "config.yaml"), stringify({ server: server("off", tlsPort) }));
    const log = new LogFile();
    const child = Bun.spawn([EDGE_BINARY, "serve"], { cwd: folder, stdin: "ignore", stdout: log.fd, stderr: "ignore" });
    const line = await log.until("it listens", ({ event }) => event === "listening");
    expect([line.port, line.tls_port]).toEqual([undefined, tlsPort]);
    if (Bun.which("ss") !== null) expect([...new Set(listenersOf(child.pid))]).toEqual([tlsPort]);
    const reply = await TlsClient.once(tlsPort, request("GET /internal/api/status"));
    expect([reply.status, json(reply).port]).toEqual([200, tlsPort]);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    log.close();
  }, 30_000);

  test("is taken up by a reload, and given up by the next", async () => {
    const tlsPort = freePort();
    const gateway = await startGateway({ config: { server: { tls: server(0, tlsPort).tls } }, files });
    const reload = async (port: unknown) => {
      const count = gateway.logs.json.filter(({ event }) => event === "config_reload").length;
      writeFileSync(join(gateway.folder, "config.yaml"), stringify({ server: server(port, tlsPort) }));
      gateway.signal("SIGHUP");
      return eventually(() => {
        const lines = gateway.logs.json.filter(({ event }) => event === "config_reload");
        expect(lines.length).toBe(count + 1);
        return lines.at(-1)!;
      });
    };
    const line = await reload("off");
    expect([line.ok, line.removed]).toEqual([true, [`listener http 127.0.0.1:${gateway.port}`]]);
    await eventually(async () => {
      const client = await gateway.connect().catch(() => null);
      client?.close();
      expect(client).toBeNull();
    });
    expect((await TlsClient.once(tlsPort, request("GET /health"))).status).toBe(200);
    expect((await reload(gateway.port)).ok).toBe(true);
    await eventually(async () => expect((await gateway.once(request("GET /health"))).status).toBe(200));
    await gateway.stop();
  }, 60_000);

  test("closes a socket in clear that the service manager hands over", async () => {
    const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { fd } = listener as unknown as { fd: number };
    const tlsPort = freePort();
    writeFileSync(join(folder, "config.yaml"), stringify({ server: server("off", tlsPort) }));
    const log = new LogFile();
    const child = Bun.spawn(["sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve', EDGE_BINARY], {
      cwd: folder,
      stdio: ["ignore", log.fd, "ignore", fd],
    });
    listener.stop(true);
    await log.until("it listens", ({ event }) => event === "listening");
    const refused = await Bun.connect({ hostname: "127.0.0.1", port: listener.port, socket: { data() {} } }).then(
      (socket) => {
        socket.terminate();
        return false;
      },
      () => true,
    );
    expect(refused).toBe(true);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    log.close();
  }, 30_000);
});

describe("edge check", () => {
  const routes = [{ type: "upstream", prefix: "/", target: "http://127.0.0.1:1" }];
  const check = async (own: Record<string, unknown>, withRoutes = routes) =>
    runEdge(["check"], { config: { server: own }, routes: withRoutes, files: { ...files, "ca.pem": cert } });

  test("lists no http:// and reads back what it lists", async () => {
    const { code, stdout, stderr } = await check(server("off", 8443));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Listens on https://127.0.0.1:8443,");
    const printed = await runEdge(["check", "--print"], { config: { server: server(false, 8443) }, files });
    expect(printed.stdout).toMatch(/^ {2}port: "?off"?$/m);
  });

  test("refuses off where nothing else would listen, and a challenge that needs clear text", async () => {
    const nothing = await check({ port: "off" });
    expect([nothing.code, nothing.stderr]).toEqual([
      1,
      expect.stringContaining("server.port: is off, and nothing else listens"),
    ]);
    const acme = { enabled: true, domains: ["a.example.com"], email: "a@example.com", cache_dir: "./certs" };
    const challenge = await check({ ...server("off", 8443), acme });
    expect([challenge.code, challenge.stderr]).toEqual([1, expect.stringContaining("use tls-alpn-01")]);
  });

  test("warns of routes in clear text where TLS asks for a client certificate", async () => {
    const tls = { ...server(0, 8443).tls, client_auth: "require", client_ca_file: "ca.pem" };
    const warning = "server.tls.client_auth: does not protect server.port";
    expect((await check({ port: 8080, tls })).stderr).toContain(warning);
    for (const fine of [
      await check({ port: "off", tls }),
      await check({ port: 8080, tls: { ...tls, redirect_http: true } }),
      await check({ port: 8080, tls: { ...tls, client_auth: "request" } }),
      await check({ port: 8080, tls }, []),
    ]) {
      expect([fine.code, fine.stderr]).toEqual([0, ""]);
    }
  });
});
