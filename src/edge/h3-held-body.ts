import type { Fault } from "../core/fault.ts";
import type { Exchange } from "../message/exchange.ts";
import { type BodyRoom, StoppedBody } from "./body-intake.ts";

/** What a piece costs beside its bytes. */
const PIECE_BYTES = 128;

/**
 * What has come of a request's body and has not been taken. The runtime opens a client's windows for whatever comes, read
 * or not, so that nobody can be held back; what is kept here is bounded by the budget for buffered bodies.
 */
export class H3HeldBody {
  private readonly room: BodyRoom;
  private readonly stopped: StoppedBody = new StoppedBody();
  private pieces: Uint8Array[] = [];
  private bytes = 0;

  constructor(room: BodyRoom) {
    this.room = room;
  }

  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /** Keeps a piece. @returns Fault.None, or why there is no room for it */
  keep(ex: Exchange, piece: Uint8Array): Fault {
    this.bytes += piece.length + PIECE_BYTES;
    this.pieces.push(piece);
    return this.stopped.growTo(this.room, ex, this.bytes);
  }

  /** Takes the oldest piece; null where there is none. */
  next(): Uint8Array | null {
    const piece = this.pieces.shift();
    if (piece === undefined) return null;
    this.bytes -= piece.length + PIECE_BYTES;
    this.stopped.shrinkTo(this.bytes);
    return piece;
  }

  /** Lets go of everything. */
  drop(): void {
    this.pieces = [];
    this.bytes = 0;
    this.stopped.release();
  }
}
