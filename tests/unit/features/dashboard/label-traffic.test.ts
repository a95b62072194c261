import { expect, test } from "bun:test";
import { LabelTraffic } from "../../../../src/features/dashboard/label-traffic.ts";
import { TrafficWriter } from "../../../../src/memory/counter-table.ts";
import { LabelRegistry } from "../../../../src/memory/label-registry.ts";
import { createTrafficBlocks, TrafficReader } from "../../../../src/memory/traffic-blocks.ts";

const LABELS = 4000;

function setUp(passedOver = "") {
  const registry = new LabelRegistry(["/a", "/b"], LABELS);
  const buffers = [createTrafficBlocks(LABELS), createTrafficBlocks(LABELS)];
  const workers = buffers.map((buffer) => new TrafficWriter(buffer));
  return { registry, workers, traffic: new LabelTraffic(new TrafficReader(buffers, registry), passedOver) };
}

test("what was counted before the start is no traffic of the last seconds, and what comes later is, of all workers", () => {
  const { registry, workers, traffic } = setUp();
  const a = registry.idOf("/a");
  for (let i = 0; i < 1000; i++) workers[0]!.took(a, 9000);
  traffic.start();
  traffic.look();
  expect([traffic.percentilesOf("/a"), traffic.weightOf("/a")]).toEqual([null, 0]);
  for (const worker of workers) {
    for (let i = 0; i < 50; i++) worker.took(a, 2);
    worker.carried(a, 500, 5000);
  }
  traffic.look();
  expect(traffic.weightOf("/a")).toBe(100);
  for (const ms of traffic.percentilesOf("/a")!) expect(Math.abs(ms - 2)).toBeLessThan(0.1);
  expect(traffic.percentilesOf("/b")).toBeNull();
});

test("a steady flow shows its bytes a second, and traffic that has ended fades", () => {
  const { registry, workers, traffic } = setUp();
  const b = registry.idOf("/b");
  traffic.start();
  for (let second = 0; second < 60; second++) {
    for (let i = 0; i < 10; i++) workers[1]!.took(b, 1);
    workers[1]!.carried(b, 100, 2000);
    traffic.look();
  }
  expect(traffic.bytesPerSecond("/b")).toEqual([100, 2000]);
  for (let second = 0; second < 60; second++) traffic.look();
  expect([traffic.bytesPerSecond("/b"), traffic.percentilesOf("/b"), traffic.weightOf("/b")]).toEqual([
    [0, 0],
    null,
    0,
  ]);
});

test("a label that appears later is looked at, one that is passed over is not, and their number is bounded", () => {
  const { registry, workers, traffic } = setUp("/b");
  traffic.start();
  for (let i = 0; i < 3000; i++) workers[0]!.took(registry.idOf(`/new-${i}`), 1);
  workers[0]!.took(registry.idOf("/b"), 1);
  traffic.look();
  const seen = registry.all().filter((label) => traffic.weightOf(label) > 0);
  expect([seen.length, seen.includes("/b"), seen.includes("/new-0")]).toEqual([2048, false, true]);
});
