// The load generator must be able to fail: each flaw of a gateway that is broken on purpose makes the verdict FAIL.
import { afterEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attacksOn } from "../../src/tools/loadgen/attack-catalogue.ts";
import { BrokenGateway, type Conduct, type Flaws } from "../harness/broken-gateway.ts";
import { loadgen } from "../harness/load-run.ts";

let gateway: BrokenGateway | null = null;
afterEach(() => gateway?.stop());

async function loadOn(flaws: Flaws, ...flags: string[]) {
  gateway = new BrokenGateway(flaws);
  const outcome = await loadgen(gateway.url, flags);
  const { report } = outcome;
  expect(outcome.code).toBe(report.overall_verdict === "PASS" ? 0 : 1);
  const vectors = Object.fromEntries(report.adversarial_stream.vectors.map((vector) => [vector.id, vector]));
  // What a slow machine adds to the latency is not what these tests are about.
  return { report, vectors, reasons: report.verdict_reasons.filter((why) => !why.includes("p99")) };
}

/** Collections must be seen within the run, though this process stands still now and then. */
const LONGER = ["-d", "2s", "-rate", "100"];

const IDS = attacksOn("/", "x").map((attack) => attack.id);

test("a gateway without flaws gives no reason to fail", async () => {
  const { report, reasons, vectors } = await loadOn({});
  expect(reasons).toEqual([]);
  expect(report.adversarial_stream.active_defense_requests).toBe(100);
  expect(report.benign_stream).toMatchObject({ total_requests: 100, success_requests: 100, failures: {} });
  expect(gateway!.benignRequests).toBe(100);
  for (const id of IDS) {
    expect(vectors[id]).toMatchObject({ active_defense: gateway!.attacksSeen.get(id), route_miss: 0, bypassed: 0 });
    expect(vectors[id]!.sent).toBeGreaterThan(10);
  }
});

describe("a gateway that lets one attack through", () => {
  test.each(IDS)("fails by %s alone", async (id) => {
    const { report, vectors, reasons } = await loadOn({ attacks: { [id]: 200 } });
    expect(report.overall_verdict).toBe("FAIL");
    expect(reasons).toEqual([expect.stringContaining("answered 200 (bypass)")]);
    expect(vectors[id]).toMatchObject({ bypassed: vectors[id]!.sent, active_defense: 0 });
    expect(report.adversarial_stream.bypassed_requests).toBe(vectors[id]!.sent);
  });
});

describe("a gateway that answers attacks with", () => {
  test.each<[Conduct, "route_miss" | "unhandled", string, string]>([
    [404, "route_miss", "answered 404", "404"],
    [500, "unhandled", "not handled", "500"],
    [502, "unhandled", "not handled", "502"],
    [204, "unhandled", "not handled", "204"],
    ["garbage", "unhandled", "not handled", "malformed"],
  ])("%s fails", async (conduct, tier, reason, code) => {
    const { report, vectors, reasons } = await loadOn({ attacks: { "ADV-06": conduct } });
    expect(report.overall_verdict).toBe("FAIL");
    expect(reasons.join()).toContain(reason);
    const { sent, status_codes: codes } = vectors["ADV-06"]!;
    expect(vectors["ADV-06"]).toMatchObject({ [tier]: sent, active_defense: 0, bypassed: 0 });
    expect(codes).toEqual({ [code]: sent });
  });

  test.each<[Conduct, "route_miss" | "bypassed" | "unhandled"]>([
    [404, "route_miss"],
    [200, "bypassed"],
    [503, "unhandled"],
  ])("%s, all of them, has every one in the same tier", async (conduct, tier) => {
    const { report, vectors } = await loadOn({ everyAttack: conduct });
    expect(report).toMatchObject({ overall_verdict: "FAIL", active_defense_rate_pct: 0 });
    for (const id of IDS) expect(vectors[id]).toMatchObject({ [tier]: vectors[id]!.sent, active_defense: 0 });
  });

  test.each<Conduct>(["reset", "close"])("%s alone has defended itself", async (conduct) => {
    const { report, reasons } = await loadOn({ everyAttack: conduct });
    expect(reasons).toEqual([]);
    expect(report.active_defense_rate_pct).toBe(100);
    expect(report.adversarial_stream).toMatchObject({ status_codes: { 400: 100 }, transport_resets: 100 });
  });
});

describe("a gateway that starves the benign stream", () => {
  test.each<[Conduct, string]>([
    [503, "503"],
    ["garbage", "malformed"],
  ])("by answering one in ten with %s fails", async (conduct, name) => {
    const { report, reasons } = await loadOn({ benign: { every: 10, conduct } });
    expect(report).toMatchObject({ overall_verdict: "FAIL", zero_starvation_verified: false });
    expect(reasons).toEqual([expect.stringContaining("benign success is 9")]);
    expect(report.benign_stream.failures[name]).toBeGreaterThanOrEqual(9);
  });

  test("by a reset fails", async () => {
    const { report } = await loadOn({ benign: { every: 10, conduct: "reset" } });
    expect(report).toMatchObject({ overall_verdict: "FAIL", zero_starvation_verified: false });
    // A connection that ends without an answer, whichever way.
    expect(report.benign_stream.failed_requests).toBeGreaterThanOrEqual(9);
  });

  test("by silence fails, and its time counts; an attack without an answer is not handled", async () => {
    const flaws: Flaws = { benign: { every: 20, conduct: "silence" }, attacks: { "ADV-06": "silence" } };
    const { report, reasons, vectors } = await loadOn(flaws);
    expect(reasons.join()).toContain("not handled");
    expect(vectors["ADV-06"]).toMatchObject({ unhandled: vectors["ADV-06"]!.sent, active_defense: 0 });
    expect(vectors["ADV-06"]!.status_codes).toEqual({ timeout: vectors["ADV-06"]!.sent });
    expect(report).toMatchObject({ overall_verdict: "FAIL", zero_starvation_verified: false });
    expect(report.benign_stream.failures.timeout).toBeGreaterThanOrEqual(4);
    expect(report.benign_stream.latencies_ms.max).toBeGreaterThan(4900);
  });

  test("by being slow fails by its p99 alone", async () => {
    const { report } = await loadOn({ delayMs: 15 }, "-c", "40");
    expect(report).toMatchObject({ overall_verdict: "FAIL", zero_starvation_verified: false });
    expect(report.verdict_reasons).toEqual([expect.stringMatching(/^benign p99 is [\d.]+ ms, not under 10 ms; /)]);
  });
});

test("a gateway that leaks fails in the soak tier, and nowhere else", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-leak-"));
  const log = join(folder, "gc.log");
  let liveKb = 10_000;
  const collect = () => {
    liveKb += 200;
    const text = `[GC<0x1>: START M 90000kb => FullCollection, => ${liveKb}kb, p=0.5ms (max 0.5), cycle 1ms END]\n`;
    appendFileSync(log, text);
  };
  writeFileSync(log, "");
  collect();
  const leak = setInterval(collect, 50);
  try {
    const soak = await loadOn({}, ...LONGER, "-gc-trace", log, "-tier", "soak");
    expect(soak.report).toMatchObject({
      overall_verdict: "FAIL",
      duration_tier: "soak",
      gc_telemetry: { times: "observed" },
    });
    expect(soak.reasons).toEqual([expect.stringMatching(/^the heap grows by [\d.]+ MB a minute, more than 1.0$/)]);
    const quick = await loadOn({}, ...LONGER, "-gc-trace", log, "-tier", "quick");
    expect(quick.reasons).toEqual([]);
    expect(quick.report.gc_telemetry.heap_metrics_mb.heap_growth_slope_mb_per_min).toBeGreaterThan(1);
  } finally {
    clearInterval(leak);
    rmSync(folder, { recursive: true, force: true });
  }
});
