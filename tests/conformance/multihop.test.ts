import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MultihopReport } from "../../src/tools/multihop/report.ts";
import { EDGE_BINARY, startGateway, upstream } from "../harness/gateway.ts";
import { RealOrigins } from "./real-origins.ts";

// The live mode of edge multihop: the compiled gateway before real origins.
const folder = mkdtempSync(join(tmpdir(), "edge-multihop-live-"));
const origins = await RealOrigins.start();
afterAll(() => {
  origins.stop();
  rmSync(folder, { recursive: true, force: true });
});
for (const line of origins.absent) console.log(`skipped: multihop ${line}`);

test.skipIf(origins.urls.size === 0)("edge multihop finds nothing before real origins", async () => {
  const gateway = await startGateway({ routes: [...origins.urls].map(([name, url]) => upstream(`/${name}`, { url })) });
  const file = join(folder, "report.json");
  const target = ["--edge-addr", `127.0.0.1:${gateway.port}`, "--backends", [...origins.urls.keys()].join(",")];
  const args = ["multihop", ...target, "--json", file, "--md", ""];
  const tool = Bun.spawn([EDGE_BINARY, ...args], { stdout: "ignore", stderr: "inherit" });
  const code = await tool.exited;
  await gateway.stop();
  const report: MultihopReport = JSON.parse(readFileSync(file, "utf8"));
  expect(report.results.flatMap(({ evidence }) => evidence.findings)).toEqual([]);
  expect([code, report.total_scenarios]).toEqual([0, origins.urls.size * 10]);
});
