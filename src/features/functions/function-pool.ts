import { Fault } from "../../core/fault.ts";
import type { FunctionLink } from "./function-link.ts";
import type { ModuleExports } from "./wire.ts";

/** A call that wants a thread. */
export interface PoolWaiter {
  /** It has one; a place in it is to be taken at once. */
  onLink(link: FunctionLink): void;
  /** It gets none: why the request is refused. */
  onRefused(fault: Fault): void;
}

/** The bounds of one worker's part in the threads of a module. */
export interface PoolBounds {
  /** Requests that one thread has of this worker at once. */
  readonly concurrency: number;
  /** Requests that wait for one. */
  readonly queue: number;
}

/**
 * The threads of a module, as one data worker sees them. A new request goes to the one that has least to do; where all have enough to do, or
 * none is there yet, it waits in order. docs/functions.md#limits
 */
export class FunctionPool {
  /** What the module exports; null while that is not known. */
  exports: ModuleExports | null = null;
  private bounds: PoolBounds;
  private readonly links: FunctionLink[] = [];
  private readonly waiting: Set<PoolWaiter> = new Set();
  private hasFailed = false;

  constructor(bounds: PoolBounds) {
    this.bounds = bounds;
  }

  /** Requests that wait now. */
  get queued(): number {
    return this.waiting.size;
  }

  useBounds(bounds: PoolBounds): void {
    this.bounds = bounds;
    this.serve();
  }

  /** Asks for a thread, now or later. */
  take(waiter: PoolWaiter): void {
    const link = this.waiting.size === 0 ? this.free() : null;
    if (link !== null) waiter.onLink(link);
    else if (this.hasFailed && this.links.length === 0) waiter.onRefused(Fault.FunctionFailed);
    else if (this.waiting.size >= this.bounds.queue) waiter.onRefused(Fault.FunctionBusy);
    else this.waiting.add(waiter);
  }

  /** It waits no longer. */
  leave(waiter: PoolWaiter): void {
    this.waiting.delete(waiter);
  }

  /** A place has become free. */
  serve(): void {
    for (const waiter of this.waiting) {
      const link = this.free();
      if (link === null) return;
      this.waiting.delete(waiter);
      waiter.onLink(link);
    }
  }

  /** A thread is there. */
  add(link: FunctionLink, exports: ModuleExports): void {
    this.hasFailed = false;
    this.exports = exports;
    this.links.push(link);
    this.serve();
  }

  /** New requests go elsewhere. */
  remove(link: FunctionLink): void {
    const index = this.links.indexOf(link);
    if (index >= 0) this.links.splice(index, 1);
  }

  /** The module cannot be loaded: where no thread has an earlier version of it, its requests are refused. */
  fail(): void {
    this.hasFailed = true;
    if (this.links.length > 0) return;
    const all = [...this.waiting];
    this.waiting.clear();
    for (const waiter of all) waiter.onRefused(Fault.FunctionFailed);
  }

  private free(): FunctionLink | null {
    let best: FunctionLink | null = null;
    for (const link of this.links) if (best === null || link.load < best.load) best = link;
    return best !== null && best.load < this.bounds.concurrency ? best : null;
  }
}
