import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  PathSign,
  pathSigns,
  type RouteFacts,
  TraversalScan,
} from "../../src/features/waf/detectors/path-traversal.ts";
import { WafInspector } from "../../src/features/waf/waf-inspector.ts";
import { LenientPath } from "../../src/proto/target/lenient-path.ts";
import { decodeOnce, MAX_DECODING_ROUNDS } from "../../src/proto/target/percent-decoding.ts";
import { headOfTarget } from "../unit/proto/target/head-of-target.ts";

const NO_ROUTES: RouteFacts = { exactId: () => -1, prefixId: () => -1 };
const PIECES = [
  "/",
  "/",
  ".",
  ".",
  "a",
  "%2e",
  "%2f",
  "%25",
  "2e",
  "%252E",
  "%%32",
  "65",
  "%c0",
  "%ae",
  "%af",
  "%u002e",
  "%00",
];
const path = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => `/${parts.join("")}`);
/** Without the tricks that percent-decoding alone does not see through. */
const percentPath = fc
  .array(fc.constantFrom("/", "/", ".", ".", "a", "%2e", "%2F", "%25", "2e", "2f"), { maxLength: 14 })
  .map((parts) => `/${parts.join("")}`);
const anyTarget = fc
  .array(fc.integer({ min: 0, max: 255 }), { maxLength: 60 })
  .map((codes) => String.fromCharCode(...codes));

test("the quick look never misses what the scan finds", () => {
  const scan = new TraversalScan();
  fc.assert(
    fc.property(fc.oneof(path, anyTarget), fc.constantFrom("", "?a=../", "#%2e%2e"), (text, rest) => {
      const head = headOfTarget(text + rest);
      if ((pathSigns(head) & PathSign.Climb) === 0) expect(scan.scan(head.bytes, head.pathFrom, head.pathTo)).toBe(0);
    }),
    { numRuns: 5000 },
  );
});

test("without routes, a path scores when some round of decoding shows a dot-dot segment, and only then", () => {
  const inspector = new WafInspector([], NO_ROUTES);
  fc.assert(
    fc.property(percentPath, (text) => {
      let decoded = text;
      let expected = false;
      for (let round = 0; round <= MAX_DECODING_ROUNDS; round++) {
        expected ||= decoded.split("/").includes("..");
        decoded = decodeOnce(decoded);
      }
      // What a filter would leave over has vectors of its own.
      fc.pre(!decoded.includes("..."));
      expect([text, inspector.inspect(headOfTarget(text)) > 0]).toEqual([text, expected]);
    }),
    { numRuns: 5000 },
  );
});

test("more encoding never hides a dot-dot segment", () => {
  const inspector = new WafInspector([], NO_ROUTES);
  fc.assert(
    fc.property(path, fc.nat(8), (text, times) => {
      if (inspector.inspect(headOfTarget(text)) === 0) return;
      let deeper = text;
      for (let i = 0; i < times; i++) deeper = deeper.replaceAll("%", "%25");
      expect([deeper, inspector.inspect(headOfTarget(deeper)) >= 5]).toEqual([deeper, true]);
    }),
    { numRuns: 2000 },
  );
});

test("folding never makes a path longer, and no bytes make anything throw", () => {
  const folded = new LenientPath();
  const inspector = new WafInspector([], NO_ROUTES);
  fc.assert(
    fc.property(fc.oneof(path, anyTarget), (text) => {
      const head = headOfTarget(text);
      folded.load(head.bytes, head.pathFrom, head.pathTo);
      expect(folded.length).toBeLessThanOrEqual(head.pathTo - head.pathFrom);
      folded.stripParents();
      expect(inspector.inspect(head) % 5).toBe(0);
    }),
    { numRuns: 5000 },
  );
});
