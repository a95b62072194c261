/** A constant of the build, by `scripts/build`; not there where the code runs from its sources. */
declare const EDGE_TEST_BUILD: boolean;

/** A time that a test would wait too long for: in what `scripts/build --tests` makes, a variable `EDGE_TEST_…` may shorten it. */
export function shorterInTests(name: string, ms: number): number {
  if (typeof EDGE_TEST_BUILD === "undefined" || !EDGE_TEST_BUILD) return ms;
  return Number(process.env[`EDGE_TEST_${name}`] ?? ms);
}
