import { Byte, byteTable, HEX_VALUE } from "../../core/bytes.ts";
import { lookalikeOf, TWO_DOTS } from "./lookalike.ts";
import { MAX_DECODING_ROUNDS } from "./percent-decoding.ts";

/** What `LenientPath.marks` keeps of each byte: the low bits are the decoding rounds it took, 0 for a literal byte. */
export const enum Mark {
  Rounds = 0x0f,
  /** Not that byte to a strict decoder: overlong or sloppy UTF-8, `%uXXXX`, sloppy hexadecimal, a look-alike. */
  Lookalike = 0x10,
}

/**
 * A path as the most lenient decoder would read it, with the memory of how each byte was written. Percent-encoding is
 * undone until nothing is left, other spellings of dots and slashes become dots and slashes, control bytes are dropped.
 * It serves to judge a path, never to route or forward it. Cost: MAX_DECODING_ROUNDS passes over the path at most.
 */
export class LenientPath {
  bytes: Uint8Array = new Uint8Array(INITIAL_BYTES);
  /** Mark bits of each byte. */
  marks: Uint8Array = new Uint8Array(INITIAL_BYTES);
  /** Offset in the raw path at which each byte's spelling begins. */
  origins: Int32Array = new Int32Array(INITIAL_BYTES);
  length = 0;
  /** Mark of the control bytes that were dropped at the very end; 0 for none. */
  endMark = 0;
  /** Whether escapes were left after MAX_DECODING_ROUNDS. */
  tooDeep = false;

  /** Reads the path in `source[from, to)`. */
  load(source: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length > this.bytes.length) this.grow(length);
    for (let i = 0; i < length; i++) {
      this.bytes[i] = source[from + i]!;
      this.marks[i] = 0;
      this.origins[i] = i;
    }
    this.length = length;
    this.endMark = 0;
    let round = 1;
    while (round <= MAX_DECODING_ROUNDS && this.hasPercent() && this.decodeRound(round)) round++;
    this.tooDeep = round > MAX_DECODING_ROUNDS && this.hasEscape();
    if (this.hasPercent()) this.decodeSloppyHex();
    this.foldHexWords();
    this.foldUtf8();
  }

  /**
   * Takes out each `../` and `..\`, once and from left to right, as a filter of such sequences would: what it leaves of
   * `....//` is a dot-dot segment.
   */
  stripParents(): void {
    const bytes = this.bytes;
    let write = 0;
    for (let read = 0; read < this.length; ) {
      if (bytes[read] === Byte.Dot && bytes[read + 1] === Byte.Dot && this.isSeparator(read + 2)) {
        read += 3;
        continue;
      }
      this.put(write++, bytes[read]!, this.marks[read]!, this.origins[read]!);
      read++;
    }
    this.length = write;
  }

  /** Whether a slash or a backslash is at `at`. */
  isSeparator(at: number): boolean {
    return at < this.length && (this.bytes[at] === Byte.Slash || this.bytes[at] === Byte.Backslash);
  }

  /** Undoes `%XX` and `%uXXXX` once. @returns whether there was any */
  private decodeRound(round: number): boolean {
    const bytes = this.bytes;
    let write = 0;
    let changed = false;
    for (let read = 0; read < this.length; ) {
      const width = bytes[read] === Byte.Percent ? this.escapeWidth(read) : 1;
      const origin = this.origins[read]!;
      if (width === 1) {
        this.put(write++, bytes[read]!, this.marks[read]!, origin);
      } else if (width === 3) {
        const byte = HEX_VALUE[bytes[read + 1]!]! * 16 + HEX_VALUE[bytes[read + 2]!]!;
        this.put(write++, byte, round | (this.marksOf(read, read + 3) & Mark.Lookalike), origin);
        changed = true;
      } else {
        const codePoint = this.codePointAt(read + 2);
        const folded = codePoint < 0x80 ? codePoint : lookalikeOf(codePoint);
        write = this.putFolded(write, folded, round | Mark.Lookalike, origin);
        changed = true;
      }
      read += width;
    }
    this.length = write;
    return changed;
  }

  /** 3 for `%XX`, 6 for a `%uXXXX` that stands for a byte or a look-alike, 1 for a percent sign that begins neither. */
  private escapeWidth(at: number): number {
    const bytes = this.bytes;
    if (this.hasHex(at + 1, 2)) return 3;
    if ((bytes[at + 1]! | 0x20) !== LOWER_U || !this.hasHex(at + 2, 4)) return 1;
    const codePoint = this.codePointAt(at + 2);
    return codePoint < 0x80 || lookalikeOf(codePoint) !== 0 ? 6 : 1;
  }

  private hasPercent(): boolean {
    const at = this.bytes.indexOf(Byte.Percent);
    return at >= 0 && at < this.length;
  }

  private hasEscape(): boolean {
    for (let at = 0; at < this.length; at++) {
      if (this.bytes[at] === Byte.Percent && this.escapeWidth(at) > 1) return true;
    }
    return false;
  }

  private hasHex(at: number, count: number): boolean {
    if (at + count > this.length) return false;
    for (let i = 0; i < count; i++) {
      if (HEX_VALUE[this.bytes[at + i]!] === NO_DIGIT) return false;
    }
    return true;
  }

  private codePointAt(at: number): number {
    let value = 0;
    for (let i = 0; i < 4; i++) value = value * 16 + HEX_VALUE[this.bytes[at + i]!]!;
    return value;
  }

  /** `%qf` for `%af`: decoders that take every letter for a digit and keep eight bits of the result. */
  private decodeSloppyHex(): void {
    const bytes = this.bytes;
    let write = 0;
    for (let read = 0; read < this.length; ) {
      const isEscape = bytes[read] === Byte.Percent && read + 2 < this.length;
      const high = isEscape ? SLOPPY_DIGIT[bytes[read + 1]!]! : NO_DIGIT;
      const low = isEscape ? SLOPPY_DIGIT[bytes[read + 2]!]! : NO_DIGIT;
      const sloppy = high !== NO_DIGIT && low !== NO_DIGIT;
      const mark = sloppy ? Mark.Lookalike | this.marksOf(read, read + 3) : this.marks[read]!;
      this.put(write++, sloppy ? (high * 16 + low) & 0xff : bytes[read]!, mark, this.origins[read]!);
      read += sloppy ? 3 : 1;
    }
    this.length = write;
  }

  /** `0x2e`, `0x2f` and `0x5c` for what they stand for, as decoders of another notation read them. */
  private foldHexWords(): void {
    const bytes = this.bytes;
    let write = 0;
    for (let read = 0; read < this.length; ) {
      const isWord = bytes[read] === Byte.Zero && (bytes[read + 1]! | 0x20) === LOWER_X && this.hasHex(read + 2, 2);
      const byte = isWord ? HEX_VALUE[bytes[read + 2]!]! * 16 + HEX_VALUE[bytes[read + 3]!]! : 0;
      if (byte === Byte.Dot || byte === Byte.Slash || byte === Byte.Backslash) {
        this.put(write++, byte, Mark.Lookalike | this.marksOf(read, read + 4), this.origins[read]!);
        read += 4;
      } else {
        this.put(write++, bytes[read]!, this.marks[read]!, this.origins[read]!);
        read++;
      }
    }
    this.length = write;
  }

  /** Folds overlong forms and look-alikes, and drops control bytes, whose mark goes to the byte after them. */
  private foldUtf8(): void {
    const bytes = this.bytes;
    let write = 0;
    let dropped = 0;
    for (let read = 0; read < this.length; ) {
      const byte = bytes[read]!;
      const origin = this.origins[read]!;
      if (byte < 0x20 || byte === Byte.Del) {
        dropped |= this.marks[read++]! | 1;
        continue;
      }
      const width = byte >= 0xc0 ? this.sequenceWidth(read) : 1;
      const folded = width > 1 ? lookalikeOf(this.sequenceValue(read, width)) : 0;
      if (folded === 0) {
        this.put(write++, byte, this.marks[read++]! | dropped, origin);
      } else {
        write = this.putFolded(write, folded, Mark.Lookalike | this.marksOf(read, read + width) | dropped, origin);
        read += width;
      }
      dropped = 0;
    }
    this.length = write;
    this.endMark = dropped;
  }

  /** Width of the UTF-8 sequence at `at`, long and overlong forms included; 1 if there is none. */
  private sequenceWidth(at: number): number {
    const lead = this.bytes[at]!;
    const width = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : lead < 0xfc ? 5 : lead < 0xfe ? 6 : 1;
    if (at + width > this.length) return 1;
    // Sloppy decoders take any second byte after 0xC0 and 0xC1; a literal one would be a file name in Latin-1, but for
    // the dot, of which a name is not made.
    if (lead <= 0xc1) return this.marks[at + 1] === 0 && this.bytes[at + 1] !== Byte.Dot ? 1 : 2;
    for (let i = 1; i < width; i++) {
      if ((this.bytes[at + i]! & 0xc0) !== 0x80) return 1;
    }
    return width;
  }

  private sequenceValue(at: number, width: number): number {
    const lead = this.bytes[at]!;
    const second = this.bytes[at + 1]!;
    // A decoder that drops the invalid lead byte sees the ASCII byte after it.
    if (lead <= 0xc1 && second < 0x80 && lookalikeOf(second) !== 0) return second;
    // What scanners send to decoders that take too few bits of the second byte, or too many.
    if (lead === 0xc0 && (second & 0x0f) === 0x0e && second !== 0x3e && second !== 0x4e) return Byte.Dot;
    if (lead === 0xc1 && second === 0xaf) return Byte.Slash;
    let value = lead & (0x7f >> width);
    for (let i = 1; i < width; i++) value = value * 64 + (this.bytes[at + i]! & 0x3f);
    return value;
  }

  /** Puts an ASCII byte, or two dots. @returns the offset after */
  private putFolded(write: number, folded: number, mark: number, origin: number): number {
    if (folded !== TWO_DOTS) {
      this.put(write, folded, mark, origin);
      return write + 1;
    }
    this.put(write, Byte.Dot, mark, origin);
    this.put(write + 1, Byte.Dot, mark, origin);
    return write + 2;
  }

  private put(at: number, byte: number, mark: number, origin: number): void {
    this.bytes[at] = byte;
    this.marks[at] = mark;
    this.origins[at] = origin;
  }

  /** The highest number of rounds and all other bits of the marks of `[from, to)`. */
  private marksOf(from: number, to: number): number {
    let rounds = 0;
    let bits = 0;
    for (let at = from; at < to; at++) {
      const mark = this.marks[at]!;
      rounds = Math.max(rounds, mark & Mark.Rounds);
      bits |= mark & ~Mark.Rounds;
    }
    return rounds | bits;
  }

  private grow(length: number): void {
    this.bytes = new Uint8Array(length * 2);
    this.marks = new Uint8Array(length * 2);
    this.origins = new Int32Array(length * 2);
  }
}

const INITIAL_BYTES = 1024;
const NO_DIGIT = 255;
const LOWER_U = 0x75;
const LOWER_X = 0x78;
const SLOPPY_DIGIT: Uint8Array = byteTable((byte) => {
  if (byte >= Byte.Zero && byte <= Byte.Nine) return byte - Byte.Zero;
  const letter = (byte | 0x20) - Byte.LowerA;
  return letter >= 0 && letter < 26 ? letter + 10 : NO_DIGIT;
});
