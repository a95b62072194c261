import { Byte, EMPTY_BYTES, FIELD_VALUE, isOws, TOKEN } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { MAX_FIELDS } from "../../core/limits.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { MAX_TRAILER_BYTES } from "../limits.ts";
import type { TrailerRule } from "./trailer-names.ts";

/** Reads the trailer section of a chunked body. RFC 9112 §7.1.2, docs/bodies.md#trailers */
export class TrailerSection {
  /** Whether the empty line that ends the section has been read. */
  done = false;
  fault: Fault = Fault.None;
  private bytes: Uint8Array = EMPTY_BYTES;
  private end = 0;
  private lineFrom = 0;
  /** Fields so far. */
  count = 0;
  private readonly isForbidden: TrailerRule;
  private readonly onBareLf: (() => void) | null;

  /** @param onBareLf is notified of each line that ends with LF alone; null refuses them */
  constructor(isForbidden: TrailerRule, onBareLf: (() => void) | null = null) {
    this.isForbidden = isForbidden;
    this.onBareLf = onBareLf;
  }

  /** Makes ready for another body. The buffer of an earlier one is let go. */
  reset(): void {
    this.done = false;
    this.fault = Fault.None;
    this.bytes = EMPTY_BYTES;
    this.end = 0;
    this.lineFrom = 0;
    this.count = 0;
  }

  /**
   * Reads `bytes[from, to)` until the section ends or fails.
   * @returns the offset after the last byte taken
   */
  read(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    // Nearly all bodies have no trailers: the empty line is not kept, which saves its buffer (0.2 µs).
    if (this.end === 0 && !this.done && to - from >= 2 && bytes[from] === Byte.Cr && bytes[from + 1] === Byte.Lf) {
      this.done = true;
      return from + 2;
    }
    while (at < to && !this.done && this.fault === Fault.None) this.take(bytes[at++]!);
    return at;
  }

  /** Appends the fields to a head, so that handlers and upstreams see them as request headers. */
  appendTo(headers: HeaderBlock): void {
    const bytes = this.bytes;
    let at = 0;
    while (at < this.end) {
      let colon = at;
      while (bytes[colon] !== Byte.Colon) colon++;
      let lineTo = colon;
      while (bytes[lineTo] !== Byte.Cr) lineTo++;
      let valueFrom = colon + 1;
      let valueTo = lineTo;
      while (valueFrom < valueTo && isOws(bytes[valueFrom]!)) valueFrom++;
      while (valueTo > valueFrom && isOws(bytes[valueTo - 1]!)) valueTo--;
      headers.addBytes(bytes, at, colon, valueFrom, valueTo);
      at = lineTo + 2;
    }
  }

  private take(byte: number): void {
    // The CRLF that ends the section is not part of the trailers that the limit counts.
    if (this.end >= MAX_TRAILER_BYTES && !this.isClosing(byte)) {
      this.fault = Fault.TrailersTooLarge;
      return;
    }
    if (this.bytes.length === this.end) this.grow();
    this.bytes[this.end++] = byte;
    if (byte === Byte.Lf) this.endLine();
    else if (this.end - this.lineFrom >= 2 && this.bytes[this.end - 2] === Byte.Cr) this.fault = Fault.BadTrailer;
  }

  private isClosing(byte: number): boolean {
    const length = this.end - this.lineFrom;
    return (length === 0 && byte === Byte.Cr) || (length === 1 && this.bytes[this.lineFrom] === Byte.Cr);
  }

  private endLine(): void {
    const endsWithCrlf = this.end - this.lineFrom >= 2 && this.bytes[this.end - 2] === Byte.Cr;
    if (!endsWithCrlf && !this.mendLine()) {
      this.fault = Fault.BadTrailer;
      return;
    }
    const lineTo = this.end - 2;
    if (lineTo === this.lineFrom) {
      this.end = this.lineFrom;
      this.done = true;
      return;
    }
    this.fault = this.judgeLine(this.lineFrom, lineTo);
    this.lineFrom = this.end;
    if (++this.count > MAX_FIELDS) this.fault = Fault.TrailersTooLarge;
  }

  /** Gives the line that ends with LF alone its CR. @returns whether that is allowed */
  private mendLine(): boolean {
    if (this.onBareLf === null) return false;
    this.onBareLf();
    if (this.bytes.length === this.end) this.grow();
    this.bytes[this.end - 1] = Byte.Cr;
    this.bytes[this.end++] = Byte.Lf;
    return true;
  }

  private judgeLine(from: number, to: number): Fault {
    const bytes = this.bytes;
    // A pseudo-header has no place in HTTP/1.1. docs/security.md#trailers
    if (bytes[from] === Byte.Colon) return Fault.ForbiddenTrailer;
    let at = from;
    while (at < to && TOKEN[bytes[at]!] === 1) at++;
    if (at === from || at === to || bytes[at] !== Byte.Colon) return Fault.BadTrailer;
    if (this.isForbidden(bytes, from, at)) return Fault.ForbiddenTrailer;
    for (at++; at < to; at++) if (FIELD_VALUE[bytes[at]!] !== 1) return Fault.BadTrailer;
    return Fault.None;
  }

  private grow(): void {
    const bigger = new Uint8Array(Math.max(256, this.bytes.length * 2));
    bigger.set(this.bytes);
    this.bytes = bigger;
  }
}
