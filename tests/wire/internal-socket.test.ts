// docs/endpoints.md#the-unix-socket
import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import {
  binaryWithHooks,
  EDGE_BINARY,
  freePort,
  type Gateway,
  runEdge,
  startGateway,
  upstream,
} from "../harness/gateway.ts";
import { LogFile } from "../harness/log-file.ts";
import { request } from "../harness/raw-client.ts";
import { untilGone } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const SETTINGS = { server: { workers: 2 }, internal_api: { socket: "./edge.sock", token: "a-long-token" } };
const gateway = await startGateway({ config: SETTINGS, routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

const socketOf = ({ folder }: Gateway) => join(folder, "edge.sock");

async function curl(at: Gateway, args: readonly string[]): Promise<string> {
  const run = Bun.spawn(["curl", "-sS", "--max-time", "10", "--unix-socket", socketOf(at), ...args], {
    stderr: "inherit",
  });
  return new Response(run.stdout).text();
}

const status = async (at: Gateway = gateway) => JSON.parse(await curl(at, ["http://localhost/internal/api/status"]));

test("who may open the socket needs no token; the file is for its owner alone, and goes at the end", async () => {
  expect(lstatSync(socketOf(gateway)).mode & 0o777).toBe(0o600);
  expect((await gateway.once(request("GET /internal/api/status"))).status).toBe(401);
  expect((await status()).pid).toBe(gateway.pid);
  expect(await curl(gateway, ["http://localhost/health"])).toBe('{"status":"ok"}');
  expect(JSON.parse(await curl(gateway, ["http://localhost/node"])).error).toBe("404 Not Found");
  const line = await gateway.log("the request", ({ path }) => path === "/internal/api/status");
  expect(line.client_ip === "127.0.0.1" || line.client_ip === `unix:${process.getuid!()}`).toBe(true);
});

test("an action's line names the user at the other end", async () => {
  await curl(gateway, ["--json", '{"level":"info"}', "http://localhost/internal/api/log-level"]);
  const line = await gateway.log("audit", ({ event }) => event === "audit");
  expect(line).toMatchObject({ action: "log_level", by: `uid ${process.getuid!()}`, from: "unix" });
});

test("every call is answered, whichever worker accepts it", async () => {
  for (let i = 0; i < 20; i++) expect((await status()).status).toBe("ok");
});

test("a reload changes the mode, moves the socket and takes it away", async () => {
  const moving = await startGateway({ config: SETTINGS });
  try {
    const change = async (internal_api: object): Promise<void> => {
      const config = {
        ...SETTINGS,
        server: { ...SETTINGS.server, host: "127.0.0.1", port: moving.port },
        internal_api,
      };
      writeFileSync(join(moving.folder, "config.yaml"), JSON.stringify(config));
      await moving.reload();
    };
    await change({ socket: "./edge.sock", socket_mode: "0660" });
    expect(lstatSync(socketOf(moving)).mode & 0o777).toBe(0o660);
    await change({ socket: "./other.sock" });
    expect([existsSync(socketOf(moving)), existsSync(join(moving.folder, "other.sock"))]).toEqual([false, true]);
    await change({});
    expect(existsSync(join(moving.folder, "other.sock"))).toBe(false);
    expect(moving.logs.json.findLast(({ event }) => event === "config_reload")!.removed).toEqual([
      `listener internal-socket ${join(moving.folder, "other.sock")}`,
    ]);
  } finally {
    await moving.stop();
  }
});

test("what a killed gateway has left is taken over; a socket that is in use, and a file that is none, are not", async () => {
  const first = await startGateway({ config: SETTINGS });
  try {
    const config = { internal_api: { socket: socketOf(first) } };
    const second = await runEdge(["serve"], { config });
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining("EADDRINUSE")]);
    expect((await status(first)).pid).toBe(first.pid);
    writeFileSync(join(first.folder, "plain"), "kept");
    const none = { ...config, internal_api: { socket: join(first.folder, "plain") } };
    expect((await runEdge(["serve"], { config: none })).stderr).toContain("a file that is no socket");
    process.kill(first.pid, "SIGKILL");
    await untilGone(first.pid);
    expect(existsSync(socketOf(first))).toBe(true);
    chmodSync(socketOf(first), 0o666);
    const heir = await startGateway({ config });
    expect(JSON.parse(await curl(first, ["http://localhost/internal/api/status"])).pid).toBe(heir.pid);
    expect(lstatSync(socketOf(first)).mode & 0o777).toBe(0o600);
    await heir.stop();
    expect(existsSync(socketOf(first))).toBe(false);
  } finally {
    first.kill();
  }
});

test("a reload to a path that cannot be had changes nothing", async () => {
  const staying = await startGateway({ config: SETTINGS });
  try {
    writeFileSync(join(staying.folder, "plain"), "kept");
    const server = { ...SETTINGS.server, host: "127.0.0.1", port: staying.port };
    writeFileSync(join(staying.folder, "config.yaml"), JSON.stringify({ server, internal_api: { socket: "./plain" } }));
    const line = await staying.reload();
    expect([line.ok, line.faults]).toEqual([false, [expect.stringContaining("a file that is no socket is there")]]);
    expect((await status(staying)).pid).toBe(staying.pid);
    const audit = await staying.log("audit", ({ event }) => event === "audit");
    expect(audit).toMatchObject({ action: "reload", by: "signal", from: "SIGHUP", ok: false });
    staying.signal("SIGUSR1");
    await staying.log("log_reopen", ({ event, action }) => event === "audit" && action === "log_reopen");
  } finally {
    await staying.stop();
  }
  expect(staying.logs.json.some(({ action, from }) => action === "stop" && from === "SIGTERM")).toBe(true);
});

test("neither the fields of a request nor internal_api.auth have a say in who comes by it", async () => {
  const users = { eve: await Bun.password.hash("secret", { algorithm: "bcrypt", cost: 4 }) };
  const guarded = await startGateway({
    config: {
      server: { trusted_proxies: ["0.0.0.0/0", "::/0"] },
      internal_api: { socket: "./edge.sock", auth: { basic: { users } } },
    },
  });
  try {
    const claims = [
      "-H",
      "X-Forwarded-For: 192.0.2.1",
      "-H",
      "Forwarded: for=192.0.2.2",
      "-H",
      "Host: evil.example.com",
    ];
    const path = "http://localhost/internal/api";
    expect(JSON.parse(await curl(guarded, [...claims, `${path}/status`])).pid).toBe(guarded.pid);
    await curl(guarded, [...claims, "--json", '{"level":"info"}', `${path}/log-level`]);
    const line = await guarded.log("audit", ({ event }) => event === "audit");
    expect(line).toMatchObject({ by: `uid ${process.getuid!()}`, from: "unix" });
    const foreign = [...claims, "-H", "Origin: http://evil.example.com:1", "--json", "{}", `${path}/reload`];
    expect(JSON.parse(await curl(guarded, foreign)).error).toBe("403 Forbidden");
  } finally {
    await guarded.stop();
  }
});

test("a worker that has died is replaced by one that accepts there", async () => {
  const hooked = await startGateway({ config: SETTINGS, binary: binaryWithHooks() });
  try {
    const victim = await hooked.connect();
    victim.send(request("GET /__test/crash"));
    await hooked.log("death", ({ event }) => event === "worker_died");
    for (let i = 0; i < 20; i++) expect((await status(hooked)).status).toBe("ok");
    victim.close();
  } finally {
    await hooked.stop();
  }
});

test("one that the service manager passes is used, and its file left where it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-passed-"));
  const path = join(folder, "edge.sock");
  const logs = new LogFile();
  const listener = Bun.listen({ unix: path, socket: { data() {} } });
  const config = { server: { host: "127.0.0.1", port: freePort(), workers: 2 }, internal_api: { socket: path } };
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const command = 'LISTEN_FDS=1 LISTEN_PID=$$ LISTEN_FDNAMES=internal-socket exec "$0" serve --config config.yaml';
  const { fd } = listener as unknown as { fd: number };
  const child = Bun.spawn(["sh", "-c", command, EDGE_BINARY], {
    cwd: folder,
    stdio: ["ignore", logs.fd, "inherit", fd] as never,
  });
  try {
    // The runtime removes the file with its listener: a second name of it stays.
    linkSync(path, `${path}.kept`);
    listener.stop(true);
    renameSync(`${path}.kept`, path);
    await logs.until("the start", ({ event }) => event === "listening");
    const run = Bun.spawn([
      "curl",
      "-sS",
      "--max-time",
      "10",
      "--unix-socket",
      path,
      "http://localhost/internal/api/status",
    ]);
    expect(JSON.parse(await new Response(run.stdout).text()).pid).toBe(child.pid);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect(existsSync(path)).toBe(true);
  } finally {
    child.kill("SIGKILL");
    logs.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a new binary goes on with it, and no call is lost", async () => {
  const old = await startGateway({ config: SETTINGS });
  let pid = old.pid;
  try {
    let failed = 0;
    let isOver = false;
    const calls = (async () => {
      while (!isOver) await status(old).catch(() => failed++);
    })();
    old.signal("SIGUSR2");
    const line = await old.log("the successor", ({ event, pid: one }) => event === "listening" && one !== old.pid);
    pid = line.pid as number;
    await untilGone(old.pid);
    await eventually(async () => expect((await status(old)).pid).toBe(pid));
    isOver = true;
    await calls;
    expect(failed).toBe(0);
    process.kill(pid, "SIGTERM");
    await untilGone(pid);
    expect(existsSync(socketOf(old))).toBe(false);
  } finally {
    old.kill();
  }
});

test("a new binary whose configuration names another path leaves no file behind", async () => {
  const old = await startGateway({ config: SETTINGS });
  let pid = old.pid;
  try {
    const file = join(old.folder, "config.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("./edge.sock", "./moved.sock"));
    old.signal("SIGUSR2");
    const line = await old.log("the successor", ({ event, pid: one }) => event === "listening" && one !== old.pid);
    pid = line.pid as number;
    await untilGone(old.pid);
    expect([existsSync(socketOf(old)), existsSync(join(old.folder, "moved.sock"))]).toEqual([false, true]);
    process.kill(pid, "SIGTERM");
    await untilGone(pid);
    expect(existsSync(join(old.folder, "moved.sock"))).toBe(false);
  } finally {
    old.kill();
  }
});
