/** Granularity of the timer wheel in milliseconds. */
export const TICK_MS = 50;

/** Slots of the timer wheel; a longer timer goes round again. */
export const WHEEL_SLOTS = 512;

/** Who has timers. */
export interface TimerOwner {
  /** The time is over. @param nowMs on the wheel's clock */
  onTimer(nowMs: number): void;
  /** Receives what `onTimer` threw; without it the wheel's own listener does. */
  onException?(error: unknown): void;
}

/**
 * A timer that can be armed, moved and disarmed for the price of one store. Holders embed one node and get `onTimer`.
 * Moving a deadline later leaves the node where it is: when its slot comes up, it is put into the slot of the new
 * deadline. So a connection that is busy costs the wheel nothing.
 */
export class TimerNode {
  readonly holder: TimerOwner;
  /** When it fires, on the wheel's clock; 0 when disarmed. */
  deadlineMs = 0;
  /** Absolute tick of the slot that holds it; -1 when in none. */
  tick = -1;
  next: TimerNode | null = null;
  previous: TimerNode | null = null;

  constructor(holder: TimerOwner) {
    this.holder = holder;
  }
}

/** All timers of one worker, in slots of TICK_MS that come round again: nothing is sorted, and nothing allocated. */
export class TimerWheel {
  private readonly slots: (TimerNode | null)[] = new Array(WHEEL_SLOTS).fill(null);
  private currentTick: number;
  private readonly onError: (error: unknown, holder: TimerOwner) => void;

  /**
   * @param nowMs the clock's reading at the start; the same clock must be given to every call
   * @param onError receives an exception of a holder's `onTimer`; the other timers go on
   */
  constructor(nowMs: number, onError: (error: unknown, holder: TimerOwner) => void) {
    this.currentTick = Math.floor(nowMs / TICK_MS);
    this.onError = onError;
  }

  /** Fires the node at `deadlineMs` or up to one tick later, in place of any earlier arrangement. */
  arm(node: TimerNode, deadlineMs: number): void {
    node.deadlineMs = deadlineMs;
    if (node.tick >= 0) {
      // Its slot comes up in time: the way of nearly every call.
      if (node.tick * TICK_MS <= deadlineMs) return;
      this.unlink(node);
    }
    this.link(node, this.tickOf(deadlineMs));
  }

  /** Keeps the node from firing. Its slot forgets it when it comes up. */
  disarm(node: TimerNode): void {
    node.deadlineMs = 0;
  }

  /** Takes the node out of the wheel at once, so that its holder can be collected. */
  remove(node: TimerNode): void {
    node.deadlineMs = 0;
    if (node.tick >= 0) this.unlink(node);
  }

  /** Fires all that is due. Call it every TICK_MS or so; a late call catches up. */
  advance(nowMs: number): void {
    const target = Math.floor(nowMs / TICK_MS);
    if (target - this.currentTick > WHEEL_SLOTS) this.currentTick = target - WHEEL_SLOTS;
    while (this.currentTick < target) {
      this.currentTick++;
      this.fireSlot(this.currentTick, nowMs);
    }
  }

  private fireSlot(tick: number, nowMs: number): void {
    const index = tick % WHEEL_SLOTS;
    // One node at a time, since what fires may remove its neighbours. Nothing is ever linked into this very slot
    // meanwhile: `link` reaches from the next tick to one short of a full turn.
    for (let node = this.slots[index]!; node !== null; node = this.slots[index]!) {
      this.unlink(node);
      if (node.deadlineMs > nowMs) this.link(node, this.tickOf(node.deadlineMs));
      else if (node.deadlineMs !== 0) this.fire(node, nowMs);
    }
  }

  private fire(node: TimerNode, nowMs: number): void {
    node.deadlineMs = 0;
    try {
      node.holder.onTimer(nowMs);
    } catch (error) {
      if (node.holder.onException !== undefined) node.holder.onException(error);
      else this.onError(error, node.holder);
    }
  }

  private tickOf(deadlineMs: number): number {
    const tick = Math.ceil(deadlineMs / TICK_MS);
    return tick > this.currentTick ? tick : this.currentTick + 1;
  }

  private link(node: TimerNode, tick: number): void {
    const at = Math.min(tick, this.currentTick + WHEEL_SLOTS - 1);
    const index = at % WHEEL_SLOTS;
    const head = this.slots[index]!;
    node.tick = at;
    node.previous = null;
    node.next = head;
    if (head !== null) head.previous = node;
    this.slots[index] = node;
  }

  private unlink(node: TimerNode): void {
    if (node.previous !== null) node.previous.next = node.next;
    else this.slots[node.tick % WHEEL_SLOTS] = node.next;
    if (node.next !== null) node.next.previous = node.previous;
    node.next = null;
    node.previous = null;
    node.tick = -1;
  }
}

/** One turn of a worker's event loop: its time is read once, at the start. */
export class Turn {
  /** Milliseconds of `performance.now()` at the start of the turn. */
  nowMs: number = performance.now();

  /** Begins a turn. */
  begin(): void {
    this.nowMs = performance.now();
  }
}
