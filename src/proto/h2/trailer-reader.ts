import { Fault } from "../../core/fault.ts";
import { MAX_FIELDS } from "../../core/limits.ts";
import { HeaderBlock } from "../../message/header-block.ts";
import type { TrailerRule } from "../h1/trailer-names.ts";
import { FieldEvent, type FieldSource } from "../hpack/decoder.ts";
import { FieldKind, kindOf } from "../hpack/field-kind.ts";
import type { LineBuffer } from "../hpack/line-buffer.ts";
import { MAX_TRAILER_BYTES } from "../limits.ts";

/** Reads trailers out of a header block. RFC 9113 §8.1, docs/bodies.md#trailers */
export class TrailerReader {
  /** Whether the block could not be decoded, and the connection with it. */
  isBroken = false;
  /** The fields, until the next block is read; null if there are none. */
  trailers: HeaderBlock | null = null;
  private readonly block: HeaderBlock = new HeaderBlock();
  private readonly isForbidden: TrailerRule;

  constructor(isForbidden: TrailerRule) {
    this.isForbidden = isForbidden;
  }

  /**
   * Decodes all of a block that `decoder` has begun.
   * @param lines is used meanwhile; its content stays
   * @returns Fault.None, or why the message is refused
   */
  read(decoder: FieldSource, lines: LineBuffer): Fault {
    this.isBroken = false;
    this.trailers = null;
    let fault = Fault.None;
    let bytes = 0;
    for (;;) {
      const event = decoder.next(lines);
      if (event === FieldEvent.Done) return fault;
      if (event === FieldEvent.Failed) {
        this.isBroken = true;
        return Fault.BadTrailer;
      }
      bytes += decoder.valueTo + 2 - decoder.nameFrom;
      if (fault !== Fault.None) continue;
      fault = bytes > MAX_TRAILER_BYTES ? Fault.TrailersTooLarge : this.take(decoder, lines);
    }
  }

  private take({ tag, nameFrom, nameTo, valueFrom, valueTo }: FieldSource, lines: LineBuffer): Fault {
    const kind = kindOf(tag);
    if (kind === FieldKind.BadName || kind === FieldKind.BadValue) return Fault.BadTrailer;
    if (kind !== FieldKind.Regular || this.isForbidden(lines.bytes, nameFrom, nameTo)) return Fault.ForbiddenTrailer;
    if (this.trailers === null) {
      this.trailers = this.block;
      this.block.resetOwn();
    }
    if (this.trailers.count === MAX_FIELDS) return Fault.TrailersTooLarge;
    this.trailers.addBytes(lines.bytes, nameFrom, nameTo, valueFrom, valueTo);
    return Fault.None;
  }
}
