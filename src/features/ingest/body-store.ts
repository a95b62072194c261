import { copyBytes } from "../../core/bytes.ts";
import { SPOOL_BYTES } from "../../core/limits.ts";
import { type BodyBudget, BUDGET_BLOCK_BYTES } from "../../shared/body-budget.ts";
import { SpoolFile } from "./spool-file.ts";

const READ_BYTES = 65536;

/**
 * The bytes of one buffered body: in blocks up to SPOOL_BYTES, in a file beyond. They are copied, so that a body of
 * one-byte chunks costs what its bytes cost.
 */
export class BodyStore {
  /** Bytes stored. */
  length = 0;
  /** Why the spool file took nothing more: the system's code; empty while nothing failed. */
  spoolFailure = "";
  private readonly budget: BodyBudget;
  private blocks: Buffer[] = [];
  /** Where the last block ends, and how much fits into it. */
  private lastEnd = 0;
  private lastRoom = 0;
  private takenBlocks = 0;
  private file: SpoolFile | null = null;
  private readAt = 0;

  constructor(budget: BodyBudget) {
    this.budget = budget;
  }

  /** Stores `bytes[from, to)`. @returns false when there is no room: the budget or the disk is full */
  append(bytes: Uint8Array, from: number, to: number): boolean {
    for (let at = from; at < to; ) {
      if (this.length === this.takenBlocks * BUDGET_BLOCK_BYTES && !this.takeBudget()) return false;
      if (this.lastEnd === this.lastRoom && !this.nextBlock(to - at)) return false;
      const paid = this.takenBlocks * BUDGET_BLOCK_BYTES - this.length;
      const end = Math.min(to, at + Math.min(paid, this.lastRoom - this.lastEnd));
      this.lastEnd = copyBytes(this.blocks[this.blocks.length - 1]!, this.lastEnd, bytes, at, end);
      this.length += end - at;
      at = end;
    }
    return true;
  }

  /**
   * Takes the next piece in order, for handing on; it stays unchanged for as long as somebody keeps it.
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

  /** Gives everything back. */
  release(): void {
    this.budget.give(this.takenBlocks);
    this.takenBlocks = 0;
    this.blocks = [];
    this.file?.close();
    this.file = null;
  }

  private takeBudget(): boolean {
    if (!this.budget.take()) return false;
    this.takenBlocks++;
    return true;
  }

  /**
   * Room for more: a fresh block, or, in a body that is large already, the block that just went to the file. The first
   * block is no larger than the first piece, since most bodies are one piece.
   * @returns false when the disk is full
   */
  private nextBlock(wanted: number): boolean {
    this.lastEnd = 0;
    if (this.length < SPOOL_BYTES) {
      this.lastRoom = this.length === 0 ? firstRoom(wanted) : BUDGET_BLOCK_BYTES;
      this.blocks.push(Buffer.allocUnsafeSlow(this.lastRoom));
      return true;
    }
    try {
      this.file ??= new SpoolFile();
      for (const block of this.blocks) this.file.append(block, block.length);
    } catch (error) {
      this.spoolFailure = (error as { code?: string }).code ?? String(error);
      return false;
    }
    this.blocks = this.blocks.slice(-1);
    return true;
  }
}

function firstRoom(wanted: number): number {
  return Math.min(BUDGET_BLOCK_BYTES, Math.max(MIN_ROOM, wanted));
}

const MIN_ROOM = 512;
