import { test } from "bun:test";

/** Whether this is the run of `scripts/test --long`. */
export const IS_LONG: boolean = process.env.EDGE_TEST_LONG === "1";
if (!IS_LONG) console.log("skipped: what takes too long for each run (scripts/test --long)");

/** How much of a generated kind is tried: in each run the second, with `--long` the first. */
export function samples(whole: number, each: number): number {
  return IS_LONG ? whole : each;
}

/** A test that takes too long for each run: skipped but for `scripts/test --long`. */
export const longTest = IS_LONG ? test : test.skip;
