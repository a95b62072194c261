/** A reused block drops larger buffers. */
const KEPT_BYTES = 16384;
const FIRST_BYTES = 1024;

/**
 * Bytes that a head is put together in: each field as the line `name: value` with CRLF, as HTTP/1.1 has it on the wire,
 * so that neighbouring fields can be forwarded with one copy. It begins with `host`, the name under which
 * `:authority` goes on.
 */
export class LineBuffer {
  bytes: Buffer = EMPTY;
  /** Offset of the next line. */
  end: number = HOST_NAME_BYTES;

  /** Forgets all lines. */
  reset(): void {
    this.end = HOST_NAME_BYTES;
    if (this.bytes.length > KEPT_BYTES) this.bytes = EMPTY;
  }

  /** Makes room for so many bytes after `end`. The content may move to another buffer. */
  reserve(length: number): Buffer {
    const need = this.end + length;
    if (need > this.bytes.length) this.grow(need);
    return this.bytes;
  }

  private grow(need: number): void {
    const bigger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, need * 2));
    // After `end` is the beginning of a line that is not complete.
    this.bytes.copy(bigger);
    HOST_NAME.copy(bigger);
    this.bytes = bigger;
  }
}

const HOST_NAME: Buffer = Buffer.from("host");
/** End of the name `host` at the beginning of every buffer. */
export const HOST_NAME_BYTES = 4;
const EMPTY: Buffer = Buffer.alloc(0);
