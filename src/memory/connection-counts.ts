import { AddressTally, clearTallyOf, createAddressTally } from "./address-tally.ts";
import { clearOpenStreamsOf, createOpenStreams } from "./stream-counters.ts";

/** Cells in front of the workers' own. */
const enum Cell {
  /** Wishes for room: a worker has no idle connection to close for those that wait. */
  Wishes = 0,
  /** Seconds since 1970 of the last log line of each kind; see LimitKind. */
  FirstLine,
}

/** Why connections wait or are refused. */
export const enum LimitKind {
  Connections = 0,
  Address,
  Descriptors,
}

const KINDS = 3;
/** Between two lines of one kind. */
const LINE_SECONDS = 60;
const FIRST_WORKER = Cell.FirstLine + KINDS;

/** What the workers' counts have in common. */
export interface ConnectionBuffers {
  readonly cells: SharedArrayBuffer;
  readonly addresses: SharedArrayBuffer;
  /** Open connections by stream; see OpenStreams. */
  readonly streams: SharedArrayBuffer;
}

/** Makes the shared counts, 0 everywhere. @param secret two unpredictable numbers */
export function createConnectionCounts(workers: number, secret: ArrayLike<number>): ConnectionBuffers {
  const cells = new SharedArrayBuffer(4 * (FIRST_WORKER + workers));
  return { cells, addresses: createAddressTally(workers, secret), streams: createOpenStreams(workers) };
}

/** Takes back the connections of a worker that has ended. */
export function clearConnectionsOf({ cells, addresses, streams }: ConnectionBuffers, worker: number): void {
  Atomics.store(new Int32Array(cells), FIRST_WORKER + worker, 0);
  clearTallyOf(addresses, worker);
  clearOpenStreamsOf(streams, worker);
}

/** The open client connections of all workers: each writes its own cell, and all are added up. One object a worker. */
export class ConnectionCounts {
  readonly addresses: AddressTally;
  private readonly cells: Int32Array;
  private readonly own: number;
  private granted: number;

  constructor(buffers: ConnectionBuffers, worker: number) {
    this.cells = new Int32Array(buffers.cells);
    this.addresses = new AddressTally(buffers.addresses, worker);
    this.own = FIRST_WORKER + worker;
    this.granted = Atomics.load(this.cells, Cell.Wishes);
  }

  /** One more, or one less, in this worker. */
  add(count: number): void {
    Atomics.add(this.cells, this.own, count);
  }

  /** Open connections of all workers. */
  total(): number {
    let sum = 0;
    for (let i = FIRST_WORKER; i < this.cells.length; i++) sum += Atomics.load(this.cells, i);
    return sum;
  }

  /** No connection of this worker is idle: the other workers are asked to close one. */
  askForRoom(): void {
    this.granted = Atomics.add(this.cells, Cell.Wishes, 1) + 1;
  }

  /** Whether another worker has asked since the last call. */
  isAskedForRoom(): boolean {
    const wishes = Atomics.load(this.cells, Cell.Wishes);
    const isNew = wishes !== this.granted;
    this.granted = wishes;
    return isNew;
  }

  /** Whether a line of this kind may be written: once a minute, all workers together. @param nowMs since 1970 */
  takesLine(kind: LimitKind, nowMs: number): boolean {
    const at = Cell.FirstLine + kind;
    const second = Math.floor(nowMs / 1000) | 0;
    const last = Atomics.load(this.cells, at);
    // A clock that was set back counts as long enough.
    const isDue = second - last >= LINE_SECONDS || second < last;
    return isDue && Atomics.compareExchange(this.cells, at, last, second) === last;
  }
}
