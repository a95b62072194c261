import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, runEdge } from "../harness/gateway.ts";

// docs/tools.md#logs
const folder = mkdtempSync(join(tmpdir(), "edge-logs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "access.log");

const access = (more: Record<string, unknown>): string =>
  JSON.stringify({
    time: "2026-01-31T12:00:00.123Z",
    event: "access",
    request_id: "abc",
    client_ip: "192.0.2.9",
    method: "GET",
    host: "www.test",
    path: "/a",
    status: 200,
    duration_ms: 12.34,
    upstream: "http://10.0.0.1:80",
    route: "/",
    cache: null,
    waf_score: 0,
    fault: null,
    ...more,
  });
const LINES = [
  access({}),
  access({ status: 503, route: "/api", path: "/api/x", fault: "upstream_timeout", duration_ms: 3000, cache: "miss" }),
  access({ status: 404, path: "/\u001b[2Jx\u202e", client_ip: "192.0.2.7", upstream: null }),
  JSON.stringify({
    timestamp: "2026-01-31T13:00:00.000Z",
    event: "config_reload",
    ok: true,
    generation: 2,
    removed: [],
  }),
  "not json at all",
  JSON.stringify({ time: "2026-01-31T11:00:00.000Z", event: "waf_block", request_id: "def" }),
];
writeFileSync(file, `${LINES.join("\n")}\n`);

async function logs(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runEdge(["logs", ...args]);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.trimEnd().split("\n");
}

describe("edge logs", () => {
  test("shows requests and events, a line each, without colors in a pipe", async () => {
    expect(await logs(file)).toEqual([
      "12:00:00.123  200     12 ms  GET www.test/a  192.0.2.9 → http://10.0.0.1:80  route /, abc",
      "12:00:00.123  503    3.00 s  GET www.test/api/x  192.0.2.9 → http://10.0.0.1:80  route /api, cache miss, fault upstream_timeout, abc",
      "12:00:00.123  404     12 ms  GET www.test/?[2Jx?  192.0.2.7  route /, abc",
      "13:00:00.000  config_reload  ok=true generation=2 removed=[]",
      "not json at all",
      "11:00:00.000  waf_block  request_id=def",
    ]);
  });

  test.each([
    [["--status", "5xx"], ["/api/x"]],
    [
      ["--status", "404,503"],
      ["/api/x", "?[2Jx?"],
    ],
    [["--route", "/api"], ["/api/x"]],
    [["--id", "def"], ["waf_block"]],
    [["--id", "de"], [""]],
    [["--event", "config_reload"], ["config_reload"]],
    [["--since", "2026-01-31T12:30:00Z"], ["config_reload"]],
    [["--since", "1m"], [""]],
  ])("%j", async (args, shown) => {
    const lines = await logs(...args, file);
    expect(lines.length).toBe(shown.length);
    for (const [i, word] of shown.entries()) expect(lines[i]).toContain(word);
  });

  test("--json leaves lines as they are; compressed files are read", async () => {
    for (const [name, bytes] of [
      ["a.log.gz", gzipSync(`${LINES.join("\n")}\n`)],
      ["a.log.zst", Bun.zstdCompressSync(`${LINES.join("\n")}\n`)],
    ] as const) {
      writeFileSync(join(folder, name), bytes);
      expect(await logs("--json", "--status", "503", join(folder, name))).toEqual([LINES[1]!]);
    }
  });

  test("--follow goes on, also with the file that takes the name", async () => {
    const name = join(folder, "follow.log");
    writeFileSync(name, `${access({ path: "/1" })}\n`);
    const child = Bun.spawn([EDGE_BINARY, "logs", "--follow", "--json", name], { stdout: "pipe" });
    let text = "";
    void (async () => {
      for await (const chunk of child.stdout) text += Buffer.from(chunk).toString();
    })();
    await eventually(() => expect(text).toContain('"/1"'));
    appendFileSync(name, `${access({ path: "/2" })}\n`);
    await eventually(() => expect(text).toContain('"/2"'));
    renameSync(name, `${name}.1`);
    writeFileSync(name, `${access({ path: "/3" })}\n`);
    await eventually(() => expect(text).toContain('"/3"'));
    child.kill();
    await child.exited;
    expect(text.trim().split("\n").length).toBe(3);
  });

  test("what is wrong is said", async () => {
    for (const args of [["--status", "6xx"], ["--since", "soon"], ["--follow"]]) {
      expect((await runEdge(["logs", ...args])).code).toBe(2);
    }
    const missing = await runEdge(["logs", join(folder, "none.log")]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("none.log: no such file")]);
  });
});
