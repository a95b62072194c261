import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/gateway.ts";
import { exchangeOnce, RawClient } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";

const SCRIPT = join(import.meta.dir, "../../scripts/loadgen.sh");
const folder = mkdtempSync(join(tmpdir(), "edge-script-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const runScript = (...args: string[]) => runProcess([SCRIPT, ...args], { timeout: 55_000 });

/** Requests that the gateway has counted. */
async function servedRequests(port: number): Promise<number> {
  const reply = await exchangeOnce(port, "GET /internal/api/metrics HTTP/1.1\r\nHost: gw.test\r\n\r\n");
  return JSON.parse(reply.text).total_requests;
}

describe("scripts/loadgen.sh", () => {
  test("--help names its own flags beside those of edge loadgen", async () => {
    const run = await runScript("--help");
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain("  --auto-start  build ./edge, start it");
    expect(run.stdout).toContain("  --dry-run ");
  });

  test("--auto-start loads a gateway of its own with its collector's log, and leaves nothing behind", async () => {
    const port = freePort();
    const json = join(folder, "report.json");
    const url = `http://127.0.0.1:${port}/health`;
    const run = await runScript("--auto-start", "-url", url, "-d", "500ms", "-rate", "1000", "-json", json);
    const report = JSON.parse(readFileSync(json, "utf8"));
    expect(run).toMatchObject({ code: report.overall_verdict === "PASS" ? 0 : 1, stderr: "" });
    expect(report).toMatchObject({ target_url: url, active_defense_rate_pct: 100, gc_telemetry: { enabled: true } });
    expect(report.gc_telemetry.total_cycles).toBeGreaterThan(0);
    expect(await RawClient.connect(port).catch(() => "refused")).toBe("refused");
  });

  test("--auto-start hands SIGTERM on: the partial report is there, and the gateway is gone", async () => {
    const port = freePort();
    const json = join(folder, "partial.json");
    const args = [
      "--auto-start",
      "-url",
      `http://127.0.0.1:${port}/health`,
      "-d",
      "60s",
      "-rate",
      "200",
      "-json",
      json,
    ];
    const child = Bun.spawn([SCRIPT, ...args], { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
    await eventually(async () => expect(await servedRequests(port)).toBeGreaterThan(50));
    child.kill("SIGTERM");
    expect([await child.exited, await child.stderr.text()]).toEqual([130, ""]);
    expect(JSON.parse(readFileSync(json, "utf8"))).toMatchObject({ interrupted: true, overall_verdict: "FAIL" });
    expect(await RawClient.connect(port).catch(() => "refused")).toBe("refused");
  });

  test("--auto-start does not load somebody else's gateway", async () => {
    const other = ScriptedOrigin.start();
    const run = await runScript("--auto-start", "-url", `${other.url}/health`);
    other.stop();
    expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining("serves on port") });
  });

  test.each([
    [["--auto-start", "--dry-run", "-tier", "all"], 0, "5s,60s,300s\n", ""],
    [["--auto-start", "-a", "1.1"], 2, "", " -a: expected a number"],
    [["--auto-start", "-url", "http://gw.example/"], 2, "", "on this machine"],
    [["--auto-start", "-gc-trace=x"], 2, "", "leave --gc-trace out"],
  ])("%p leaves with %d", async (args, code, stdout, message) => {
    expect(await runScript(...args)).toMatchObject({ code, stdout, stderr: expect.stringContaining(message) });
  });
});
