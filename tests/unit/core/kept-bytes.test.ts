import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { KeptBytes } from "../../../src/core/kept-bytes.ts";

function taken(kept: KeptBytes): Buffer {
  const pieces: Buffer[] = [];
  for (let piece = kept.nextKept(); piece !== null; piece = kept.nextKept()) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe("bytes that are kept", () => {
  test("come back in their order, whatever their pieces, and leave no room behind", () => {
    const piece = fc.tuple(fc.boolean(), fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.uint8Array({ maxLength: 3000 })));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const kept = new KeptBytes();
        for (const [isOwn, bytes] of pieces)
          if (isOwn) kept.keepOwn(bytes);
          else kept.keep(bytes, 0, bytes.length);
        expect(taken(kept)).toEqual(Buffer.concat(pieces.map(([, bytes]) => bytes)));
        expect(kept.keptRoom).toBe(0);
        expect(kept.holds).toBe(false);
      }),
    );
  });

  test("of one byte take a block together, between large pieces, too", () => {
    const kept = new KeptBytes();
    const large = new Uint8Array(5000);
    for (let i = 0; i < 500; i++) kept.keepOwn(Uint8Array.of(1));
    kept.keepOwn(large);
    for (let i = 0; i < 500; i++) kept.keepOwn(Uint8Array.of(2));
    expect(kept.keptRoom).toBeLessThan(7000);
    expect(kept.nextKept()!.length).toBe(500);
    expect(kept.nextKept()!.buffer).toBe(large.buffer);
    expect(kept.drop()).toBe(500);
    expect(kept.takeWhole().length).toBe(0);
    for (let i = 0; i < 2000; i++) kept.keep(large, i, i + 1);
    expect([kept.takeWhole().length, kept.keptRoom]).toEqual([2000, 0]);
  });
});
