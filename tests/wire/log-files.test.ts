// Files of the access log that are not there yet, or cannot be written; and a start whose every line is JSON.
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, EDGE_BINARY, freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";

const gateway = await startGateway({
  config: { server: { access_log: { outputs: [{ file: "./logs/deep/access.log" }] } } },
  routes: [{ type: "respond", prefix: "/x", body: "hi" }],
});
const folder = join(gateway.folder, "logs");
const file = join(folder, "deep", "access.log");
afterAll(() => gateway.stop());

const status = () => runProcess([EDGE_BINARY, "status"], { cwd: gateway.folder, timeout: 20_000 });

/** Asks, and waits until the file has the line. */
async function logged(path: string): Promise<void> {
  expect((await gateway.once(request(`GET ${path}`))).status).toBe(200);
  await eventually(() => expect(existsSync(file) && readFileSync(file, "utf8").includes(path)).toBe(true));
}

test("the folder of a log file is made, and made again", async () => {
  await logged("/x/first");
  rmSync(folder, { recursive: true });
  gateway.signal("SIGUSR1");
  await gateway.log("the file is opened anew", ({ event }) => event === "log_reopen");
  await logged("/x/second");
});

test("one that cannot be written fails edge check, and edge status says so until it can be", async () => {
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "a file in the folder's place");
  gateway.signal("SIGUSR1");
  await eventually(async () => {
    await gateway.once(request("GET /x/lost"));
    const { code, stdout } = await status();
    expect([code, stdout]).toEqual([1, expect.stringContaining(`the access log cannot be written: ${file}`)]);
  });
  const check = await runEdge(["check"], {}, gateway.folder);
  expect([check.code, check.stderr]).toEqual([1, expect.stringContaining(`${file} cannot be written: `)]);
  rmSync(folder);
  mkdirSync(folder);
  await eventually(() => logged("/x/third"));
  expect((await status()).stdout).not.toContain("cannot be written");
  expect((await runEdge(["check"], {}, gateway.folder)).code).toBe(0);
}, 60_000);

test("one that a link leads to fails edge check where the link leads nowhere", async () => {
  const [own, place] = [join(gateway.folder, "own"), join(gateway.folder, "own", "deep", "access.log")];
  const config = { server: { access_log: { outputs: [{ file: place }] } } };
  for (const [target, link] of [
    ["nowhere", own],
    [own, own],
    ["nowhere/access.log", place],
    [place, place],
  ] as const) {
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(target, link);
    const { code, stderr } = await runEdge(["check"], { config });
    expect([target, code, stderr]).toEqual([target, 1, expect.stringContaining(`${place} cannot be written: `)]);
    rmSync(link);
  }
}, 60_000);

test("edge status names a syslog that takes no lines, and a standard output on a full disk", async () => {
  const port = freePort();
  const config = {
    server: {
      host: "127.0.0.1",
      port,
      access_log: { outputs: [{ syslog: `tcp://127.0.0.1:${freePort()}` }, { stdout: true }] },
    },
  };
  writeFileSync(join(gateway.folder, "full.yaml"), `${JSON.stringify(config)}\n...\n`);
  const full = Bun.spawn(["sh", "-c", `exec "${EDGE_BINARY}" serve --config full.yaml >/dev/full`], {
    cwd: gateway.folder,
  });
  try {
    await eventually(async () => {
      await fetch(`http://127.0.0.1:${port}/x/lost`);
      const args = [EDGE_BINARY, "status", "--url", `http://127.0.0.1:${port}`];
      const { stdout } = await runProcess(args, { cwd: gateway.folder, timeout: 20_000 });
      const said = /the access log cannot be written: (.*)/.exec(stdout)?.[1] ?? "";
      expect([said.includes("tcp://127.0.0.1:"), said.includes("standard output")]).toEqual([true, true]);
    });
  } finally {
    full.kill();
    await full.exited;
  }
}, 60_000);

test("with --log-format json a start that fails writes nothing but JSON", async () => {
  for (const [flags, files] of [
    [["--nope"], {}],
    [[], { "config.yaml": "server: [" }],
    [[], { "config.yaml": "server: {port: 70000, nonsense: 1}\n" }],
    [[], { "config.yaml": `server: {host: 127.0.0.1, port: ${gateway.port}}\n` }],
  ] as const) {
    const run = await runEdge(["serve", "--log-format", "json", ...flags], { files });
    expect(run.code).toBeGreaterThan(0);
    const lines = `${run.stdout}${run.stderr}`.split("\n").filter((line) => line !== "");
    const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
    expect(events).toContain("start_failed");
  }
}, 60_000);

test("with --log-format json what escapes in a worker is a line of the log, and the worker serves on", async () => {
  const edge = await startGateway({
    binary: binaryWithHooks(),
    config: { server: { workers: 1 } },
    args: ["--log-format", "json"],
    env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
    routes: [{ type: "respond", prefix: "/x", body: "hi" }],
  });
  const client = await edge.connect();
  client.send(request("GET /__test/stray"));
  for (const text of ["thrown in a timer", "rejected", "something is deprecated"])
    await edge.log(text, ({ event, error }) => event === "exception" && String(error).includes(text));
  expect((await edge.once(request("GET /x/y"))).text).toBe("hi");
  const crash = await edge.connect();
  crash.send(request("GET /__test/crash"));
  await edge.log("the worker", ({ event }) => event === "worker_died");
  await eventually(async () => expect((await edge.once(request("GET /x/y"))).text).toBe("hi"));
  for (const one of [client, crash]) one.close();
  const lines = [...edge.logs.lines, ...edge.errors.lines].filter((line) => line !== "");
  for (const line of lines) expect(line).toStartWith("{");
  await edge.stop();
}, 60_000);
