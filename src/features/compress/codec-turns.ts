import { FairQueue, type Queued } from "../../core/fair-queue.ts";
import { takerOf } from "../../message/client-place.ts";
import type { Exchange } from "../../message/exchange.ts";

/** Slices of streams that the threads of the runtime have of one worker at a time. docs/compression.md#cost */
export const MAX_SLICES = 4;

/** Who waits for a turn. */
export interface TurnOwner {
  /** The turn has come. */
  onTurn(): void;
}

/** A turn that is waited for. */
export interface WaitingTurn extends Queued {
  readonly owner: TurnOwner;
}

/**
 * Turns of one worker's streams at the codecs: a few slices at a time, so that neither the threads nor the loop are all one client's. Beyond,
 * networks take turns, within each its clients.
 */
export class CodecTurns {
  private running = 0;
  private readonly queue: FairQueue<WaitingTurn> = new FairQueue();

  /** Takes a turn, to be given back by `leave`. @returns null if it is there at once; else what waits: `onTurn` follows, unless it is dropped */
  take(ex: Exchange, owner: TurnOwner): WaitingTurn | null {
    if (this.running < MAX_SLICES) {
      this.running++;
      return null;
    }
    const { network, client } = takerOf(ex);
    const waiting = { group: network, member: client, owner };
    this.queue.add(waiting);
    return waiting;
  }

  /** The turn is no more waited for. */
  drop(waiting: WaitingTurn): void {
    this.queue.remove(waiting);
  }

  /** The turn is over. */
  leave(): void {
    const next = this.queue.take(() => true);
    if (next === null) this.running--;
    else next.owner.onTurn();
  }
}
