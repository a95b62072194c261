import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  addSeries,
  createSeriesTable,
  keyLabelId,
  keyMethod,
  keyStatus,
  OVERFLOW_KEY,
  requestKey,
  SeriesWriter,
} from "../../../src/memory/counter-table.ts";

function sums(...buffers: SharedArrayBuffer[]): Map<number, number> {
  const into = new Map<number, number>();
  for (const buffer of buffers) addSeries(buffer, into);
  return into;
}

describe("series table", () => {
  test("a key keeps its slot, and counts show under the key", () => {
    const buffer = createSeriesTable(8);
    const writer = new SeriesWriter(buffer);
    const slot = writer.slotOf(42);
    expect(slot).toBe(1);
    expect(writer.slotOf(7)).toBe(2);
    expect(writer.slotOf(42)).toBe(slot);
    writer.increment(slot);
    writer.increment(slot);
    expect(sums(buffer)).toEqual(new Map([[42, 2]]));
  });

  test("what finds no slot is counted together", () => {
    const buffer = createSeriesTable(3);
    const writer = new SeriesWriter(buffer);
    for (const key of [10, 11, 12, 13]) writer.increment(writer.slotOf(key));
    expect(sums(buffer)).toEqual(
      new Map([
        [OVERFLOW_KEY, 2],
        [10, 1],
        [11, 1],
      ]),
    );
  });

  test("a successor goes on where the first writer stopped", () => {
    const buffer = createSeriesTable(8);
    const first = new SeriesWriter(buffer);
    first.increment(first.slotOf(5));
    const second = new SeriesWriter(buffer);
    second.increment(second.slotOf(5));
    second.increment(second.slotOf(6));
    expect(sums(buffer)).toEqual(
      new Map([
        [5, 2],
        [6, 1],
      ]),
    );
  });

  test("tables add up by key, whatever their slots", () => {
    const a = createSeriesTable(8);
    const b = createSeriesTable(8);
    const writerA = new SeriesWriter(a);
    const writerB = new SeriesWriter(b);
    writerA.increment(writerA.slotOf(1));
    writerA.increment(writerA.slotOf(2));
    writerB.increment(writerB.slotOf(2));
    expect(sums(a, b)).toEqual(
      new Map([
        [1, 1],
        [2, 2],
      ]),
    );
  });

  test("any increments are counted, none lost and none twice", () => {
    const key = fc.nat(20);
    fc.assert(
      fc.property(fc.array(key, { maxLength: 200 }), fc.integer({ min: 1, max: 12 }), (keys, capacity) => {
        const buffer = createSeriesTable(capacity);
        const writer = new SeriesWriter(buffer);
        for (const one of keys) writer.increment(writer.slotOf(one));
        const found = sums(buffer);
        const total = [...found.values()].reduce((sum, count) => sum + count, 0);
        expect(total).toBe(keys.length);
        for (const [one, count] of found) {
          if (one !== OVERFLOW_KEY) expect(count).toBe(keys.filter((other) => other === one).length);
        }
      }),
    );
  });
});

test("a series key gives back what went in", () => {
  const status = fc.oneof(fc.constant(0), fc.integer({ min: 100, max: 599 }));
  fc.assert(
    fc.property(fc.nat(2 ** 18 - 1), fc.nat(15), status, (label, method, code) => {
      const key = requestKey(label, method, code);
      expect(key).toBeGreaterThanOrEqual(0);
      expect([keyLabelId(key), keyMethod(key), keyStatus(key)]).toEqual([label, method, code]);
    }),
  );
});
