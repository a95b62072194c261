import { expect, test } from "bun:test";
import fc from "fast-check";
import { isInternalPath } from "../../../src/core/internal-path.ts";
import { percentilesOf } from "../../../src/core/latency-sketch.ts";
import { BUILT_IN_PLACES } from "../../../src/features/admin/built-in-endpoints.ts";
import { LATENCY_BOUNDS_MS } from "../../../src/memory/counter-rows.ts";
import { TrafficWriter } from "../../../src/memory/counter-table.ts";
import { LabelRegistry } from "../../../src/memory/label-registry.ts";
import {
  BLOCK_PLACES,
  bucketsOf,
  createTrafficBlocks,
  STEP_BOUNDS_MS,
  STEPS_AT,
  TrafficReader,
} from "../../../src/memory/traffic-blocks.ts";

function setUp(threads = 1) {
  const registry = new LabelRegistry(["/a", "/b"], 10);
  const buffers = Array.from({ length: threads }, () => createTrafficBlocks(10));
  return {
    buffers,
    writers: buffers.map((one) => new TrafficWriter(one)),
    reader: new TrafficReader(buffers, registry),
  };
}

test("every duration is counted once, in its bucket of /metrics, within the block of its label", () => {
  const odd = fc.constantFrom(
    0,
    -0,
    -1,
    -1e9,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    60_000,
    1e12,
    ...LATENCY_BOUNDS_MS,
  );
  const near = fc
    .tuple(fc.constantFrom(...LATENCY_BOUNDS_MS, ...STEP_BOUNDS_MS), fc.constantFrom(-1, 1))
    .map(([ms, side]) => ms * (1 + side * Number.EPSILON));
  const durations = fc.array(fc.oneof(odd, near, fc.double({ min: 0, max: 1e5, noNaN: true })), { maxLength: 50 });
  fc.assert(
    fc.property(durations, (all) => {
      const { buffers, writers, reader } = setUp();
      const expected: number[] = new Array(LATENCY_BOUNDS_MS.length + 1).fill(0);
      for (const ms of all) {
        writers[0]!.took(1, ms);
        const bucket = LATENCY_BOUNDS_MS.findIndex((bound) => !(ms > bound));
        expected[bucket < 0 ? LATENCY_BOUNDS_MS.length : bucket]!++;
      }
      expect(bucketsOf(reader.block(1))).toEqual(expected);
      expect(reader.requestsOf(1)).toBe(all.length);
      const others = new Float64Array(buffers[0]!).fill(0, BLOCK_PLACES, 2 * BLOCK_PLACES);
      expect(others.every((count) => count === 0)).toBe(true);
    }),
  );
});

test("percentiles are within 10 % of the exact ones", () => {
  const durations = fc.array(fc.double({ min: 0.1, max: 50_000, noNaN: true }), { minLength: 200, maxLength: 400 });
  fc.assert(
    fc.property(durations, (all) => {
      const { writers, reader } = setUp(2);
      for (const [i, ms] of all.entries()) writers[i % 2]!.took(2, ms);
      const sorted = all.toSorted((a, b) => a - b);
      percentilesOf(reader.ofClients().subarray(STEPS_AT), STEP_BOUNDS_MS)!.forEach((found, i) => {
        const exact = sorted[Math.ceil([0.5, 0.9, 0.99][i]! * all.length) - 1]!;
        expect(Math.abs(found - exact) / exact).toBeLessThan(0.1);
      });
    }),
    { numRuns: 50 },
  );
});

test("labels and threads add up", () => {
  const { writers, reader } = setUp(2);
  for (const writer of writers) for (const id of [1, 2]) writer.took(id, 3);
  writers[0]!.carried(1, 5, 7);
  expect([reader.requestsOfThread(0), reader.requestsOf(2)]).toEqual([2, 2]);
  expect([...reader.ofClients().subarray(0, STEPS_AT)]).toEqual([4, 12, 5, 7]);
});

test("what operators ask the gateway itself is no traffic of clients", () => {
  const own = BUILT_IN_PLACES.map(({ path }) => path).filter(isInternalPath);
  expect(own).toEqual(BUILT_IN_PLACES.filter(({ internal }) => internal).map(({ path }) => path));
  const registry = new LabelRegistry([...own, "/internals", "/metrics/x"], 64);
  const buffer = createTrafficBlocks(64);
  const writer = new TrafficWriter(buffer);
  for (const id of registry.all().keys()) writer.took(id, 1000);
  const rest = registry.all().length - own.length;
  expect([...new TrafficReader([buffer], registry).ofClients().subarray(0, 2)]).toEqual([rest, rest * 1000]);
});
