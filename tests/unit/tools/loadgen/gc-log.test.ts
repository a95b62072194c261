import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GcLogFollower } from "../../../../src/tools/loadgen/gc-log-follower.ts";
import { type GcCycle, GcLogParser } from "../../../../src/tools/loadgen/gc-log-parser.ts";
import { gcTelemetry, NO_GC_TELEMETRY, type TimedCycle } from "../../../../src/tools/loadgen/gc-telemetry.ts";
import { leastSquaresSlope } from "../../../../src/tools/loadgen/least-squares.ts";

const REST = "a=0kb hf=0.000 mu=0.600 v=0kb (C:0 M:0 P1:0) o=0 b=0 i#1:N<CsMsrShDMsm(0)SrbBcs> 4366+0";

/** One collection with two pauses, as JavaScriptCore writes it. */
function cycleText(heap: string, startKb: number, liveKb: number, kind = "Eden"): string {
  return (
    `[GC<${heap}>: starting 0.045634ms]\n` +
    `Requesting GC because bytes allocated this cycle: 11043925 exceed bytes allowed: 8388608\n` +
    `[GC<${heap}>: START M ${startKb}kb => ${kind}Collection, ${REST} p=1.5ms (max 1.5)...]\n` +
    `[GC<${heap}>: M a=560kb hf=0.130 v=2977kb (C:1050 M:0 P1:1926) i#6:P<Msm(0)>Pbc => ${liveKb}kb, p=0.5ms (max 1.5), ` +
    `cycle 6.25ms END]\nGC END!\n[GC<${heap}>: epilogue 0.037902ms]\n`
  );
}

function parse(pieces: Iterable<string>): GcCycle[] {
  const cycles: GcCycle[] = [];
  const parser = new GcLogParser((cycle) => cycles.push(cycle));
  for (const piece of pieces) parser.feed(piece);
  return cycles;
}

const TWO = cycleText("0x1a", 9000, 3000) + cycleText("0x2b", 8000, 7000, "Full");
const TWO_READ = [
  { heap: "0x1a", isFull: false, triggerKb: 9000, liveKb: 3000, pausesMs: [1.5, 0.5], cycleMs: 6.25 },
  { heap: "0x2b", isFull: true, triggerKb: 8000, liveKb: 7000, pausesMs: [1.5, 0.5], cycleMs: 6.25 },
];

describe("the collector's log", () => {
  test("is read whatever its pieces", () => {
    expect(parse([TWO])).toEqual(TWO_READ);
    expect(parse(TWO)).toEqual(TWO_READ);
    for (const size of [7, 64, 131]) {
      expect(parse(TWO.match(new RegExp(`[^]{1,${size}}`, "g"))!)).toEqual(TWO_READ);
    }
  });

  test("is read where two threads write in each other's midst", () => {
    const mixed =
      `[GC<0x1a>: START M 40000kb => EdenCollection, a=0kb i#1:N<[GC<0x2b>: START M 9000kb => FullCollection, a=0kb ` +
      `Csv=0kb (C:0 M:0 P1:0) => 3000kb, => 39000kb, p=0.5ms (max 1.5), cycle 1ms END]\nGC END!\n` +
      `p=0.7ms (max 1.5), cycle 2ms END]\nGC END!\n`;
    const cycles = parse([mixed]).sort((a, b) => a.liveKb - b.liveKb);
    expect(cycles.map(({ heap, liveKb, triggerKb }) => [heap, liveKb, triggerKb])).toEqual([
      ["0x2b", 3000, 9000],
      ["0x1a", 39000, 40000],
    ]);
  });

  test("in fragments gives no collection that did not end", () => {
    expect(parse([TWO.slice(0, TWO.indexOf("cycle"))])).toEqual([]);
    expect(parse([TWO.slice(TWO.indexOf("=> 3000kb"))])).toEqual([TWO_READ[1]!]);
    expect(parse(["\0\xff[GC<0x1>: [GC<: START M kb p=ms END]".repeat(100)])).toEqual([]);
  });
});

describe("the telemetry", () => {
  const grow = (heap: string, perMinuteMb: number, offsetKb: number): TimedCycle[] =>
    Array.from({ length: 60 }, (_, i) => ({
      ...TWO_READ[0]!,
      heap,
      triggerKb: 60_000,
      liveKb: offsetKb + (i / 60) * perMinuteMb * 1024,
      atMs: i * 1000,
    }));

  test("without collections is all zeros, and no NaN", () => {
    const empty = gcTelemetry([], new Map(), 5000, "observed");
    expect(empty).toEqual({ ...NO_GC_TELEMETRY, enabled: true, times: "observed" });
    const numbers = JSON.stringify([empty, gcTelemetry([], new Map(), 0, "observed")]).match(/:(-?[\w.]+)/g)!;
    expect(numbers.filter((text) => !/^:(0|true|false)$/.test(text))).toEqual([]);
    expect(NO_GC_TELEMETRY.enabled).toBe(false);
  });

  test("tells the growth of all heaps together", () => {
    const cycles = [...grow("a", 2, 10_000), ...grow("b", 0.5, 20_000)].sort((x, y) => x.atMs - y.atMs);
    const { heap_metrics_mb: heap, heaps } = gcTelemetry(cycles, new Map(), 60_000, "observed");
    expect(heaps).toBe(2);
    expect(heap.heap_growth_slope_mb_per_min).toBeCloseTo(2.5, 2);
    expect(heap.initial).toBeCloseTo(30_000 / 1024, 2);
    expect(heap.peak).toBe(heap.final);
  });

  test("takes a heap that collects late for no growth", () => {
    const cycles = [...grow("a", 0, 10_000), { ...grow("b", 0, 50_000)[0]!, atMs: 40_500 }];
    cycles.sort((x, y) => x.atMs - y.atMs);
    expect(gcTelemetry(cycles, new Map(), 60_000, "observed").heap_metrics_mb.heap_growth_slope_mb_per_min).toBe(0);
  });

  test("sums up pauses, marking and rates", () => {
    const [one, two] = TWO_READ.map((cycle, i) => ({ ...cycle, atMs: i * 1000 }));
    const told = gcTelemetry([one!, two!], new Map(), 10_000, "observed");
    expect(told).toMatchObject({ total_cycles: 2, full_cycles: 1, cycles_per_second: 0.2, gc_cpu_percent: 0.13 });
    expect(told.total_reclaimed_mb).toBeCloseTo(7000 / 1024, 2);
    expect(told.pause_times_ms).toEqual({
      ...{ min: 0.5, mean: 1, p50: 0.5, p95: 1.5, p99: 1.5, max: 1.5, total_stw: 4, mean_mark: 4.25, max_mark: 4.25 },
    });
    expect(told.heap_metrics_mb.peak_trigger_heap).toBeCloseTo((9000 + 7000) / 1024, 2);
  });

  test("one collection, or several at one time, have no slope", () => {
    expect(leastSquaresSlope([])).toBe(0);
    expect(leastSquaresSlope([{ x: 1, y: 5 }])).toBe(0);
    expect(
      leastSquaresSlope([
        { x: 1, y: 5 },
        { x: 1, y: 9 },
      ]),
    ).toBe(0);
    expect(
      leastSquaresSlope([
        { x: 0, y: 1 },
        { x: 1, y: 2 },
        { x: 2, y: 6 },
      ]),
    ).toBeCloseTo(2.5);
  });
});

describe("a log that is followed", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-gc-"));
  const path = join(folder, "gc.log");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("counts what appears during the run", () => {
    writeFileSync(path, cycleText("0x1a", 9000, 3000));
    const follower = new GcLogFollower(path);
    follower.begin();
    appendFileSync(path, cycleText("0x1a", 9000, 5000));
    follower.follow(30_000);
    appendFileSync(path, cycleText("0x1a", 9000, 6024));
    follower.follow(60_000);
    const told = follower.telemetry(60_000);
    expect(told).toMatchObject({ enabled: true, times: "observed", total_cycles: 2 });
    expect(told.heap_metrics_mb.heap_growth_slope_mb_per_min).toBeCloseTo(2, 3);
    follower.begin();
    follower.follow(100);
    appendFileSync(path, cycleText("0x1a", 9000, 6024));
    follower.follow(200);
    expect(follower.telemetry(1000)).toMatchObject({ total_cycles: 1 });
    follower.close();
  });

  test("that was recorded before counts as a whole, spread over the run", () => {
    writeFileSync(path, [3000, 4024, 5048].map((liveKb) => cycleText("0x1a", 9000, liveKb)).join(""));
    const follower = new GcLogFollower(path);
    follower.begin();
    follower.follow(100);
    const told = follower.telemetry(180_000);
    expect(told).toMatchObject({ times: "spread", total_cycles: 3 });
    expect(told.heap_metrics_mb.heap_growth_slope_mb_per_min).toBeCloseTo(1, 3);
    follower.close();
  });

  test("that is empty so far has nothing to tell", () => {
    writeFileSync(path, "");
    const follower = new GcLogFollower(path);
    follower.begin();
    expect(follower.telemetry(1000)).toMatchObject({ enabled: true, total_cycles: 0 });
    follower.close();
  });

  test("that is something else is refused in words", () => {
    writeFileSync(path, "this is a letter to a friend\n".repeat(10));
    expect(() => new GcLogFollower(path)).toThrow("holds no line of JavaScriptCore's garbage collector log");
    expect(() => new GcLogFollower(folder)).toThrow("not a file");
  });
});
