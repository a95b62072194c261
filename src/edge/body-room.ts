import type { Fault } from "../core/fault.ts";
import type { Exchange } from "../message/exchange.ts";

/** Room for request bodies that nobody has taken yet, shared by all workers. */
export interface BodyRoom {
  /** A body is about to be held. @param client whose address the room is counted for */
  open(owner: RoomOwner, client: Pick<Exchange, "clientIp">): RoomHold;
}

/** Who holds a body. See HoldOwner. */
export interface RoomOwner {
  onCounted(): void;
  onEvicted(key: string): void;
}

/** What one body holds. See BodyHold. */
export interface RoomHold {
  /** The setting that refused more. */
  readonly refusedBy: string;
  growTo(bytes: number): Fault;
  shrinkTo(bytes: number): void;
  /** It is not the client that the body waits for. */
  settle(): void;
  release(): void;
}

/** What is kept of a body because its taker has stopped it: the client is not to blame, so it is never ended for it. */
export class StoppedBody implements RoomOwner {
  private hold: RoomHold | null = null;

  /** So many bytes are kept from now on. @returns Fault.None, or why there is no room; `ex.detail` names the setting */
  growTo(room: BodyRoom, ex: Exchange, bytes: number): Fault {
    if (this.hold === null) {
      this.hold = room.open(this, ex);
      this.hold.settle();
    }
    const { hold } = this;
    const fault = hold.growTo(bytes);
    if (hold.refusedBy !== "") ex.detail = hold.refusedBy;
    return fault;
  }

  /** Fewer bytes are kept. */
  shrinkTo(bytes: number): void {
    this.hold?.shrinkTo(bytes);
  }

  /** Nothing is kept any more. */
  release(): void {
    this.hold?.release();
    this.hold = null;
  }

  onCounted(): void {}
  onEvicted(): void {}
}
