import type { PurgeOrder } from "../../message/purge-order.ts";

/** How long what a worker has taken out waits for more of it. */
const GATHER_MS = 100;
/** Resources that one message names; what is beyond waits for the next. */
const TOLD_AT_ONCE = 256;
/** Resources that may wait. Beyond them, nothing that is stored elsewhere is known to hold. */
const MAX_WAITING = 4096;

/**
 * What requests that change a resource have taken out of the cache of one worker, for the other gateways of the fleet: each resource once, however
 * often it is changed in between. docs/fleet.md#purges
 */
export class FleetInvalidations {
  private readonly tell: (order: PurgeOrder) => void;
  private readonly waiting: Map<string, PurgeOrder> = new Map();
  private timer: ReturnType<typeof setTimeout> | null = null;

  /** @param tell has an order done by the others */
  constructor(tell: (order: PurgeOrder) => void) {
    this.tell = tell;
  }

  /** A resource's stored responses hold no more. */
  note(authority: string, target: string): void {
    const key = `${authority}\0${target}`;
    if (this.waiting.has(key) || this.waiting.has(ALL)) return;
    if (this.waiting.size >= MAX_WAITING) {
      this.waiting.clear();
      this.waiting.set(ALL, { kind: "all", isSoft: false });
    } else this.waiting.set(key, { kind: "uri", authority, target, isSoft: false });
    this.timer ??= setTimeout(() => this.tellSome(), GATHER_MS);
  }

  private tellSome(): void {
    let left = TOLD_AT_ONCE;
    for (const [key, order] of this.waiting) {
      if (left-- === 0) break;
      this.waiting.delete(key);
      this.tell(order);
    }
    this.timer = this.waiting.size === 0 ? null : setTimeout(() => this.tellSome(), GATHER_MS);
  }
}

/** No resource has this key. */
const ALL = "";
