import { Fault } from "../../core/fault.ts";
import type { FunctionLink } from "./function-link.ts";
import { createQueueCells, QueuePlaces } from "./queue-places.ts";
import type { ModuleExports } from "./wire.ts";

/** A call that wants a thread. */
export interface PoolWaiter {
  /** It has one; its place in it is to be opened at once. */
  onLink(link: FunctionLink): void;
  /** It gets none: why the request is refused. */
  onRefused(fault: Fault): void;
}

/** The bounds of the requests of a module, of all workers together. */
export interface PoolBounds {
  /** Those that one thread has at once. */
  readonly concurrency: number;
  /** Those that wait for one. */
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
  /** The worker's own until the control thread has told of those that all share. */
  private places: QueuePlaces = new QueuePlaces(createQueueCells(1), 0);

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

  /** From now on what waits takes these places. */
  useQueue(places: QueuePlaces): void {
    places.move(this.waiting.size);
    this.places = places;
  }

  /** Asks for a thread, now or later. */
  take(waiter: PoolWaiter): void {
    const link = this.waiting.size === 0 ? this.free() : null;
    if (link !== null) waiter.onLink(link);
    else if (this.hasFailed && this.links.length === 0) waiter.onRefused(Fault.FunctionFailed);
    else if (!this.places.take(this.bounds.queue)) waiter.onRefused(Fault.FunctionBusy);
    else {
      this.waiting.add(waiter);
      this.listen();
    }
  }

  /** It waits no longer. */
  leave(waiter: PoolWaiter): void {
    if (this.waiting.delete(waiter)) this.places.give();
    if (this.waiting.size === 0) this.rest();
  }

  /** A place has become free. */
  serve(): void {
    if (this.waiting.size === 0) return;
    for (const waiter of this.waiting) {
      const link = this.free();
      if (link === null) return this.listen();
      this.waiting.delete(waiter);
      this.places.give();
      waiter.onLink(link);
    }
    this.rest();
  }

  /** Other workers may give places back. */
  private listen(): void {
    for (const link of this.links) link.whenPlace(this.onPlace);
  }

  private readonly onPlace = (): void => this.serve();

  private rest(): void {
    for (const { places } of this.links) places.rest();
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
    link.places.rest();
  }

  /** The module cannot be loaded: if no thread has an earlier version of it, its requests are refused. */
  fail(): void {
    this.hasFailed = true;
    if (this.links.length > 0) return;
    const all = [...this.waiting];
    this.waiting.clear();
    for (const _ of all) this.places.give();
    for (const waiter of all) waiter.onRefused(Fault.FunctionFailed);
  }

  /** The thread that has least of this worker among all that have a place, which is taken. */
  private free(): FunctionLink | null {
    const { links } = this;
    if (links.length > 1) links.sort((a, b) => a.load - b.load);
    for (const link of links) if (link.places.take(this.bounds.concurrency)) return link;
    return null;
  }
}
