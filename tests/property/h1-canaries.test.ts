import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Carrier } from "../unit/proto/carriers.ts";
import { chunkLog, chunkVectors } from "../unit/proto/h1/chunk-log.ts";
import { requestLog, requestVectors } from "../unit/proto/h1/request-log.ts";
import { responseLog, responseVectors } from "../unit/proto/h1/response-log.ts";
import { mutated, spicedText } from "./h1-arbitraries.ts";

const MAX_BYTES = 1500;

/** Bytes before and behind the input; whoever looks at them is led astray. */
const surroundings = fc.tuple(spicedText, spicedText);

/** Each piece in an array of its own, what came before in front of it, and other bytes around. */
function surrounded([before, behind]: readonly [string, string]): Carrier {
  const lead = Buffer.from(before, "latin1");
  const tail = Buffer.from(behind, "latin1");
  return {
    name: "surrounded",
    carry(pieces, step) {
      let seen = Buffer.alloc(0);
      for (const [i, piece] of pieces.entries()) {
        seen = Buffer.concat([seen, piece]);
        const bytes = Buffer.concat([lead, seen, tail]);
        if (step({ bytes, from: lead.length, to: lead.length + seen.length, isMoved: i === 0 })) return;
      }
    },
  };
}

const BARE = surrounded(["", ""]);

/** The input cut short at some place, so that what stands behind would go on with it. */
function cutShort(texts: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(texts, fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([text, share]) => Buffer.from(text.slice(0, Math.ceil(share * text.length)), "latin1"));
}

test("the request parser reads nothing before `from` and nothing behind `to`", () => {
  fc.assert(
    fc.property(cutShort(mutated(requestVectors(), MAX_BYTES)), surroundings, (input, around) => {
      expect(requestLog([input], surrounded(around))).toBe(requestLog([input], BARE));
    }),
    { numRuns: 6000 },
  );
});

test("the response parser reads nothing before `from` and nothing behind `to`", () => {
  fc.assert(
    fc.property(cutShort(mutated(responseVectors(), MAX_BYTES)), surroundings, (input, around) => {
      expect(responseLog([input], surrounded(around))).toBe(responseLog([input], BARE));
    }),
    { numRuns: 6000 },
  );
});

test("the chunked decoder reads nothing before `from` and nothing behind `to`", () => {
  fc.assert(
    fc.property(cutShort(mutated(chunkVectors(), MAX_BYTES)), surroundings, (input, around) => {
      expect(chunkLog([input], surrounded(around), 4096)).toBe(chunkLog([input], BARE, 4096));
    }),
    { numRuns: 6000 },
  );
});
