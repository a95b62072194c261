import { expect, test } from "bun:test";
import fc from "fast-check";
import { InputBuffer } from "../../src/net/socket-buffers.ts";

type Step =
  | { readonly kind: "append"; readonly length: number }
  | { readonly kind: "consume"; readonly share: number }
  | { readonly kind: "release" }
  | { readonly kind: "compact" }
  | { readonly kind: "clear" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("append" as const), length: fc.integer({ min: 1, max: 3000 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("consume" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "release" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "clear" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "compact" as const }) },
);

/** Bytes that never repeat within a run, so that a wrong one shows. */
function pattern(from: number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => ((from + i) * 31 + ((from + i) >> 8)) & 255));
}

/** A piece that was handed out, and what it must still hold at the end. */
interface Kept {
  readonly view: Uint8Array;
  readonly copy: Buffer;
}

test("what is appended comes out once and in order, and what was handed out never changes", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const input = new InputBuffer();
      const kept: Kept[] = [];
      let model = Buffer.alloc(0);
      let appended = 0;
      for (const next of steps) {
        if (next.kind === "append") {
          const chunk = pattern(appended, next.length);
          appended += next.length;
          const offset = input.from;
          const before = Buffer.from(input.bytes.subarray(input.from, input.to));
          const isVoid = input.append(chunk);
          model = Buffer.concat([model, chunk]);
          // Offsets that stay good point at the same bytes, in whatever array they are now.
          if (!isVoid) {
            expect(input.from).toBe(offset);
            expect(Buffer.from(input.bytes.subarray(offset, offset + before.length)).equals(before)).toBe(true);
          }
        } else if (next.kind === "consume") {
          const count = Math.floor(next.share * input.length);
          const view = input.bytes.subarray(input.from, input.from + count);
          kept.push({ view, copy: Buffer.from(view) });
          input.from += count;
          model = model.subarray(count);
        } else if (next.kind === "release") {
          input.release();
        } else if (next.kind === "compact") {
          input.compact();
          expect(input.keptBytes).toBeLessThanOrEqual(Math.max(input.length * 2, 0));
        } else {
          input.clear();
          model = Buffer.alloc(0);
        }
        expect(input.length).toBe(model.length);
        expect(Buffer.from(input.bytes.subarray(input.from, input.to)).equals(model)).toBe(true);
      }
      for (const { view, copy } of kept) expect(Buffer.from(view).equals(copy)).toBe(true);
    }),
    { numRuns: 1500 },
  );
});

test("a message that comes byte by byte is moved a few times, not every time", () => {
  const input = new InputBuffer();
  let moves = 0;
  for (let i = 0; i < 65536; i++) if (input.append(Buffer.of(i & 255))) moves++;
  expect(input.length).toBe(65536);
  // The first chunk is taken as it is, the second makes the buffer of its own; from then on it doubles in place.
  expect(moves).toBeLessThanOrEqual(2);
});

test("nothing is held once all is consumed and released", () => {
  const input = new InputBuffer();
  input.append(Buffer.from("abc"));
  input.release();
  expect(input.length).toBe(3);
  input.from = input.to;
  input.release();
  expect(input.bytes.length).toBe(0);
  expect([input.from, input.to]).toEqual([0, 0]);
});
