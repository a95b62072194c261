import { Byte, copyBytes } from "../../core/bytes.ts";

/**
 * Cuts a body into lines, each of which is a JSON text: NDJSON, and JSON text sequences (RFC 7464 §2), whose texts begin with a record
 * separator. Empty lines are passed over. A piece is read where it is; what it leaves of a line is copied.
 */
export class JsonLines {
  private readonly maxBytes: number;
  private bytes: Uint8Array = NOTHING;
  private at = 0;
  private to = 0;
  /** The beginning of a line whose end has not come, in `[0, partLength)`. */
  private part: Buffer = NOTHING;
  private partLength = 0;
  private isComplete = false;

  /** @param maxBytes of one line */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Takes a piece, whose bytes stay unchanged until all its lines have been read: the one before it has none left. */
  push(bytes: Uint8Array, from: number, to: number): void {
    this.bytes = bytes;
    this.at = from;
    this.to = to;
  }

  /** Nothing more comes: what is there without an end is the last line. */
  end(): void {
    this.isComplete = true;
  }

  /** Whether all that has come has been read. */
  get isEmpty(): boolean {
    return this.at === this.to;
  }

  /** The next line without its end; null if none is whole, "too long" where one is. */
  next(): Uint8Array | "too long" | null {
    while (this.at < this.to || this.isComplete) {
      const { bytes, at, to } = this;
      const found = bytes.subarray(at, to).indexOf(Byte.Lf);
      if (found < 0 && !this.isComplete) {
        if (!this.keepTo(to)) return "too long";
        break;
      }
      const end = found < 0 ? to : at + found;
      if (this.partLength + end - at > this.maxBytes) return "too long";
      const line = trimmed(this.lineTo(end));
      this.at = found < 0 ? to : end + 1;
      if (line.length > 0) return line;
      if (found < 0) break;
    }
    this.bytes = NOTHING;
    this.at = this.to = 0;
    return null;
  }

  private lineTo(end: number): Uint8Array {
    if (this.partLength === 0) return this.bytes.subarray(this.at, end);
    this.keepTo(end);
    const line = this.part.subarray(0, this.partLength);
    this.part = NOTHING;
    this.partLength = 0;
    return line;
  }

  /** Keeps what has come of a line. @returns false if it is too long */
  private keepTo(end: number): boolean {
    const need = this.partLength + end - this.at;
    if (need > this.maxBytes) return false;
    if (need > this.part.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.maxBytes, Math.max(need, this.partLength * 2)));
      copyBytes(larger, 0, this.part, 0, this.partLength);
      this.part = larger;
    }
    this.partLength = copyBytes(this.part, this.partLength, this.bytes, this.at, end);
    return true;
  }
}

/** Without the white space, and the mark of a record, around it. */
function trimmed(line: Uint8Array): Uint8Array {
  let from = 0;
  let to = line.length;
  while (from < to && isBlank(line[from]!)) from++;
  while (to > from && isBlank(line[to - 1]!)) to--;
  return line.subarray(from, to);
}

function isBlank(byte: number): boolean {
  return byte === Byte.Space || byte === Byte.Tab || byte === Byte.Cr || byte === RECORD_SEPARATOR;
}

const RECORD_SEPARATOR = 0x1e;
const NOTHING: Buffer = Buffer.alloc(0);
