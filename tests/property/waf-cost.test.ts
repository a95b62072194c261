import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Findings } from "../../src/features/waf/findings.ts";
import { StepBudget } from "../../src/features/waf/match/step-budget.ts";
import { InputLocation, ValueReading } from "../../src/features/waf/match/value-reading.ts";
import { PLAIN, type Sharpness } from "../../src/features/waf/rule.ts";
import { RuleSwitches } from "../../src/features/waf/rule-switches.ts";
import { tablesOf, WAF_RULES } from "../../src/features/waf/rule-table.ts";
import { ValueInspector } from "../../src/features/waf/value-inspector.ts";
import { WafInspector } from "../../src/features/waf/waf-inspector.ts";
import { countedBytes, type ReadCount } from "../harness/counted-bytes.ts";
import {
  DETECTOR_WORDS,
  ENCODINGS,
  FRAGMENTS,
  HOSTILE_PLACES,
  type HostilePlace,
  type HostileRequest,
  MARK_FRAGMENTS,
  PREFIXES,
  repeated,
  SEPARATORS,
} from "../harness/hostile-values.ts";
import { samples } from "../harness/long-lane.ts";
import { inspectWhole } from "../harness/waf-bodies.ts";
import { NO_ROUTES } from "../unit/features/waf/vector-request.ts";

const inspector = new WafInspector([], NO_ROUTES);
const SHARP: Sharpness = { level: 2, profile: [] };
const sharp = new WafInspector([], NO_ROUTES, [], undefined, undefined, SHARP);

/** Steps that a unit takes, repeated to so many bytes in a place. */
function stepsOf(place: HostilePlace, unit: string, length: number, by: WafInspector): number {
  const { head, body } = place.request(repeated(unit, length));
  by.steps.taken = 0;
  if (body.length === 0) by.inspect(head);
  else inspectWhole(by, head, 0, body);
  return by.steps.taken;
}

/**
 * Eight times the bytes may take ten times the steps, and an analysis more: the longer value may be cut where it makes an
 * analyser look that the shorter one did not.
 */
function expectLinear(place: HostilePlace, unit: string, by: WafInspector = inspector): void {
  const small = stepsOf(place, unit, place.maxBytes / 8, by);
  const large = stepsOf(place, unit, place.maxBytes, by);
  if (large > 10 * small + SLACK_STEPS) {
    throw new Error(`${place.name}: ${JSON.stringify(unit)} takes ${small} and ${large} steps`);
  }
  expect(by.steps.isSpent).toBe(false);
}

const fragment = fc.oneof(fc.constantFrom(...MARK_FRAGMENTS), fc.constantFrom(...FRAGMENTS));
const run = fc.tuple(fragment, fc.constantFrom(1, 1, 1, 7, 60)).map(([text, times]) => text.repeat(times));
const unit = fc.array(run, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(""));
const place = fc.constantFrom(...HOSTILE_PLACES);
const placeIndex = fc.nat(HOSTILE_PLACES.length - 1);
/** A word of a detector and what stands behind it, once or twice, in some spelling; a value begins with some prefix. */
const generated = fc
  .record({
    prefix: fc.constantFrom(...PREFIXES),
    words: fc.array(fc.tuple(fc.constantFrom(...DETECTOR_WORDS), fc.constantFrom(...SEPARATORS)), {
      minLength: 1,
      maxLength: 2,
    }),
    times: fc.constantFrom(1, 1, 1, 1, 7, 60),
    encode: fc.constantFrom(...ENCODINGS),
  })
  .map(({ prefix, words, times, encode }) => ({ prefix, unit: encode(words.flat().join("").repeat(times)) }));
const RUNS = Number(process.env.WAF_COST_RUNS ?? samples(600, 240));

describe("the cost of inspection", () => {
  test("is linear for fragments of the rules' own keywords, one to three of them repeated, in every place", () => {
    fc.assert(
      fc.property(place, unit, (where, one) => expectLinear(where, one)),
      { numRuns: RUNS, seed: 20_261_122 },
    );
  }, 60_000);

  test("is linear for the rules of level 2 as well", () => {
    fc.assert(
      fc.property(place, unit, (where, one) => expectLinear(where, one, sharp)),
      { numRuns: RUNS / 2, seed: 20_261_123 },
    );
  }, 60_000);

  test(
    "is linear in bytes that are read, for every word of the detectors between all separators, in all spellings and places",
    () => {
      fc.assert(
        fc.property(fc.nat(1), placeIndex, generated, (which, at, { prefix, unit }) => {
          const where = HOSTILE_PLACES[at]!;
          const costOf = (length: number): Cost => {
            const { head, body } = where.request(prefix + repeated(unit, length - prefix.length));
            const request = { head, body: body.subarray(0, length) };
            return countedCost([PLAIN, SHARP][which]!, request, !READ_NATIVELY.test(where.name));
          };
          const small = costOf(SHORT_BYTES);
          const large = costOf(8 * SHORT_BYTES);
          const isLinear = large.reads <= 10 * small.reads + SLACK_READS;
          const isCounted = large.reads <= 4 * large.steps + 8 * SHORT_BYTES * READS_A_BYTE;
          if (!isLinear || !isCounted) expect([where.name, prefix, unit.slice(0, 200), small, large]).toEqual([]);
        }),
        {
          numRuns: RUNS,
          seed: Number(process.env.WAF_COST_SEED ?? 20_261_126),
          includeErrorInReport: true,
          // Once quadratic: texts in base64 within one run of base64, and a name that goes on after each of its dots.
          examples: ["and+", "QUE/", "dbms_ldap."].map((unit) => [0, RAW_FORM, { prefix: "", unit }]),
        },
      );
    },
    LONG_RUN_MS,
  );

  test("is linear in time where texts are packed, and where packed texts end and begin again", () => {
    const packed = Buffer.from("1' or 'a'='a' union select 1,2--").toString("base64");
    for (const one of [packed, `${packed} `, `${packed}=`, "QUFB", "QUFBQUFB/", "\\u0051\\u0055", `"${packed}",`]) {
      for (const where of HOSTILE_PLACES) expectLinear(where, one);
    }
  }, 60_000);

  test("is linear for what was not, and for what nests, never ends or comes in great numbers", () => {
    const units = [
      "/*'*/",
      "/*x'*/",
      "select.",
      "select.select ",
      ".select",
      // Names in which the word stands many times, and long texts between them.
      `=\`${"select.".repeat(60)} `,
      `x '${"select$".repeat(17)}`,
      "'",
      "''",
      "(",
      "((",
      "[",
      "{",
      "${",
      "<!--",
      "<a '",
    ];
    const more = [
      "<a style=",
      "style=((",
      "union all ",
      "' (",
      "/*'*/)",
      "a.b.c.",
      "&#0",
      "//",
      "../",
      "\\",
      "%25",
      "=",
      "&a=<xml",
      "((cn=",
      "(|(mail=a)",
      "(&(uid=",
      "&#x6a;&#x61;",
      "data:<?=`&a;",
      "x.constructor('",
      "{$or:[",
      "\n",
    ];
    for (const one of [...units, ...more]) {
      for (const where of HOSTILE_PLACES) {
        expectLinear(where, one);
        expectLinear(where, one, sharp);
      }
    }
  }, 60_000);

  test("is what is counted: no more than four bytes are read for a step", () => {
    const steps = new StepBudget();
    const value = new ValueReading(steps);
    const findings = new Findings(
      new RuleSwitches(
        WAF_RULES.map((rule) => rule.id),
        [],
      ),
      value,
    );
    const values = new ValueInspector(value, findings, tablesOf(PLAIN));
    const count: ReadCount = { reads: 0 };
    value.bytes = countedBytes(new Uint8Array(8192), count);
    const where = fc.constantFrom(
      InputLocation.Query,
      InputLocation.Header,
      InputLocation.Extension,
      InputLocation.Body,
      InputLocation.Path,
    );
    const cost = (text: string): void => {
      const bytes = Buffer.from(text, "latin1");
      value.loadEscaped(bytes, 0, bytes.length, true);
      steps.begin(bytes.length);
      count.reads = 0;
      unlessShown(() => values.inspect(bytes, 0, bytes.length));
      const { reads } = count;
      if (reads > 4 * steps.taken + READS_ONCE) expect([text.slice(0, 200), reads, steps.taken]).toEqual([]);
    };
    fc.assert(
      fc.property(where, unit, (at, one) => {
        value.location = at;
        cost(repeated(one, 2048));
      }),
      {
        numRuns: Math.ceil(RUNS / 4),
        seed: 7,
        // Once more than four: each separator looks over the brackets in front of a command.
        examples: [[InputLocation.Query, `| cop${"{".repeat(120)}`]],
      },
    );
  }, 60_000);
});

/** What an inspection costs. */
interface Cost {
  readonly reads: number;
  readonly steps: number;
}

/**
 * What is read of a request and of the values in it. All rules are silent, since finds are shown by native searches.
 * @param countsSource whether reads of the request's own bytes count, too
 */
function countedCost(sharpness: Sharpness, { head, body }: HostileRequest, countsSource: boolean): Cost {
  // A new one each time: it remembers no texts.
  const by = new WafInspector(EVERY_RULE, NO_ROUTES, [], undefined, undefined, sharpness);
  const { value } = (by as unknown as { values: { value: ValueReading } }).values;
  const count: ReadCount = { reads: 0 };
  value.bytes = countedBytes(new Uint8Array(32 * SHORT_BYTES), count);
  unlessShown(() => inspectCounted(by, head, body, countsSource, count));
  return { reads: count.reads, steps: by.steps.taken };
}

/** Inspects as far as a detector that shows a part of the value to a native search, which takes no counted bytes. */
function unlessShown(inspect: () => void): void {
  try {
    inspect();
  } catch (error) {
    if (!String(error).includes("ArrayBufferView")) throw error;
  }
}

function inspectCounted(
  by: WafInspector,
  head: HostileRequest["head"],
  body: Uint8Array,
  countsSource: boolean,
  count: ReadCount,
): void {
  if (body.length > 0) {
    const isMarkup = Buffer.from(body).toString("latin1").trimStart().startsWith("<");
    inspectWhole(by, head, 0, countsSource && !isMarkup ? countedBytes(body, count) : body, body.length);
  } else {
    const { bytes } = head;
    if (countsSource) head.bytes = countedBytes(bytes, count);
    head.headers.bytes = head.bytes;
    by.inspect(head);
    head.bytes = bytes;
    head.headers.bytes = bytes;
  }
}

const RAW_FORM: number = HOSTILE_PLACES.findIndex(({ name }) => name === "raw form");
const EVERY_RULE: readonly string[] = WAF_RULES.map((rule) => rule.id);
/** Places whose structure is read by native searches. */
const READ_NATIVELY = /XML|multipart|gRPC|path/;
const SHORT_BYTES = 768;
/** One look of the analysers at the longer value that the shorter one did not call for. */
const SLACK_READS = 80_000;
const READS_A_BYTE = 40;
const LONG_RUN_MS = Math.max(60_000, RUNS * 100);
/** One analysis of 64 KiB without any find; the square of a header of 8000 bytes is many times that. */
const SLACK_STEPS = 1_000_000;
/** Reads that a short value takes for nothing. */
const READS_ONCE = 2000;
