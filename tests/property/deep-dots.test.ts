import { expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalise, canonicaliseDeeply, deeperReadings } from "../../src/proto/target/canonical-path.ts";
import { resolveDeepDots } from "../../src/proto/target/deep-dots.ts";
import { DotReading, holdsDotSegment } from "../../src/proto/target/dot-segments.ts";
import { decodeFully, decodeOnce } from "../../src/proto/target/percent-decoding.ts";

const plain = fc.constantFrom("a", "b.c", "..x", "...", "a b", "é");
const dots = fc.constantFrom(".", "..", "..;v=1");
/** Encodes each character of a text so many times. */
function encoded(text: string, depth: number): string {
  let out = text;
  for (let i = 0; i < depth; i++)
    out = [...Buffer.from(out, "latin1")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  return out;
}
const segment = fc
  .tuple(fc.oneof({ weight: 2, arbitrary: plain }, dots), fc.integer({ min: 0, max: 3 }))
  .map(([text, depth]) => ({ text, spelled: encoded(text, depth) }));
const slash = fc.integer({ min: 0, max: 3 }).map((depth) => encoded("/", depth));
const path = fc
  .array(fc.tuple(slash, segment), { minLength: 1, maxLength: 8 })
  .map((parts) => `/x${parts.map(([between, { spelled }]) => between + spelled).join("")}`);

test("no reading of a path that is forwarded has dot segments, however often it is decoded", () => {
  fc.assert(
    fc.property(path, (raw) => {
      const { sanitised, canonical } = canonicaliseDeeply(raw);
      if (deeperReadings(canonical) === null) {
        // Too deep, and refused.
        expect(decodeFully(raw).tooDeep || resolveDeepDots(canonicalise(raw).sanitised) === null).toBe(true);
        return;
      }
      for (let text = sanitised; ; text = decodeOnce(text)) {
        expect(holdsDotSegment(text.replaceAll("\\", "/"), DotReading.Parameters)).toBe(false);
        if (decodeOnce(text) === text) break;
      }
    }),
    { numRuns: 3000 },
  );
});

// What parameters of dots are depends on where the segment ends: those alone are left out here.
test("it leads where the path leads that is decoded to its end", () => {
  fc.assert(
    fc.property(path, (raw) => {
      if (decodeFully(raw).text.includes(";")) return;
      const resolved = resolveDeepDots(raw);
      if (resolved === null) return;
      expect(canonicalise(decodeFully(resolved).text).canonical).toBe(canonicalise(decodeFully(raw).text).canonical);
    }),
    { numRuns: 3000 },
  );
});

test("paths without such segments stay as they are", () => {
  fc.assert(
    fc.property(fc.array(plain, { maxLength: 6 }), fc.integer({ min: 0, max: 3 }), (parts, depth) => {
      const raw = `/${parts.map((part) => encoded(part, depth)).join("/")}`;
      expect(canonicaliseDeeply(raw)).toEqual(canonicalise(raw));
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["/a/%252e%252e/b", "/b"],
  ["/a/%252e/b", "/a/b"],
  ["/a/b%252f%252e%252e%252fc", "/a%252fc"],
  ["/a/%25252e%25252e/b", "/b"],
  ["/%252e%252e/%252e%252e/b", "/b"],
  ["/a/%252e%252e", "/"],
  ["/a/b/%252e", "/a/b/"],
  ["/a/.%25%32%65/b%20c", "/b%20c"],
  ["/a%2520b/%252e/c", "/a%2520b/c"],
])("%s becomes %s", (raw, wanted) => {
  expect(canonicaliseDeeply(raw).sanitised).toBe(wanted);
});
