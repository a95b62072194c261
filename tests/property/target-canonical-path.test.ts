import { expect, test } from "bun:test";
import fc from "fast-check";
import { latin1 } from "../../src/core/bytes.ts";
import { isPlainPath } from "../../src/proto/h1/request-rules.ts";
import { canonicalise, offsetBehindSegments, pathFrom, slashedPath } from "../../src/proto/target/canonical-path.ts";
import {
  climbsAboveRoot,
  hasDotSegment,
  holdsDotSegment,
  mergeSlashes,
  removeDotSegments,
} from "../../src/proto/target/dot-segments.ts";
import { decodeAllButSlashes, decodeFully, decodeOnce } from "../../src/proto/target/percent-decoding.ts";
import { headOfTarget } from "../unit/proto/target/head-of-target.ts";

const PIECES = [
  "/",
  "/",
  ".",
  "..",
  "/../",
  "a",
  "b.c",
  "%2e",
  "%2E",
  "%2f",
  "%2F",
  "%25",
  "%252e",
  "%41",
  "%",
  ";",
  "\\",
  "%5c",
];
/** Paths that are rich in what canonicalisation cares for. */
const path = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((parts) => `/${parts.join("")}`);
const anyText = fc
  .array(fc.integer({ min: 0, max: 255 }), { maxLength: 60 })
  .map((codes) => String.fromCharCode(...codes));

test("removing dot segments is what RFC 3986 §5.2.4 says, and is done once", () => {
  fc.assert(
    fc.property(path, (text) => {
      const resolved = removeDotSegments(text);
      expect(resolved).toBe(rfc3986(text));
      expect(removeDotSegments(resolved)).toBe(resolved);
      expect(holdsDotSegment(resolved)).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

test("a path climbs above the root when a root in front of it would make a difference", () => {
  fc.assert(
    fc.property(path, (text) => {
      const deep = removeDotSegments(`/root${text}`);
      if (!climbsAboveRoot(text)) expect(deep).toBe(`/root${removeDotSegments(text)}`);
    }),
    { numRuns: 2000 },
  );
});

test("the sanitised path is a fixed point, and says the same as the canonical one", () => {
  fc.assert(
    fc.property(path, (raw) => {
      const { sanitised, canonical } = canonicalise(raw);
      expect(canonicalise(sanitised)).toEqual({ sanitised, canonical, hiddenDots: false });
      expect(canonical).toBe(mergeSlashes(decodeOnce(sanitised)));
      expect(holdsDotSegment(canonical)).toBe(false);
      expect(sanitised.startsWith("/")).toBe(true);
      expect(canonical.includes("//")).toBe(false);
      expect(holdsDotSegment(slashedPath(canonical))).toBe(false);
    }),
    { numRuns: 3000 },
  );
});

test("without encoded slashes, backslashes and parameters the sanitised path is that of the WHATWG URL parser", () => {
  fc.assert(
    fc.property(path, (raw) => {
      const text = raw.replaceAll(/%2f|%5c|\\|;/gi, "x");
      expect(canonicalise(text).sanitised).toBe(new URL(`http://h.test${text}`).pathname.replace(/^\/+/, "/"));
    }),
    { numRuns: 3000 },
  );
});

test("without dot segments nothing but decoding happens", () => {
  fc.assert(
    fc.property(path, (raw) => {
      const text = raw.replaceAll(".", "x").replaceAll(/%2e/gi, "y");
      const sanitised = text.replace(/^\/[/\\]+/, "/");
      expect(canonicalise(text)).toEqual({
        sanitised,
        canonical: mergeSlashes(decodeOnce(sanitised)),
        hiddenDots: false,
      });
    }),
  );
});

test("a plain path is its own canonical form; a path without escapes is plain only then", () => {
  fc.assert(
    fc.property(path, fc.constantFrom("", "?q=%2e//../", "#//./"), (raw, rest) => {
      const isPlain = isPlainPath(headOfTarget(raw + rest));
      const { sanitised, canonical } = canonicalise(raw);
      if (isPlain) expect([sanitised, canonical]).toEqual([raw, raw]);
      else if (!/[%\\]/.test(raw)) expect([sanitised, canonical]).not.toEqual([raw, raw]);
    }),
    { numRuns: 3000 },
  );
});

test("counting segments of the sanitised path finds the rest of the canonical one", () => {
  fc.assert(
    fc.property(path, fc.nat(4), (raw, count) => {
      const { sanitised, canonical } = canonicalise(raw);
      const segments = slashedPath(canonical).split("/").slice(1);
      const rest = pathFrom(sanitised, offsetBehindSegments(sanitised, count));
      if (segments.length >= count) {
        expect(slashedPath(canonicalise(rest).canonical)).toBe(`/${segments.slice(count).join("/")}`);
      }
    }),
    { numRuns: 3000 },
  );
});

test("decoding agrees with a regular expression", () => {
  const reference = (text: string) =>
    text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  fc.assert(
    fc.property(fc.oneof(path, anyText), (text) => {
      expect(decodeOnce(text)).toBe(reference(text));
      expect(decodeAllButSlashes(text)).toBe(
        text
          .split(/(%2f)/i)
          .map((part) => (/^%2f$/i.test(part) ? part : reference(part)))
          .join(""),
      );
      const { text: decoded, tooDeep } = decodeFully(text);
      expect(decodeOnce(decoded) === decoded).toBe(!tooDeep);
    }),
    { numRuns: 2000 },
  );
});

test("no text makes a function throw", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      canonicalise(text);
      canonicalise(`/${text}`);
      expect(hasDotSegment(latin1(text), 0, text.length)).toBe(/(?:^|\/)\.\.?(?:[/;]|$)/.test(text));
      offsetBehindSegments(text, 3);
    }),
    { numRuns: 2000 },
  );
});

/** RFC 3986 §5.2.4, step by step. */
function rfc3986(path: string): string {
  let input = path;
  let output = "";
  while (input !== "") {
    if (input.startsWith("/./")) input = input.slice(2);
    else if (input === "/.") input = "/";
    else if (input.startsWith("/../") || input === "/..") {
      input = input === "/.." ? "/" : input.slice(3);
      output = output.slice(0, Math.max(0, output.lastIndexOf("/")));
    } else {
      const next = input.indexOf("/", 1);
      output += next < 0 ? input : input.slice(0, next);
      input = next < 0 ? "" : input.slice(next);
    }
  }
  return output;
}
