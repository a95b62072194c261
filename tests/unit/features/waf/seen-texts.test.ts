import { expect, test } from "bun:test";
import fc from "fast-check";
import { SeenTexts } from "../../../../src/features/waf/match/seen-values.ts";

test("texts seen are the very same bytes, and nothing else", () => {
  const text = fc.string({ minLength: 60, maxLength: 300, unit: fc.constantFrom("a", "b") });
  fc.assert(
    fc.property(fc.array(fc.record({ text, isNoted: fc.boolean() }), { maxLength: 80 }), (steps) => {
      const seen = new SeenTexts();
      const noted = new Set<string>();
      for (const { text, isNoted } of [...steps, ...steps]) {
        const bytes = Buffer.from(`##${text}##`, "latin1");
        if (seen.has(bytes, 2, bytes.length - 2)) expect(noted.has(text)).toBe(true);
        if (!isNoted) continue;
        seen.note(bytes, 2, bytes.length - 2);
        noted.add(text);
        expect(seen.has(bytes, 2, bytes.length - 2)).toBe(text.length >= 64);
      }
    }),
  );
});

test("a text is kept as it was, whatever becomes of the bytes; one that is too long is not kept", () => {
  const seen = new SeenTexts();
  const bytes = Buffer.alloc(4096, "x");
  seen.note(bytes, 0, bytes.length);
  expect(seen.has(Buffer.alloc(4096, "x"), 0, 4096)).toBe(true);
  bytes[2000] = 0x27;
  expect(seen.has(bytes, 0, bytes.length)).toBe(false);
  const long = Buffer.alloc(8193, "x");
  seen.note(long, 0, long.length);
  expect(seen.has(long, 0, long.length)).toBe(false);
});
