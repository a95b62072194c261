// Files of users as Apache's own program writes them. docs/authentication.md#passwords
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { type Gateway, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const PROGRAM = Bun.which("htpasswd");
if (PROGRAM === null) console.log("skipped: files of users need htpasswd");

describe.skipIf(PROGRAM === null)("htpasswd", () => {
  const origin = EchoOrigin.start();
  let gateway: Gateway | null = null;
  afterAll(() => (gateway === null ? origin.stop() : stopAll(gateway, origin)));

  async function line(user: string, password: string, ...flags: readonly string[]): Promise<string> {
    const command = [PROGRAM!, "-ni", ...flags, user];
    return (await runProcess(command, { stdin: Buffer.from(password), timeout: 10_000 })).stdout;
  }

  async function statusOf(user: string, password: string): Promise<number> {
    const credentials = Buffer.from(`${user}:${password}`).toString("base64");
    return (await gateway!.once(request("GET /x", [`Authorization: Basic ${credentials}`]))).status;
  }

  test("users of its files come in, also those that it adds while the gateway runs", async () => {
    const users = (await line("alice", "pass: wörd", "-B")) + (await line("bob", "x".repeat(60), "-B", "-C", "6"));
    const auth = { basic: { users_file: "users" } };
    gateway = await startGateway({ config: { server: { auth } }, files: { users }, routes: [upstream("/", origin)] });
    expect([await statusOf("alice", "pass: wörd"), await statusOf("bob", "x".repeat(60))]).toEqual([200, 200]);
    expect([await statusOf("alice", "pass"), await statusOf("carol", "c")]).toEqual([401, 401]);
    const file = join(gateway.folder, "users");
    writeFileSync(file, readFileSync(file, "utf8") + (await line("carol", "c", "-B")));
    process.kill(gateway.pid, "SIGHUP");
    await gateway.log("a reload", ({ event }) => event === "config_reload");
    expect(await statusOf("carol", "c")).toBe(200);
  });

  test.each([
    ["-m", "MD5"],
    ["-s", "SHA-1"],
  ])("what it writes with %s is a fault that says %s", async (flag, name) => {
    const files = { users: await line("alice", "secret-word", flag) };
    const { stdout, stderr, code } = await runEdge(["check"], {
      config: { server: { auth: { basic: { users_file: "users" } } } },
      files,
    });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(`line 1: ${name} is too weak to be used`);
    expect(stdout + stderr).not.toContain("secret-word");
  });
});
