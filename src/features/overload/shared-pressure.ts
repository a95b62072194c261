import type { WorkerService } from "../../core/worker-service.ts";
import { workerNumbers } from "../../memory/worker-numbers.ts";

/** Shortages, in the order of their numbers. */
export const SHORTAGES = ["cpu", "memory", "descriptors", "loop_delay"] as const;
export type Shortage = (typeof SHORTAGES)[number];

/** The order in which requests go; the last never do. */
export const enum ShedRank {
  Low = 0,
  Normal,
  SignedIn,
  Kept,
}

/** The labels of the ranks that go. */
export const SHED_LABELS = ["low", "normal", "signed_in"] as const;

/** The part of a worker's first message that is about it. */
export interface OverloadStart {
  readonly overload: SharedArrayBuffer;
}

/*
 * A worker's numbers: how late its event loop was, how often it has told so, how much it sheds, for which shortage, the requests that it has let in
 * while it shed others, and the requests it has shed by rank and shortage. The first is read once, level and reason are the control thread's.
 */
const DELAY = 0;
const TICKS = 1;
const LEVEL = 2;
const REASON = 3;
const ADMITTED = 4;
const COUNTS = 5;
const NUMBERS: number = COUNTS + SHED_LABELS.length * SHORTAGES.length;

/** Makes the numbers of all workers. */
export function createPressureNumbers(workers: number): SharedArrayBuffer {
  return workerNumbers(workers, NUMBERS);
}

/** The numbers, for the control thread, which decides. */
export class PressureNumbers {
  readonly workers: number;
  private readonly numbers: Float64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.numbers = new Float64Array(buffer);
    this.workers = this.numbers.length / NUMBERS;
  }

  /** The longest delay of a worker's event loop since the last call, in milliseconds. */
  takeDelay(worker: number): number {
    const at = worker * NUMBERS + DELAY;
    const delayMs = this.numbers[at]!;
    this.numbers[at] = 0;
    return delayMs;
  }

  /** How often a worker's event loop has come round to its timers: it changes while the worker moves. */
  ticks(worker: number): number {
    return this.numbers[worker * NUMBERS + TICKS]!;
  }

  /** @param level 0 and up @param reason the number of the shortage */
  set(worker: number, level: number, reason: number): void {
    this.numbers[worker * NUMBERS + LEVEL] = level;
    this.numbers[worker * NUMBERS + REASON] = reason;
  }

  /** Requests that all workers have let in while they shed others. */
  admitted(): number {
    let sum = 0;
    for (let at = ADMITTED; at < this.numbers.length; at += NUMBERS) sum += this.numbers[at]!;
    return sum;
  }

  /** Requests that all workers have shed. */
  shed(rank: number, reason: number): number {
    let sum = 0;
    for (let at = COUNTS + rank * SHORTAGES.length + reason; at < this.numbers.length; at += NUMBERS)
      sum += this.numbers[at]!;
    return sum;
  }
}

/** The pressure on one worker: it tells how late its event loop is, and reads how much it sheds. */
export class WorkerPressure implements WorkerService<unknown> {
  private readonly worker: number;
  private readonly tickMs: number;
  private numbers: Float64Array = new Float64Array(NUMBERS);
  private at = 0;
  private lastMs = 0;

  /** @param tickMs how often `tick` comes */
  constructor(worker: number, tickMs: number) {
    this.worker = worker;
    this.tickMs = tickMs;
  }

  begin({ overload }: OverloadStart): void {
    this.numbers = new Float64Array(overload);
    this.at = this.worker * NUMBERS;
  }

  tick(nowMs: number): void {
    const delayMs = this.lastMs === 0 ? 0 : nowMs - this.lastMs - this.tickMs;
    this.lastMs = nowMs;
    this.numbers[this.at + TICKS]!++;
    if (delayMs > this.numbers[this.at + DELAY]!) this.numbers[this.at + DELAY] = delayMs;
  }

  /** From 0 to the number of ranks: each whole one is a rank that goes completely, the rest a share of the next. */
  get level(): number {
    return this.numbers[this.at + LEVEL]!;
  }

  countAdmitted(): void {
    this.numbers[this.at + ADMITTED]!++;
  }

  count(rank: ShedRank): void {
    this.numbers[this.at + COUNTS + rank * SHORTAGES.length + this.numbers[this.at + REASON]!]!++;
  }
}
