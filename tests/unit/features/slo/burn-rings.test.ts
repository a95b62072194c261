// docs/pressure.md#objectives
import { expect, test } from "bun:test";
import { BURN_WINDOWS, BurnRings, burnRate } from "../../../../src/features/slo/burn-rings.ts";

test("a burn rate is bad divided by all, and by what the objective allows", () => {
  expect(burnRate(1, 100, 0.99)).toBeCloseTo(1);
  expect(burnRate(5, 1000, 0.999)).toBeCloseTo(5);
  expect(burnRate(0, 0, 0.999)).toBe(0);
});

test("each window sees its own past, to a sixtieth of its length", () => {
  const rings = new BurnRings();
  const totals = (seconds: number) => ({ all: seconds * 10, failed: seconds, slow: 0 });
  const end = 8 * 3600;
  for (let s = 0; s <= end; s += 5) rings.note(totals(s), s * 1000);
  for (const [i, [, ms]] of BURN_WINDOWS.entries()) {
    const { all, failed } = rings.within(i, totals(end), end * 1000);
    expect([all / 10 >= ms / 1000, all / 10 <= (ms / 1000) * 1.02, all]).toEqual([true, true, failed * 10]);
  }
});

test("what has just been counted counts at once, and a gateway that has just begun has no past", () => {
  const rings = new BurnRings();
  rings.note({ all: 0, failed: 0, slow: 0 }, 1000);
  expect(rings.within(2, { all: 4, failed: 1, slow: 2 }, 1001)).toEqual({ all: 4, failed: 1, slow: 2 });
});

test("after a standstill no moment is made up", () => {
  const rings = new BurnRings();
  rings.note({ all: 10, failed: 10, slow: 0 }, 0);
  rings.note({ all: 10, failed: 10, slow: 0 }, 7 * 3_600_000);
  expect(rings.within(2, { all: 12, failed: 10, slow: 0 }, 7 * 3_600_000 + 1)).toEqual({ all: 2, failed: 0, slow: 0 });
});
