import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BrokenGateway } from "../harness/broken-gateway.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { loadgen } from "../harness/load-run.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { waf: { enabled: true } } },
  routes: [upstream("/node", origin)],
});
const folder = mkdtempSync(join(tmpdir(), "edge-loadgen-"));
afterAll(async () => {
  await stopAll(gateway, origin);
  rmSync(folder, { recursive: true, force: true });
});
const url = (path: string) => `http://127.0.0.1:${gateway.port}${path}`;

describe("on the gateway", () => {
  test.each([
    ["/health", []],
    ["/node/echo", ["-m", "POST", "-body", '{"a":1}']],
  ])(
    "every attack on %s is refused with the status that is expected, and benign requests are served",
    async (path, flags) => {
      const { report } = await loadgen(url(path), flags);
      expect(report.active_defense_rate_pct).toBe(100);
      for (const vector of report.adversarial_stream.vectors) {
        expect([vector.id, vector.status_codes]).toEqual([vector.id, { [vector.expected]: vector.sent }]);
      }
      expect(report.benign_stream).toMatchObject({ total_requests: 100, success_requests: 100 });
    },
  );

  test("a body goes out with the method that is asked for", async () => {
    await loadgen(url("/node/echo"), ["-m", "PUT", "-body", "hello", "-a", "0", "-rate", "40"]);
    const seen = origin.requestsFor("/echo").filter((request) => request.method === "PUT");
    expect(seen).toHaveLength(10);
    expect(seen.map((request) => request.fields.get("content-length"))).toEqual(new Array(10).fill("5"));
  });

  test("requests come at Poisson intervals", async () => {
    const times: number[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch() {
        times.push(performance.now());
        return new Response("ok");
      },
    });
    const flags = ["-rate", "200", "-d", "6s", "-a", "0", "-c", "50"];
    await loadgen(`http://127.0.0.1:${server.port}/`, flags);
    await server.stop(true);
    expect(times).toHaveLength(1200);
    const gaps = times.slice(1).map((at, i) => at - times[i]!);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    // At equal intervals this is 0. A machine that is busy makes it larger, never regular: how exact the intervals are, the simulation says.
    expect(deviation / mean).toBeGreaterThan(0.85);
  }, 30_000);

  test("more threads share the rate", async () => {
    const { report } = await loadgen(url("/health"), ["-rate", "25000", "-d", "100ms", "-a", "0", "-c", "8"]);
    expect(report.benign_stream.total_requests).toBe(2500);
    expect(report.generator.threads).toBeGreaterThanOrEqual(1);
  });

  test("several durations leave a report each and one of all", async () => {
    const base = join(folder, "tiers");
    const files = ["-json", `${base}.json`, "-csv", `${base}.csv`, "-md", `${base}.md`];
    const { code, stdout } = await runEdge([
      "loadgen",
      "-url",
      url("/health"),
      "-d",
      "200ms,300ms",
      "-rate",
      "100",
      ...files,
    ]);
    expect(code).toBeLessThan(2);
    expect(stdout.match(/^(PASS|FAIL) {2}custom/gm)).toHaveLength(2);
    const made = readdirSync(folder).filter((name) => name.startsWith("tiers"));
    expect(made.sort()).toEqual([
      ...[
        "tiers.csv",
        "tiers.json",
        "tiers.md",
        "tiers_200ms.json",
        "tiers_200ms.md",
        "tiers_300ms.json",
        "tiers_300ms.md",
      ],
    ]);
    const whole = JSON.parse(readFileSync(`${base}.json`, "utf8"));
    expect(whole.comparison.map((row: { duration: string }) => row.duration)).toEqual(["200ms", "300ms"]);
    expect(JSON.parse(readFileSync(`${base}_300ms.json`, "utf8"))).toMatchObject({
      duration_seconds: 0.3,
      attack_ratio: 0.1,
    });
  });

  test("over TLS works as well, whoever signed the certificate", async () => {
    const server = ScriptedOrigin.start({ tls: await makeCertificate() });
    server.otherwise((call) => call.reply("200 OK"));
    const { report } = await loadgen(`${server.url}/`, ["-a", "0", "-rate", "200"]);
    server.stop();
    expect(report.benign_stream).toMatchObject({ total_requests: 50, success_requests: 50 });
  });

  test("nothing is shown on the way when nobody looks", async () => {
    const { stderr } = await runEdge(["loadgen", "-url", url("/health"), "-d", "1200ms", "-rate", "50"]);
    expect(stderr).toBe("");
  });
});

describe("a call that cannot work", () => {
  const missing = join(folder, "missing", "report.json");
  const letter = join(folder, "letter.txt");
  writeFileSync(letter, "Dear friend, this is no log of a collector at all. ".repeat(5));
  test.each([
    [["-attack-ratio", "1.5"], "-attack-ratio: expected a number from 0 to 1"],
    [["-a=-0.1"], "-a: expected a number from 0 to 1"],
    [["--tier", "sok"], "did you mean soak?"],
    [["-d", "5x"], " -d: expected durations"],
    [["-d", "5s,,10s"], " -d: expected durations"],
    [["-d", "0s"], " -d: expected durations"],
    [["-d", "5s", "-tier", "all"], "give one of them"],
    [["-rate", "0"], " -rate: expected a whole number from 1"],
    [["-c", "many"], " -c: expected a whole number from 1"],
    [["-url", "localhost:8080"], " -url: expected a URL"],
    [["-m", "GET /"], " -m: expected a method"],
    [["-json", missing], "no such file or folder"],
    [["-csv", folder], "it is a folder"],
    [["-gc-trace", missing], "cannot read"],
    [["-gc-trace", letter], "holds no line of JavaScriptCore's garbage collector log"],
    [["--auto-start"], "unknown flag --auto-start"],
    [["--rat", "5"], "did you mean --rate?"],
  ])("%p says so and leaves with 2", async (args, message) => {
    const run = await runEdge(["loadgen", "-url", url("/health"), ...args]);
    expect([run.code, run.stdout]).toEqual([2, ""]);
    expect(run.stderr).toContain(message);
  });

  test("says that nobody is there", async () => {
    const run = await runEdge(["loadgen", "-url", `http://127.0.0.1:${freePort()}/`]);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining("connection refused")]);
    const nowhere = await runEdge(["loadgen", "-url", "http://nobody.invalid/"]);
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("cannot reach http://nobody.invalid/")]);
  });
});

describe("--dry-run", () => {
  test.each([
    [[], "5s"],
    [["-tier", "all"], "5s,60s,300s"],
    [["--tier=steady"], "60s"],
    [["-d", "5s,1m,300s,5s"], "5s,60s,300s"],
    [["-d", "90"], "90s"],
  ])("with %p prints %s and leaves", async (args, durations) => {
    const json = join(folder, "dry.json");
    const run = await runEdge(["loadgen", "--dry-run", "-json", json, ...args]);
    expect(run).toEqual({ code: 0, stdout: `${durations}\n`, stderr: "" });
    expect(existsSync(json)).toBe(false);
  });

  test("finds wrong arguments too", async () => {
    expect((await runEdge(["loadgen", "--dry-run", "-a", "2"])).code).toBe(2);
  });
});

describe("Ctrl-C", () => {
  test("leaves with 130 and the report of what was measured", async () => {
    const server = new BrokenGateway();
    const json = join(folder, "partial.json");
    const args = ["loadgen", "-url", server.url, "-d", "60s,300s", "-rate", "500", "-json", json];
    const child = Bun.spawn([EDGE_BINARY, ...args], { stdout: "pipe", stderr: "pipe" });
    await eventually(() => expect(server.benignRequests).toBeGreaterThanOrEqual(50));
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    server.stop();
    const partial = JSON.parse(readFileSync(json, "utf8"));
    expect(partial).toMatchObject({ interrupted: true, overall_verdict: "FAIL" });
    expect(partial.tiers).toHaveLength(1);
    expect(partial.tiers[0].benign_stream.success_requests).toBeGreaterThanOrEqual(50);
    expect(partial.tiers[0].verdict_reasons).toContain("the run was interrupted");
    expect(existsSync(join(folder, "partial_60s.json"))).toBe(true);
  });
});
