import { MAX_LISTENERS } from "../core/limits.ts";

/** Labels that listeners have numbers for: those of a configuration, and as many of earlier ones. */
export const MAX_LISTENER_LABELS = 2 * MAX_LISTENERS + 1;

/** Connections by listener in one worker, which alone writes: accepted, and open. */
const enum Cell {
  Accepted = 0,
  Open,
  Count,
}

/** Makes the counters of one worker, all 0. */
export function createListenerCounters(): SharedArrayBuffer {
  return new SharedArrayBuffer(MAX_LISTENER_LABELS * Cell.Count * 8);
}

/** A worker is gone: its connections are no longer open. */
export function clearOpenListeners(buffer: SharedArrayBuffer): void {
  const cells = new Float64Array(buffer);
  for (let at = Cell.Open; at < cells.length; at += Cell.Count) cells[at] = 0;
}

/** The connections of one listener, as one worker counts them. */
export class ListenerCounters {
  private readonly cells: Float64Array;
  private readonly at: number;

  /** @param id the number of the listener's label */
  constructor(buffer: SharedArrayBuffer, id: number) {
    this.cells = new Float64Array(buffer);
    this.at = id * Cell.Count;
  }

  opened(): void {
    this.cells[this.at]!++;
    this.cells[this.at + Cell.Open]!++;
  }

  closed(): void {
    this.cells[this.at + Cell.Open]!--;
  }
}

/** The connections of one listener, of all workers. */
export interface ListenerTotals {
  readonly accepted: number;
  readonly open: number;
}

/** Adds up the counters of all workers. @param id the number of the listener's label */
export function listenerTotals(buffers: readonly SharedArrayBuffer[], id: number): ListenerTotals {
  let accepted = 0;
  let open = 0;
  for (const buffer of buffers) {
    const cells = new Float64Array(buffer, id * Cell.Count * 8, Cell.Count);
    accepted += cells[Cell.Accepted]!;
    open += cells[Cell.Open]!;
  }
  return { accepted, open };
}
