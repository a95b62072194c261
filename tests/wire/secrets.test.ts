// docs/configuration.md#secrets
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EDGE_BINARY, type FinishedRun, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const TOKEN = "token-of-the-operators-9f8e7d6c5b4a";
const WORD = 'w0rd/with+signs&"quotes"-4711';
const NEXT = "another-word-0815";
const secrets = mkdtempSync(join(tmpdir(), "edge-secrets-"));
const put = (name: string, text: string | Uint8Array, mode = 0o600): void => {
  rmSync(join(secrets, name), { force: true });
  writeFileSync(join(secrets, name), text, { mode });
  chmodSync(join(secrets, name), mode);
};
put("token", `${TOKEN}\r\n\n`);
put("word", `${WORD}\n`);
const gateway = await startGateway({
  config: { server: { workers: 1 }, internal_api: { token: "${file:token}" } },
  env: { CREDENTIALS_DIRECTORY: secrets },
  routes: [
    { type: "respond", path: "/word", body: `\${file:${secrets}/word}` },
    { type: "respond", path: "/beside", body: "<${file:./beside}>" },
    // Where no key is known for a secret, it is masked as well.
    {
      type: "respond",
      path: "/page",
      body: "Hello",
      headers: { response: { set: { Link: `<\${file:${secrets}/word}>` } } },
    },
  ],
  files: { beside: "in the folder of routes.yaml\n" },
});
afterAll(async () => {
  await stopAll(gateway);
  rmSync(secrets, { recursive: true });
});

const asOperator = (path: string) => gateway.once(request(`GET ${path}`, [`Authorization: Bearer ${TOKEN}`]));
const body = async (path: string) => (await gateway.once(request(`GET ${path}`))).text;
const edge = (...args: string[]): Promise<FinishedRun> =>
  runProcess([EDGE_BINARY, ...args], {
    cwd: gateway.folder,
    env: { ...process.env, CREDENTIALS_DIRECTORY: secrets },
    timeout: 60_000,
  });

async function reloaded(ok: boolean): Promise<void> {
  const before = gateway.logs.json.filter(({ event }) => event === "config_reload").length;
  gateway.signal("SIGHUP");
  await gateway.log("config_reload", (line) => {
    if (line.event !== "config_reload") return false;
    return gateway.logs.json.filter(({ event }) => event === "config_reload").length > before && line.ok === ok;
  });
}

describe("a secret of a file", () => {
  test("is what the file has, without its final line ends", async () => {
    expect(await body("/word")).toBe(WORD);
    expect(await body("/beside")).toBe("<in the folder of routes.yaml>");
    expect((await asOperator("/internal/api/routes")).status).toBe(200);
    expect((await gateway.once(request("GET /internal/api/routes"))).status).not.toBe(200);
  });

  test("is shown nowhere", async () => {
    const seen = [
      await edge("check"),
      await edge("check", "--print"),
      await edge("check", "--json"),
      await edge("explain", "/page"),
      await edge("explain", "--json", "/word"),
      await edge("status", "--json"),
    ].map(({ stdout, stderr }) => stdout + stderr);
    for (const path of ["routes", "config", "status", "metrics"]) {
      const answer = await asOperator(`/internal/api/${path}`);
      expect(answer.status).toBe(200);
      seen.push(answer.text);
    }
    seen.push(JSON.stringify(gateway.logs.json));
    for (const text of seen) {
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain("w0rd/with");
      expect(text).not.toContain(encodeURIComponent(WORD));
    }
    expect(seen[1]).toContain("***");
  });

  test("is taken up at a reload; one that is gone keeps its last value, which an event says", async () => {
    put("word", NEXT);
    await reloaded(true);
    expect(await body("/word")).toBe(NEXT);
    rmSync(join(secrets, "word"));
    await reloaded(true);
    expect(await body("/word")).toBe(NEXT);
    const line = await gateway.log("secret_kept", ({ event }) => event === "secret_kept");
    expect(line).toMatchObject({ file: join(secrets, "word"), error: expect.stringContaining("is gone") });
    // An empty one is being written, or forgotten: nothing changes.
    put("word", "\n");
    await reloaded(false);
    expect(await body("/word")).toBe(NEXT);
    put("word", WORD);
    await reloaded(true);
    expect(await body("/word")).toBe(WORD);
  });
});

describe("edge check", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-secret-checks-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "a folder"));
  const check = async (value: string, env: Record<string, string> = {}) => {
    writeFileSync(join(folder, "config.yaml"), `server:\n  port: 0\ninternal_api:\n  token: "${value}"\n`);
    const given = { ...process.env, CREDENTIALS_DIRECTORY: undefined, ...env };
    return runProcess([EDGE_BINARY, "check"], { cwd: folder, env: given, timeout: 60_000 });
  };
  test.each<readonly [string, string | Uint8Array, string]>([
    ["empty", "", "it is empty"],
    ["ends", "\r\n\n", "it is empty"],
    ["lines", "one\ntwo\n", "it has several lines"],
    ["return", "one\rtwo\n", "it has several lines"],
    ["large", "x".repeat(65_537), "larger than 65536 bytes"],
    ["binary", new Uint8Array([0xff, 0xfe, 0x41]), "no text in UTF-8"],
  ])("finds a fault in a file that is %s", async (name, content, message) => {
    put(name, content);
    const { code, stdout, stderr } = await check(`\${file:${secrets}/${name}}`);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(`config.yaml:4:10: internal_api.token: the secret "${secrets}/${name}": `);
    expect(stdout + stderr).toContain(message);
  });

  test("finds a file that is not there, a folder and a name without a folder of credentials", async () => {
    const said = async (value: string) => {
      const { code, stdout, stderr } = await check(value);
      expect(code).toBe(1);
      return stdout + stderr;
    };
    expect(await said("${file:/nowhere/token}")).toContain("no such file");
    expect(await said("${file:./a folder}")).toContain("it is no regular file");
    expect(await said("${file:token}")).toContain("$CREDENTIALS_DIRECTORY, which is not set");
    expect(await said("${file:}")).toContain("names no file");
  });

  test("takes 64 KiB, several in one value, and warns of what all can read", async () => {
    put("most", "y".repeat(65_536));
    put("open", "public-secret-word", 0o644);
    expect((await check(`\${file:${secrets}/most}`)).code).toBe(0);
    const { code, stdout, stderr } = await check("${file:open}-${file:open}", { CREDENTIALS_DIRECTORY: secrets });
    expect(code).toBe(0);
    expect(stdout + stderr).toContain(
      "config.yaml:4:10: internal_api.token: every user of this machine can read the secret",
    );
    expect(stdout + stderr).not.toContain("public-secret-word");
    put("short", "ab");
    const short = await check("long-enough-${file:short}", { CREDENTIALS_DIRECTORY: secrets });
    expect(short.stdout + short.stderr).toContain("fewer than 3 characters, so that edge cannot mask it");
    put("closed", "private-secret-word", 0o640);
    const closed = await check("${file:closed}", { CREDENTIALS_DIRECTORY: secrets });
    expect(closed.stdout + closed.stderr).not.toContain("every user");
  });
});
