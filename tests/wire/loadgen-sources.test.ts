// docs/tools.md#load-generator: protocols, requests of a file, sweeps, and reports that go elsewhere.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, runEdge, startGateway, upstream } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "edge-loadgen-"));
const origin = EchoOrigin.start();
const tlsPort = freePort();
let gateway: Gateway;

beforeAll(async () => {
  const { cert, key } = await makeCertificate();
  gateway = await startGateway({
    routes: [upstream("/", origin)],
    config: { server: { tls: { port: tlsPort, cert_file: "cert.pem", key_file: "key.pem" } } },
    files: { "cert.pem": cert, "key.pem": key },
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What a run at a low rate prints. A slow machine may fail its verdict. */
async function load(...flags: string[]) {
  const url = `http://127.0.0.1:${gateway.port}/health`;
  return runEdge(["loadgen", "--url", url, "-d", "1s", "--rate", "50", "-a", "0", ...flags], {}, folder);
}

test("a run of attacks alone is no proof that clients are served", async () => {
  const { code, stdout } = await load("-a", "1");
  expect(code).toBe(1);
  expect(stdout).toContain("no benign request was sent");
});

test("-json - gives the report alone on the standard output", async () => {
  const { stdout, stderr } = await load("--json", "-");
  expect(JSON.parse(stdout)).toMatchObject({ protocol: "HTTP/1.1", total_requests_executed: 50 });
  expect(JSON.parse(stdout).timeline.length).toBeGreaterThan(0);
  expect(stderr).toContain("benign   50 of 50 good");
  const both = await load("--json", "-", "--md", "-");
  expect([both.code, both.stderr]).toEqual([2, "edge loadgen: only one report can go to standard output\n"]);
});

test("requests of a file are sent in turn, with their fields and bodies", async () => {
  writeFileSync(
    join(folder, "requests"),
    'GET /a?b=c\nPOST /d {"e": 1}\n{"path": "/f", "headers": {"X-Team": "blue"}}\n',
  );
  const before = origin.requests.length;
  expect((await load("--requests", "requests")).stdout).toContain("50 of 50 good");
  const seen = origin.requests.slice(before).map(({ method, target }) => `${method} ${target}`);
  expect([...new Set(seen)].sort()).toEqual(["GET /a?b=c", "GET /f", "POST /d"]);
  writeFileSync(join(folder, "wrong"), "GET /\nGET\n");
  const wrong = await load("--requests", "wrong");
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    'edge loadgen: --requests: wrong: line 2: expected a path such as /a?b=c, found "GET"\n',
  ]);
});

test("HTTP/2 carries the benign stream", async () => {
  const { stdout } = await load("--http", "2", "--json", "-");
  expect(JSON.parse(stdout)).toMatchObject({ protocol: "HTTP/2", benign_stream: { success_requests: 50 } });
  const byAddress = await load("--url", `https://127.0.0.1:${tlsPort}/health`, "--http", "2", "--json", "-");
  expect(JSON.parse(byAddress.stdout)).toMatchObject({ protocol: "HTTP/2", benign_stream: { success_requests: 50 } });
  expect((await load("--http", "3")).stderr).toContain("HTTP/3 needs a URL of https");
});

test("a page of a run needs nothing but itself, and shows it beside an earlier one", async () => {
  await load("--json", "one.json");
  const { stdout } = await load("--compare", "one.json", "--json", "two.json", "--html", "two.html");
  // The second is a little longer on a busy machine.
  expect(stdout).toMatch(/requests a second +[\d.]+ +[\d.]+ /);
  const html = readFileSync(join(folder, "two.html"), "utf8");
  expect(html).toContain("Beside the earlier run");
  expect(html.match(/<svg/g)).toHaveLength(2);
  expect(html).not.toMatch(/(?:src|href)="(?!data:)/);
  const stored = await runEdge(["loadgen", "--compare", "one.json,two.json"], {}, folder);
  expect([stored.code, stored.stdout.split("\n")[0]]).toEqual([0, expect.stringMatching(/before +now$/)]);
  const none = await load("--compare", "requests");
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("expected the JSON of an earlier run")]);
});

test("a sweep ends, and writes what it has found", async () => {
  const run = await load("-d", "200ms", "--rate", "400", "--sweep", "--json", "s.json", "--md", "s.md");
  const { knee_rps, steps, limited_by } = JSON.parse(readFileSync(join(folder, "s.json"), "utf8"));
  expect(steps.length).toBeLessThanOrEqual(24);
  expect(["gateway", "generator", "nothing"]).toContain(limited_by);
  expect(knee_rps).toBe(
    Math.max(
      0,
      ...steps
        .filter((one: { is_good: boolean }) => one.is_good)
        .map((one: { offered_rps: number }) => one.offered_rps),
    ),
  );
  expect(run.code).toBe(knee_rps > 0 ? 0 : 1);
  expect(existsSync(join(folder, "s.md"))).toBe(true);
}, 60_000);
