import { expect, test } from "bun:test";
import fc from "fast-check";
import { piecesAt } from "../unit/proto/byte-pieces.ts";
import { sessionBytes, sessionLog, sessionVectors } from "../unit/proto/h2/session-log.ts";

const MAX_BYTES = 20_000;
const vectors = sessionVectors()
  .map(sessionBytes)
  .filter((bytes) => bytes.length < MAX_BYTES);
const bytesOfVector = fc.constantFrom(...vectors);
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 });

test("any split of a stream of frames gives the same events", () => {
  fc.assert(
    fc.property(bytesOfVector, cuts, (bytes, points) => {
      const pieces = piecesAt(
        bytes,
        points.map((share) => Math.round(share * bytes.length)),
      );
      expect(sessionLog(pieces)).toEqual(sessionLog([bytes]));
    }),
    { numRuns: 2000 },
  );
});

test("one byte at a time as well", () => {
  for (const bytes of vectors.filter(({ length }) => length < 2000)) {
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(sessionLog(pieces)).toEqual(sessionLog([bytes]));
  }
});

test("any split of changed frames gives the same events", () => {
  const change = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 255 }));
  fc.assert(
    fc.property(
      bytesOfVector,
      bytesOfVector,
      fc.array(change, { maxLength: 4 }),
      cuts,
      (one, other, changes, points) => {
        const bytes = Buffer.concat([one, other.subarray(33)]);
        for (const [share, byte] of changes) bytes[24 + Math.floor(share * (bytes.length - 24))] = byte;
        const pieces = piecesAt(
          bytes,
          points.map((share) => Math.round(share * bytes.length)),
        );
        expect(sessionLog(pieces)).toEqual(sessionLog([bytes]));
      },
    ),
    { numRuns: 3000 },
  );
});
