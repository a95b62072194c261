// docs/upgrade.md#update: a signed release takes the place of the program that runs, or nothing changes.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../src/core/version.ts";
import { EDGE_BINARY, type Gateway, startGateway } from "../harness/gateway.ts";
import { MINISIGN, MinisignKey } from "../harness/minisign.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-update-"));
const program = join(folder, "edge");
const SYSTEM = `linux-${process.arch}`;
/** What the folder of releases serves. */
const published = new Map<string, Uint8Array | string>();
const releases = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(asked) {
    const found = published.get(new URL(asked.url).pathname.slice(1));
    return found === undefined ? new Response(null, { status: 404 }) : new Response(found as string);
  },
});
afterAll(() => {
  releases.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(MINISIGN === null || process.platform !== "linux")("edge update", () => {
  let key: MinisignKey;
  let gateway: Gateway;

  beforeAll(async () => {
    copyFileSync(EDGE_BINARY, program);
    key = await MinisignKey.make();
    writeFileSync(join(folder, "release.pub"), key.publicText);
    gateway = await startGateway({ binary: program });
  });
  afterAll(async () => {
    gateway.kill();
    key.remove();
  });

  /** A program that says this version, and serves as the real one does unless `serve` is another command. */
  async function publish(
    version: string,
    serve = `exec ${EDGE_BINARY} "$@"`,
    damage: "archive" | "version" | "" = "",
  ): Promise<void> {
    const name = `edge-${version}-${SYSTEM}`;
    const at = join(folder, "made", name);
    mkdirSync(at, { recursive: true });
    const script = `#!/bin/sh\n[ "$1" = version ] && echo "edge ${damage === "version" ? "0.0.0" : version}" && exit\n[ "$1" = serve ] || exec ${EDGE_BINARY} "$@"\n${serve}\n`;
    writeFileSync(join(at, "edge"), script, { mode: 0o755 });
    const file = `${name}.tar.gz`;
    await runProcess(["tar", "-C", join(folder, "made"), "-czf", join(folder, file), name], { timeout: 20_000 });
    const bytes = readFileSync(join(folder, file));
    const sums = `${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}  ${file}\n`;
    published.clear();
    published.set("SHA256SUMS", sums);
    published.set("SHA256SUMS.minisig", await key.sign(sums));
    published.set(file, damage === "archive" ? Buffer.concat([bytes, Buffer.from("x")]) : bytes);
  }

  const edge = async (...args: readonly string[]) => {
    const run = await runProcess(
      [program, ...args, "--from", `http://127.0.0.1:${releases.port}`, "--signature-key", join(folder, "release.pub")],
      { cwd: gateway.folder, timeout: 90_000 },
    );
    return { code: run.code, said: run.stdout + run.stderr };
  };
  const isUnchanged = () => readFileSync(program).equals(readFileSync(EDGE_BINARY));

  test("version --check names a newer release", async () => {
    await publish(VERSION);
    expect(await edge("version", "--check")).toEqual({ code: 0, said: `edge ${VERSION}\nIt is the newest release.\n` });
    await publish("99.1.0");
    const found = await edge("version", "--check", "--json");
    expect([found.code, JSON.parse(found.said)]).toEqual([1, { version: VERSION, newest: "99.1.0", newer: true }]);
    expect((await edge("update", "--dry-run")).said).toContain("edge 99.1.0 would take the place of");
    expect(isUnchanged()).toBe(true);
  });

  test.each([
    ["a list that was changed", () => published.set("SHA256SUMS", "0".repeat(64)), "does not fit the text"],
    [
      "a signature of another key",
      async () => {
        const other = await MinisignKey.make();
        published.set("SHA256SUMS.minisig", await other.sign(String(published.get("SHA256SUMS"))));
        other.remove();
      },
      "which is not one of --signature-key",
    ],
    ["no signature", () => published.delete("SHA256SUMS.minisig"), "status 404"],
    ["an archive that was changed", () => publish("99.1.0", "", "archive"), "and the signed list says"],
    ["an older release", () => publish("0.0.1"), "--allow-older takes it"],
    ["a program of another version", () => publish("99.1.0", "", "version"), "does not run"],
  ] as const)("%s changes nothing", async (_what, harm, said) => {
    await publish("99.1.0");
    await harm();
    const { code, said: heard } = await edge("update");
    expect([code, heard]).toEqual([1, expect.stringContaining(said)]);
    expect(isUnchanged()).toBe(true);
  });

  test("a release that does not become ready is taken back, and the gateway goes on", async () => {
    await publish("99.2.0", "sleep 0.5; exit 7");
    const { code, said } = await edge("update");
    expect([code, said]).toEqual([1, expect.stringContaining("did not become ready")]);
    expect(isUnchanged()).toBe(true);
    expect((await gateway.once(request("GET /health"))).status).toBe(200);
  }, 90_000);

  test("a release serves after it, and no request is lost", async () => {
    await publish("99.3.0");
    let isOver = false;
    const statuses: number[] = [];
    const asking = (async () => {
      while (!isOver) statuses.push((await gateway.once(request("GET /health"))).status);
    })();
    const outcome = await edge("update", "--json");
    isOver = true;
    await asking;
    expect([outcome.code, JSON.parse(outcome.said)]).toMatchObject([0, { result: "upgraded", to: "99.3.0" }]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(readFileSync(program, "utf8")).toStartWith("#!/bin/sh");
    expect(readFileSync(`${program}.previous`).equals(readFileSync(EDGE_BINARY))).toBe(true);
    process.kill(JSON.parse(outcome.said).pid, "SIGTERM");
  }, 90_000);

  test("install.sh verifies and installs the same release", async () => {
    await publish("99.4.0");
    const [, text = ""] = key.publicText.split("\n");
    const install = (publicKey: string, to: string) =>
      runProcess(
        [
          "sh",
          join(import.meta.dir, "../../scripts/packaging/install.sh"),
          `http://127.0.0.1:${releases.port}`,
          publicKey,
          to,
        ],
        { timeout: 60_000 },
      );
    const good = await install(text, join(folder, "bin"));
    expect([good.code, good.stdout]).toEqual([0, expect.stringContaining("edge 99.4.0 is in")]);
    published.set(
      "SHA256SUMS",
      String(published.get("SHA256SUMS")).replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
    );
    const bad = await install(text, join(folder, "bad"));
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("does not hold")]);
  });
});
