// docs/security.md#environment: no signal that is not meant to end the gateway ends it, from the first line of the program on.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, startGateway } from "../harness/gateway.ts";
import { LogFile } from "../harness/log-file.ts";
import { request } from "../harness/raw-client.ts";

const HELD = ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM"] as const;
const folder = mkdtempSync(join(tmpdir(), "edge-signals-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Child = Bun.Subprocess<"ignore", number | "ignore", "ignore">;

/** Waits until the process has handlers for all of them, which is the first that its program does. */
async function untilHeld(child: Child): Promise<void> {
  for (let i = 0; i < 5000; i++) {
    const status = existsSync(`/proc/${child.pid}/status`) ? readFileSync(`/proc/${child.pid}/status`, "latin1") : "";
    const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
    if (HELD.every((name) => (caught >> BigInt(constants.signals[name] - 1)) & 1n)) return;
    await Bun.sleep(1);
  }
  throw new Error("the process has taken no signals");
}

async function endOf(child: Child, signal: NodeJS.Signals): Promise<number | string> {
  child.kill(signal);
  const ended = await Promise.race([child.exited, Bun.sleep(30_000)]);
  if (ended === undefined) child.kill("SIGKILL");
  return child.signalCode ?? child.exitCode ?? "still there";
}

describe.skipIf(!existsSync("/proc/self/status"))("signals that come before the gateway serves", () => {
  test("are kept, not obeyed by default, and acted upon when it does", async () => {
    for (let round = 0; round < 3; round++) {
      const log = new LogFile();
      const server = { host: "127.0.0.1", port: freePort(), workers: 1 };
      writeFileSync(join(folder, "config.yaml"), stringify({ server }));
      const args = [EDGE_BINARY, "serve", "--config", "config.yaml"];
      const child: Child = Bun.spawn(args, { cwd: folder, stdin: "ignore", stdout: log.fd, stderr: "ignore" });
      await untilHeld(child);
      expect(log.json).toEqual([]);
      for (const name of ["SIGHUP", "SIGUSR1", "SIGALRM"] as const) child.kill(name);
      await log.until("the gateway listens", ({ event }) => event === "listening");
      await log.until("it has read its files again", ({ event, ok }) => event === "config_reload" && ok === true);
      await log.until("it was asked for its log", ({ event }) => event === "log_reopen");
      expect(await endOf(child, "SIGTERM")).toBe(0);
      log.close();
    }
  }, 60_000);

  test("end it with 0 where they mean to, at whatever moment of the start they come", async () => {
    writeFileSync(
      join(folder, "config.yaml"),
      stringify({ server: { host: "127.0.0.1", port: freePort(), workers: 1 } }),
    );
    const ends = new Set<number | string>();
    for (let round = 0; round < 40; round++) {
      const args = [EDGE_BINARY, "serve", "--config", "config.yaml"];
      const child: Child = Bun.spawn(args, { cwd: folder, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
      await untilHeld(child);
      await Bun.sleep(round * 3);
      ends.add(await endOf(child, round % 2 === 0 ? "SIGTERM" : "SIGINT"));
    }
    expect([...ends]).toEqual([0]);
  }, 60_000);

  test("do not end the tools", async () => {
    let asked = 0;
    const fetch = () => {
      asked++;
      return new Response("ok");
    };
    const origin = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    const load = ["loadgen", "-url", `http://127.0.0.1:${origin.port}/`, "-d", "20s", "--rate", "50"];
    for (const args of [load, ["multihop", "--standalone"]]) {
      const child: Child = Bun.spawn([EDGE_BINARY, ...args], {
        cwd: folder,
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
      });
      await untilHeld(child);
      const before = asked;
      for (let i = 0; i < 10; i++) {
        for (const name of HELD) child.kill(name);
        await Bun.sleep(30);
      }
      // Still at work, or done by itself.
      expect([args[0], child.exitCode ?? 0, child.signalCode]).toEqual([args[0], 0, null]);
      if (args === load) await eventually(() => expect(asked).toBeGreaterThan(before));
      child.kill("SIGKILL");
      await child.exited;
    }
    await origin.stop(true);
  }, 60_000);
});

test("a gateway that serves lives through USR1 and ALRM, and says what USR1 did", async () => {
  const gateway = await startGateway();
  for (let i = 0; i < 20; i++) {
    gateway.signal("SIGUSR1");
    gateway.signal("SIGALRM");
    await Bun.sleep(2);
  }
  const line = await gateway.log("the log was asked for", ({ event }) => event === "log_reopen");
  expect(line.note).toContain("standard output");
  expect((await gateway.once(request("GET /health"))).status).toBe(200);
  await gateway.stop();
});
