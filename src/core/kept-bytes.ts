import { copyBytes } from "./bytes.ts";

const MIN_BLOCK_BYTES = 1024;
const NO_BYTES: Buffer = Buffer.alloc(0);

/** A queue of bytes. Small pieces share a block, so that pieces of one byte cost no more than their bytes. */
export class KeptBytes {
  /** Memory that the kept blocks take. */
  keptRoom = 0;
  private kept: Buffer[] = [];
  /** End of the last kept block. */
  private keptEnd = 0;

  /** Whether bytes are kept. */
  get holds(): boolean {
    return this.kept.length > 0;
  }

  /** Keeps a copy of a piece. */
  keep(bytes: Uint8Array, from: number, to: number): void {
    const last = this.kept[this.kept.length - 1];
    let at = from;
    if (last !== undefined && this.keptEnd < last.length) {
      at = Math.min(to, from + last.length - this.keptEnd);
      this.keptEnd = copyBytes(last, this.keptEnd, bytes, from, at);
    }
    if (at === to) return;
    const block = Buffer.allocUnsafeSlow(Math.max(MIN_BLOCK_BYTES, to - at));
    this.keptEnd = copyBytes(block, 0, bytes, at, to);
    this.kept.push(block);
    this.keptRoom += block.length;
  }

  /** Keeps a piece that is no one else's: a small one is copied all the same, so that it does not keep more than its bytes. */
  keepOwn(piece: Uint8Array): void {
    if (piece.length < MIN_BLOCK_BYTES) return this.keep(piece, 0, piece.length);
    const last = this.kept.length - 1;
    if (last >= 0) {
      const block = this.kept[last]!;
      this.kept[last] = block.subarray(0, this.keptEnd);
      this.keptRoom -= block.length - this.keptEnd;
    }
    this.kept.push(Buffer.from(piece.buffer as ArrayBuffer, piece.byteOffset, piece.length));
    this.keptEnd = piece.length;
    this.keptRoom += piece.length;
  }

  /** Takes the next kept piece; null when there is none. */
  nextKept(): Buffer | null {
    const block = this.kept.shift();
    if (block === undefined) return null;
    this.keptRoom -= block.length;
    return this.kept.length === 0 ? block.subarray(0, this.keptEnd) : block;
  }

  /** Takes all that is kept, as one piece. */
  takeWhole(): Buffer {
    const first = this.nextKept();
    if (first === null) return NO_BYTES;
    if (!this.holds) return first;
    const pieces = [first];
    for (let piece = this.nextKept(); piece !== null; piece = this.nextKept()) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** Releases the kept data. @returns its bytes */
  drop(): number {
    let bytes = 0;
    for (let piece = this.nextKept(); piece !== null; piece = this.nextKept()) bytes += piece.length;
    return bytes;
  }
}
