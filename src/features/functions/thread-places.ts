import { WireCell } from "./wire.ts";

/** How long a worker that has given a place back leaves it to others that wait. */
const YIELD_MS = 2;
/** How long a worker waits for the bell at most: one of another that has ended is never rung. */
const LONGEST_WAIT_MS = 1000;

/**
 * The places of a thread for requests, which all data workers share: as many as `functions.concurrency` says, for all of them together. One that has given a
 * place back while others wait leaves it to them for a moment, so that none of them waits for longer than its turn.
 */
export class ThreadPlaces {
  private readonly cells: Int32Array;
  private readonly own: number;
  private readonly waits: number;
  private readonly workers: number;
  private yieldsUntilMs = 0;
  private isListening = false;

  /** @param cells of the thread; see Cell */
  constructor(cells: Int32Array, worker: number) {
    this.cells = cells;
    this.workers = workersOf(cells);
    this.own = takenAt(this.workers, worker);
    this.waits = waitsAt(this.workers, worker);
  }

  /** Takes a place. @returns false if there is none, or others come first */
  take(limit: number): boolean {
    const { cells } = this;
    if (this.yieldsUntilMs > 0) {
      if (performance.now() < this.yieldsUntilMs) return false;
      this.yieldsUntilMs = 0;
    }
    for (;;) {
      const taken = Atomics.load(cells, WireCell.Taken);
      if (taken >= limit) return false;
      if (Atomics.compareExchange(cells, WireCell.Taken, taken, taken + 1) !== taken) continue;
      Atomics.add(cells, this.own, 1);
      return true;
    }
  }

  /** Gives a place back. */
  give(): void {
    const { cells } = this;
    Atomics.sub(cells, this.own, 1);
    Atomics.sub(cells, WireCell.Taken, 1);
    if (this.workers === 1 || !this.othersWait()) return;
    this.yieldsUntilMs = performance.now() + YIELD_MS;
    ring(cells);
  }

  /** Calls back once there may be a place for what waits here. */
  listen(onPlace: () => void): void {
    Atomics.store(this.cells, this.waits, 1);
    if (this.isListening) return;
    this.isListening = true;
    const yields = this.yieldsUntilMs > 0;
    // A place of its own is told of by `give`; that of another worker rings.
    const seen = Atomics.load(this.cells, WireCell.Bell);
    const wait = Atomics.waitAsync(this.cells, WireCell.Bell, seen, yields ? YIELD_MS : LONGEST_WAIT_MS);
    const over = (): void => {
      this.isListening = false;
      onPlace();
    };
    if (wait.async) void wait.value.then(over);
    else queueMicrotask(over);
  }

  /** Nothing waits here any more. */
  rest(): void {
    if (Atomics.load(this.cells, this.waits) !== 0) Atomics.store(this.cells, this.waits, 0);
  }

  private othersWait(): boolean {
    for (let at = waitsAt(this.workers, 0); at < this.cells.length; at++)
      if (at !== this.waits && Atomics.load(this.cells, at) !== 0) return true;
    return false;
  }
}

/** A data worker has ended: what it has taken is free. */
export function freePlacesOf(cells: Int32Array, worker: number): void {
  const workers = workersOf(cells);
  Atomics.store(cells, waitsAt(workers, worker), 0);
  Atomics.sub(cells, WireCell.Taken, Atomics.exchange(cells, takenAt(workers, worker), 0));
  ring(cells);
}

function ring(cells: Int32Array): void {
  Atomics.add(cells, WireCell.Bell, 1);
  Atomics.notify(cells, WireCell.Bell);
}

function workersOf(cells: Int32Array): number {
  return (cells.length - WireCell.Begun) / CELLS_OF_WORKER;
}

function takenAt(workers: number, worker: number): number {
  return WireCell.Begun + workers + worker;
}

function waitsAt(workers: number, worker: number): number {
  return WireCell.Begun + 2 * workers + worker;
}

/** Begun, taken, waits. */
const CELLS_OF_WORKER = 3;
