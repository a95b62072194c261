import { Byte, isOws } from "../../core/bytes.ts";
import type { HeaderBlock } from "../../message/header-block.ts";

/**
 * The elements of a comma-separated field value, one at a time, without copying. RFC 9110 §5.6.1. Empty elements are
 * passed over.
 */
export class ListTokens {
  /** The element that `next` found. */
  from = 0;
  to = 0;
  private readonly bytes: Uint8Array;
  private readonly end: number;
  private at: number;

  constructor(headers: HeaderBlock, index: number) {
    this.bytes = headers.bytes;
    this.at = headers.valueFrom(index);
    this.end = headers.valueTo(index);
  }

  /** Goes to the next element. @returns false when there is none */
  next(): boolean {
    while (this.at < this.end) {
      let to = this.at;
      while (to < this.end && this.bytes[to] !== Byte.Comma) to++;
      this.from = this.at;
      this.to = to;
      this.at = to + 1;
      while (this.from < this.to && isOws(this.bytes[this.from]!)) this.from++;
      while (this.to > this.from && isOws(this.bytes[this.to - 1]!)) this.to--;
      if (this.to > this.from) return true;
    }
    return false;
  }
}
