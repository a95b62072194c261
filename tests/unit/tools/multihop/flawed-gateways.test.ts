import { describe, expect, test } from "bun:test";
import { VECTORS } from "../../../../src/tools/multihop/catalogue.ts";
import {
  hasDesync,
  hasPassed,
  hasPoisonedPool,
  type ScenarioResult,
} from "../../../../src/tools/multihop/scenario-result.ts";
import type { Flaw } from "./flaw.ts";
import { tryFlaw } from "./try-flaws.ts";

// The harness is believed only because it is seen to fail: gateways that are wrong in one way each, over real sockets.

/** A flaw, the vectors that it makes fail, and the backends where the flags go up; the others pass. */
interface Case {
  readonly flaw: Exclude<Flaw, null>;
  readonly fails: readonly string[];
  readonly desync: readonly string[];
  readonly pool: readonly string[];
  /** Left out where each attack costs a time-out. */
  readonly only?: readonly string[];
}

/** For a loaded machine; where each attack costs a time-out, less. */
const PATIENT_MS = 3000;
const HASTY_MS = 1200;
const ALL = ["node", "python", "go"];
// http.server goes by the length, so that a hidden second request does not harm it where it stands behind the chunks.
const BY_CHUNKS = ["node", "go"];
const EVERY_VECTOR = VECTORS.map(({ id }) => id);

const CASES: readonly Case[] = [
  {
    flaw: "passes both lengths, counts by the length",
    fails: ["VECTOR-04"],
    desync: ALL,
    pool: BY_CHUNKS,
    only: ["4"],
  },
  { flaw: "passes both lengths, counts by the chunks", fails: ["VECTOR-04"], desync: ALL, pool: [], only: ["4"] },
  { flaw: "refuses, but forwards all the same", fails: ["VECTOR-04"], desync: ALL, pool: ALL, only: ["4"] },
  { flaw: "refuses, but stays open", fails: ["VECTOR-05"], desync: [], pool: [], only: ["5"] },
  { flaw: "refuses, and runs what is behind", fails: ["VECTOR-06"], desync: ALL, pool: [], only: ["6"] },
  { flaw: "trusts names with a space behind them", fails: ["VECTOR-05"], desync: ALL, pool: BY_CHUNKS },
  { flaw: "joins folded lines", fails: ["VECTOR-06"], desync: [], pool: [] },
  { flaw: "passes folded lines", fails: ["VECTOR-06"], desync: BY_CHUNKS, pool: BY_CHUNKS },
  { flaw: "passes a bare LF", fails: ["VECTOR-06"], desync: BY_CHUNKS, pool: BY_CHUNKS },
  { flaw: "reads chunk extensions up to a CRLF", fails: ["VECTOR-06"], desync: ALL, pool: [] },
  { flaw: "keeps the prefix", fails: ["VECTOR-09"], desync: [], pool: [] },
  { flaw: "loses the last byte of a longer body", fails: ["VECTOR-10"], desync: ALL, pool: [] },
  { flaw: "answers by turns", fails: EVERY_VECTOR, desync: ALL, pool: ALL },
  { flaw: "passes Transfer-Encoding from HTTP/2", fails: ["VECTOR-01"], desync: ALL, pool: ALL },
  { flaw: "passes two lengths from HTTP/2", fails: ["VECTOR-02"], desync: ALL, pool: ["node", "python"] },
  { flaw: "passes a wrong length from HTTP/2", fails: ["VECTOR-03"], desync: ALL, pool: ALL },
  { flaw: "passes CR and LF from HTTP/2", fails: ["VECTOR-07"], desync: ALL, pool: ALL },
  { flaw: "passes pseudo-headers from HTTP/2", fails: ["VECTOR-08"], desync: [], pool: [] },
  { flaw: "refuses pseudo-headers from HTTP/2", fails: ["VECTOR-08"], desync: [], pool: [] },
  {
    flaw: "has no HTTP/2",
    fails: ["VECTOR-01", "VECTOR-02", "VECTOR-03", "VECTOR-07", "VECTOR-08"],
    desync: [],
    pool: [],
  },
];

const scenarioNames = (results: readonly ScenarioResult[]) =>
  results.map(({ scenario }) => `${scenario.vector.id} ${scenario.backend.name}`);
const at = (ids: readonly string[], backends: readonly string[]) =>
  EVERY_VECTOR.filter((id) => ids.includes(id)).flatMap((id) => backends.map((backend) => `${id} ${backend}`));

describe("a gateway that", () => {
  test("has no flaw passes every scenario", async () => {
    const results = await tryFlaw(null, [], PATIENT_MS);
    expect(results.flatMap(({ findings }) => findings.map(({ text }) => text))).toEqual([]);
    expect(results).toHaveLength(30);
  });

  test.each(CASES.map((each) => [each.flaw, each] as const))("%s fails for that alone", async (flaw, expected) => {
    const results = await tryFlaw(flaw, expected.only, expected.only === undefined ? PATIENT_MS : HASTY_MS);
    expect(scenarioNames(results.filter((each) => !hasPassed(each)))).toEqual(at(expected.fails, ALL));
    expect(scenarioNames(results.filter(hasDesync))).toEqual(at(expected.fails, expected.desync));
    expect(scenarioNames(results.filter(hasPoisonedPool))).toEqual(at(expected.fails, expected.pool));
  });

  test("every vector has a gateway that it alone condemns, and both flags go up for every vector", () => {
    const alone = CASES.filter(({ fails }) => fails.length === 1).map(({ fails }) => fails[0]!);
    expect(EVERY_VECTOR.filter((id) => !alone.includes(id))).toEqual([]);
    for (const id of EVERY_VECTOR) {
      const guilty = CASES.filter(({ fails }) => fails.includes(id));
      expect(guilty.some(({ desync }) => desync.length > 0) && guilty.some(({ pool }) => pool.length > 0)).toBe(true);
    }
  });
});
