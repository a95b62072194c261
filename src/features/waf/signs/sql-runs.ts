import { Byte, EMPTY_BYTES, table } from "../../../core/ascii.ts";
import { StepBudget } from "../match/step-budget.ts";
import type { ValueReading } from "../match/value-reading.ts";

/**
 * Where the long names and the long gaps of a value end. Tokens are read anew from many places of one value, and what
 * lies within a name or a comment may be such a place itself: looked for byte by byte from each of them, the end of one
 * long run would cost the square of its length. So the ends are worked out for all places at once, in one pass from the
 * end, when the first run is met that is longer than SHORT_RUN_BYTES. docs/security.md#the-cost-of-inspection
 */
export class SqlRuns {
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private names: Int32Array = NO_ENDS;
  private gaps: Int32Array = NO_ENDS;
  private hasNames = false;
  private hasGaps = false;
  private steps: StepBudget = new StepBudget();

  /** Makes ready for another value. */
  begin({ bytes, length, steps }: Pick<ValueReading, "bytes" | "length" | "steps">): void {
    this.bytes = bytes;
    this.length = length;
    this.steps = steps;
    this.hasNames = false;
    this.hasGaps = false;
  }

  /** Offset behind the name, dots included, that goes on at `from`; `from` where none does. */
  nameEnd(from: number): number {
    const limit = Math.min(this.length, from + SHORT_RUN_BYTES);
    let at = from;
    while (at < limit && IN_NAME[this.bytes[at]!] === 1) at++;
    if (at < limit || at === this.length) return at;
    if (!this.hasNames) this.readNames();
    return this.names[from]!;
  }

  /** Offset behind the white space and the comments that go on at `from`; `from` where there are none. */
  gapEnd(from: number): number {
    const { bytes, length } = this;
    const limit = Math.min(length, from + SHORT_RUN_BYTES);
    let at = from;
    while (at < limit) {
      if (IS_BLANK[bytes[at]!] === 1) at++;
      else if (bytes[at] === Byte.Slash && bytes[at + 1] === Byte.Star) {
        const behind = bytes[at + 2] === Byte.Bang ? this.digitsEnd(at + 3) : this.closeOfComment(at + 2);
        if (behind < 0) return at;
        at = behind;
      } else if (bytes[at] === Byte.Star && bytes[at + 1] === Byte.Slash) at += 2;
      else return at;
    }
    if (at >= length) return at;
    if (!this.hasGaps) this.readGaps();
    return this.gaps[at]!;
  }

  /** Offset behind the end of a comment, -1 where it has none within MAX_COMMENT_BYTES. */
  private closeOfComment(from: number): number {
    const limit = Math.min(this.length, from + MAX_COMMENT_BYTES);
    for (let at = from; at < limit; at++) {
      if (this.bytes[at] === Byte.Star && this.bytes[at + 1] === Byte.Slash && at + 1 < this.length) return at + 2;
    }
    return -1;
  }

  private digitsEnd(from: number): number {
    let at = from;
    while (isDigit(this.bytes[at]!)) at++;
    return at;
  }

  private readNames(): void {
    this.steps.take(this.length);
    if (this.names.length < this.length) this.names = new Int32Array(this.bytes.length);
    let end = this.length;
    for (let at = this.length - 1; at >= 0; at--) {
      if (IN_NAME[this.bytes[at]!] === 0) end = at;
      this.names[at] = end;
    }
    this.hasNames = true;
  }

  private readGaps(): void {
    const { bytes, length } = this;
    this.steps.take(length);
    if (this.gaps.length <= length) this.gaps = new Int32Array(bytes.length);
    const { gaps } = this;
    gaps[length] = length;
    // The next two ends of comments: of the first the star may be the one that opens a comment.
    let close = length;
    let closeBehind = length;
    for (let at = length - 1; at >= 0; at--) {
      const byte = bytes[at]!;
      let end = at;
      if (IS_BLANK[byte] === 1) end = gaps[at + 1]!;
      else if (byte === Byte.Star && bytes[at + 1] === Byte.Slash) {
        closeBehind = close;
        close = at;
        end = gaps[at + 2]!;
      } else if (byte === Byte.Slash && bytes[at + 1] === Byte.Star) {
        const first = close === at + 1 ? closeBehind : close;
        if (bytes[at + 2] === Byte.Bang) end = gaps[this.digitsEnd(at + 3)]!;
        else if (first < Math.min(length, at + 2 + MAX_COMMENT_BYTES)) end = gaps[first + 2]!;
      }
      gaps[at] = end;
    }
    this.hasGaps = true;
  }
}

/** Whether a byte is a decimal digit. */
export function isDigit(byte: number): boolean {
  return byte >= Byte.Zero && byte <= Byte.Nine;
}

const NO_ENDS: Int32Array = new Int32Array(0);
/** What nearly all names and gaps have room in. */
const SHORT_RUN_BYTES = 32;
/** A longer comment counts as one that is not closed. */
const MAX_COMMENT_BYTES = 128;
/** White space of MySQL, the no-break space of Latin-1 included. */
const IS_BLANK: Uint8Array = table((byte) =>
  (byte >= 0x09 && byte <= 0x0d) || byte === 0x20 || byte === 0xa0 ? 1 : 0,
);
/** Letters, underscore, dollar, all beyond ASCII: a name begins with one of them. */
export const IS_NAME: Uint8Array = table((byte) => {
  const isLetter = byte >= 0x61 && byte <= 0x7a;
  return isLetter || byte === 0x5f || byte === 0x24 || byte >= 0x80 ? 1 : 0;
});
/** And what it goes on with: digits and dots, too. */
const IN_NAME: Uint8Array = table((byte) => (IS_NAME[byte] === 1 || isDigit(byte) || byte === Byte.Dot ? 1 : 0));
