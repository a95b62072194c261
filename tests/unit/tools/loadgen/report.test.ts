import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LoadEnding } from "../../../../src/tools/loadgen/attack-tier.ts";
import { consolidate } from "../../../../src/tools/loadgen/consolidated-report.ts";
import { tiersOf, tiersOfDurations } from "../../../../src/tools/loadgen/duration-tier.ts";
import { type GcTelemetry, NO_GC_TELEMETRY } from "../../../../src/tools/loadgen/gc-telemetry.ts";
import type { LoadResult } from "../../../../src/tools/loadgen/load-run.ts";
import { LoadTally } from "../../../../src/tools/loadgen/load-tally.ts";
import { type LoadTarget, parseTarget } from "../../../../src/tools/loadgen/load-target.ts";
import { reportCsv } from "../../../../src/tools/loadgen/report-csv.ts";
import { ReportFiles } from "../../../../src/tools/loadgen/report-files.ts";
import { consolidatedMarkdown, reportMarkdown } from "../../../../src/tools/loadgen/report-markdown.ts";
import { SampleBatch } from "../../../../src/tools/loadgen/sample-batch.ts";
import { saturationReport } from "../../../../src/tools/loadgen/saturation-report.ts";
import { progressLine, tierSummary } from "../../../../src/tools/loadgen/tier-summary.ts";

/** What a run has seen: how many of which outcome, all `latencyMs` after they were due. */
interface Seen {
  readonly benign?: Readonly<Record<number, number>>;
  readonly attacks?: Readonly<Record<number, number>>;
  readonly latencyMs?: number;
  readonly tier?: string;
  readonly slope?: number;
  readonly wasInterrupted?: boolean;
}

function resultOf(seen: Seen): LoadResult {
  const tally = new LoadTally(8, 5000);
  const batch = new SampleBatch((samples) => tally.add(samples, 0));
  const { benign = { 200: 1000 }, attacks = { 400: 80 }, latencyMs = 2 } = seen;
  for (const [outcome, count] of Object.entries(benign)) {
    for (let i = 0; i < count; i++) batch.addBenign(100, 101, 100 + latencyMs, Number(outcome));
  }
  let turn = 0;
  for (const [outcome, count] of Object.entries(attacks)) {
    for (let i = 0; i < count; i++) batch.addAttack(turn++ % 8, 100, 100, 101, Number(outcome));
  }
  batch.flush();
  const plan = {
    target: parseTarget("http://gw.test/health") as LoadTarget,
    ...{ requests: [{ method: "GET", path: "/", fields: [], body: "" }], protocol: 1 as const },
    ...{ concurrency: 20, durationMs: 5000, tier: seen.tier ?? "quick" },
    ...{ ratePerSecond: 216, attackRatio: 0.1 },
  };
  const run = {
    startedAt: new Date(0),
    elapsedMs: 5000,
    threads: 1,
    failure: "",
    cpuSeconds: 0.5,
    machineBusyPercent: 0,
  };
  return { plan, tally, ...run, wasInterrupted: seen.wasInterrupted ?? false };
}

function reportOf(seen: Seen = {}) {
  const heap = { ...NO_GC_TELEMETRY.heap_metrics_mb, heap_growth_slope_mb_per_min: seen.slope ?? 0 };
  const gc: GcTelemetry = { ...NO_GC_TELEMETRY, heap_metrics_mb: heap };
  return saturationReport(resultOf(seen), gc);
}

describe("the verdict", () => {
  test.each<[string, Seen]>([
    ["everything is in order", {}],
    ["one of a thousand benign requests fails", { benign: { 200: 999, 503: 1 } }],
    [
      "connections are torn down instead of an answer",
      { attacks: { 400: 40, [LoadEnding.Reset]: 30, [LoadEnding.Closed]: 10 } },
    ],
    ["every refusal is used", { attacks: { 400: 10, 403: 10, 413: 10, 431: 10, 501: 10 } }],
    ["there are no attacks", { attacks: {} }],
    ["p99 is just under 10 ms", { latencyMs: 9.98 }],
    ["the heap grows in a tier other than soak", { slope: 50 }],
    ["the heap grows by exactly 1 MB a minute in the soak tier", { tier: "soak", slope: 1 }],
  ])("is PASS when %s", (_, seen) => {
    expect(reportOf(seen)).toMatchObject({
      overall_verdict: "PASS",
      zero_starvation_verified: true,
      verdict_reasons: [],
    });
  });

  test.each<[string, Seen, string]>([
    ["two of a thousand benign requests fail", { benign: { 200: 998, 503: 2 } }, "benign success is 99.80 %"],
    ["one of 999 fails", { benign: { 200: 998, 503: 1 } }, "benign success is 99.89 %"],
    ["benign requests go unanswered", { benign: { 200: 900, [LoadEnding.Timeout]: 100 } }, "benign success is 90.00 %"],
    [
      "benign requests end in several ways",
      { benign: { 200: 900, 404: 20, [LoadEnding.Reset]: 70, [LoadEnding.NotSent]: 10 } },
      "benign success is 90.00 %, below 99.9 %: 70 reset, 20 answered 404, 10 not sent",
    ],
    ["benign answers are redirects", { benign: { 302: 1000 } }, "benign success is 0.00 %"],
    ["no benign request was sent", { benign: {} }, "no benign request was sent"],
    ["p99 is 10 ms", { latencyMs: 10.01 }, "benign p99 is 10.0"],
    ["one attack is answered 404", { attacks: { 400: 9999, 404: 1 } }, "1 attack was answered 404"],
    ["one attack is answered 200", { attacks: { 400: 9999, 200: 1 } }, "1 attack was answered 200"],
    ["two attacks are answered 502", { attacks: { 400: 9998, 502: 2 } }, "2 attacks were not handled"],
    ["an attack is answered 204", { attacks: { 400: 9999, 204: 1 } }, "1 attack was not handled"],
    ["an attack gets no answer", { attacks: { 400: 9, [LoadEnding.Timeout]: 1 } }, "1 attack was not handled"],
    ["nobody could connect", { attacks: { [LoadEnding.ConnectFailed]: 9 } }, "9 attacks were not handled"],
    ["the heap grows in the soak tier", { tier: "soak", slope: 1.01 }, "the heap grows by 1.01 MB a minute"],
    ["the run was interrupted", { wasInterrupted: true }, "interrupted"],
  ])("is FAIL when %s", (_, seen, reason) => {
    const report = reportOf(seen);
    expect(report.overall_verdict).toBe("FAIL");
    expect(report.verdict_reasons.join()).toContain(reason);
  });
});

describe("the report", () => {
  test("has the documented fields", () => {
    const report = reportOf({ attacks: { 400: 70, [LoadEnding.Reset]: 4, 404: 3, 200: 2, 502: 1 } });
    expect(Object.keys(report)).toEqual(
      expect.arrayContaining([
        ...["timestamp", "target_url", "concurrency", "duration_seconds", "duration_tier", "target_rate_rps"],
        ...["attack_ratio", "total_requests_executed", "total_actual_rps", "zero_starvation_verified"],
        ...["invariant_enforcement_rate_pct", "active_defense_rate_pct", "route_miss_rate_pct", "overall_verdict"],
        ...["benign_stream", "adversarial_stream", "gc_telemetry"],
      ]),
    );
    expect(report).toMatchObject({ total_requests_executed: 1080, total_actual_rps: 216, duration_seconds: 5 });
    expect(report).toMatchObject({ active_defense_rate_pct: 92.5, route_miss_rate_pct: 3.75 });
    expect(report.benign_stream).toMatchObject({ stream_type: "benign", total_requests: 1000, success_requests: 1000 });
    expect(Object.keys(report.benign_stream.latencies_ms)).toEqual(expect.arrayContaining(["p50", "p90", "p99"]));
    expect(report.adversarial_stream).toMatchObject({
      ...{ stream_type: "adversarial", total_requests: 80, active_defense_requests: 74, route_miss_requests: 3 },
      ...{ bypassed_requests: 2, unhandled_requests: 1, transport_resets: 4 },
      status_codes: { 400: 74, 404: 3, 200: 2, 502: 1 },
    });
    expect(JSON.stringify(report)).not.toContain("null");
  });

  test("names the ends of benign connections, which are no refusals", () => {
    const { benign_stream } = reportOf({ benign: { 200: 90, 400: 1, [LoadEnding.Reset]: 4, [LoadEnding.Closed]: 5 } });
    expect(benign_stream.failures).toEqual({ 400: 1, reset: 4, closed: 5 });
  });

  test("counts what never went out as failed, and not in the rate", () => {
    const { benign_stream: benign, total_actual_rps: rate } = reportOf({
      benign: { 200: 500, [LoadEnding.NotSent]: 500 },
    });
    expect(benign).toMatchObject({
      total_requests: 1000,
      failed_requests: 500,
      actual_rps: 100,
      failures: { not_sent: 500 },
    });
    expect(rate).toBe(116);
  });

  test("counts the tiers of each attack and of all together alike", () => {
    const { adversarial_stream: stream } = reportOf({ attacks: { 400: 41, 404: 13, 200: 7, 500: 19 } });
    const sums = { active_defense: 0, route_miss: 0, bypassed: 0, unhandled: 0, sent: 0 };
    for (const vector of stream.vectors) {
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += vector[key];
    }
    expect(sums).toEqual({ active_defense: 41, route_miss: 13, bypassed: 7, unhandled: 19, sent: 80 });
  });

  test("shows 100 % only for all", () => {
    expect(reportOf({ attacks: { 400: 99_999, 404: 1 } }).active_defense_rate_pct).toBe(99.99);
    expect(reportOf({ attacks: {} })).toMatchObject({ active_defense_rate_pct: 100, route_miss_rate_pct: 0 });
  });

  test("as CSV has the documented columns, one line a tier", () => {
    const [head, ...rows] = reportCsv([reportOf(), reportOf({ attacks: { 404: 80 } })])
      .trimEnd()
      .split("\n");
    expect(head).toBe(
      "Concurrency,TargetRPS,TotalActualRPS,BenignRPS,BenignP50_ms,BenignP99_ms,AttackRPS,AttackRejected,AttackRouteMiss," +
        "AttackBypassed,AttackUnhandled,ActiveDefenseRatePct,ZeroStarvation,GCCycles,GCMeanSTW_ms,GCP99STW_ms,GCSlope_MBm",
    );
    expect(rows).toEqual([
      "20,216,216,200,2,2,16,80,0,0,0,100,true,0,0,0,0",
      "20,216,216,200,2,2,16,0,80,0,0,0,true,0,0,0,0",
    ]);
  });

  test("as Markdown and on the terminal says why it is FAIL", () => {
    const report = reportOf({ attacks: { 400: 79, 404: 1 } });
    expect(reportMarkdown(report)).toStartWith("# Load test: FAIL\n");
    for (const text of [reportMarkdown(report), tierSummary(report)])
      expect(text).toContain("1 attack was answered 404");
  });

  test("on the way shows the recent rate and p99, and the attacks so far", () => {
    const { tally } = resultOf({ attacks: { 400: 70, 404: 6, 200: 3, 500: 1 } });
    const first = progressLine(tally, 2000, 1000);
    expect(first).toMatch(
      /^ +2 s +1080 req\/s +p99 +2\.00 ms +attacks 80: 70 refused, 6 route misses, 3 bypassed, 1 unhandled\n$/,
    );
    expect(progressLine(tally, 3000, 1000)).toMatch(/^ +3 s +0 req\/s +p99 +0\.00 ms +attacks 80: 70 refused/);
  });

  test("of several tiers is PASS when each is", () => {
    const [good, bad] = [reportOf(), reportOf({ attacks: { 404: 1 } })];
    expect(consolidate([good, good]).overall_verdict).toBe("PASS");
    expect(consolidate([good, bad])).toMatchObject({
      overall_verdict: "FAIL",
      comparison: [{ verdict: "PASS" }, { verdict: "FAIL" }],
    });
    expect(consolidatedMarkdown(consolidate([good, bad]))).toContain("| quick (5s) | PASS |");
  });
});

describe("report files", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-report-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const paths = { json: join(folder, "r.json"), csv: join(folder, "r.csv"), md: join(folder, "r.md"), html: "" };
  const nowhere = (): void => {};

  test("of several tiers are keyed by their duration, and all together as they are named", () => {
    const tiers = tiersOfDurations([5000, 60_000], "");
    const files = new ReportFiles(paths, tiers, nowhere);
    expect(files.fault()).toBe("");
    expect(readdirSync(folder)).toEqual([]);
    files.writeTier(tiers[0]!, reportOf());
    files.writeTier(tiers[1]!, reportOf());
    files.writeAll({ reports: [reportOf(), reportOf()], sweep: null, compared: [null, null] });
    expect(readdirSync(folder).sort()).toEqual([
      "r.csv",
      "r.json",
      "r.md",
      "r_5s.json",
      "r_5s.md",
      "r_60s.json",
      "r_60s.md",
    ]);
    expect(JSON.parse(readFileSync(join(folder, "r_60s.json"), "utf8"))).toMatchObject({ overall_verdict: "PASS" });
    expect(JSON.parse(readFileSync(paths.json, "utf8")).tiers).toHaveLength(2);
    expect(readFileSync(paths.csv, "utf8").trimEnd().split("\n")).toHaveLength(3);
  });

  test.each([
    ["in a folder that is not there", { json: join(folder, "no", "r.json") }, "no such file or folder"],
    ["that is a folder", { md: join(folder, "sub") }, "it is a folder"],
    ["named twice", { json: join(folder, "x"), csv: join(folder, "x") }, "is named twice"],
  ])("%s are refused", (_, wrong, reason) => {
    mkdirSync(join(folder, "sub"), { recursive: true });
    expect(
      new ReportFiles({ json: "", csv: "", md: "", html: "", ...wrong }, tiersOf("quick"), nowhere).fault(),
    ).toContain(reason);
    expect(existsSync(join(folder, "x"))).toBe(false);
  });

  test("that are there keep their content until the report comes", () => {
    writeFileSync(paths.json, "old");
    new ReportFiles(paths, tiersOf("quick"), nowhere).fault();
    expect(readFileSync(paths.json, "utf8")).toBe("old");
  });
});
