import { Byte, copyBytes, isOws } from "../../core/bytes.ts";
import { Leniency } from "../../core/leniency.ts";
import { headerIdOf } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { dropTable } from "./response-encoder.ts";

const enum Stage {
  InLine = 0,
  /** A line has ended; the next byte says whether it goes on. */
  LineEnd,
  /** Within the white space that a folded line begins with. */
  Fold,
  Done,
}

/**
 * Writes a response's head anew, byte by byte: each line ends with CRLF, and a folded field is one line. The strict parser
 * judges what comes of it, so that nothing else is let through. docs/upstreams.md#old-origins
 *
 *   InLine ──LF──▶ LineEnd ──white space──▶ Fold ──any other byte──▶ InLine
 *     │               └──any other byte──▶ InLine
 *     └──LF of an empty line──▶ Done
 */
export class HeadMender {
  /** What has been written, up to `to`. It moves when it grows; offsets stay. */
  bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  to = 0;
  /** Offset after the last byte that was taken. */
  consumed: number;
  /** What had to be mended, one bit a Leniency. */
  found = 0;
  private stage: Stage = Stage.InLine;
  private lineFrom = 0;
  /** Where the value of a folded field begins; 0 before it is known. */
  private valueFrom = 0;

  /** @param from where the head begins */
  constructor(from: number) {
    this.consumed = from;
  }

  /**
   * Reads on up to the end of the head.
   * @returns false if a CR does not end a line, or a line is folded that may not be
   */
  take(bytes: Uint8Array, to: number): boolean {
    let at = this.consumed;
    let isGood = true;
    while (at < to && isGood && this.stage !== Stage.Done) {
      if (this.to + MAX_WRITTEN > this.bytes.length) this.grow();
      isGood = this.takeByte(bytes[at++]!);
    }
    this.consumed = at;
    return isGood;
  }

  private takeByte(byte: number): boolean {
    const isBlank = isOws(byte);
    if (this.stage === Stage.LineEnd) {
      if (isBlank) return this.beginFold();
      this.endLine();
      this.stage = Stage.InLine;
    } else if (this.stage === Stage.Fold) {
      if (isBlank) return true;
      // Some readers take a line of white space for the empty one.
      if (byte === Byte.Cr || byte === Byte.Lf) return false;
      this.bytes[this.to++] = Byte.Space;
      this.stage = Stage.InLine;
    }
    const isBehindCr = this.to > this.lineFrom && this.bytes[this.to - 1] === Byte.Cr;
    if (byte === Byte.Lf) this.takeLineFeed(isBehindCr);
    else this.bytes[this.to++] = byte;
    return byte === Byte.Lf || !isBehindCr;
  }

  private takeLineFeed(isBehindCr: boolean): void {
    if (isBehindCr) this.to--;
    else this.found |= 1 << Leniency.BareLf;
    this.stage = Stage.LineEnd;
    if (this.to > this.lineFrom) return;
    this.endLine();
    this.stage = Stage.Done;
  }

  private endLine(): void {
    this.bytes[this.to++] = Byte.Cr;
    this.bytes[this.to++] = Byte.Lf;
    this.lineFrom = this.to;
    this.valueFrom = 0;
  }

  /** RFC 9112 §5.2: a proxy may replace a fold by white space. Not one in a field that frames the response, or tells of the connection. */
  private beginFold(): boolean {
    if (this.valueFrom === 0) this.valueFrom = this.foldableFrom();
    if (this.valueFrom < 0) return false;
    while (this.to > this.valueFrom && isOws(this.bytes[this.to - 1]!)) this.to--;
    this.found |= 1 << Leniency.Folding;
    this.stage = Stage.Fold;
    return true;
  }

  /** Where the value of the line begins; -1 if the line is none that may be folded. */
  private foldableFrom(): number {
    if (this.lineFrom === 0) return -1;
    const colon = this.bytes.indexOf(Byte.Colon, this.lineFrom);
    if (colon < 0 || colon >= this.to) return -1;
    return NEVER_FOLDED[headerIdOf(this.bytes, this.lineFrom, colon)] === 1 ? -1 : colon + 1;
  }

  private grow(): void {
    const bigger = Buffer.allocUnsafeSlow(this.bytes.length * 2);
    copyBytes(bigger, 0, this.bytes, 0, this.to);
    this.bytes = bigger;
  }
}

const FIRST_BYTES = 1024;
/** Bytes that one byte of the input is written as at most: the end of a line, the end of an empty one. */
const MAX_WRITTEN = 4;
const NEVER_FOLDED: Uint8Array = dropTable(HOP_BY_HOP);
