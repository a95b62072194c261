const LF = 0x0a;
const MIN_ROOM = 4096;

/** Joins lines of UTF-8 of the pieces in which they come: each byte is looked at once, however small the pieces are. */
export class LineJoiner {
  private readonly maxBytes: number;
  private readonly decoder = new TextDecoder();
  /** The beginning of a line whose end has not come. */
  private begun: Buffer = Buffer.alloc(0);
  private length = 0;

  /** @param maxBytes of one line */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Gives each line that is whole now, without its end. @throws RangeError if one is too long */
  push(piece: Uint8Array, onLine: (line: string) => void): void {
    let from = 0;
    for (let to = piece.indexOf(LF); to >= 0; to = piece.indexOf(LF, from)) {
      const end = piece.subarray(from, to);
      this.check(end.length);
      const line = this.length === 0 ? this.decoder.decode(end) : this.joined(end);
      from = to + 1;
      onLine(line);
    }
    this.keep(piece.subarray(from));
  }

  /** Keeps bytes of a line, line ends as well. @throws RangeError if they are too many */
  keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.check(bytes.length);
    const needed = this.length + bytes.length;
    if (needed > this.begun.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(MIN_ROOM, needed, Math.min(2 * needed, this.maxBytes)));
      room.set(this.begun.subarray(0, this.length));
      this.begun = room;
    }
    this.begun.set(bytes, this.length);
    this.length = needed;
  }

  /** Takes the beginning of a line that has no end. */
  rest(): string {
    return this.joined(new Uint8Array(0));
  }

  private joined(end: Uint8Array): string {
    this.keep(end);
    const text = this.decoder.decode(this.begun.subarray(0, this.length));
    this.begun = Buffer.alloc(0);
    this.length = 0;
    return text;
  }

  private check(bytes: number): void {
    if (this.length + bytes > this.maxBytes) throw new RangeError(`a line has more than ${this.maxBytes} bytes`);
  }
}
