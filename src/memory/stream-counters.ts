import { MAX_STREAMS } from "../core/limits.ts";
import { OVERFLOW_ID } from "./label-registry.ts";

/** Why a forwarded connection is over, as metrics and log say it. docs/streams.md#ends */
export const STREAM_ENDS = [
  "closed",
  "client_reset",
  "target_reset",
  "idle_timeout",
  "connect_failed",
  "no_target",
  "address_refused",
  "banned",
  "max_connections",
  "client_left",
  "abandoned",
  "target_refused",
  "max_sessions",
  "shutdown",
  "exception",
] as const;

/** One of these. */
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** Labels that streams have numbers for: those of a configuration, and as many of earlier ones. */
export const MAX_STREAM_LABELS = 2 * MAX_STREAMS + 1;

/** Makes the counters of one worker, all 0: for each stream what has begun, bytes in, bytes out, and a count for each end. */
export function createStreamCounters(): SharedArrayBuffer {
  return new SharedArrayBuffer(MAX_STREAM_LABELS * PLACES * 8);
}

/** The counters of one stream in one worker, which alone writes them. */
export class StreamCounters {
  private readonly cells: Float64Array;
  private readonly at: number;

  /** @param id the number of the stream's label */
  constructor(buffer: SharedArrayBuffer, id: number) {
    this.cells = new Float64Array(buffer);
    this.at = id * PLACES;
  }

  /** A connection or session has begun. */
  begun(): void {
    this.cells[this.at]!++;
  }

  /** Bytes of the client have been forwarded. */
  bytesIn(count: number): void {
    this.cells[this.at + BYTES_IN]! += count;
  }

  /** Bytes of the target have been forwarded. */
  bytesOut(count: number): void {
    this.cells[this.at + BYTES_OUT]! += count;
  }

  ended(end: StreamEnd): void {
    this.cells[this.at + ENDS + STREAM_ENDS.indexOf(end)]!++;
  }
}

/** The counts of one stream, of all workers. */
export interface StreamTotals {
  readonly begun: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** In the order of STREAM_ENDS. */
  readonly ends: readonly number[];
}

/** Adds up the counters of all workers. @param id the number of the stream's label */
export function streamTotals(buffers: readonly SharedArrayBuffer[], id: number): StreamTotals {
  const sums = new Float64Array(PLACES);
  for (const buffer of buffers) {
    const cells = new Float64Array(buffer, id * PLACES * 8, PLACES);
    for (let i = 0; i < PLACES; i++) sums[i]! += cells[i]!;
  }
  const [begun = 0, bytesIn = 0, bytesOut = 0, ...ends] = sums;
  return { begun, bytesIn, bytesOut, ends };
}

/** Makes the counts of open connections by stream and worker, which all workers read: a limit holds for all of them. */
export function createOpenStreams(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * workers * MAX_STREAM_LABELS);
}

/** Takes back the open connections of a worker that has ended. */
export function clearOpenStreamsOf(buffer: SharedArrayBuffer, worker: number): void {
  const cells = new Int32Array(buffer);
  for (let id = 0; id < MAX_STREAM_LABELS; id++) Atomics.store(cells, worker * MAX_STREAM_LABELS + id, 0);
}

/** Open connections of a stream, of all workers. */
export function openStreams(buffer: SharedArrayBuffer, id: number): number {
  const cells = new Int32Array(buffer);
  let sum = 0;
  for (let at = id; at < cells.length; at += MAX_STREAM_LABELS) sum += Atomics.load(cells, at);
  return sum;
}

/** The open connections of one stream, as one worker counts them. */
export class OpenStreams {
  private readonly cells: Int32Array;
  private readonly own: number;
  private readonly id: number;

  constructor(buffer: SharedArrayBuffer, worker: number, id: number = OVERFLOW_ID) {
    this.cells = new Int32Array(buffer);
    this.own = worker * MAX_STREAM_LABELS + id;
    this.id = id;
  }

  /** One more, if there are fewer than so many in all workers. @param limit 0 is none */
  enter(limit: number): boolean {
    Atomics.add(this.cells, this.own, 1);
    if (limit === 0 || this.total() <= limit) return true;
    this.leave();
    return false;
  }

  leave(): void {
    Atomics.sub(this.cells, this.own, 1);
  }

  private total(): number {
    let sum = 0;
    for (let at = this.id; at < this.cells.length; at += MAX_STREAM_LABELS) sum += Atomics.load(this.cells, at);
    return sum;
  }
}

const BYTES_IN = 1;
const BYTES_OUT = 2;
const ENDS = 3;
const PLACES = ENDS + STREAM_ENDS.length;
