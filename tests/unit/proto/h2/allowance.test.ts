import { describe, expect, test } from "bun:test";
import { Allowance } from "../../../../src/proto/h2/allowance.ts";

/** How often in a row it may happen at this time. */
function spendAll(allowance: Allowance, nowMs: number): number {
  let count = 0;
  while (count < 1000 && allowance.spend(nowMs)) count++;
  return count;
}

describe("an allowance", () => {
  test("lets through so many at once, and then so many a second", () => {
    const allowance = new Allowance(8, 2);
    expect(spendAll(allowance, 1000)).toBe(8);
    expect(spendAll(allowance, 1400)).toBe(0);
    expect(spendAll(allowance, 2500)).toBe(3);
  });

  test("lets no more through at once after a while in which little happened", () => {
    const allowance = new Allowance(8, 2);
    expect(allowance.spend(0)).toBe(true);
    expect(spendAll(allowance, 60_000)).toBe(8);
    expect(spendAll(allowance, 60_000)).toBe(0);
  });

  test("keeps to its rate however the times lie", () => {
    const allowance = new Allowance(5, 10);
    let spent = 0;
    for (let nowMs = 0; nowMs <= 10_000; nowMs += 7) if (allowance.spend(nowMs)) spent++;
    expect(spent).toBeLessThanOrEqual(105);
    expect(spent).toBeGreaterThanOrEqual(104);
  });

  test("grows by what is earned, up to its size", () => {
    const allowance = new Allowance(3, 0);
    expect(spendAll(allowance, 0)).toBe(3);
    allowance.earn(10);
    expect(spendAll(allowance, 100_000)).toBe(3);
  });

  test("remembers what was spent when its size changes", () => {
    const allowance = new Allowance(1, 0);
    expect(allowance.spend(0)).toBe(true);
    allowance.resize(5, 1);
    expect(spendAll(allowance, 0)).toBe(4);
    allowance.resize(2, 1);
    expect(spendAll(allowance, 0)).toBe(0);
    expect(spendAll(allowance, 10_000)).toBe(2);
  });
});
