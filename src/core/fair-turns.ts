import { FairQueue, type Queued } from "./fair-queue.ts";

/** Whom something waits for: turns are taken by networks, and within one by clients. */
export interface TurnTaker {
  readonly network: string;
  readonly client: string;
}

/**
 * What waits for something scarce, so that no client waits for all that another has asked for: networks take turns, and within each its
 * clients. When it is full, the client that has most waiting in the network that has most makes room.
 */
export class FairTurns<T> {
  private readonly max: number;
  private readonly queue: FairQueue<Turn<T>> = new FairQueue();

  constructor(max: number) {
    this.max = max;
  }

  /** Puts it behind what its client has waiting. @returns what has had to make room, perhaps itself; null if there was room */
  add({ network, client }: TurnTaker, item: T): T | null {
    this.queue.add({ group: network, member: client, item });
    return this.queue.size > this.max ? this.queue.takeNewestOfMost()!.item : null;
  }

  /** Takes what is next; null if nothing waits. */
  next(): T | null {
    return this.queue.take(() => true)?.item ?? null;
  }
}

interface Turn<T> extends Queued {
  readonly item: T;
}
