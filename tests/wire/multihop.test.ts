import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { closeSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MultihopReport } from "../../src/tools/multihop/report.ts";
import { startSimulatedOrigins } from "../../src/tools/multihop/simulated-origins.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { openNameless, textOf } from "../harness/run-process.ts";
import { FlawedGateway } from "../unit/tools/multihop/flawed-gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-multihop-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let runs = 0;

interface MultihopRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly report: MultihopReport | null;
  readonly markdown: string;
}

/** Starts the tool in the folder with reports of its own. */
function start(...args: string[]) {
  const base = join(folder, `run-${++runs}`);
  const files = ["--json", `${base}.json`, "--md", `${base}.md`];
  const [out, err] = [openNameless(), openNameless()];
  const child = Bun.spawn([EDGE_BINARY, "multihop", ...args, ...files], { cwd: folder, stdout: out, stderr: err });
  const finish = async (): Promise<MultihopRun> => {
    const code = await child.exited;
    const [stdout, stderr] = [textOf(out), textOf(err)];
    for (const fd of [out, err]) closeSync(fd);
    const report = existsSync(`${base}.json`) ? JSON.parse(readFileSync(`${base}.json`, "utf8") || "null") : null;
    const markdown = existsSync(`${base}.md`) ? readFileSync(`${base}.md`, "utf8") : "";
    return { code, stdout, stderr, report, markdown };
  };
  return { child, finish };
}

const run = (...args: string[]) => start(...args).finish();

describe("edge multihop --standalone", () => {
  let done: MultihopRun;
  beforeAll(async () => {
    done = await run("--standalone");
  });

  test("passes, says so, and is quiet beside it", () => {
    expect(done.stdout).toContain("30 of 30 passed, desynchronization no, pool poisoning no: PASS\n");
    expect([done.code, done.stderr]).toEqual([0, ""]);
  });

  test("writes a report with every field, and sequences that grow by one", () => {
    const report = done.report!;
    expect(report).toMatchObject({
      execution_mode: "standalone",
      total_scenarios: 30,
      passed_scenarios: 30,
      failed_scenarios: 0,
      overall_verdict: "PASS",
      desynchronization_detected: false,
      pool_poisoning_detected: false,
    });
    expect(report.timestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(report.target_edge).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(
      report.backends.map(({ runtime, prefix, scenarios_tested, scenarios_passed }) => [
        runtime,
        prefix,
        scenarios_tested,
        scenarios_passed,
      ]),
    ).toEqual([
      ["node", "/node", 10, 10],
      ["python", "/python", 10, 10],
      ["go", "/go", 10, 10],
    ]);
    for (const name of ["node", "python", "go"]) {
      const sequences = report.results.filter(({ backend }) => backend === name).map(({ stage2 }) => stage2.sequence!);
      expect(sequences).toEqual(sequences.map((_, i) => sequences[0]! + i));
    }
  });

  test("keeps what was sent, what came and what the origin saw", () => {
    const attack = done.report!.results.find(({ vector_id }) => vector_id === "VECTOR-04");
    expect(attack).toMatchObject({
      vector_id: "VECTOR-04",
      protocol: "HTTP/1.1",
      backend: "node",
      prefix: "/node",
      stage1: { status: 400, reset: null, closed: true },
      stage2: { status: 200, body_status: "canary_ok" },
      passed: true,
      desync: false,
      pool_poisoned: false,
    });
    const [probe] = attack!.evidence.probes;
    expect(probe!.sent).toStartWith("POST /node/echo HTTP/1.1\r\n");
    expect(probe!.received).toStartWith("HTTP/1.1 400 Bad Request\r\n");
    expect([probe!.benign_requests_behind, probe!.benign_requests_hurt]).toEqual([4, 0]);
    expect(attack!.evidence.origin!.requests.at(-1)).toMatchObject({ method: "GET", target: "/canary", body_bytes: 0 });
    expect(attack!.evidence.origin!.unfinished).toEqual([]);
    expect(done.markdown).toContain("# Multi-hop report: PASS");
  });
});

describe("edge multihop --edge-addr", () => {
  const origins = startSimulatedOrigins([]);
  afterAll(() => {
    for (const origin of origins.values()) origin.stop();
  });
  const ports = () => new Map([...origins].map(([name, origin]) => [name, origin.port] as const));

  test("passes a gateway that runs, without a witness at the origins", async () => {
    const routes = [...ports()].map(([name, port]) => upstream(`/${name}`, { url: `http://127.0.0.1:${port}` }));
    const gateway = await startGateway({ routes });
    const done = await run("-edge-addr", `127.0.0.1:${gateway.port}`);
    await gateway.stop();
    expect([done.code, done.report?.overall_verdict, done.report?.execution_mode]).toEqual([0, "PASS", "live"]);
    expect(done.report!.results[0]!.evidence.origin).toBeNull();
  });

  test("fails one that lets an attack through, by the answers alone", async () => {
    const gateway = new FlawedGateway(ports(), "refuses, but forwards all the same");
    const done = await run("--edge-addr", `127.0.0.1:${gateway.port}`, "--only", "VECTOR-04");
    gateway.stop();
    expect([done.code, done.report?.overall_verdict]).toEqual([1, "FAIL"]);
    expect([done.report?.desynchronization_detected, done.report?.pool_poisoning_detected]).toEqual([true, true]);
    expect(done.stdout).toMatch(/VECTOR-04 node:\n {2}\S/);
  });

  test("fails one that changes a body, by the echo alone", async () => {
    const gateway = new FlawedGateway(ports(), "loses the last byte of a longer body");
    const done = await run("--edge-addr", `127.0.0.1:${gateway.port}`, "--only", "VECTOR-10", "--backends", "go");
    gateway.stop();
    expect([done.code, done.report?.overall_verdict]).toEqual([1, "FAIL"]);
    expect(done.stdout).toMatch(/the origin was given the Content-Length "\d+", not "\d+"/);
  });

  test("Ctrl-C gives the partial report", async () => {
    const gateway = new FlawedGateway(ports(), "refuses, but stays open");
    const started = start("--edge-addr", `127.0.0.1:${gateway.port}`, "--timeout", "60s");
    await eventually(() => expect(gateway.refusals).toBeGreaterThanOrEqual(3));
    started.child.kill("SIGINT");
    const done = await started.finish();
    gateway.stop();
    expect([done.code, done.report?.interrupted, done.report?.overall_verdict]).toEqual([130, true, "FAIL"]);
    expect([done.report?.total_scenarios, done.report?.planned_scenarios]).toEqual([9, 30]);
    expect(done.stdout).toContain("interrupted, 9 of 30 run");
  });

  test("a backend that is not there has not passed, and is named", async () => {
    const [[, port] = ["", 0]] = [...ports()];
    const gateway = await startGateway({ routes: [upstream("/node", { url: `http://127.0.0.1:${port}` })] });
    const address = `127.0.0.1:${gateway.port}`;
    const done = await run("--edge-addr", address, "--only", "9");
    const node = await run("--edge-addr", address, "--only", "9", "--backends", "node");
    await gateway.stop();
    expect([done.code, done.report?.passed_scenarios, done.report?.pool_poisoning_detected]).toEqual([1, 1, false]);
    expect(done.stderr).toContain("go cannot be reached through the gateway (the canary got 404");
    expect([node.code, node.report?.total_scenarios]).toEqual([0, 1]);
  });
});

describe("edge multihop says what is wrong with", () => {
  test.each([
    ["no target", [], "give either --standalone or --edge-addr HOST:PORT"],
    ["two targets", ["--standalone", "--edge-addr", "a:1"], "give either --standalone or --edge-addr HOST:PORT"],
    [
      "an address",
      ["--edge-addr", "localhost"],
      '--edge-addr: expected an address such as 127.0.0.1:8080, found "localhost"',
    ],
    ["a port", ["--edge-addr", "a:70000"], "expected an address"],
    ["nobody there", ["--edge-addr", "127.0.0.1:1"], "no gateway there: 127.0.0.1:1: ECONNREFUSED"],
    ["a vector", ["--standalone", "--only", "VECTOR-11"], 'there is no "VECTOR-11"'],
    ["a backend", ["--standalone", "--backends", "nod"], 'there is no "nod" (did you mean node?)'],
    ["origin ports", ["--edge-addr", "127.0.0.1:1", "--origin-ports", "1,2"], "expected three ports"],
    ["a flag that does not belong", ["--standalone", "--h2-addr", "a:1"], "belong to --edge-addr"],
    ["a duration", ["--standalone", "--timeout", "soon"], "--timeout: expected a duration"],
    ["no time", ["--standalone", "--timeout", "0s"], "--timeout: expected more than 0"],
    ["a flag", ["--standalon"], "unknown flag --standalon (did you mean --standalone?)"],
  ])("%s", async (_, args, message) => {
    const done = await runEdge(["multihop", ...args, "--json", "", "--md", ""]);
    expect(done.stderr).toContain(message);
    expect([done.code, done.stdout]).toEqual([2, ""]);
  });

  test("no gateway there, and no report is left behind", async () => {
    const report = join(folder, "never.json");
    const done = await runEdge(["multihop", "--edge-addr", "127.0.0.1:1", "--json", report, "--md", ""]);
    expect([done.code, done.stderr]).toEqual([2, expect.stringContaining("no gateway there")]);
    expect(existsSync(report)).toBe(false);
  });

  test("a file that cannot be written, before anything is run", async () => {
    const done = await runEdge(["multihop", "--standalone", "--json", join(folder, "missing", "a.json"), "--md", ""]);
    expect(done.stderr).toMatch(/^edge multihop: cannot write .*a\.json: no such file or folder\n$/);
    expect([done.code, done.stdout]).toEqual([2, ""]);
  });
});

test("edge multihop --list names what would run", async () => {
  const all = await runEdge(["multihop", "--list"]);
  expect(all.stdout.trim().split("\n")).toHaveLength(30);
  const some = await runEdge(["multihop", "--list", "--only", "4,VECTOR-08", "--backends", "go"]);
  expect(
    some.stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/ +/).slice(0, 3)),
  ).toEqual([
    ["VECTOR-04", "HTTP/1.1", "go"],
    ["VECTOR-08", "HTTP/2", "go"],
  ]);
});

test("edge multihop --json - writes the report and nothing else to the standard output", async () => {
  const done = await runEdge(["multihop", "--standalone", "--only", "9", "--json", "-", "--md", ""]);
  expect(JSON.parse(done.stdout)).toMatchObject({ total_scenarios: 3, overall_verdict: "PASS" });
});

test("a long report is not cut where its reader is slow", async () => {
  const pipe = `"$0" multihop --standalone --json - --md "" | { sleep 1; wc -c; }`;
  const child = Bun.spawn(["sh", "-c", pipe, EDGE_BINARY], { stdout: "pipe", stderr: "ignore" });
  expect(Number(await child.stdout.text())).toBeGreaterThan(PIPE_BYTES);
});

/** What a pipe holds on Linux. */
const PIPE_BYTES = 65_536;
