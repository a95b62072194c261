import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { categoryQualities, ORDINARY_REQUESTS, ordinaryQuality } from "./quality.ts";
import { QUALITY_FILE, qualityTable } from "./quality-table.ts";

/** Share of attacks that must be blocked. */
const FLOOR = 0.95;
const MIN_VECTORS = 60;

const categories = categoryQualities();
const ordinary = ordinaryQuality();

describe("the rules", () => {
  test.each(categories)("of $category block attacks and let look-alikes pass", (quality) => {
    expect(quality.attacks).toBeGreaterThanOrEqual(MIN_VECTORS);
    expect(quality.benign).toBeGreaterThanOrEqual(MIN_VECTORS);
    expect(quality.blocked / quality.attacks).toBeGreaterThanOrEqual(FLOOR);
    expect(quality.recognised / quality.attacks).toBeGreaterThanOrEqual(FLOOR);
    expect(quality.falsePositives).toEqual([]);
  });

  test(`let ${ORDINARY_REQUESTS} ordinary requests pass`, () => {
    expect(ordinary.requests).toBe(ORDINARY_REQUESTS);
    expect(ordinary.falsePositives).toEqual([]);
    expect(ordinary.scored / ordinary.requests).toBeLessThan(0.05);
  });

  test("have their table in the repository; bun tests/unit/features/waf/quality-table.ts writes it", () => {
    expect(readFileSync(QUALITY_FILE, "utf8")).toBe(qualityTable(categories, ordinary));
  });
});
