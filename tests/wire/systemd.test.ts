import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, startGateway } from "../harness/gateway.ts";
import { LogFile } from "../harness/log-file.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";

const UNITS = join(import.meta.dir, "..", "..", "scripts", "systemd");
const folder = mkdtempSync(join(tmpdir(), "edge-notify-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hasNotify = Bun.which("python3") !== null && Bun.which("systemd-notify") !== null;
if (!hasNotify)
  console.error("skipped: python3 and systemd-notify are not both here, so nobody can listen to or send notifications");

describe.skipIf(!hasNotify)("Type=notify", () => {
  test("readiness, watchdog, reload and stop are told to the service manager", async () => {
    const path = join(folder, "notify.sock");
    const manager = Bun.spawn(["python3", join(import.meta.dir, "..", "harness", "notify-socket.py"), path], {
      stdout: "pipe",
      stderr: "inherit",
    });
    let heard = "";
    void (async () => {
      for await (const chunk of manager.stdout) heard += Buffer.from(chunk).toString();
    })();
    const messages = () =>
      heard
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as string);
    const count = (word: string) => messages().filter((message) => message.split("\n").includes(word)).length;
    await eventually(() => expect(messages()).toContain("listening"));
    const gateway = await startGateway({ env: { NOTIFY_SOCKET: path, WATCHDOG_USEC: "400000" } });
    await eventually(() => expect(count("READY=1")).toBe(1));
    expect(messages().find((message) => message.includes("READY=1"))).toContain(`MAINPID=${gateway.pid}`);
    await eventually(() => expect(count("WATCHDOG=1")).toBeGreaterThan(2));
    gateway.signal("SIGHUP");
    await eventually(() => expect([count("RELOADING=1"), count("READY=1")]).toEqual([1, 2]));
    gateway.signal("SIGTERM");
    await eventually(() => expect(count("STOPPING=1")).toBe(1));
    expect(await gateway.exited()).toBe(0);
    gateway.kill();
    manager.kill();
    await manager.exited;
  }, 60_000);
});

describe("socket activation", () => {
  /** Starts the gateway as a service manager does, with a listening socket as descriptor 3. */
  async function activated(
    env: string,
    workers = 1,
    sidecar: Record<string, unknown> = {},
  ): Promise<{ port: number; configured: number; logs: LogFile; stop: (early?: boolean) => Promise<number> }> {
    const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { fd } = listener as unknown as { fd: number };
    const configured = freePort();
    writeFileSync(
      join(folder, "config.yaml"),
      stringify({ server: { host: "127.0.0.1", port: configured, workers }, sidecar }),
    );
    const logs = new LogFile();
    const child = Bun.spawn(["sh", "-c", `${env} exec "$0" serve --config config.yaml`, EDGE_BINARY], {
      cwd: folder,
      stdio: ["ignore", logs.fd, "inherit", fd] as never,
    });
    const { port } = listener;
    listener.stop(true);
    return {
      port,
      configured,
      logs,
      stop: async (early = false) => {
        // Every worker listens: a signal before that meets a start.
        if (!early) await logs.until("the start", ({ event }) => event === "listening");
        child.kill("SIGTERM");
        const code = await child.exited;
        logs.close();
        return code;
      },
    };
  }

  const health = (port: number) =>
    exchangeOnce(port, request("GET /health")).then(
      (reply) => reply.status,
      () => 0,
    );

  test("LISTEN_FDS with our LISTEN_PID: the gateway serves on that socket, and opens none itself", async () => {
    const gateway = await activated("LISTEN_FDS=1 LISTEN_FDNAMES=edge.socket LISTEN_PID=$$");
    await eventually(async () => expect(await health(gateway.port)).toBe(200));
    expect(await health(gateway.configured)).toBe(0);
    expect(await gateway.stop()).toBe(0);
  });

  test("more workers than sockets share them: none opens one at the configured address", async () => {
    const gateway = await activated("LISTEN_FDS=1 LISTEN_FDNAMES=http LISTEN_PID=$$", 3);
    await eventually(async () => expect(await health(gateway.port)).toBe(200));
    for (let i = 0; i < 20; i++) expect(await health(gateway.port)).toBe(200);
    expect(await health(gateway.configured)).toBe(0);
    expect(await gateway.logs.until("the start", ({ event }) => event === "listening")).toMatchObject({
      port: gateway.port,
    });
    expect(await gateway.stop()).toBe(0);
  });

  test("a signal while workers are starting ends each of them once, and takes no descriptor of another", async () => {
    for (let i = 0; i < 4; i++) {
      const gateway = await activated("LISTEN_FDS=1 LISTEN_FDNAMES=http LISTEN_PID=$$", 3);
      await eventually(async () => expect(await health(gateway.port)).toBe(200));
      expect(await gateway.stop(true)).toBe(0);
      expect(gateway.logs.json.filter(({ event }) => event === "worker_died")).toEqual([]);
    }
  }, 30_000);

  test("a sidecar does not speak to the socket either, which may be at another port than the configuration says", async () => {
    const egress = freePort();
    const settings = { enabled: true, mode: "egress", egress_port: egress, app_port: freePort() };
    const gateway = await activated("LISTEN_FDS=1 LISTEN_FDNAMES=http LISTEN_PID=$$", 2, settings);
    await eventually(async () => expect(await health(gateway.port)).toBe(200));
    const outbound = request("GET /health", [`Host: 127.0.0.1:${gateway.port}`]);
    await eventually(async () => expect((await exchangeOnce(egress, outbound)).status).toBe(508));
    expect(await gateway.stop()).toBe(0);
  });

  test("somebody else's LISTEN_PID: the gateway opens its own", async () => {
    const gateway = await activated("LISTEN_FDS=1 LISTEN_PID=1");
    await eventually(async () => expect(await health(gateway.configured)).toBe(200));
    expect(await gateway.stop()).toBe(0);
  });
});

const analyze = Bun.which("systemd-analyze");
if (analyze === null) console.error("skipped: systemd-analyze is not here to verify the unit files");

test.skipIf(analyze === null)(
  "the unit files are in order",
  async () => {
    // Verification wants the program to be there; everything else is as shipped.
    for (const unit of ["edge.service", "edge.socket"]) {
      expect(existsSync(join(UNITS, unit))).toBe(true);
      const text = (await Bun.file(join(UNITS, unit)).text()).replaceAll("/usr/local/bin/edge", "/bin/true");
      writeFileSync(join(folder, unit), text);
    }
    // The manual page comes with the packages.
    const command = [analyze!, "verify", "--man=no", join(folder, "edge.service"), join(folder, "edge.socket")];
    const child = Bun.spawn(command, {
      stdout: "pipe",
      stderr: "pipe",
      timeout: 45_000,
    });
    const said = (await child.stdout.text()) + (await child.stderr.text());
    const ours = said.split("\n").filter((line) => line.includes("edge.s"));
    expect(ours).toEqual([]);
  },
  60_000,
);
