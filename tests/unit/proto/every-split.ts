import { expect } from "bun:test";
import { finePieces, twoPieceSplits } from "./byte-pieces.ts";
import { CARRIERS, type Carrier } from "./carriers.ts";

/** Runs a parser over pieces and writes down what it made of them. */
export type LogOf = (pieces: readonly Uint8Array[], carrier: Carrier) => string;

/** Expects the same log whole, byte by byte, and in every two pieces, however the bytes reach the parser. */
export function expectEverySplit(bytes: Buffer, wanted: string, logOf: LogOf): void {
  const wrong: string[] = [];
  for (const carrier of CARRIERS) {
    const check = (how: string, pieces: readonly Uint8Array[]): void => {
      const log = logOf(pieces, carrier);
      if (log !== wanted) wrong.push(`${how}, ${carrier.name}: ${log.slice(0, MAX_LOG)}`);
    };
    check("whole", [bytes]);
    check("byte by byte", finePieces(bytes));
    for (const pieces of twoPieceSplits(bytes)) check(`cut at ${pieces[0]!.length}`, pieces);
  }
  // A few are enough: a parser that is wrong is mostly wrong in every split.
  expect({ wanted, wrong: wrong.slice(0, MAX_SHOWN), count: wrong.length }).toEqual({ wanted, wrong: [], count: 0 });
}

const MAX_SHOWN = 5;
const MAX_LOG = 300;
