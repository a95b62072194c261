/** Room for request bodies that nobody has taken yet, shared by all workers. */
export interface BodyRoom {
  readonly blockBytes: number;
  /** Takes one block. @returns false when there is none left */
  take(): boolean;
  give(blocks: number): void;
}

/**
 * What has come of a request's body and has not been taken. The runtime opens a client's windows for whatever comes, read
 * or not, so that nobody can be held back; what is kept here is bounded by the budget for buffered bodies.
 */
export class H3HeldBody {
  private readonly room: BodyRoom;
  private pieces: Uint8Array[] = [];
  private bytes = 0;
  private blocks = 0;

  constructor(room: BodyRoom) {
    this.room = room;
  }

  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /** Keeps a piece. @returns false where there is no room for it */
  keep(piece: Uint8Array): boolean {
    while (this.bytes + piece.length > this.blocks * this.room.blockBytes) {
      if (!this.room.take()) return false;
      this.blocks++;
    }
    this.pieces.push(piece);
    this.bytes += piece.length;
    return true;
  }

  /** Takes the oldest piece; null where there is none. */
  next(): Uint8Array | null {
    const piece = this.pieces.shift();
    if (piece === undefined) return null;
    this.bytes -= piece.length;
    this.shrinkTo(Math.ceil(this.bytes / this.room.blockBytes));
    return piece;
  }

  /** Lets go of everything. */
  drop(): void {
    this.pieces = [];
    this.bytes = 0;
    this.shrinkTo(0);
  }

  private shrinkTo(blocks: number): void {
    if (blocks < this.blocks) this.room.give(this.blocks - blocks);
    this.blocks = Math.min(blocks, this.blocks);
  }
}
