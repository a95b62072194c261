import { copyBytes } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { BODY_BLOCK_BYTES } from "../../memory/body-budget.ts";
import type { BodyHold } from "../../memory/body-hold.ts";
import { SpoolFile } from "./spool-file.ts";

const READ_BYTES = 65536;
/** Less is not worth a buffer. */
const MIN_ROOM = 64;

/**
 * The bytes of one buffered body: in blocks at first, in a file beyond `spoolBytes`. They are copied, so that a body of
 * one-byte chunks costs what its bytes cost; the first block begins small and doubles. What it takes is counted before it
 * is taken.
 */
export class BodyStore {
  /** Bytes stored. */
  length = 0;
  /** Why the spool file took nothing more: the system's code; empty while nothing failed. */
  spoolFailure = "";
  private readonly hold: BodyHold;
  private readonly spoolBytes: number;
  private blocks: Buffer[] = [];
  /** Where the last block ends, and how much fits into it. */
  private lastEnd = 0;
  private lastRoom = 0;
  private file: SpoolFile | null = null;
  private readAt = 0;

  /** @param spoolBytes bytes from which on the body goes to a file; a multiple of the size of a block, or less than one */
  constructor(hold: BodyHold, spoolBytes: number) {
    this.hold = hold;
    this.spoolBytes = spoolBytes;
  }

  /** Stores `bytes[from, to)`. @returns Fault.None, or why there is no room: a budget or the disk is full */
  append(bytes: Uint8Array, from: number, to: number): Fault {
    for (let at = from; at < to; ) {
      const fault = this.lastEnd < this.lastRoom ? Fault.None : this.makeRoom(to - at);
      if (fault !== Fault.None) return fault;
      const end = Math.min(to, at + this.lastRoom - this.lastEnd);
      this.lastEnd = copyBytes(this.blocks[this.blocks.length - 1]!, this.lastEnd, bytes, at, end);
      this.length += end - at;
      at = end;
    }
    return Fault.None;
  }

  /**
   * Takes the next piece in order, for handing on; it stays unchanged for as long as a consumer keeps it.
   * @returns null when all has been taken
   * @throws when the spool file cannot be read
   */
  nextPiece(): Buffer | null {
    if (this.file !== null && this.readAt < this.file.length) {
      const piece = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, this.file.length - this.readAt));
      if (this.file.read(piece, this.readAt) !== piece.length) throw new Error("a spool file is shorter than it was");
      this.readAt += piece.length;
      return piece;
    }
    const block = this.blocks.shift();
    if (block === undefined) return null;
    return this.blocks.length === 0 ? block.subarray(0, this.lastEnd) : block;
  }

  /** Lets go of everything; the hold is its owner's. */
  release(): void {
    this.blocks = [];
    this.lastEnd = 0;
    this.lastRoom = 0;
    this.file?.close();
    this.file = null;
  }

  private makeRoom(wanted: number): Fault {
    if (this.lastRoom < BODY_BLOCK_BYTES) return this.growFirst(wanted);
    return this.length < this.spoolBytes ? this.addBlock() : this.spool();
  }

  /** Most bodies are one piece, and the first block is no larger than that; of a body in many small ones it doubles. */
  private growFirst(wanted: number): Fault {
    const room = Math.min(BODY_BLOCK_BYTES, Math.max(MIN_ROOM, this.lastRoom * 2, this.lastRoom + wanted));
    const fault = this.hold.growTo(room);
    if (fault !== Fault.None) return fault;
    const larger = Buffer.allocUnsafeSlow(room);
    if (this.lastEnd > 0) copyBytes(larger, 0, this.blocks[0]!, 0, this.lastEnd);
    this.blocks = [larger];
    this.lastRoom = room;
    return Fault.None;
  }

  private addBlock(): Fault {
    const fault = this.hold.growTo((this.blocks.length + 1) * BODY_BLOCK_BYTES);
    if (fault !== Fault.None) return fault;
    this.blocks.push(Buffer.allocUnsafeSlow(BODY_BLOCK_BYTES));
    this.lastEnd = 0;
    return Fault.None;
  }

  /** The blocks go to the file, and the last of them takes what comes next. */
  private spool(): Fault {
    const fault = this.hold.spool(this.blocks.length * BODY_BLOCK_BYTES);
    if (fault !== Fault.None) return fault;
    try {
      this.file ??= new SpoolFile();
      for (const block of this.blocks) this.file.append(block, block.length);
    } catch (error) {
      this.spoolFailure = (error as { code?: string }).code ?? String(error);
      return Fault.SpoolFailed;
    }
    this.blocks = this.blocks.slice(-1);
    this.hold.shrinkTo(BODY_BLOCK_BYTES);
    this.lastEnd = 0;
    return Fault.None;
  }
}
