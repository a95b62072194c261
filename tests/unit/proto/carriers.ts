import { InputBuffer } from "../../../src/net/socket-buffers.ts";

/** What a parser gets to see after a piece has come. */
export interface View {
  readonly bytes: Uint8Array;
  /** Where the message begins. */
  readonly from: number;
  /** Where the valid bytes end. */
  readonly to: number;
  /** Whether earlier offsets are void, so that the parser has to begin anew. */
  readonly isMoved: boolean;
}

/** A way for the pieces of a message to reach a parser. `step` says whether it has seen enough. */
export interface Carrier {
  readonly name: string;
  carry(pieces: readonly Uint8Array[], step: (view: View) => boolean): void;
}

/** Bytes that stand before a message, as the rest of an earlier one does: a whole chunk-size line, half a head. */
const LEAD = Buffer.from("X: y\r\n5\r\nGET / HT");

/** Bytes behind the valid ones that would complete or break whatever stands before them, if anybody looked. */
const CANARIES: readonly Buffer[] = [
  Buffer.from("\r\n\r\nGET / HTTP/1.1\r\nHost: canary\r\n\r\n"),
  Buffer.from("\n\n\0\0 :\t"),
  Buffer.from("chunked, 0;a=b\r\n"),
];

/** One array that holds all; only `to` moves. What stands behind `to` is a canary until its piece comes. */
export const IN_PLACE: Carrier = {
  name: "in place",
  carry(pieces, step) {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const all = Buffer.alloc(LEAD.length + length + 64);
    LEAD.copy(all);
    let to = LEAD.length;
    for (const [i, piece] of pieces.entries()) {
      all.set(piece, to);
      to += piece.length;
      CANARIES[i % CANARIES.length]!.copy(all, to);
      if (step({ bytes: all, from: LEAD.length, to, isMoved: i === 0 })) return;
    }
  },
};

/** A new array for every piece, with what was there at the same offsets; the old one is spoilt. */
export const COPIED: Carrier = {
  name: "copied",
  carry(pieces, step) {
    let old = Buffer.from(LEAD);
    let to = LEAD.length;
    for (const [i, piece] of pieces.entries()) {
      const next = Buffer.alloc(to + piece.length + 64, CANARIES[i % CANARIES.length]!);
      old.copy(next, 0, 0, to);
      next.set(piece, to);
      to += piece.length;
      old.fill(0xee);
      old = next;
      if (step({ bytes: next, from: LEAD.length, to, isMoved: i === 0 })) return;
    }
  },
};

/** A connection's input: the first piece comes together with the end of an earlier message. */
export const THROUGH_INPUT: Carrier = {
  name: "through an input buffer",
  carry(pieces, step) {
    const input = new InputBuffer();
    for (const [i, piece] of pieces.entries()) {
      const chunk = i === 0 ? Buffer.concat([LEAD, piece]) : Buffer.from(piece);
      const isMoved = input.append(chunk);
      if (i === 0) input.from = LEAD.length;
      if (step({ bytes: input.bytes, from: input.from, to: input.to, isMoved })) return;
    }
  },
};

export const CARRIERS: readonly Carrier[] = [IN_PLACE, COPIED, THROUGH_INPUT];
