// How well `edge loadgen` measures: against a server whose delays are known, and what it costs beside wrk and hey.
//   bun tests/bench/loadgen/accuracy.ts [--seconds 8] [--edge ./edge] [--only accuracy|cost] [--rows 2,5]
// It prints two tables. Figures of a busy machine mean nothing.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { SaturationReport } from "../../../src/tools/loadgen/saturation-report.ts";
import { fixed, percentile, table } from "../figures.ts";
import { readWrk } from "../load-tools.ts";
import { DelayedAnswers, type DelayProfile, trueLatencies } from "./delayed-answers.ts";

interface Trial {
  readonly name: string;
  readonly profile: DelayProfile;
  readonly perSecond: number;
  readonly connections: number;
}

const MIXED = [
  { share: 0.88, fromMs: 2, toMs: 6 },
  { share: 0.1, fromMs: 8, toMs: 16 },
  { share: 0.02, fromMs: 30, toMs: 40 },
];
const STEADY: DelayProfile = { parts: MIXED, stallEveryMs: 0, stallMs: 0 };
const STALLING: DelayProfile = { parts: MIXED, stallEveryMs: 1000, stallMs: 100 };

const TRIALS: readonly Trial[] = [
  { name: "mixed delays", profile: STEADY, perSecond: 2000, connections: 200 },
  { name: "stalls of 100 ms", profile: STALLING, perSecond: 2000, connections: 500 },
  { name: "stalls, few connections", profile: STALLING, perSecond: 2000, connections: 30 },
  { name: "mixed delays", profile: STEADY, perSecond: 10_000, connections: 500 },
  { name: "stalls of 100 ms", profile: STALLING, perSecond: 10_000, connections: 2000 },
];
const COST_RATES = [2000, 10_000, 30_000];
const TRUTH_SECONDS = 60;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    edge: { type: "string", default: join(import.meta.dir, "../../../edge") },
    only: { type: "string", default: "" },
    rows: { type: "string", default: "" },
    serve: { type: "string" },
  },
});

if (values.serve !== undefined) {
  const server = new DelayedAnswers(JSON.parse(values.serve));
  console.log(server.port);
  process.on("SIGTERM", () => {
    const gapMs = server.gapsMs.reduce((sum, ms) => sum + ms, 0) / Math.max(1, server.gapsMs.length);
    console.log(JSON.stringify([...[50, 99].map((percent) => percentile(server.tookMs, percent)), gapMs]));
    process.exit(0);
  });
} else {
  const folder = mkdtempSync(join(tmpdir(), "edge-accuracy-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const seconds = Number(values.seconds);
  const json = join(folder, "report.json");
  if (values.only !== "cost") console.log(`${await accuracy(json, seconds)}\n`);
  if (values.only !== "accuracy") console.log(await cost(json, seconds));
}

async function accuracy(json: string, seconds: number): Promise<string> {
  const rows: string[][] = [];
  const wanted = values.rows.split(",").filter((row) => row !== "");
  for (const trial of TRIALS.filter((_, i) => wanted.length === 0 || wanted.includes(String(i + 1)))) {
    const { profile, perSecond, connections } = trial;
    const { result, tookMs, gapMs } = await withServer(profile, (url) =>
      loadgen(url, json, ["-d", `${seconds}s`, "-a", "0", "-rate", `${perSecond}`, "-c", `${connections}`]),
    );
    const truth = trueLatencies(profile, perSecond, connections, TRUTH_SECONDS, gapMs);
    const { benign_stream: benign, generator } = result.report;
    const { latencies_ms: seen, actual_rps: rate } = benign;
    const [p50, p99] = [percentile(truth, 50), percentile(truth, 99)];
    rows.push([
      `${trial.name}, ${connections} connections`,
      fixed(perSecond, 0),
      fixed(rate, 1),
      off(rate, perSecond),
      fixed(gapMs * 1000, 1),
      `${fixed(p50, 2)} / ${fixed(p99, 2)}`,
      `${fixed(seen.p50, 2)} / ${fixed(seen.p99, 2)}`,
      `${off(seen.p50, p50)} / ${off(seen.p99, p99)}`,
      `${fixed(tookMs[0], 2)} / ${fixed(tookMs[1], 2)}`,
      `${off(benign.service_time_ms.p50, tookMs[0])} / ${off(benign.service_time_ms.p99, tookMs[1])}`,
      fixed(generator.cpu_us_per_request, 1),
    ]);
  }
  const head = ["server", "asked /s", "made /s", "off", "µs an answer", "true p50 / p99 ms", "measured", "off"];
  return table([...head, "server took", "off, from the write", "CPU µs a request"], rows);
}

/** Of a server that answers at once: wrk and hey have no latency of their own at a rate, but they cost CPU. */
async function cost(json: string, seconds: number): Promise<string> {
  const atOnce: DelayProfile = { parts: [{ share: 1, fromMs: 0, toMs: 0 }], stallEveryMs: 0, stallMs: 0 };
  const { result: rows } = await withServer(atOnce, async (url) => {
    const found: string[][] = [];
    for (const rate of COST_RATES) {
      const flags = ["-d", `${seconds}s`, "-a", "0", "-rate", `${rate}`, "-c", "32"];
      const { report } = await loadgen(url, json, flags);
      const { actual_rps: made, latencies_ms: seen } = report.benign_stream;
      const cpu = fixed(report.generator.cpu_us_per_request, 1);
      found.push([`edge loadgen, ${rate} a second`, fixed(made, 0), `${seen.p50} / ${seen.p99}`, cpu]);
    }
    found.push(...(await wrkRow(url, seconds)), ...(await heyRows(url, seconds)));
    return found;
  });
  return table(["tool", "made /s", "p50 / p99 ms", "CPU µs a request"], rows);
}

async function wrkRow(url: string, seconds: number): Promise<string[][]> {
  if (Bun.which("wrk") === null) return [];
  const { text, cpuMicros } = await run(["wrk", "-t1", "-c32", `-d${seconds}s`, "--latency", url]);
  const load = readWrk(text);
  const cpu = fixed(cpuMicros / load.requests, 1);
  return [["wrk, as fast as it can", fixed(load.requestsPerSecond, 0), `${load.p50Ms} / ${load.p99Ms}`, cpu]];
}

async function heyRows(url: string, seconds: number): Promise<string[][]> {
  if (Bun.which("hey") === null) return [];
  const rows: string[][] = [];
  for (const rate of COST_RATES.slice(0, 2)) {
    // hey's rate is that of each of its workers.
    const { text, cpuMicros } = await run(["hey", "-z", `${seconds}s`, "-c", "20", "-q", `${rate / 20}`, url]);
    const requests = Number(/\[200\]\s+(\d+) responses/.exec(text)?.[1] ?? 0);
    const at = (percent: number) => Number(new RegExp(`${percent}% in ([\\d.]+) secs`).exec(text)?.[1] ?? 0) * 1000;
    const made = Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1] ?? 0);
    rows.push([`hey, ${rate} a second`, fixed(made, 0), `${at(50)} / ${at(99)}`, fixed(cpuMicros / requests, 1)]);
  }
  return rows;
}

/**
 * Runs a server of this profile for a while; `tookMs` is what it really took, p50 and p99, and `gapMs` from one answer to the
 * next where a stall had held back many.
 */
async function withServer<T>(profile: DelayProfile, use: (url: string) => Promise<T>) {
  const command = [process.execPath, import.meta.path, "--serve", JSON.stringify(profile)];
  const server = Bun.spawn(command, { stdout: "pipe" });
  const lines = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const result = await use(`http://127.0.0.1:${(await lines.read()).value!.trim()}/`);
    server.kill("SIGTERM");
    const [p50, p99, gapMs] = JSON.parse((await lines.read()).value!) as [number, number, number];
    return { result, tookMs: [p50, p99] as const, gapMs };
  } finally {
    server.kill("SIGKILL");
  }
}

async function loadgen(url: string, json: string, flags: string[]): Promise<{ report: SaturationReport }> {
  const { text } = await run([values.edge, "loadgen", "-url", url, "-json", json, ...flags]);
  console.error(text.split("\n").slice(0, 2).join("  "));
  return { report: JSON.parse(readFileSync(json, "utf8")) };
}

async function run(command: string[]): Promise<{ text: string; cpuMicros: number }> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "ignore" });
  const text = await child.stdout.text();
  await child.exited;
  return { text, cpuMicros: Number(child.resourceUsage()!.cpuTime.total) };
}

function off(seen: number, truth: number): string {
  const percent = (100 * (seen - truth)) / truth;
  return `${percent > 0 ? "+" : ""}${fixed(percent, 1)} %`;
}
